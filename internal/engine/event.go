package engine

import (
	"errors"
	"hash/maphash"
	"slices"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/inside"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/wire"
)

// Event is an event on its way to the ledger, or a record that made no event. It is filled in, then encoded or
// rejected.
type Event struct {
	inside.Provenance
	wire.Fields // Noted only where it is a line of our own files

	Position event.Position // where to resume after its record
	Origin   event.Position // where its uuid comes from; zero: Position
	Skip     string         // why it is left out on purpose; empty: it is not
	Fault    *event.Error   // why it cannot be sent, where that is known already

	IsBad bool // the record made no event

	given *event.Event // see Show; nil: it is a line of our own files

	// Set by Engine.prepare.
	form
	other    form          // while the protocol is not known: form is of capture v1, and this is of /batch/
	rejected *event.Reject // nil: it is sent or skipped
	size     int           // bytes that it holds
}

// form is an event in the form of a protocol.
type form struct {
	encoded *wire.Encoded // nil if it is rejected or skipped; valid until the encoder is used again
	word    ledger.Word   // of an event that brings its uuid
	content uint64        // of an event of a Capture without one
}

// Show sets the event to one of a source, which Public returns.
func (ev *Event) Show(given *event.Event) {
	ev.Fill(given)
	ev.given = given
}

// Fill sets the event to one of a caller. It does not keep the pointer, so that the caller's events stay on its stack.
func (ev *Event) Fill(given *event.Event) {
	known := given.Inside(inside.Key{})
	*ev = Event{Provenance: known.Provenance, Fields: wire.FieldsOf(given), Position: given.Position, Origin: given.Origin}
	if known.Bad != nil {
		ev.IsBad, ev.Record = true, known.Bad.Raw
		if ev.Skip, _ = given.Skipped(); ev.Skip == "" {
			ev.Fault = refusalOf(known.Bad.Err)
		}
	} else if known.NeedsMapping {
		ev.Fault = &event.Error{Reason: event.ReasonBadRecord, Err: errNeedsMapping}
	}
}

// SetBad sets the event to that of a line which cannot be parsed.
func (ev *Event) SetBad(line []byte, err error) {
	*ev = Event{IsBad: true, Fault: refusalOf(err)}
	ev.Record = line
}

// Public returns the event as code of a user sees it: the one that it was given to Show, or else into.
func (ev *Event) Public(into *event.Event) *event.Event {
	if ev.given != nil {
		return ev.given
	}
	*into = event.Event{
		Name: ev.Name, DistinctID: ev.DistinctID, Timestamp: ev.Timestamp, UUID: ev.UUID, RawProperties: ev.RawProperties, Position: ev.Position, Origin: ev.Origin,
	}
	known := into.Inside(inside.Key{})
	known.Provenance = ev.Provenance
	if ev.IsBad {
		known.Bad = &inside.BadRecord{Raw: ev.Record, Err: ev.Fault}
		if ev.Fault.Reason == event.ReasonBadRecord && ev.Fault.Err != nil {
			known.Bad.Err = ev.Fault.Err
		}
		if ev.Cut != nil {
			known.Record = nil
		}
	}
	return into
}

// errNeedsMapping rejects a record of an import with a mapping that is now given without one.
var errNeedsMapping = errors.New("the import that rejected this record had a mapping: give history.Rejected to history.Map, or remove $reject from a line that is corrected by hand")

func refusalOf(err error) *event.Error {
	if own, ok := errors.AsType[*event.Error](err); ok {
		return own
	}
	return &event.Error{Reason: event.ReasonBadRecord, Err: err}
}

// from returns the position that the event's uuid is derived from.
func (ev *Event) from() event.Position {
	if ev.Origin.IsZero() {
		return ev.Position
	}
	return ev.Origin
}

// own notes the content of an event of a Capture, and may copy it from the memory of its encoder.
func (ev *Event) own(seed maphash.Seed, copies bool) {
	if ev.UUID == uuid.Nil {
		ev.content = ev.encoded.Content(seed)
	}
	if copies {
		own := *ev.encoded
		own.Wire = slices.Clone(own.Wire)
		ev.encoded = &own
	}
}

// isDerived reports whether the event is sent with a uuid that is derived from its position.
func (ev *Event) isDerived() bool {
	return ev.encoded != nil && ev.rejected == nil && ev.UUID == uuid.Nil && !ev.from().IsZero()
}

// isReadable reports whether there is an event that can be encoded.
func (ev *Event) isReadable() bool { return ev.Skip == "" && ev.Fault == nil }

// encode checks an event and encodes it, or returns the reason why it is refused.
func (ev *Event) encode(e *wire.Encoder) (*wire.Encoded, *event.Error) {
	if ev.Fault != nil {
		return nil, ev.Fault
	}
	return e.Encode(&ev.Fields)
}

// reject makes the reject of an event that the gate refuses, with as much of the event as JSON can hold.
func (ev *Event) reject(why *event.Error) {
	why = new(*why)
	why.Position, why.Where = ev.Position, ev.Location()
	r := &event.Reject{UUID: ev.UUID, Position: ev.Position, Where: why.Where, Err: why}
	note := NoteOf(r)
	note.Origin, note.Format, note.Original, note.Table = ev.Origin, ev.Format, ev.Cut, ev.Table
	if !ev.IsBad {
		d := wire.Describe(&ev.Fields)
		r.Event, r.Raw = d.Line, d.Raw
		for _, name := range d.LeftOut {
			note.LeftOut = append(note.LeftOut, mask.Clean(name))
		}
	}
	if ev.IsBad || ev.IsMapped && ev.Record != nil {
		r.Raw = slices.Clone(ev.Record)
	}
	ev.form, ev.rejected = form{}, r
	ev.size = len(r.Event) + len(r.Raw) + len(ev.Position.Key)
}
