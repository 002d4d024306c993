package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/bridge"
	"github.com/hogapi/hogapi/internal/engine"
	"github.com/hogapi/hogapi/internal/inside"
	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/wire"
)

// JSONLines returns a source that reads files with one JSON object a line, the format of the service's own managed
// migrations:
//
//	{"event":"order placed","distinct_id":"ann","timestamp":"2024-05-01T12:30:00+02:00","properties":{"price":12.5}}
//
// A line may also have a uuid, $set and $set_once. Files may be packed with gzip, zstd or zip. A line that makes no event,
// or has more than 1 MiB, becomes a reject with its place; a file that is cut, rewritten or still being written stops the
// import. Between two runs, files may grow by whole lines. docs/reference.md has every key, fault and rule of a resume.
func JSONLines(paths ...string) Source { return &jsonLines{lineFiles{lines.NewFiles(paths)}} }

const longestLine = 1 << 20

type jsonLines struct{ lineFiles }

// Events implements Source for code that looks at the events. An import takes those of parsed.
func (s *jsonLines) Events(ctx context.Context, after event.Position) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		var made event.Event
		for ev, err := range s.parsed(ctx, after) {
			if !yield(*ev.Public(&made), err) {
				return
			}
		}
	}
}

// parsed yields the events of all lines after a position as an engine takes them. Each is valid until the next.
func (s *jsonLines) parsed(ctx context.Context, after event.Position) iter.Seq2[*engine.Event, error] {
	return func(yield func(*engine.Event, error) bool) {
		var ev engine.Event
		w, p := linesWalk(ctx, lines.Options{}), lineParser{wire.NewLineParser()}
		w.Take = func(f *lines.File, l lines.Line) bool {
			p.parse(&ev, l)
			ev.Position, ev.File, ev.Line = event.Position{Key: f.Name(), Offset: l.End}, f, l.Number
			return yield(&ev, nil)
		}
		if err := s.read(ctx, after, w); err != nil {
			yield(&engine.Event{}, err)
		}
	}
}

// taken yields the events of a source as an engine takes them: the lines of our own files as they are parsed, all others as
// their code yields them.
func taken(ctx context.Context, source Source, after event.Position) iter.Seq2[*engine.Event, error] {
	if own, ok := source.(*jsonLines); ok {
		return own.parsed(ctx, after)
	}
	return func(yield func(*engine.Event, error) bool) {
		var ev engine.Event
		var given event.Event
		var err error
		for given, err = range source.Events(ctx, after) {
			if ev.Show(&given); isDirect(source) {
				ev.View = given.Inside(inside.Key{}).Parts.PropertiesOf(given.RawProperties)
			}
			if !yield(&ev, err) {
				return
			}
		}
	}
}

// isDirect reports whether the events of a source come as its format made them: nobody else sees them on the way.
func isDirect(source Source) bool {
	_, ok := source.(*formatSource)
	return ok
}

// lineFiles is a source of files of lines, or of other records.
type lineFiles struct{ *lines.Files }

func (s lineFiles) files() []string { return s.Paths() }

func (s lineFiles) hasGrown(from string) bool { return s.HasGrown(from) }

func (s lineFiles) fingerprint(at event.Position) lines.Fingerprint {
	return s.Fingerprint(at.Key, at.Offset)
}

// linesWalk returns a walk over lines.
func linesWalk(ctx context.Context, o lines.Options) lines.Walk {
	o.Layout, o.Longest = lines.Lines, cmp.Or(o.Longest, longestLine)
	return lines.Walk{Options: o, Copies: notesOf(ctx)}
}

// recordReader makes events of records. They are valid until the next call. An error is fatal.
type recordReader interface {
	events(f *lines.File, l lines.Line) ([]event.Event, error)
}

// walk yields the events of all records after a position.
func (s lineFiles) walk(ctx context.Context, after event.Position, w lines.Walk, r recordReader, yield func(event.Event, error) bool) {
	w.Take = func(f *lines.File, l lines.Line) bool {
		made, err := r.events(f, l)
		if err != nil {
			yield(event.Event{}, err)
			return false
		}
		return yieldAt(f, l, made, yield)
	}
	if err := s.read(ctx, after, w); err != nil {
		yield(event.Event{}, err)
	}
}

// yieldAt yields the events of a record with its place.
func yieldAt(f *lines.File, l lines.Line, made []event.Event, yield func(event.Event, error) bool) (more bool) {
	for _, ev := range made {
		ev.Position = event.Position{Key: f.Name(), Offset: l.End}
		from := ev.Inside(inside.Key{})
		from.File, from.Line = f, l.Number
		if !yield(ev, nil) {
			return false
		}
	}
	return true
}

// read gives all records after a position to the walk.
func (s lineFiles) read(ctx context.Context, after event.Position, w lines.Walk) error {
	notes := notesOf(ctx)
	w.Verify, w.IsTrial = notes.verifyArchives, notes.isCheck
	if notes.resumed != nil && !after.IsZero() && after == notes.resumed.State.Position {
		w.Known = notes.resumed.File
	}
	if err := s.Read(ctx, after.Key, after.Offset, w); err != nil {
		return linesError(err, after, notes.resumed)
	}
	return nil
}

// linesError returns an error of internal/lines as one of this package.
func linesError(err error, after event.Position, resumed *engine.Saved) error {
	switch {
	case errors.Is(err, lines.ErrNoPosition):
		return fmt.Errorf("there is no position %s in these files", after)
	case errors.Is(err, lines.ErrOtherFile), errors.Is(err, lines.ErrReplaced):
		return bridge.FileError(engine.Unfit(engine.FieldSource, resumed.Source, fmt.Sprintf("the file %q as it was: %v. "+
			"If it is another file of the same name, import it with an ID and a checkpoint of its own", after.Key, err)))
	}
	return bridge.FileError(err)
}

// lineParser converts lines to events. It is not safe for concurrent use.
type lineParser struct{ wire *wire.LineParser }

// parse sets an event to that of a line. It is valid until the next call.
func (p lineParser) parse(ev *engine.Event, l lines.Line) {
	if !l.Long {
		p.parseText(ev, l.Text)
		return
	}
	ev.SetBad(l.Text, fmt.Errorf("the line has %d bytes, and at most %d are read%s", l.Length, longestLine, wire.Hint(l.Text)))
	ev.UUID, ev.Cut = wire.SalvageUUID(l.Beginning()), l.Cut
}

func (p lineParser) parseText(ev *engine.Event, text []byte) {
	f, err := p.wire.Parse(text)
	if note, isEmpty := p.wire.Reject(); note != nil {
		err = cmp.Or(engine.CheckCorrected(note, isEmpty), err)
	}
	if err != nil {
		ev.SetBad(text, err)
		ev.UUID = wire.SalvageUUID(text)
		return
	}
	*ev = engine.Event{Fields: *f}
	ev.Record = text
}

// event returns the event of a line as code of a user sees it.
func (p lineParser) event(l lines.Line) (made event.Event) {
	var ev engine.Event
	p.parse(&ev, l)
	return *ev.Public(&made)
}
