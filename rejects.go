package hogapi

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/commit"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/statefile"
	"github.com/hogapi/hogapi/internal/wire"
)

// Reject is an event that was refused by the gate or the service, or a record that made no event. It is
// not in the service, and the import does not send it again.
type Reject struct {
	Event    json.RawMessage // as it was, or would have been, sent; nil without one
	Raw      []byte          // the source's record, where it made no event or a mapping changed it; or properties that are not JSON
	UUID     uuid.UUID
	Position Position // of the record in its source
	Where    string   // the record in its file, such as "events.jsonl:17"; empty where that is not known
	Status   int      // of the service's answer; 0 where the gate refused
	Err      *EventError

	leftOut []string  // what Event lacks, since JSON cannot hold it
	origin  Position  // that the uuid comes from, where it is not Position
	number  uint64    // of the event among those of its record
	format  string    // of the record; empty: it is a line
	time    time.Time // of the event; zero: it has none
}

// RejectHandler takes rejects, one at a time and in the order of the source. An error stops the import;
// the event is then not settled and comes again with the next run. After a crash, rejects since the last
// checkpoint come again too, with the same uuids. A handler must not call back into the Capture, which
// waits for it.
type RejectHandler interface {
	Reject(ctx context.Context, r Reject) error
}

// RejectFunc makes a handler of a function.
type RejectFunc func(ctx context.Context, r Reject) error

// Reject calls f.
func (f RejectFunc) Reject(ctx context.Context, r Reject) error { return f(ctx, r) }

// newReject describes an event that the gate refused, as far as it can be written down.
func newReject(ev *Event, refusal *EventError) *Reject {
	r := &Reject{UUID: ev.UUID, Position: ev.Position, origin: ev.Origin, format: ev.format, Err: refusal}
	if refusal.Where == "" {
		refusal.Where = ev.where()
	}
	r.Where = refusal.Where
	if ev.bad != nil {
		r.Raw = slices.Clone(ev.bad.raw)
		return r
	}
	fields := ev.fields()
	d := wire.Describe(&fields)
	r.Event, r.Raw, r.time = d.Line, d.Raw, ev.Timestamp
	for _, name := range d.LeftOut {
		r.leftOut = append(r.leftOut, mask.Clean(name))
	}
	if ev.isMapped && ev.record != nil {
		r.Raw = slices.Clone(ev.record)
	}
	return r
}

// RejectFile writes rejects to a file for this user only, one JSON object a line: the event as it was
// or would have been sent, and the key "$reject" with
//
//   - reason, field, value, want, detail and status: why it was refused
//   - position and where: the record in its source
//   - raw, or raw_base64 where it is not UTF-8: the source's record, where it made no event or a mapping
//     changed it; of a line over 1 MiB its first 4 KiB
//   - left_out: what the line lacks, because JSON cannot hold it
//   - import: the ID of the import
//
// [RejectedRecords] reads the file as a source, with a corrected parser or mapping or after its lines
// were corrected by hand.
//
// Lines are only ever appended. They are on disk before the checkpoint passes them; after a crash the
// last ones may be there twice, with the same uuid and place, and RejectedRecords skips the second. The next run
// removes a last line that a crash has torn. One import at a time owns the file, by a lock on path.lock;
// another gets [ErrHeld]. A handler that wraps this one, or a Capture, has each line synced for itself.
func RejectFile(path string) RejectHandler {
	return rejectFile{statefile.NewRejects(durable.OS{}, path)}
}

type rejectFile struct{ file *statefile.Rejects }

// hasRejectFile is a handler whose file an import owns while it runs: the rejects are on disk before the
// checkpoint passes them.
type hasRejectFile interface{ RejectFile() *statefile.Rejects }

// RejectFile implements hasRejectFile.
func (f rejectFile) RejectFile() *statefile.Rejects { return f.file }

// Reject implements RejectHandler, for callers that are not the import that has opened the file.
func (f rejectFile) Reject(_ context.Context, r Reject) error {
	return stateFileError(f.file.AddAlone(r.line("", false)))
}

