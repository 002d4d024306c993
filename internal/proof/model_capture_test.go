package proof_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
)

// A program pushes events from a queue, commits the positions that OnSettled reports, and is killed or stopped again and again. It
// enqueues uncommitted events again: nothing is lost, changed or hidden.
func TestModelOfCapture(t *testing.T) {
	t.Parallel()
	eachSeed(t, testevents.Sized(300, 3000, 300_000), func(t *testing.T, random *rand.Rand) {
		w := &captureWorld{t: t, random: random, model: newModel(random, random.IntN(200), true), server: modelServer(random)}
		var err error
		w.client, err = hogapi.NewClient(w.server.ClientOptions("1")...)
		require.NoError(t, err)
		for range random.IntN(5) {
			w.run(w.committed+random.IntN(150), random.IntN(3) > 0)
		}
		n := len(w.model.events)
		w.run(n, false)
		w.requireCommitted(n)
		w.model.requireLedger(t, w.server, n)
		w.server.ClearScript(ops.Capture)
		w.server.Verify(t)
	})
}

// captureWorld is the state that outlives the Captures.
type captureWorld struct {
	t      *testing.T
	random *rand.Rand
	model  *model
	server *hogapitest.Server
	client *hogapi.Client

	committed int // events of the queue
}

// requireCommitted requires that OnSettled has reported the newest position among the first n events.
func (w *captureWorld) requireCommitted(n int) {
	w.t.Helper()
	for _, e := range w.model.events[min(w.committed, n):n] {
		require.True(w.t, e.place.IsZero(), "not committed")
	}
}

type captureRun struct {
	*captureWorld

	capture  *hogapi.Capture
	dead     atomic.Bool // after that, nothing is committed
	taken    []modelEvent
	handed   map[uuid.UUID]bool // to the reject handler
	nameless int64
}

// run pushes events up to an index. If killed, it abandons the Capture with all that it holds.
func (w *captureWorld) run(end int, killed bool) {
	r := &captureRun{captureWorld: w, handed: map[uuid.UUID]bool{}}
	w.server.Chaos(ops.Capture, w.random.Uint64(), 0.4*w.random.Float64(), modelFaults(w.random)...)
	var err error
	r.capture, err = w.client.NewCapture(&hogapi.CaptureOptions{
		ID: modelID, Rate: hogapi.RateUnlimited, Delivery: modelDelivery(w.random), OnSettled: r.commit, Rejects: hogapi.RejectFunc(r.reject),
	})
	require.NoError(w.t, err)
	for i := w.committed; i < min(end, len(w.model.events)); i = w.model.end(i) {
		r.push(i, w.model.end(i))
	}
	r.close(killed, end >= len(w.model.events))
}

// push gives a record to the Capture. Now and then it rests, or waits until all is settled.
func (r *captureRun) push(from, to int) {
	var record []hogapi.Event
	for _, e := range r.model.events[from:to] {
		record = append(record, e.Event)
	}
	err := hogapi.ErrFull
	if r.random.IntN(2) == 0 {
		err = r.capture.TryEnqueue(record...)
	}
	if errors.Is(err, hogapi.ErrFull) {
		err = r.capture.Enqueue(r.t.Context(), record...)
	}
	require.NoError(r.t, err)
	r.taken = append(r.taken, r.model.events[from:to]...)
	switch r.random.IntN(40) {
	case 0:
		time.Sleep(time.Duration(r.random.IntN(3000)) * time.Millisecond)
	case 1:
		require.NoError(r.t, r.capture.Flush(r.t.Context()))
		require.Empty(r.t, r.unsettled(r.taken))
		require.LessOrEqual(r.t, r.committed, to)
		r.requireCommitted(to)
	}
}

// commit is OnSettled. Every event up to a reported position must be settled.
func (r *captureRun) commit(_ context.Context, p hogapi.Position) {
	if r.dead.Load() {
		return
	}
	n := r.model.behind(p)
	assert.Greater(r.t, n, r.committed)
	assert.Empty(r.t, r.unsettled(r.model.events[r.committed:n]), "reported too early")
	r.committed = n
}

func (r *captureRun) reject(_ context.Context, reject hogapi.Reject) error {
	all := r.model.rejects(len(r.model.events))
	assert.Contains(r.t, all, modelReject{reject.Position, reject.Err.Reason, reject.Status, reject.UUID})
	if reject.UUID == uuid.Nil {
		r.nameless++ // a bad record without a place
		return nil
	}
	assert.False(r.t, r.handed[reject.UUID], "handed over twice")
	r.handed[reject.UUID] = true
	return nil
}

// unsettled returns the events that are neither stored nor handed to the reject handler.
func (r *captureRun) unsettled(events []modelEvent) (ids []uuid.UUID) {
	ledger := r.server.Ledger()
	for _, e := range events {
		if !r.handed[e.id] && e.id != uuid.Nil && len(ledger.Find(e.id)) == 0 {
			ids = append(ids, e.id)
		}
	}
	return ids
}

// close ends the Capture. The receipt and the error account for all events that it accepted.
func (r *captureRun) close(killed, patient bool) {
	ctx, cancel := context.WithCancel(r.t.Context())
	if killed {
		r.dead.Store(true)
		cancel()
	} else if !patient {
		ctx, cancel = context.WithTimeout(ctx, time.Duration(r.random.IntN(2000))*time.Millisecond)
	}
	defer cancel()
	receipt, err := r.capture.Close(ctx)
	testevents.RequireBalanced(r.t, receipt)
	require.EqualValues(r.t, len(r.taken), receipt.Read)
	require.Zero(r.t, receipt.Refused)
	require.EqualValues(r.t, int64(len(r.handed))+r.nameless, receipt.Rejected)
	var rest event.UnsettledError
	if listed := new(event.UnsettledError); errors.As(err, &listed) {
		rest = *listed
	} else {
		require.True(r.t, err == nil || !patient || killed, "%v", err)
	}
	listed := testevents.Unsettled(&rest)
	require.Equal(r.t, rest.Count, len(listed))
	require.EqualValues(r.t, rest.Count, receipt.Pending)
	require.Subset(r.t, listed, r.unsettled(r.taken), "neither settled nor listed")
	var acknowledged []uuid.UUID
	for _, e := range r.taken {
		if e.id != uuid.Nil && !r.handed[e.id] && !slices.Contains(listed, e.id) {
			acknowledged = append(acknowledged, e.id)
		}
	}
	require.Equal(r.t, digestOf(acknowledged), receipt.Digest)
}
