package hogapitest

import (
	"strings"
	"time"
)

// getAppMetrics counts the runs of a batch export by the day on which they were created. An id that begins with "hog-" has
// empty counts; the fake knows no plugin configurations.
func (s *Server) getAppMetrics(r *request) answer {
	dates, counts, totals := []string{}, map[string][]int{}, map[string]int{}
	count := func(name string, n int) {
		counts[name][len(dates)-1] += n
		totals[name] += n
	}
	names := []string{"successes", "successes_on_retry", "failures"}
	for _, name := range names {
		counts[name], totals[name] = []int{}, 0
	}
	if !strings.HasPrefix(r.params["id"], "hog-") {
		for _, run := range r.export().runs { // in the order of their creation
			day := run.Created.UTC().Format(time.DateOnly)
			if len(dates) == 0 || dates[len(dates)-1] != day {
				dates = append(dates, day)
				for _, name := range names {
					counts[name] = append(counts[name], 0)
				}
			}
			switch {
			case run.Status == "Completed":
				count("successes", 1)
			case !run.live():
				count("failures", 1)
			}
		}
	}
	metrics := object{"dates": dates, "totals": totals}
	for name, list := range counts {
		metrics[name] = list
	}
	return success(object{"metrics": metrics, "errors": nil})
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
