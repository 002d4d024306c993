package hogapi

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // version 5 of RFC 9562 is defined over SHA-1
	"encoding/binary"
	"encoding/json"
	"errors"
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

	UUID     uuid.UUID // the event's identity: kept or refused, never replaced; nil: derived from import id and Origin
	Position Position  // where to resume after the event's record; events of one record share it
	Origin   Position  // where the UUID is derived from; zero: Position

	bad    *badRecord
	noted  *special // what the special ones of RawProperties are, noted while they were read; see encoder.trusting
	record []byte   // of the source; valid until the next event is asked for
	line   int64    // number of the record in file
	file   locator  // where the record is; nil: not in a file

	isMapped bool // the event is not what its record says
	isFinal  bool // not to be mapped: the event is what a mapping has made of its record before

	needsMapping bool // the import that rejected the record had a mapping
}

// locator names the place of a record, such as "events.jsonl:17", or returns "".
type locator interface{ locate(line int64) string }

// where is the place of the event's record in its file, or "".
func (ev *Event) where() string {
	if ev.file == nil {
		return ""
	}
	return ev.file.locate(ev.line)
}

func (ev *Event) origin() Position {
	if ev.Origin.IsZero() {
		return ev.Position
	}
	return ev.Origin
}

// badRecord is a record of a source that made no event.
type badRecord struct {
	raw []byte
	err error
}

// errNeedsMapping is why a record that was mapped before is not sent as it is.
var errNeedsMapping = errors.New("the import that rejected this record had a mapping: give RejectedRecords to MapSource, or remove $reject from a line that is corrected by hand")

// refusal is why the record is rejected.
func (b *badRecord) refusal() *EventError {
	if own, ok := errors.AsType[*EventError](b.err); ok {
		copied := *own
		return &copied
	}
	return &EventError{Reason: ReasonBadRecord, Err: b.err}
}

// BadEvent stands for a record that made no event, such as a line that is not JSON. The import hands
// it to the reject handler with raw and err, and continues. An *EventError as err sets the reason.
// Where the record has a uuid of its own, set the event's UUID: the reject keeps it, so that the
// record is one event wherever it is corrected.
func BadEvent(p Position, raw []byte, err error) Event {
	return Event{Position: p, bad: &badRecord{raw: raw, err: err}}
}

// SkippedEvent stands for a record that is left out on purpose, such as one of an internal user. The
// receipt counts it by the reason, and it is not a reject.
func SkippedEvent(p Position, reason string) Event { return BadEvent(p, nil, Skip(reason)) }

// SkipError is why a record is left out on purpose.
type SkipError struct{ Reason string }

// Skip is the error of a mapping that leaves a record out on purpose: see [MapSource].
func Skip(reason string) error { return &SkipError{Reason: reason} }

// Error says that the record is left out, and why.
func (e *SkipError) Error() string { return "hogapi: the record is skipped: " + e.Reason }

// skipped is why the event is left out on purpose, if it is.
func (ev *Event) skipped() (reason string, yes bool) {
	if ev.bad == nil {
		return "", false
	}
	skip, yes := errors.AsType[*SkipError](ev.bad.err)
	if !yes {
		return "", false
	}
	return clean(cmp.Or(skip.Reason, "no reason given")), true
}

// Position is a place in a source: for a file its base name and a byte offset, for a table the key of
// a row, as UTF-8. Its zero value is the start. Consecutive events with the same Position are one
// record: it is settled, and resumed, as a whole. Events without a Position do not advance the resume
// point.
type Position struct {
	Key    string `json:"key,omitempty"`
	Offset int64  `json:"offset,omitempty"`
}

// IsZero reports whether p is the start of a source, or not given.
func (p Position) IsZero() bool { return p == Position{} }

// String is "key@offset", "key" or "offset", with the key quoted if it is not printable. (A line of a
// file is written "file:line".)
func (p Position) String() string {
	switch {
	case p.Key == "":
		return strconv.FormatInt(p.Offset, 10)
	case p.Offset == 0:
		return onOneLine(p.Key)
	}
	return fmt.Sprintf("%s@%d", onOneLine(p.Key), p.Offset)
}

// The events that change persons and groups.
const (
	eventIdentify        = "$identify"
	eventAlias           = "$create_alias"
	eventMerge           = "$merge_dangerously"
	eventGroupIdentify   = "$groupidentify"
	eventGroupIdentified = "$group_identify" // as PostHog's API reference spells it; the service acts on the other
)

// Identify makes the event that sets person properties. To also merge an anonymous person into this
// one, add the property "$anon_distinct_id".
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

// identity derives the uuids of events that bring none.
type identity struct {
	space [sha1.Size]byte // of the import
	named bool            // the import has an id

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
	at := ev.origin()
	switch {
	case ev.UUID != uuid.Nil || d.contents != nil && at.IsZero():
		return nil
	case at.IsZero():
		return &EventError{Reason: ReasonNoIdentity, Field: "uuid", Want: "a uuid, a position in the source, or GateOptions.ContentIDs"}
	case !d.named:
		return &EventError{Reason: ReasonNoIdentity, Position: ev.Position, Field: "uuid", Want: "a uuid, or an ID for the import"}
	}
	return nil
}

// assign gives the n-th event at its origin, which has passed check, the uuid that it lacks. For
// events without an origin one goroutine at a time may call it.
func (d *identity) assign(out *encoded, n uint64) *EventError {
	if out.id != uuid.Nil {
		return nil
	}
	if out.origin.IsZero() {
		id, known := d.ofContent(out.wire[:out.stamps.from], out.wire[out.stamps.to:])
		if !known {
			return &EventError{Reason: ReasonIdentityFull, Field: "uuid", Want: fmt.Sprintf("at most %d different contents (GateOptions.ContentIDs)", d.most)}
		}
		out.id = id
	} else {
		out.id = d.at(out.origin, n)
	}
	putUUID(out.wire, out.id)
	return nil
}

// numbering tells apart the events of one origin, which follow each other. It must see every event.
type numbering struct {
	origin Position
	n      uint64 // of the next event there
}

// next is the number of an event at an origin.
func (x *numbering) next(origin Position) (n uint64) {
	if origin.IsZero() {
		return 0
	}
	if origin != x.origin {
		*x = numbering{origin: origin}
	}
	x.n++
	return x.n - 1
}

// at is the uuid of the n-th event at p.
func (d *identity) at(p Position, n uint64) uuid.UUID {
	var room [128]byte
	b := append(room[:0], d.space[:]...)
	b = append(b, 'p')
	b = binary.BigEndian.AppendUint64(b, uint64(len(p.Key)))
	b = append(b, p.Key...)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Offset))
	b = binary.BigEndian.AppendUint64(b, n)
	return version5(b)
}

// ofContent is the uuid of an event without a position: its content, which comes in parts, and how
// often that came before.
func (d *identity) ofContent(content ...[]byte) (id uuid.UUID, known bool) {
	h := sha1.New() //nolint:gosec // see import
	for _, part := range content {
		h.Write(part)
	}
	sum := h.Sum(nil)
	key := [16]byte(sum)
	n, seen := d.contents[key]
	if !seen && len(d.contents) >= d.most {
		return uuid.Nil, false
	}
	d.contents[key] = n + 1
	b := append(d.space[:len(d.space):len(d.space)], 'c')
	b = append(b, sum...)
	return version5(binary.BigEndian.AppendUint64(b, n)), true
}

func version5(b []byte) (id uuid.UUID) {
	sum := sha1.Sum(b) //nolint:gosec // see import
	copy(id[:], sum[:])
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	return id
}
