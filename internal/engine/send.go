package engine

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/ledger"
)

// Request is one POST to the host that takes events.
type Request struct {
	Kind        Kind
	Path, Query string
	Header      http.Header // may be changed
	Body        Body
	Size        int64         // of the body
	Encoding    string        // of the body's content; empty: plain
	MaxBytes    int64         // of the answer
	MaxTime     time.Duration // 0: no limit of its own
}

// Kind is the purpose of a request.
type Kind uint8

// Kinds.
const (
	Events    Kind = iota
	Question       // how the server takes events
	Preflight      // whether the service knows the project key
)

// Body is the body of a request: a text, or a [delivery.Body].
type Body interface {
	Open() io.ReadCloser // from its beginning
}

type textBody string

func (b textBody) Open() io.ReadCloser { return io.NopCloser(strings.NewReader(string(b))) }

// maxAround is the most bytes around the events of a body.
const maxAround = 200

// poster makes requests with events, and judges their answers. It is the [delivery.Requests] of an engine.
type poster struct {
	*life
	*negotiation

	client Client
	ledger *ledger.Ledger
	meter  *meter

	answered atomic.Bool // the host has answered once
	isGood   atomic.Bool // it has accepted events once
}

// Around returns the text around the events of a body, and its encoding.
func (p *poster) Around(begun time.Time) (prefix, suffix []byte, encoding string) {
	prefix, suffix = p.endpoint.Around(begun)
	return prefix, suffix, p.encoding
}

// Post makes one try of a batch.
func (p *poster) Post(request *delivery.Request) delivery.Answer {
	start, how := time.Now(), p.endpoint
	r := Request{
		Kind: Events, Path: p.terms.path, Header: http.Header{}, Body: request.Body, Size: int64(request.Body.Size), Encoding: request.Body.Encoding,
		MaxBytes: maxAnswer + p.terms.answerBytes*int64(request.Len()),
	}
	how.Header(r.Header, request)
	return p.judge(p.client.Post(p.posting.Context, r), how, request, time.Since(start))
}

func (p *poster) judge(r httptry.Try, how Endpoint, of *delivery.Request, took time.Duration) delivery.Answer {
	answered := p.answered.Load()
	if r.Status != 0 {
		p.answered.Store(true)
	}
	a, reason := judge(r, how, of, answered, p.isGood.Load())
	if a.Verdict == delivery.Settled || a.Verdict == delivery.Each {
		p.isGood.Store(true)
	}
	if reason != "" {
		a.Stop = &event.StopError{Reason: reason, Status: r.Status, Err: a.Err}
	}
	a.Unreached = a.Unsent && !answered
	a.Duration = took
	if r.Err == nil {
		a.RetryAfter = httptry.ParseRetryAfter(r.Header, p.client.Now())
	}
	return a
}

// Tried counts a try.
func (p *poster) Tried(t delivery.Try) {
	p.meter.requests.Add(1)
	p.meter.plain.Add(int64(t.Plain))
	p.meter.wire.Add(int64(t.Wire))
	if t.Resent > 0 {
		p.ledger.Resent(t.Resent)
	}
	p.client.Tried(p.terms.path, t)
}

// preflightTime is how long the preflight may take. Nothing is sent before it ends.
const preflightTime = 20 * time.Second

// maxFlags is the most bytes of the preflight's answer.
const maxFlags = 64 << 10

// PreflightPath is the path of the endpoint that knows the project keys.
const PreflightPath = "/flags/"

// preflight asks an endpoint that knows the project keys whether ours is one of them: the capture endpoint
// takes events for an unknown key and drops them. Only a clear no stops the engine. If the answer is not
// clear, preflight warns once.
func (e *Engine) preflight() {
	defer close(e.ready) // after a stop, nobody sends
	if e.NoPreflight {
		return
	}
	body := `{"api_key":"` + e.Client.Key() + `","distinct_id":"hogapi-preflight"}`
	r := e.Client.Post(e.posting.Context, Request{
		Kind: Preflight, Path: PreflightPath, Query: "v=2", Header: http.Header{}, Body: textBody(body), Size: int64(len(body)),
		MaxBytes: maxFlags, MaxTime: preflightTime,
	})
	if r.Err == nil {
		e.poster.answered.Store(true)
	}
	switch {
	case r.Err == nil && r.Status == http.StatusUnauthorized:
		e.Stop(&event.StopError{Reason: event.StopWrongKey, Status: r.Status, Err: words(r)})
	case r.Err == nil && httptry.IsSuccess(r.Status):
	case e.sending.Err() == nil:
		if reason := unreachable(r.Err); reason != "" {
			e.Stop(&event.StopError{Reason: reason, Err: r.Err})
			return
		}
		if r.Err != nil {
			e.sender.Failing(r.Err)
		}
		e.ledger.Count(event.WarningKeyUnchecked, 1)
		const text = "hogapi: the project key could not be checked"
		e.Logger.WarnContext(e.sending.Context, text, "status", r.Status, "error", r.Err)
	}
}
