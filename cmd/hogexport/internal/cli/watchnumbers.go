package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/coverage"
	intervals "github.com/hogapi/hogapi/internal/coverage"
)

// write writes the numbers in the text form of Prometheus.
func (m *monitor) write(w io.Writer) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.now()
	ids := slices.SortedFunc(maps.Keys(m.watched), func(a, b uuid.UUID) int { return slices.Compare(a[:], b[:]) })
	for _, n := range numbers {
		fmt.Fprintf(w, "# HELP hogexport_%s %s\n# TYPE hogexport_%s gauge\n", n.name, n.help, n.name)
		for _, id := range ids {
			x := m.watched[id]
			if value, isKnown := n.of(x, now); isKnown {
				fmt.Fprintf(w, "hogexport_%s{export=%s,id=%q} %v\n", n.name, label(x.Status.Name), id, value)
			}
		}
	}
	age := -1.0
	if !m.looked.IsZero() {
		age = now.Sub(m.looked).Seconds()
	}
	fmt.Fprintf(w, "# HELP hogexport_age_seconds Time since the last successful poll of the service; -1: none yet.\n# TYPE hogexport_age_seconds gauge\nhogexport_age_seconds %.0f\n", age)
	fmt.Fprintf(w, "# HELP hogexport_calls_total Requests to the service, each try.\n# TYPE hogexport_calls_total counter\nhogexport_calls_total %d\n", m.calls.Load())
	fmt.Fprintf(w, "# HELP hogexport_errors_total Failed polls.\n# TYPE hogexport_errors_total counter\n")
	if len(m.errors) == 0 {
		fmt.Fprintln(w, `hogexport_errors_total{kind="other"} 0`)
	}
	for _, kind := range slices.Sorted(maps.Keys(m.errors)) {
		fmt.Fprintf(w, "hogexport_errors_total{kind=%q} %d\n", kind, m.errors[kind])
	}
}

// label returns a text as the value of a label.
func label(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(strings.ToValidUTF8(text, "\uFFFD")) + `"`
}

// numbers are the metrics of each export.
var numbers = []struct {
	name, help string
	of         func(x *watched, now time.Time) (value any, isKnown bool)
}{
	{"freshness_seconds", "Time since the end of the newest interval that is exported.", func(x *watched, now time.Time) (any, bool) {
		return int64(now.Sub(x.Exported).Seconds()), !x.Exported.IsZero()
	}},
	{"interval_seconds", "Length of an interval of the schedule.", func(x *watched, _ time.Time) (any, bool) {
		step, ok := intervals.Step(x.Status.Interval)
		return int64(step.Seconds()), ok
	}},
	{"uncovered_intervals", "Intervals of the last 30 days that are not exported.", func(x *watched, _ time.Time) (any, bool) { return len(x.Open), !x.ReadAt.IsZero() }},
	{"oldest_gap_seconds", "Age of the oldest interval of the last 30 days that is not exported; 0: no gap.", func(x *watched, now time.Time) (any, bool) {
		if len(x.Open) == 0 {
			return 0, !x.ReadAt.IsZero()
		}
		return int64(now.Sub(x.Open[0].Start).Seconds()), true
	}},
	{"stuck_seconds", "How long an overdue run has been under way; 0: no overdue run.", func(x *watched, now time.Time) (any, bool) {
		if since, isStuck := x.stuckSince(now); isStuck {
			return int64(now.Sub(since).Seconds()), true
		}
		return 0, true
	}},
	{"failures", "Failed runs among the runs that count towards a pause by the service.", func(x *watched, _ time.Time) (any, bool) { return x.Status.Failures, true }},
	{"failures_left", "Failures until the service pauses the export.", func(x *watched, _ time.Time) (any, bool) { return x.Status.FailuresLeft, true }},
	{"failed_billing", "Intervals of the last 30 days that the limit of the plan has kept from being exported.", func(x *watched, _ time.Time) (any, bool) {
		n := 0
		for _, s := range x.Open {
			if s.State == coverage.StateFailedBilling {
				n++
			}
		}
		return n, !x.ReadAt.IsZero()
	}},
	{"paused", "1 if the export is paused, by a person or by the service.", func(x *watched, _ time.Time) (any, bool) {
		if x.Status.State == statePaused {
			return 1, true
		}
		return 0, true
	}},
	{"paused_since_seconds", "Unix time of the pause of the export; 0: not paused.", func(x *watched, _ time.Time) (any, bool) {
		if x.Status.PausedSince == nil {
			return 0, true
		}
		return x.Status.PausedSince.Unix(), true
	}},
	{"last_run_rows", "Rows of the newest completed run.", func(x *watched, _ time.Time) (any, bool) {
		return pointed(x.Status.Rows)
	}},
	{"last_run_bytes", "Bytes of the newest completed run.", func(x *watched, _ time.Time) (any, bool) {
		return pointed(x.Status.Bytes)
	}},
}

func pointed(n *int64) (value any, isKnown bool) {
	if n == nil {
		return 0, false
	}
	return *n, true
}
