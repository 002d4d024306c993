package proof_test

import (
	"context"
	"encoding/json"
	"math/bits"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
)

// Three of ten answers fail, in every way: nothing is lost, no person's events change their order, and the receipt is exact.
func TestThirtyPercentFaults(t *testing.T) {
	t.Parallel()
	n := testevents.Sized(50_000, 200_000, 1_000_000)
	if raceDetector {
		n = 5000
	}
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New(hogapitest.WithCompactLedger())
		client := server.Client(t)
		slow := hogapitest.Slow(2 * time.Second) // not a failure: most of the third of the answers fail
		faults := append(slices.Clone(everyFault), hogapitest.PartialCommit(-1, 503), hogapitest.CutHeader(), slow,
			hogapitest.SlowAnswer(2*time.Second, hogapitest.PartialCommit(3, 500)))
		server.Chaos(ops.Capture, 30, 0.33, faults...)
		receipt, err := history.Import(t.Context(), client, testevents.Source(n), &history.Options{
			ID: "thirty", Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 8, MaxBatchEvents: min(200, n/1000)}},
		})
		require.NoError(t, err)
		testevents.RequireBalanced(t, receipt)
		require.EqualValues(t, n, receipt.Acknowledged)
		require.Equal(t, digestOf(testevents.IDs(n)), receipt.Digest)
		testevents.RequireWhole(t, server, n)
		requireCounts(t, server.Ledger(), receipt)
		calls, met := server.Calls(ops.Capture), map[string]int{}
		for _, c := range calls {
			met[c.Fault]++
		}
		for _, fault := range faults {
			assert.NotZero(t, met[fault.String()], "%s", fault)
		}
		failed := len(calls) - met[""] - met[slow.String()]
		assert.GreaterOrEqual(t, failed, len(calls)/4)
		t.Logf("%d of %d requests failed; %d events, %d of them sent again, %d stored twice, %v of virtual time", failed, len(calls), n, receipt.Resent, server.Ledger().Duplicates(), time.Since(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)))
	})
}

// One event in a hundred is poison. At every checkpoint the counts agree with the service's ledger, and the search for the culprits costs
// no more requests than it must.
// Only it finds a count that is wrong between two checkpoints and right at the end.
func TestPoisonAgreesAtEveryCheckpoint(t *testing.T) {
	t.Parallel()
	n, batch := testevents.Sized(20_000, 200_000, 1_000_000), 1000
	if raceDetector {
		n = 5000
	}
	isPoison := func(i int) bool { return i*7919%100 == 3 }
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New(hogapitest.WithCompactLedger())
		client := server.Client(t)
		server.RejectEvents(func(raw json.RawMessage) int {
			var ev struct{ Properties struct{ N int } }
			if json.Unmarshal(raw, &ev) == nil && isPoison(ev.Properties.N) {
				return http.StatusBadRequest
			}
			return 0
		})
		var requests atomic.Int64
		audit := &audit{t: t, server: server, isPoison: isPoison, stored: map[uuid.UUID]bool{}}
		receipt, err := history.Import(t.Context(), client, testevents.Source(n), &history.Options{
			ID: "poison", MaxRejectShare: -1, Rate: hogapi.RateUnlimited, Checkpoint: &testevents.Checkpoint{Before: audit.save}, Rejects: audit,
			Delivery:   hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBatchEvents: batch, MaxInFlight: 20_000}},
			OnProgress: func(s hogapi.Stats) { requests.Store(s.Requests) },
		})
		require.NoError(t, err)
		testevents.RequireBalanced(t, receipt)
		require.EqualValues(t, n, receipt.Read)
		require.EqualValues(t, n/100, receipt.Rejected)
		require.EqualValues(t, n-n/100, receipt.Acknowledged)
		require.Equal(t, n-n/100, server.Ledger().Unique())
		require.Zero(t, server.Ledger().Duplicates(), "a batch with a culprit stores nothing")
		require.Greater(t, audit.saves, n/20_000)
		// Every batch costs one request, and every culprit at most two more for each halving.
		extra := 2 * bits.Len(uint(batch-1)) * n / 100
		assert.LessOrEqual(t, int(requests.Load()), extra+n/batch+16*audit.saves)
		t.Logf("%d checkpoints, %d requests for %d events and %d culprits", audit.saves, requests.Load(), n, n/100)
	})
}

// audit compares every checkpoint with the service's ledger. Its state is built up as the ledger grows.
type audit struct {
	t        *testing.T
	server   *hogapitest.Server
	isPoison func(i int) bool

	seen     int // rows of the ledger
	stored   map[uuid.UUID]bool
	place    int // events up to here were compared
	good     int64
	rejected int64 // by the handler
	saves    int
}

func (a *audit) Reject(_ context.Context, r hogapi.Reject) error {
	require.True(a.t, a.isPoison(int(r.Position.Offset)))
	a.rejected++
	return nil
}

func (a *audit) save(_ int, state []byte) error {
	a.saves++
	receipt := testevents.SavedReceipt(a.t, state)
	ledger := a.server.Ledger()
	for ; a.seen < ledger.Len(); a.seen++ {
		a.stored[ledger.Event(a.seen).UUID] = true
	}
	for ; a.place < int(receipt.Last.Offset); a.place++ {
		poison := a.isPoison(a.place + 1)
		require.NotEqual(a.t, poison, a.stored[testevents.ID(a.place+1)], "event %d", a.place+1)
		if !poison {
			a.good++
		}
	}
	require.EqualValues(a.t, a.place, receipt.Read)
	require.Equal(a.t, a.good, receipt.Acknowledged)
	require.Equal(a.t, a.rejected, receipt.Rejected)
	testevents.RequireBalanced(a.t, receipt)
	return nil
}

// The caller's clock jumps forward and back in the middle of an import while answers ask to wait until a date: nothing is lost, and the
// import neither stalls nor spins. The gate is open, because it would judge events by the clock that jumps.
func TestClockJumps(t *testing.T) {
	for _, jump := range []time.Duration{24 * time.Hour, -24 * time.Hour, 10 * 365 * 24 * time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			const n = 2000
			var shift atomic.Int64
			clock := func() time.Time { return time.Now().Add(time.Duration(shift.Load())) }
			server := hogapitest.New()
			client := server.Client(t, hogapi.WithClock(clock))
			server.Chaos(ops.Capture, 5, 0.2, hogapitest.Status(503), hogapitest.CutAfter(), hogapitest.RateLimit("1"))
			server.Script(ops.Capture, hogapitest.Then(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat))
				w.Header().Set("Retry-After", time.Now().Add(5*time.Second).UTC().Format(http.TimeFormat))
				w.WriteHeader(http.StatusServiceUnavailable)
			}))
			source := testevents.Altered(testevents.Source(n), func(ev *hogapi.Event) {
				switch ev.Position.Offset {
				case n / 4:
					shift.Store(int64(jump))
				case n / 2:
					shift.Store(-int64(jump) / 2)
				}
			})
			begin := time.Now()
			receipt, err := history.Import(t.Context(), client, source, &history.Options{ID: "jumps", Gate: hogapi.GateOptions{MinAge: -1}, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBatchEvents: 100}}})
			require.NoError(t, err)
			testevents.RequireBalanced(t, receipt)
			require.EqualValues(t, n, receipt.Acknowledged)
			testevents.RequireWhole(t, server, n)
			assert.Less(t, time.Since(begin), 3*time.Minute, "no standstill")
			assert.Less(t, len(server.Calls(ops.Capture)), 500, "no spin")
		})
	}
}
