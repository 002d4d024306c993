package hogapitest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/hogapi/hogapi"
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
		a := usual(http.StatusTooManyRequests, p)
		if p == noProtocol {
			a = throttled(retryAfter)
		}
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

type script struct {
	faults []Fault
	used   bool // the fault in front has been met at least once
	chaos  *chaos
}

type chaos struct {
	random *rand.Rand
	rate   float64
	faults []Fault
}

// Script adds faults for the next requests of an operation, one for each request in the order of their arrival;
// after them the service continues as usual. A test fails if faults are left at its end: see [Server.Client].
func (s *Server) Script(op hogapi.Op, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sc := s.script(op)
	for _, f := range faults {
		if f.times > 0 || f.forever {
			sc.faults = append(sc.faults, f)
		}
	}
}

// ClearScript removes the remaining faults of an operation, including its chaos.
func (s *Server) ClearScript(op hogapi.Op) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.scripts, op)
}

// Chaos applies a random one of the faults to requests of an operation, at a rate from 0 to 1. The same seed
// and the same order of requests make the same choices. Scripted faults come first.
func (s *Server) Chaos(op hogapi.Op, seed uint64, rate float64, faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script(op).chaos = &chaos{rand.New(rand.NewPCG(seed, 0)), rate, slices.Clone(faults)}
}

// Unused returns the scripted faults that no request has met.
func (s *Server) Unused() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var left []string
	for op, sc := range s.scripts {
		for i, f := range sc.faults {
			switch {
			case f.forever && i == 0 && sc.used:
			case f.forever || f.times == 1:
				left = append(left, fmt.Sprintf("%s: %s", op, f))
			default:
				left = append(left, fmt.Sprintf("%s: %d × %s", op, f.times, f))
			}
		}
	}
	slices.Sort(left)
	return left
}

func (s *Server) script(op hogapi.Op) *script {
	sc := s.scripts[op]
	if sc == nil {
		sc = &script{}
		s.scripts[op] = sc
	}
	return sc
}

// nextFault takes the fault for the next request of an operation. Without a name the request is served as usual.
func (s *Server) nextFault(op hogapi.Op) Fault {
	if s.down {
		return Refuse()
	}
	if sc := s.scripts[op]; sc != nil {
		if f, ok := sc.next(); ok {
			return f
		}
	}
	return fault("")
}

func (sc *script) next() (Fault, bool) {
	if len(sc.faults) > 0 {
		f := &sc.faults[0]
		sc.used = true
		if met := *f; f.forever || f.times > 1 {
			f.times--
			return met, true
		}
		met := *f
		sc.faults, sc.used = sc.faults[1:], false
		return met, true
	}
	if c := sc.chaos; c != nil && len(c.faults) > 0 && c.random.Float64() < c.rate {
		return c.faults[c.random.IntN(len(c.faults))], true
	}
	return Fault{}, false
}
