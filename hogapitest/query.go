package hogapitest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

type queryBody struct {
	Query struct {
		Kind      string         `json:"kind"`
		Query     string         `json:"query"`
		Values    map[string]any `json:"values"`
		Modifiers struct {
			Convert *bool `json:"convertToProjectTimezone"`
		} `json:"modifiers"`
	} `json:"query"`
	Refresh any `json:"refresh"`
}

// query serves POST /query/ from the project's stored events.
func (s *Server) query(r *request) answer {
	defer refuseHog(s.queryRefused)
	readFields(r.body)
	var body queryBody
	if err := json.Unmarshal(r.body, &body); err != nil || body.Query.Kind != "HogQLQuery" {
		return invalid("query", "invalid_input", "The fake answers queries of the kind HogQLQuery.")
	}
	forced, ok := refreshes(body.Refresh)
	if !ok {
		return invalid("refresh", "invalid_input", "The fake answers at once: refresh is blocking, force_blocking or a mode of the cache.")
	}
	key := r.project.id + string(toJSON(body.Query))
	if kept, ok := s.answers[key]; ok && !forced && r.now.Sub(kept.at) < 24*time.Hour {
		again := maps.Clone(kept.body)
		again["is_cached"] = true
		return success(again)
	}
	result := s.runQuery(r, &body)
	if !s.ledger.compact {
		s.answers[key] = cachedAnswer{r.now, result}
	}
	return success(result)
}

// refuseHog is deferred: it refuses the request whose query is refused.
func refuseHog(with func(*hogError) answer) {
	switch e := recover().(type) {
	case nil:
	case *hogError:
		refuse(with(e))
	default:
		panic(e)
	}
}

type cachedAnswer struct {
	at   time.Time
	body object
}

// refreshes reports whether a mode always runs the query.
func refreshes(mode any) (forced, ok bool) {
	if mode == nil {
		mode = "blocking"
	}
	switch mode {
	case true, "force_blocking":
		return true, true
	case false, "blocking", "force_cache", "lazy_async", "async_except_on_cache_miss":
		return false, true
	}
	return false, false
}

func (s *Server) runQuery(r *request, body *queryBody) object {
	zone := s.zone
	if convert := body.Query.Modifiers.Convert; convert != nil && !*convert {
		zone = time.UTC
	}
	parsed := parseHogQL(body.Query.Query, body.Query.Values, s.era, s.zone)
	if s.ledger.compact && slices.ContainsFunc(parsed.reads, func(name string) bool {
		return strings.HasPrefix(name, "properties.") && name != "properties."+importID
	}) {
		refuse(invalid("query", "invalid_input", "the fake has a compact ledger, which keeps no properties but "+importID))
	}
	rows, hasMore := parsed.run(r.project.id, hogGroup{table: &s.table, zone: zone})
	result := object{
		"results": rows, "columns": parsed.names, "types": parsed.types(), "hogql": body.Query.Query, "clickhouse": "", "is_cached": false,
		"last_refresh": r.now.UTC(), "timings": []any{}, "error": nil,
	}
	if parsed.limit == 0 {
		result["hasMore"], result["limit"], result["offset"] = hasMore, hogDefaultRows, 0
	}
	return result
}

// queryRefused is a 400. The codes are newer than most servers.
func (s *Server) queryRefused(e *hogError) answer {
	code := e.code
	if s.era < E4 {
		code = "invalid_input"
	}
	return invalid("", code, e.detail)
}
