package engine

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/wire"
)

// settler records the outcome of the events that were sent. It is the [delivery.Results] of an engine.
type settler struct {
	*ledger.Ledger
	*life
	*negotiation

	client    Client
	budget    *delivery.Budget
	committer *committer
	meter     *meter

	rejectedOnly atomic.Int64 // events in a row, each sent alone, that were answered 400
}

// Settled handles events that the service has accepted.
func (s *settler) Settled(seqs []uint64) {
	s.rejectedOnly.Store(0)
	s.Acknowledge(seqs, s.client.Now())
	s.meter.change(func(m *event.Stats) { m.LastProgress = time.Now() })
	s.committer.Signal()
}

// Remark handles the service's own word about an event that it has accepted.
func (s *settler) Remark(seq uint64, reason string) { s.Ledger.Remark(seq, shortWord(reason)) }

// Wide counts a batch that spans more than a day.
func (s *settler) Wide() { s.Count(event.WarningWideBatch, 1) }

// GaveUp returns the stop after failures that have lasted too long.
func (s *settler) GaveUp(a delivery.Answer, since time.Time) error {
	stop := &event.StopError{Reason: event.StopNoProgress, Status: a.Status, RetryAfter: a.RetryAfter, Err: a.Err, FailingSince: since}
	if a.Unreached {
		stop.Reason = event.StopUnreachable
	}
	return stop
}

// shortWord cleans and shortens a word of the service for a receipt.
func shortWord(word string) string {
	const most = 100
	word = mask.Clean(mask.Keys(word))
	return strings.ToValidUTF8(word[:min(len(word), most)], "")
}

// maxRejected is how many events in a row, each sent alone, may be refused while no event is accepted
// in between. A server that refuses everything is not the service.
const maxRejected = 100

// Rejected handles an event that the service has rejected, alone or by name.
func (s *settler) Rejected(seq uint64, sent []byte, a delivery.Answer) error {
	reason := event.ReasonAnswer400
	switch {
	case a.Verdict == delivery.Each:
		reason = event.ReasonDropPrefix + event.Reason(shortWord(a.Reason))
		a.Err = fmt.Errorf("the service dropped the event: %s", shortWord(a.Reason))
	case a.Status == http.StatusRequestEntityTooLarge:
		reason = event.ReasonAnswer413
	}
	if a.Verdict == delivery.Split && s.rejectedOnly.Add(1) >= maxRejected {
		err := fmt.Errorf("%d different events in a row were refused, each sent alone: %w", maxRejected, a.Err)
		return &event.StopError{Reason: event.StopRefused, Status: a.Status, Err: err}
	}
	s.RejectSent(seq, reason, s.keep(seq, reason, sent, a))
	s.committer.Signal()
	return nil
}

// Unconfirmed rejects an event as unconfirmed: no answer says whether the service has stored it.
func (s *settler) Unconfirmed(seq uint64, sent []byte, a delivery.Answer) error {
	switch {
	case a.Verdict == delivery.Wait:
		a.Err = fmt.Errorf("the service failed each time the event was sent alone, and took other events in between: %w", a.Err)
	case a.Reason == "":
		a.Err = errors.New("two answers did not name the event")
	default:
		a.Err = fmt.Errorf("the service answered with a word that this release does not know: %s", shortWord(a.Reason))
	}
	s.Unconfirm(seq, s.keep(seq, event.ReasonUnconfirmed, sent, a))
	s.committer.Signal()
	return nil
}

// keep keeps an event that was sent as a reject for the committer. Its bytes, which keep returns, are held until then.
func (s *settler) keep(seq uint64, reason event.Reason, sent []byte, a delivery.Answer) (held int) {
	line := slices.Clone(sent)
	if s.endpoint.Name() == event.ProtocolV1 {
		line = wire.Lower(sent)
	}
	s.budget.Hold(len(line))
	position, id := s.Find(seq)
	s.committer.rejected.put(seq, &event.Reject{
		Event: line, UUID: id, Position: position, Status: a.Status,
		Err: &event.Error{Reason: reason, Position: position, Field: "event", Err: a.Err},
	})
	return len(line)
}

// rejected are the rejects that the committer has not handed over, by the sequence numbers of their events.
type rejected struct {
	mu    sync.Mutex
	bySeq map[uint64]*event.Reject
}

func (r *rejected) put(seq uint64, of *event.Reject) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bySeq == nil {
		r.bySeq = map[uint64]*event.Reject{}
	}
	r.bySeq[seq] = of
}

func (r *rejected) take(seq uint64) *event.Reject {
	r.mu.Lock()
	defer r.mu.Unlock()
	of := r.bySeq[seq]
	delete(r.bySeq, seq)
	return of
}
