package hogapi

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/capturev1"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/ingest"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// upload is the body of one request.
type upload struct {
	open     func() io.ReadCloser // from its beginning
	size     int64
	encoding string // of its content; empty: plain
}

func textBody(text string) upload {
	return upload{open: func() io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }, size: int64(len(text))}
}

// capturePost makes one request to the capture origin. What is sent again, and when, is for the
// lanes to say.
func (c *core) capturePost(ctx context.Context, op operation, body upload, header http.Header, mostBytes int64) httptry.Answer {
	target := *c.capture
	target.Path += op.path
	timeout := c.timeouts.Capture
	if op.name == ops.Preflight {
		target.RawQuery = "v=2"
		timeout = min(timeout, preflightTime)
	}
	info := op.info(1)
	header.Set("Content-Type", "application/json")
	header.Set("User-Agent", c.userAgent)
	if body.encoding != "" {
		header.Set("Content-Encoding", body.encoding)
	}
	return httptry.Once(ctx, c.clients.Capture(), httptry.Request{
		Plan:   httptry.Plan{Timeout: timeout, MostBytes: mostBytes, Mark: info.in},
		Method: op.method, URL: &target, Header: header,
		Open: body.open, Size: body.size, Keys: []string{c.projectKey()},
	})
}

// post makes one try of a batch.
func (p *pipeline) post(request *delivery.Request) delivery.Answer {
	start, how := time.Now(), p.protocol
	body := upload{open: request.Body.Open, size: int64(request.Body.Size)}
	if request.Body.Encoded {
		body.encoding = p.bodyEncoder().Encoding()
	}
	header := http.Header{}
	how.Header(header, request)
	r := p.core.capturePost(p.posting, captureOperation(how), body, header, how.MostBytes(request.Len()))
	return p.judge(r, how, request, time.Since(start))
}

// bodyEncoder compresses the bodies. The endpoint /batch/ knows gzip only.
func (p *pipeline) bodyEncoder() Encoder {
	if p.protocol.Name() == ingest.NameBatch || p.set.Encoder == nil {
		return Gzip()
	}
	return p.set.Encoder
}

// gaveUp is why the sending stops after failures that have lasted too long.
func (p *pipeline) gaveUp(a delivery.Answer, since time.Time) error {
	stop := &StopError{Reason: StopNoProgress, Status: a.Status, RetryAfter: a.RetryAfter, Err: a.Err, FailingSince: since}
	if a.Unreached {
		stop.Reason = StopUnreachable
	}
	return stop
}

// settled is told of events that the service has accepted.
func (p *pipeline) settled(seqs []uint64) {
	p.refusedOnly.Store(0)
	p.ledger.Acknowledge(seqs, p.core.now())
	p.meter.change(func(s *Stats) { s.LastProgress = time.Now() })
	p.committer.Signal()
}

// remark is given the service's own word about an event that it has accepted.
func (p *pipeline) remark(seq uint64, reason string) { p.ledger.Remark(seq, shortWord(reason)) }

// shortWord is a word of the service, fit for a receipt.
func shortWord(word string) string {
	const most = 100
	word = mask.Clean(mask.Keys(word))
	return strings.ToValidUTF8(word[:min(len(word), most)], "")
}

// line is a sent event as a line of a file.
func (p *pipeline) line(event []byte) []byte {
	if p.protocol.Name() == ingest.NameV1 {
		return wire.Lower(event)
	}
	return slices.Clone(event)
}

// mostRefused is how many events in a row, each sent alone, may be answered 400 with none
// accepted in between: what refuses everything is not the service.
const mostRefused = 100

// refused is told of an event that the service has refused: alone, or by name.
func (p *pipeline) refused(seq uint64, event []byte, a delivery.Answer) error {
	reason := ReasonAnswer400
	switch {
	case a.Verdict == delivery.Each:
		reason = Reason(ReasonDropPrefix + shortWord(a.Reason))
		a.Err = fmt.Errorf("the service dropped the event: %s", shortWord(a.Reason))
	case a.Status == http.StatusRequestEntityTooLarge:
		reason = ReasonAnswer413
	}
	if reason == ReasonAnswer400 && p.refusedOnly.Add(1) >= mostRefused {
		err := fmt.Errorf("%d different events in a row were refused, each sent alone: %w", mostRefused, a.Err)
		return &StopError{Reason: StopRefused, Status: a.Status, Err: err}
	}
	held, reject := p.rejectOf(reason, event, a)
	p.ledger.Refuse(seq, string(reason), held, reject)
	p.committer.Signal()
	return nil
}

