package engine

import (
	"hash/maphash"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/wire"
)

// DryRun encodes events and gives them their uuids as an import does, and sends nothing. It is not safe
// for concurrent use.
type DryRun struct {
	encoder  *wire.Encoder
	identity *wire.Identity
	numbers  wire.Numbering
}

// NewDryRun makes the DryRun of an import with this ID. For the other values see [Config].
func NewDryRun(importID string, gate wire.Rules, s wire.Stamps, seed maphash.Seed) *DryRun {
	return &DryRun{
		encoder:  wire.NewEncoder(wire.NewGate(gate, wire.SystemClock{}), s, seed),
		identity: wire.NewIdentity(importID),
	}
}

// AllowKeyless makes it the DryRun of an import that an older release has begun: see [wire.Identity].
func (r *DryRun) AllowKeyless() { r.identity.AllowKeyless() }

// Next returns the event as it is sent, valid until the next call, or the reason why the gate refuses it.
// It returns neither for a skipped event. The caller must pass every event of a source, in order.
func (r *DryRun) Next(ev *Event) (out *wire.Encoded, refusal *event.Error) {
	origin := ev.from()
	n := r.numbers.Next(ev.Position, origin, ev.Number)
	if ev.Skip != "" {
		return nil, nil
	}
	out, refusal = ev.encode(r.encoder)
	if refusal == nil {
		refusal = r.identity.Check(ev.UUID, origin)
	}
	if refusal != nil {
		refusal = new(*refusal)
		refusal.Position, refusal.Where = ev.Position, ev.Location()
		return nil, refusal
	}
	r.identity.Assign(out, origin, n)
	return out, nil
}
