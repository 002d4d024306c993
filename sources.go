package hogapi

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/pages"
	"github.com/hogapi/hogapi/internal/resume"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// Source yields the events of an import in a fixed order, oldest first.
//
// A source that wraps another one should have a method Unwrap() Source, and one that wraps several Unwrap()
// []Source. The import then finds the files that are read, and refuses them as checkpoint or reject file.
type Source interface {
	// Name identifies the source in the checkpoint. It is the same for every run of an import.
	Name() string
	// Events yields the events after a position; the zero position is the start. Every run must yield the same
	// events at the same positions in the same order. An error is fatal and comes last. The import reads an
	// event's maps and raw bytes before it asks for the next event.
	//
	// Import calls Events on a goroutine of its own. Events must return when ctx ends: otherwise Import leaves
	// the goroutine behind when it returns.
	Events(ctx context.Context, after Position) iter.Seq2[Event, error]
}

// SourceFunc returns a source that is a function.
func SourceFunc(name string, events func(ctx context.Context, after Position) iter.Seq2[Event, error]) Source {
	return funcSource{name, events}
}

type funcSource struct {
	name   string
	events func(context.Context, Position) iter.Seq2[Event, error]
}

func (s funcSource) Name() string { return s.name }

func (s funcSource) Events(ctx context.Context, after Position) iter.Seq2[Event, error] {
	return s.events(ctx, after)
}

// noEvents returns the events of a source that cannot be read: one error.
func noEvents(err error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { yield(Event{}, err) }
}

// fileSource is a source with positions in files that can be recognized.
type fileSource interface {
	files() []string
	fingerprint(at Position) lines.Fingerprint
}

// growingSource is a source of files that others can be added to, at the end.
type growingSource interface {
	Source
	hasGrown(from string) bool // its first files alone have this name
}

// unwrap finds a source of some type, in the source itself or in the sources that it wraps.
func unwrap[T any](s Source) (found T, ok bool) {
	if found, ok = s.(T); ok {
		return found, true
	}
	switch outer := s.(type) {
	case interface{ Unwrap() Source }:
		return unwrap[T](outer.Unwrap())
	case interface{ Unwrap() []Source }:
		for _, inner := range outer.Unwrap() {
			if found, ok = unwrap[T](inner); ok {
				return found, true
			}
		}
	}
	return found, false
}

// canBeRead reports whether the source itself, and the sources that it wraps, have a function to read.
func canBeRead(source Source) bool {
	switch s := source.(type) {
	case funcSource:
		return s.events != nil
	case mapSource:
		return s.mapping != nil && canBeRead(s.source)
	case *concat:
		return len(s.sources) > 0 && !slices.ContainsFunc(s.sources, func(inner Source) bool { return !canBeRead(inner) })
	}
	if isNil(source) {
		return false
	}
	if outer, ok := source.(interface{ Unwrap() Source }); ok {
		return canBeRead(outer.Unwrap())
	}
	return true
}

// filesOf returns the files that a source reads.
func filesOf(s Source) []string {
	if read, ok := unwrap[fileSource](s); ok {
		return read.files()
	}
	return nil
}

func readsFiles(s Source) bool {
	_, ok := unwrap[fileSource](s)
	return ok
}

// sourceNotes carry facts between an import and the sources of this package. They travel in the context, past
// the sources that wrap these.
type sourceNotes struct {
	isCheck        bool        // nothing is sent
	verifyArchives int64       // see ImportOptions.VerifyArchiveBytes
	resumed        *savedState // of the run before; may be nil
	warn           func(w Warning, text string)
}

type sourceNotesKey struct{}

// savedState is the content of a checkpoint.
type savedState = resume.Saved[wire.Origin]

const defaultVerifyArchives = 1 << 30

func notesOf(ctx context.Context) *sourceNotes {
	if n, ok := ctx.Value(sourceNotesKey{}).(*sourceNotes); ok {
		return n
	}
	return &sourceNotes{verifyArchives: defaultVerifyArchives, warn: func(Warning, string) {}}
}

// MapSource returns a source that applies a function to each event of another source. The function returns the
// events of the record, usually one. An event that it returns gets the Position of the record, and an event
// without a UUID gets a uuid derived from the record's Origin.
//
// The function must be pure: in every run it must make the same events of the same event. [Skip] as its error
// leaves the record out, and the receipt counts it by the reason. No events without an error leave it out too,
// with a reason of this package. Any other error makes the record a reject. Bad records of the source are not
// mapped. The maps and raw bytes of the event are valid until the function returns the next time.
func MapSource(source Source, mapping func(Event) ([]Event, error)) Source {
	return mapSource{source, mapping}
}

type mapSource struct {
	source  Source
	mapping func(Event) ([]Event, error)
}

func (s mapSource) Name() string { return s.source.Name() }

// Unwrap returns the source that is mapped.
func (s mapSource) Unwrap() Source { return s.source }

func (s mapSource) Events(ctx context.Context, after Position) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for ev, err := range s.source.Events(ctx, after) {
			if err != nil || ev.bad != nil || ev.isFinal {
				if !yield(ev, err) || err != nil {
					return
				}
				continue
			}
			for _, mapped := range s.mapped(ev) {
				if !yield(mapped, nil) {
					return
				}
			}
		}
	}
}

