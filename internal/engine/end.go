package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/watch"
)

// Result is the outcome of a Engine. It is valid with an error too.
type Result struct {
	State    ledger.State[event.Position]
	Protocol string // empty: nothing was sent
	Pending  int64  // taken and not settled
	Refused  int64  // records that were not taken
	Finished bool
}

// Flush returns when all admitted events are committed and reported.
func (e *Engine) Flush(ctx context.Context) error {
	target := e.ledger.Next()
	e.sender.Flush(target)
	return e.committer.Await(ctx, target)
}

// Close ends the pipeline. The first call ends it, and all calls return the same result.
func (e *Engine) Close(ctx context.Context) (Result, error) {
	cancel := func() {
		_ = e.cancel(ctx)
		e.endCalls(context.Cause(ctx))
	}
	defer context.AfterFunc(ctx, cancel)()
	if ctx.Err() != nil {
		cancel() // before lanes that linger are woken: they must not send
	}
	e.sender.Hurry()
	return e.finish()
}

// end waits for the lanes and the committer, and makes the result.
func (e *Engine) end() (r Result, err error) {
	e.admission.Lock()
	e.closeDoor(event.ErrClosed)
	isWaiting := len(e.admission.waiting) > 0
	e.admission.Unlock()
	_, ended := watch.RunDetached(e.calling, patience, func() error {
		if isWaiting {
			select {
			case <-e.decided:
			case <-e.sending.Done():
			}
			e.admission.Lock() // release has it until all events have their lanes
			e.admission.waiting = nil
			e.admission.Unlock()
		}
		e.sender.Close()
		e.committer.Close()
		return nil
	}, func(value any) error { panic(value) })
	stopped := context.Cause(e.sending)
	if !ended {
		stopped = e.abandoned()
	}
	e.stop(event.ErrClosed)
	e.endCalls(event.ErrClosed) // releases the contexts
	state, open := e.ledger.Conclude()
	r = Result{State: state, Pending: int64(len(open)), Refused: e.meter.read().Refused}
	if e.isDecided() {
		r.Protocol = e.protocol.Name()
	}
	if c := e.canceled.Load(); stopped == nil && c != nil && len(open) > 0 { // it was wound up within its grace
		stopped = c.err
	}
	switch {
	case len(open) > 0:
		err = unsettled(open, e.withFailure(stopped))
	case ended && e.cancellation(stopped) != nil: // all was settled before
	default:
		err = stopped
	}
	r.Finished = err == nil
	return r, err
}

func unsettled(open []ledger.Unsettled[event.Position], why error) error {
	list := make([]event.UnsettledEvent, len(open))
	for i, u := range open {
		list[i] = event.UnsettledEvent{UUID: u.ID, Position: u.Position, Number: u.Number, Sent: u.Sent}
	}
	return event.Unsettled(list, why)
}

// abandoned returns the stop by a function that did not return after the context of its caller had ended.
func (e *Engine) abandoned() error {
	name := "a request (the transport of the HTTP client or Hooks.OnBatch)"
	if outside := e.outside.Load(); outside != nil {
		name = *outside
	}
	return &event.StopError{Reason: event.StopCanceled, Err: fmt.Errorf("%s did not return within %v after the end of the context: %w", name, patience, context.Cause(e.calling))}
}

// Progress describes how far a pipeline is.
type Progress struct {
	ledger.Live
	delivery.State
	Meter

	Bytes    int            // held
	Position event.Position // all up to it is settled
}

// Meter counts requests and records that were not taken.
type Meter struct {
	Refused      int64 // records that were not taken
	Requests     int64 // tries
	PlainBytes   int64 // of all tries, before compression
	WireBytes    int64 // of all tries, as sent
	LastProgress time.Time
}

// Progress returns how far the pipeline is.
func (e *Engine) Progress() Progress {
	return Progress{
		Meter: e.meter.read(), Live: e.ledger.Live(), State: e.sender.State(),
		Bytes: e.budget.Held().Bytes, Position: e.committer.Reported(),
	}
}

// meter is a Meter for concurrent use.
type meter struct {
	mu    sync.Mutex
	count Meter
}

func (m *meter) change(f func(*Meter)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(&m.count)
}

func (m *meter) read() Meter {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}
