package wire

import (
	"crypto/sha1" //nolint:gosec // version 5 of RFC 9562 is defined over SHA-1
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"

	"github.com/google/uuid"
)

// Origin is the place that an event's uuid is derived from, such as a file and an offset in it. It
// is zero where an event has none.
type Origin struct {
	Key    string `json:"key,omitempty"`
	Offset int64  `json:"offset,omitempty"`
}

// IsZero reports whether there is no place.
func (o Origin) IsZero() bool { return o == Origin{} }

// Identity derives the uuids of events that bring none.
type Identity struct {
	space [sha1.Size]byte // of the import
	named bool            // the import has an id

	contents map[[16]byte]uint64 // how often each content came; nil unless content ids were chosen
	most     int
}

// hogapiSpace is the namespace of all import ids.
var hogapiSpace = uuid.MustParse("5a2f9d0c-3f6b-5d1e-9c53-6f0a4be0c1d7")

// NewIdentity is that of an import, which has no id where importID is empty. Above 0, contentIDs is
// how many different contents give a uuid to events without an origin.
func NewIdentity(importID string, contentIDs int) *Identity {
	space := sha1.Sum(append(hogapiSpace[:], importID...)) //nolint:gosec // as RFC 9562 says
	d := &Identity{space: space, named: importID != "", most: contentIDs}
	if contentIDs > 0 {
		d.contents = make(map[[16]byte]uint64)
	}
	return d
}

// Named reports whether the import has an id, so that uuids can be derived.
func (d *Identity) Named() bool { return d.named }

// Check refuses an event that a second sending would double. It is safe for concurrent use.
func (d *Identity) Check(id uuid.UUID, at Origin) *Refusal {
	switch {
	case id != uuid.Nil || d.contents != nil && at.IsZero():
		return nil
	case at.IsZero():
		return refuse(ReasonNoIdentity, "uuid", "", "a uuid, a position in the source, or GateOptions.ContentIDs")
	case !d.named:
		return refuse(ReasonNoIdentity, "uuid", "", "a uuid, or an ID for the import")
	}
	return nil
}

// Assign gives the n-th event at an origin, which has passed Check, the uuid that it lacks. For
// events without an origin one goroutine at a time may call it.
func (d *Identity) Assign(out *Encoded, at Origin, n uint64) *Refusal {
	if out.UUID != uuid.Nil {
		return nil
	}
	if at.IsZero() {
		id, known := d.ofContent(out.Wire[:out.stamps.from], out.Wire[out.stamps.to:])
		if !known {
			return refuse(ReasonIdentityFull, "uuid", "",
				fmt.Sprintf("at most %d different contents (GateOptions.ContentIDs)", d.most))
		}
		out.UUID = id
	} else {
		out.UUID = d.At(at, n)
	}
	putUUID(out.Wire, out.UUID)
	return nil
}

// Numbering tells apart the events of one record, which follow each other and have the same origin. It
// must see every event.
type Numbering struct {
	place, origin Origin
	n             uint64 // of the next event there
}

// Next is the number of an event of the record at a place. One that has a number above 0 keeps it. Two
// records may have one origin.
func (x *Numbering) Next(place, origin Origin, known uint64) (n uint64) {
	if origin.IsZero() {
		return 0
	}
	if origin != x.origin || place != x.place {
		*x = Numbering{place: place, origin: origin}
	}
	if x.n++; known > 0 {
		return known
	}
	return x.n - 1
}

// Nth is the number of the i-th event that a format makes of a record. The numbers between belong to
// what a mapping makes of the first one.
func Nth(i int) uint64 {
	if i == 0 {
		return 0
	}
	return 1<<32 + uint64(i)
}

// NthChild is the number of the i-th event that a mapping makes of one that has a number.
func NthChild(number uint64, i int) uint64 {
	if i == 0 {
		return number
	}
	const mix = 0x9E3779B97F4A7C15
	return (number*mix + uint64(i)) | 1<<63
}

// At is the uuid of the n-th event at p.
func (d *Identity) At(p Origin, n uint64) uuid.UUID {
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
func (d *Identity) ofContent(content ...[]byte) (id uuid.UUID, known bool) {
	h := sha1.New() //nolint:gosec // as RFC 9562 says
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
	sum := sha1.Sum(b) //nolint:gosec // as RFC 9562 says
	copy(id[:], sum[:])
	id[6] = id[6]&0x0f | 0x50
	id[8] = id[8]&0x3f | 0x80
	return id
}

// WantImportID says what an import's id must be to be sent with every event, or "" where it is.
func WantImportID(id string) (want string) {
	invisible := func(r rune) bool { return r <= ' ' || r > '~' }
	switch {
	case strings.ContainsFunc(id, invisible) || len(id) > MaxName:
		return "at most 200 visible ASCII characters without blanks"
	case id == "null" || strings.ContainsAny(id, `"\`):
		return `an id without quotes and backslashes, and not null: the service compares another text with it when it counts`
	case looksTyped.MatchString(id):
		return "an id that the service takes for a text when it counts events by it, " +
			"not for a number, a date or a truth value, such as hogapi-" + id
	}
	return ""
}

// looksTyped finds values of $import_job_id for which the service guesses another type than text. A
// query for them would then find nothing.
var looksTyped = regexp.MustCompile(`(?i)^(true|false|[+-]?[0-9.]+(e[+-]?[0-9]+)?|` +
	`([0-9]{4}[/-][0-9]{2}[/-][0-9]{2}|[0-9]{2}[/-][0-9]{2}[/-][0-9]{4})(t[0-9:.z+-]+|t[0-9]{2}:[0-9]{2}:[0-9]{2}.*)?)$`)
