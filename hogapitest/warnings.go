package hogapitest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Warning describes one case of an ingestion warning, to add it.
type Warning struct {
	Type     string
	Category string    // "unknown" where it is empty
	Severity string    // "warning" where it is empty
	Raised   time.Time // now, where it is zero
	Details  map[string]any
	Extra    map[string]any // of the sample: event_uuid, distinct_id and so on
}

// AddWarning adds an ingestion warning.
func (p *Project) AddWarning(w Warning) {
	p.server.mu.Lock()
	defer p.server.mu.Unlock()
	w.Category, w.Severity, w.Raised = or(w.Category, "unknown"), or(w.Severity, "warning"), or(w.Raised, p.server.now())
	p.warnings = append(p.warnings, w)
}

const warningsKeptDays = 90

// listWarnings groups the warnings by type, category and severity.
func (s *Server) listWarnings(r *request) answer {
	since, until := r.now.Add(-24*time.Hour), r.now
	r.time("since", &since)
	r.time("until", &until)
	if !since.Before(until) {
		return invalid("since", "invalid", "The 'since' timestamp must be before 'until'.")
	}
	if order := r.query.Get("order_by"); order != "" && order != "count" && order != "last_seen" {
		return invalid("order_by", "invalid_choice", fmt.Sprintf("%q is not a valid choice.", order))
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
		rows = append(rows, warningRow(key, all, samples, until.Sub(since)))
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

// hourlyUpTo is the longest window in which warnings are counted by hours.
const hourlyUpTo = 48 * time.Hour

func warningRow(key [3]string, all []Warning, samples int, window time.Duration) object {
	step := 24 * time.Hour
	if window <= hourlyUpTo {
		step = time.Hour
	}
	slices.SortStableFunc(all, func(a, b Warning) int { return b.Raised.Compare(a.Raised) })
	counts := []object{}
	for _, w := range all {
		from := stamp(w.Raised.UTC().Truncate(step))
		if n := len(counts); n > 0 && counts[n-1]["timestamp"] == from {
			counts[n-1]["count"] = counts[n-1]["count"].(int) + 1
		} else {
			counts = append(counts, object{"timestamp": from, "count": 1})
		}
	}
	slices.Reverse(counts)
	sample := func(w Warning) object {
		o := object{
			"timestamp": stamp(w.Raised), "source": "plugin-server", "pipeline_step": "unknown", "event_uuid": nil,
			"distinct_id": nil, "person_id": nil, "group_key": nil, "details": w.Details,
		}
		if w.Details == nil {
			o["details"] = object{}
		}
		maps.Copy(o, w.Extra)
		return o
	}
	return object{
		"type": key[0], "category": key[1], "severity": key[2], "count": len(all), "last_seen": stamp(all[0].Raised),
		"sparkline": counts, "samples": shown(all[:min(samples, len(all))], sample),
	}
}
