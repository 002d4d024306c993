package hogapi

import (
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/records"
)

// FileSource reads events from files of a format, in the order given.
//
// An event has the same uuid wherever its record is: the id that the vendor gave it (see [Format]), or
// one that is derived from the import's ID, the record without the whitespace between its tokens, the
// number n of equal records before it, and the number of the event in the record. So the same file
// packed or divided otherwise, or at another path, gives the same uuids. n counts within one file, and
// among records whose times are about a second apart; otherwise it is 0. Equal records in different
// files are one event: [Check] counts them as DoubleUUIDs.
//
// Lines, positions, damaged files and resuming are as [JSONLinesFile] describes. A record that Convert
// rejects is in the [RejectFile] as it was read: give Convert to [RejectedRecords] to import it again,
// with the same uuid.
func FileSource(format Format, paths ...string) Source {
	return &formatSource{lineFiles{lines.NewFiles(paths)}, format}
}

// formatSource is the source of FileSource.
type formatSource struct {
	lineFiles

	format Format
}

// Name implements Source.
func (s *formatSource) Name() string {
	if s.format.Options == "" {
		return s.format.Name + ": " + s.read.Name()
	}
	return fmt.Sprintf("%s (%s): %s", s.format.Name, s.format.Options, s.read.Name())
}

// Events implements Source.
func (s *formatSource) Events(ctx context.Context, after Position) iter.Seq2[Event, error] {
	return s.walk(ctx, after, func() lineFunc {
		w := &formatWalk{format: s.format}
		return w.events
	})
}

// formatWalk makes the events of records.
type formatWalk struct {
	format Format
	file   string // that equals is about
	equals records.Equals
}

// events implements lineFunc.
func (w *formatWalk) events(f *lines.File, l lines.Line) []Event {
	if f.Name() != w.file {
		w.file, w.equals = f.Name(), records.Equals{}
	}
	made := w.made(l)
	var first time.Time
	isDerived := false
	for i := range made {
		ev := &made[i]
		ev.record, ev.isMapped = l.Text, ev.bad == nil
		if first.IsZero() {
			first = ev.Timestamp
		}
		if _, skipped := ev.skipped(); ev.UUID == uuid.Nil && !skipped {
			isDerived = true
		}
	}
	origin := Position{Key: made[0].UUID.String()} // of what a mapping makes of it
	if isDerived {
		digest := records.DigestOf(l.Text)
		origin = Position{Key: digest.String(), Offset: w.equals.Before(digest, first)}
	}
	for i := range made {
		made[i].Origin = origin
	}
	return made
}

// made are the events of a record, or a bad one.
func (w *formatWalk) made(l lines.Line) (made []Event) {
	var err error
	if l.Long {
		err = fmt.Errorf("the record has %d bytes, and at most %d are read", l.Length, longestLine)
	} else if made, err = w.format.Convert(l.Text); err == nil && len(made) == 0 {
		err = Skip("left out by the format")
	}
	if err != nil {
		made = []Event{BadEvent(Position{}, l.Text, err)}
	}
	if w.format.ID != nil && made[0].UUID == uuid.Nil && !l.Long {
		made[0].UUID = w.format.ID(l.Text)
	}
	return made
}
