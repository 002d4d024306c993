package hogapi

import (
	"context"
	"fmt"
	"iter"

	"github.com/hogapi/hogapi/internal/lines"
)

// Record is a record of a [RecordSource].
type Record struct {
	Raw      []byte   // a JSON value, valid until the next record is asked for
	Position Position // the name of its file or table, and its number there, counted from 1
	Err      error    // why Raw is no record, such as text that is not UTF-8: it becomes a reject
}

// RecordSource is [FileSource] for records that read gives in a way of its own, such as those of a binary
// form: the events, uuids and rejects of a record are as if it were in a file of JSON. The name is that of
// the files or of the table, and stays the same for every run.
//
// read gives the records after a position, those of later files too; the zero position is the start, and
// the number 0 the start of a file. Every run gives the same records at the same positions. An error is
// fatal, comes last, and names the file. To resume, it is also asked for records before the place, which
// only count for uuids. When ctx ends it must return.
func RecordSource(name string, format Format, read func(ctx context.Context, after Position) iter.Seq2[Record, error]) Source {
	return recordSource{name, format, read}
}

type recordSource struct {
	name   string
	format Format
	read   func(context.Context, Position) iter.Seq2[Record, error]
}

// Name implements Source.
func (s recordSource) Name() string { return s.format.nameOf(s.name) }

// Events implements Source.
func (s recordSource) Events(ctx context.Context, after Position) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		walk := &formatWalk{format: s.format}
		err := s.format.check()
		if err == nil && !after.IsZero() {
			err = s.lead(ctx, walk, after)
		}
		if err != nil {
			yield(Event{}, err)
			return
		}
		file := after.Key
		for r, err := range s.read(ctx, after) {
			if err != nil {
				yield(Event{}, err)
				return
			}
			if r.Position.Key != file {
				walk.begin(nil)
				file = r.Position.Key
			}
			made, err := walk.events(nil, r.line())
			if err != nil {
				yield(Event{}, fmt.Errorf("%s: %w", r.Position, err))
				return
			}
			for _, ev := range made {
				ev.Position = r.Position
				if !yield(ev, nil) {
					return
				}
			}
		}
	}
}

// firstLead is how many records before a place are read again at first.
const firstLead = 1 << 10

// lead has a walk see the records before a place, as far back as they matter.
func (s recordSource) lead(ctx context.Context, walk *formatWalk, place Position) error {
	for back := int64(firstLead); ; back *= 8 {
		walk.begin(nil)
		from := Position{Key: place.Key, Offset: max(place.Offset-back, 0)}
		for r, err := range s.read(ctx, from) {
			if err != nil {
				return err
			}
			if r.Position.Key != place.Key || r.Position.Offset > place.Offset {
				break
			}
			walk.passed(nil, r.line())
		}
		if walk.equals.IsSettled() || from.Offset == 0 {
			return ctx.Err()
		}
	}
}

// line is the record as formatWalk takes it.
func (r *Record) line() lines.Line {
	const beginning = 4 << 10 // what is kept of a record that is too long
	l := lines.Line{Text: r.Raw, Length: int64(len(r.Raw)), Number: r.Position.Offset, End: r.Position.Offset, Fault: r.Err}
	if l.Long = len(r.Raw) > longestRecord; l.Long {
		l.Text = r.Raw[:beginning]
	}
	return l
}
