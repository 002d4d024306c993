package hogapi

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/wire"
)

// Reject is an event that was refused by the gate or the service, or a record that made no event. It is
// not in the service, and the import does not send it again.
type Reject struct {
	Event    json.RawMessage // as it was, or would have been, sent; nil without one
	Raw      []byte          // the source's record, where it made no event or a mapping changed it; or properties that are not JSON
	UUID     uuid.UUID
	Position Position // of the record in its source
	Where    string   // the record in its file, such as "events.jsonl:17"; empty where that is not known
	Status   int      // of the service's answer; 0 where the gate refused
	Err      *EventError

	leftOut []string  // what Event lacks, since JSON cannot hold it
	origin  Position  // that the uuid comes from, where it is not Position
	time    time.Time // of the event; zero: it has none
}

// RejectHandler takes rejects, one at a time and in the order of the source. An error stops the import;
// the event is then not settled and comes again with the next run. After a crash, rejects since the last
// checkpoint come again too, with the same uuids. A handler must not call back into the Capture, which
// waits for it.
type RejectHandler interface {
	Reject(ctx context.Context, r Reject) error
}

// RejectFunc makes a handler of a function.
type RejectFunc func(ctx context.Context, r Reject) error

// Reject calls f.
func (f RejectFunc) Reject(ctx context.Context, r Reject) error { return f(ctx, r) }

// newReject describes an event that the gate refused, as far as it can be written down.
func newReject(ev *Event, refusal *EventError) *Reject {
	r := &Reject{UUID: ev.UUID, Position: ev.Position, origin: ev.Origin, Err: refusal}
	if refusal.Where == "" {
		refusal.Where = ev.where()
	}
	r.Where = refusal.Where
	if ev.bad != nil {
		r.Raw = slices.Clone(ev.bad.raw)
		return r
	}
	fields := ev.fields()
	d := wire.Describe(&fields)
	r.Event, r.Raw, r.time = d.Line, d.Raw, ev.Timestamp
	for _, name := range d.LeftOut {
		r.leftOut = append(r.leftOut, mask.Clean(name))
	}
	if ev.isMapped && ev.record != nil {
		r.Raw = slices.Clone(ev.record)
	}
	return r
}
