package flows_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"math/bits"
	"math/rand/v2"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
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
					Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Protocol: hogapi.ProtocolBatch, Tuning: hogapi.Tuning{Lanes: 1}},
					Rejects: keepRejects(&rejects),
				})
				enqueue(t, capture, n)
				receipt := closed(t, capture)
				assert.EqualValues(t, n-1, receipt.Acknowledged)
				assert.EqualValues(t, 1, receipt.Rejected)
				require.Len(t, rejects, 1)
				assert.Equal(t, poison, rejects[0].UUID)
				assert.Equal(t, status, rejects[0].Status)
				require.ErrorContains(t, rejects[0].Err, fmt.Sprintf("the server answered %d: ", status))
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
			unsettled := as[*event.UnsettledError](t, err)
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
		receipt := imported(t, client, numbered(5000), &history.Options{ID: "outage"})
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

// With GiveUpAfter -1 a Capture outlives a late host, a long outage and a foolish Retry-After, within its limits.
func TestCaptureThatNeverGivesUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		log := &testevents.Output{}
		client := server.Client(t, hogapi.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
		server.SetDown(true)
		capture := newCapture(t, client, hogapi.CaptureOptions{Delivery: hogapi.DeliveryOptions{GiveUpAfter: -1, Tuning: hogapi.Tuning{MaxInFlight: 100}}})
		require.NoError(t, capture.TryEnqueue(numberedEvent(1)))
		time.Sleep(5 * time.Minute) // virtual
		assert.Contains(t, log.String(), "level=WARN", "an outage before the first event shows")
		server.SetDown(false)
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

// The receipt and the rejects have the service's word for each event that is not simply accepted.
func TestEachResultOfCaptureV1(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, client := fake(t)
		words := []hogapitest.Result{
			{}, {Result: "ok", Details: "person_processing_disabled"}, {Result: "warning"}, {Result: "drop", Details: "event_restriction_drop"}, {Result: "limited"}, {Absent: true},
		}
		server.Script(ops.Capture, hogapitest.Always(hogapitest.Results(func(_ int, e hogapitest.StoredEvent) hogapitest.Result { return words[e.Time.Second()-1] })))
		var rejects []hogapi.Reject
		receipt := imported(t, client, numbered(len(words)), &history.Options{ID: "each", MaxRejectShare: -1, Rejects: keepRejects(&rejects)})
		requireBalanced(t, receipt)
		assert.EqualValues(t, []int64{3, 1, 2, 1}, []int64{receipt.Acknowledged, receipt.Rejected, receipt.Unconfirmed, receipt.Resent})
		assert.Equal(t, map[hogapi.Warning]int64{"person_processing_disabled": 1, "warning": 1}, receipt.Warnings)
		assert.Equal(t, map[hogapi.Reason]int64{"drop_event_restriction_drop": 1}, receipt.Rejects)
		assert.Contains(t, receipt.String(), "rejected 1 + unconfirmed 2 + pending 0")
		require.Len(t, rejects, 3)
		for i, want := range []string{"event_restriction_drop", "a word that this release does not know: limited", "two answers did not name the event"} {
			require.ErrorContains(t, rejects[i].Err, want)
			assert.NotContains(t, string(rejects[i].Event), `"options"`, "a line of a file")
		}
		assert.Empty(t, server.Violations())
	})
}

// Events that the service drops by name are rejects, however many: it is the service that answers, unlike a server that refuses
// each request.
func TestDropsByNameAreNotRefusals(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, client := fake(t)
		server.Script(ops.Capture, hogapitest.Always(hogapitest.Results(func(int, hogapitest.StoredEvent) hogapitest.Result {
			return hogapitest.Result{Result: "drop", Details: "event_restriction_drop"}
		})))
		receipt := imported(t, client, numbered(300), &history.Options{ID: "drops", MaxRejectShare: -1, Rejects: ignoreRejects})
		requireBalanced(t, receipt)
		assert.EqualValues(t, 300, receipt.Rejected)
	})
}

