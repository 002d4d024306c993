package hogapi

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/ingest"
	"github.com/hogapi/hogapi/internal/wire"
)

// Protocol is how events are sent. One import never mixes two: its checkpoint remembers.
type Protocol string

// Protocols.
const (
	ProtocolAuto  Protocol = ""      // capture v1 where the server has it, otherwise /batch/; asked once before the first event
	ProtocolV1    Protocol = "v1"    // POST /i/v1/analytics/events: the answer names the fate of each event
	ProtocolBatch Protocol = "batch" // POST /batch/: one answer for all events of a request
)

// protocol is the way to send that has a name, or nil.
func (c *core) protocol(p Protocol) ingest.Protocol { return ingest.Named(string(p), c.sender()) }

func (c *core) sender() ingest.Sender {
	return ingest.Sender{Key: c.projectKey, SDK: libraryName + "/" + libraryVersion(), Now: c.now}
}

// rulesOf are the gate's rules where nobody is asked: a check does not know how events will be sent.
var rulesOf = map[Protocol]wire.Protocol{ProtocolV1: wire.ProtocolV1, ProtocolBatch: wire.ProtocolBatch}

// isDecided reports whether it is known how events are sent.
func (p *pipeline) isDecided() bool {
	select {
	case <-p.decided:
		return true
	default:
		return false
	}
}

// decide settles how events are sent.
func (p *pipeline) decide(how ingest.Protocol) {
	p.protocol = how
	p.encoders.New = p.encodersBy(how.Rules())
	close(p.decided)
}

// encodersBy makes encoders with the gate's rules for a protocol.
func (p *pipeline) encodersBy(rules wire.Protocol) func() any {
	gate := wire.NewGate(p.set.gate.rules(rules, p.core.now))
	return func() any { return &encoder{Encoder: wire.NewEncoder(gate, p.stamps, p.seed)} }
}

// early is a refusal by every protocol, as long as it is not known how events are sent: such an event
// need not wait for that.
func (p *pipeline) early(ev *Event) *EventError {
	if p.isDecided() || !ev.isReadable() {
		return nil
	}
	judge, _ := p.judges.Get().(*encoder)
	defer p.judges.Put(judge)
	_, refusal := judge.encode(ev)
	return refusal
}

// encoder returns one once it is known how events are sent. The first call asks for it.
func (p *pipeline) encoder(ctx context.Context, wait bool) (*encoder, error) {
	p.asking.Do(func() { //nolint:contextcheck // of another life time
		if !p.isDecided() {
			go p.negotiate()
		}
	})
	if !wait && !p.isDecided() {
		if err := p.whyClosed(); err != nil {
			return nil, err
		}
		return nil, ErrFull
	}
	select {
	case <-p.decided:
	case <-p.accepting.Done():
		return nil, p.whyClosed()
	case <-ctx.Done():
		return nil, notTaken(ctx)
	}
	enc, _ := p.encoders.Get().(*encoder)
	return enc, nil
}

// negotiate asks the server how it takes events, and makes the answer durable: one import never mixes
// two protocols.
func (p *pipeline) negotiate() {
	request := &delivery.Request{ID: uuid.New(), Begun: time.Now()}
	var how ingest.Protocol
	err := p.sender.Ask(func(try int) (a delivery.Answer) {
		request.Try = try
		a, how = p.ask(request)
		return a
	})
	if err == nil && p.saver != nil {
		keep := func() error { return p.saver.Decide(context.WithoutCancel(p.sending), how.Name()) }
		if failed := p.core.guard(keep); failed != nil {
			err = &StopError{Reason: StopCheckpoint, Err: failed}
		}
	}
	if err != nil {
		p.stop(err)
		return
	}
	p.decide(how)
}

// ask asks by a request without events: see [ingest.Offer].
func (p *pipeline) ask(request *delivery.Request) (delivery.Answer, ingest.Protocol) {
	v1 := p.core.protocol(ProtocolV1)
	prefix, suffix := v1.Around(request.Begun)
	body := string(prefix) + string(suffix)
	header := http.Header{}
	v1.Header(header, request)
	start := time.Now()
	r := p.core.capturePost(p.posting, protocolOperation, textBody(body), header, v1.MostBytes(0))
	a := p.judge(r, v1, request, time.Since(start))
	if r.Err != nil || a.Verdict == delivery.Wait || r.Status == http.StatusUnauthorized {
		return a, nil
	}
	how, isClear := ingest.Offer(r, p.core.sender())
	if !isClear {
		p.ledger.Count(string(WarnProtocol), 1)
		const text = "hogapi: the server's answer does not say which protocol it takes: events go to /batch/"
		p.core.logger.WarnContext(p.sending, text, "status", r.Status)
	}
	return delivery.Answer{Verdict: delivery.Settled, Status: r.Status, Duration: a.Duration}, how
}

// judge is an answer in the terms of delivery.
func (p *pipeline) judge(r httptry.Answer, how ingest.Protocol, of *delivery.Request, took time.Duration) delivery.Answer {
	answered := p.answered.Load()
	if r.Status != 0 {
		p.answered.Store(true)
	}
	a, reason := ingest.Judge(r, how, of, answered)
	if reason != "" {
		a.Stop = &StopError{Reason: StopReason(reason), Status: r.Status, Err: a.Err}
	}
	a.Unreached = a.Unsent && !answered
	a.Duration = took
	if r.Err == nil {
		a.RetryAfter = httptry.ParseRetryAfter(r.Header, p.core.now())
	}
	return a
}

// Encoder compresses the bodies of requests.
type Encoder interface {
	Encoding() string      // the Content-Encoding, such as "gzip"
	NewWriter() BodyWriter // is used for one body after another, by one goroutine
}

// BodyWriter compresses one body after another: each begins with Reset and ends with Close.
type BodyWriter interface {
	io.WriteCloser
	Reset(to io.Writer)
}

// Gzip compresses with gzip, which every server takes.
func Gzip() Encoder { return gzipEncoder{} }

type gzipEncoder struct{}

const gzipLevel = 2 // of klauspost/compress: as fast as 1, and smaller

// Encoding implements Encoder.
func (gzipEncoder) Encoding() string { return "gzip" }

// NewWriter implements Encoder.
func (gzipEncoder) NewWriter() BodyWriter {
	w, _ := gzip.NewWriterLevel(nil, gzipLevel) // the level is valid
	return w
}

// Zstd compresses with Zstandard, which capture v1 takes: smaller bodies for about the same time.
func Zstd() Encoder { return zstdEncoder{} }

type zstdEncoder struct{}

// Encoding implements Encoder.
func (zstdEncoder) Encoding() string { return "zstd" }

// NewWriter implements Encoder.
func (zstdEncoder) NewWriter() BodyWriter {
	w, _ := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
		zstd.WithWindowSize(1<<20), zstd.WithLowerEncoderMem(true)) // the options are valid
	return w
}
