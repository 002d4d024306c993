package hogapitest

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
)

// getAppMetrics counts the runs of a batch export by the day of their last change, of all times: date_from and date_to are
// ignored. Runs that were cancelled, or failed for the plan's limit, are not counted. An id that begins with
// "hog-" has empty counts; the fake knows no plugin configurations.
func (s *Server) getAppMetrics(r *request) answer {
	days := map[string]*[2]int{} // successes and failures
	if !strings.HasPrefix(r.params["id"], "hog-") {
		for _, run := range r.export().runs {
			kind, isCounted := map[hogapi.RunStatus]int{"Completed": 0, "Failed": 1, "FailedRetryable": 1}[run.Status]
			if !isCounted {
				continue
			}
			name := run.updated.UTC().Format(time.DateOnly)
			if days[name] == nil {
				days[name] = &[2]int{}
			}
			days[name][kind]++
		}
	}
	dates, counts, totals := orEmpty(slices.Sorted(maps.Keys(days))), [2][]int{{}, {}}, [2]int{}
	for _, name := range dates {
		for kind, n := range days[name] {
			counts[kind] = append(counts[kind], n)
			totals[kind] += n
		}
	}
	return success(object{"errors": nil, "metrics": object{
		"dates": dates, "successes": counts[0], "successes_on_retry": make([]int, len(dates)), "failures": counts[1],
		"totals": object{"successes": totals[0], "successes_on_retry": 0, "failures": totals[1]},
	}})
}

// appMetrics are the rows of the HogQL table app_metrics: for each run that is over one with its end, and for a
// completed one another with its rows. A run that the service itself ended has none.
func (p *Project) appMetrics(zone *time.Location) (rows [][]any) {
	ends := map[hogapi.RunStatus][2]string{
		"Completed": {"success", "succeeded"}, "Failed": {"failure", "failed"}, "FailedBilling": {"failure", "failed_billing"}, "Cancelled": {"cancellation", "canceled"},
	}
	for _, e := range p.exports {
		for _, r := range e.runs {
			add := func(kind, name string, n int) {
				rows = append(rows, []any{r.updated.In(zone), "batch_export", e.ID.String(), r.ID.String(), kind, name, float64(n)})
			}
			if end, ok := ends[r.Status]; ok {
				add(end[0], end[1], 1)
			}
			if r.Status == "Completed" && r.completed != nil {
				add("rows", "rows_exported", *r.completed)
			}
		}
	}
	return rows
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (s *Server) getErrorDetails(r *request) answer {
	if r.query.Get("error_type") == "" {
		return invalid("error_type", "required", "This field is required.")
	}
	return notFound("Not found.")
}

// historicalExports serves both endpoints of the historical exports, which only plugin configurations have.
func (s *Server) historicalExports(*request) answer { return notFound("Not found.") }
