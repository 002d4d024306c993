package wire

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/inside"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/lines"
)

const keptVersion = 1

var (
	errNotKept = errors.New("hogapi: not an event that this release has kept")
	errDamaged = errors.New("hogapi: the bytes of a kept event are damaged")
)

// AppendEvent is for sources that store the events of another source. They must read that source through history.Concat,
// which numbers the events of a record. It appends everything that an import needs to know of an event, with the record for a
// reject, and the reason if it is skipped or rejected. Properties that JSON cannot hold are an error.
func AppendEvent(b []byte, ev *event.Event) ([]byte, error) {
	w := keptWriter{b: append(b, keptVersion)}
	if w.event(ev); w.err != nil {
		return b, fmt.Errorf("hogapi: the event cannot be kept: %w", w.err)
	}
	return w.b, nil
}

func (w *keptWriter) event(ev *event.Event) {
	if ev.Properties != nil && ev.RawProperties != nil {
		w.err = errors.New("the event has both Properties and RawProperties")
		return
	}
	w.text(ev.Name)
	w.text(ev.DistinctID)
	w.text(ev.AnonymousID)
	w.time(ev.Timestamp)
	w.b = append(w.b, ev.UUID[:]...)
	w.position(ev.Position)
	w.position(ev.Origin)
	if ev.RawProperties != nil {
		w.bytes(ev.RawProperties)
	} else {
		w.object(ev.Properties)
	}
	w.object(ev.Set)
	w.object(ev.SetOnce)
	from := ev.Inside(inside.Key{})
	w.bytes(from.Record)
	w.text(from.Location())
	w.text(from.Format)
	w.b = binary.AppendUvarint(w.b, from.Number)
	isLoose := from.IsLoose || from.File == nil && from.Where == ""
	w.flags(from.IsMapped, from.IsFinal, from.NeedsMapping, isLoose, from.Bad != nil, len(ev.UserIDs) > 0, from.Table != nil)
	if from.Bad != nil {
		w.bytes(from.Bad.Raw)
		w.marshaled(noteOf(from.Bad.Err))
	}
	if len(ev.UserIDs) > 0 {
		w.b = binary.AppendUvarint(w.b, uint64(len(ev.UserIDs)))
		for _, id := range ev.UserIDs {
			w.text(id)
		}
	}
	if from.Table != nil {
		w.marshaled(from.Table)
	}
}

// ReadEvent reads the output of AppendEvent. The event shares the bytes of data; its properties are raw.
func ReadEvent(data []byte, ev *event.Event) error {
	r := keptReader{b: data}
	if r.byte() != keptVersion {
		return errNotKept
	}
	made := r.event()
	if r.err != nil || len(r.b) > 0 {
		return errDamaged
	}
	*ev = made
	return nil
}

func (r *keptReader) event() (ev event.Event) {
	ev.Name, ev.DistinctID, ev.AnonymousID, ev.Timestamp = string(r.bytes()), string(r.bytes()), string(r.bytes()), r.time()
	copy(ev.UUID[:], r.take(len(ev.UUID)))
	ev.Position, ev.Origin = r.position(), r.position()
	ev.RawProperties = r.bytes()
	ev.Set, ev.SetOnce = r.object(), r.object()
	from := ev.Inside(inside.Key{})
	from.Record = r.bytes()
	from.Where, from.Format, from.Number = string(r.bytes()), string(r.bytes()), r.uvarint()
	flags := r.byte()
	from.IsMapped, from.IsFinal, from.NeedsMapping, from.IsLoose = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0
	if flags&16 != 0 {
		from.Bad = &inside.BadRecord{Raw: r.bytes()}
		var note keptNote
		r.unmarshal(&note)
		from.Bad.Err = note.fault()
	}
	if flags&32 != 0 {
		for n := r.uvarint(); n > 0 && r.err == nil; n-- {
			ev.UserIDs = append(ev.UserIDs, string(r.bytes()))
		}
	}
	if flags&64 != 0 {
		from.Table = new(lines.Table)
		r.unmarshal(from.Table)
	}
	return ev
}

// keptNote says why a record made no event, in one of its fields.
type keptNote struct {
	Skip    *string       `json:"skip,omitempty"`
	Refusal *keptRefusal  `json:"refusal,omitempty"`
	Also    []keptRefusal `json:"also,omitempty"`
	Text    string        `json:"text,omitempty"`
}

// keptRefusal is an event.Error with the text of its cause.
type keptRefusal struct {
	Reason                   event.Reason
	Field, Value, Want, Text string
}

func noteOf(err error) (n keptNote) {
	if skip, ok := errors.AsType[*event.SkipError](err); ok {
		return keptNote{Skip: &skip.Reason}
	}
	refusal, ok := errors.AsType[*event.Error](err)
	if !ok {
		return keptNote{Text: errtext.WithoutPrefix(err).Error()}
	}
	n.Refusal = new(keep(refusal))
	for _, other := range refusal.Also {
		n.Also = append(n.Also, keep(other))
	}
	return n
}

// fault returns the error that the note was made of.
func (n *keptNote) fault() error {
	switch {
	case n.Skip != nil:
		return &event.SkipError{Reason: *n.Skip}
	case n.Refusal == nil:
		return errors.New(n.Text)
	}
	refusal := n.Refusal.fault()
	for _, other := range n.Also {
		refusal.Also = append(refusal.Also, other.fault())
	}
	return refusal
}

func keep(r *event.Error) keptRefusal {
	k := keptRefusal{Reason: r.Reason, Field: r.Field, Value: r.Value, Want: r.Want}
	if r.Err != nil {
		k.Text = errtext.WithoutPrefix(r.Err).Error()
	}
	return k
}

func (k keptRefusal) fault() *event.Error {
	r := &event.Error{Reason: k.Reason, Field: k.Field, Value: k.Value, Want: k.Want}
	if k.Text != "" {
		r.Err = errors.New(k.Text)
	}
	return r
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

func (w *keptWriter) marshaled(v any) {
	text, err := json.Marshal(v)
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

func (r *keptReader) unmarshal(v any) {
	if err := json.Unmarshal(r.bytes(), v); err != nil {
		r.err = err
	}
}

// object returns an object; its numbers keep their digits.
func (r *keptReader) object() map[string]any {
	text := r.bytes()
	if text == nil {
		return nil
	}
	var m map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&m); err != nil {
		r.err = err
	}
	return m
}
