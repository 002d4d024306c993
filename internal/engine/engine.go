// Package engine sends the events of an import or a Capture. Each stage is a file with a type that owns its fields: events
// are read (import.go), encoded, identified and admitted to the ledger (admit.go), sent (send.go) as the server takes them
// (negotiate.go), their answers judged and booked (settle.go) and committed (commit.go). stop.go says why it ends.
//
// It knows neither HTTP nor the calls of a user: its [Client] makes requests, and its [Handler] takes rejects.
package engine

import (
	"context"
	"hash/maphash"
	"log/slog"
	"sync"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/wire"
)

// Config configures an Engine.
type Config struct {
	ID          string // of the import; may be empty where every event has a uuid
	Source      string // its name, for the receipt
	Client      Client
	Handler     Handler // nil: Capture does not take a bad record, and a reject stops an Import
	Gate        wire.Rules
	Stamps      wire.Stamps
	Seed        maphash.Seed   // of the hash that chooses lanes
	Protocol    event.Protocol // ProtocolAuto: the server is asked
	Encoding    string         // of bodies that capture v1 takes: see [delivery.Gzip]
	NoPreflight bool
	Limits      delivery.Limits
	Room        delivery.Held // that may be taken and not committed
	Grace       time.Duration // in which requests under way may end after the sending has

	Rejects RejectLimits
	Resumed *Saved // of the run before; nil: this is the first
	Files   *Files // where the state is saved; nil: nowhere
	Logger  *slog.Logger
}

// Client is the project that events go to, and whoever watches them go. It is safe for concurrent use.
type Client interface {
	Key() string // of the project
	SDK() string // name and version of the library
	Now() time.Time
	Post(ctx context.Context, r Request) httptry.Try

	Tried(path string, t delivery.Try)
	Saved(position event.Position, took time.Duration)
	Settled(ctx context.Context, position event.Position) // all up to a position is settled
}

// Handler takes rejects, one at a time.
type Handler interface {
	Reject(ctx context.Context, r event.Reject) error
}

// Engine is safe for concurrent use. An import is one call of [Engine.Import]. Any other engine ends with
// [Engine.Close].
type Engine struct {
	Config
	*life
	*negotiation

	admission admission
	ledger    *ledger.Ledger
	budget    *delivery.Budget
	poster    *poster
	sender    *delivery.Sender
	committer *committer
	meter     meter

	checking sync.Once     // preflight, before the first event is sent
	ready    chan struct{} // closed after it

	ending  sync.Once
	receipt event.Receipt // set by end
	endErr  error
}

// New starts an Engine. It sends nothing yet.
func New(c Config) (*Engine, error) {
	books, err := c.ledger()
	if err != nil {
		return nil, err
	}
	e := &Engine{
		Config: c, life: newLife(c.Grace), negotiation: newNegotiation(c), ledger: books, budget: delivery.NewBudget(c.Room),
		admission: admission{identity: wire.NewIdentity(c.ID)}, ready: make(chan struct{}),
	}
	if c.Resumed != nil && !c.Resumed.Keyed {
		e.admission.identity.AllowKeyless()
	}
	if how := named(c.Protocol, c.Client); how != nil {
		e.decide(how)
	}
	e.committer = newCommitter(c, e.life, books, e.budget)
	e.poster = &poster{life: e.life, negotiation: e.negotiation, client: c.Client, ledger: books, meter: &e.meter}
	e.sender = delivery.New(e.sending.Context, delivery.Config{
		Limits: c.Limits, Extra: maxAround, Budget: e.budget, Ready: e.ready, Requests: e.poster,
		Results: &settler{Ledger: books, life: e.life, negotiation: e.negotiation, client: c.Client, budget: e.budget, committer: e.committer, meter: &e.meter},
	})
	go e.committer.run()
	return e, nil
}

// ledger returns the ledger of the previous run, or a new one.
func (c *Config) ledger() (*ledger.Ledger, error) {
	names := wire.WarningNames()
	if c.Resumed == nil {
		return ledger.New(names...), nil
	}
	return ledger.Resume(c.Resumed.State, names...)
}
