package pipeline

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hogapi/hogapi/internal/ingest"
	"github.com/hogapi/hogapi/internal/watch"
)

// Stop is the reason why nothing more is sent.
type Stop struct {
	Reason     ingest.Reason
	Status     int           // of the answer, where one was the reason
	RetryAfter time.Duration // where the service asked for a longer wait than the limit allows
	Err        error         // may be nil

	// Failure is the reason why no request succeeded at the time of the stop, since FailingSince. Both are
	// zero if the last answers were good.
	Failure      error
	FailingSince time.Time
}

// Reasons of a stop, in addition to the reasons of package ingest.
const (
	StopUnreachable    ingest.Reason = "unreachable"
	StopNoProgress     ingest.Reason = "no_progress"
	StopTooManyRejects ingest.Reason = "too_many_rejects"
	StopRejected       ingest.Reason = "rejected_event"
	StopHandler        ingest.Reason = "handler_failed"
	StopCheckpoint     ingest.Reason = "checkpoint_failed"
	StopSource         ingest.Reason = "source_failed"
	StopWrongKey       ingest.Reason = "wrong_key"
	StopCanceled       ingest.Reason = "canceled"
	StopInternal       ingest.Reason = "internal"
)

// Hint returns how to proceed after a stop. It is empty for an unknown reason.
func Hint(reason string) string { return hints[ingest.Reason(reason)] }

var hints = map[ingest.Reason]string{
	ingest.Unauthorized: "check the project API key (phc_…) and run again",
	StopWrongKey:        "no project has this key: copy the project API key (phc_…) of the right project and region",
	ingest.Quota:        "the plan's limit is reached, and the events of the last answers may have been dropped: compare (Receipt.TotalQuery), and run again when it is raised",
	ingest.Forbidden:    "check the project API key (phc_…), the region and what is between this machine and the service",
	ingest.NotFound:     "check the region or the capture URL",
	ingest.Redirect:     "check the capture URL: keys are not sent elsewhere",
	ingest.Refused:      "check the region or the capture URL, and what is between this machine and the service",
	ingest.NotService:   "something other than the service answered: check the capture URL and proxies",
	StopUnreachable:     "check the region or the capture URL, the network and the name server; nothing was sent",
	ingest.Certificate:  "check the capture URL, the clock of this machine and its root certificates; nothing was sent",
	ingest.WrongScheme:  "the server does not speak TLS: check the capture URL; nothing was sent",
	ingest.TLS:          "this client needs TLS 1.2 or newer; if the server wants a client certificate, give WithHTTPClient one; check the capture URL and proxies",
	StopNoProgress:      "run again when the service answers",
	StopTooManyRejects:  "correct the source or the mapping, or accept it with a higher MaxRejectShare (-1 is no limit) or MaxRejects",
	StopRejected:        "set a reject handler to continue past such events, or correct the event",
	StopHandler:         "fix what made the function fail, such as a full disk, and run again",
	StopCheckpoint:      "fix the cause, such as a full disk, and run again",
	StopSource:          "fix the source and run again",
	StopCanceled:        "run again: with a checkpoint an import continues where it stopped",
	StopInternal:        "run again, and report it with this text",
}

// lifetime has the contexts in which a pipeline takes events, sends them, waits for answers and calls the functions
// of a user. Each context ends before the next one, or with it. Its cause says why.
type lifetime struct {
	errors Errors
	grace  time.Duration // in which requests under way may end after the sending has

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

func newLifetime(e Errors, grace time.Duration) *lifetime {
	l := &lifetime{errors: e, grace: grace}
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
	l.canceled.CompareAndSwap(nil, &cancellation{cause, l.errors.Stop(Stop{Reason: StopCanceled, Err: cause})})
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
func (p *Pipeline) withFailure(stopped error) error {
	canceled, failure := p.cancellation(stopped), p.sender.State().Failure
	if canceled == nil || failure.Since.IsZero() {
		return stopped
	}
	return p.Errors.Stop(Stop{Reason: StopCanceled, Err: canceled.cause, Failure: failure.Err, FailingSince: failure.Since})
}
