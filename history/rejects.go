package history

import (
	"context"
	"fmt"
	"iter"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/bridge"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/engine"
	"github.com/hogapi/hogapi/internal/inside"
	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/wire"
)

// RejectFile returns a handler that appends rejects to a file that only this user can read: a JSON object a line, the
// event as it was or would have been sent, and the key "$reject" with the reason, the place and the source's record.
// [Rejected] is a source that reads it. Lines are on disk before the checkpoint passes them; after a crash the file may
// have the last ones twice, which Rejected knows. A file that is not a reject file is an *InputError, and one that another
// import uses [hogapi.ErrHeld]. A Capture can use it too. docs/reference.md has every key.
func RejectFile(path string) hogapi.RejectHandler {
	return rejectFile{engine.NewRejects(durable.OS{}, path)}
}

type rejectFile struct{ file *engine.Rejects }

// hasRejectFile is a handler with a file that an import owns while it runs: the rejects are on disk before the
// checkpoint passes them.
type hasRejectFile interface{ RejectFile() *engine.Rejects }

func (f rejectFile) RejectFile() *engine.Rejects { return f.file }

// Reject implements RejectHandler, for callers that are not the import that has opened the file.
func (f rejectFile) Reject(_ context.Context, r event.Reject) error {
	return bridge.FileError(f.file.AppendOnce(&r))
}

// Rejected returns a source of the records in a reject file: each rejected record once, with its uuid, and its old position as Origin, so
// that a corrected record stays the same event. A line with the source's record is parsed again: by parse or, if parse is
// nil, as a line of [JSONLines]. Any other line is the event itself. To correct an event by hand, edit the line and remove
// "$reject". To apply a corrected mapping, give this source to [Map]. The import of the rejects needs a checkpoint and a
// reject file of its own.
func Rejected(path string, parse func(record []byte) ([]event.Event, error)) Source {
	return &rejectedRecords{lineFiles{lines.NewFiles([]string{path})}, parse}
}

// longestReject is the most bytes of a line of a reject file: a record that is kept, with each byte escaped.
const longestReject = 7 * lines.Keep

type rejectedRecords struct {
	lineFiles

	parse func([]byte) ([]event.Event, error)
}

func (s *rejectedRecords) Events(ctx context.Context, after event.Position) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		r := &rejectsWalk{ctx: ctx, parse: s.parse, lines: lineParser{wire.NewLineParser()}}
		s.walk(ctx, after, linesWalk(ctx, lines.Options{Holes: true, Longest: longestReject}), r, yield)
	}
}

type rejectsWalk struct {
	ctx     context.Context //nolint:containedctx // of one walk
	parse   func([]byte) ([]event.Event, error)
	lines   lineParser
	entries engine.Repeats
}

func (w *rejectsWalk) events(_ *lines.File, l lines.Line) ([]event.Event, error) {
	entry := w.entries.Next(l.Text, l.Long)
	switch l.Text = entry.Text; {
	case entry.Skip != "":
		return []event.Event{event.Skip(event.Position{}, entry.Skip)}, nil
	case entry.Note == nil:
		ev := w.lines.event(l)
		ev.Inside(inside.Key{}).IsFinal = entry.IsFinal
		return []event.Event{ev}, nil
	}
	made := w.made(w.ctx, l.Text, entry.Note)
	for i := range made {
		ev := &made[i]
		from := ev.Inside(inside.Key{})
		ev.Origin, from.Format = entry.Note.From(), entry.Note.Format
		ev.UUID, from.Number = entry.Identity(i, ev.UUID)
		if from.Bad != nil { // it may have to be corrected once more
			from.Table = entry.Note.Table
		}
		if entry.Note.Original != nil { // a record that is rejected again is kept as before
			from.Record, from.Cut = entry.Note.Whole(), entry.Note.Original
			if from.Bad != nil && from.Bad.Raw != nil {
				from.Bad.Raw = from.Record
			}
		}
	}
	return made, nil
}

func (w *rejectsWalk) made(ctx context.Context, text []byte, note *engine.Note) (events []event.Event) {
	record, err := note.Whole(), error(nil)
	if note.Original != nil {
		record, err = note.Original.Read(ctx)
	}
	switch {
	case err != nil:
		return []event.Event{event.Bad(event.Position{}, note.Whole(), err)}
	case record == nil:
		ev := w.lines.event(lines.Line{Text: text})
		ev.Inside(inside.Key{}).IsFinal = note.IsMapped
		return []event.Event{ev}
	case w.parse == nil && note.Format != "":
		return []event.Event{event.Bad(event.Position{}, record, fmt.Errorf("the record is of the format %s: give its Convert to Rejected", mask.Shown(note.Format)))}
	case w.parse == nil:
		ev := w.lines.event(lines.Line{Text: record})
		ev.Inside(inside.Key{}).NeedsMapping = note.IsMapped
		return []event.Event{ev}
	}
	if parsed, failed := note.Parsed(record); failed != nil {
		err = failed
	} else {
		record = parsed
		events, err = w.parse(record)
	}
	if err == nil && len(events) == 0 {
		err = Skip("left out by the parser")
	}
	if err != nil {
		events = []event.Event{event.Bad(event.Position{}, record, err)}
	}
	for i := range events {
		from := events[i].Inside(inside.Key{})
		from.Record, from.NeedsMapping = record, note.IsMapped
	}
	return events
}
