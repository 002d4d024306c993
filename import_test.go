package hogapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// bubble is a test in virtual time.
func bubble(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

// parallelBubble is a test in virtual time, in parallel with others.
func parallelBubble(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, test)
	}
}

// writeFile makes a file in a folder of the test.
func writeFile(t testing.TB, name, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// readFile returns the content of a file.
func readFile(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	return content
}

func checkpointOnly(t *testing.T) hogapi.Checkpointer {
	return hogapi.FileCheckpoint(filepath.Join(t.TempDir(), "ckpt"))
}

// fake is a service and a client of it.
func fake(t *testing.T) (*hogapitest.Server, *hogapi.Client) {
	t.Helper()
	server := hogapitest.New()
	return server, server.Client(t)
}

// imported is the receipt of an import that ends well.
func imported(t *testing.T, client *hogapi.Client, source hogapi.Source, o *hogapi.ImportOptions) hogapi.Receipt {
	t.Helper()
	receipt, err := client.Import(t.Context(), source, o)
	require.NoError(t, err)
	return receipt
}

// newCapture makes a Capture of good options.
func newCapture(t *testing.T, client *hogapi.Client, o hogapi.CaptureOptions) *hogapi.Capture {
	t.Helper()
	capture, err := client.NewCapture(&o)
	require.NoError(t, err)
	return capture
}

// enqueue gives a Capture the first n numbered events.
func enqueue(t *testing.T, capture *hogapi.Capture, n int) {
	t.Helper()
	for i := range n {
		require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(i+1)))
	}
}

// closed is the receipt of a Capture that ends well.
func closed(t *testing.T, capture *hogapi.Capture) hogapi.Receipt {
	t.Helper()
	receipt, err := capture.Close(t.Context())
	require.NoError(t, err)
	return receipt
}

// keepRejects is a handler that keeps the rejects.
func keepRejects(all *[]hogapi.Reject) hogapi.RejectHandler {
	return hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
		*all = append(*all, r)
		return nil
	})
}

// stopOf is why an import has stopped.
func stopOf(t *testing.T, err error) *hogapi.StopError {
	t.Helper()
	var stop *hogapi.StopError
	require.ErrorAs(t, err, &stop)
	return stop
}

// requireInputError demands an error of the input.
func requireInputError(t *testing.T, err error) *hogapi.InputError {
	t.Helper()
	var input *hogapi.InputError
	require.ErrorAs(t, err, &input)
	return input
}

// countRejects counts the rejects that it is given.
func countRejects(n *int) hogapi.RejectHandler {
	return hogapi.RejectFunc(func(context.Context, hogapi.Reject) error {
		*n++
		return nil
	})
}

// refuseEvents has the fake refuse the events of which the number fits, as the service does: a short text.
func refuseEvents(t *testing.T, server *hogapitest.Server, isBad func(n int) bool) {
	server.RejectEvents(func(raw json.RawMessage) int {
		var ev struct {
			Properties struct{ N int }
		}
		assert.NoError(t, json.Unmarshal(raw, &ev))
		if isBad(ev.Properties.N) {
			return http.StatusBadRequest
		}
		return 0
	})
}

// If a hundred different events in a row are refused, each sent alone, it is not the service that refuses them.
func TestHundredLoneRefusalsStop(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		n     int
		isBad func(int) bool
		stops bool
	}{
		"all":                  {5000, every(1), true},
		"all of 100":           {100, every(1), true},
		"all of 99":            {99, every(1), false},
		"the first 99 of 100":  {100, first(99), false},
		"the first 100 of 101": {101, first(100), true},
		"the last 100":         {1100, func(i int) bool { return i > 1000 }, true},
		"99 of each 100":       {1000, func(i int) bool { return i%100 != 0 }, false},
		"the last 100 of 150":  {150, func(i int) bool { return i > 50 }, true},
	} {
		t.Run(name, parallelBubble(func(t *testing.T) {
			server, client := fake(t)
			refuseEvents(t, server, tt.isBad)
			rejects := 0
			checkpoint := &memoryCheckpoint{}
			options := hogapi.ImportOptions{
				ID: "refused", Checkpoint: checkpoint, Rejects: countRejects(&rejects), MaxRejectShare: -1, Rate: hogapi.Unpaced,
				Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 1, MaxBatchEvents: 50}},
			}
			receipt, err := client.Import(t.Context(), numbered(tt.n), &options)
			requireBalanced(t, receipt)
			bad := 0
			for i := range tt.n {
				if tt.isBad(i + 1) {
					bad++
				}
			}
			if !tt.stops {
				require.NoError(t, err)
				assert.EqualValues(t, bad, receipt.Rejected)
				assert.EqualValues(t, tt.n-bad, receipt.Acknowledged)
				assert.Empty(t, server.Breaches(), "each half is a request of its own")
				return
			}
			stop := stopOf(t, err)
			assert.Equal(t, hogapi.StopRefused, stop.Reason)
			assert.Equal(t, http.StatusBadRequest, stop.Status)
			require.ErrorContains(t, err, "100 different events in a row were refused, each sent alone: the server answered 400: ")
			assert.Less(t, receipt.Rejected, int64(100))
			assert.EqualValues(t, server.Ledger().Unique(), receipt.Acknowledged)

			refuseEvents(t, server, func(int) bool { return false })
			receipt = imported(t, client, numbered(tt.n), &options)
			assert.EqualValues(t, tt.n, receipt.Acknowledged+receipt.Rejected)
			if server.Ledger().Unique() < tt.n {
				assert.Equal(t, tt.n-rejects, server.Ledger().Unique(), "only what was handed over is missing")
			}
		}))
	}
}

