package hogapitest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// Warning describes one case of an ingestion warning, to add it.
type Warning struct {
	Type     string
	Category string
	Severity string    // "warning" where it is empty
	Raised   time.Time // now, where it is zero
	Details  map[string]any
	Extra    map[string]any // of the sample: event_uuid, distinct_id and so on
}

// AddWarning adds an ingestion warning.
func (p *Project) AddWarning(w Warning) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	w.Severity, w.Raised = or(w.Severity, "warning"), or(w.Raised, p.server.now())
	p.warnings = append(p.warnings, w)
}

const warningsKeptDays = 90

// listWarnings groups the warnings by type, category and severity.
func (s *Server) listWarnings(r *request) answer {
	since, until := r.now.Add(-24*time.Hour), r.now
	r.time("since", &since)
	r.time("until", &until)
	if !since.Before(until) {
		return invalid("since", "invalid_input", "since must be before until")
	}
	limit, samples := 100, 5
	r.number("limit", &limit, 500)
	r.number("samples", &samples, 50)
	groups := map[[3]string][]Warning{}
	for _, w := range r.project.warnings {
		if s.wantsWarning(r, w, since, until) {
			key := [3]string{w.Type, w.Category, w.Severity}
			groups[key] = append(groups[key], w)
		}
	}
	rows := []object{}
	for key, all := range groups {
		rows = append(rows, warningRow(key, all, samples))
	}
	slices.SortFunc(rows, func(a, b object) int {
		if r.query.Get("order_by") == "last_seen" {
			return cmp.Or(cmp.Compare(b["last_seen"].(string), a["last_seen"].(string)), cmp.Compare(a["type"].(string), b["type"].(string)))
		}
		return cmp.Or(cmp.Compare(b["count"].(int), a["count"].(int)), cmp.Compare(a["type"].(string), b["type"].(string)))
	})
	return success(rows[:min(limit, len(rows))])
}

func (s *Server) wantsWarning(r *request, w Warning, since, until time.Time) bool {
	fits := func(name, value string) bool { return r.query.Get(name) == "" || r.query.Get(name) == value }
	kept := r.now.AddDate(0, 0, -warningsKeptDays)
	return fits("type", w.Type) && fits("category", w.Category) && fits("severity", w.Severity) &&
		!w.Raised.Before(since) && w.Raised.Before(until.Add(time.Nanosecond)) && w.Raised.After(kept) &&
		(strings.Contains(w.Type, r.query.Get("q")) || strings.Contains(string(toJSON(w.Details)), r.query.Get("q")))
}

func warningRow(key [3]string, all []Warning, samples int) object {
	slices.SortStableFunc(all, func(a, b Warning) int { return b.Raised.Compare(a.Raised) })
	hours := []object{}
	for _, w := range all {
		hour := stamp(w.Raised.Truncate(time.Hour))
		if n := len(hours); n > 0 && hours[n-1]["timestamp"] == hour {
			hours[n-1]["count"] = hours[n-1]["count"].(int) + 1
		} else {
			hours = append(hours, object{"timestamp": hour, "count": 1})
		}
	}
	slices.Reverse(hours)
	sample := func(w Warning) object {
		o := object{
			"timestamp": stamp(w.Raised), "source": "ingestion", "pipeline_step": nil, "event_uuid": nil,
			"distinct_id": nil, "person_id": nil, "group_key": nil, "details": w.Details,
		}
		maps.Copy(o, w.Extra)
		return o
	}
	return object{
		"type": key[0], "category": key[1], "severity": key[2], "count": len(all), "last_seen": stamp(all[0].Raised),
		"sparkline": hours, "samples": shown(all[:min(samples, len(all))], sample),
	}
}
