package hogapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/bits"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// One event that the service refuses costs at most 2·⌈log2 n⌉ requests more, and is itself tried exactly once.
func TestPoisonIsFoundByHalving(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge} {
		for _, n := range []int{1, 2, 3, 100, 1000} {
			synctest.Test(t, func(t *testing.T) {
				server, client := fake(t)
				poison := numberedUUID(n/2 + 1)
				tried := 0
				server.RejectEvents(func(raw json.RawMessage) int {
					if strings.Contains(string(raw), poison.String()) {
						tried++
						return status
					}
					return 0
				})
				var rejects []hogapi.Reject
				capture := newCapture(t, client, hogapi.CaptureOptions{
					Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{Protocol: hogapi.ProtocolBatch, Tuning: hogapi.Tuning{Lanes: 1}},
					Rejects: keepRejects(&rejects),
				})
				enqueue(t, capture, n)
				receipt := closed(t, capture)
				assert.EqualValues(t, n-1, receipt.Acknowledged)
				assert.EqualValues(t, 1, receipt.Rejected)
				require.Len(t, rejects, 1)
				assert.Equal(t, poison, rejects[0].UUID)
				assert.Equal(t, status, rejects[0].Status)
				assert.Equal(t, hogapi.Position{Offset: int64(n/2 + 1)}, rejects[0].Position)
				parts := 1 // that have the event, each half of the one before
				for from, to := 0, n; to-from > 1; parts++ {
					if middle := from + (to-from)/2; n/2 < middle {
						to = middle
					} else {
						from = middle
					}
				}
				assert.Equal(t, parts, tried, "requests with the event, the last one alone")
				calls := len(server.Calls(ops.Capture))
				assert.LessOrEqual(t, calls-1, 2*bits.Len(uint(n-1)), "extra requests")
				assert.Equal(t, n-1, server.Ledger().Unique())
			})
		}
	}
}

// Every answer that would meet all later batches too stops the Capture at once, and nothing is lost from sight.
func TestAnswersThatStop(t *testing.T) {
	tests := map[string]struct {
		fault  hogapitest.Fault
		reason hogapi.StopReason
		is     error
	}{
		"401":                {hogapitest.Status(401), hogapi.StopUnauthorized, hogapi.ErrUnauthorized},
		"402":                {hogapitest.Status(402), hogapi.StopQuota, hogapi.ErrQuota},
		"403":                {hogapitest.Status(403), hogapi.StopForbidden, hogapi.ErrForbidden},
		"404":                {hogapitest.Status(404), hogapi.StopNotFound, hogapi.ErrNotFound},
		"405":                {hogapitest.Status(405), hogapi.StopRefused, nil},
		"501":                {hogapitest.Status(501), hogapi.StopRefused, nil},
		"redirect":           {redirect("https://elsewhere.example/batch/"), hogapi.StopRedirect, nil},
		"quota in a 200":     {hogapitest.Status(200, `{"status":"Ok","quota_limited":["events"]}`), hogapi.StopQuota, hogapi.ErrQuota},
		"a login page":       {hogapitest.HTML(200), hogapi.StopNotService, nil},
		"an empty 200":       {hogapitest.Status(200, ""), hogapi.StopNotService, nil},
		"another status":     {hogapitest.Status(200, `{"status":0}`), hogapi.StopNotService, nil},
		"someone else's 200": {hogapitest.Status(200, `{"ok":true}`), hogapi.StopNotService, nil},
	}
	for name, test := range tests {
		t.Run(name, bubble(func(t *testing.T) {
			server, client := fake(t)
			server.Script(ops.Capture, hogapitest.Always(test.fault))
			capture := newCapture(t, client, hogapi.CaptureOptions{Delivery: hogapi.DeliveryOptions{Protocol: hogapi.ProtocolBatch, Tuning: hogapi.Tuning{Lanes: 1}}})
			enqueue(t, capture, 3)
			receipt, err := capture.Close(t.Context())
			assert.Equal(t, test.reason, stopOf(t, err).Reason)
			if test.is != nil {
				require.ErrorIs(t, err, test.is)
			}
			var unsettled *hogapi.UnsettledError
			require.ErrorAs(t, err, &unsettled)
			assert.Equal(t, 3, unsettled.Count)
			assert.Equal(t, numberedUUIDs(3), unsettledUUIDs(unsettled))
			assert.EqualValues(t, 3, receipt.Pending)
			assert.EqualValues(t, 3, receipt.Read)
			assert.Len(t, server.Calls(ops.Capture), 1)
			require.ErrorIs(t, capture.Enqueue(t.Context(), numberedEvent(4)), hogapi.ErrClosed)
			require.ErrorIs(t, capture.Enqueue(t.Context(), hogapi.Event{}), hogapi.ErrClosed, "closed, whatever the event")
		}))
	}
}

