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
	type day struct{ successes, failures int }
	days := map[string]*day{}
	if !strings.HasPrefix(r.params["id"], "hog-") {
		for _, run := range r.export().runs {
			isFailure := run.Status == "Failed" || run.Status == "FailedRetryable"
			if run.Status != "Completed" && !isFailure {
				continue
			}
			name := run.updated.UTC().Format(time.DateOnly)
			if days[name] == nil {
				days[name] = &day{}
			}
			if isFailure {
				days[name].failures++
			} else {
				days[name].successes++
			}
		}
	}
	dates, successes, failures, total := orEmpty(slices.Sorted(maps.Keys(days))), []int{}, []int{}, day{}
	for _, name := range dates {
		successes, failures = append(successes, days[name].successes), append(failures, days[name].failures)
		total.successes, total.failures = total.successes+days[name].successes, total.failures+days[name].failures
	}
	return success(object{"errors": nil, "metrics": object{
		"dates": dates, "successes": successes, "successes_on_retry": make([]int, len(dates)), "failures": failures,
		"totals": object{"successes": total.successes, "successes_on_retry": 0, "failures": total.failures},
	}})
}

// appMetrics are the rows of the HogQL table app_metrics: for each run that is over one with its end, and one with its
// rows. Only the latter names the run. A run that the service itself ended does not have the latter.
func (p *Project) appMetrics(zone *time.Location) (rows [][]any) {
	ends := map[hogapi.RunStatus][2]string{
		"Completed": {"success", "succeeded"}, "Failed": {"failure", "failed"}, "FailedBilling": {"failure", "failed_billing"}, "Cancelled": {"cancellation", "canceled"},
	}
	for _, e := range p.exports {
		for _, r := range e.runs {
			add := func(run, kind, name string, n int) {
				rows = append(rows, []any{r.updated.In(zone), "batch_export", e.ID.String(), run, kind, name, float64(n)})
			}
			if end, ok := ends[r.Status]; ok {
				add("", end[0], end[1], 1)
				add(r.ID.String(), "rows", "rows_exported", deref(r.completed))
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
