package hogapi

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// Concat makes one source of several, which are read one after the other: one import, with one ID, one
// checkpoint and one receipt. An event has the uuid that it has where its source is imported alone with
// the same ID. Sources whose uuids are derived from their positions must not share positions, so
// [JSONLinesFile] may read files of one base name in one of them only.
//
// A position is that in the source, with the number of the source before the key, such as "2:a.jsonl".
func Concat(sources ...Source) Source { return &concat{slices.Clone(sources)} }

type concat struct{ sources []Source }

// Name implements Source.
func (c *concat) Name() string {
	names := make([]string, len(c.sources))
	for i, s := range c.sources {
		names[i] = s.Name()
	}
	return strings.Join(names, " + ")
}

// Unwrap returns the sources.
func (c *concat) Unwrap() []Source { return c.sources }

// files implements fileSource.
func (c *concat) files() (all []string) {
	for _, s := range c.sources {
		all = append(all, filesOf(s)...)
	}
	return all
}

// fingerprint implements fingerprinter.
func (c *concat) fingerprint(at Position) lines.Fingerprint {
	i, inner, ok := c.inside(at)
	if !ok {
		return lines.Fingerprint{}
	}
	if s, ok := unwrap[fingerprinter](c.sources[i]); ok {
		return s.fingerprint(inner)
	}
	return lines.Fingerprint{}
}

// inside is the source that a position is in, and the position there.
func (c *concat) inside(at Position) (i int, inner Position, ok bool) {
	if at.IsZero() {
		return 0, at, true
	}
	number, key, ok := strings.Cut(at.Key, ":")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 || n > len(c.sources) {
		return 0, at, false
	}
	return n - 1, Position{Key: key, Offset: at.Offset}, true
}

// Events implements Source.
func (c *concat) Events(ctx context.Context, after Position) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := c.check(); err != nil {
			yield(Event{}, err)
			return
		}
		first, inner, ok := c.inside(after)
		if !ok {
			yield(Event{}, fmt.Errorf("there is no position %s in these sources", after))
			return
		}
		var numbers wire.Numbering // so that whoever keeps or sorts the events need not know which are of one record
		for i, s := range c.sources[first:] {
			prefix := strconv.Itoa(first+i+1) + ":"
			for ev, err := range s.Events(innerNotes(ctx, i == 0, inner), inner) {
				if err == nil {
					ev.number = numbers.Next(wire.Origin(ev.Position), wire.Origin(ev.origin()), ev.number)
					ev.Origin = ev.origin()
					if !ev.Position.IsZero() {
						ev.Position.Key = prefix + ev.Position.Key
					}
				}
				if !yield(ev, err) || err != nil {
					return
				}
			}
			inner = Position{}
		}
	}
}

// innerNotes are the import's notes for a source: the one that the import resumes in is resumed.
func innerNotes(ctx context.Context, isFirst bool, at Position) context.Context {
	notes := *notesOf(ctx)
	switch {
	case notes.resumed == nil:
	case isFirst:
		resumed := *notes.resumed
		resumed.State.Place = at
		notes.resumed = &resumed
	default:
		notes.resumed = nil
	}
	return context.WithValue(ctx, sourceNotesKey{}, &notes)
}

// check refuses sources whose events would share uuids.
func (c *concat) check() error {
	known := map[string]int{}
	for i, s := range c.sources {
		if !canBeRead(s) {
			return &InputError{Op: ops.Import, Field: "sources", Want: fmt.Sprintf("sources that are not nil: number %d is", i+1)}
		}
		own, ok := unwrap[*jsonLines](s)
		if !ok {
			continue
		}
		for _, name := range own.read.Names() {
			if other, twice := known[name]; twice && other != i {
				return &InputError{Op: ops.Import, Field: "sources", Value: name,
					Want: "files of different base names: uuids are derived from them, so name all files in one JSONLinesFile, which says which to rename"}
			}
			known[name] = i
		}
	}
	return nil
}
