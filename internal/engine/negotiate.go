package engine

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/wire"
)

// negotiation is the protocol by which events are sent, once it is known.
type negotiation struct {
	config Config

	protocol  Protocol      // nil until decided
	encoding  string        // of bodies
	decided   chan struct{} // closed when the protocol is known
	v1, batch sync.Pool     // encoders with the rules and the form of each protocol
	asking    sync.Once     // negotiate, before the first event is encoded
}

func newAgreement(c Config) *negotiation {
	a := &negotiation{config: c, decided: make(chan struct{})}
	a.v1.New, a.batch.New = a.encodersBy(wire.ProtocolV1), a.encodersBy(wire.ProtocolBatch)
	return a
}

func (a *negotiation) isDecided() bool {
	select {
	case <-a.decided:
		return true
	default:
		return false
	}
}

func (a *negotiation) decide(how Protocol) {
	a.protocol, a.encoding = how, a.config.Encodings[how.Name()]
	close(a.decided)
}

// encoders returns the encoders of the protocol, which is decided.
func (a *negotiation) encoders() *sync.Pool {
	if a.protocol.Rules() == wire.ProtocolV1 {
		return &a.v1
	}
	return &a.batch
}

// encodersBy makes encoders with the gate's rules for a protocol.
func (a *negotiation) encodersBy(rules wire.Protocol) func() any {
	gateRules := a.config.Gate
	gateRules.Protocol = rules
	gate := wire.NewGate(gateRules)
	return func() any { return wire.NewEncoder(gate, a.config.Stamps, a.config.Seed) }
}

// checkForAll returns the refusal of an event that no protocol takes, while the protocol is not known: such an event
// does not wait for it. The rules of /batch/ are part of those of capture v1.
func (a *negotiation) checkForAll(ev *Event) *event.Error {
	if a.isDecided() || !ev.isReadable() {
		return nil
	}
	encoder, _ := a.batch.Get().(*wire.Encoder)
	defer a.batch.Put(encoder)
	_, refusal := encoder.Encode(&ev.Fields)
	return refusal
}

// prepareForAll encodes an event of a Capture in the form of each protocol, while the protocol is not known. It
// reports whether it has: not for an event that only one protocol takes, nor for one with a uuid of its encoded
// content.
func (e *Engine) prepareForAll(ev *Event) bool {
	if e.isDecided() || !ev.isReadable() || ev.UUID == uuid.Nil && ev.from().IsZero() {
		return false
	}
	v1, _ := e.v1.Get().(*wire.Encoder)
	defer e.v1.Put(v1)
	batch, _ := e.batch.Get().(*wire.Encoder)
	defer e.batch.Put(batch)
	if e.prepareBy(v1, ev); ev.reject != nil {
		return false
	}
	size := ev.size
	ev.own(e.Seed, true)
	ev.other = ev.form
	if e.prepareBy(batch, ev); ev.reject != nil {
		return false
	}
	ev.own(e.Seed, true)
	ev.form, ev.other = ev.other, ev.form
	ev.size += size - len(ev.Position.Key)
	e.asking.Do(func() { go e.negotiate() })
	return true
}

// choose returns the form of an event that is sent, and how many bytes the other one has. The protocol is
// decided.
func (a *negotiation) choose(forms [2]form) (chosen form, unused int) {
	if forms[1].encoded == nil {
		return forms[0], 0
	}
	if a.protocol.Rules() == wire.ProtocolBatch {
		return forms[1], len(forms[0].encoded.Wire)
	}
	return forms[0], len(forms[1].encoded.Wire)
}

// waiting is an event of a Capture that was taken while the protocol was not known.
type waiting struct {
	seq   uint64
	forms [2]form
}

// release gives the events that wait for the protocol to their lanes.
func (e *Engine) release(how Protocol) {
	e.admission.Lock()
	defer e.admission.Unlock()
	e.decide(how)
	e.admission.contents = ledger.Recent[uint64]{} // their forms have changed
	for _, w := range e.admission.waiting {
		f, unused := e.choose(w.forms)
		if f.content != 0 {
			e.admission.contents.First(f.encoded.UUID, f.content)
		}
		e.ledger.Reword(w.seq, f.word)
		e.budget.Release(delivery.Held{Bytes: unused})
		e.toLane(w.seq, f.encoded)
	}
	e.admission.waiting = nil
}

// notReady is the ErrFull of a server that has not answered yet.
type notReady struct{}

func (notReady) Error() string        { return "hogapi: the server has not answered yet how it takes events" }
func (notReady) Is(target error) bool { return target == event.ErrFull }

// encoder returns an encoder once the protocol is known. The first call starts the negotiation.
func (e *Engine) encoder(ctx context.Context, wait bool) (*wire.Encoder, error) {
	if !e.isDecided() {
		e.asking.Do(func() { go e.negotiate() }) //nolint:contextcheck // of another life time
		if err := e.whyClosed(); err != nil {
			return nil, err
		}
		if !wait {
			return nil, notReady{}
		}
		select {
		case <-e.decided:
		case <-e.accepting.Done():
			return nil, e.whyClosed()
		case <-ctx.Done():
			return nil, Refused(ctx)
		}
	}
	enc, _ := e.encoders().Get().(*wire.Encoder)
	return enc, nil
}

