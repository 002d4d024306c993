package pipeline

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

// Result is the outcome of a Pipeline. It is valid with an error too.
type Result struct {
	State    ledger.State[event.Position]
	Protocol string // empty: nothing was sent
	Pending  int64  // taken and not settled
	NotTaken int64  // records that were not taken
	Finished bool
}

// Flush returns when all admitted events are committed and reported.
func (p *Pipeline) Flush(ctx context.Context) error {
	target := p.ledger.Next()
	p.sender.Flush(target)
	return p.committer.Await(ctx, target)
}

// Close ends the pipeline. The first call ends it, and all calls return the same result.
func (p *Pipeline) Close(ctx context.Context) (Result, error) {
	cancel := func() {
		_ = p.cancel(ctx)
		p.endCalls(context.Cause(ctx))
	}
	defer context.AfterFunc(ctx, cancel)()
	if ctx.Err() != nil {
		cancel() // before lanes that linger are woken: they must not send
	}
	p.sender.Hurry()
	return p.finish()
}

// end waits for the lanes and the committer, and makes the result.
func (p *Pipeline) end() (r Result, err error) {
	p.admission.Lock()
	p.closeDoor(event.ErrClosed)
	isWaiting := len(p.admission.waiting) > 0
	p.admission.Unlock()
	_, ended := watch.RunDetached(p.calling, patience, func() error {
		if isWaiting {
			select {
			case <-p.decided:
			case <-p.sending.Done():
			}
			p.admission.Lock() // release has it until all events have their lanes
			p.admission.waiting = nil
			p.admission.Unlock()
		}
		p.sender.Close()
		p.committer.Close()
		return nil
	}, func(value any) error { panic(value) })
	stopped := context.Cause(p.sending)
	if !ended {
		stopped = p.abandoned()
	}
	p.stop(event.ErrClosed)
	p.endCalls(event.ErrClosed) // releases the contexts
	state, open := p.ledger.Conclude()
	r = Result{State: state, Pending: int64(len(open)), NotTaken: p.meter.read().NotTaken}
	if p.isDecided() {
		r.Protocol = p.protocol.Name()
	}
	if c := p.canceled.Load(); stopped == nil && c != nil && len(open) > 0 { // it was wound up within its grace
		stopped = c.err
	}
	switch {
	case len(open) > 0:
		err = unsettled(open, p.withFailure(stopped))
	case ended && p.cancellation(stopped) != nil: // all was settled before
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
func (p *Pipeline) abandoned() error {
	name := "a request (the transport of the HTTP client or Hooks.OnBatch)"
	if outside := p.outside.Load(); outside != nil {
		name = *outside
	}
	return &event.StopError{Reason: event.StopCanceled, Err: fmt.Errorf("%s did not return within %v after the end of the context: %w", name, patience, context.Cause(p.calling))}
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
	NotTaken     int64 // records that were not taken
	Requests     int64 // tries
	PlainBytes   int64 // of all tries, before compression
	WireBytes    int64 // of all tries, as sent
	LastProgress time.Time
}

// Progress returns how far the pipeline is.
func (p *Pipeline) Progress() Progress {
	return Progress{
		Meter: p.meter.read(), Live: p.ledger.Live(), State: p.sender.State(),
		Bytes: p.budget.Held().Bytes, Position: p.committer.Reported(),
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
