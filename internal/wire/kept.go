package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// Kept is an event with everything that an import needs to know of it, in bytes that only this
// package reads.
type Kept struct {
	Fields

	AnonymousID      string
	UserIDs          []string
	Position, Origin event.Position
	Record           []byte // may be nil
	Where, Format    string
	Number           uint64

	IsMapped, IsFinal, NeedsMapping, IsLoose bool

	Table []byte // of a row with a fault, as JSON; may be nil

	Bad *KeptBad // nil if the record made an event
}

// KeptBad is a record that made no event, and the reason.
type KeptBad struct {
	Raw  []byte // may be nil
	Note KeptNote
}

// KeptNote says why a record made no event, in one of its fields.
type KeptNote struct {
	Skip    *string       `json:"skip,omitempty"`
	Refusal *KeptRefusal  `json:"refusal,omitempty"`
	Also    []KeptRefusal `json:"also,omitempty"`
	Text    string        `json:"text,omitempty"`
}

// KeptRefusal is a fault of an event.
type KeptRefusal struct {
	Reason                   event.Reason
	Field, Value, Want, Text string
}

// NoteOf converts a refusal to a note, with the text of its cause.
func NoteOf(r *event.Error) KeptNote {
	first := keep(r)
	note := KeptNote{Refusal: &first}
	for _, other := range r.Also {
		note.Also = append(note.Also, keep(other))
	}
	return note
}

func keep(r *event.Error) KeptRefusal {
	k := KeptRefusal{Reason: r.Reason, Field: r.Field, Value: r.Value, Want: r.Want}
	if r.Err != nil {
		k.Text = errtext.WithoutPrefix(r.Err).Error()
	}
	return k
}

// Fault converts a note with a refusal back to the refusal.
func (n KeptNote) Fault() *event.Error {
	r := n.Refusal.fault()
	for _, other := range n.Also {
		r.Also = append(r.Also, other.fault())
	}
	return r
}

func (k KeptRefusal) fault() *event.Error {
	r := &event.Error{Reason: k.Reason, Field: k.Field, Value: k.Value, Want: k.Want}
	if k.Text != "" {
		r.Err = errors.New(k.Text)
	}
	return r
}

const keptVersion = 1

// Append appends the event. It returns an error for properties that JSON cannot hold.
func (k *Kept) Append(b []byte) ([]byte, error) {
	if k.Properties != nil && k.RawProperties != nil {
		return b, errors.New("the event has both Properties and RawProperties")
	}
	w := keptWriter{b: append(b, keptVersion)}
	w.text(k.Name)
	w.text(k.DistinctID)
	w.text(k.AnonymousID)
	w.time(k.Timestamp)
	w.b = append(w.b, k.UUID[:]...)
	w.position(k.Position)
	w.position(k.Origin)
	if k.RawProperties != nil {
		w.bytes(k.RawProperties)
	} else {
		w.object(k.Properties)
	}
	w.object(k.Set)
	w.object(k.SetOnce)
	w.bytes(k.Record)
	w.text(k.Where)
	w.text(k.Format)
	w.b = binary.AppendUvarint(w.b, k.Number)
	w.flags(k.IsMapped, k.IsFinal, k.NeedsMapping, k.IsLoose, k.Bad != nil, len(k.UserIDs) > 0, k.Table != nil)
	if k.Bad != nil {
		w.bytes(k.Bad.Raw)
		note, err := json.Marshal(k.Bad.Note)
		w.err = errors.Join(w.err, err)
		w.bytes(note)
	}
	if len(k.UserIDs) > 0 {
		w.b = binary.AppendUvarint(w.b, uint64(len(k.UserIDs)))
		for _, id := range k.UserIDs {
			w.text(id)
		}
	}
	if k.Table != nil {
		w.bytes(k.Table)
	}
	if w.err != nil {
		return b, w.err
	}
	return w.b, nil
}

var (
	// ErrNotKept is returned for bytes of another form or release.
	ErrNotKept = errors.New("not an event that this release has kept")
	// ErrDamaged is returned for bytes with another checksum.
	ErrDamaged = errors.New("the bytes of a kept event are damaged")
)

