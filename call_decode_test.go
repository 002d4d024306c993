package hogapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// last is the last error of a walk.
func last[T any](seq iter.Seq2[T, error]) (err error) {
	for _, failed := range seq {
		err = failed
	}
	return err
}

// lists are the calls that read lists, with the key that their rows are under.
func lists(ctx context.Context, c *Client) map[string]map[string]func() error {
	return map[string]map[string]func() error{
		"results": {
			"exports":            func() error { return failed(c.BatchExports.List(ctx, nil)) },
			"deletions":          func() error { return failed(c.DataDeletions.List(ctx, nil)) },
			"all exports":        func() error { return last(c.BatchExports.All(ctx, nil)) },
			"runs":               func() error { return failed(c.Runs.List(ctx, exportA, nil)) },
			"all runs":           func() error { return last(c.Runs.All(ctx, exportA, nil)) },
			"failed runs":        func() error { return last(c.Runs.LatestFailed(ctx, exportA, nil)) },
			"backfills":          func() error { return last(c.Backfills.All(ctx, exportA, nil)) },
			"dashboards":         func() error { return last(c.Dashboards.All(ctx, nil)) },
			"log":                func() error { return failed(c.BatchExports.Logs(ctx, exportA, nil)) },
			"log of a run":       func() error { return failed(c.Runs.Logs(ctx, exportA, runA, nil)) },
			"whole log":          func() error { return last(c.BatchExports.AllLogs(ctx, exportA, nil)) },
			"historical exports": func() error { return failed(c.AppMetrics.HistoricalExports(ctx, "7")) },
		},
		"result": {
			"error details": func() error { return failed(c.AppMetrics.ErrorDetails(ctx, "7", "E", nil)) },
		},
		"errors": {
			"metrics": func() error { return failed(c.AppMetrics.Get(ctx, "7", nil)) },
		},
	}
}

// JSON of another server, such as a portal before the network, is not a page, and above all not the end of a list.
func TestAnswersThatAreNoList(t *testing.T) {
	for _, body := range []string{"null", "{}", `{"detail":"sign in first"}`, `{"results":null,"id":null}`} {
		client := newFakeClient(t, newScript(answers(200, body)))
		for name, call := range lists(t.Context(), client)["results"] {
			require.ErrorAs(t, call(), new(*DecodeError), "%s of %s", name, body)
		}
	}
}

// A row that is nothing is refused, as Get refuses it: it would be an export, a run or a dashboard without an id.
func TestRowsThatAreNothing(t *testing.T) {
	for _, row := range []string{"{}", "null", `{"detail":"sign in first"}`} {
		for key := range lists(t.Context(), nil) {
			client := newFakeClient(t, newScript(answers(200, fmt.Sprintf(`{"count":1,"next":null,%q:[%s]}`, key, row))))
			for name, call := range lists(t.Context(), client)[key] {
				err := call()
				require.ErrorAs(t, err, new(*DecodeError), "%s of %s", name, row)
				require.ErrorContains(t, err, "row 0", name)
			}
		}
	}
}

// Answers that are large for a good reason are read: a thousand exports with their runs, and half a million cells of a query.
func TestLargeAnswersAreRead(t *testing.T) {
	t.Parallel()
	run := fmt.Sprintf(`{"id":%q,"status":"Completed","batch_export":%q,"data_interval_start":"2024-01-01T00:00:00Z","data_interval_end":"2024-01-01T01:00:00Z","records_completed":5,
		"latest_error":null,"cursor":null,"created_at":"2024-01-01T01:00:00Z","last_updated_at":"2024-01-01T01:00:00Z","finished_at":"2024-01-01T01:00:00Z"}`, runA, exportA)
	export := fmt.Sprintf(`{"id":%q,"team_id":1,"name":"n","model":"events","interval":"hour","paused":false,"destination":{"type":"S3","config":{"bucket_name":"b","region":"r","prefix":"p",
		"include_events":["a","b"],"file_format":"JSONLines"}},"created_at":"2024-01-01T00:00:00Z","last_updated_at":"2024-01-01T00:00:00Z","latest_runs":[%s],"schema":null}`,
		exportA, strings.Repeat(run+",", 9)+run)
	client := newFakeClient(t, newScript(answers(200, `{"count":1000,"next":null,"results":[`+strings.Repeat(export+",", 999)+export+`]}`)))
	page, err := client.BatchExports.List(t.Context(), &ListOptions{Limit: 1000})
	require.NoError(t, err)
	require.Len(t, page.Results, 1000)
	require.Len(t, page.Results[999].LatestRuns, 10)

	row := `["2024-01-01T00:00:00Z","$pageview",1.5,2,3,4,5,null,true,"x"]`
	client = newFakeClient(t, newScript(answers(200, `{"results":[`+strings.Repeat(row+",", 49_999)+row+`]}`)))
	var out struct{ Results [][]any }
	require.NoError(t, client.Do(t.Context(), Request{Method: "GET", Path: "/query/"}, &out))
	require.Len(t, out.Results, 50_000)
}

