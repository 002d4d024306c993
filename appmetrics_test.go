package hogapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	seriesJSON  = `{"dates":["2024-03-01","2024-03-02 13:00:00"],"successes":[1,2],"successes_on_retry":[0,1],"failures":[3,0],"totals":{"successes":3,"successes_on_retry":1,"failures":3}}`
	summaryJSON = `{"created_at":"2024-03-01T00:00:00Z","created_by":{"id":1,"uuid":"0190e0a2-0000-7000-8000-000000000001","distinct_id":null},"job_id":"j","payload":{"a":[1]},"status":"success","finished_at":"2024-03-01 00:01:00","duration":60.5}`
)

var wantSeries = MetricSeries{
	Dates:     []time.Time{time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2024, 3, 2, 13, 0, 0, 0, time.UTC)},
	Successes: []int64{1, 2}, SuccessesOnRetry: []int64{0, 1}, Failures: []int64{3, 0}, Totals: MetricTotals{3, 1, 3},
}

func TestAppMetricsGet(t *testing.T) {
	for body, want := range map[string]AppMetrics{
		``:     {},
		`{}`:   {},
		`null`: {},
		`{"metrics":` + seriesJSON + `,"errors":null}`: {Metrics: wantSeries},
		`{"metrics":null,"errors":[{"error_type":"E","count":2,"last_seen":"2024-03-01T00:00:00.5"},{"error_type":"F","count":1,"last_seen":null}],"new":1}`: {
			Errors: []MetricError{{"E", 2, time.Date(2024, 3, 1, 0, 0, 0, 500_000_000, time.UTC)}, {Type: "F", Count: 1}},
		},
	} {
		t.Run(body, func(t *testing.T) {
			client, mock := newTestClient(t)
			s := keepSent(mock, 200, body)
			var reply Reply
			got, err := client.AppMetrics.Get(t.Context(), testExportID.String(), nil, WithReply(&reply))
			require.NoError(t, err)
			assert.Equal(t, want, *got)
			assert.Equal(t, body, string(reply.Body))
			assert.Equal(t, sent{"GET", testBase + "/app_metrics/" + testExportID.String() + "/", ""}, *s)
			again, err := json.Marshal(got)
			require.NoError(t, err)
			var back AppMetrics
			require.NoError(t, json.Unmarshal(again, &back))
			assert.Len(t, back.Metrics.Dates, len(want.Metrics.Dates))
		})
	}
	require.Error(t, json.Unmarshal([]byte(`{"metrics":{"dates":["soon"]}}`), new(AppMetrics)))
}

func TestAppMetricsQueries(t *testing.T) {
	client, mock := newTestClient(t)
	s := keepSent(mock, 200, "")
	_, err := client.AppMetrics.Get(t.Context(), "7", &AppMetricsOptions{Category: MetricWebhook, DateFrom: "-7d", DateTo: "2024-03-01", JobID: "j"})
	require.NoError(t, err)
	assert.Equal(t, testBase+"/app_metrics/7/?category=webhook&date_from=-7d&date_to=2024-03-01&job_id=j", s.url)
	details, err := client.AppMetrics.ErrorDetails(t.Context(), "hog-1", "E & F", &ErrorDetailsOptions{Category: "later", JobID: "j"})
	require.NoError(t, err)
	assert.Empty(t, details)
	assert.Equal(t, testBase+"/app_metrics/hog-1/error_details/?category=later&error_type=E+%26+F&job_id=j", s.url)
}

func TestAppMetricsErrorDetails(t *testing.T) {
	client, mock := newTestClient(t)
	mock.RegisterNoResponder(httpmock.NewStringResponder(200, `{"result":[{"timestamp":"2024-03-01T00:00:00","error_uuid":"u","error_type":"E","error_details":{"stack":["a"]}},{"timestamp":null,"error_uuid":"v","error_details":null}]}`))
	got, err := client.AppMetrics.ErrorDetails(t.Context(), "7", "E", nil)
	require.NoError(t, err)
	assert.Equal(t, []MetricErrorDetail{
		{time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC), "u", "E", json.RawMessage(`{"stack":["a"]}`)},
		{ErrorUUID: "v", Details: json.RawMessage(`null`)},
	}, got)
}

func TestHistoricalExports(t *testing.T) {
	client, mock := newTestClient(t)
	mock.RegisterResponder("GET", testBase+"/app_metrics/7/historical_exports/", httpmock.NewStringResponder(200,
		`{"results":[`+summaryJSON+`,{"created_at":"2024-03-01T00:00:00Z","created_by":null,"job_id":"k","payload":null,"status":"paused"}]}`))
	list, err := client.AppMetrics.HistoricalExports(t.Context(), "7")
	require.NoError(t, err)
	begun := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC)
	user := &User{ID: 1, UUID: uuid.MustParse("0190e0a2-0000-7000-8000-000000000001")}
	assert.Equal(t, []HistoricalExport{
		{CreatedAt: begun, CreatedBy: user, JobID: "j", Payload: json.RawMessage(`{"a":[1]}`), Status: "success", FinishedAt: new(begun.Add(time.Minute)), Duration: new(60.5)},
		{CreatedAt: begun, JobID: "k", Payload: json.RawMessage("null"), Status: "paused"},
	}, list)

	mock.RegisterResponder("GET", testBase+"/app_metrics/7/historical_exports/j/", httpmock.NewStringResponder(200, `{"summary":`+summaryJSON+`,"metrics":`+seriesJSON+`,"errors":[]}`))
	detail, err := client.AppMetrics.HistoricalExport(t.Context(), "7", "j")
	require.NoError(t, err)
	assert.Equal(t, "j", detail.Summary.JobID)
	assert.Equal(t, wantSeries, detail.Metrics)

	mock.Reset()
	mock.RegisterNoResponder(httpmock.NewStringResponder(204, ""))
	list, err = client.AppMetrics.HistoricalExports(t.Context(), "7")
	require.NoError(t, err)
	assert.Empty(t, list)
	detail, err = client.AppMetrics.HistoricalExport(t.Context(), "7", "j")
	require.NoError(t, err)
	assert.Equal(t, &HistoricalExportDetail{}, detail)
}

func TestAppMetricsRefuseBadInput(t *testing.T) {
	client, mock := newTestClient(t)
	m, ctx := client.AppMetrics, t.Context()
	for _, id := range []string{"", "..", "a/b", "7?x=1", "7#", "%2e%2e", "7 ", "é"} {
		_, err := m.Get(ctx, id, nil)
		requireInputError(t, err, "id")
		_, err = m.ErrorDetails(ctx, id, "E", nil)
		requireInputError(t, err, "id")
		_, err = m.HistoricalExports(ctx, id)
		requireInputError(t, err, "plugin_config_id")
		_, err = m.HistoricalExport(ctx, id, "j")
		requireInputError(t, err, "plugin_config_id")
	}
	for _, id := range []string{"", ".", "..", "a\n", "\xff", strings.Repeat("a", 201), testPersonalKey} {
		_, err := m.HistoricalExport(ctx, "7", id)
		requireInputError(t, err, "id")
	}
	_, err := m.ErrorDetails(ctx, "7", "", nil)
	requireInputError(t, err, "errorType")
	_, err = m.ErrorDetails(ctx, "7", "E", &ErrorDetailsOptions{Category: "web_hook"})
	requireInputError(t, err, "Category")
	_, err = m.Get(ctx, "7", &AppMetricsOptions{Category: "onevent"})
	requireInputError(t, err, "Category")
	assert.ErrorContains(t, err, `"onEvent"`)
	assert.Zero(t, mock.GetTotalCallCount())
}
