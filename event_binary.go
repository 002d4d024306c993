package hogapi

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// AppendBinary appends the event with all that an import has to know of it: its uuid and where that is
// derived from, its place and record for a reject, why it is skipped or rejected. It is for sources that
// keep the events of another source, such as formats.Sorted, which read it through [Concat]: that
// numbers the events of a record. Properties that JSON cannot hold are an error.
func (ev *Event) AppendBinary(b []byte) ([]byte, error) {
	if ev.Properties != nil && ev.RawProperties != nil {
		return b, errors.New("hogapi: the event has both Properties and RawProperties")
	}
	w := binaryWriter{b: append(b, binaryVersion)}
	w.text(ev.Name)
	w.text(ev.DistinctID)
	w.text(ev.AnonymousID)
	w.time(ev.Timestamp)
	w.b = append(w.b, ev.UUID[:]...)
	w.position(ev.Position)
	w.position(ev.Origin)
	if ev.RawProperties != nil {
		w.bytes(ev.RawProperties, true)
	} else {
		w.object(ev.Properties)
	}
	w.object(ev.Set)
	w.object(ev.SetOnce)
	w.bytes(ev.record, ev.record != nil)
	w.text(ev.where())
	w.text(ev.format)
	w.b = binary.AppendUvarint(w.b, ev.number)
	w.flags(ev.isMapped, ev.isFinal, ev.needsMapping, ev.isLoose || ev.file == nil && ev.place == "", ev.bad != nil)
	if ev.bad != nil {
		w.bytes(ev.bad.raw, ev.bad.raw != nil)
		note, err := json.Marshal(noteOf(ev.bad.err))
		w.err = errors.Join(w.err, err)
		w.bytes(note, true)
	}
	if w.err != nil {
		return b, fmt.Errorf("hogapi: the event cannot be kept: %w", w.err)
	}
	return w.b, nil
}

// UnmarshalBinary reads what AppendBinary has written. The event shares the bytes of data.
func (ev *Event) UnmarshalBinary(data []byte) error {
	r := binaryReader{b: data}
	if r.byte() != binaryVersion {
		return errors.New("hogapi: not an event that this release has kept")
	}
	*ev = Event{Name: string(r.bytes()), DistinctID: string(r.bytes()), AnonymousID: string(r.bytes()), Timestamp: r.time()}
	copy(ev.UUID[:], r.take(len(ev.UUID)))
	ev.Position, ev.Origin = r.position(), r.position()
	ev.RawProperties = r.bytes()
	ev.Set, ev.SetOnce = r.object(), r.object()
	ev.record = r.bytes()
	ev.place, ev.format, ev.number = string(r.bytes()), string(r.bytes()), r.uvarint()
	flags := r.byte()
	ev.isMapped, ev.isFinal, ev.needsMapping, ev.isLoose = flags&1 != 0, flags&2 != 0, flags&4 != 0, flags&8 != 0
	if flags&16 != 0 {
		ev.bad = &badRecord{raw: r.bytes()}
		var note badNote
		if err := json.Unmarshal(r.bytes(), &note); err != nil {
			r.err = err
		}
		ev.bad.err = note.error()
	}
	if r.err != nil || len(r.b) > 0 {
		return errors.New("hogapi: the bytes of a kept event are damaged")
	}
	return nil
}

const binaryVersion = 1

// badNote is why a record made no event.
type badNote struct {
	Skip    *string       `json:"skip,omitempty"`
	Refusal *keptRefusal  `json:"refusal,omitempty"`
	Also    []keptRefusal `json:"also,omitempty"`
	Text    string        `json:"text,omitempty"`
}

type keptRefusal struct{ Reason, Field, Value, Want, Text string }

func noteOf(err error) badNote {
	if skip, ok := errors.AsType[*SkipError](err); ok {
		return badNote{Skip: &skip.Reason}
	}
	e, ok := errors.AsType[*EventError](err)
	if !ok {
		return badNote{Text: bare(err).Error()}
	}
	kept := keptRefusalOf(e)
	note := badNote{Refusal: &kept}
	for _, other := range e.Also {
		note.Also = append(note.Also, keptRefusalOf(other))
	}
	return note
}

