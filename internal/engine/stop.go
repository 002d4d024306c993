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

// lifetime has the contexts in which a pipeline takes events, sends them, waits for answers and calls the functions
// of a user. Each context ends before the next one, or with it. Its cause says why.
type lifetime struct {
	grace time.Duration // in which requests under way may end after the sending has

	accepting context.Context //nolint:containedctx // producers may add events
	closeDoor context.CancelCauseFunc
	sending   context.Context //nolint:containedctx // lanes may begin requests
	stop      context.CancelCauseFunc
	posting   context.Context //nolint:containedctx // requests may be under way
	abort     context.CancelFunc
	calling   context.Context //nolint:containedctx // handlers may run; ends only with the context of the caller
	endCalls  context.CancelCauseFunc
	canceled  atomic.Pointer[cancellation] // the first one
}

func newLifetime(grace time.Duration) *lifetime {
	l := &lifetime{grace: grace}
	l.calling, l.endCalls = context.WithCancelCause(context.Background())
	l.posting, l.abort = context.WithCancel(l.calling)
	l.sending, l.stop = context.WithCancelCause(l.posting)
	context.AfterFunc(l.sending, func() {
		if watch.Sleep(l.posting, l.grace) {
			l.abort()
		}
	})
	l.accepting, l.closeDoor = context.WithCancelCause(l.sending)
	return l
}

// whyClosed returns the reason why no more events are taken, or nil.
func (l *lifetime) whyClosed() error {
	if l.accepting.Err() == nil { // takes no lock
		return nil
	}
	return context.Cause(l.accepting)
}

// cancellation is a stop by the end of a context.
type cancellation struct{ cause, err error }

// canceledBy returns the stop by the end of a context.
func (l *lifetime) canceledBy(ctx context.Context) (stopped error) {
	cause := context.Cause(ctx)
	if !errors.Is(cause, ctx.Err()) {
		cause = fmt.Errorf("%w (%w)", cause, ctx.Err())
	}
	l.canceled.CompareAndSwap(nil, &cancellation{cause, &event.StopError{Reason: event.StopCanceled, Err: cause}})
	return l.canceled.Load().err
}

// cancel stops the sending, since a context has ended.
func (l *lifetime) cancel(ctx context.Context) (stopped error) {
	stopped = l.canceledBy(ctx)
	l.stop(stopped)
	return stopped
}

// cancellation returns the cancellation that has caused a stop, or nil.
func (l *lifetime) cancellation(stopped error) *cancellation {
	if c := l.canceled.Load(); c != nil && errors.Is(stopped, c.err) {
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
	return &event.StopError{Reason: event.StopCanceled, Err: canceled.cause, Failure: failure.Err, FailingSince: failure.Since}
}
