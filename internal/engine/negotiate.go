package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/jsonb"
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
		gate := wire.NewGate(c.Gate, c.Client)
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

// Endpoint is one way to send events. It makes requests and judges answers.
type Endpoint interface {
	terms() terms
	Around(begun time.Time) (prefix, suffix []byte) // of the events in a body
	Header(h http.Header, of *delivery.Request)     // adds the headers of the request

	// success judges a 2xx. With a reason, the import stops.
	success(r httptry.Try, of *delivery.Request) (delivery.Answer, event.StopReason)
	// isAboutRequest reports whether a 400 of the service refuses the request regardless of its events.
	isAboutRequest(r httptry.Try) bool
}

// terms are what is the same for all requests to an endpoint.
type terms struct {
	name        event.Protocol
	path        string
	encoding    string // the only one of bodies; empty: any
	answerBytes int64  // at most so many for each event of a request, and maxAnswer
}

// maxAnswer is the size of an answer without the fates of events. Each lane may hold an answer.
const maxAnswer = 64 << 10

// named returns the endpoint of a protocol, or nil.
func named(name event.Protocol, who Client) Endpoint {
	switch name {
	case event.ProtocolV1:
		return v1{who}
	case event.ProtocolBatch:
		return batch{who}
	default:
		return nil
	}
}

// offer returns the endpoint that a server has, by its answer to a request of capture v1 without
// events: capture v1 refuses the request with its own error, and a server without capture v1 does not know
// the path. isClear reports whether the answer is one of the two.
func offer(r httptry.Try, who Client) (how Endpoint, isClear bool) {
	switch {
	case r.Status == http.StatusBadRequest && parseV1Error(r.Body).isEmptyBatch():
		return v1{who}, true
	case r.Status == http.StatusNotFound, r.Status == http.StatusMethodNotAllowed:
		return batch{who}, true
	}
	return batch{who}, false
}

// BatchPath is the path of the endpoint /batch/.
const BatchPath = "/batch/"

// batch sends events to /batch/, which answers a request with one word for all its events. The body has the
// key. The struct has no key, because fmt would print it at any depth.
type batch struct{ who Client }

func (batch) terms() terms {
	return terms{name: event.ProtocolBatch, path: BatchPath, encoding: delivery.Gzip}
}

func (batch) Header(http.Header, *delivery.Request) {}

func (b batch) Around(time.Time) (prefix, suffix []byte) {
	return []byte(`{"api_key":` + strconv.Quote(b.who.Key()) + `,"historical_migration":true,"batch":[`), []byte("]}")
}

func (batch) isAboutRequest(httptry.Try) bool { return false }

// success accepts only the service's own words: "Ok" of current servers, 1 of old ones. It refuses an
// answer with a repeated key, because it cannot know which value counts.
func (batch) success(r httptry.Try, _ *delivery.Request) (a delivery.Answer, stop event.StopReason) {
	if httptry.IsCut(r.Body) {
		a.Err = errAnswerCut
		return a, "" // its end is lost: the same events may be sent again
	}
	var word, quota string
	err := jsonb.Object(r.Body, func(key, value []byte) {
		switch string(key) {
		case "status":
			word = strings.ToLower(string(value))
		case "quota_limited":
			quota = string(value)
		}
	})
	var limited []string
	if quota != "" && err == nil {
		err = json.Unmarshal([]byte(quota), &limited)
	}
	switch {
	case err != nil:
		return a, event.StopNotService
	case len(limited) > 0:
		return a, event.StopQuota
	case word == `"ok"`, word == "1":
		a.Verdict = delivery.Settled
		return a, ""
	}
	return a, event.StopNotService
}
