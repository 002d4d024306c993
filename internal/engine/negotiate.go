package engine

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/wire"
)

// negotiation finds the endpoint that events are sent to.
type negotiation struct {
	config Config

	decided  chan struct{} // closed when the endpoint is known
	isKnown  atomic.Bool   // it is closed; asked several times for each event
	endpoint Endpoint      // set with the next ones; nil until decided
	terms    terms
	encoding string     // of bodies
	encoders *sync.Pool // v1 or batch

	v1, batch sync.Pool // encoders with the rules and the form of each protocol
	asking    sync.Once // negotiate, before the first event is encoded
}

func newNegotiation(c Config) *negotiation {
	n := &negotiation{config: c, decided: make(chan struct{})}
	for rules, encoders := range map[event.Protocol]*sync.Pool{event.ProtocolV1: &n.v1, event.ProtocolBatch: &n.batch} {
		c.Gate.Protocol = rules
		gate := wire.NewGate(c.Gate)
		encoders.New = func() any { return wire.NewEncoder(gate, c.Stamps, c.Seed) }
	}
	return n
}

func (n *negotiation) isDecided() bool { return n.isKnown.Load() }

func (n *negotiation) decide(how Endpoint) {
	n.endpoint, n.terms, n.encoders = how, how.terms(), &n.v1
	n.encoding = cmp.Or(n.terms.encoding, n.config.Encoding)
	if n.terms.name == event.ProtocolBatch {
		n.encoders = &n.batch
	}
	n.isKnown.Store(true)
	close(n.decided)
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
	if e.prepareBy(v1, ev); ev.rejected != nil {
		return false
	}
	size := ev.size
	ev.own(e.Seed, true)
	ev.other = ev.form
	if e.prepareBy(batch, ev); ev.rejected != nil {
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
func (n *negotiation) choose(forms [2]form) (chosen form, unused int) {
	if forms[1].encoded == nil {
		return forms[0], 0
	}
	if n.terms.name == event.ProtocolBatch {
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
func (e *Engine) release(how Endpoint) {
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
	enc, _ := e.encoders.Get().(*wire.Encoder)
	return enc, nil
}

// negotiate asks the server how it takes events, and makes the answer durable: one import never mixes
// two protocols.
func (e *Engine) negotiate() {
	request := &delivery.Request{ID: uuid.New(), Begun: time.Now()}
	var how Endpoint
	err := e.sender.Ask(func(try int) (a delivery.Answer) {
		request.Try = try
		if a, how = e.ask(request); a.Verdict == delivery.Wait {
			const text = "hogapi: the server has not said how it takes events, will be asked again"
			e.Logger.WarnContext(e.sending.Context, text, "try", try, "status", a.Status, "error", a.Err)
		}
		return a
	})
	if err == nil && e.Files != nil {
		err = e.Files.Decide(context.WithoutCancel(e.sending.Context), how.terms().name)
	}
	if err != nil {
		e.Stop(err)
		return
	}
	e.release(how)
}

// ask sends a request without events and reads the endpoint from the answer: see offer.
func (e *Engine) ask(request *delivery.Request) (delivery.Answer, Endpoint) {
	v1 := v1{e.Client}
	prefix, suffix := v1.Around(request.Begun)
	body := textBody(append(prefix, suffix...))
	question := Request{Kind: Question, Path: V1Path, Header: http.Header{}, Body: body, Size: int64(len(body)), MaxBytes: maxAnswer}
	v1.Header(question.Header, request)
	start := time.Now()
	r := e.Client.Post(e.posting.Context, question)
	a := e.poster.judge(r, v1, request, time.Since(start))
	if r.Err != nil || a.Verdict == delivery.Wait || r.Status == http.StatusUnauthorized {
		return a, nil
	}
	how, isClear := offer(r, e.Client)
	if !isClear {
		e.ledger.Count(event.WarningProtocol, 1)
		const text = "hogapi: the server's answer does not say which protocol it takes: events go to /batch/"
		e.Logger.WarnContext(e.sending.Context, text, "status", r.Status)
	}
	return delivery.Answer{Verdict: delivery.Settled, Status: r.Status, Duration: a.Duration}, how
}
