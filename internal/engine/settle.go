package engine

import (
	"bytes"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/wire"
)

var errAnswerCut = errors.New("the end of the answer is missing")

// maxRefusal is the most bytes of a refusal of the service, which is a short text.
const maxRefusal = 4 << 10

// judge interprets an answer to a request with events. With the verdict [delivery.Stop], it returns the reason too.
// Before the answer, the host may have answered already, or have even accepted events.
func judge(r httptry.Try, how Endpoint, of *delivery.Request, answered, isGood bool) (delivery.Answer, event.StopReason) {
	verdict, reason := answer{Try: r, how: how, answered: answered, isGood: isGood, failure: unreachable(r.Err)}.meaning()
	a := delivery.Answer{Verdict: verdict, Status: r.Status, Err: r.Err, Unsent: r.Err != nil && r.Unsent, Stale: r.Err != nil && r.Stale}
	a.TooLarge, a.Suspect = r.Status == http.StatusRequestEntityTooLarge, r.Status == http.StatusInternalServerError
	switch {
	case verdict == delivery.Settled:
		var said delivery.Answer
		said, reason = how.success(r, of)
		a.Verdict, a.Fates, a.Err = said.Verdict, said.Fates, said.Err
		if reason != "" {
			a.Verdict, a.Err = delivery.Stop, cmp.Or(a.Err, words(r))
		}
	case r.Err == nil:
		a.Err = words(r)
		if r.Status == http.StatusNotFound && how.terms().name == event.ProtocolV1 {
			a.Err = fmt.Errorf("%w: there is no capture v1 at this URL. An import that began with it does not change to /batch/: "+
				"where the server has changed for good, use a new checkpoint; events keep their uuids", a.Err)
		}
	}
	if reason == event.StopNotService && isGood && !errors.Is(r.Err, httptry.ErrForeignOrigin) {
		a.Verdict, reason = delivery.Wait, "" // the host was the service's before: this is an outage
	}
	return a, reason
}

// answer is an answer to be judged.
type answer struct {
	httptry.Try

	how              Endpoint
	answered, isGood bool
	failure          event.StopReason // why no repetition can fix a failure; empty: one can
}

// meaning is the whole policy: the verdict for an answer, and the reason for a stop. An answer that the service cannot
// have written, which has the reason event.StopNotService, stops the sending only as long as the host has accepted
// nothing. Before the first answer, a failure that no repetition can fix stops it.
func (x answer) meaning() (delivery.Verdict, event.StopReason) {
	switch status := x.Status; {
	case errors.Is(x.Err, httptry.ErrForeignOrigin), errors.Is(x.Err, httptry.ErrTooBig):
		return delivery.Stop, event.StopNotService
	case x.failure != "" && !x.answered:
		return delivery.Stop, x.failure
	case x.Err != nil:
		return delivery.Wait, ""
	case httptry.IsSuccess(status):
		return delivery.Settled, "" // or as the body says
	case status == http.StatusRequestEntityTooLarge:
		return delivery.Split, ""
	case x.isGood && x.isForeign():
		return delivery.Stop, event.StopNotService
	case status < http.StatusBadRequest:
		return delivery.Stop, event.StopRedirect
	case status == http.StatusBadRequest && x.isForeign():
		return delivery.Stop, event.StopNotService
	case status == http.StatusBadRequest && x.how.isAboutRequest(x.Try):
		return delivery.Stop, event.StopRefused
	case status == http.StatusBadRequest:
		return delivery.Split, ""
	case status == http.StatusTooManyRequests && parseV1Error(x.Body).isQuota():
		return delivery.Stop, event.StopQuota
	case status == http.StatusNotImplemented:
		return delivery.Stop, event.StopRefused
	case status >= 500 || httptry.IsTransientStatus(status):
		return delivery.Wait, ""
	case status == http.StatusUnauthorized:
		return delivery.Stop, event.StopUnauthorized
	case status == http.StatusPaymentRequired:
		return delivery.Stop, event.StopQuota
	case status == http.StatusForbidden:
		return delivery.Stop, event.StopForbidden
	case status == http.StatusNotFound:
		return delivery.Stop, event.StopNotFound
	}
	return delivery.Stop, event.StopRefused
}

// isForeign reports a refusal that the service cannot have written.
func (x answer) isForeign() bool {
	return len(x.Body) > maxRefusal || httptry.IsPage(x.Header.Get("Content-Type"), bytes.TrimSpace(x.Body))
}

// unreachable returns the reason for an error that shows a wrong URL or a wrong set-up, or "".
func unreachable(err error) event.StopReason {
	var (
		badRecord tls.RecordHeaderError
		alert     tls.AlertError
		lostName  *net.DNSError
	)
	switch {
	case err == nil, errors.As(err, &lostName):
		return ""
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &badRecord):
		return event.StopWrongScheme
	case httptry.IsPermanent(err):
		return event.StopCertificate
	case errors.As(err, &alert), strings.Contains(err.Error(), "tls: "):
		return event.StopTLS
	}
	return ""
}

// words returns an answer as an error: the status, and the beginning of its text without keys. Of JSON it
// shows only the service's own explanation, because the rest may repeat the events.
func words(r httptry.Try) error {
	const most = 200
	body, contentType := bytes.TrimSpace(r.Body), r.Header.Get("Content-Type")
	text := string(body)
	switch explained, tagged := httptry.ParseErrorBody(contentType, body), parseV1Error(body); {
	case text == "":
		return fmt.Errorf("the server answered %d without a text", r.Status)
	case httptry.IsPage(contentType, body):
		return fmt.Errorf("the server answered %d with a page of HTML", r.Status)
	case tagged.Tag != "":
		text = strings.TrimSuffix(tagged.Tag+": "+tagged.Description, ": ")
	case explained.Detail != "":
		text = explained.Detail
	}
	if text[0] == '{' || text[0] == '[' && !strings.HasPrefix(text, mask.Redacted) {
		return fmt.Errorf("the server answered %d with %d bytes of JSON", r.Status, len(body))
	}
	said := mask.Keys(text)
	return fmt.Errorf("the server answered %d: %s", r.Status, mask.Clean(said[:min(len(said), most)]))
}

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
	s.meter.progress.Store(new(time.Now()))
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
	if s.terms.name == event.ProtocolV1 {
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
