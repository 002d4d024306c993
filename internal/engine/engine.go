// Package pipeline takes events and settles them: it encodes and checks events, gives them their identity,
// admits them to the ledger, sends them, judges the answers and commits. It decides how events are sent,
// and ends once everything is settled or nothing more can be.
//
// It knows neither HTTP nor where rejects and checkpoints go. The functions of its [Config] make the errors
// that a caller sees, such as the cause of a stop.
package engine

import (
	"context"
	"hash/maphash"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/wire"
)

// Config configures a Engine. Its functions must be safe for concurrent use.
type Config struct {
	ID          string // of the import; may be empty where every event has a uuid
	Gate        wire.Rules
	Stamps      wire.Stamps
	Seed        maphash.Seed // of the hash that chooses lanes
	Sender      Sender
	Protocol    string // empty: the server is asked
	NoPreflight bool
	Limits      delivery.Limits
	Room        delivery.Held // that may be taken and not committed
	Grace       time.Duration // in which requests under way may end after the sending has

	Rejects RejectLimits
	Resumed *Saved[event.Position] // of the run before; nil: this is the first
	Files   *Files[event.Position] // where the state is saved; nil: nowhere

	Encodings map[string]string // of bodies, by the name of the protocol: see [delivery.NewEncoder]

	Post   func(ctx context.Context, r Request) httptry.Try
	Reject func(ctx context.Context, r *Reject) error // handles rejects; nil: Capture does not take the record, and Import stops
	Hooks  Hooks
	Logger *slog.Logger
}

// Hooks are called as events are sent, saved and settled.
type Hooks struct {
	Tried   func(path string, t delivery.Try)
	Saved   func(position event.Position, took time.Duration)
	Settled func(ctx context.Context, position event.Position) // all up to a position is settled
}

// Engine is safe for concurrent use. An import is one call of [Engine.Import]. Any other pipeline ends
// with [Engine.Close].
type Engine struct {
	Config

	*lifetime
	*negotiation

	admission admission
	ledger    *ledger.Ledger[event.Position, *Reject]
	budget    *delivery.Budget
	sender    *delivery.Sender
	committer *committer[event.Position, *Reject]
	meter     meter
	outside   atomic.Pointer[string] // the function of a user that the committer waits for

	answered     atomic.Bool            // the host has answered once
	isGood       atomic.Bool            // it has accepted events once
	rejectedOnly atomic.Int64           // events in a row, each sent alone, that were answered 400
	checking     sync.Once              // preflight, before the first event is sent
	ready        chan struct{}          // closed after it
	finish       func() (Result, error) // the end, once
}

// New starts a Engine. It sends nothing yet.
func New(c Config) (*Engine, error) {
	books, err := c.ledger()
	if err != nil {
		return nil, err
	}
	e := &Engine{
		Config: c, lifetime: newLifetime(c.Grace), negotiation: newAgreement(c), ledger: books, budget: delivery.NewBudget(c.Room),
		admission: admission{identity: wire.NewIdentity(c.ID)}, ready: make(chan struct{}),
	}
	if c.Resumed != nil && !c.Resumed.Keyed {
		e.admission.identity.AllowKeyless()
	}
	e.finish = sync.OnceValues(e.end)
	if how := Named(c.Protocol, c.Sender); how != nil {
		e.decide(how)
	}
	e.sender = delivery.New(e.sending, delivery.Config{
		Limits: c.Limits, Around: e.around, Extra: maxAround, Encode: e.newEncoder, Budget: e.budget, Ready: e.ready, Stop: e.stop,
		Post: e.post, GaveUp: e.gaveUp, Sent: e.ledger.Sent, Settled: e.settled, Remark: e.remark, Rejected: e.rejected, Unconfirmed: e.unconfirmed,
		Tried: e.tried,
		Wide:  func() { e.ledger.Count(string(event.WarningWideBatch), 1) },
	})
	e.committer = startCommitter(e.commits())
	return e, nil
}

// ledger returns the ledger of the previous run, or a new one.
func (c *Config) ledger() (*ledger.Ledger[event.Position, *Reject], error) {
	names := wire.WarningNames()
	if c.Resumed == nil {
		return ledger.New[event.Position, *Reject](names...), nil
	}
	return ledger.Resume[event.Position, *Reject](c.Resumed.State, names...)
}

// commits returns the configuration of the committer.
func (e *Engine) commits() CommitConfig[event.Position, *Reject] {
	c := CommitConfig[event.Position, *Reject]{
		Ledger: e.ledger, Room: e.Room.Events, Accepting: e.accepting, Sending: e.sending, Stop: e.stop,
		Release: e.budget.Release, HandOver: e.handOver, Why: func(r *Reject) error { return r.Err() },
		Saved: func(position event.Position, took time.Duration) {
			defer e.call("Hooks.OnCheckpoint")()
			e.Hooks.Saved(position, took)
		},
		Settled: func(position event.Position) {
			defer e.call("CaptureOptions.OnSettled")()
			e.Hooks.Settled(e.calling, position)
		},
		Limits: e.Rejects, End: e.endOfSource,
		TooMany: func(err error) error { return &event.StopError{Reason: event.StopTooManyRejects, Err: err} },
	}
	if e.Files != nil {
		c.Save = func(s ledger.State[event.Position]) error {
			if s.Ahead != nil && !e.Files.HasSaved() {
				return nil // the run has not begun
			}
			defer e.call("Checkpointer.Save")()
			return e.stopUnlessSaved(e.Files.Save(e.calling, s))
		}
	}
	return c
}

// call notes that a function of the user runs, until the returned function is called.
func (e *Engine) call(name string) (returned func()) {
	e.outside.Store(&name)
	return func() { e.outside.Store(nil) }
}

func (e *Engine) handOver(r *Reject) error {
	if e.Reject == nil {
		return e.stopAt(r)
	}
	defer e.call("the reject handler")()
	if err := e.Reject(e.calling, r); err != nil {
		return &event.StopError{Reason: event.StopHandler, Err: err}
	}
	return nil
}

// stopUnlessSaved returns the stop by a state that could not be saved, or nil.
func (e *Engine) stopUnlessSaved(err error) error {
	if err != nil {
		return &event.StopError{Reason: event.StopCheckpoint, Err: err}
	}
	return nil
}

// endOfSource ends an import after all records of its source are committed.
func (e *Engine) endOfSource(c ledger.Counts, tooMany error) error {
	if c.Skipped > 0 && c.Acknowledged+c.Rejects() == 0 {
		e.ledger.Count(string(event.WarningAllSkipped), 1)
		e.Logger.WarnContext(e.sending, "hogapi: every record of the source was skipped", "records", c.Skipped)
	}
	if tooMany != nil || e.Files == nil {
		return tooMany
	}
	defer e.call("Checkpointer.Save")()
	return e.stopUnlessSaved(e.Files.Finish(e.calling, e.ledger.LastState()))
}
