// Package pipeline takes events and settles them: it encodes and checks events, gives them their identity,
// admits them to the ledger, sends them, judges the answers and commits. It decides how events are sent,
// and ends once everything is settled or nothing more can be.
//
// It knows neither HTTP nor where rejects and checkpoints go. The functions of its [Config] make the errors
// that a caller sees, such as the cause of a stop.
package pipeline

import (
	"context"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/commit"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/ingest"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/resume"
	"github.com/hogapi/hogapi/internal/statefile"
	"github.com/hogapi/hogapi/internal/wire"
)

// Config configures a Pipeline. Its functions must be safe for concurrent use.
type Config struct {
	ID          string // of the import; may be empty where every event has a uuid
	Gate        wire.Rules
	Stamps      wire.Stamps
	Seed        maphash.Seed // of the hash that chooses lanes
	Sender      ingest.Sender
	Protocol    string // empty: the server is asked
	NoPreflight bool
	Limits      delivery.Limits
	Room        delivery.Held // that may be taken and not committed
	Grace       time.Duration // in which requests under way may end after the sending has

	Rejects commit.Limits
	Resumed *resume.Saved[event.Position] // of the run before; nil: this is the first
	Files   *resume.Files[event.Position] // where the state is saved; nil: nowhere

	Encodings map[string]string // of bodies, by the name of the protocol: see [delivery.NewEncoder]

	Post   func(ctx context.Context, r Request) httptry.Try
	Reject func(ctx context.Context, r *statefile.Reject) error // handles rejects; nil: Capture does not take the record, and Import stops
	Hooks  Hooks
	Logger *slog.Logger
}

// Hooks are called as events are sent, saved and settled.
type Hooks struct {
	Tried   func(path string, t delivery.Try)
	Saved   func(position event.Position, took time.Duration)
	Settled func(ctx context.Context, position event.Position) // all up to a position is settled
}

// Pipeline is safe for concurrent use. An import is one call of [Pipeline.Import]. Any other pipeline ends
// with [Pipeline.Close].
type Pipeline struct {
	Config

	*lifetime
	*agreement

	admission admission
	ledger    *ledger.Ledger[event.Position, *statefile.Reject]
	budget    *delivery.Budget
	sender    *delivery.Sender
	committer *commit.Committer[event.Position, *statefile.Reject]
	meter     meter
	outside   atomic.Pointer[string] // the function of a user that the committer waits for

	answered     atomic.Bool            // the host has answered once
	isGood       atomic.Bool            // it has accepted events once
	rejectedOnly atomic.Int64           // events in a row, each sent alone, that were answered 400
	checking     sync.Once              // preflight, before the first event is sent
	ready        chan struct{}          // closed after it
	finish       func() (Result, error) // the end, once
}

// New starts a Pipeline. It sends nothing yet.
func New(c Config) (*Pipeline, error) {
	books, err := c.ledger()
	if err != nil {
		return nil, err
	}
	p := &Pipeline{
		Config: c, lifetime: newLifetime(c.Grace), agreement: newAgreement(c), ledger: books, budget: delivery.NewBudget(c.Room),
		admission: admission{identity: wire.NewIdentity(c.ID)}, ready: make(chan struct{}),
	}
	if c.Resumed != nil && !c.Resumed.Keyed {
		p.admission.identity.AllowKeyless()
	}
	p.finish = sync.OnceValues(p.end)
	if how := ingest.Named(c.Protocol, c.Sender); how != nil {
		p.decide(how)
	}
	p.sender = delivery.New(p.sending, delivery.Config{
		Limits: c.Limits, Around: p.around, Extra: maxAround, Encode: p.newEncoder, Budget: p.budget, Ready: p.ready, Stop: p.stop,
		Post: p.post, GaveUp: p.gaveUp, Sent: p.ledger.Sent, Settled: p.settled, Remark: p.remark, Rejected: p.rejected, Unconfirmed: p.unconfirmed,
		Tried: p.tried,
		Wide:  func() { p.ledger.Count(string(event.WarningWideBatch), 1) },
	})
	p.committer = commit.Start(p.commits())
	return p, nil
}

// ledger returns the ledger of the previous run, or a new one.
func (c *Config) ledger() (*ledger.Ledger[event.Position, *statefile.Reject], error) {
	names := wire.WarningNames()
	if c.Resumed == nil {
		return ledger.New[event.Position, *statefile.Reject](names...), nil
	}
	return ledger.Resume[event.Position, *statefile.Reject](c.Resumed.State, names...)
}

// commits returns the configuration of the committer.
func (p *Pipeline) commits() commit.Config[event.Position, *statefile.Reject] {
	c := commit.Config[event.Position, *statefile.Reject]{
		Ledger: p.ledger, Room: p.Room.Events, Accepting: p.accepting, Sending: p.sending, Stop: p.stop,
		Release: p.budget.Release, HandOver: p.handOver, Why: func(r *statefile.Reject) error { return r.Err() },
		Saved: func(position event.Position, took time.Duration) {
			defer p.call("Hooks.OnCheckpoint")()
			p.Hooks.Saved(position, took)
		},
		Settled: func(position event.Position) {
			defer p.call("CaptureOptions.OnSettled")()
			p.Hooks.Settled(p.calling, position)
		},
		Limits: p.Rejects, End: p.endOfSource,
		TooMany: func(err error) error { return &event.StopError{Reason: event.StopTooManyRejects, Err: err} },
	}
	if p.Files != nil {
		c.Save = func(s ledger.State[event.Position]) error {
			if s.Ahead != nil && !p.Files.HasSaved() {
				return nil // the run has not begun
			}
			defer p.call("Checkpointer.Save")()
			return p.stopUnlessSaved(p.Files.Save(p.calling, s))
		}
	}
	return c
}

// call notes that a function of the user runs, until the returned function is called.
func (p *Pipeline) call(name string) (returned func()) {
	p.outside.Store(&name)
	return func() { p.outside.Store(nil) }
}

func (p *Pipeline) handOver(r *statefile.Reject) error {
	if p.Reject == nil {
		return p.stopAt(r)
	}
	defer p.call("the reject handler")()
	if err := p.Reject(p.calling, r); err != nil {
		return &event.StopError{Reason: event.StopHandler, Err: err}
	}
	return nil
}

// stopUnlessSaved returns the stop by a state that could not be saved, or nil.
func (p *Pipeline) stopUnlessSaved(err error) error {
	if err != nil {
		return &event.StopError{Reason: event.StopCheckpoint, Err: err}
	}
	return nil
}

// endOfSource ends an import after all records of its source are committed.
func (p *Pipeline) endOfSource(c ledger.Counts, tooMany error) error {
	if c.Skipped > 0 && c.Acknowledged+c.Rejects() == 0 {
		p.ledger.Count(string(event.WarningAllSkipped), 1)
		p.Logger.WarnContext(p.sending, "hogapi: every record of the source was skipped", "records", c.Skipped)
	}
	if tooMany != nil || p.Files == nil {
		return tooMany
	}
	defer p.call("Checkpointer.Save")()
	return p.stopUnlessSaved(p.Files.Finish(p.calling, p.ledger.LastState()))
}
