package event

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/errtext"
)

// StopReason is the reason why an import stopped. Once its cause is gone, the import can be resumed.
type StopReason string

// Reasons of a stop.
const (
	StopUnauthorized   StopReason = "unauthorized"      // 401: the project key
	StopQuota          StopReason = "quota"             // 402, or an answer that lists a quota
	StopForbidden      StopReason = "forbidden"         // 403
	StopNotFound       StopReason = "not_found"         // 404: the capture URL
	StopRedirect       StopReason = "redirect"          // 3xx: the capture URL
	StopRefused        StopReason = "refused"           // another 4xx or 501, or 400 to everything
	StopNotService     StopReason = "not_the_service"   // an answer that the service does not send, from a host that has accepted no event
	StopUnreachable    StopReason = "unreachable"       // no connection before the first answer
	StopCertificate    StopReason = "certificate"       // the server's certificate is not valid, before the first answer
	StopWrongScheme    StopReason = "wrong_scheme"      // https to a server that speaks http
	StopTLS            StopReason = "tls"               // the TLS handshake failed in another way, before the first answer
	StopNoProgress     StopReason = "no_progress"       // failures lasted longer than the limit
	StopTooManyRejects StopReason = "too_many_rejects"  // over MaxRejectShare or MaxRejects
	StopRejected       StopReason = "rejected_event"    // an event was rejected and there is no handler
	StopHandler        StopReason = "handler_failed"    // the reject handler failed
	StopCheckpoint     StopReason = "checkpoint_failed" // the checkpoint could not be saved
	StopSource         StopReason = "source_failed"     // the source ended with an error
	StopWrongKey       StopReason = "wrong_key"         // the preflight: no project has this key
	StopCanceled       StopReason = "canceled"          // the context ended
	StopInternal       StopReason = "internal"          // a fault of this package
)

// remedies say how to proceed after a stop.
var remedies = map[StopReason]string{
	StopUnauthorized:   "check the project API key (phc_…) and run again",
	StopWrongKey:       "no project has this key: copy the project API key (phc_…) of the right project and region",
	StopQuota:          "the plan's limit is reached, and the events of the last answers may have been dropped: compare (Receipt.TotalQuery), and run again when it is raised",
	StopForbidden:      "check the project API key (phc_…), the region and what is between this machine and the service",
	StopNotFound:       "check the region or the capture URL",
	StopRedirect:       "check the capture URL: keys are not sent elsewhere",
	StopRefused:        "check the region or the capture URL, and what is between this machine and the service",
	StopNotService:     "something other than the service answered: check the capture URL and proxies",
	StopUnreachable:    "check the region or the capture URL, the network and the name server; nothing was sent",
	StopCertificate:    "check the capture URL, the clock of this machine and its root certificates; nothing was sent",
	StopWrongScheme:    "the server does not speak TLS: check the capture URL; nothing was sent",
	StopTLS:            "this client needs TLS 1.2 or newer; if the server wants a client certificate, give WithHTTPClient one; check the capture URL and proxies",
	StopNoProgress:     "run again when the service answers",
	StopTooManyRejects: "correct the source or the mapping, or accept it with a higher MaxRejectShare (-1 is no limit) or MaxRejects",
	StopRejected:       "set a reject handler to continue past such events, or correct the event",
	StopHandler:        "fix what made the function fail, such as a full disk, and run again",
	StopCheckpoint:     "fix the cause, such as a full disk, and run again",
	StopSource:         "fix the source and run again",
	StopCanceled:       "run again: with a checkpoint an import continues where it stopped",
	StopInternal:       "run again, and report it with this text",
}

// StopError is the error of an import or a Capture that has stopped. Events that were not acknowledged can be
// sent again.
type StopError struct {
	Reason     StopReason
	Status     int           // of the answer, if an answer was the reason
	RetryAfter time.Duration // set if the service asked for a longer wait than the limit allows
	Err        error         // may be nil

	// Failure is the error with which requests failed at the time of the stop, and FailingSince is the time of the
	// first such failure. They are zero if requests succeeded.
	Failure      error
	FailingSince time.Time

	IsCheck bool // a Check has stopped: nothing was sent
}

// Error names the reason and a remedy.
func (e *StopError) Error() string { return e.text(remedies[e.Reason]) }

