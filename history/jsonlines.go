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
	"github.com/hogapi/hogapi/internal/mask"
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

func (s *jsonLines) Events(ctx context.Context, after event.Position) iter.Seq2[event.Event, error] {
	return s.walk(ctx, after, lines.Options{}, func() lineFunc { return newLineParser().events })
}

// trusts reports whether an import uses the reserved properties that the source's events have noted.
func trusts(s Source) bool {
	_, ours := s.(*jsonLines)
	return ours
}

// lineFunc returns the events of a record. They are valid until the next call. An error is fatal.
type lineFunc func(f *lines.File, l lines.Line) ([]event.Event, error)

// lineFiles is a source of files of lines, or of other records.
type lineFiles struct{ *lines.Files }

func (s lineFiles) files() []string { return s.Paths() }

func (s lineFiles) hasGrown(from string) bool { return s.HasGrown(from) }

func (s lineFiles) fingerprint(at event.Position) lines.Fingerprint {
	return s.Fingerprint(at.Key, at.Offset)
}

// walk yields the events of all lines after a position. Each walk has a lineFunc of its own.
func (s lineFiles) walk(ctx context.Context, after event.Position, o lines.Options, begin func() lineFunc) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		o.Layout, o.Longest = lines.Lines, cmp.Or(o.Longest, longestLine)
		w, notes := lines.Walk{Options: o}, notesOf(ctx)
		w.Copied = func(name, earlier string) {
			notes.warn(event.WarningSameContent, fmt.Sprintf("%s begins with the same 64 KiB as %s: if it is a copy, leave it out, since its events get other uuids",
				mask.Shown(name), mask.Shown(earlier)))
		}
		s.walkAs(ctx, after, w, begin(), yield)
	}
}

func (s lineFiles) walkAs(ctx context.Context, after event.Position, w lines.Walk, events lineFunc, yield func(event.Event, error) bool) {
	notes := notesOf(ctx)
	w.Verify, w.IsTrial = notes.verifyArchives, notes.isCheck
	if notes.resumed != nil && !after.IsZero() && after == notes.resumed.State.Position {
		w.Known = notes.resumed.File
	}
	w.Take = func(f *lines.File, l lines.Line) bool {
		made, err := events(f, l)
		if err != nil {
			yield(event.Event{}, err)
			return false
		}
		return yieldAt(f, l, made, yield)
	}
	if err := s.Read(ctx, after.Key, after.Offset, w); err != nil {
		yield(event.Event{}, linesError(err, after, notes.resumed))
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
type lineParser struct {
	wire *wire.LineParser
	made [1]event.Event // see events
}

func newLineParser() *lineParser {
	return &lineParser{wire: wire.NewLineParser(engine.CheckCorrected)}
}

func (p *lineParser) events(_ *lines.File, l lines.Line) ([]event.Event, error) {
	p.made[0] = p.event(l)
	return p.made[:], nil
}

func (p *lineParser) event(l lines.Line) event.Event {
	if !l.Long {
		return p.eventOf(l.Text)
	}
	ev := event.Bad(event.Position{}, l.Text, fmt.Errorf("the line has %d bytes, and at most %d are read%s", l.Length, longestLine, wire.Hint(l.Text)))
	ev.UUID, ev.Inside(inside.Key{}).Cut = wire.SalvageUUID(l.Beginning()), l.Cut
	return ev
}

// eventOf returns the event of a record, or a bad one. It is valid until the next call.
func (p *lineParser) eventOf(text []byte) (ev event.Event) {
	f, err := p.wire.Parse(text)
	if err == nil {
		ev.Name, ev.DistinctID, ev.Timestamp, ev.UUID = f.Name, f.DistinctID, f.Timestamp, f.UUID
		ev.RawProperties, ev.Inside(inside.Key{}).Noted = f.RawProperties, f.Noted
	} else {
		ev = event.Bad(event.Position{}, text, err)
		ev.UUID = wire.SalvageUUID(text)
	}
	ev.Inside(inside.Key{}).Record = text
	return ev
}
