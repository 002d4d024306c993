package engine

import (
	"context"
	"fmt"
	"sync"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/watch"
)

// Flush returns when all admitted events are committed and reported.
func (e *Engine) Flush(ctx context.Context) error {
	target := e.ledger.Next()
	e.sender.Flush(target)
	return e.committer.Await(ctx, target)
}

// Close ends the engine. The first call ends it, and all calls return the same receipt, which is valid with an error too.
func (e *Engine) Close(ctx context.Context) (event.Receipt, error) {
	cancel := func() {
		_ = e.cancel(ctx)
		e.calling.end(context.Cause(ctx))
	}
	defer context.AfterFunc(ctx, cancel)()
	if ctx.Err() != nil {
		cancel() // before lanes that linger are woken: they must not send
	}
	e.sender.Hurry()
	return e.finish()
}

func (e *Engine) finish() (event.Receipt, error) {
	e.ending.Do(e.end)
	return e.receipt, e.endErr
}

// end waits for the lanes and the committer, and makes the receipt.
func (e *Engine) end() {
	e.admission.Lock()
	e.accepting.end(event.ErrClosed)
	isWaiting := len(e.admission.waiting) > 0
	e.admission.Unlock()
	_, ended := watch.RunDetached(e.calling.Context, patience, func() error {
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
	stopped := context.Cause(e.sending.Context)
	if !ended {
		stopped = e.abandoned()
	}
	e.Stop(event.ErrClosed)
	e.calling.end(event.ErrClosed) // releases the contexts
	state, open := e.ledger.Conclude()
	e.receipt = ReceiptOf(e.ID, e.Source, state)
	e.receipt.Pending, e.receipt.Refused = int64(len(open)), e.meter.read().Refused
	e.receipt.Read += e.receipt.Pending
	if e.isDecided() {
		e.receipt.Protocol = e.endpoint.Name()
	}
	if c := e.canceled.Load(); stopped == nil && c != nil && len(open) > 0 { // it was wound up within its grace
		stopped = c
	}
	switch {
	case len(open) > 0:
		e.endErr = event.Unsettled(open, e.withFailure(stopped))
	case ended && e.cancellation(stopped) != nil: // all was settled before
	default:
		e.endErr = stopped
	}
	e.receipt.Finished = e.endErr == nil
}

// abandoned returns the stop by a function that did not return after the context of its caller had ended.
func (e *Engine) abandoned() error {
	name := "a request (the transport of the HTTP client or Hooks.OnBatch)"
	if outside := e.committer.outside.Load(); outside != nil {
		name = *outside
	}
	return &event.StopError{Reason: event.StopCanceled, Err: fmt.Errorf("%s did not return within %v after the end of the context: %w", name, patience, context.Cause(e.calling.Context))}
}

// Stats returns how far the engine is. The total is that of the source, if it is known.
func (e *Engine) Stats(total int64) event.Stats {
	s, live, sending := e.meter.read(), e.ledger.Live(), e.sender.State()
	s.Read, s.Acknowledged, s.Rejected, s.Unconfirmed, s.Skipped = live.Read, live.Acknowledged, live.Rejected, live.Unconfirmed, live.Skipped
	s.Pending = s.Read - s.Acknowledged - s.Rejected - s.Unconfirmed - s.Skipped
	s.Resent, s.InFlight, s.Total = live.Resent, live.InFlight, total
	s.Permits, s.Throttled, s.FailingSince, s.LastError = sending.Permits, sending.Throttled, sending.Failure.Since, sending.Failure.Err
	s.Bytes, s.Position = e.budget.Held().Bytes, e.committer.Reported()
	return s
}

// meter counts requests and records that were not taken, in an otherwise empty [event.Stats].
type meter struct {
	mu    sync.Mutex
	count event.Stats
}

func (m *meter) change(f func(*event.Stats)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f(&m.count)
}

func (m *meter) read() event.Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.count
}
