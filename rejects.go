package hogapi

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/pipeline"
	"github.com/hogapi/hogapi/internal/statefile"
	"github.com/hogapi/hogapi/internal/wire"
)

// Reject is an event that the gate or the service refused, or a record that made no event. It is not in the
// service, unless its reason is [reasons.Unconfirmed], and the import does not send it again.
type Reject struct {
	Event json.RawMessage // as it was, or would have been, sent; nil if there is no event
	// Raw is the source's record, if it made no event or a mapping changed it; or properties that are not JSON.
	Raw      []byte
	UUID     uuid.UUID
	Position Position // of the record in its source
	Where    string   // the record in its file, such as "events.jsonl:17"; empty if that is not known
	Status   int      // of the service's answer; 0 if the gate refused
	Err      *EventError

	note statefile.Note // further facts for a reject file
}

func newReject(r *pipeline.Reject) Reject {
	return Reject{
		Event: r.Event, Raw: r.Record, UUID: r.UUID, Position: Position(r.Note.Position), Where: r.Note.Where, Status: r.Note.Status,
		Err: rejectError(r), note: r.Note,
	}
}

// RejectHandler takes rejects, one at a time and in the order of the source. An error stops the import; the
// event is then not settled and comes again with the next run. After a crash, rejects since the last checkpoint
// come again too, with the same uuids. A handler must not call the Capture, which waits for it.
type RejectHandler interface {
	Reject(ctx context.Context, r Reject) error
}

// RejectFunc is a function that is a RejectHandler.
type RejectFunc func(ctx context.Context, r Reject) error

// Reject calls f.
func (f RejectFunc) Reject(ctx context.Context, r Reject) error { return f(ctx, r) }

// RejectFile writes rejects to a file for this user only, one JSON object a line: the event as it was or would
// have been sent, and the key "$reject" with
//
//   - reason, field, value, want, detail and status: why it was refused
//   - position and where: the record in its source
//   - raw, or raw_base64 if it is not UTF-8: the source's record, if it made no event or a mapping
//     changed it; of a record over 16 MiB its first 4 KiB, and original: its file, byte offset, length
//     and SHA-256, where RejectedRecords reads it
//   - left_out: the parts that the line lacks because JSON cannot hold them
//   - import: the ID of the import
//
// [RejectedRecords] reads the file as a source, with a corrected parser or mapping or after its lines were
// corrected by hand.
//
// Lines are only ever appended. They are on disk before the checkpoint passes them. After a crash the last
// lines may be there twice, with the same uuid and position, and RejectedRecords skips the second. A last line
// without a newline was torn by a crash or edited by somebody: the next run ends it, and writes a torn reject
// again. RejectedRecords skips a line that a later one repeats and completes. A file of another kind is refused
// with an *InputError.
//
// One import at a time owns the file, by a lock on path.lock; another one gets [ErrHeld]. For a handler that
// wraps this one, and for a Capture, each line is synced on its own.
func RejectFile(path string) RejectHandler {
	return rejectFile{statefile.NewRejects(durable.OS{}, path)}
}

type rejectFile struct{ file *statefile.Rejects }

// hasRejectFile is a handler with a file that an import owns while it runs: the rejects are on disk before the
// checkpoint passes them.
type hasRejectFile interface{ RejectFile() *statefile.Rejects }

// RejectFile implements hasRejectFile.
func (f rejectFile) RejectFile() *statefile.Rejects { return f.file }

// Reject implements RejectHandler, for callers that are not the import that has opened the file.
func (f rejectFile) Reject(_ context.Context, r Reject) error {
	return stateFileError(f.file.AddAlone(r.line("", false)))
}

// line returns the reject's line in a reject file.
func (r Reject) line(importID string, isMapped bool) statefile.Line {
	note := r.note
	note.Status, note.Position, note.Where, note.Import, note.IsMapped = r.Status, wire.Origin(r.Position), r.Where, importID, isMapped
	if e := r.Err; e != nil {
		note.Reason, note.Field, note.Value, note.Want = string(e.Reason), e.Field, e.Value, e.Want
		if e.Err != nil {
			note.Detail = bare(e.Err).Error()
		}
		for _, other := range e.Also {
			note.Also = append(note.Also, other.fault())
		}
	}
	return statefile.Line{Event: r.Event, UUID: r.UUID, Record: r.Raw, Note: note}
}

