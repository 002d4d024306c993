package hogapi

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hogapi/hogapi/internal/commit"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/ingest"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/wire"
)

// pipeline takes events at one end and settles them at the other: events are encoded, admitted to
// the ledger, sent, and committed. A Capture is one, and an import uses one.
type pipeline struct {
	core      *core
	set       deliverySettings
	rejects   RejectHandler   // may be nil
	protocol  ingest.Protocol // nil until decided
	decided   chan struct{}   // closed when the protocol is known
	stamps    wire.Stamps
	seed      maphash.Seed
	encoders  sync.Pool
	judges    sync.Pool  // encoders with the rules of every protocol
	admission sync.Mutex // makes the order of the ledger and that of the lanes the same
	identity  *wire.Identity
	numbers   wire.Numbering
	ledger    *ledger.Ledger[Position, *Reject]
	budget    *delivery.Budget
	sender    *delivery.Sender
	committer *commit.Committer[Position, *Reject]
	saver     stateSaver // nil: nothing is saved
	id        string
	source    string
	meter     meter

	// Each ends before the next one, or with it. The cause says why.
	accepting context.Context //nolint:containedctx // producers may add events
	closeDoor context.CancelCauseFunc
	sending   context.Context //nolint:containedctx // lanes may begin requests
	stop      context.CancelCauseFunc
	posting   context.Context //nolint:containedctx // requests may be under way
	abort     context.CancelFunc

	answered    atomic.Bool   // the host has answered once
	refusedOnly atomic.Int64  // events in a row, each sent alone, that were answered 400
	asking      sync.Once     // negotiate, before the first event is encoded
	checking    sync.Once     // preflight, before the first event is sent
	ready       chan struct{} // closed after it
	ending      sync.Once
	ended       chan struct{} // closed when result and resultErr are set
	result      Receipt
	resultErr   error
}

// stateSaver makes the settled place durable before there is room for more. An import has one.
type stateSaver interface {
	Save(ctx context.Context, s ledger.State[Position]) error
	Decide(ctx context.Context, protocol string) error // before the first event is sent
	Finish(ctx context.Context, s ledger.State[Position]) error
}

// importState is what an import adds to a Capture.
type importState struct {
	source  string
	resumed *savedState // of the run before; nil: this is the first
	saver   stateSaver  // nil: nothing is saved
	limits  commit.Limits
}

func (c *Client) newPipeline(o CaptureOptions, in importState) (*pipeline, error) {
	set, err := o.settings(c.core, c.project)
	if err != nil {
		return nil, err
	}
	books, err := in.ledger()
	if err != nil {
		return nil, err
	}
	p := &pipeline{
		core: c.core, set: set, rejects: o.Rejects, ledger: books, saver: in.saver, id: o.ID, source: in.source,
		identity: wire.NewIdentity(o.ID, o.Gate.ContentIDs),
		budget:   delivery.NewBudget(delivery.Held{Events: set.MaxInFlight, Bytes: set.MaxBytes}),
		stamps:   newStamps(o.ID), seed: maphash.MakeSeed(),
		decided: make(chan struct{}), ready: make(chan struct{}), ended: make(chan struct{}),
	}
	p.posting, p.abort = context.WithCancel(context.Background())
	p.sending, p.stop = context.WithCancelCause(p.posting)
	context.AfterFunc(p.sending, func() { time.AfterFunc(patience, p.abort) }) // requests under way may end, for a moment
	p.accepting, p.closeDoor = context.WithCancelCause(p.sending)
	p.judges.New = p.encodersBy(wire.ProtocolUnknown)
	if how := c.core.protocol(set.Protocol); how != nil {
		p.decide(how)
	}
	p.sender = delivery.New(p.sending, delivery.Config{
		Limits: set.limits(), Around: p.around, Extra: mostAround, Encode: p.newEncoder, Budget: p.budget, Ready: p.ready, Stop: p.stop,
		Post: p.post, GaveUp: p.gaveUp, Sent: p.ledger.Sent, Settled: p.settled, Remark: p.remark, Refused: p.refused, Unsure: p.unsure,
		Tried: p.tried,
		Wide:  func() { p.ledger.Count(string(WarnWideBatch), 1) },
	})
	p.committer = commit.Start(p.commits(o.OnSettled, in.limits))
	return p, nil
}

// ledger is that of the run before, or a new one.
func (in importState) ledger() (*ledger.Ledger[Position, *Reject], error) {
	names := wire.WarningNames()
	if in.resumed == nil {
		return ledger.New[Position, *Reject](names...), nil
	}
	return ledger.Resume[Position, *Reject](in.resumed.State, names...)
}

// mostAround is the most bytes around the events of a body.
const mostAround = 200

func (p *pipeline) around(begun time.Time) (prefix, suffix []byte) { return p.protocol.Around(begun) }

func (p *pipeline) newEncoder() delivery.Encoder { return p.bodyEncoder().NewWriter() }