// Decoding ends with the context: a call that may not be repeated was carried out then.
func TestDecodingEndsWithTheContext(t *testing.T) {
	body := `{"results":[` + strings.Repeat(`{"id":"`+runA.String()+`"},`, 9999) + `{"id":"` + runA.String() + `"}]}`
	for _, call := range []func(context.Context, *Client) error{
		func(ctx context.Context, c *Client) error { return failed(c.Runs.List(ctx, exportA, nil)) },
		func(ctx context.Context, c *Client) error { return failed(c.BatchExports.Create(ctx, hostileExport())) },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		s := newScript(func(r *http.Request) (*http.Response, error) {
			cancel() // as the answer comes
			return answer(r, 200, body), nil
		})
		err := call(ctx, newFakeClient(t, s))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorAs(t, err, new(*TransportError))
		cancel()
		if unknown, ok := errors.AsType[*OutcomeUnknownError](err); ok {
			require.True(t, unknown.Done)
		}
	}
}

// rows are the types of management answers that are read and written alike.
var rows = []func() any{
	func() any { return new(Run) }, func() any { return new(Backfill) }, func() any { return new(Dashboard) }, func() any { return new(LogEntry) },
	func() any { return new(AppMetrics) }, func() any { return new(MetricErrorDetail) }, func() any { return new(HistoricalExport) },
	func() any { return new(HistoricalExportDetail) }, func() any { return new(BatchExport) },
}

// FuzzRow: the client reads its own encoding of a row, which comes from any text, the same again.
func FuzzRow(f *testing.F) {
	for kind, text := range []string{
		`{"id":"0190f3c0-0000-7000-8000-0000000000a1","status":"FailedRetryable","data_interval_start":null,"data_interval_end":"2024-05-01T02:00:00+02:00","records_completed":7,"latest_error":"no \ud83e\udd94"}`,
		`{"id":"0190f3c0000070008000000000000000","team":2,"start_at":null,"status":"Completed","created_at":"2024-05-01T00:00:00Z","progress":{"total_runs":3,"progress":0.5}}`,
		`{"id":7,"name":null,"pinned":true,"created_at":"2024-05-01T00:00:00Z","created_by":{"id":1,"email":"a@b"},"tags":["a"],"restriction_level":21,"team_id":9007199254740993}`,
		`{"log_source_id":"a","instance_id":"b","timestamp":"2024-03-01 00:00:00.000001","level":"CRITICAL","message":"m"}`,
		`{"metrics":{"dates":["2024-05-01","2024-05-02T01:00:00"],"successes":[1,2],"failures":[]},"errors":[{"error_type":"E","count":2,"last_seen":"2024-05-01"}]}`,
		`{"timestamp":"2024-05-01T00:00:00","error_uuid":"u","error_type":"E","error_details":{"a":[1.50,null]}}`,
		`{"job_id":"j","status":"success","payload":{"dateRange":["a","b"]},"created_at":"2024-05-01 00:00:00","finished_at":"","duration":1.5}`,
		`{"summary":{"job_id":"j"},"metrics":{"dates":null},"errors":null}`,
		`{"id":"0190f3c0-0000-7000-8000-00000000000a","destination":{"type":"Redshift","config":{"copy_inputs":{"authorization":{"aws_secret_access_key":"a secret"}}}},"latest_runs":[{"status":"Running"}]}`,
	} {
		f.Add(uint8(kind), []byte(text))
	}
	f.Fuzz(func(t *testing.T, kind uint8, text []byte) {
		create := rows[int(kind)%len(rows)]
		row, again := create(), create()
		if json.Unmarshal(text, row) != nil {
			return
		}
		written, err := json.Marshal(row)
		if err != nil {
			require.ErrorContains(t, err, "year", "only a time beyond the years of four digits")
			return
		}
		require.NoError(t, json.Unmarshal(written, again))
		rewritten, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(written), string(rewritten))
	})
}

// The error of a row names the field and its value, and does not ask about the base URL: the page was read.
func TestBadFieldIsNamed(t *testing.T) {
	for field, says := range map[string]string{
		`"created_at":"2024-03-01T00:00:00"`: `row 0: created_at: "2024-03-01T00:00:00" is not a time with a zone`,
		`"id":"export-7"`:                    `row 0: id: "export-7" is not a uuid`,
		`"offset_hour":"5"`:                  `row 0: offset_hour: "5" is not a whole number`,
		`"latest_runs":[{"status":5}]`:       `row 0: latest_runs: a list is not a list of the expected values`,
	} {
		client := newFakeClient(t, newScript(answers(200, `{"count":1,"next":null,"results":[{`+field+`}]}`)))
		_, err := client.BatchExports.List(t.Context(), nil)
		require.ErrorAs(t, err, new(*DecodeError))
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "base URL")
	}
}
