package pipeline

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/ingest"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/statefile"
	"github.com/hogapi/hogapi/internal/wire"
)

// Request is one POST to the host that takes events.
type Request struct {
	Kind        Kind
	Path, Query string
	Header      http.Header // may be changed
	Body        Body
	MostBytes   int64         // of the answer
	MostTime    time.Duration // 0: no limit of its own
}

// Kind is the purpose of a request.
type Kind uint8

// Kinds.
const (
	Events    Kind = iota
	Question       // how the server takes events
	Preflight      // whether the service knows the project key
)

// Body is the body of a request.
type Body struct {
	Open     func() io.ReadCloser // from its beginning
	Size     int64
	Encoding string // of its content; empty: plain
}

func textBody(text string) Body {
	return Body{Open: func() io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }, Size: int64(len(text))}
}

// maxAround is the most bytes around the events of a body.
const maxAround = 200

func (p *Pipeline) around(begun time.Time) (prefix, suffix []byte) { return p.protocol.Around(begun) }

func (p *Pipeline) newEncoder() delivery.Encoder { return delivery.NewEncoder(p.encoding) }

// post makes one try of a batch.
func (p *Pipeline) post(request *delivery.Request) delivery.Answer {
	start, how := time.Now(), p.protocol
	body := Body{Open: request.Body.Open, Size: int64(request.Body.Size)}
	if request.Body.Encoded {
		body.Encoding = p.encoding
	}
	header := http.Header{}
	how.Header(header, request)
	r := p.Post(p.posting, Request{Kind: Events, Path: how.Path(), Header: header, Body: body, MostBytes: how.MostBytes(request.Len())})
	return p.judge(r, how, request, time.Since(start))
}

// gaveUp returns the stop after failures that have lasted too long.
func (p *Pipeline) gaveUp(a delivery.Answer, since time.Time) error {
	stop := &event.StopError{Reason: event.StopNoProgress, Status: a.Status, RetryAfter: a.RetryAfter, Err: a.Err, FailingSince: since}
	if a.Unreached {
		stop.Reason = event.StopUnreachable
	}
	return stop
}

// settled handles events that the service has accepted.
func (p *Pipeline) settled(seqs []uint64) {
	p.rejectedOnly.Store(0)
	p.ledger.Acknowledge(seqs, p.Sender.Now())
	p.meter.change(func(m *Meter) { m.LastProgress = time.Now() })
	p.committer.Signal()
}

// remark handles the service's own word about an event that it has accepted.
func (p *Pipeline) remark(seq uint64, reason string) { p.ledger.Remark(seq, shortWord(reason)) }

// shortWord cleans and shortens a word of the service for a receipt.
func shortWord(word string) string {
	const most = 100
	word = mask.Clean(mask.Keys(word))
	return strings.ToValidUTF8(word[:min(len(word), most)], "")
}

// line returns a sent event as a line of a file.
func (p *Pipeline) line(event []byte) []byte {
	if p.protocol.Name() == ingest.NameV1 {
		return wire.Lower(event)
	}
	return slices.Clone(event)
}

// mostRejected is how many events in a row, each sent alone, may be refused while no event is accepted
// in between. A server that refuses everything is not the service.
const mostRejected = 100

// rejected handles an event that the service has rejected, alone or by name.
func (p *Pipeline) rejected(seq uint64, sent []byte, a delivery.Answer) error {
	reason := event.ReasonAnswer400
	switch {
	case a.Verdict == delivery.Each:
		reason = event.ReasonDropPrefix + event.Reason(shortWord(a.Reason))
		a.Err = fmt.Errorf("the service dropped the event: %s", shortWord(a.Reason))
	case a.Status == http.StatusRequestEntityTooLarge:
		reason = event.ReasonAnswer413
	}
	if a.Verdict == delivery.Split && p.rejectedOnly.Add(1) >= mostRejected {
		err := fmt.Errorf("%d different events in a row were refused, each sent alone: %w", mostRejected, a.Err)
		return &event.StopError{Reason: event.StopRefused, Status: a.Status, Err: err}
	}
	held, reject := p.rejectOf(reason, sent, a)
	p.ledger.RejectSent(seq, string(reason), held, reject)
	p.committer.Signal()
	return nil
}

// unconfirmed rejects an event as unconfirmed: no answer says whether the service has stored it.
func (p *Pipeline) unconfirmed(seq uint64, sent []byte, a delivery.Answer) error {
	switch {
	case a.Verdict == delivery.Wait:
		a.Err = fmt.Errorf("the service failed each time the event was sent alone, and took other events in between: %w", a.Err)
	case a.Reason == "":
		a.Err = errors.New("two answers did not name the event")
	default:
		a.Err = fmt.Errorf("the service answered with a word that this release does not know: %s", shortWord(a.Reason))
	}
	held, reject := p.rejectOf(event.ReasonUnconfirmed, sent, a)
	p.ledger.Unconfirm(seq, held, reject)
	p.committer.Signal()
	return nil
}

// rejectOf makes the reject of an event that was sent. Its bytes are held until it is committed.
func (p *Pipeline) rejectOf(reason event.Reason, sent []byte, a delivery.Answer) (held int, of func(event.Position, [16]byte) *statefile.Reject) {
	line := p.line(sent)
	p.budget.Hold(len(line))
	return len(line), func(position event.Position, id [16]byte) *statefile.Reject {
		return &statefile.Reject{
			Event: line, UUID: id, Refusal: &event.Error{Reason: reason, Field: "event", Err: a.Err},
			Note: statefile.Note{Position: position, Status: a.Status},
		}
	}
}

func (p *Pipeline) tried(t delivery.Try) {
	p.meter.change(func(m *Meter) {
		m.Requests++
		m.PlainBytes += int64(t.Plain)
		m.WireBytes += int64(t.Wire)
	})
	if t.Resent > 0 {
		p.ledger.Resent(t.Resent)
	}
	p.Hooks.Tried(p.protocol.Path(), t)
}
