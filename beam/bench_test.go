//go:build unix

package hogbeam_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/beam"
)

// sink answers like the service and keeps nothing.
type sink struct{ url string }

func newSink(t testing.TB) *sink {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, `{"status":1}`)
	}))
	t.Cleanup(server.Close)
	return &sink{server.URL}
}

func (s *sink) options(t testing.TB) hogbeam.Options {
	return hogbeam.Options{
		ID: "shop", Rate: hogapi.Unpaced, Sort: hogbeam.SortOptions{Folder: t.TempDir()},
		Service: hogbeam.Service{BaseURL: s.url, ProjectKey: hogbeam.SecretRef{Env: key}},
	}
}

// The same files through a job on the local runner and through the core's Import, in turns, into one sink in this process.
func BenchmarkJobAndImport(b *testing.B) {
	const events = 200_000
	b.Setenv(key, "phc_sink")
	s := newSink(b)
	glob := writeEvents(b, events, 8)
	client, err := hogapi.NewClient(hogapi.WithBaseURL(s.url), hogapi.WithProjectAPIKey("phc_sink"))
	require.NoError(b, err)
	var byImport, byJob, cpuImport, cpuJob time.Duration
	for b.Loop() {
		start, cpu := time.Now(), cpuTime(b)
		receipt, err := client.Import(b.Context(), hogapi.JSONLinesFile(filesOf(b, glob)...), hogapi.ImportOptions{ID: "shop", Rate: hogapi.Unpaced})
		require.NoError(b, err)
		require.EqualValues(b, events, receipt.Acknowledged)
		byImport += time.Since(start)
		cpuImport += cpuTime(b) - cpu

		start, cpu = time.Now(), cpuTime(b)
		_, receipt = must(b, s.options(b), fromFiles(glob))
		require.EqualValues(b, events, receipt.Acknowledged)
		byJob += time.Since(start)
		cpuJob += cpuTime(b) - cpu
	}
	rate := func(took time.Duration) float64 { return float64(events) * float64(b.N) / took.Seconds() }
	b.ReportMetric(rate(byImport), "import-events/s")
	b.ReportMetric(rate(byJob), "job-events/s")
	b.ReportMetric(rate(byJob)/rate(byImport), "job/import")
	b.ReportMetric(rate(cpuJob)/rate(cpuImport), "job/import-by-CPU")
}

// cpuTime is what this process has used of the processors: on a busy machine it says more than the clock.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
