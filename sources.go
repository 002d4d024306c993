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

// Source gives the events of an import in a fixed order, oldest first.
//
// A source that wraps another one should have a method Unwrap() Source, and one that wraps several
// Unwrap() []Source: so the import finds the files that are read, and keeps checkpoint and reject file
// out of them.
type Source interface {
	// Name identifies the source in the checkpoint: the same for every run of an import.
	Name() string
	// Events gives the events after a position, the zero one being the start. Every run gives the same
	// events at the same positions in the same order. An error is fatal and comes last. An event's maps
	// and raw bytes are read before the next event is asked for.
	//
	// Import calls it on a goroutine of its own. When ctx ends it must return: one that does
	// not is left behind in its goroutine when the import returns.
	Events(ctx context.Context, after Position) iter.Seq2[Event, error]
}

// SourceFunc makes a source of a function.
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

// noEvents are the events of a source that cannot be read.
func noEvents(err error) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) { yield(Event{}, err) }
}

// fileSource is a source whose places are in files that can be recognized.
type fileSource interface {
	files() []string
	fingerprint(at Position) lines.Fingerprint
}

// growingSource is a source of files that others can be added to, at the end.
type growingSource interface {
	Source
	hasGrown(from string) bool // its first files alone have this name
}

// unwrap finds a source of some kind, in the source itself or in those that it wraps.
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

// canBeRead reports whether there is a function to read, in the source itself and in those that it wraps.
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

// filesOf are the files that a source reads.
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

// sourceNotes is what an import has to say to the sources of this package, and they to it. It travels
// in the context, past the sources that wrap them.
type sourceNotes struct {
	isCheck    bool        // nothing is sent
	verifyGzip int64       // see ImportOptions.VerifyGzip
	resumed    *savedState // of the run before; may be nil
	warn       func(w Warning, text string)
}

type sourceNotesKey struct{}

// savedState is what a checkpoint holds.
type savedState = resume.Saved[wire.Origin]

const defaultVerifyGzip = 1 << 30

func notesOf(ctx context.Context) *sourceNotes {
	if n, ok := ctx.Value(sourceNotesKey{}).(*sourceNotes); ok {
		return n
	}
	return &sourceNotes{verifyGzip: defaultVerifyGzip, warn: func(Warning, string) {}}
}

// MapSource makes a source of another one by a function that is given each of its events: it returns
// the events of the record, usually one. An event that it returns gets the position of the record, and
// one without a UUID gets a uuid derived from the record's place.
//
// The function must be pure: every run must make the same of the same event. [Skip] as its error leaves
// the record out, and the receipt counts it by the reason. No events without an error leave it out too,
// with a reason of this package. Any other error makes the record a reject. Bad records of the source are not mapped. The maps and raw bytes of
// the event are valid until the function returns the next time.
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

// mapped is what becomes of an event.
func (s mapSource) mapped(ev Event) []Event {
	ev.noted = nil // of properties that may change
	events, err := s.mapping(ev)
	if err == nil && len(events) == 0 {
		err = Skip("left out by the mapping")
	}
	if err != nil {
		events = []Event{BadEvent(Position{}, ev.record, err)}
		events[0].UUID = ev.UUID
	}
	for i := range events {
		made := &events[i]
		if i > 0 && made.UUID == ev.UUID {
			made.UUID = uuid.Nil // two events, two uuids
		}
		made.Position, made.Origin = ev.Position, ev.origin()
		made.record, made.line, made.file, made.place, made.format = ev.record, ev.line, ev.file, ev.place, ev.format
		made.isMapped, made.needsMapping, made.isLoose, made.number = true, false, ev.isLoose, ev.numberOfChild(i)
	}
	return events
}

// PagedSource makes a source of a function that reads page after page: rows of a table, answers of an
// API. It is given the zero position first, then the upTo of the page before; a run that resumes begins
// with the position of an event. It returns the events after that position, oldest first, and where the
// next page begins. There are no more when it returns no event and an upTo that is zero or after itself.
// An error is fatal, and so are pages that go in circles.
//
// Every event needs a Position, such as the unique key of its row, from where read can continue. Pages
// are cut where that key is cut: order by it, or, where keys are not in the order of time, order by time
// and key and put both into the Position. A query that continues after an id and orders by time skips
// rows, and nothing here can see it. Only where each event of a page has a UUID of its own, or is a
// [BadEvent], may they all do without: they get the upTo of their page, and the page is one record, which
// is read again after a stop.
//
//	hogapi.PagedSource("orders", func(ctx context.Context, after hogapi.Position) ([]hogapi.Event, hogapi.Position, error) {
//		// SELECT … FROM orders WHERE id > after.Offset ORDER BY id LIMIT 1000
//	})
func PagedSource(name string, read func(ctx context.Context, after Position) (events []Event, upTo Position, err error)) Source {
	if read == nil {
		return SourceFunc(name, nil) // which is refused
	}
	keyOf := func(ev *Event) (key *Position, isFree bool) {
		return &ev.Position, ev.UUID != uuid.Nil || ev.bad != nil
	}
	return SourceFunc(name, pages.Keyed[Event, Position]{Read: read, KeyOf: keyOf}.All)
}

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
	if err := c.check(); err != nil {
		return noEvents(err)
	}
	first, inner, ok := c.inside(after)
	if !ok {
		return noEvents(fmt.Errorf("there is no position %s in these sources", after))
	}
	return func(yield func(Event, error) bool) {
		var numbers wire.Numbering // so that whoever keeps or sorts the events need not know which are of one record
		begin := inner
		for i, s := range c.sources[first:] {
			prefix := strconv.Itoa(first+i+1) + ":"
			for ev, err := range s.Events(innerNotes(ctx, after, begin), begin) {
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
			begin = Position{}
		}
	}
}

// innerNotes are the import's notes for a source within one that is read after a place. The file that the
// import remembers is the one at its own place: a source that reads from elsewhere, as Sorted does, is not
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
