package engine

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/watch"
)

// life has the spans in which an engine takes events, sends them, waits for answers and calls the functions
// of a user. Each span ends before the next one, or with it. Its cause says why.
type life struct {
	grace time.Duration // in which requests under way may end after the sending has

	accepting span                            // producers may add events
	sending   span                            // lanes may begin requests
	posting   span                            // requests may be under way
	calling   span                            // handlers may run; ends only with the context of the caller
	canceled  atomic.Pointer[event.StopError] // the first cancellation
}

// span is a context with its end. The end is a function, because package context gives no other.
type span struct {
	context.Context

	end context.CancelCauseFunc
}

func begin(parent context.Context) (s span) {
	s.Context, s.end = context.WithCancelCause(parent)
	return s
}

func newLife(grace time.Duration) *life {
	l := &life{grace: grace, calling: begin(context.Background())}
	l.posting = begin(l.calling.Context)
	l.sending = begin(l.posting.Context)
	context.AfterFunc(l.sending.Context, func() {
		if watch.Sleep(l.posting.Context, l.grace) {
			l.posting.end(nil)
		}
	})
	l.accepting = begin(l.sending.Context)
	return l
}

// Stop ends the sending.
func (l *life) Stop(cause error) { l.sending.end(cause) }

// stopAt returns the stop by a reject that has no handler.
func stopAt(r *event.Reject) error {
	return &event.StopError{Reason: event.StopRejected, Status: r.Status, Err: r.Err}
}

// whyClosed returns the reason why no more events are taken, or nil.
func (l *life) whyClosed() error {
	if l.accepting.Err() == nil { // takes no lock
		return nil
	}
	return context.Cause(l.accepting.Context)
}

// canceledBy returns the stop by the end of a context.
func (l *life) canceledBy(ctx context.Context) (stopped error) {
	cause := context.Cause(ctx)
	if !errors.Is(cause, ctx.Err()) {
		cause = fmt.Errorf("%w (%w)", cause, ctx.Err())
	}
	l.canceled.CompareAndSwap(nil, &event.StopError{Reason: event.StopCanceled, Err: cause})
	return l.canceled.Load()
}

// cancel stops the sending, since a context has ended.
func (l *life) cancel(ctx context.Context) (stopped error) {
	stopped = l.canceledBy(ctx)
	l.Stop(stopped)
	return stopped
}

// cancellation returns the cancellation that has caused a stop, or nil.
func (l *life) cancellation(stopped error) *event.StopError {
	if c := l.canceled.Load(); c != nil && errors.Is(stopped, c) {
		return c
	}
	return nil
}

// withFailure adds to a stop by cancellation the reason why no request succeeded at that time.
func (e *Engine) withFailure(stopped error) error {
	canceled, failure := e.cancellation(stopped), e.sender.State().Failure
	if canceled == nil || failure.Since.IsZero() {
		return stopped
	}
	return &event.StopError{Reason: event.StopCanceled, Err: canceled.Err, Failure: failure.Err, FailingSince: failure.Since}
}