// mapped returns the events that the mapping makes of one.
func (s mapSource) mapped(ev Event) []Event {
	ev.noted = nil // the mapping may change the properties
	events, err := s.mapping(ev)
	if err == nil && len(events) == 0 {
		err = Skip("left out by the mapping")
	}
	if err != nil {
		events = []Event{BadEvent(Position{}, ev.from.Record, err)}
		events[0].UUID = ev.UUID
	}
	for i := range events {
		made := &events[i]
		if i > 0 && made.UUID == ev.UUID {
			made.UUID = uuid.Nil // two events, two uuids
		}
		made.Position, made.Origin = ev.Position, ev.origin()
		made.from, made.needsMapping, made.isLoose = ev.from, false, ev.isLoose
		made.from.IsMapped, made.from.Number = true, ev.numberOfChild(i)
	}
	return events
}

// PagedSource returns a source that reads page after page with a function, such as rows of a table or answers
// of an API. The function gets the zero position first, then the upTo of the page before; a run that resumes
// begins with the position of an event. It returns the events after that position, oldest first, and the
// position where the next page begins. To end, return no events and the zero position, or the position you were
// given. An error is fatal, and so are pages that go in circles.
//
// Every event needs a Position, such as the unique key of its row, from where read can continue. Pages are cut
// where that key is cut: order by it or, if keys are not in the order of time, order by time and key and put
// both into the Position. A query that continues after an id and orders by time skips rows, and this package
// cannot see it. If each event of a page has a UUID of its own, or is a [BadEvent], all of them may have no
// Position: they get the upTo of their page, and the page is one record, which is read again after a stop.
//
//	read := func(ctx context.Context, after hogapi.Position) ([]hogapi.Event, hogapi.Position, error) {
//		// SELECT … FROM orders WHERE id > after.Offset ORDER BY id LIMIT 1000
//	}
//	source := hogapi.PagedSource("orders", read)
func PagedSource(name string, read func(ctx context.Context, after Position) (events []Event, upTo Position, err error)) Source {
	if read == nil {
		return SourceFunc(name, nil) // the import refuses it
	}
	keyOf := func(ev *Event) (key *Position, isFree bool) {
		return &ev.Position, ev.UUID != uuid.Nil || ev.bad != nil
	}
	return SourceFunc(name, pages.Keyed[Event, Position]{Read: read, KeyOf: keyOf}.All)
}

// Concat returns one source that reads several, one after the other: one import, with one ID, one checkpoint
// and one receipt. An event has the same uuid as in an import of its source alone with the same ID. Sources
// that derive uuids from their positions must not share positions, so [JSONLinesFile] may read files of one
// base name in one of them only.
//
// A position is the position in the source, with the number of the source before the key, such as "2:a.jsonl".
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

// fingerprint implements fileSource.
func (c *concat) fingerprint(at Position) lines.Fingerprint {
	i, inner, ok := c.inside(at)
	if !ok {
		return lines.Fingerprint{}
	}
	if s, ok := unwrap[fileSource](c.sources[i]); ok {
		return s.fingerprint(inner)
	}
	return lines.Fingerprint{}
}

// inside returns the source that a position is in, and the position there.
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
	if err := c.check(); err != nil {
		return noEvents(err)
	}
	first, inner, ok := c.inside(after)
	if !ok {
		return noEvents(fmt.Errorf("there is no position %s in these sources", after))
	}
	return func(yield func(Event, error) bool) {
		var numbers wire.Numbering // code that keeps or sorts the events need not know their records
		begin := inner
		for i, s := range c.sources[first:] {
			prefix := strconv.Itoa(first+i+1) + ":"
			for ev, err := range s.Events(innerNotes(ctx, after, begin), begin) {
				if err == nil {
					ev.from.Number = numbers.Next(wire.Origin(ev.Position), wire.Origin(ev.origin()), ev.from.Number)
					ev.Origin = ev.origin()
					if !ev.Position.IsZero() {
						ev.Position.Key = prefix + ev.Position.Key
					}
				}
				if !yield(ev, err) || err != nil {
					return
				}
			}
			begin = Position{}
		}
	}
}

// innerNotes returns the import's notes for a source within one that is read after a position. The file that
// the import remembers is at its own position: a source that reads from elsewhere, as Sorted does, is not
// compared with it.
func innerNotes(ctx context.Context, after, inner Position) context.Context {
	notes := *notesOf(ctx)
	if notes.resumed != nil {
		resumed := *notes.resumed
		if resumed.State.Place != wire.Origin(after) {
			resumed.File = lines.Fingerprint{}
		}
		resumed.State.Place = wire.Origin(inner)
		notes.resumed = &resumed
	}
	return context.WithValue(ctx, sourceNotesKey{}, &notes)
}

// check refuses sources with events that would share uuids.
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
		for _, name := range own.Names() {
			if other, twice := known[name]; twice && other != i {
				return &InputError{Op: ops.Import, Field: "sources", Value: name,
					Want: "files of different base names: uuids are derived from them, so name all files in one JSONLinesFile, which says which to rename"}
			}
			known[name] = i
		}
	}
	return nil
}