func (e *StopError) text(remedy string) string {
	var b errtext.Text
	what := "stopped"
	if e.IsCheck {
		what = "check"
	}
	b.Add("hogapi: %s: %s", what, e.Reason)
	b.AddIf(e.Status != 0, " (status %d)", e.Status)
	b.AddIf(e.Err != nil, ": %s", strings.TrimSuffix(fmt.Sprint(errtext.WithoutPrefix(e.Err)), "."))
	b.AddIf(e.Failure != nil, "; the last error: %v", errtext.WithoutPrefix(e.Failure))
	b.AddIf(!e.FailingSince.IsZero(), "; failing since %s", e.FailingSince.UTC().Format(time.RFC3339))
	b.AddIf(remedy != "", "; %s", remedy)
	b.AddIf(e.RetryAfter > 0, "; the service asks to wait %v", e.RetryAfter)
	return b.String()
}

// Unwrap returns the causes.
func (e *StopError) Unwrap() []error {
	return slices.DeleteFunc([]error{e.Err, e.Failure}, func(err error) bool { return err == nil })
}

var stopSentinels = map[StopReason]error{
	StopUnauthorized: errtext.ErrUnauthorized, StopWrongKey: errtext.ErrUnauthorized, StopForbidden: errtext.ErrForbidden, StopNotFound: errtext.ErrNotFound,
	StopQuota: errtext.ErrQuota,
}

// Is matches the sentinel that fits the reason.
func (e *StopError) Is(target error) bool { return target != nil && target == stopSentinels[e.Reason] }

// UnsettledError lists the events that were taken and are not settled. It is harmless to send them again with
// the same uuids, as the next run of an import does.
type UnsettledError struct {
	Count       int // of all unsettled events
	NeverSent   int // events that were never sent; the service may have the others
	First, Last Position
	Err         error  // the reason; may be nil
	Again       string // how to send them again; empty for those of a Capture

	events []UnsettledEvent
}

// UnsettledEvent is an event that was taken and is not settled.
type UnsettledEvent struct {
	UUID     uuid.UUID
	Position Position
	Number   int  // in its record, from 0: to put it back from a Capture alone, enqueue this event with the UUID
	Sent     bool // the service may have it; if false, it does not
}

// Events yields all unsettled events, in the order in which they were taken.
func (e *UnsettledError) Events() iter.Seq[UnsettledEvent] { return slices.Values(e.events) }

// Unsettled returns the error about events that were taken and are not settled, with its reason.
func Unsettled(events []UnsettledEvent, why error) *UnsettledError {
	e := &UnsettledError{Count: len(events), Err: why, events: events}
	for _, u := range events {
		if !u.Sent {
			e.NeverSent++
		}
		if !u.Position.IsZero() {
			if e.First.IsZero() {
				e.First = u.Position
			}
			e.Last = u.Position
		}
	}
	return e
}

// Error gives the reason, counts the events and says how to send them again.
func (e *UnsettledError) Error() string {
	var b errtext.Text
	b.Add("hogapi: ")
	stop, isStop := errors.AsType[*StopError](e.Err)
	switch isCanceled := isStop && stop.Reason == StopCanceled; {
	case isCanceled && stop.Failure == nil:
		b.Add("%v; ", stop.Err)
	case isCanceled:
		b.Add("%s; ", strings.TrimPrefix(stop.text(""), "hogapi: "))
	case e.Err != nil:
		b.Add("%v; ", errtext.WithoutPrefix(e.Err))
	}
	sent := e.Count - e.NeverSent
	b.Add("%d events are unsettled", e.Count)
	b.AddIf(!e.First.IsZero(), ", from %s to %s", e.First, e.Last)
	b.AddIf(sent == 0, "; none of them was sent")
	b.AddIf(sent > 0 && e.NeverSent == 0, "; all were sent and the answer is unknown")
	b.AddIf(sent > 0 && e.NeverSent > 0, "; %d were never sent, %d were sent and the answer is unknown", e.NeverSent, sent)
	return b.String() + "; " + cmp.Or(e.Again, "enqueue their records again: their events keep their uuids")
}

// Unwrap returns the reason.
func (e *UnsettledError) Unwrap() error { return e.Err }
