package hogapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/httptry"
)

// exportJSON is an export as the service sends it, with two runs.
func exportJSON(n int) string {
	run := func(status string) string {
		return fmt.Sprintf(`{"id":"%s","batch_export":"%s","status":"%s","records_completed":1200,"records_total_count":1200,"latest_error":null,"cursor":null,`+
			`"data_interval_start":"2024-03-01T00:00:00Z","data_interval_end":"2024-03-01T01:00:00Z","created_at":"2024-03-01T01:00:03.123456Z",`+
			`"last_updated_at":"2024-03-01T01:04:03.123456Z","finished_at":"2024-03-01T01:04:03Z"}`, uuid.NewString(), uuid.NewString(), status)
	}
	return fmt.Sprintf(`{"id":"%s","team_id":7,"name":"export %d","model":"events","interval":"hour","paused":false,`+
		`"destination":{"type":"S3","config":{"bucket_name":"bucket","region":"eu-central-1","prefix":"events/%d/","compression":"zstd","file_format":"Parquet","max_file_size_mb":500}},`+
		`"created_at":"2024-03-01T00:00:00.123456Z","last_updated_at":"2024-03-01T00:00:00.123456Z","last_paused_at":null,"start_at":null,"end_at":null,`+
		`"latest_runs":[%s,%s],"hogql_query":null,"schema":null,"filters":[]}`, uuid.NewString(), n, n, run("Completed"), run("FailedRetryable"))
}

// pageServer serves the pages of a list by offset, as they are. It returns the client of them, and the URL of the list.
func pageServer(tb testing.TB, pages, pageSize int, latency time.Duration, item func(int) string) (*Client, *http.Client, string) {
	bodies := make([]string, pages)
	var base string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(latency)
		offset, _ := strconv.Atoi(r.URL.Query().Get("offset"))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, bodies[offset/pageSize])
	}))
	tb.Cleanup(server.Close)
	base = server.URL + "/api/projects/12345/batch_exports/"
	for p := range bodies {
		items := make([]string, pageSize)
		for i := range items {
			items[i] = item(p*pageSize + i)
		}
		next := "null"
		if p < pages-1 {
			next = fmt.Sprintf(`"%s?limit=%d&offset=%d"`, base, pageSize, (p+1)*pageSize)
		}
		bodies[p] = fmt.Sprintf(`{"count":%d,"next":%s,"previous":null,"results":[%s]}`, pages*pageSize, next, strings.Join(items, ","))
	}
	transport := httptry.DefaultTransport()
	tb.Cleanup(transport.CloseIdleConnections)
	return newFakeClient(tb, transport, WithRegion(""), WithBaseURL(server.URL)), &http.Client{Transport: transport}, base
}

// listByHand is what a program would write without this package.
func listByHand(ctx context.Context, client *http.Client, link string) (n int, err error) {
	for link != "" {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, link, nil)
		if err != nil {
			return n, err
		}
		req.Header.Set("Authorization", "Bearer "+testPersonalKey)
		resp, err := client.Do(req)
		if err != nil {
			return n, err
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return n, err
		}
		if resp.StatusCode != http.StatusOK {
			return n, fmt.Errorf("status %d", resp.StatusCode)
		}
		var page struct {
			Next    *string
			Results []BatchExport
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return n, err
		}
		n += len(page.Results)
		link = ""
		if page.Next != nil {
			link = *page.Next
		}
	}
	return n, nil
}

