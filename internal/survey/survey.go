// Package survey analyzes all events of a source once, in bounded memory: counts by day and name,
// the number of persons, repeated uuids, and the order of times.
package survey

import (
	"context"
	"hash/maphash"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/estimate"
	"github.com/hogapi/hogapi/internal/ledger"
)

// Event is the survey's view of an event.
type Event struct {
	ID     uuid.UUID
	Name   string
	Person uint64
	Time   time.Time

	Content uint64 // hash of everything sent
	Size    int    // bytes
}

// Word combines two hashes: of the fields by which the service distinguishes events with one uuid,
// and of the content.
func (ev *Event) Word(seed maphash.Seed) ledger.Word {
	const half = 16
	at := uint64(ev.Time.UnixMilli()) // as the service keeps it
	merged := maphash.String(seed, ev.Name) ^ ev.Person*uuidMixFactor ^ at*timeMixFactor
	return ledger.Word(uint32(merged)<<half | uint32(ev.Content>>(64-half)))
}

// Found reports findings about an event relative to earlier ones.
type Found struct {
	IsDouble   bool          // an earlier event has its uuid
	IsConflict bool          // and a different name, person or time
	IsReuse    bool          // and different content with the same name, person and time
	Jump       time.Duration // how much older it is than the previous event; 0 if not
}

// Totals cover all events.
type Totals struct {
	Events         int64
	Bytes          int64
	Largest        int
	Oldest, Newest time.Time
	LargestJump    time.Duration
	WideSpans      int64 // of the runs of 1,000 events, how many span more than a day
	IsPartial      bool  // too many uuids to remember: later ones were compared with the remembered only
}

const (
	maxIDs        = 1_000_000
	spanEvents    = 1000
	uuidMixFactor = 0x9E3779B97F4A7C15
	timeMixFactor = 0xD6E8FEB86659FD93
)

// Survey holds the results so far. Only one goroutine may use it.
type Survey struct {
	totals  Totals
	seed    maphash.Seed
	days    *ledger.Counter
	persons estimate.Distinct
	ids     estimate.Marks[uint32] // with a word for the first event with each uuid
	last    time.Time
	span    span
	inSpan  int
}

// span is the range from the oldest to the newest time. The zero span is empty.
type span struct{ oldest, newest time.Time }

func (s *span) add(at time.Time) {
	if s.oldest.IsZero() || at.Before(s.oldest) {
		s.oldest = at
	}
	if at.After(s.newest) {
		s.newest = at
	}
}

// New returns an empty Survey. The seed is for the hashes of persons.
func New(seed maphash.Seed) *Survey {
	return &Survey{seed: seed, days: ledger.NewCounter(), ids: estimate.Marks[uint32]{Most: maxIDs}}
}

// Add analyzes an event.
func (s *Survey) Add(ev Event) (found Found) {
	s.totals.Events++
	s.totals.Bytes += int64(ev.Size)
	s.totals.Largest = max(s.totals.Largest, ev.Size)
	s.days.Count(ev.Name, ev.Time)
	s.persons.Add(ev.Person)
	word := ev.Word(s.seed)
	was, known, kept := s.ids.Add(ledger.MarkOf(ev.ID), uint32(word))
	s.totals.IsPartial = s.totals.IsPartial || !kept
	if found.IsDouble = known; known {
		found.IsConflict, found.IsReuse = word.Compare(ledger.Word(was))
	}
	found.Jump = s.addTime(ev.Time)
	return found
}

func (s *Survey) addTime(at time.Time) (back time.Duration) {
	all := span{s.totals.Oldest, s.totals.Newest}
	all.add(at)
	s.totals.Oldest, s.totals.Newest = all.oldest, all.newest
	if !s.last.IsZero() {
		back = max(s.last.Sub(at), 0)
	}
	s.totals.LargestJump = max(s.totals.LargestJump, back)
	s.last = at
	s.span.add(at)
	if s.inSpan++; s.inSpan == spanEvents {
		s.endSpan()
	}
	return back
}

func (s *Survey) endSpan() {
	if s.span.newest.Sub(s.span.oldest) > 24*time.Hour {
		s.totals.WideSpans++
	}
	s.span, s.inSpan = span{}, 0
}

// Totals returns the totals so far. It counts a run that is still open, so call it once.
func (s *Survey) Totals() Totals {
	s.endSpan()
	return s.totals
}

// Persons returns the approximate number of persons.
func (s *Survey) Persons() int64 { return s.persons.Count() }

// Days returns the counts by day and name.
func (s *Survey) Days() []ledger.Row { return s.days.Rows() }

// Watch gets what a check reads, in the order of the files. It has functions, because a check cannot call the packages above
// it, and most of them watch either records or events. Each may be nil.
type Watch struct {
	// Record gets a record and what its format made of it.
	Record func(record []byte, events []event.Event, err error)
	// Event gets an event that would be sent. isCopy means that an earlier event has its uuid, and that the service stores
	// both as one.
	Event func(ev *event.Event, isCopy bool)
}

type watchKey struct{}

// Watches are called one after another.
type Watches []Watch

// Watched returns a context for a check with a Watch. The one that ctx has already is called before.
func Watched(ctx context.Context, w Watch) context.Context {
	return context.WithValue(ctx, watchKey{}, append(slices.Clone(WatchesOf(ctx)), w))
}

// WatchesOf returns the Watches of a context.
func WatchesOf(ctx context.Context) Watches {
	list, _ := ctx.Value(watchKey{}).(Watches)
	return list
}

// Record calls each Watch with a record.
func (list Watches) Record(record []byte, events []event.Event, err error) {
	for _, w := range list {
		if w.Record != nil {
			w.Record(record, events, err)
		}
	}
}

// Event calls each Watch with an event.
func (list Watches) Event(ev *event.Event, isCopy bool) {
	for _, w := range list {
		if w.Event != nil {
			w.Event(ev, isCopy)
		}
	}
}
