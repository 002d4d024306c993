package hogapi

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/capturev1"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
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
func (c *core) capturePost(ctx context.Context, op operation, body upload, header http.Header, mostBytes int64) captureAnswer {
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
	return captureAnswer(httptry.Once(ctx, c.clients.Capture(), httptry.Request{
		Plan:   httptry.Plan{Timeout: timeout, MostBytes: mostBytes, Mark: info.in},
		Method: op.method, URL: &target, Header: header,
		Open: body.open, Size: body.size, Keys: []string{c.projectKey()},
	}))
}

// post makes one try of a batch.
func (p *pipeline) post(request *delivery.Request) delivery.Answer {
	start, how := time.Now(), p.protocol
	body := upload{open: request.Body.Open, size: int64(request.Body.Size)}
	if request.Body.Encoded {
		body.encoding = p.bodyEncoder().Encoding()
	}
	header := http.Header{}
	how.header(header, request)
	r := p.core.capturePost(p.posting, how.operation(), body, header, how.mostBytes(request.Len()))
	return p.judge(r, how, request, time.Since(start))
}

// bodyEncoder compresses the bodies. The endpoint /batch/ knows gzip only.
func (p *pipeline) bodyEncoder() Encoder {
	if p.protocol.name() == ProtocolBatch || p.set.Encoder == nil {
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
	p.committer.signal()
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
	if p.protocol.name() == ProtocolV1 {
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
	p.committer.signal()
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
	p.committer.signal()
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
	info := p.protocol.operation().info(t.Number)
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

var preflightOperation = operation{ops.Preflight, http.MethodPost, "/flags/", "", ReplaySafe}

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
		p.stop(&StopError{Reason: StopWrongKey, Status: r.Status, Err: r.words()})
	case r.Err == nil && httptry.IsSuccess(r.Status):
	case p.sending.Err() == nil:
		if reason := unreachable(r.Err); reason != "" {
			p.stop(&StopError{Reason: reason, Err: r.Err})
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

var errAnswerCut = errors.New("the end of the answer is missing")

// longestRefusal is the most bytes of a 400 or 413 of the service, which is a short text.
const longestRefusal = 4 << 10

// captureAnswer is the outcome of one request to the capture origin.
type captureAnswer httptry.Answer

// judge is the whole policy for capture answers; it does no I/O. answered says whether the host has
// answered before: until then, what no repetition can fix stops at once.
func (r captureAnswer) judge(how protocol, of *delivery.Request, answered bool) delivery.Answer {
	a := delivery.Answer{Status: r.Status, Err: r.Err, Unsent: r.Err != nil && r.Unsent, Stale: r.Err != nil && r.Stale}
	stop := func(reason StopReason) delivery.Answer {
		a.Verdict = delivery.Stop
		a.Stop = &StopError{Reason: reason, Status: r.Status, Err: a.Err}
		return a
	}
	if r.Err != nil {
		reason := unreachable(r.Err)
		switch {
		case errors.Is(r.Err, httptry.ErrForeignOrigin), errors.Is(r.Err, httptry.ErrTooBig):
			return stop(StopNotService)
		case reason != "" && !answered:
			return stop(reason)
		}
		return a // waits
	}
	if httptry.IsSuccess(r.Status) {
		said, reason := how.success(r, of)
		a.Verdict, a.Fates, a.Err = said.Verdict, said.Fates, said.Err
		if reason != "" {
			a.Err = cmp.Or(a.Err, r.words())
			return stop(reason)
		}
		return a
	}
	a.Err = r.words()
	switch {
	case r.Status >= 300 && r.Status < 400:
		return stop(StopRedirect)
	case r.Status == http.StatusBadRequest, r.Status == http.StatusRequestEntityTooLarge:
		if r.isForeign() {
			if r.Status == http.StatusRequestEntityTooLarge {
				a.Err = fmt.Errorf("%w; if a proxy takes smaller requests only, set DeliveryOptions.MaxBatchBytes", a.Err)
			}
			return stop(StopNotService)
		}
		if reason := how.refusal(r); reason != "" {
			return stop(reason)
		}
		a.Verdict, a.TooLarge = delivery.Split, r.Status == http.StatusRequestEntityTooLarge
		return a
	case r.Status == http.StatusTooManyRequests && capturev1.ParseError(r.Body).IsQuota():
		return stop(StopQuota)
	case httptry.IsTransientStatus(r.Status), r.Status >= 500 && r.Status != http.StatusNotImplemented:
		return a // waits
	}
	switch r.Status {
	case http.StatusUnauthorized:
		return stop(StopUnauthorized)
	case http.StatusPaymentRequired:
		return stop(StopQuota)
	case http.StatusForbidden:
		return stop(StopForbidden)
	case http.StatusNotFound:
		if how.name() == ProtocolV1 {
			a.Err = fmt.Errorf("%w: there is no capture v1 at this URL. An import that began with it does not change to /batch/: "+
				"where the server has changed for good, use a new checkpoint; events keep their uuids", a.Err)
		}
		return stop(StopNotFound)
	}
	return stop(StopRefused)
}

// isForeign reports a refusal that the service cannot have written.
func (r captureAnswer) isForeign() bool {
	return len(r.Body) > longestRefusal || httptry.IsPage(r.Header.Get("Content-Type"), bytes.TrimSpace(r.Body))
}

// unreachable is the reason for an error that shows a wrong URL or a wrong set-up, or "".
func unreachable(err error) StopReason {
	var (
		badRecord tls.RecordHeaderError
		alert     tls.AlertError
		lostName  *net.DNSError
	)
	switch {
	case err == nil, errors.As(err, &lostName):
		return ""
	case errors.Is(err, http.ErrSchemeMismatch), errors.As(err, &badRecord):
		return StopWrongScheme
	case httptry.IsPermanent(err):
		return StopCertificate
	case errors.As(err, &alert), strings.Contains(err.Error(), "tls: "):
		return StopTLS
	}
	return ""
}

// words is an answer as an error: the status, and the beginning of its text without keys. Of
// JSON only the service's own explanation is shown: the rest may repeat the events.
func (r captureAnswer) words() error {
	const most = 200
	text, contentType := bytes.TrimSpace(r.Body), r.Header.Get("Content-Type")
	switch said, tagged := httptry.ParseErrorBody(contentType, text), capturev1.ParseError(text); {
	case len(text) == 0:
		return fmt.Errorf("the server answered %d without a text", r.Status)
	case httptry.IsPage(contentType, text):
		return fmt.Errorf("the server answered %d with a page of HTML", r.Status)
	case tagged.Tag != "":
		text = []byte(strings.TrimSuffix(tagged.Tag+": "+tagged.Description, ": "))
	case said.Detail != "":
		text = []byte(said.Detail)
	case text[0] == '{' || text[0] == '[':
		return fmt.Errorf("the server answered %d with %d bytes of JSON", r.Status, len(text))
	}
	said := mask.Keys(string(text))
	return fmt.Errorf("the server answered %d: %s", r.Status, mask.Clean(said[:min(len(said), most)]))
}
