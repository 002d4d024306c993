package hogapitest

import (
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
)

// getAppMetrics counts the runs of a batch export by day. An id that begins with "hog-" has empty counts; the fake
// knows no plugin configurations.
func (s *Server) getAppMetrics(r *request) answer {
	id := r.params["id"]
	if exportID, err := uuid.Parse(id); err == nil {
		e := r.project.find(exportID)
		if e == nil {
			return notFound("Not found.")
		}
		return reply(http.StatusOK, object{"metrics": e.perDay().json(), "errors": nil})
	}
	if len(id) > 4 && id[:4] == "hog-" {
		return reply(http.StatusOK, object{"metrics": series{}.json(), "errors": nil})
	}
	return notFound("Not found.")
}

// perDay counts the runs of the last 30 days.
func (e *export) perDay() (m series) {
	for _, r := range e.runs {
		day := r.created.UTC().Format(time.DateOnly)
		at := slices.Index(m.dates, day)
		if at < 0 {
			at = len(m.dates)
			m.dates = append(m.dates, day)
			m.successes, m.failures = append(m.successes, 0), append(m.failures, 0)
		}
		switch {
		case r.status == "Completed":
			m.successes[at]++
		case !r.live():
			m.failures[at]++
		}
	}
	return m
}

// series counts runs by the day on which they were created.
type series struct {
	dates               []string
	successes, failures []int
}

func (m series) json() object {
	onRetry := make([]int, len(m.dates))
	return object{
		"dates": orEmpty(m.dates), "successes": orEmpty(m.successes), "successes_on_retry": onRetry, "failures": orEmpty(m.failures),
		"totals": object{"successes": sum(m.successes), "successes_on_retry": 0, "failures": sum(m.failures)},
	}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func sum(list []int) (n int) {
	for _, x := range list {
		n += x
	}
	return n
}

func (s *Server) getErrorDetails(r *request) answer {
	if r.query.Get("error_type") == "" {
		return invalid("error_type", "required", "This field is required.")
	}
	return notFound("Not found.")
}

// historicalExports serves both endpoints of the historical exports, which only plugin configurations have.
func (s *Server) historicalExports(*request) answer { return notFound("Not found.") }