// An outage of ten minutes loses nothing, and the import resumes within five seconds after it.
func TestOutageIsWaitedOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, client := fake(t)
		begin := time.Now()
		time.AfterFunc(time.Second, func() { server.SetDown(true) })
		time.AfterFunc(10*time.Minute, func() { server.SetDown(false) })
		receipt := imported(t, client, numbered(5000), &hogapi.ImportOptions{ID: "outage"})
		assert.EqualValues(t, 5000, receipt.Acknowledged)
		requireWhole(t, server, 5000)
		var first time.Duration
		for _, r := range server.Ledger().Requests() {
			if at := r.At.Sub(begin); at > 10*time.Minute {
				first = at - 10*time.Minute
				break
			}
		}
		assert.Positive(t, first)
		assert.LessOrEqual(t, first, 5*time.Second)
		during := len(server.Calls(ops.Capture))
		assert.Less(t, during, 600, "one lane checks whether the outage is over, not all")
	})
}

// A service runs for months: with GiveUpAfter -1 its Capture outlives a host that is late, a long outage and a
// foolish Retry-After. Meanwhile it holds no more than it may.
func TestCaptureThatNeverGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		log := &lockedBuffer{}
		client := server.Client(t, hogapi.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
		server.SetDown(true)
		capture := newCapture(t, client, hogapi.CaptureOptions{Delivery: hogapi.DeliveryOptions{GiveUpAfter: -1, Tuning: hogapi.Tuning{MaxInFlight: 100}}})
		require.ErrorIs(t, capture.TryEnqueue(numberedEvent(1)), hogapi.ErrNotReady)
		time.Sleep(5 * time.Minute) // virtual
		require.ErrorIs(t, capture.TryEnqueue(numberedEvent(1)), hogapi.ErrNotReady)
		assert.Contains(t, log.String(), "level=WARN", "an outage before the first event shows")
		server.SetDown(false)
		require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(1)))
		require.NoError(t, capture.Flush(t.Context()))

		server.SetDown(true)
		for n := 2; n <= 101; n++ {
			require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(n)))
		}
		time.Sleep(time.Hour) // virtual
		require.ErrorIs(t, capture.TryEnqueue(numberedEvent(102)), hogapi.ErrFull)
		server.Script(ops.Capture, hogapitest.RateLimit("9999999999"))
		server.SetDown(false)
		require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(102)))
		receipt := closed(t, capture)
		assert.EqualValues(t, 102, receipt.Acknowledged)
		requireWhole(t, server, 102)
	})
}

const wordsKey = "phc_CanaryProjectKey0123456789"

// saying answers each batch with a status and a text.
func saying(status int, contentType, text string) hogapitest.Fault {
	return hogapitest.Always(hogapitest.Then(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.WriteHeader(status)
		_, _ = fmt.Fprint(w, text)
	}))
}

// The service's reason for a refusal is in the reject, in the reject file and in the stop: on one line, bounded, and without keys.
func TestTheServicesOwnWords(t *testing.T) {
	const told = "the event is too odd"
	for name, c := range map[string]struct {
		status            int
		contentType, text string
	}{
		"a text":           {400, "text/plain", told},
		"a text with keys": {400, "text/plain", "no, " + wordsKey + " and phx_AnotherKey0123456789: " + told},
		"control bytes":    {400, "text/plain", told + "\x1b[31m\r\nforged line\x00"},
		"a long text":      {400, "text/plain", told + strings.Repeat(" very", 700)},
		"413":              {413, "text/plain", told},
		"JSON":             {400, "application/json", `{"type":"validation_error","code":"invalid","detail":"` + told + ` for ` + wordsKey + `"}`},
		"401":              {401, "text/plain", told + " " + wordsKey},
		"402":              {402, "application/json", `{"detail":"` + told + `"}`},
		"403":              {403, "text/plain", told},
		"404":              {404, "text/plain", told},
		"503":              {503, "text/plain", told},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			server := hogapitest.New(hogapitest.WithProjectKey(wordsKey))
			server.Script(ops.Capture, saying(c.status, c.contentType, c.text))
			client := server.Client(t)
			requireWords := func(text string) {
				require.Contains(t, text, fmt.Sprintf("answered %d: ", c.status))
				require.Contains(t, text, told)
				require.NotContains(t, text, "Canary")
				require.NotContains(t, text, "phx_")
				require.NotContains(t, text, "\n")
				require.NotContains(t, text, "\x1b")
				require.Less(t, len(text), 450)
			}
			_, err := client.Import(t.Context(), numbered(1), &hogapi.ImportOptions{ID: "words"}) // without a handler it stops
			requireWords(stopOf(t, err).Error())
			if c.status != 400 && c.status != 413 {
				return
			}
			path := filepath.Join(t.TempDir(), "rejects")
			file := hogapi.RejectFile(path)
			_, err = client.Import(t.Context(), numbered(1), &hogapi.ImportOptions{ID: "words", MaxRejectShare: -1, Rejects: hogapi.RejectFunc(func(ctx context.Context, r hogapi.Reject) error {
				requireWords(r.Err.Error())
				assert.Equal(t, c.status, r.Status)
				return file.Reject(ctx, r)
			})})
			require.NoError(t, err)
			content := readFile(t, path)
			_, note, _ := strings.Cut(strings.TrimSuffix(string(content), "\n"), `"$reject":`)
			requireWords(note)
		}))
	}
}
