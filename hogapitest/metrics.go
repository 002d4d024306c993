package hogapitest

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"
)

// AppMetrics is what the service holds on one plugin configuration.
type AppMetrics struct {
	Dates                                 []string // "2006-01-02", or with the time where the range is under two days
	Successes, SuccessesOnRetry, Failures []int    // one for each date
	Errors                                []AppError
	HistoricalExports                     []HistoricalExport
	Extra                                 map[string]any // keys that are added to the body, or replace what is there
}

// AppError is one type of error with its occurrences.
type AppError struct {
	Type    string
	Details []AppErrorDetail
}

// AppErrorDetail is one occurrence. Details is any JSON.
type AppErrorDetail struct {
	Time    time.Time
	UUID    uuid.UUID
	Details json.RawMessage
}

// HistoricalExport is one job of a plugin's historical export. Status is "success", "fail" or "not_finished".
type HistoricalExport struct {
	JobID    string
	Created  time.Time
	Status   string
	Payload  json.RawMessage
	Finished time.Time // left out where the job is not finished
	Metrics  AppMetrics
}

var categories = []string{"processEvent", "onEvent", "exportEvents", "scheduledTask", "webhook", "composeWebhook"}

// getAppMetrics serves a plugin's counts. A batch export's id gives the counts of its runs by day, an id that begins with
// "hog-" empty ones.
func (s *Server) getAppMetrics(r *request) answer {
	id := r.params["id"]
	if exportID, err := uuid.Parse(id); err == nil {
		e := r.project.find(exportID)
		if e == nil {
			return notFound("Not found.")
		}
		return reply(http.StatusOK, object{"metrics": e.perDay().series(), "errors": nil})
	}
	if len(id) > 4 && id[:4] == "hog-" {
		return reply(http.StatusOK, object{"metrics": AppMetrics{}.series(), "errors": nil})
	}
	if category := r.query.Get("category"); category == "" && s.era == E1 {
		return invalid("category", "required", "This field is required.")
	} else if category != "" && !slices.Contains(categories, category) {
		return invalid("category", "invalid_choice", "\""+category+"\" is not a valid choice.")
	}
	m, ok := r.project.metrics[id]
	if !ok {
		return notFound("Not found.")
	}
	body := object{"metrics": m.series(), "errors": m.errors()}
	maps.Copy(body, m.Extra)
	return reply(http.StatusOK, body)
}

// perDay counts the runs of the last 30 days.
func (e *export) perDay() AppMetrics {
	var m AppMetrics
	for _, r := range e.runs {
		day := r.created.UTC().Format(time.DateOnly)
		at := slices.Index(m.Dates, day)
		if at < 0 {
			at = len(m.Dates)
			m.Dates = append(m.Dates, day)
			m.Successes, m.SuccessesOnRetry, m.Failures = append(m.Successes, 0), append(m.SuccessesOnRetry, 0), append(m.Failures, 0)
		}
		switch {
		case r.status == "Completed":
			m.Successes[at]++
		case !r.live():
			m.Failures[at]++
		}
	}
	return m
}

func (m AppMetrics) series() object {
	return object{
		"dates": orEmpty(m.Dates), "successes": orEmpty(m.Successes), "successes_on_retry": orEmpty(m.SuccessesOnRetry), "failures": orEmpty(m.Failures),
		"totals": object{"successes": sum(m.Successes), "successes_on_retry": sum(m.SuccessesOnRetry), "failures": sum(m.Failures)},
	}
}

func (m AppMetrics) errors() []any {
	list := []any{}
	for _, e := range m.Errors {
		var last time.Time
		for _, d := range e.Details {
			if d.Time.After(last) {
				last = d.Time
			}
		}
		list = append(list, object{"error_type": e.Type, "count": len(e.Details), "last_seen": stamp(last)})
	}
	return list
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
	kind := r.query.Get("error_type")
	if kind == "" {
		return invalid("error_type", "required", "This field is required.")
	}
	m, ok := r.project.metrics[r.params["id"]]
	if !ok {
		return notFound("Not found.")
	}
	result := []any{}
	for _, e := range m.Errors {
		for _, d := range e.Details {
			if e.Type == kind {
				result = append(result, object{"timestamp": stamp(d.Time), "error_uuid": d.UUID, "error_type": e.Type, "error_details": orNull(d.Details)})
			}
		}
	}
	return reply(http.StatusOK, object{"result": result})
}

func (s *Server) listHistoricalExports(r *request) answer {
	m, ok := r.project.metrics[r.params["id"]]
	if !ok {
		return notFound("Not found.")
	}
	results := []any{}
	for _, h := range m.HistoricalExports {
		results = append(results, h.json())
	}
	return reply(http.StatusOK, object{"results": results})
}

// getHistoricalExport fails for a job that is not known, as the service does.
func (s *Server) getHistoricalExport(r *request) answer {
	m, ok := r.project.metrics[r.params["id"]]
	if !ok {
		return notFound("Not found.")
	}
	for _, h := range m.HistoricalExports {
		if h.JobID == r.params["job"] {
			return reply(http.StatusOK, object{"summary": h.json(), "metrics": h.Metrics.series(), "errors": h.Metrics.errors()})
		}
	}
	return serverError()
}

func (h HistoricalExport) json() object {
	o := object{"created_at": stamp(h.Created), "created_by": defaultUser(), "job_id": h.JobID, "payload": orNull(h.Payload), "status": h.Status}
	if !h.Finished.IsZero() {
		o["finished_at"], o["duration"] = stamp(h.Finished), h.Finished.Sub(h.Created).Seconds()
	}
	return o
}
