package history

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/engine"
	"github.com/hogapi/hogapi/internal/inside"
	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/pages"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// Source yields the events of an import in a fixed order, oldest first.
//
// A source that wraps another source should have a method Unwrap() Source; a source that wraps several should
// have a method Unwrap() []Source. The import then finds the files that are read, checks them when it resumes,
// and refuses them as checkpoint or reject file.
type Source interface {
	// Name identifies the source in the checkpoint. It must be the same in every run of an import.
	Name() string
	// Events yields the events after a position; the zero position is the start. Every run must yield the same
	// events at the same positions in the same order. An error ends the import; it must be the last value. The
	// import reads the maps and raw bytes of an event before it asks for the next event. A run that resumes stops
	// before it sends anything if the first event is not after the position: with its Key, the Offset must be greater.
	//
	// Import calls Events on a separate goroutine. Events must return when ctx ends; if it does not, the goroutine
	// remains after Import has returned.
	Events(ctx context.Context, after event.Position) iter.Seq2[event.Event, error]
}

// Func returns a source with the given name that calls a function for its events.
func Func(name string, events func(ctx context.Context, after event.Position) iter.Seq2[event.Event, error]) Source {
	return funcSource{name, events}
}

type funcSource struct {
	name   string
	events func(context.Context, event.Position) iter.Seq2[event.Event, error]
}

func (s funcSource) Name() string { return s.name }

func (s funcSource) Events(ctx context.Context, after event.Position) iter.Seq2[event.Event, error] {
	return s.events(ctx, after)
}

// fileSource is a source with positions in files that can be recognized.
type fileSource interface {
	files() []string
	fingerprint(at event.Position) lines.Fingerprint
}

// growingSource is a source of files that others can be added to, at the end.
type growingSource interface {
	Source
	hasGrown(from string) bool // its first files alone have this name
}

// growing returns the source of files under the name of a source, or nil if the source is a sorted one, or one of
// several.
func growing(s Source) growingSource {
	if read, ok := unwrap[growingSource](s); ok && s.Name() == read.Name() {
		return read
	}
	return nil
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
	if outgoing.IsNil(source) {
		return false
	}
	if outer, ok := source.(interface{ Unwrap() Source }); ok {
		return canBeRead(outer.Unwrap())
	}
	return true
}

func filesOf(s Source) []string {
	if read, ok := unwrap[fileSource](s); ok {
		return read.files()
	}
	return nil
}

// sourceNotes carry facts between a run of an import and the sources of this package. They are in the context,
// because it reaches sources within any other source, even a function without Unwrap, and belongs to one run:
// several runs can read a source at once.
type sourceNotes struct {
	isCheck        bool          // nothing is sent
	isDirect       bool          // and nobody sees the events of the source before
	verifyArchives int64         // see Options.VerifyArchiveBytes
	resumed        *engine.Saved // of the run before; may be nil
	to             warner        // may be nil
}

// warner counts a warning that is not about a single event.
type warner interface {
	Warn(w event.Warning, text string)
}

type sourceNotesKey struct{}

func (n *sourceNotes) in(ctx context.Context) context.Context {
	return context.WithValue(ctx, sourceNotesKey{}, n)
}

// Copied implements lines.Copies.
func (n *sourceNotes) Copied(name, earlier string) {
	if n.to != nil {
		n.to.Warn(event.WarningSameContent, fmt.Sprintf("%s begins with the same 64 KiB as %s: if it is a copy, leave it out, since its events get other uuids",
			mask.Shown(name), mask.Shown(earlier)))
	}
}

// readOnly returns the context of a read of a source that sends nothing. The warner may be nil.
func readOnly(ctx context.Context, isDirect bool, to warner) context.Context {
	return (&sourceNotes{isCheck: true, isDirect: isDirect, verifyArchives: -1, to: to}).in(ctx)
}

const defaultVerifyArchives = 1 << 30

func notesOf(ctx context.Context) *sourceNotes {
	if n, ok := ctx.Value(sourceNotesKey{}).(*sourceNotes); ok {
		return n
	}
	return &sourceNotes{verifyArchives: defaultVerifyArchives}
}

// Map returns a source that applies a mapping to each event of another source. The mapping returns the
// events to send instead, usually one. They get the Position of the record. An event without a UUID gets one
// that is derived from the record's Origin.
//
// The mapping must be a pure function: in every run it must return the same events for the same event. To leave
// a record out, it returns the error of [Skip], which has the reason for the receipt, or no events. Any other
// error makes the record a reject. The mapping does not get bad records. The maps and raw bytes of an event are
// valid until the mapping returns for the next event.
func Map(source Source, mapping func(event.Event) ([]event.Event, error)) Source {
	return mapSource{"", source, mapping}
}

// MapAs is [Map] with a text that names the mapping and its settings, such as "without visits of
// employees". The text is part of the source's name, so an import does not resume with another mapping.
func MapAs(settings string, source Source, mapping func(event.Event) ([]event.Event, error)) Source {
	return mapSource{settings, source, mapping}
}

type mapSource struct {
	settings string
	source   Source
	mapping  func(event.Event) ([]event.Event, error)
}

func (s mapSource) Name() string { return s.prefix() + s.source.Name() }

func (s mapSource) prefix() string {
	if s.settings == "" {
		return ""
	}
	return s.settings + ": "
}

// hasGrown implements growingSource.
func (s mapSource) hasGrown(from string) bool {
	from, isSame := strings.CutPrefix(from, s.prefix())
	read := growing(s.source)
	return isSame && read != nil && read.hasGrown(from)
}

func (s mapSource) Unwrap() Source { return s.source }