// The service itself refuses few events; many refusals come from elsewhere. Until the service has accepted an event, no reject is
// settled.
func TestAllRefusedByTheService(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, client := fake(t)
		refuseEvents(t, server, every(1))
		options := hogapi.ImportOptions{ID: "refused", Checkpoint: &memoryCheckpoint{}, Rejects: ignoreRejects, Rate: hogapi.Unpaced}
		options.Delivery.Protocol = hogapi.ProtocolBatch
		receipt, err := client.Import(t.Context(), numbered(30), &options)
		stop := tooMany(t, err)
		assert.ErrorContains(t, stop, "30 of 30 records were rejected")
		assert.ErrorContains(t, stop, "the first of this run: event refused: answer_400: event: the server answered 400: failed to parse request")
		assert.EqualValues(t, 30, receipt.Rejected)
		refuseEvents(t, server, func(int) bool { return false })
		receipt = imported(t, client, numbered(30), &options)
		assert.EqualValues(t, 30, receipt.Acknowledged, "it began at the start again")
	})
}

// An http URL to a TLS port answers 400 to everything. Nothing is rejected, and the checkpoint stays at the start.
func TestPlainHTTPToATLSPort(t *testing.T) {
	t.Parallel()
	nginx := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte("<html>\r\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>\r\n"))
	}))
	defer nginx.Close()
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	for name, port := range map[string]*httptest.Server{"Go": tls, "nginx": nginx} {
		for _, n := range []int{5, 3000} {
			t.Run(name, func(t *testing.T) {
				server := hogapitest.New()
				path := filepath.Join(t.TempDir(), "ckpt")
				options := hogapi.ImportOptions{ID: "tls", Checkpoint: hogapi.FileCheckpoint(path), Rejects: ignoreRejects, Rate: hogapi.Unpaced}
				wrong := server.Client(t, hogapi.WithHTTPClient(&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}),
					hogapi.WithCaptureURL("http://"+port.Listener.Addr().String()))
				receipt, err := wrong.Import(t.Context(), numbered(n), &options)
				reason := stopOf(t, err).Reason
				assert.Contains(t, []hogapi.StopReason{hogapi.StopNotService, hogapi.StopRefused, hogapi.StopTooManyRejects}, reason)
				if reason != hogapi.StopTooManyRejects { // of the few events that there are
					assert.Zero(t, receipt.Rejected)
				}
				assert.Zero(t, receipt.Acknowledged)
				receipt = imported(t, server.Client(t), numbered(n), &options)
				assert.EqualValues(t, n, receipt.Acknowledged)
				requireWhole(t, server, n)
			})
		}
	}
}

// A server without /environments is read below /projects; a write there is refused, and its error names the way out.
func TestServerWithoutEnvironments(t *testing.T) {
	flow(t, func(t *testing.T, s *hogapitest.Server, _ hogapitest.Era) {
		project := defaultProject(s)
		export := project.AddExport(hogapitest.Export{})
		client := s.Client(t, hogapi.WithAPIPath("/api/environments"))

		got, err := client.BatchExports.Get(t.Context(), export)
		require.NoError(t, err)
		require.Equal(t, export, got.ID)

		err = client.BatchExports.Pause(t.Context(), export)
		require.ErrorIs(t, err, hogapi.ErrUnsupported)
		require.ErrorContains(t, err, `WithAPIPath("/api/projects")`)
		require.False(t, project.Exports()[0].Paused)
		require.NoError(t, s.Client(t).BatchExports.Pause(t.Context(), export))
	}, hogapitest.WithoutEnvironments())
}

// A wait that the service asks for and that is longer than the limit stops at once, instead of after the limit.
func TestTooLongRetryAfterStopsAtOnce(t *testing.T) {
	for name, wait := range map[string]time.Duration{"a second over the limit": 901 * time.Second, "a day": 24 * time.Hour, "a century": 876_600 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			server := hogapitest.New()
			server.Script(ops.Capture, hogapitest.Always(hogapitest.RateLimit(fmt.Sprint(int(wait.Seconds())))))
			begin := time.Now()
			onePerson := altered(numbered(10), func(ev *hogapi.Event) { ev.DistinctID = "ann" }) // and so one request at a time
			_, err := server.Client(t).Import(t.Context(), onePerson, &hogapi.ImportOptions{ID: "limited"})
			stop := stopOf(t, err)
			assert.Equal(t, hogapi.StopNoProgress, stop.Reason)
			assert.Equal(t, wait, stop.RetryAfter)
			assert.Less(t, time.Since(begin), time.Second, name)
			assert.Len(t, server.Calls(ops.Capture), 1)
		})
	}
}
