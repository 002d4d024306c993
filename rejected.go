package hogapi

import (
	"context"
	"iter"
	"slices"

	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/statefile"
)

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
	return &rejectedRecords{newLineFiles([]string{path}), parse}
}

type rejectedRecords struct {
	lineFiles

	parse func([]byte) ([]Event, error)
}

// Events implements Source.
func (s *rejectedRecords) Events(ctx context.Context, after Position) iter.Seq2[Event, error] {
	return s.walk(ctx, after, func() lineFunc {
		w := &rejectsWalk{parse: s.parse, lines: newLineParser()}
		return w.events
	})
}

// rejectsWalk makes the events of the lines of a reject file.
type rejectsWalk struct {
	parse   func([]byte) ([]Event, error)
	lines   *lineParser
	repeats statefile.Repeats
}

// events implements lineFunc.
func (w *rejectsWalk) events(l lines.Line) []Event {
	text, isTorn := statefile.AfterHole(l.Text)
	l.Text = text
	id, note, err := statefile.ReadLine(text)
	switch {
	case isTorn && err != nil:
		return []Event{SkippedEvent(Position{}, "torn by a crash")}
	case l.Long || err != nil && note == nil:
		return []Event{w.lines.event(l)}
	case w.repeats.Has(id, text):
		return []Event{SkippedEvent(Position{}, "repeated after a crash")}
	case note == nil:
		ev := w.lines.event(l)
		ev.isFinal = true
		return []Event{ev}
	}
	made := w.made(text, note)
	for i := range made {
		made[i].Origin = Position(note.From())
		made[i].UUID = note.UUIDOf(id, made[i].UUID, i)
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