// commits is what is done with events that are settled.
func (p *pipeline) commits(onSettled func(Position), limits commit.Limits) commit.Config[Position, *Reject] {
	c := commit.Config[Position, *Reject]{
		Ledger: p.ledger, Room: p.set.MaxInFlight, Accepting: p.accepting, Sending: p.sending, Stop: p.stop,
		Release: p.budget.Release, HandOver: p.handOver, Why: func(r *Reject) error { return r.Err },
		Saved: func(place Position, took time.Duration) {
			p.core.hook(p.sending, p.core.hooks.OnCheckpoint != nil, func() {
				p.core.hooks.OnCheckpoint(CheckpointInfo{Position: place, Duration: took})
			})
		},
		Settled: func(place Position) { p.core.hook(p.sending, onSettled != nil, func() { onSettled(place) }) },
		Limits:  limits, TooMany: tooManyRejects, End: p.endOfSource,
	}
	if p.saver != nil {
		c.Save = func(s ledger.State[Position]) error { return p.keep(p.saver.Save, s) }
	}
	return c
}

// handOver gives a reject to the caller's handler.
func (p *pipeline) handOver(r *Reject) error {
	if p.rejects == nil {
		return &StopError{Reason: StopRejected, Status: r.Status, Err: r.Err}
	}
	if err := p.core.guard(func() error { return p.rejects.Reject(p.sending, *r) }); err != nil {
		return &StopError{Reason: StopHandler, Err: err}
	}
	return nil
}

// keep has a state saved.
func (p *pipeline) keep(save func(context.Context, ledger.State[Position]) error, s ledger.State[Position]) error {
	if err := p.core.guard(func() error { return save(context.WithoutCancel(p.sending), s) }); err != nil {
		return &StopError{Reason: StopCheckpoint, Err: err}
	}
	return nil
}

// endOfSource ends an import whose source is committed to its end.
func (p *pipeline) endOfSource(c ledger.Counts, tooMany error) error {
	if c.Skipped > 0 && c.Acknowledged+c.Refused() == 0 {
		p.ledger.Count(string(WarnAllSkipped), 1)
		p.core.logger.WarnContext(p.sending, "hogapi: every record of the source was skipped", "records", c.Skipped)
	}
	if tooMany != nil || p.saver == nil {
		return tooMany
	}
	return p.keep(p.saver.Finish, p.ledger.State())
}

// receipt is a state of the ledger in the form of a receipt.
func (p *pipeline) receipt(s ledger.State[Position]) Receipt {
	r := newReceipt(p.id, p.source, s)
	if p.isDecided() {
		r.Protocol = Protocol(p.protocol.Name())
	}
	return r
}

// flush returns when all that was admitted is committed and reported.
func (p *pipeline) flush(ctx context.Context) error {
	target := p.ledger.Next()
	p.sender.Flush(target)
	return p.committer.Await(ctx, target)
}

// close ends the pipeline. The first call does, and all return what it returns.
func (p *pipeline) close(ctx context.Context) (Receipt, error) {
	cancel := func() {
		p.stop(canceledBy(ctx))
		p.abort()
	}
	defer context.AfterFunc(ctx, cancel)()
	if ctx.Err() != nil {
		cancel() // before lanes that linger are woken: they must not send
	}
	p.ending.Do(func() {
		p.admission.Lock()
		p.closeDoor(ErrClosed)
		p.admission.Unlock()
		go p.finish()
	})
	<-p.ended
	return p.result, p.resultErr
}

// finish waits for the lanes and the committer, and makes the result.
func (p *pipeline) finish() {
	defer close(p.ended)
	p.sender.Close()
	p.committer.Close()
	stopped := context.Cause(p.sending)
	p.stop(ErrClosed)
	p.abort() // releases the contexts
	state, open := p.ledger.Conclude()
	p.result = p.receipt(state)
	p.result.Pending = int64(len(open))
	p.result.Read += p.result.Pending
	p.result.Refused = p.meter.read().Refused
	defer func() { p.result.Finished = p.resultErr == nil }()
	var stop *StopError
	switch {
	case len(open) > 0:
		p.resultErr = newUnsettledError(open, p.withFailure(stopped))
	case errors.As(stopped, &stop) && stop.Reason == StopCanceled: // all was settled before
	default:
		p.resultErr = stopped
	}
}

// withFailure adds to the reason of a cancelation why nothing got through at that time.
func (p *pipeline) withFailure(stopped error) error {
	var stop *StopError
	failure := p.sender.State().Failure
	if !errors.As(stopped, &stop) || stop.Reason != StopCanceled || failure.Since.IsZero() {
		return stopped
	}
	return &StopError{Reason: StopCanceled, Err: stop.Err, Failure: failure.Err, FailingSince: failure.Since}
}

// snapshot is the Stats of now.
func (p *pipeline) snapshot() Stats {
	s, live, state := p.meter.read(), p.ledger.Live(), p.sender.State()
	s.Read, s.Acknowledged, s.Rejected, s.Unconfirmed = live.Read, live.Acknowledged, live.Rejected, live.Unconfirmed
	s.Skipped, s.Resent = live.Skipped, live.Resent
	s.Pending = s.Read - s.Acknowledged - s.Rejected - s.Unconfirmed - s.Skipped
	s.InFlight, s.Bytes = live.InFlight, p.budget.Held().Bytes
	s.Permits, s.Throttled, s.FailingSince, s.LastError = state.Permits, state.Throttled, state.Failure.Since, state.Failure.Err
	s.Position = p.committer.Reported()
	return s
}
