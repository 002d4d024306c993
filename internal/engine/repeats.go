package engine

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/wire"
)

// Entry is a line of a reject file, and how to read it: as an event, or as a reject that may make several
// events.
type Entry struct {
	UUID    uuid.UUID
	Note    *Note  // of a reject; nil: the text is that of an event
	Text    []byte // without the remains of a crash before it
	Skip    string // why nothing is made of it; empty: something is
	IsFinal bool   // the event was corrected by hand
}

// Next reads the next line of the file. isCut says that the text is the beginning of a long one.
func (r *Repeats) Next(text []byte, isCut bool) Entry {
	text, isTorn := AfterHole(text)
	id, note, err := ReadLine(text)
	e := Entry{UUID: id, Text: text}
	switch {
	case isTorn && err != nil:
		e.Skip = "torn by a crash"
	case isCut || err != nil && note == nil:
	case r.Has(id, note, text):
		e.Skip = "repeated after a crash"
	default:
		e.Note, e.IsFinal = note, note == nil
	}
	return e
}

// Identity is the uuid of the i-th event that was made of a reject's record, which may have one of its
// own, and its number.
func (e *Entry) Identity(i int, own uuid.UUID) (id uuid.UUID, number uint64) {
	if e.Note.Format == "" {
		return e.Note.UUIDOf(e.UUID, own, uint64(i)), 0
	}
	number = wire.Nth(i)
	if own == e.UUID { // a format may give its events one uuid
		return own, number
	}
	return e.Note.UUIDOf(e.UUID, own, number), number
}

// AfterHole returns the text after the zeros that a loss of power can leave in place of bytes that were not
// on disk. The zeros may include the end of the line before.
func AfterHole(text []byte) (rest []byte, isTorn bool) {
	i := bytes.LastIndexByte(text, 0)
	return text[i+1:], i >= 0
}

// Repeats finds the lines that a crash has repeated. Its zero value is ready.
type Repeats struct {
	seen  map[[16]byte]bool
	order [][16]byte // of seen, oldest first
}

// maxSeen is how many lines a line is compared with. A crash repeats only lines that were in flight.
const maxSeen = 1 << 17

// Has reports a line that is a second one of the same reject, and notes the line. A uuid is not enough for
// that: a vendor can give one to several records. The reasons may differ. A line without a note, which was
// corrected by hand, is compared as it is.
func (r *Repeats) Has(id uuid.UUID, note *Note, text []byte) bool {
	key := keyOf(id, note, text)
	if r.seen[key] {
		return true
	}
	if r.seen == nil {
		r.seen = map[[16]byte]bool{}
	}
	r.seen[key] = true
	if r.order = append(r.order, key); len(r.order) > maxSeen {
		delete(r.seen, r.order[0])
		r.order = r.order[1:]
	}
	return false
}

// keyOf stands for the reject of a line: its uuid, its import, its position and its record or event.
func keyOf(id uuid.UUID, note *Note, text []byte) [16]byte {
	h := sha256.New()
	if note == nil {
		h.Write(text)
		return [16]byte(h.Sum(nil))
	}
	fmt.Fprintf(h, "%s %q %q %d %d\n", id, note.Import, note.Position.Key, note.Position.Offset, note.Number)
	if record := note.Record(); record != nil {
		h.Write(record)
		return [16]byte(h.Sum(nil))
	}
	_ = jsonb.Object(text, func(key, value []byte) { // the event's members; of a torn line, its beginning
		if string(key) != wire.RejectKey {
			fmt.Fprintf(h, "%q:%s,", key, value)
		}
	})
	return [16]byte(h.Sum(nil))
}
