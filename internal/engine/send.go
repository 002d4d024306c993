package engine

import (
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
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

func (e *Engine) around(begun time.Time) (prefix, suffix []byte) { return e.protocol.Around(begun) }

func (e *Engine) newEncoder() delivery.Encoder { return delivery.NewEncoder(e.encoding) }

// post makes one try of a batch.
func (e *Engine) post(request *delivery.Request) delivery.Answer {
	start, how := time.Now(), e.protocol
	body := Body{Open: request.Body.Open, Size: int64(request.Body.Size)}
	if request.Body.Encoded {
		body.Encoding = e.encoding
	}
	header := http.Header{}
	how.Header(header, request)
	r := e.Post(e.posting, Request{Kind: Events, Path: how.Path(), Header: header, Body: body, MostBytes: how.MostBytes(request.Len())})
	return e.judge(r, how, request, time.Since(start))
}

// gaveUp returns the stop after failures that have lasted too long.
func (e *Engine) gaveUp(a delivery.Answer, since time.Time) error {
	stop := &event.StopError{Reason: event.StopNoProgress, Status: a.Status, RetryAfter: a.RetryAfter, Err: a.Err, FailingSince: since}
	if a.Unreached {
		stop.Reason = event.StopUnreachable
	}
	return stop
}

func (e *Engine) tried(t delivery.Try) {
	e.meter.change(func(m *Meter) {
		m.Requests++
		m.PlainBytes += int64(t.Plain)
		m.WireBytes += int64(t.Wire)
	})
	if t.Resent > 0 {
		e.ledger.Resent(t.Resent)
	}
	e.Hooks.Tried(e.protocol.Path(), t)
}
