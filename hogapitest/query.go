package hogapitest

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

type queryBody struct {
	Query struct {
		Kind   string         `json:"kind"`
		Query  string         `json:"query"`
		Values map[string]any `json:"values"`
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
	if body.Refresh != true && body.Refresh != "force_blocking" {
		return invalid("refresh", "invalid_input", "The fake has no cache, from which the service may answer: set refresh to force_blocking.")
	}
	return success(s.runQuery(r, &body))
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

func (s *Server) runQuery(r *request, body *queryBody) object {
	q := parseHogQL(body.Query.Query, body.Query.Values, s.era, s.zone)
	ofEvents := q
	for ofEvents.from != nil {
		ofEvents = ofEvents.from
	}
	if s.ledger.compact && slices.ContainsFunc(ofEvents.reads, func(n *hogNode) bool {
		return strings.HasPrefix(n.name, "properties.") && n.name != "properties."+importID
	}) {
		refuse(invalid("query", "invalid_input", "the fake has a compact ledger, which keeps no properties but "+importID))
	}
	rows, hasMore := q.result(r.project, s.zone, min(cmp.Or(q.limit, hogDefaultRows), hogRows))
	for _, row := range rows {
		for i := range row {
			row[i] = shownHog(row[i])
		}
	}
	result := object{
		"results": rows, "columns": q.names, "hogql": body.Query.Query, "clickhouse": "", "is_cached": false,
		"last_refresh": r.now.UTC(), "timings": []any{}, "error": nil,
	}
	if q.limit == 0 {
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
