package hogapi

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"runtime"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/httptry"
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

// zipped is an answer of gzip, in which equal parts cost next to nothing.
func zipped(t *testing.T, status int, parts ...string) step {
	t.Helper()
	var body bytes.Buffer
	zip := gzip.NewWriter(&body)
	for _, part := range parts {
		_, err := io.WriteString(zip, part)
		require.NoError(t, err)
	}
	require.NoError(t, zip.Close())
	return func(r *http.Request) (*http.Response, error) {
		unzip, err := gzip.NewReader(bytes.NewReader(body.Bytes()))
		resp := answer(r, status, "")
		resp.ContentLength, resp.Uncompressed, resp.Body = -1, true, io.NopCloser(unzip) // as net/http hands it over
		return resp, err
	}
}

// bombs are valid JSON of four megabytes, which are four kilobytes of gzip and would be gigabytes in memory.
func bombs(t *testing.T, key string) map[string][]string {
	t.Helper()
	const size = 4 << 20
	many := func(text string) string { return strings.Repeat(text, size/len(text)) }
	return map[string][]string{
		"rows":            {`{"count":1,"` + key + `":[{}`, many(",{}"), "]}"},
		"nulls":           {`{"` + key + `":[null`, many(",null"), "]}"},
		"rows within one": {`{"` + key + `":[{"id":"` + runA.String() + `","job_id":"j","error_type":"E","timestamp":"2024-01-01","latest_runs":[{}`, many(",{}"), "]}]}"},
		"another member":  {`{"` + key + `":[],"other":[{}`, many(",{}"), "]}"},
		"one member each": {`{"` + key + `":[{"a":0}`, many(`,{"a":0}`), "]}"},
		"a bare list":     {"[{}", many(",{}"), "]"},
		"depth":           {`{"` + key + `":`, many("["), many("]"), "}"},
	}
}

// A small answer of valid JSON never takes much memory or time, for any target of the decoding.
func TestBombsOfValidJSON(t *testing.T) {
	if raceDetector {
		t.Skip("memory is measured")
	}
	const most = 64 << 20
	try := func(name string, call func() error) {
		t.Helper()
		begin := time.Now()
		growth := heapGrowth(func() {
			if err := call(); err != nil {
				require.Less(t, len(err.Error()), 2000, name)
			}
		})
		require.LessOrEqual(t, growth, int64(most), "%s: %d MiB", name, growth>>20)
		require.Less(t, time.Since(begin), 2*time.Minute, name) // on any machine: without the bound it takes hours
	}
	type large struct{ Text [1000]string }
	for key := range lists(t.Context(), nil) {
		for kind, parts := range bombs(t, key) {
			client := newFakeClient(t, newScript(zipped(t, 200, parts...)), WithRetryPolicy(RetryPolicy{MaxTries: 1}))
			for name, call := range lists(t.Context(), client)[key] {
				try(name+", "+kind, call)
			}
			if key != "results" {
				continue
			}
			for name, out := range map[string]any{"any": new(any), "raw": new(json.RawMessage), "large": new(struct{ Results, Other []large })} {
				try("Do into "+name+", "+kind, func() error {
					return client.Do(t.Context(), Request{Method: "GET", Path: "/x/"}, out)
				})
			}
			client = newFakeClient(t, newScript(zipped(t, 400, parts...)))
			try("an error of "+kind, lists(t.Context(), client)[key]["all runs"])
		}
	}
}

// Decoding a text within the estimate allocates at most a few times the estimate, including garbage.
func TestFootprintBoundsMemory(t *testing.T) {
	if raceDetector {
		t.Skip("memory is measured")
	}
	const enough = 12 << 20 // bytes of text: by then the estimate has refused all of these
	type pointers struct {
		List []*[64]string
		Map  map[string][32]int
	}
	for name, tt := range map[string]struct {
		out                any
		begin, member, end string // the member may hold its number, of seven digits
	}{
		"members":  {new(any), `[{"a":0}`, `,{"a":0}`, `]`},
		"texts":    {new(any), `["a"`, `,"a"`, `]`},
		"pointers": {new(pointers), `{"List":[[]`, `,[]`, `]}`},
		"a map":    {new(pointers), `{"Map":{"":[]`, `,"%07d":[]`, `}}`},
		"nulls":    {new([]*Run), `[null`, `,null`, `]`},
		"a config": {new(BatchExport), `{"id":"` + runA.String() + `","destination":{"type":"S3","config":{"":0`, `,"%07d":1`, `}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			size := len(strings.ReplaceAll(tt.member, "%07d", "0000000"))
			body := append(make([]byte, 0, enough), tt.begin...)
			for n := 0; len(body)+size+len(tt.end) <= enough; n++ {
				if size == len(tt.member) {
					body = append(body, tt.member...)
				} else {
					body = fmt.Appendf(body, tt.member, n)
				}
			}
			first := func(n int) []byte { return append(body[:len(tt.begin)+n*size:len(tt.begin)+n*size], tt.end...) }
			refused := sort.Search((len(body)-len(tt.begin))/size, func(n int) bool { return httptry.Weigh(t.Context(), first(n+1), tt.out) != nil })
			text := first(refused)
			body = nil
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := time.Now()
			require.NoError(t, decodeAnswer(t.Context(), text, tt.out))
			runtime.ReadMemStats(&after)
			took := after.TotalAlloc - before.TotalAlloc
			t.Logf("%d members, %d KiB of text, %d MiB of memory, %v", refused, len(text)>>10, took>>20, time.Since(begin).Round(time.Millisecond))
			require.LessOrEqual(t, took, uint64(4*httptry.MaxDecoded))
		})
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
