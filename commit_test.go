package hogapi

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What waits for a commit decides when the disk is spared no longer. Rejects of the gate count as the others do.
func TestNothingIsUncommittedInTheEnd(t *testing.T) {
	client := newFakeClient(t, newScript(answers(200, `{"status":"Ok"}`)))
	capture, err := client.NewCapture(CaptureOptions{ID: "x", Rejects: RejectFunc(func(context.Context, Reject) error { return nil })})
	require.NoError(t, err)
	for i := range 10 {
		ev := Event{Position: Position{Offset: int64(i + 1)}}
		require.NoError(t, capture.acceptReject(t.Context(), &ev, &EventError{Reason: ReasonNoName}))
	}
	receipt, err := capture.Close(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 10, receipt.Rejected)
	assert.Zero(t, capture.uncommitted)
}

// Random orders of events, flushes and commits. A flush ends once what came before it is committed, and then OnSettled knows all positions
// before it, except one that went on behind it.
func TestFlushesInAnyOrder(t *testing.T) {
	for seed := range uint64(20_000) {
		random := rand.New(rand.NewPCG(seed, 3))
		w := &flushWorld{T: t, p: testLanes(DeliveryOptions{Lanes: 1})}
		w.p.books, w.p.identity = newBooks("", ""), newIdentity("x", 0)
		for range 30 {
			switch random.IntN(4) {
			case 0:
				w.flush()
			case 1:
				w.commit(random.IntN(w.p.entries.Len() + 1))
			default:
				w.push(random.Int64N(3))
			}
			require.False(t, t.Failed(), "seed %d: events at %v, flushes %v", seed, w.events, w.flushes)
		}
	}
}

// flushWorld is a Capture whose parts are called by hand, and what it has been through.
type flushWorld struct {
	*testing.T

	p       *Capture
	events  []int64 // their offsets; 0: without a position
	newest  int64
	flushes []int // how many events were before them
	settled int
}

// push adds an event without a position, of the position at hand, or of the next one.
func (w *flushWorld) push(kind int64) {
	e := entry{state: entryAcknowledged, tally: w.p.books.tally("x", testTime)}
	if kind > 0 {
		w.newest = max(w.newest+kind-1, 1)
		e.pos = Position{Offset: w.newest}
		e.number = w.p.identity.number(e.pos)
		w.p.identity.pass(e.pos)
	}
	w.events = append(w.events, e.pos.Offset)
	w.p.push(e)
}

func (w *flushWorld) flush() {
	target := w.p.flushAll()
	w.flushes = append(w.flushes, len(w.events))
	if w.p.reported >= target {
		assert.Equal(w, w.told(), w.p.stats.Position.Offset, "a flush that need not wait")
	}
	w.report()
}

func (w *flushWorld) commit(n int) {
	require.NoError(w, w.p.commitFront(n, nil))
	w.settled += n
	w.report()
}

func (w *flushWorld) report() {
	told := w.told()
	w.p.report()
	assert.Equal(w, told, w.p.stats.Position.Offset)
	for _, f := range w.flushes {
		assert.Equal(w, w.settled >= f, w.p.reported >= uint64(f), "the flush behind %d events", f)
	}
}

// told is the offset that OnSettled must know.
func (w *flushWorld) told() int64 {
	last := w.settled - 1
	for last >= 0 && w.events[last] == 0 {
		last--
	}
	if last < 0 {
		return 0
	}
	next := last + 1
	for next < len(w.events) && w.events[next] == 0 {
		next++
	}
	more := next < len(w.events) && w.events[next] == w.events[last]
	whole := w.p.stats.Position.Offset == w.events[last] || next == w.settled && next < len(w.events) && !more
	for _, f := range w.flushes {
		whole = whole || last < f && f <= w.settled && !more
	}
	if whole {
		return w.events[last]
	}
	return w.events[last] - 1
}

// A save that fails stops the sending while its events still fill the window: were there room before, more than the window holds
// would be sent again.
func TestFailedSaveStopsBeforeThereIsRoom(t *testing.T) {
	const n = 10
	var capture *Capture
	var filled []int
	failure := askedError(func() { filled = append(filled, capture.entries.Len()) })
	client := newFakeClient(t, newScript(answers(200, `{"status":"Ok"}`)))
	capture, err := client.newCapture(CaptureOptions{ID: "x", Rate: Unpaced, Delivery: DeliveryOptions{Lanes: 1, MaxInFlight: n, Linger: time.Hour}}, nil, failingSaver{failure})
	require.NoError(t, err)
	for i := range n {
		ev := testEvent()
		ev.UUID, ev.Position = uuid.New(), Position{Offset: int64(i + 1)}
		require.NoError(t, capture.Enqueue(t.Context(), ev))
	}
	_, err = capture.Close(t.Context())
	var stop *StopError
	require.ErrorAs(t, err, &stop)
	assert.Equal(t, StopCheckpoint, stop.Reason)
	require.NotEmpty(t, filled)
	assert.Equal(t, n, filled[0], "events in the window when the sending stopped")
}

// askedError calls itself when it is asked what it is, as whoever stops the sending does first.
type askedError func()

func (askedError) Error() string { return "no space left on device" }

func (e askedError) Is(error) bool {
	e()
	return false
}

type failingSaver struct{ err error }

func (s failingSaver) save(context.Context, settledPlace, Receipt) error { return s.err }