func (s mapSource) Events(ctx context.Context, after event.Position) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		for ev, err := range s.source.Events(ctx, after) {
			if from := ev.Inside(inside.Key{}); err != nil || from.Bad != nil || from.IsFinal {
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

func (s mapSource) mapped(ev event.Event) []event.Event {
	from := *ev.Inside(inside.Key{})
	events, err := s.mapping(ev)
	if err == nil && len(events) == 0 {
		err = Skip("left out by the mapping")
	}
	if err != nil {
		events = []event.Event{event.Bad(event.Position{}, from.Record, err)}
		events[0].UUID = ev.UUID
	}
	for i := range events {
		made := &events[i]
		if i > 0 && made.UUID == ev.UUID {
			made.UUID = uuid.Nil // two events, two uuids
		}
		made.Position, made.Origin = ev.Position, originOf(&ev)
		own := made.Inside(inside.Key{})
		own.Provenance = from.Provenance
		own.NeedsMapping, own.IsMapped, own.Number = false, true, numberOfChild(&from.Provenance, i)
	}
	return events
}

// numberOfChild returns the number of the i-th event that a mapping makes of one, or 0 if it is counted later.
func numberOfChild(of *inside.Provenance, i int) uint64 {
	if of.Number == 0 && !of.IsLoose {
		return 0
	}
	return wire.NthChild(of.Number, i)
}

func originOf(ev *event.Event) event.Position {
	if ev.Origin.IsZero() {
		return ev.Position
	}
	return ev.Origin
}

// Skip returns the error with which a mapping leaves a record out on purpose: see [Map].
func Skip(reason string) error { return &event.SkipError{Reason: reason} }

// Concat returns a source that reads several sources, one after another. So one import, with one ID, one
// checkpoint and one receipt, sends the events of all. An event has the same uuid as in an import of its source
// alone with the same ID. Sources that derive uuids from positions must not share positions: for example, two
// [JSONLines] sources must not have files of the same base name.
//
// A position of the returned source is the position in the inner source, with the number of that source before
// the key, such as "2:a.jsonl".
func Concat(sources ...Source) Source { return &concat{slices.Clone(sources)} }

type concat struct{ sources []Source }

func (c *concat) Name() string {
	names := make([]string, len(c.sources))
	for i, s := range c.sources {
		names[i] = s.Name()
	}
	return strings.Join(names, " + ")
}

func (c *concat) Unwrap() []Source { return c.sources }

func (c *concat) files() (all []string) {
	for _, s := range c.sources {
		all = append(all, filesOf(s)...)
	}
	return all
}

func (c *concat) fingerprint(at event.Position) lines.Fingerprint {
	if i, inner, ok := c.inside(at); ok {
		if s, ok := unwrap[fileSource](c.sources[i]); ok {
			return s.fingerprint(inner)
		}
	}
	return lines.Fingerprint{}
}

// inside returns the source that a position is in, and the position there.
func (c *concat) inside(at event.Position) (i int, inner event.Position, ok bool) {
	if at.IsZero() {
		return 0, at, true
	}
	number, key, ok := strings.Cut(at.Key, ":")
	n, err := strconv.Atoi(number)
	if !ok || err != nil || n < 1 || n > len(c.sources) {
		return 0, at, false
	}
	return n - 1, event.Position{Key: key, Offset: at.Offset}, true
}

func (c *concat) Events(ctx context.Context, after event.Position) iter.Seq2[event.Event, error] {
	if err := c.check(); err != nil {
		return pages.Failed[event.Event](err)
	}
	first, inner, ok := c.inside(after)
	if !ok {
		return pages.Failed[event.Event](fmt.Errorf("there is no position %s in these sources", after))
	}
	return func(yield func(event.Event, error) bool) {
		var numbers wire.Numbering // code that keeps or sorts the events need not know their records
		begin := inner
		for i, s := range c.sources[first:] {
			prefix := strconv.Itoa(first+i+1) + ":"
			for ev, err := range s.Events(innerNotes(ctx, after, begin), begin) {
				if err == nil {
					from := ev.Inside(inside.Key{})
					from.Number = numbers.Next(ev.Position, originOf(&ev), from.Number)
					ev.Origin = originOf(&ev)
					if !ev.Position.IsZero() {
						ev.Position.Key = prefix + ev.Position.Key
					}
				}
				if !yield(ev, err) || err != nil {
					return
				}
			}
			begin = event.Position{}
		}
	}
}

// innerNotes returns the import's notes for a source within one that is read after a position. The file that
// the import remembers is at its own position: a source that reads from elsewhere, as Sorted does, is not
// compared with it.
func innerNotes(ctx context.Context, after, inner event.Position) context.Context {
	notes := *notesOf(ctx)
	if notes.resumed != nil {
		resumed := *notes.resumed
		if resumed.State.Position != after {
			resumed.File = lines.Fingerprint{}
		}
		resumed.State.Position = inner
		notes.resumed = &resumed
	}
	return notes.in(ctx)
}

// check refuses sources with events that would share uuids.
func (c *concat) check() error {
	known := map[string]int{}
	for i, s := range c.sources {
		if !canBeRead(s) {
			return &hogapi.InputError{Op: ops.Import, Field: "sources", Want: fmt.Sprintf("sources that are not nil: number %d is", i+1)}
		}
		own, ok := unwrap[*jsonLines](s)
		if !ok {
			continue
		}
		for _, name := range own.Names() {
			if other, twice := known[name]; twice && other != i {
				return &hogapi.InputError{Op: ops.Import, Field: "sources", Value: name,
					Want: "files of different base names: uuids are derived from them, so name all files in one JSONLines, which says which to rename"}
			}
			known[name] = i
		}
	}
	return nil
}