// ReadKept reads an event that Append has written. The event shares memory with data; its
// properties are raw.
func ReadKept(data []byte) (k Kept, err error) {
	r := keptReader{b: data}
	if r.byte() != keptVersion {
		return k, ErrNotKept
	}
	k.Name, k.DistinctID, k.AnonymousID, k.Timestamp = string(r.bytes()), string(r.bytes()), string(r.bytes()), r.time()
	copy(k.UUID[:], r.take(len(k.UUID)))
	k.Position, k.Origin = r.position(), r.position()
	k.RawProperties = r.bytes()
	k.Set, k.SetOnce = r.object(), r.object()
	k.Record = r.bytes()
	k.Where, k.Format, k.Number = string(r.bytes()), string(r.bytes()), r.uvarint()
	flags := r.byte()
	k.IsMapped, k.IsFinal, k.NeedsMapping, k.IsLoose = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0
	if flags&16 != 0 {
		k.Bad = &KeptBad{Raw: r.bytes()}
		if err := json.Unmarshal(r.bytes(), &k.Bad.Note); err != nil {
			r.err = err
		}
	}
	if flags&32 != 0 {
		for n := r.uvarint(); n > 0 && r.err == nil; n-- {
			k.UserIDs = append(k.UserIDs, string(r.bytes()))
		}
	}
	if flags&64 != 0 {
		k.Table = r.bytes()
	}
	if r.err != nil || len(r.b) > 0 {
		return Kept{}, ErrDamaged
	}
	return k, nil
}

type keptWriter struct {
	b    []byte
	json jsonb.Encoder
	err  error
}

// bytes appends bytes, or nil.
func (w *keptWriter) bytes(text []byte) {
	if text == nil {
		w.b = append(w.b, 0)
		return
	}
	w.b = binary.AppendUvarint(w.b, uint64(len(text))+1)
	w.b = append(w.b, text...)
}

func (w *keptWriter) text(s string) {
	w.b = binary.AppendUvarint(w.b, uint64(len(s))+1)
	w.b = append(w.b, s...)
}

func (w *keptWriter) time(at time.Time) {
	w.b = binary.AppendVarint(w.b, at.Unix())
	w.b = binary.AppendUvarint(w.b, uint64(at.Nanosecond()))
}

func (w *keptWriter) position(p event.Position) {
	w.text(p.Key)
	w.b = binary.AppendVarint(w.b, p.Offset)
}

func (w *keptWriter) object(m map[string]any) {
	if m == nil {
		w.bytes(nil)
		return
	}
	text, err := w.json.AppendValue(nil, m)
	w.err = errors.Join(w.err, err)
	w.bytes(text)
}

func (w *keptWriter) flags(all ...bool) {
	var b byte
	for i, is := range all {
		if is {
			b |= 1 << i
		}
	}
	w.b = append(w.b, b)
}

// keptReader reads the parts of an event. After an error it returns empty parts.
type keptReader struct {
	b   []byte
	err error
}

func (r *keptReader) take(n int) (part []byte) {
	if n < 0 || n > len(r.b) {
		r.b, r.err = nil, errors.New("cut off")
		return nil
	}
	part, r.b = r.b[:n:n], r.b[n:]
	return part
}

func (r *keptReader) byte() byte {
	if part := r.take(1); part != nil {
		return part[0]
	}
	return 0
}

func (r *keptReader) uvarint() uint64 { return keptNumber(r, binary.Uvarint) }

func (r *keptReader) varint() int64 { return keptNumber(r, binary.Varint) }

func keptNumber[T int64 | uint64](r *keptReader, read func([]byte) (T, int)) T {
	v, n := read(r.b)
	if n == 0 {
		n = -1 // cut off
	}
	r.take(n)
	return v
}

// bytes returns bytes, or nil.
func (r *keptReader) bytes() []byte {
	n := r.uvarint()
	if n == 0 {
		return nil
	}
	return r.take(int(min(n-1, math.MaxInt)))
}

func (r *keptReader) time() time.Time {
	seconds, nanoseconds := r.varint(), r.uvarint()
	return time.Unix(seconds, int64(nanoseconds%1e9)).UTC()
}

func (r *keptReader) position() event.Position {
	return event.Position{Key: string(r.bytes()), Offset: r.varint()}
}

// object returns an object; its numbers keep their digits.
func (r *keptReader) object() (m map[string]any) {
	text := r.bytes()
	if text == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		r.err = err
	}
	return m
}