// RejectedRecords is a source of the records in a reject file: each rejected record once, with the uuid and the
// position that it had, so that it stays the same event when it is corrected.
//
// A line with the source's record (raw) is parsed again: by parse, or as a line of [JSONLinesFile] if parse is
// nil. Any other line is the event as it stands. To correct an event by hand, edit the line and remove
// "$reject" from it; then the event is sent as it stands.
//
// To apply a corrected mapping, give this source to [MapSource]. The mapping is not applied to events without
// "$reject", nor to events that the mapping before has made and the service refused. A record of an import with
// a mapping is rejected again if there is no mapping.
//
// Give the import of the rejects a checkpoint and a reject file of its own.
func RejectedRecords(path string, parse func(record []byte) ([]Event, error)) Source {
	return &rejectedRecords{lineFiles{lines.NewFiles([]string{path})}, parse}
}

// longestReject is the most bytes of a line of a reject file: a record that is kept, with each byte escaped.
const longestReject = 7 * lines.Keep

type rejectedRecords struct {
	lineFiles

	parse func([]byte) ([]Event, error)
}

// Events implements Source.
func (s *rejectedRecords) Events(ctx context.Context, after Position) iter.Seq2[Event, error] {
	return s.walk(ctx, after, lines.Options{Holes: true, Longest: longestReject}, func() lineFunc {
		w := &rejectsWalk{parse: s.parse, lines: newLineParser()}
		return func(f *lines.File, l lines.Line) ([]Event, error) { return w.events(ctx, f, l), nil }
	})
}

// rejectsWalk converts the lines of a reject file to events.
type rejectsWalk struct {
	parse   func([]byte) ([]Event, error)
	lines   *lineParser
	entries statefile.Repeats
}

// events returns the events of a line.
func (w *rejectsWalk) events(ctx context.Context, f *lines.File, l lines.Line) []Event {
	entry := w.entries.Next(l.Text, l.Long)
	switch l.Text = entry.Text; {
	case entry.Skip != "":
		return []Event{SkippedEvent(Position{}, entry.Skip)}
	case entry.Note == nil && f.IsTorn(l):
		return []Event{SkippedEvent(Position{}, "torn by a crash")}
	case entry.Note == nil:
		ev := w.lines.event(l)
		ev.isFinal = entry.IsFinal
		return []Event{ev}
	}
	made := w.made(ctx, l.Text, entry.Note)
	for i := range made {
		ev := &made[i]
		ev.Origin, ev.from.Format = Position(entry.Note.From()), entry.Note.Format
		ev.UUID, ev.from.Number = entry.Identity(i, ev.UUID)
	}
	return made
}

// made returns the events of a reject.
func (w *rejectsWalk) made(ctx context.Context, text []byte, note *statefile.Note) (events []Event) {
	record := note.Whole()
	if cut := note.Original; cut != nil {
		kept := record
		defer func() {
			for i := range events { // a record that is rejected again is kept as before
				ev := &events[i]
				ev.from.Record, ev.from.Cut = kept, cut
				if ev.bad != nil && ev.bad.raw != nil {
					ev.bad.raw = kept
				}
			}
		}()
		var err error
		if record, err = cut.Read(ctx); err != nil {
			return []Event{BadEvent(Position{}, kept, err)}
		}
	}
	switch {
	case record == nil:
		ev := w.lines.eventOf(text)
		ev.isFinal = note.IsMapped
		return []Event{ev}
	case w.parse == nil && note.Format != "":
		return []Event{BadEvent(Position{}, record, fmt.Errorf("the record is of the format %s: give its Convert to RejectedRecords", mask.Shown(note.Format)))}
	case w.parse == nil:
		ev := w.lines.eventOf(record)
		ev.needsMapping = note.IsMapped
		return []Event{ev}
	}
	var err error
	events, err = w.parse(record)
	if err == nil && len(events) == 0 {
		err = Skip("left out by the parser")
	}
	if err != nil {
		events = []Event{BadEvent(Position{}, record, err)}
	}
	for i := range events {
		events[i].from.Record, events[i].needsMapping = record, note.IsMapped
	}
	return events
}
