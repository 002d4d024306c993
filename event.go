package hogapi

import (
	"crypto/sha1" //nolint:gosec // version 5 of RFC 9562 is defined over SHA-1
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// Event is one past event.
type Event struct {
	Name       string    // such as "$pageview"
	DistinctID string    // the person; where empty, the property distinct_id is used
	Timestamp  time.Time // when it happened; sent in UTC with its full fraction

	Properties    map[string]any  // any values that encoding/json takes
	RawProperties json.RawMessage // in place of Properties: a JSON object, sent as it is; read before Enqueue returns
	Set           map[string]any  // person properties to set
	SetOnce       map[string]any  // person properties to set where they are not yet

	UUID     uuid.UUID // the event's identity: kept or refused, never replaced; nil: derived from import id and position
	Position Position  // where the event stands in its source

	bad   *badRecord
	noted *special // what the special ones of RawProperties are, noted while they were read; see encoder.trusting
}

// badRecord is a record of a source that made no event.
type badRecord struct {
	raw []byte
	err error
}

// BadEvent stands for a record that made no event, such as a line that is no JSON. The import hands it to the reject
// handler with raw and err, and goes on. Where the record has a uuid of its own, set the event's UUID: the reject keeps it, so that the
// record is one event, wherever it is mended.
func BadEvent(p Position, raw []byte, err error) Event {
	return Event{Position: p, bad: &badRecord{raw: raw, err: err}}
}

// Position is a place in a source: for a file its base name and a byte offset, for a table the key of a row, as UTF-8. Its zero
// value is the start. Events that follow each other with one position are told apart by their number. One that Enqueue refuses
// has none: where events share a position and a later run may refuse others of them, or where several goroutines enqueue them,
// give them uuids of their own. Events without a position, as [Identify] makes them, move no place on.
type Position struct {
	Key    string `json:"key,omitempty"`
	Offset int64  `json:"offset,omitempty"`
}

// IsZero reports whether p is the start of a source, or not given.
func (p Position) IsZero() bool { return p == Position{} }

// String is "key:offset", "key" or "offset".
func (p Position) String() string {
	switch {
	case p.Key == "":
		return strconv.FormatInt(p.Offset, 10)
	case p.Offset == 0:
		return p.Key
	}
	return fmt.Sprintf("%s:%d", p.Key, p.Offset)
}

// The events that change persons and groups.
const (
	eventIdentify        = "$identify"
	eventAlias           = "$create_alias"
	eventMerge           = "$merge_dangerously"
	eventGroupIdentify   = "$groupidentify"
	eventGroupIdentified = "$group_identify" // as the specification spells it; the service acts on the other
)

// Identify makes the event that sets person properties. To also merge an anonymous person into this one, add the
// property "$anon_distinct_id".
func Identify(distinctID string, at time.Time, set map[string]any) Event {
	return Event{Name: eventIdentify, DistinctID: distinctID, Timestamp: at, Set: set}
}

// GroupIdentify makes the event that sets properties of a group, such as the company "acme".
func GroupIdentify(groupType, groupKey string, at time.Time, set map[string]any) Event {
	if set == nil {
		set = map[string]any{}
	}
	return Event{
		Name: eventGroupIdentify, DistinctID: "$" + groupType + "_" + groupKey, Timestamp: at,
		Properties: map[string]any{"$group_type": groupType, "$group_key": groupKey, "$group_set": set},
	}
}

// Alias makes the event that merges the person alias into the person distinctID. A merge cannot be undone.
func Alias(distinctID, alias string, at time.Time) Event {
	return Event{Name: eventAlias, DistinctID: distinctID, Timestamp: at, Properties: map[string]any{"alias": alias}}
}

// identity derives the uuids of events that bring none. Not safe for concurrent use.
type identity struct {
	space [sha1.Size]byte // of the import
	named bool            // the import has an id
	last  Position
	n     uint64 // number of the next event at the position last
	buf   []byte

	contents map[[16]byte]uint64 // how often each content came; nil unless content ids were chosen
	most     int
}

// hogapiSpace is the namespace of all import ids.
var hogapiSpace = uuid.MustParse("5a2f9d0c-3f6b-5d1e-9c53-6f0a4be0c1d7")

func newIdentity(importID string, contentIDs int) *identity {
	d := &identity{space: sha1.Sum(append(hogapiSpace[:], importID...)), named: importID != "", most: contentIDs} //nolint:gosec // see import
	if contentIDs > 0 {
		d.contents = make(map[[16]byte]uint64)
	}
	return d
}

// check refuses an event that a second sending would double. It is safe for concurrent use.
func (d *identity) check(ev *Event) *EventError {
	switch {
	case ev.UUID != uuid.Nil || d.contents != nil && ev.Position.IsZero():
		return nil
	case ev.Position.IsZero():
		return &EventError{Reason: ReasonNoIdentity, Field: "uuid", Want: "a uuid, a position in the source, or GateOptions.ContentIDs"}
	case !d.named:
		return &EventError{Reason: ReasonNoIdentity, Position: ev.Position, Field: "uuid", Want: "a uuid, or an ID for the import"}
	}
	return nil
}

// assign gives an event that has passed check the uuid that it lacks, and says how many events at its position came before it.
func (d *identity) assign(out *encoded) (number uint64, refusal *EventError) {
	number = d.number(out.pos)
	if out.id == uuid.Nil {
		if out.id, refusal = d.derive(out, number); refusal != nil {
			return 0, refusal
		}
		putUUID(out.wire, out.id)
	}
	d.pass(out.pos)
	return number, nil
}

func (d *identity) derive(out *encoded, number uint64) (uuid.UUID, *EventError) {
	if !out.pos.IsZero() {
		return d.at(out.pos, number), nil
	}
	id, known := d.ofContent(out.wire[:out.stamps.from], out.wire[out.stamps.to:])
	if !known {
		return id, &EventError{Reason: ReasonIdentityFull, Field: "uuid", Want: fmt.Sprintf("at most %d different contents (GateOptions.ContentIDs)", d.most)}
	}
	return id, nil
}

// number counts the events at p that came before the next one. It must see every event that has a position, also those with a uuid of
// their own.
func (d *identity) number(p Position) uint64 {
	if p.IsZero() {
		return 0
	}
	if p != d.last {
		d.last, d.n = p, 0
	}
	return d.n
}

// pass counts an event at p, after number.
func (d *identity) pass(p Position) {
	if !p.IsZero() {
		d.n++
	}
}

// at is the uuid of the n-th event at p.
func (d *identity) at(p Position, n uint64) uuid.UUID {
	b := append(d.buf[:0], d.space[:]...)
	b = append(b, 'p')
	b = binary.BigEndian.AppendUint64(b, uint64(len(p.Key)))
	b = append(b, p.Key...)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Offset))
	b = binary.BigEndian.AppendUint64(b, n)
	d.buf = b
	return version5(b)
}

// ofContent is the uuid of an event without a position: its content, which comes in parts, and how often that came before.
func (d *identity) ofContent(content ...[]byte) (id uuid.UUID, known bool) {
	var key [16]byte
	b := d.buf[:0]
	for _, part := range content {
		b = append(b, part...)
	}
	sum := sha1.Sum(b) //nolint:gosec // see import
	copy(key[:], sum[:])
	n, seen := d.contents[key]
	if !seen && len(d.contents) >= d.most {
		return uuid.Nil, false
	}
	d.contents[key] = n + 1
	b = append(b[:0], d.space[:]...)
	b = append(b, 'c')
	b = append(b, sum[:]...)
	b = binary.BigEndian.AppendUint64(b, n)
	d.buf = b
	return version5(b), true
}

func version5(b []byte) (id uuid.UUID) {
	sum := sha1.Sum(b) //nolint:gosec // see import
	copy(id[:], sum[:])
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	return id
}
