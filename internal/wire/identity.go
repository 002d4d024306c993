package wire

import (
	"crypto/sha1" //nolint:gosec // version 5 of RFC 9562 is defined over SHA-1
	"encoding/binary"
	"regexp"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
)

// GoesBack reports whether a position is before another one, as far as that can be known: only positions of one key
// have an order.
func GoesBack(p, from event.Position) bool { return p.Key == from.Key && p.Offset < from.Offset }

// Identity derives the uuids of events without one.
type Identity struct {
	space [sha1.Size]byte // of the import
	named bool            // the import has an id

	keyless bool // positions without a Key are taken
}

// hogapiSpace is the namespace of all import ids.
var hogapiSpace = uuid.MustParse("5a2f9d0c-3f6b-5d1e-9c53-6f0a4be0c1d7")

// NewIdentity returns the identity of an import; importID may be empty.
func NewIdentity(importID string) *Identity {
	space := sha1.Sum(append(hogapiSpace[:], importID...)) //nolint:gosec // as RFC 9562 says
	return &Identity{space: space, named: importID != ""}
}

// Named reports whether the import has an id, which uuids are derived from.
func (d *Identity) Named() bool { return d.named }

// AllowKeyless makes Check accept positions without a Key, as imports that older releases have begun had them.
func (d *Identity) AllowKeyless() { d.keyless = true }

// Check refuses an event that would be stored twice if sent twice, and one with a position without a Key: at Offset 0,
// such a position is empty. It is safe for concurrent use.
func (d *Identity) Check(id uuid.UUID, at event.Position) *event.Error {
	switch {
	case id != uuid.Nil:
		return nil
	case at.Key == "" && (at.IsZero() || !d.keyless):
		return refuse(event.ReasonNoIdentity, "uuid", "",
			"a uuid, or a Position with a Key, such as the name of the queue (then the Offset may be 0)")
	case !d.named:
		return refuse(event.ReasonNoIdentity, "uuid", "", "a uuid, or an ID for the import")
	}
	return nil
}

// Assign derives the missing uuid of the n-th event at an origin; the event must have passed Check.
func (d *Identity) Assign(out *Encoded, at event.Position, n uint64) {
	if out.UUID == uuid.Nil {
		out.SetUUID(d.At(at, n))
	}
}

// SetUUID sets the derived uuid of an event without one.
func (e *Encoded) SetUUID(id uuid.UUID) {
	e.UUID = id
	putUUID(e.Wire, id)
}

// Numbering numbers the events of one record, which are consecutive and have the same origin. It
// must see every event.
type Numbering struct {
	position, origin event.Position
	n                uint64 // of the next event of the record
}

// Next returns the number of an event of the record at a position. A known number above 0 is kept. Two
// records may have the same origin.
func (x *Numbering) Next(position, origin event.Position, known uint64) (n uint64) {
	if origin.IsZero() {
		return 0
	}
	if origin != x.origin || position != x.position {
		*x = Numbering{position: position, origin: origin}
	}
	if x.n++; known > 0 {
		return known
	}
	return x.n - 1
}

// Nth returns the number of the i-th event that a format makes of a record. The numbers between two
// of them are for events that a mapping makes of the first one.
func Nth(i int) uint64 {
	if i == 0 {
		return 0
	}
	return 1<<32 + uint64(i)
}

// NthChild returns the number of the i-th event that a mapping makes of a numbered event.
func NthChild(number uint64, i int) uint64 {
	if i == 0 {
		return number
	}
	const mix = 0x9E3779B97F4A7C15
	return (number*mix + uint64(i)) | 1<<63
}

// At returns the uuid of the n-th event at p.
func (d *Identity) At(p event.Position, n uint64) uuid.UUID {
	var room [128]byte
	b := append(room[:0], d.space[:]...)
	b = append(b, 'p')
	b = binary.BigEndian.AppendUint64(b, uint64(len(p.Key)))
	b = append(b, p.Key...)
	b = binary.BigEndian.AppendUint64(b, uint64(p.Offset))
	b = binary.BigEndian.AppendUint64(b, n)
	return version5(b)
}

func version5(b []byte) (id uuid.UUID) {
	sum := sha1.Sum(b) //nolint:gosec // as RFC 9562 says
	copy(id[:], sum[:])
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	return id
}

// WantImportID describes a valid import id, or returns "" if id is valid: it is sent with each
// event.
func WantImportID(id string) (want string) {
	invisible := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case strings.ContainsFunc(id, invisible) || len(id) > MaxName:
		return "at most 200 visible ASCII characters without blanks"
	case id == "null" || strings.ContainsAny(id, `"\`):
		return `an id without quotes and backslashes, and not null: the service compares another text with it when it counts`
	case looksTyped.MatchString(id):
		return "a name that does not look like a number, a date or a boolean, such as hogapi-" + id
	}
	return ""
}

// looksTyped matches values of $import_job_id that the service takes for numbers, dates or
// booleans; a query for such a text finds nothing.
var looksTyped = regexp.MustCompile(`(?i)^(true|false|[+-]?[0-9.]+(e[+-]?[0-9]+)?|` +
	`([0-9]{4}[/-][0-9]{2}[/-][0-9]{2}|[0-9]{2}[/-][0-9]{2}[/-][0-9]{4})(t[0-9:.z+-]+|t[0-9]{2}:[0-9]{2}:[0-9]{2}.*)?)$`)
