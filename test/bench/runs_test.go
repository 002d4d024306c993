package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// BenchmarkRuns reads 2,000 runs in 20 pages, with this package and with net/http and encoding/json alone, and
// reports the medians and their ratio.
func BenchmarkRuns(b *testing.B) {
	const pages, rows, benchKey = 20, 100, "phx_Benchmark0000000"
	export := uuid.New()
	var body [pages]string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var n int
		_, _ = fmt.Sscan(r.URL.Query().Get("cursor"), &n)
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(body[n]))
	}))
	defer server.Close()
	for n := range body {
		next := "null"
		if n+1 < pages {
			next = fmt.Sprintf(`"%s/x/?cursor=%d"`, server.URL, n+1)
		}
		all := make([]string, rows)
		for i := range all {
			all[i] = fmt.Sprintf(`{"id":%q,"batch_export":%q,"status":"Completed","data_interval_start":"2026-11-01T00:00:00Z","data_interval_end":"2026-11-01T01:00:00Z",`+
				`"records_completed":12345,"records_total_count":12345,"latest_error":null,"cursor":null,"created_at":"2026-11-01T01:00:00.123456Z",`+
				`"last_updated_at":"2026-11-01T01:01:00.123456Z","finished_at":"2026-11-01T01:01:00Z","backfill":null,"bytes_exported":1234567}`, uuid.New(), export)
		}
		body[n] = `{"next":` + next + `,"previous":null,"results":[` + strings.Join(all, ",") + `]}`
	}
	client, err := hogapi.NewClient(hogapi.WithBaseURL(server.URL), hogapi.WithProject("1"), hogapi.WithPersonalAPIKey(benchKey))
	require.NoError(b, err)
	ours := func() (n int) {
		for _, err := range client.Runs.All(b.Context(), export, nil) {
			require.NoError(b, err)
			n++
		}
		return n
	}
	plain := func() (n int) {
		for next := server.URL + "/x/"; next != ""; {
			request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, next, nil)
			require.NoError(b, err)
			request.Header.Set("Authorization", "Bearer "+benchKey)
			resp, err := http.DefaultClient.Do(request)
			require.NoError(b, err)
			var page hogapi.CursorPage[hogapi.Run]
			require.NoError(b, json.NewDecoder(resp.Body).Decode(&page))
			require.NoError(b, resp.Body.Close())
			for range page.Results {
				require.NoError(b, err)
				n++
			}
			next = ""
			if page.Next != nil {
				next = *page.Next
			}
		}
		return n
	}
	took := map[string][]time.Duration{}
	for b.Loop() { // in turns, since the machine may do other work
		for name, read := range map[string]func() int{"ours": ours, "plain": plain} {
			start := time.Now()
			require.Equal(b, pages*rows, read())
			took[name] = append(took[name], time.Since(start))
		}
	}
	median := func(name string) float64 { return float64(slices.Sorted(slices.Values(took[name]))[len(took[name])/2]) }
	b.ReportMetric(median("ours")/1e6, "ours-ms")
	b.ReportMetric(median("plain")/1e6, "plain-ms")
	b.ReportMetric(median("ours")/median("plain"), "ratio")
	http.DefaultClient.CloseIdleConnections()
	client.CloseIdleConnections()
}
