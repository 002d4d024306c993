package wire

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/inside"
)

// AppendEvent is for sources that store the events of another source. They must read that source through history.Concat,
// which numbers the events of a record. It appends an event with its uuid or the origin of its uuid, its position, its record for a reject, and the
// reason if it is skipped or rejected. Properties that JSON cannot hold are an error.
func AppendEvent(b []byte, ev *event.Event) ([]byte, error) {
	from := ev.Inside(inside.Key{})
	k := Kept{
		Fields: FieldsOf(ev), AnonymousID: ev.AnonymousID, UserIDs: ev.UserIDs, Position: ev.Position, Origin: ev.Origin,
		Record: from.Record, Where: from.Location(), Format: from.Format, Number: from.Number,
		IsMapped: from.IsMapped, IsFinal: from.IsFinal, NeedsMapping: from.NeedsMapping, IsLoose: from.IsLoose || from.File == nil && from.Where == "",
	}
	if from.Table != nil {
		var err error
		if k.Table, err = json.Marshal(from.Table); err != nil {
			return b, fmt.Errorf("hogapi: the event cannot be kept: %w", err)
		}
	}
	if from.Bad != nil {
		k.Bad = &KeptBad{Raw: from.Bad.Raw, Note: noteOf(from.Bad.Err)}
	}
	b, err := k.Append(b)
	if err != nil {
		err = fmt.Errorf("hogapi: the event cannot be kept: %w", err)
	}
	return b, err
}

// ReadEvent reads the output of AppendEvent. The event shares the bytes of data.
func ReadEvent(data []byte, ev *event.Event) error {
	k, err := ReadKept(data)
	if err != nil {
		return fmt.Errorf("hogapi: %w", err)
	}
	*ev = event.Event{
		Name: k.Name, DistinctID: k.DistinctID, AnonymousID: k.AnonymousID, UserIDs: k.UserIDs, Timestamp: k.Timestamp, UUID: k.UUID,
		Position: k.Position, Origin: k.Origin, RawProperties: k.RawProperties, Set: k.Set, SetOnce: k.SetOnce,
	}
	from := ev.Inside(inside.Key{})
	from.Provenance = inside.Provenance{
		Record: k.Record, Where: k.Where, Format: k.Format, Number: k.Number,
		IsMapped: k.IsMapped, IsFinal: k.IsFinal, NeedsMapping: k.NeedsMapping, IsLoose: k.IsLoose,
	}
	if k.Table != nil && json.Unmarshal(k.Table, &from.Table) != nil {
		return fmt.Errorf("hogapi: %w", ErrDamaged)
	}
	if k.Bad != nil {
		from.Bad = &inside.BadRecord{Raw: k.Bad.Raw, Err: errorOf(k.Bad.Note)}
	}
	return nil
}

func noteOf(err error) KeptNote {
	if skip, ok := errors.AsType[*event.SkipError](err); ok {
		return KeptNote{Skip: &skip.Reason}
	}
	if e, ok := errors.AsType[*event.Error](err); ok {
		return NoteOf(e)
	}
	return KeptNote{Text: errtext.WithoutPrefix(err).Error()}
}

func errorOf(n KeptNote) error {
	switch {
	case n.Skip != nil:
		return &event.SkipError{Reason: *n.Skip}
	case n.Refusal == nil:
		return errors.New(n.Text)
	}
	return n.Fault()
}
