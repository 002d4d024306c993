package history

import (
	"context"
	"fmt"
	"iter"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/bridge"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/inside"
	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/statefile"
)

// RejectFile returns a handler that writes rejects to a file that only this user can read. A line is a JSON
// object: the event as it was or would have been sent, and the key "$reject" with
//
//   - reason, field, value, want, detail, also (further faults) and status: why it was refused
//   - position and where: the record in its source
//   - raw, or raw_base64 if it is not UTF-8: the source's record, if it made no event or a mapping changed it.
//     Of a record over 16 MiB, raw has the first 4 KiB, and original has the file, byte offset, length and
//     SHA-256: Rejected reads the record from that file
//   - table: the layout and the columns, if raw is a row with a fault, such as too many fields
//   - left_out: the parts that the line lacks because JSON cannot hold them
//   - import: the ID of the import
//
// [Rejected] is a source that reads the file, with a corrected parser or mapping, or after lines were
// corrected by hand.
//
// Lines are only ever appended. They are on disk before the checkpoint passes them. After a crash the file may
// have the last lines twice, with the same uuid and position; Rejected skips the second. If the last
// line has no newline, since a crash cut it off or somebody edited it, the next run ends the line. If a crash
// cut it off, the run also writes its reject again, and Rejected rejects the incomplete line. A file that
// is not a reject file is refused with an *InputError.
//
// One import at a time owns the file, by a lock on path.lock; another import gets [ErrHeld]. In a Capture, or
// within another handler, it opens, writes and syncs the file for each reject.
func RejectFile(path string) hogapi.RejectHandler {
	return rejectFile{statefile.NewRejects(durable.OS{}, path)}
}

type rejectFile struct{ file *statefile.Rejects }

// hasRejectFile is a handler with a file that an import owns while it runs: the rejects are on disk before the
// checkpoint passes them.
type hasRejectFile interface{ RejectFile() *statefile.Rejects }

func (f rejectFile) RejectFile() *statefile.Rejects { return f.file }

// Reject implements RejectHandler, for callers that are not the import that has opened the file.
func (f rejectFile) Reject(_ context.Context, r event.Reject) error {
	note, _ := (*r.Inside(inside.Key{})).(statefile.Note)
	note.Status, note.Position, note.Where = r.Status, r.Position, r.Where
	return bridge.FileError(f.file.AddAlone(&statefile.Reject{Event: r.Event, UUID: r.UUID, Record: r.Raw, Refusal: r.Err, Note: note}))
}

// Rejected returns a source of the records in a reject file: each rejected record once, with its uuid
// and position, so that a corrected record stays the same event.
//
// If a line has the source's record (raw), the record is parsed again: by parse or, if parse is nil, as a line
// of [JSONLines]. Any other line is the event itself. To correct an event by hand, edit the line and remove
// "$reject" from it; then the line is sent as it is. A row of a table that had a fault can be corrected in raw, as a row of
// the file or as an object of the columns.
//
// To apply a corrected mapping, give this source to [Map]. The mapping is not applied to lines without
// "$reject", nor to events that the earlier mapping made and the service refused. A record of an import with a
// mapping is rejected again if this import has no mapping.
//
// Give the import of the rejects a checkpoint and a reject file of its own.
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
	return s.walk(ctx, after, lines.Options{Holes: true, Longest: longestReject}, func() lineFunc {
		w := &rejectsWalk{parse: s.parse, lines: newLineParser()}
		return func(_ *lines.File, l lines.Line) ([]event.Event, error) { return w.events(ctx, l), nil }
	})
}

type rejectsWalk struct {
	parse   func([]byte) ([]event.Event, error)
	lines   *lineParser
	entries statefile.Repeats
}

func (w *rejectsWalk) events(ctx context.Context, l lines.Line) []event.Event {
	entry := w.entries.Next(l.Text, l.Long)
	switch l.Text = entry.Text; {
	case entry.Skip != "":
		return []event.Event{event.Skip(event.Position{}, entry.Skip)}
	case entry.Note == nil:
		ev := w.lines.event(l)
		ev.Inside(inside.Key{}).IsFinal = entry.IsFinal
		return []event.Event{ev}
	}
	made := w.made(ctx, l.Text, entry.Note)
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
	return made
}

func (w *rejectsWalk) made(ctx context.Context, text []byte, note *statefile.Note) (events []event.Event) {
	record, err := note.Whole(), error(nil)
	if note.Original != nil {
		record, err = note.Original.Read(ctx)
	}
	switch {
	case err != nil:
		return []event.Event{event.Bad(event.Position{}, note.Whole(), err)}
	case record == nil:
		ev := w.lines.eventOf(text)
		ev.Inside(inside.Key{}).IsFinal = note.IsMapped
		return []event.Event{ev}
	case w.parse == nil && note.Format != "":
		return []event.Event{event.Bad(event.Position{}, record, fmt.Errorf("the record is of the format %s: give its Convert to Rejected", mask.Shown(note.Format)))}
	case w.parse == nil:
		ev := w.lines.eventOf(record)
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