func listByPackage(ctx context.Context, client *Client) (n int, err error) {
	for _, err := range client.BatchExports.All(ctx, nil) {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// Listing 1,000 exports through All, by hand, and both in turns for their ratio.
func BenchmarkListExports(b *testing.B) {
	const exports = 1000
	client, plain, link := pageServer(b, exports/100, 100, 0, exportJSON)
	all := func(tb testing.TB) {
		n, err := listByPackage(tb.Context(), client)
		require.NoError(tb, err)
		require.Equal(tb, exports, n)
	}
	byHand := func(tb testing.TB) {
		n, err := listByHand(tb.Context(), plain, link)
		require.NoError(tb, err)
		require.Equal(tb, exports, n)
	}
	b.Run("All", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			all(b)
		}
	})
	b.Run("by hand", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			byHand(b)
		}
	})
	b.Run("ratio", func(b *testing.B) {
		var ours, theirs cost
		for b.Loop() {
			theirs.add(func() { byHand(b) })
			ours.add(func() { all(b) })
		}
		b.ReportMetric(float64(ours.time)/float64(theirs.time), "time-ratio")
		b.ReportMetric(float64(ours.allocs)/float64(theirs.allocs), "allocs-ratio")
		b.ReportMetric(float64(ours.bytes)/float64(theirs.bytes), "bytes-ratio")
	})
}

// cost is what some work takes, that of the server in the same process included.
type cost struct {
	time          time.Duration
	allocs, bytes uint64
}

func (c *cost) add(work func()) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := time.Now()
	work()
	c.time += time.Since(start)
	runtime.ReadMemStats(&after)
	c.allocs += after.Mallocs - before.Mallocs
	c.bytes += after.TotalAlloc - before.TotalAlloc
}

// 50 pages of a service that takes 50 ms for each.
func BenchmarkPrefetch(b *testing.B) {
	client, _, _ := pageServer(b, 50, 2, 50*time.Millisecond, exportJSON)
	walk := func(prefetch int) time.Duration {
		start, n := time.Now(), 0
		for _, err := range client.BatchExports.All(b.Context(), &ListOptions{Limit: 2, Prefetch: prefetch}) {
			require.NoError(b, err)
			n++
		}
		require.Equal(b, 100, n)
		return time.Since(start)
	}
	var alone, ahead time.Duration
	for b.Loop() {
		alone += walk(0)
		ahead += walk(4)
	}
	b.ReportMetric(float64(alone)/float64(ahead), "times-faster")
}

// One call of the smallest kind, over a transport that costs nothing.
func BenchmarkCall(b *testing.B) {
	client := newFakeClient(b, roundTrip(func(r *http.Request) (*http.Response, error) { return answer(r, 200, `{"id":"x"}`), nil }))
	var out struct{ ID string }
	b.ReportAllocs()
	for b.Loop() {
		require.NoError(b, client.Do(b.Context(), Request{Method: "GET", Path: "/x/"}, &out))
	}
}

// A walk over 100,000 runs holds a page at a time: the heap stays within 8 MiB of its start.
func TestMemoryOfALongWalk(t *testing.T) {
	const runs, most = 100_000, 8 << 20
	items := strings.Repeat(","+runJSON, 100)[1:]
	client := newFakeClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		at, _ := strconv.Atoi(r.URL.Query().Get("cursor"))
		next := "null"
		if at+100 < runs {
			next = fmt.Sprintf(`"http://other/?cursor=%d"`, at+100)
		}
		return answer(r, 200, `{"next":`+next+`,"previous":null,"results":[`+items+`]}`), nil
	}))
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	start, highest, n := heap(), 0, 0
	for run, err := range client.Runs.All(t.Context(), uuid.New(), nil) {
		require.NoError(t, err)
		if n++; n%10_000 == 5 {
			highest = max(highest, heap())
		}
		_ = run
	}
	require.Equal(t, runs, n)
	t.Logf("%.1f MiB above the start", float64(highest-start)/(1<<20))
	require.Less(t, highest-start, most)
}

const runJSON = `{"id":"0190e0a2-0000-7000-8000-000000000001","batch_export":"0190e0a2-0000-7000-8000-000000000002","status":"Completed","records_completed":1200,` +
	`"records_total_count":1200,"latest_error":null,"cursor":null,"data_interval_start":"2024-03-01T00:00:00Z","data_interval_end":"2024-03-01T01:00:00Z",` +
	`"created_at":"2024-03-01T01:00:03.123456Z","last_updated_at":"2024-03-01T01:04:03.123456Z","finished_at":"2024-03-01T01:04:03Z"}`