// unsure is told of an event whose fate no answer names.
func (p *pipeline) unsure(seq uint64, event []byte, a delivery.Answer) error {
	a.Err = errors.New("two answers did not name the event")
	if a.Reason != "" {
		a.Err = fmt.Errorf("the service answered with a word that this release does not know: %s", shortWord(a.Reason))
	}
	held, reject := p.rejectOf(ReasonUnconfirmed, event, a)
	p.ledger.Unconfirm(seq, held, reject)
	p.committer.Signal()
	return nil
}

// rejectOf makes the reject of an event that was sent. Its bytes are held until it is committed.
func (p *pipeline) rejectOf(reason Reason, sent []byte, a delivery.Answer) (held int, of func(Position, [16]byte) *Reject) {
	event := p.line(sent)
	p.budget.Hold(len(event))
	return len(event), func(place Position, id [16]byte) *Reject {
		return &Reject{
			Event: event, UUID: uuid.UUID(id), Position: place, Status: a.Status,
			Err: &EventError{Reason: reason, Position: place, Field: "event", Err: a.Err},
		}
	}
}

// tried reports one try to counters, logger and hooks.
func (p *pipeline) tried(t delivery.Try) {
	p.meter.change(func(s *Stats) {
		s.Requests++
		s.PlainBytes += int64(t.Plain)
		s.WireBytes += int64(t.Wire)
	})
	if t.Resent > 0 {
		p.ledger.Resent(t.Resent)
	}
	info := captureOperation(p.protocol).info(t.Number)
	p.core.logBatch(p.sending, info, t)
	p.core.hook(p.sending, p.core.hooks.OnBatch != nil, func() {
		p.core.hooks.OnBatch(BatchInfo{
			Lane: t.Lane, Events: t.Items, Bytes: t.Plain, WireBytes: t.Wire, StatusCode: t.Answer.Status, Try: t.Number,
			Err: failureOf(t.Answer), Duration: t.Answer.Duration,
		})
	})
}

// failureOf is why there is no answer, or nil.
func failureOf(a delivery.Answer) error {
	if a.Status != 0 {
		return nil
	}
	return a.Err
}

// preflightTime is how long the preflight may take: nothing is sent before it.
const preflightTime = 20 * time.Second

// mostFlags is the most bytes of the preflight's answer.
const mostFlags = 64 << 10

// The operations of imports have another origin than the management calls, no prefix, and the project
// API key.
var (
	batchOperation = operation{ops.Capture, http.MethodPost, ingest.BatchPath, "", ReplayIdempotent}
	// protocolOperation asks whether the server has capture v1.
	protocolOperation = operation{ops.Protocol, http.MethodPost, capturev1.Path, "", ReplaySafe}

	preflightOperation = operation{ops.Preflight, http.MethodPost, "/flags/", "", ReplaySafe}
)

func captureOperation(how ingest.Protocol) operation {
	o := batchOperation
	o.path = how.Path()
	return o
}

// preflight asks an endpoint that knows the project keys whether ours is one of them: the capture
// endpoint takes events for an unknown key and drops them. Only a clear no stops; where it cannot
// know, it says so once.
func (p *pipeline) preflight() {
	defer close(p.ready) // after a stop, nobody sends
	if p.set.NoPreflight {
		return
	}
	body := `{"api_key":"` + p.core.projectKey() + `","distinct_id":"hogapi-preflight"}`
	r := p.core.capturePost(p.posting, preflightOperation, textBody(body), http.Header{}, mostFlags)
	if r.Err == nil {
		p.answered.Store(true)
	}
	switch {
	case r.Err == nil && r.Status == http.StatusUnauthorized:
		p.stop(&StopError{Reason: StopWrongKey, Status: r.Status, Err: ingest.Words(r)})
	case r.Err == nil && httptry.IsSuccess(r.Status):
	case p.sending.Err() == nil:
		if reason := ingest.Unreachable(r.Err); reason != "" {
			p.stop(&StopError{Reason: StopReason(reason), Err: r.Err})
			return
		}
		if r.Err != nil {
			p.sender.Failing(r.Err)
		}
		p.ledger.Count(string(WarnKeyUnchecked), 1)
		const text = "hogapi: the project key could not be checked"
		p.core.logger.WarnContext(p.sending, text, "status", r.Status, "error", r.Err)
	}
}

// canceledBy is the reason of a stop by the end of a context.
func canceledBy(ctx context.Context) error {
	cause := context.Cause(ctx)
	if !errors.Is(cause, ctx.Err()) {
		cause = fmt.Errorf("%w (%w)", cause, ctx.Err())
	}
	return &StopError{Reason: StopCanceled, Err: cause}
}
