package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hogapi/hogapi/internal/ingest"
)

// Stop is why nothing more is sent.
type Stop struct {
	Reason     ingest.Reason
	Status     int           // of the answer, where one was the reason
	RetryAfter time.Duration // where the service asked for a longer wait than the limit allows
	Err        error         // may be nil

	// Why nothing got through when it stopped, and since when; nil and zero where answers were good.
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
	StopHandler:         "fix what made the reject handler fail, such as a full disk, and run again",
	StopCheckpoint:      "fix the cause, such as a full disk, and run again",
	StopSource:          "fix the source and run again",
	StopCanceled:        "run again: with a checkpoint an import continues where it stopped",
	StopInternal:        "run again, and report it with this text",
}

// cancellation is a stop by the end of a context.
type cancellation struct{ cause, err error }

// cancel stops the sending, since a context has ended.
func (p *Pipeline) cancel(ctx context.Context) (stopped error) {
	cause := context.Cause(ctx)
	if !errors.Is(cause, ctx.Err()) {
		cause = fmt.Errorf("%w (%w)", cause, ctx.Err())
	}
	p.canceled.CompareAndSwap(nil, &cancellation{cause, p.Errors.Stop(Stop{Reason: StopCanceled, Err: cause})})
	stopped = p.canceled.Load().err
	p.stop(stopped)
	return stopped
}

// cancellation is that of a stop, or nil.
func (p *Pipeline) cancellation(stopped error) *cancellation {
	if c := p.canceled.Load(); c != nil && errors.Is(stopped, c.err) {
		return c
	}
	return nil
}

// withFailure adds to the reason of a cancelation why nothing got through at that time.
func (p *Pipeline) withFailure(stopped error) error {
	canceled, failure := p.cancellation(stopped), p.sender.State().Failure
	if canceled == nil || failure.Since.IsZero() {
		return stopped
	}
	return p.Errors.Stop(Stop{Reason: StopCanceled, Err: canceled.cause, Failure: failure.Err, FailingSince: failure.Since})
}
