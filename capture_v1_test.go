package hogapi_test

import (
	"encoding/base64"
	"encoding/json"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
)

// Each result has its effect: the handler gets each event that is dropped or has an unknown fate, with the service's word; the import
// sends an event again only if the service asks for it.
func TestEachResultOfCaptureV1(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, client := fake(t)
		words := []hogapitest.Result{
			{}, {Result: "ok", Details: "person_processing_disabled"}, {Result: "warning", Details: "person_processing_disabled"}, {Result: "warning"},
			{Result: "drop", Details: "event_restriction_drop"}, {Result: "drop"}, {Result: "limited"}, {Absent: true}, {Result: "retry", Details: "not_persisted"},
		}
		calls := 0
		server.Script(ops.Capture, hogapitest.Always(hogapitest.Results(func(_ int, e hogapitest.StoredEvent) hogapitest.Result {
			calls++
			r := words[e.Time.Second()%len(words)]
			if r.Result == "retry" && calls > len(words) {
				return hogapitest.Result{}
			}
			return r
		})))
		var rejects []hogapi.Reject
		start := time.Date(1998, 1, 1, 0, 0, 0, 0, time.UTC)
		var events []hogapi.Event
		for i := range words {
			events = append(events, hogapi.Event{Name: "opened", DistinctID: "ann", Timestamp: start.Add(time.Duration(i) * time.Second)})
		}
		receipt := imported(t, client, eventsOf(events...), &hogapi.ImportOptions{
			ID: "each", MaxRejectShare: -1, Rejects: keepRejects(&rejects),
		})
		testevents.RequireBalanced(t, receipt)
		assert.EqualValues(t, 5, receipt.Acknowledged)
		assert.EqualValues(t, 2, receipt.Rejected)
		assert.EqualValues(t, 2, receipt.Unconfirmed)
		assert.Equal(t, map[hogapi.Warning]int64{"person_processing_disabled": 2, "warning": 1}, receipt.Warnings)
		assert.Equal(t, map[hogapi.Reason]int64{"drop_event_restriction_drop": 1, "drop_no_reason": 1}, receipt.Rejects)
		assert.EqualValues(t, 2, receipt.Resent, "the absent one and the one that was asked for")
		assert.False(t, receipt.LastAcknowledged.IsZero())
		var reasons []string
		for _, r := range rejects {
			reasons = append(reasons, string(r.Err.Reason))
			assert.Equal(t, 200, r.Status)
			assert.NotContains(t, string(r.Event), `"options"`, "a line of a file")
			assert.True(t, json.Valid(r.Event))
		}
		assert.Equal(t, []string{"drop_event_restriction_drop", "drop_no_reason", "unconfirmed", "unconfirmed"}, reasons)
		assert.ErrorContains(t, rejects[2].Err, "a word that this release does not know: limited")
		assert.ErrorContains(t, rejects[3].Err, "two answers did not name the event")
		assert.Empty(t, server.Breaches())
		assert.Equal(t, 5, server.Ledger().Unique())
		assert.Contains(t, receipt.String(), "rejected 2 + unconfirmed 2 + pending 0")
		require.Len(t, receipt.Days, 1)
		assert.EqualValues(t, 2, receipt.Days[0].Unconfirmed)
	})
}

// An untrustworthy answer acknowledges nothing and stops the import. The events of its request stay pending, and the next run sends them
// unchanged.
func TestWrongAnswersOfCaptureV1(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]hogapitest.Fault{
		"an event that was not sent": hogapitest.ForeignResult(),
		"keys twice":                 hogapitest.DoubledResults(),
		"50 MB of results":           hogapitest.HugeResults(50 << 20),
		"a page":                     hogapitest.Acted(hogapitest.HTML(200)),
		"a word of /batch/":          hogapitest.Acted(hogapitest.Status(200, `{"status":"Ok"}`)),
		"a list of results":          hogapitest.Acted(hogapitest.Status(200, `{"results":[]}`)),
		"nothing":                    hogapitest.Acted(hogapitest.Status(200, "")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, client := fake(t)
			server.Script(ops.Capture, fault)
			folder := t.TempDir()
			options := &hogapi.ImportOptions{
				ID: "wrong", Rate: hogapi.Unpaced, Checkpoint: hogapi.FileCheckpoint(filepath.Join(folder, "ckpt")),
				Rejects: hogapi.RejectFile(filepath.Join(folder, "rejects")), Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 1}},
			}
			receipt, err := client.Import(t.Context(), numbered(100), options)
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

// An answer that names no event at all is asked for once more. Then nothing is known of the events:
// an import of which nothing else is accepted stops, and saves no place.
func TestAnswersWithoutResults(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, client := fake(t)
		server.Script(ops.Capture, hogapitest.Always(hogapitest.Results(func(int, hogapitest.StoredEvent) hogapitest.Result {
			return hogapitest.Result{Absent: true, Stored: true}
		})))
		options := &hogapi.ImportOptions{ID: "absent", Checkpoint: &memoryCheckpoint{}, Rejects: ignoreRejects}
		receipt, err := client.Import(t.Context(), numbered(300), options)
		stop := tooMany(t, err)
		assert.ErrorContains(t, stop, "unconfirmed")
		assert.Zero(t, receipt.Acknowledged)
		for _, calls := range callsOfEach(server) {
			assert.Equal(t, 2, calls, "sent once, and once more")
		}
		server.ClearScript(ops.Capture)
		receipt = imported(t, client, numbered(300), options)
		assert.EqualValues(t, 300, receipt.Acknowledged)
		assert.Zero(t, receipt.Unconfirmed)
		assert.Empty(t, server.Ledger().Changed())
	})
}

// callsOfEach is how often each event was stored.
func callsOfEach(server *hogapitest.Server) map[string]int {
	n := map[string]int{}
	for e := range server.Ledger().Events() {
		n[e.UUID.String()]++
	}
	return n
}

// A small flush is one request, however many persons it is of.
func TestSmallFlushIsOneRequest(t *testing.T) {
	t.Parallel()
	for _, protocol := range []hogapi.Protocol{hogapi.ProtocolV1, hogapi.ProtocolBatch} {
		server := hogapitest.New()
		capture := newCapture(t, server.Client(t), hogapi.CaptureOptions{Delivery: hogapi.DeliveryOptions{Protocol: protocol, Tuning: hogapi.Tuning{Linger: time.Hour}}})
		for round := range 3 {
			for i := range 5 {
				require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(round*5+i+1)))
			}
			require.NoError(t, capture.Flush(t.Context()))
			assert.Len(t, server.Calls(ops.Capture), round+1)
		}
		assert.Empty(t, server.Calls(ops.Protocol), "it is known")
		closed(t, capture)
	}
}

// Capture v1 takes 10 MiB as sent and 50 MiB unpacked. Larger requests are never sent plain, even if the options allow them for /batch/;
// the import halves a batch that does not compress, and its events arrive too.
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
		"plain": {delivery: hogapi.DeliveryOptions{NoCompression: true}},
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
			receipt := imported(t, client, source, &hogapi.ImportOptions{ID: "sizes", Rate: hogapi.Unpaced, Delivery: test.delivery})
			assert.EqualValues(t, n, receipt.Acknowledged)
			assert.Equal(t, hogapi.ProtocolV1, receipt.Protocol)
			assert.Equal(t, n, server.Ledger().Unique())
			assert.Equal(t, test.refused, refused > 0)
			assert.LessOrEqual(t, largest, 10<<20)
			assert.Greater(t, largest, 5<<20)
		})
	}
}
