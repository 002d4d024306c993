package hogapi

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
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/pipeline"
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

	of string // "check", if no import has stopped
}

func newStopError(s pipeline.Stop) error {
	return &StopError{
		Reason: StopReason(s.Reason), Status: s.Status, RetryAfter: s.RetryAfter, Err: s.Err, Failure: s.Failure, FailingSince: s.FailingSince,
	}
}

// Error names the reason and a remedy.
func (e *StopError) Error() string { return e.text(pipeline.Hint(string(e.Reason))) }

func (e *StopError) text(hint string) string {
	var b errtext.Text
	b.Add("hogapi: %s: %s", cmp.Or(e.of, "stopped"), e.Reason)
	b.AddIf(e.Status != 0, " (status %d)", e.Status)
	b.AddIf(e.Err != nil, ": %s", strings.TrimSuffix(fmt.Sprint(bare(e.Err)), "."))
	b.AddIf(e.Failure != nil, "; the last error: %v", bare(e.Failure))
	b.AddIf(!e.FailingSince.IsZero(), "; failing since %s", inUTC(e.FailingSince))
	b.AddIf(hint != "", "; %s", hint)
	b.AddIf(e.RetryAfter > 0, "; the service asks to wait %v", e.RetryAfter)
	return b.String()
}

// Unwrap returns the causes.
func (e *StopError) Unwrap() []error {
	return slices.DeleteFunc([]error{e.Err, e.Failure}, func(err error) bool { return err == nil })
}

var stopSentinels = map[StopReason]error{
	StopUnauthorized: ErrUnauthorized, StopWrongKey: ErrUnauthorized, StopForbidden: ErrForbidden, StopNotFound: ErrNotFound,
	StopQuota: ErrQuota,
}

// Is matches the sentinel that fits the reason.
func (e *StopError) Is(target error) bool { return target != nil && target == stopSentinels[e.Reason] }

// UnsettledError lists the events that were taken and are not settled. It is harmless to send them again with
// the same uuids, as the next run of an import does.
type UnsettledError struct {
	Count       int // of all unsettled events
	NeverSent   int // events that were never sent; the service may have the others
	First, Last Position
	Err         error // the reason; may be nil

	events []UnsettledEvent
	again  string // how to send them again; empty for those of a Capture
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

func newUnsettledError(open []ledger.Unsettled[Position], why error) error {
	e := &UnsettledError{Count: len(open), Err: why, events: make([]UnsettledEvent, len(open))}
	for i, u := range open {
		e.events[i] = UnsettledEvent{UUID: u.ID, Position: Position(u.Position), Number: u.Number, Sent: u.Sent}
		if !u.Sent {
			e.NeverSent++
		}
		if !u.Position.IsZero() {
			if e.First.IsZero() {
				e.First = Position(u.Position)
			}
			e.Last = Position(u.Position)
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
		b.Add("%s; ", strings.TrimPrefix(stop.text(""), prefix))
	case e.Err != nil:
		b.Add("%v; ", bare(e.Err))
	}
	sent := e.Count - e.NeverSent
	b.Add("%d events are unsettled", e.Count)
	b.AddIf(!e.First.IsZero(), ", from %s to %s", e.First, e.Last)
	b.AddIf(sent == 0, "; none of them was sent")
	b.AddIf(sent > 0 && e.NeverSent == 0, "; all were sent and the answer is unknown")
	b.AddIf(sent > 0 && e.NeverSent > 0, "; %d were never sent, %d were sent and the answer is unknown", e.NeverSent, sent)
	return b.String() + "; " + cmp.Or(e.again, "enqueue their records again: their events keep their uuids")
}

// Unwrap returns the reason.
func (e *UnsettledError) Unwrap() error { return e.Err }