func keptRefusalOf(e *EventError) keptRefusal {
	k := keptRefusal{Reason: string(e.Reason), Field: e.Field, Value: e.Value, Want: e.Want}
	if e.Err != nil {
		k.Text = bare(e.Err).Error()
	}
	return k
}

func (n badNote) error() error {
	switch {
	case n.Skip != nil:
		return Skip(*n.Skip)
	case n.Refusal == nil:
		return errors.New(n.Text)
	}
	e := n.Refusal.error()
	for _, other := range n.Also {
		e.Also = append(e.Also, other.error())
	}
	return e
}

func (k keptRefusal) error() *EventError {
	e := &EventError{Reason: Reason(k.Reason), Field: k.Field, Value: k.Value, Want: k.Want}
	if k.Text != "" {
		e.Err = errors.New(k.Text)
	}
	return e
}

// binaryWriter appends the parts of an event.
type binaryWriter struct {
	b    []byte
	json jsonb.Encoder
	err  error
}

// bytes appends bytes that are there or not.
func (w *binaryWriter) bytes(text []byte, there bool) {
	if !there {
		w.b = append(w.b, 0)
		return
	}
	w.b = binary.AppendUvarint(w.b, uint64(len(text))+1)
	w.b = append(w.b, text...)
}

func (w *binaryWriter) text(s string) {
	w.b = binary.AppendUvarint(w.b, uint64(len(s))+1)
	w.b = append(w.b, s...)
}

func (w *binaryWriter) time(at time.Time) {
	w.b = binary.AppendVarint(w.b, at.Unix())
	w.b = binary.AppendUvarint(w.b, uint64(at.Nanosecond()))
}

func (w *binaryWriter) position(p Position) {
	w.text(p.Key)
	w.b = binary.AppendVarint(w.b, p.Offset)
}

func (w *binaryWriter) object(m map[string]any) {
	if m == nil {
		w.bytes(nil, false)
		return
	}
	text, err := w.json.AppendValue(nil, m)
	w.err = errors.Join(w.err, err)
	w.bytes(text, true)
}

func (w *binaryWriter) flags(all ...bool) {
	var b byte
	for i, is := range all {
		if is {
			b |= 1 << i
		}
	}
	w.b = append(w.b, b)
}

// binaryReader takes the parts of an event. After an error it gives empty ones.
type binaryReader struct {
	b   []byte
	err error
}

func (r *binaryReader) take(n int) (part []byte) {
	if n < 0 || n > len(r.b) {
		r.b, r.err = nil, errors.New("cut off")
		return nil
	}
	part, r.b = r.b[:n:n], r.b[n:]
	return part
}

func (r *binaryReader) byte() byte {
	if part := r.take(1); part != nil {
		return part[0]
	}
	return 0
}

func (r *binaryReader) uvarint() uint64 {
	v, n := binary.Uvarint(r.b)
	if n <= 0 {
		n = -1
	}
	r.take(n)
	return v
}

func (r *binaryReader) varint() int64 {
	v, n := binary.Varint(r.b)
	if n <= 0 {
		n = -1
	}
	r.take(n)
	return v
}

// bytes takes bytes; nil if there were none.
func (r *binaryReader) bytes() []byte {
	n := r.uvarint()
	if n == 0 || n > uint64(len(r.b))+1 {
		if n > 0 {
			r.take(-1)
		}
		return nil
	}
	return r.take(int(n - 1))
}

func (r *binaryReader) time() time.Time {
	seconds, nanoseconds := r.varint(), r.uvarint()
	return time.Unix(seconds, int64(nanoseconds%1e9)).UTC()
}

func (r *binaryReader) position() Position {
	return Position{Key: string(r.bytes()), Offset: r.varint()}
}

// object takes an object, whose numbers keep their digits.
func (r *binaryReader) object() (m map[string]any) {
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
