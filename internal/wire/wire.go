// Package wire encodes an event for sending, or refuses it if the service would drop, change or ignore it.
// It derives uuids, adds the library's properties, and reads and writes events as lines of JSON.
//
// It knows nothing of sources, delivery or HTTP. An [Encoder] checks by the rules of a [Gate], an
// [Identity] gives a uuid to an event without one, and a [LineParser] reads one record of a file.
package wire

import (
	"encoding/json"
	"hash/maphash"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// Fields are the parts of an event.
type Fields struct {
	Name          string
	DistinctID    string
	Timestamp     time.Time
	Properties    map[string]any
	RawProperties json.RawMessage // instead of Properties
	Set           map[string]any
	SetOnce       map[string]any
	UUID          uuid.UUID // nil: to be derived

	// Noted are the reserved properties in RawProperties, noted while they were read. If nil, the
	// encoder reads them.
	Noted *Reserved

	// View has the places of the members of RawProperties, which nobody can have changed since. If nil, the encoder reads
	// them.
	View *jsonb.View
}

// FieldsOf returns the parts of an event that are sent.
func FieldsOf(ev *event.Event) Fields {
	return Fields{
		Name: ev.Name, DistinctID: ev.DistinctID, Timestamp: ev.Timestamp, UUID: ev.UUID,
		Properties: ev.Properties, RawProperties: ev.RawProperties, Set: ev.Set, SetOnce: ev.SetOnce,
	}
}

// Encoded is an event as sent, except for a uuid that is derived after the event is accepted. It is
// valid until the next use of its encoder.
type Encoded struct {
	Wire     []byte
	UUID     uuid.UUID // nil: to be derived
	Time     time.Time // in UTC: receipts are JSON, which cannot write every zone
	Person   uint64    // hash of the distinct id
	Warnings Warnings

	stamps stretch // of Wire: the library's properties
}

// Content hashes the event without the library's properties.
func (e *Encoded) Content(seed maphash.Seed) uint64 {
	return maphash.Bytes(seed, e.Wire[:e.stamps.from]) ^ 3*maphash.Bytes(seed, e.Wire[e.stamps.to:])
}

// stretch is a range in an event's bytes.
type stretch struct{ from, to int }

func refuse(reason event.Reason, field, value, want string) *event.Error {
	return &event.Error{Reason: reason, Field: field, Value: shown(value), Want: want}
}

// joinRefusals returns the first refusal with the others in Also.
func joinRefusals(all ...*event.Error) (first *event.Error) {
	for _, refusal := range all {
		switch {
		case refusal == nil:
		case first == nil:
			first = refusal
		default:
			first.Also = append(first.Also, refusal)
		}
	}
	return first
}
