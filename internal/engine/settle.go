package engine

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/wire"
)

// settled handles events that the service has accepted.
func (e *Engine) settled(seqs []uint64) {
	e.rejectedOnly.Store(0)
	e.ledger.Acknowledge(seqs, e.Sender.Now())
	e.meter.change(func(m *Meter) { m.LastProgress = time.Now() })
	e.committer.Signal()
}

// remark handles the service's own word about an event that it has accepted.
func (e *Engine) remark(seq uint64, reason string) { e.ledger.Remark(seq, shortWord(reason)) }

// shortWord cleans and shortens a word of the service for a receipt.
func shortWord(word string) string {
	const most = 100
	word = mask.Clean(mask.Keys(word))
	return strings.ToValidUTF8(word[:min(len(word), most)], "")
}

// line returns a sent event as a line of a file.
func (e *Engine) line(event []byte) []byte {
	if e.protocol.Name() == NameV1 {
		return wire.Lower(event)
	}
	return slices.Clone(event)
}

// maxRejected is how many events in a row, each sent alone, may be refused while no event is accepted
// in between. A server that refuses everything is not the service.
const maxRejected = 100

// rejected handles an event that the service has rejected, alone or by name.
func (e *Engine) rejected(seq uint64, sent []byte, a delivery.Answer) error {
	reason := event.ReasonAnswer400
	switch {
	case a.Verdict == delivery.Each:
		reason = event.ReasonDropPrefix + event.Reason(shortWord(a.Reason))
		a.Err = fmt.Errorf("the service dropped the event: %s", shortWord(a.Reason))
	case a.Status == http.StatusRequestEntityTooLarge:
		reason = event.ReasonAnswer413
	}
	if a.Verdict == delivery.Split && e.rejectedOnly.Add(1) >= maxRejected {
		err := fmt.Errorf("%d different events in a row were refused, each sent alone: %w", maxRejected, a.Err)
		return &event.StopError{Reason: event.StopRefused, Status: a.Status, Err: err}
	}
	held, reject := e.rejectOf(reason, sent, a)
	e.ledger.RejectSent(seq, string(reason), held, reject)
	e.committer.Signal()
	return nil
}

// unconfirmed rejects an event as unconfirmed: no answer says whether the service has stored it.
func (e *Engine) unconfirmed(seq uint64, sent []byte, a delivery.Answer) error {
	switch {
	case a.Verdict == delivery.Wait:
		a.Err = fmt.Errorf("the service failed each time the event was sent alone, and took other events in between: %w", a.Err)
	case a.Reason == "":
		a.Err = errors.New("two answers did not name the event")
	default:
		a.Err = fmt.Errorf("the service answered with a word that this release does not know: %s", shortWord(a.Reason))
	}
	held, reject := e.rejectOf(event.ReasonUnconfirmed, sent, a)
	e.ledger.Unconfirm(seq, held, reject)
	e.committer.Signal()
	return nil
}

// rejectOf makes the reject of an event that was sent. Its bytes are held until it is committed.
func (e *Engine) rejectOf(reason event.Reason, sent []byte, a delivery.Answer) (held int, of func(event.Position, [16]byte) *Reject) {
	line := e.line(sent)
	e.budget.Hold(len(line))
	return len(line), func(position event.Position, id [16]byte) *Reject {
		return &Reject{
			Event: line, UUID: id, Refusal: &event.Error{Reason: reason, Field: "event", Err: a.Err},
			Note: Note{Position: position, Status: a.Status},
		}
	}
}
