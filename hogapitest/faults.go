package hogapitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Fault is one scripted fault of the service: see [Server.Script].
type Fault struct {
	name string

	delay   time.Duration // before anything else
	cut     cut           // where the connection is lost
	instead func(protocol) answer
	acted   bool // the service acts before instead
	handler http.HandlerFunc
	results func(i int, e StoredEvent) Result // v1: for each event
	alter   func(body []byte) []byte          // of the service's answer
	keep    int                               // capture: how many events are stored before instead is answered; all is -1

	header     http.Header   // added to the answer
	lateAnswer time.Duration // after the act, before the answer
	bodyBytes  int           // only so many bytes of the answer arrive; -1 is all

	times   int // how many requests meet the fault
	forever bool
}

// String names the fault as its constructor does, for example "CutAfter".
func (f Fault) String() string { return f.name }

// cut is a point of a request where its connection can be lost.
type cut uint8

const (
	cutNever  cut = iota
	cutDial       // no connection at all
	cutSend       // while the request is sent: the service has not got all of it
	cutBefore     // the service has the request and has not acted
	cutAfter      // the service has acted and has not answered
	cutHeader     // the service has acted, and only a part of the answer's header arrives
)

const (
	whole = -1
	half  = -2
)

func fault(name string) Fault {
	return Fault{name: name, keep: whole, bodyBytes: whole, times: 1}
}

// Status answers with a status, and the service does nothing. The body is a []byte, a string, or any other
// value, which is sent as JSON. By default it is the service's own body for the status.
func Status(code int, body ...any) Fault {
	f := fault(fmt.Sprintf("Status(%d)", code))
	f.instead = func(p protocol) answer {
		if len(body) == 0 {
			return usual(code, p)
		}
		return custom(code, body[0], p)
	}
	return f
}

// custom is a scripted body under the content type that it looks like.
func custom(code int, body any, p protocol) answer {
	var raw []byte
	switch b := body.(type) {
	case string:
		raw = []byte(b)
	case []byte:
		raw = b
	case json.RawMessage:
		raw = b
	default:
		return reply(code, body)
	}
	if json.Valid(raw) && !(p == protocolBatch && code >= 400) {
		return answer{code, http.Header{"Content-Type": {"application/json"}}, raw}
	}
	return text(code, string(raw))
}

// WithHeader adds a header to the answer, as in Status(503).WithHeader("Retry-After", "5").
func (f Fault) WithHeader(name, value string) Fault {
	f.header = f.header.Clone()
	if f.header == nil {
		f.header = http.Header{}
	}
	f.header.Add(name, value)
	return f
}

// RateLimit answers 429 "throttled", with a Retry-After header unless retryAfter is empty. The service does
// nothing.
func RateLimit(retryAfter string) Fault {
	f := fault(fmt.Sprintf("RateLimit(%s)", retryAfter))
	f.instead = func(p protocol) answer {
		if p == noProtocol {
			return throttled(retryAfter)
		}
		a := usual(http.StatusTooManyRequests, p)
		if retryAfter != "" {
			a.header.Set("Retry-After", retryAfter)
		}
		return a
	}
	return f
}

// HTML answers with a gateway's page. The service does nothing.
func HTML(code int) Fault {
	f := fault(fmt.Sprintf("HTML(%d)", code))
	f.instead = func(protocol) answer { return htmlPage(code) }
	return f
}

// Refuse refuses the connection before a byte is sent. Over sockets, it resets the connection before the
// request is read; use [Server.SetDown] to refuse connections there.
func Refuse() Fault { return lost("Refuse", cutDial) }

// CutSending loses the connection while the request is being sent. The service does nothing.
func CutSending() Fault { return lost("CutSending", cutSend) }

// CutBefore loses the connection after the request was sent. The service does nothing.
func CutBefore() Fault { return lost("CutBefore", cutBefore) }

// CutAfter loses the connection after the service has acted and before a byte of the answer.
func CutAfter() Fault { return lost("CutAfter", cutAfter) }

// CutHeader lets the service act and loses the connection within the header of the answer.
func CutHeader() Fault { return lost("CutHeader", cutHeader) }

func lost(name string, at cut) Fault {
	f := fault(name)
	f.cut = at
	return f
}

// CutBody lets the service act and loses the connection after n bytes of the answer's body.
func CutBody(n int) Fault {
	f := fault(fmt.Sprintf("CutBody(%d)", n))
	f.bodyBytes = max(n, 0)
	return f
}

// Slow waits before the service reads the request, and then acts like the inner fault, if there is one.
func Slow(d time.Duration, inner ...Fault) Fault {
	f := within("Slow", d, inner)
	f.delay = d
	return f
}

// SlowAnswer lets the service act, then waits before the answer.
func SlowAnswer(d time.Duration, inner ...Fault) Fault {
	f := within("SlowAnswer", d, inner)
	f.lateAnswer = d
	return f
}

func within(name string, d time.Duration, inner []Fault) Fault {
	if len(inner) == 0 {
		return fault(fmt.Sprintf("%s(%s)", name, d))
	}
	f := inner[0]
	f.name = fmt.Sprintf("%s(%s, %s)", name, d, f.name)
	return f
}

// PartialCommit stores the first n events of a capture batch and then answers with the status, as the service
// does when its queue fails in the middle. A negative n stands for half of the batch. On other operations the
// service does nothing.
func PartialCommit(n, status int) Fault {
	f := Status(status)
	f.name = fmt.Sprintf("PartialCommit(%d, %d)", n, status)
	f.keep = n
	if n < 0 {
		f.keep = half
	}
	return f
}

// Acted lets the service act, then answers as the inner fault says: Acted(HTML(200)), Acted(Status(503)).
func Acted(inner Fault) Fault {
	inner.name = fmt.Sprintf("Acted(%s)", inner.name)
	inner.acted = true
	return inner
}

// Altered lets the service act, and answers with another body.
func Altered(body func(own []byte) []byte) Fault {
	f := fault("Altered")
	f.alter = body
	return f
}

// Then answers by a handler of the test, which gets the request with its body. The service does nothing.
func Then(handler func(http.ResponseWriter, *http.Request)) Fault {
	f := fault("Then")
	f.handler = handler
	return f
}

// Repeat applies a fault to the next n requests.
func Repeat(n int, f Fault) Fault {
	f.times = n
	return f
}

// Always applies a fault to every request until [Server.ClearScript]. Faults that are scripted after it have no
// effect.
func Always(f Fault) Fault {
	f.forever = true
	return f
}

// arriving is how many of the n bytes of an answer's body arrive.
func (f Fault) arriving(n int) int { return part(f.bodyBytes, n) }

// stored is how many of the n events of a batch are stored.
func (f Fault) stored(n int) int { return part(f.keep, n) }

func part(of, n int) int {
	switch of {
	case half:
		return n / 2
	case whole:
		return n
	}
	return min(of, n)
}

// acts reports whether the service itself serves the request.
func (f Fault) acts() bool {
	return (f.instead == nil || f.acted) && f.handler == nil && (f.cut == cutNever || f.cut >= cutAfter)
}