// An untrustworthy answer acknowledges nothing and stops the import. The next run sends the events unchanged.
func TestWrongAnswersOfCaptureV1(t *testing.T) {
	t.Parallel()
	const begin = `{"results":{`
	foreign := func(most int) hogapitest.Fault { // results of events that were not sent
		return hogapitest.Altered(func(own []byte) []byte {
			body := []byte(begin)
			for len(body) < most {
				body = fmt.Appendf(body, `"%s":{"result":"ok"},`, uuid.New())
			}
			return append(body, own[len(begin):]...)
		})
	}
	for name, fault := range map[string]hogapitest.Fault{
		"an event that was not sent": foreign(len(begin) + 1),
		"keys twice": hogapitest.Altered(func(own []byte) []byte {
			return slices.Concat(own[:len(own)-2], []byte(","), bytes.ReplaceAll(own[len(begin):], []byte("ok"), []byte("drop")))
		}),
		"50 MB of results":  foreign(50 << 20),
		"a page":            hogapitest.Acted(hogapitest.HTML(200)),
		"a word of /batch/": hogapitest.Acted(hogapitest.Status(200, `{"status":"Ok"}`)),
		"a list of results": hogapitest.Acted(hogapitest.Status(200, `{"results":[]}`)),
		"nothing":           hogapitest.Acted(hogapitest.Status(200, "")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, client := fake(t)
			server.Script(ops.Capture, fault)
			folder := t.TempDir()
			options := &history.Options{
				ID: "wrong", Rate: hogapi.RateUnlimited, Checkpoint: history.CheckpointFile(filepath.Join(folder, "ckpt")),
				Rejects: history.RejectFile(filepath.Join(folder, "rejects")), Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 1}},
			}
			receipt, err := history.Import(t.Context(), client, numbered(100), options)
			assert.Equal(t, hogapi.StopNotService, stopOf(t, err).Reason, "%v", err)
			assert.Zero(t, receipt.Acknowledged)
			assert.Zero(t, receipt.Rejected+receipt.Unconfirmed)
			receipt = imported(t, client, numbered(100), options)
			assert.EqualValues(t, 100, receipt.Acknowledged)
			assert.Empty(t, server.Ledger().Changed())
			requireEach(t, server, 100)
		})
	}
}

// requireEach demands that the fake has n different events.
func requireEach(t *testing.T, server *hogapitest.Server, n int) {
	t.Helper()
	require.Equal(t, n, server.Ledger().Unique())
}

// No request over capture v1 has more than 10 MiB, even if the options allow more. A batch that does not compress is
// halved.
func TestSizesOfCaptureV1(t *testing.T) {
	t.Parallel()
	const n, each = 20, 800_000
	source := altered(numbered(n), func(ev *hogapi.Event) {
		noise := make([]byte, each/4*3)
		_, _ = rand.NewChaCha8([32]byte{byte(ev.Position.Offset)}).Read(noise)
		ev.Properties = map[string]any{"n": ev.Position.Offset, "noise": base64.StdEncoding.EncodeToString(noise)}
	})
	for name, test := range map[string]struct {
		delivery hogapi.DeliveryOptions
		refused  bool // a request is
	}{
		"plain": {delivery: hogapi.DeliveryOptions{Compression: hogapi.CompressionNone}},
		"gzip":  {refused: true},
	} {
		t.Run(name, func(t *testing.T) {
			server, largest, refused := hogapitest.New(), 0, 0
			client := server.Client(t, hogapi.WithHooks(hogapi.Hooks{OnBatch: func(b hogapi.BatchInfo) {
				if b.StatusCode == 413 {
					refused++
					return
				}
				largest = max(largest, b.WireBytes)
			}}))
			test.delivery.Lanes, test.delivery.MaxBytes, test.delivery.MaxBatchBytes = 1, 64<<20, 18<<20
			test.delivery.Linger = time.Hour // a batch is full, however slow the machine
			receipt := imported(t, client, source, &history.Options{ID: "sizes", Rate: hogapi.RateUnlimited, Delivery: test.delivery})
			assert.EqualValues(t, n, receipt.Acknowledged)
			assert.Equal(t, hogapi.ProtocolV1, receipt.Protocol)
			assert.Equal(t, n, server.Ledger().Unique())
			assert.Equal(t, test.refused, refused > 0)
			assert.LessOrEqual(t, largest, 10<<20)
			assert.Greater(t, largest, 5<<20)
		})
	}
}
