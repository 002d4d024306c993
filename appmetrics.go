package hogapi

import (
	"cmp"
	"context"
	"encoding/json"
	"net/url"
	"time"

	"github.com/hogapi/hogapi/internal/loosetime"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// AppMetrics holds the success and failure counts of an app or a batch export over time, and its errors.
type AppMetrics struct {
	Metrics MetricSeries  `json:"metrics"`
	Errors  []MetricError `json:"errors"` // nil for batch exports
}

func (m *AppMetrics) complete() error { return allComplete(m.Errors) }

// MetricSeries holds one count of each kind for each date. All fields are empty if the service has no counts.
type MetricSeries struct {
	Dates            []time.Time  `json:"dates"` // days, or hours if the range is under two days; UTC
	Successes        []int64      `json:"successes"`
	SuccessesOnRetry []int64      `json:"successes_on_retry"`
	Failures         []int64      `json:"failures"`
	Totals           MetricTotals `json:"totals"`
}

func (s *MetricSeries) UnmarshalJSON(b []byte) error {
	type plain MetricSeries
	var raw struct {
		*plain

		Dates []loosetime.Time `json:"dates"`
	}
	*s = MetricSeries{}
	raw.plain = (*plain)(s)
	if err := json.Unmarshal(b, &raw); err != nil {
		return err
	}
	for _, date := range raw.Dates {
		s.Dates = append(s.Dates, date.Time)
	}
	return nil
}

// MetricTotals are the sums of a series.
type MetricTotals struct {
	Successes        int64 `json:"successes"`
	SuccessesOnRetry int64 `json:"successes_on_retry"`
	Failures         int64 `json:"failures"`
}

// MetricError is one type of error and how often it happened.
type MetricError struct {
	Type     string    `json:"error_type"`
	Count    int64     `json:"count"`
	LastSeen time.Time `json:"last_seen"`
}

func (e *MetricError) UnmarshalJSON(b []byte) error {
	type plain MetricError
	var raw struct {
		*plain

		LastSeen loosetime.Time `json:"last_seen"`
	}
	raw.plain = (*plain)(e)
	err := json.Unmarshal(b, &raw)
	e.LastSeen = raw.LastSeen.Time
	return err
}

func (e *MetricError) complete() error { return has("error_type", e.Type) }

// MetricErrorDetail is one occurrence of an error.
type MetricErrorDetail struct {
	Timestamp time.Time       `json:"timestamp"`
	ErrorUUID string          `json:"error_uuid"`
	Type      string          `json:"error_type"`
	Details   json.RawMessage `json:"error_details"` // of any shape
}

func (d *MetricErrorDetail) UnmarshalJSON(b []byte) error {
	type plain MetricErrorDetail
	var raw struct {
		*plain

		Timestamp loosetime.Time `json:"timestamp"`
	}
	raw.plain = (*plain)(d)
	err := json.Unmarshal(b, &raw)
	d.Timestamp = raw.Timestamp.Time
	return err
}

func (d *MetricErrorDetail) complete() error {
	if d.Timestamp.IsZero() {
		return has("error_uuid", d.ErrorUUID)
	}
	return nil
}

// HistoricalExport is one job that exported an app's past events.
type HistoricalExport struct {
	JobID      string          `json:"job_id"`
	Status     string          `json:"status"`  // success, fail or not_finished
	Payload    json.RawMessage `json:"payload"` // of any shape
	CreatedAt  time.Time       `json:"created_at"`
	CreatedBy  *User           `json:"created_by"`
	FinishedAt *time.Time      `json:"finished_at,omitzero"` // nil while it is not finished
	Duration   *float64        `json:"duration,omitzero"`    // seconds; nil while it is not finished
}

func (h *HistoricalExport) UnmarshalJSON(b []byte) error {
	type plain HistoricalExport
	var raw struct {
		*plain

		CreatedAt  loosetime.Time `json:"created_at"`
		FinishedAt loosetime.Time `json:"finished_at"`
	}
	*h = HistoricalExport{}
	raw.plain = (*plain)(h)
	err := json.Unmarshal(b, &raw)
	h.CreatedAt = raw.CreatedAt.Time
	if !raw.FinishedAt.IsZero() {
		h.FinishedAt = &raw.FinishedAt.Time
	}
	return err
}

func (h *HistoricalExport) complete() error { return has("job_id", h.JobID) }

// HistoricalExportDetail is one historical export with its counts.
type HistoricalExportDetail struct {
	Summary HistoricalExport `json:"summary"`
	Metrics MetricSeries     `json:"metrics"`
	Errors  []MetricError    `json:"errors"`
}

func (d *HistoricalExportDetail) identity() string { return d.Summary.JobID }

func (d *HistoricalExportDetail) complete() error {
	return cmp.Or(d.Summary.complete(), allComplete(d.Errors))
}

// MetricCategory is one kind of an app's work.
type MetricCategory string

// The known categories.
const (
	MetricProcessEvent   MetricCategory = "processEvent"
	MetricOnEvent        MetricCategory = "onEvent"
	MetricExportEvents   MetricCategory = "exportEvents"
	MetricScheduledTask  MetricCategory = "scheduledTask"
	MetricWebhook        MetricCategory = "webhook"
	MetricComposeWebhook MetricCategory = "composeWebhook"
)

var metricCategories = []MetricCategory{
	MetricProcessEvent, MetricOnEvent, MetricExportEvents, MetricScheduledTask, MetricWebhook, MetricComposeWebhook,
}

// AppMetricsOptions selects the counts that [AppMetricsService.Get] returns.
type AppMetricsOptions struct {
	Category MetricCategory // older servers need one; not for batch exports
	DateFrom string         // a date, an RFC 3339 time, or relative such as "-7d"; empty is "-30d"
	DateTo   string         // the same; empty is now
	JobID    string         // of a historical export
}

// ErrorDetailsOptions selects the errors that [AppMetricsService.ErrorDetails] returns.
type ErrorDetailsOptions struct {
	Category MetricCategory
	JobID    string // of a historical export
}

// AppMetricsService is [Client.AppMetrics]: the metrics of apps, which are plugin configurations, and of batch exports.
// Servers since about the middle of 2026 return [ErrUnsupported]; [RunsService.Counts] works on every server.
type AppMetricsService service

// Get returns the counts of an app or, with the id of a batch export, the counts of its runs: GET /app_metrics/{id}/,
// scope plugin:read.
func (s *AppMetricsService) Get(
	ctx context.Context, id string, o *AppMetricsOptions, options ...CallOption,
) (*AppMetrics, error) {
	selected := outgoing.OrDefault(o)
	r := metrics(ops.AppMetricsGet, selected.Category, selected.JobID, id)
	outgoing.SetText(r.query, "date_from", selected.DateFrom)
	outgoing.SetText(r.query, "date_to", selected.DateTo)
	return ask[AppMetrics](ctx, s.client, r, options)
}

// ErrorDetails returns the newest occurrences of one type of error, by the name in [MetricError]: GET
// /app_metrics/{id}/error_details/, scope plugin:read. Every known server answers [ErrUnsupported]: either it lacks the
// endpoint or it accepts no personal API key for it.
func (s *AppMetricsService) ErrorDetails(
	ctx context.Context, id, errorType string, o *ErrorDetailsOptions, options ...CallOption,
) ([]MetricErrorDetail, error) {
	selected := outgoing.OrDefault(o)
	r := metrics(ops.AppMetricsErrorDetails, selected.Category, selected.JobID, id)
	if errorType == "" {
		r = r.refuse(outgoing.Refuse("errorType", "", "a type of error, such as those in AppMetrics.Errors"))
	}
	r.query.Set("error_type", errorType)
	return askRows[MetricErrorDetail](ctx, s.client, r, options, "result")
}

// HistoricalExports returns the historical exports of an app: GET /app_metrics/{plugin_config_id}/historical_exports/,
// scope plugin:read.
func (s *AppMetricsService) HistoricalExports(
	ctx context.Context, pluginConfigID string, options ...CallOption,
) ([]HistoricalExport, error) {
	r := metrics(ops.AppMetricsHistoricalExports, "", "", pluginConfigID)
	return askRows[HistoricalExport](ctx, s.client, r, options, "results")
}

// HistoricalExport returns one historical export with its counts; an unknown job is a status of 500: GET
// /app_metrics/{plugin_config_id}/historical_exports/{id}/, scope plugin:read.
func (s *AppMetricsService) HistoricalExport(
	ctx context.Context, pluginConfigID, jobID string, options ...CallOption,
) (*HistoricalExportDetail, error) {
	r := metrics(ops.AppMetricsHistoricalExport, "", "", pluginConfigID, jobID)
	return ask[HistoricalExportDetail](ctx, s.client, r, options)
}

// metrics returns the request of an operation. Its answer may be empty: PostHog's API reference documents no
// body.
func metrics(op Op, category MetricCategory, jobID string, ids ...string) request {
	r := endpoint(op, ids...).with(url.Values{})
	r.lenient = true
	if category != "" {
		r = r.refuse(outgoing.Misspelt("Category", category, metricCategories))
		r.query.Set("category", string(category))
	}
	outgoing.SetText(r.query, "job_id", jobID)
	return r
}