// line is the reject in a reject file.
func (r Reject) line(importID string, isMapped bool) statefile.Line {
	note := statefile.Note{
		Status: r.Status, Position: wire.Origin(r.Position), Origin: wire.Origin(r.origin), Number: r.number,
		Format: r.format, Where: r.Where, LeftOut: r.leftOut, Import: importID, IsMapped: isMapped,
	}
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

const defaultRejectShare = 0.01

func (o ImportOptions) rejectLimits() commit.Limits {
	l := commit.Limits{Share: o.MaxRejectShare, Most: o.MaxRejects}
	switch {
	case l.Share == 0:
		l.Share = defaultRejectShare
	case l.Share < 0:
		l.Share = 0
	}
	return l
}

// tooManyRejects is the stop of an import by its limits.
func tooManyRejects(err error) error { return &StopError{Reason: StopTooManyRejects, Err: err} }

// RejectedRecords is a source of what is in a reject file: each rejected record once, with the uuid and
// the place that it had, so that it is the same event wherever it is corrected.
//
// A line with the source's record (raw) is parsed again: by parse, or as a line of [JSONLinesFile] if
// parse is nil. Any other line is the event as it stands. To correct an event by hand, edit the line and
// remove "$reject" from it; then the event is sent as it stands.
//
// To apply a corrected mapping, give this source to [MapSource]. It is not applied to events without
// "$reject", and not to those that the mapping before has made and the service refused. A record of an
// import with a mapping is rejected again where there is no mapping.
//
// Give the import of the rejects a checkpoint and a reject file of its own.
func RejectedRecords(path string, parse func(record []byte) ([]Event, error)) Source {
	return &rejectedRecords{lineFiles{lines.NewFiles([]string{path})}, parse}
}

type rejectedRecords struct {
	lineFiles

	parse func([]byte) ([]Event, error)
}

// Events implements Source.
func (s *rejectedRecords) Events(ctx context.Context, after Position) iter.Seq2[Event, error] {
	return s.walk(ctx, after, lines.Options{Holes: true}, func() lineFunc {
		w := &rejectsWalk{parse: s.parse, lines: newLineParser()}
		return func(_ *lines.File, l lines.Line) ([]Event, error) { return w.events(l), nil }
	})
}

// rejectsWalk makes the events of the lines of a reject file.
type rejectsWalk struct {
	parse   func([]byte) ([]Event, error)
	lines   *lineParser
	repeats statefile.Repeats
}

// events are those of a line.
func (w *rejectsWalk) events(l lines.Line) []Event {
	text, isTorn := statefile.AfterHole(l.Text)
	l.Text = text
	id, note, err := statefile.ReadLine(text)
	switch {
	case isTorn && err != nil:
		return []Event{SkippedEvent(Position{}, "torn by a crash")}
	case l.Long || err != nil && note == nil:
		return []Event{w.lines.event(l)}
	case w.repeats.Has(id, note, text):
		return []Event{SkippedEvent(Position{}, "repeated after a crash")}
	case note == nil:
		ev := w.lines.event(l)
		ev.isFinal = true
		return []Event{ev}
	}
	made := w.made(text, note)
	for i := range made {
		made[i].Origin = Position(note.From())
		number := uint64(i)
		if note.Format != "" {
			number, made[i].number, made[i].format = nth(i), nth(i), note.Format
		}
		if note.Format == "" || made[i].UUID != id { // a format may give its events one uuid
			made[i].UUID = note.UUIDOf(id, made[i].UUID, number)
		}
	}
	return made
}

// made are the events of a reject.
func (w *rejectsWalk) made(text []byte, note *statefile.Note) []Event {
	record := note.Record()
	isProperties := !note.IsMapped && slices.Contains(note.LeftOut, "properties") // and not a record
	if record == nil || isProperties {
		ev := w.lines.eventOf(text)
		ev.isFinal = note.IsMapped
		return []Event{ev}
	}
	if w.parse == nil && note.Format != "" {
		ev := BadEvent(Position{}, record, fmt.Errorf("the record is of the format %s: give its Convert to RejectedRecords", mask.Shown(note.Format)))
		ev.format = note.Format
		return []Event{ev}
	}
	if w.parse == nil {
		ev := w.lines.eventOf(record)
		ev.needsMapping = note.IsMapped
		return []Event{ev}
	}
	events, err := w.parse(record)
	if err == nil && len(events) == 0 {
		err = Skip("left out by the parser")
	}
	if err != nil {
		events = []Event{BadEvent(Position{}, record, err)}
	}
	for i := range events {
		events[i].record, events[i].needsMapping = record, note.IsMapped
	}
	return events
}
