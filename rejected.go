package hogapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"iter"
	"slices"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/wire"
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
		w := &rejectsWalk{parse: s.parse, lines: newLineParser(), seen: map[[16]byte]bool{}}
		return w.events
	})
}

// rejectsWalk makes the events of the lines of a reject file.
type rejectsWalk struct {
	parse func([]byte) ([]Event, error)
	lines *lineParser
	seen  map[[16]byte]bool
	order [][16]byte // of seen, oldest first
}

// mostSeen is how many lines a line is compared with: what a crash repeats was in flight.
const mostSeen = 1 << 17

// events implements lineFunc.
func (w *rejectsWalk) events(l lines.Line) []Event {
	text, isTorn := afterHole(l.Text)
	l.Text = text
	var of struct {
		UUID   uuid.UUID   `json:"uuid"`
		Reject *rejectNote `json:"$reject"`
	}
	switch err := json.Unmarshal(text, &of); {
	case isTorn && err != nil:
		return []Event{SkippedEvent(Position{}, "torn by a crash")}
	case l.Long || err != nil && of.Reject == nil:
		return []Event{w.lines.event(l)}
	case w.isRepeated(of.UUID, text):
		return []Event{SkippedEvent(Position{}, "repeated after a crash")}
	case of.Reject == nil:
		ev := w.lines.event(l)
		ev.isFinal = true
		return []Event{ev}
	}
	note := of.Reject
	if note.Origin.IsZero() {
		note.Origin = note.Position
	}
	made := w.made(text, note)
	for i := range made {
		made[i].Origin = note.Origin
		made[i].UUID = note.uuidOf(of.UUID, made[i].UUID, i)
	}
	return made
}

// afterHole is the text behind the zeros that a loss of power can leave in place of what was not on
// disk, the end of the line before among it.
func afterHole(text []byte) (rest []byte, isTorn bool) {
	i := bytes.LastIndexByte(text, 0)
	return text[i+1:], i >= 0
}

// made are the events of a reject.
func (w *rejectsWalk) made(text []byte, note *rejectNote) []Event {
	record := note.raw()
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

// uuidOf is the uuid of the n-th event of a record: the one that the reject has, or else the one that
// the import before would have derived.
func (n *rejectNote) uuidOf(reject, own uuid.UUID, i int) uuid.UUID {
	switch {
	case i == 0 && reject != uuid.Nil:
		return reject
	case own != uuid.Nil && own != reject:
		return own
	case n.Import != "" && !n.Origin.IsZero():
		return wire.NewIdentity(n.Import, 0).At(wire.Origin(n.Origin), uint64(i))
	}
	return uuid.Nil
}

// isRepeated reports a line that is a second one of the same reject.
func (w *rejectsWalk) isRepeated(id uuid.UUID, text []byte) bool {
	key := [16]byte(id)
	if id == uuid.Nil {
		sum := sha256.Sum256(text)
		key = [16]byte(sum[:16])
	}
	if w.seen[key] {
		return true
	}
	w.seen[key] = true
	if w.order = append(w.order, key); len(w.order) > mostSeen {
		delete(w.seen, w.order[0])
		w.order = w.order[1:]
	}
	return false
}
