package hogapi

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/mask"
)

// Reject is an event that was refused by the gate or the service, or a record that made no event. It is
// not in the service, and the import does not send it again.
type Reject struct {
	Event    json.RawMessage // as it was, or would have been, sent; nil where there is none
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
	d := describe(ev)
	r.Event, r.Raw, r.leftOut, r.time = d.line, d.raw, d.leftOut, ev.Timestamp
	if ev.isMapped && ev.record != nil {
		r.Raw = slices.Clone(ev.record)
	}
	return r
}

// description is a refused event in the form of a line, so that it can be corrected and imported again. It holds no value that
// differs from the event's: what JSON cannot hold is named instead.
type description struct {
	line    []byte
	raw     []byte // properties that are no JSON
	leftOut []string
	json    jsonb.Encoder
}

func describe(ev *Event) *description {
	d := &description{line: []byte{'{'}}
	if ev.UUID != uuid.Nil {
		d.member("", "uuid", ev.UUID.String())
	}
	d.member("", "event", ev.Name)
	if !ev.Timestamp.IsZero() {
		d.member("", "timestamp", ev.Timestamp.UTC().Format(time.RFC3339Nano))
	}
	d.member("", "distinct_id", ev.DistinctID)
	d.object("properties", ev.Properties)
	switch {
	case ev.RawProperties == nil:
	case ev.Properties != nil: // an object has one member of a name
		d.leftOut = append(d.leftOut, "properties")
		d.raw = slices.Clone(ev.RawProperties)
	case !d.member("", "properties", ev.RawProperties):
		d.raw = slices.Clone(ev.RawProperties)
	}
	d.object("$set", ev.Set)
	d.object("$set_once", ev.SetOnce)
	d.line = append(d.line, '}')
	return d
}

// member adds a member, or names it as left out.
func (d *description) member(within, key string, value any) bool {
	line, err := appendMember(&d.json, d.line, key, value)
	if err != nil {
		d.leftOut = append(d.leftOut, within+mask.Clean(key))
		return false
	}
	d.line = line
	return true
}

// object adds an object, where need be without the members that JSON cannot hold.
func (d *description) object(key string, members map[string]any) {
	if members == nil {
		return
	}
	if line, err := appendMember(&d.json, d.line, key, members); err == nil {
		d.line = line
		return
	}
	d.line, _ = appendMember(&d.json, d.line, key, json.RawMessage("{}"))
	d.line = d.line[:len(d.line)-1]
	for _, name := range slices.Sorted(maps.Keys(members)) {
		d.member(key+".", name, members[name])
	}
	d.line = append(d.line, '}')
}

// appendMember adds a member to an object that is still open. On an error the object stays as it was.
func appendMember(enc *jsonb.Encoder, object []byte, key string, value any) ([]byte, error) {
	out := object
	if !bytes.HasSuffix(out, []byte{'{'}) {
		out = append(out, ',')
	}
	out, err := jsonb.AppendString(out, key)
	if err == nil {
		out, err = enc.AppendValue(append(out, ':'), value)
	}
	if err != nil {
		return object, err
	}
	return out, nil
}