// negotiate asks the server how it takes events, and makes the answer durable: one import never mixes
// two protocols.
func (e *Engine) negotiate() {
	request := &delivery.Request{ID: uuid.New(), Begun: time.Now()}
	var how Protocol
	err := e.sender.Ask(func(try int) (a delivery.Answer) {
		request.Try = try
		if a, how = e.ask(request); a.Verdict == delivery.Wait {
			const text = "hogapi: the server has not said how it takes events, will be asked again"
			e.Logger.WarnContext(e.sending, text, "try", try, "status", a.Status, "error", a.Err)
		}
		return a
	})
	if err == nil && e.Files != nil {
		err = e.stopUnlessSaved(e.Files.Decide(context.WithoutCancel(e.sending), how.Name()))
	}
	if err != nil {
		e.stop(err)
		return
	}
	e.release(how)
}

// ask sends a request without events and reads the protocol from the answer: see [Offer].
func (e *Engine) ask(request *delivery.Request) (delivery.Answer, Protocol) {
	v1 := Named(NameV1, e.Sender)
	prefix, suffix := v1.Around(request.Begun)
	header := http.Header{}
	v1.Header(header, request)
	start := time.Now()
	r := e.Post(e.posting, Request{
		Kind: Question, Path: v1.Path(), Header: header, Body: textBody(string(prefix) + string(suffix)), MostBytes: v1.MostBytes(0),
	})
	a := e.judge(r, v1, request, time.Since(start))
	if r.Err != nil || a.Verdict == delivery.Wait || r.Status == http.StatusUnauthorized {
		return a, nil
	}
	how, isClear := Offer(r, e.Sender)
	if !isClear {
		e.ledger.Count(string(event.WarningProtocol), 1)
		const text = "hogapi: the server's answer does not say which protocol it takes: events go to /batch/"
		e.Logger.WarnContext(e.sending, text, "status", r.Status)
	}
	return delivery.Answer{Verdict: delivery.Settled, Status: r.Status, Duration: a.Duration}, how
}

func (e *Engine) judge(r httptry.Try, how Protocol, of *delivery.Request, took time.Duration) delivery.Answer {
	answered := e.answered.Load()
	if r.Status != 0 {
		e.answered.Store(true)
	}
	a, reason := Judge(r, how, of, Host{Answered: answered, IsGood: e.isGood.Load()})
	if a.Verdict == delivery.Settled || a.Verdict == delivery.Each {
		e.isGood.Store(true)
	}
	if reason != "" {
		a.Stop = &event.StopError{Reason: reason, Status: r.Status, Err: a.Err}
	}
	a.Unreached = a.Unsent && !answered
	a.Duration = took
	if r.Err == nil {
		a.RetryAfter = httptry.ParseRetryAfter(r.Header, e.Sender.Now())
	}
	return a
}

// preflightTime is how long the preflight may take. Nothing is sent before it ends.
const preflightTime = 20 * time.Second

// maxFlags is the most bytes of the preflight's answer.
const maxFlags = 64 << 10

// PreflightPath is the path of the endpoint that knows the project keys.
const PreflightPath = "/flags/"

// preflight asks an endpoint that knows the project keys whether ours is one of them: the capture endpoint
// takes events for an unknown key and drops them. Only a clear no stops the pipeline. If the answer is not
// clear, preflight warns once.
func (e *Engine) preflight() {
	defer close(e.ready) // after a stop, nobody sends
	if e.NoPreflight {
		return
	}
	body := `{"api_key":"` + e.Sender.Key() + `","distinct_id":"hogapi-preflight"}`
	r := e.Post(e.posting, Request{
		Kind: Preflight, Path: PreflightPath, Query: "v=2", Header: http.Header{}, Body: textBody(body),
		MostBytes: maxFlags, MostTime: preflightTime,
	})
	if r.Err == nil {
		e.answered.Store(true)
	}
	switch {
	case r.Err == nil && r.Status == http.StatusUnauthorized:
		e.stop(&event.StopError{Reason: event.StopWrongKey, Status: r.Status, Err: Words(r)})
	case r.Err == nil && httptry.IsSuccess(r.Status):
	case e.sending.Err() == nil:
		if reason := Unreachable(r.Err); reason != "" {
			e.stop(&event.StopError{Reason: reason, Err: r.Err})
			return
		}
		if r.Err != nil {
			e.sender.Failing(r.Err)
		}
		e.ledger.Count(string(event.WarningKeyUnchecked), 1)
		const text = "hogapi: the project key could not be checked"
		e.Logger.WarnContext(e.sending, text, "status", r.Status, "error", r.Err)
	}
}
