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

	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/ops"
)

// maxWord is the most bytes of a capture answer, which is a word; each lane may hold one.
const maxWord = 64 << 10

// capturePost makes one request to the capture origin. What is sent again, and when, is for the
// lanes to say.
func (c *core) capturePost(
	ctx context.Context, op operation, open func() io.ReadCloser, size int64, zipped bool,
) captureAnswer {
	target := *c.capture
	target.Path += op.path
	timeout := c.timeouts.Capture
	if op.name == ops.Preflight {
		target.RawQuery = "v=2"
		timeout = min(timeout, preflightTime)
	}
	info := CallInfo{Op: op.name, Method: op.method, Route: op.path, Tries: 1}
	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {c.userAgent}}
	if zipped {
		header.Set("Content-Encoding", "gzip")
	}
	return captureAnswer(httptry.Once(ctx, c.clients.Capture(), httptry.Request{
		Plan:   httptry.Plan{Timeout: timeout, MostBytes: maxWord, Mark: info.in},
		Method: op.method, URL: &target, Header: header,
		Open: open, Size: size, Keys: []string{c.projectKey()},
	}))
}

// post makes one try of a batch.
func (p *pipeline) post(body *delivery.Body) delivery.Answer {
	start := time.Now()
	r := p.core.capturePost(p.posting, captureOperation, body.Open, int64(body.Size), body.Gzip)
	answered := p.answered.Load()
	if r.Status != 0 {
		p.answered.Store(true)
	}
	a := r.judge(answered)
	a.Unreached = a.Unsent && !answered
	a.Duration = time.Since(start)
	if r.Err == nil {
		a.RetryAfter = httptry.ParseRetryAfter(r.Header, p.core.now())
	}
	return a
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
	p.ledger.Acknowledge(seqs)
	p.meter.change(func(s *Stats) { s.LastProgress = time.Now() })
	p.committer.signal()
}

// mostRefused is how many events in a row, each sent alone, may be answered 400 with none
// accepted in between: what refuses everything is not the service.
const mostRefused = 100

// refused is told of an event that the service has refused alone.
func (p *pipeline) refused(seq uint64, wire []byte, a delivery.Answer) error {
	reason := ReasonAnswer400
	if a.Status == http.StatusRequestEntityTooLarge {
		reason = ReasonAnswer413
	}
	if reason == ReasonAnswer400 && p.refusedOnly.Add(1) >= mostRefused {
		err := fmt.Errorf("%d different events in a row were refused, each sent alone: %w", mostRefused, a.Err)
		return &StopError{Reason: StopRefused, Status: a.Status, Err: err}
	}
	event := slices.Clone(wire)
	p.budget.Hold(len(event))
	p.ledger.Refuse(seq, string(reason), len(event), func(place Position, id [16]byte) *Reject {
		return &Reject{
			Event: event, UUID: uuid.UUID(id), Position: place, Status: a.Status,
			Err: &EventError{Reason: reason, Position: place, Field: "event", Err: a.Err},
		}
	})
	p.committer.signal()
	return nil
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
	info := CallInfo{Op: ops.Capture, Method: captureOperation.method, Route: captureOperation.path, Tries: t.Number}
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

// preflight asks an endpoint that knows the project keys whether ours is one of them: the capture
// endpoint takes events for an unknown key and drops them. Only a clear no stops; where it cannot
// know, it says so once.
func (p *pipeline) preflight() {
	defer close(p.ready) // after a stop, nobody sends
	if p.set.NoPreflight {
		return
	}
	body := `{"api_key":"` + p.core.projectKey() + `","distinct_id":"hogapi-preflight"}`
	open := func() io.ReadCloser { return io.NopCloser(strings.NewReader(body)) }
	r := p.core.capturePost(p.posting, preflightOperation, open, int64(len(body)), false)
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
