// Package survey analyzes all events of a source once, in bounded memory: counts by day and name,
// the number of persons, repeated uuids, and the order of times.
package survey

import (
	"encoding/binary"
	"hash/maphash"
	"time"

	"github.com/google/uuid"

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

// word combines two hashes for the first event with a uuid: of the fields by which the service
// distinguishes events with one uuid, and of the content.
func (ev *Event) word(seed maphash.Seed) uint32 {
	const secondsOfADay, half = 24 * 60 * 60, 16
	day := ev.Time.Truncate(24*time.Hour).Unix() / secondsOfADay
	merged := maphash.String(seed, ev.Name) ^ ev.Person*uuidMixFactor ^ uint64(day)*dayMixFactor
	return uint32(merged)<<half | uint32(ev.Content>>(64-half))
}

// compare says how two events with one uuid differ.
func compare(was, is uint32) (isConflict, isReuse bool) {
	const half = 16
	isConflict = was>>half != is>>half
	return isConflict, !isConflict && was != is
}

func markOf(id uuid.UUID) uint64 {
	return binary.BigEndian.Uint64(id[:8])*uuidMixFactor ^ binary.BigEndian.Uint64(id[8:])
}

// Found reports findings about an event relative to earlier ones.
type Found struct {
	IsDouble   bool          // an earlier event has its uuid
	IsConflict bool          // and a different name, person or day
	IsReuse    bool          // and different content with the same name, person and day
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
	mostIDs       = 1_000_000
	spanEvents    = 1000
	uuidMixFactor = 0x9E3779B97F4A7C15
	dayMixFactor  = 0xD6E8FEB86659FD93
)

// Survey holds the results so far. Only one goroutine may use it.
type Survey struct {
	totals  Totals
	seed    maphash.Seed
	days    *ledger.Counter
	persons estimate.Distinct
	ids     estimate.Marks // with a word for the first event with each uuid
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
	return &Survey{seed: seed, days: ledger.NewCounter(), ids: estimate.Marks{Most: mostIDs}}
}

// Add analyzes an event.
func (s *Survey) Add(ev Event) (found Found) {
	s.totals.Events++
	s.totals.Bytes += int64(ev.Size)
	s.totals.Largest = max(s.totals.Largest, ev.Size)
	s.days.Count(ev.Name, ev.Time)
	s.persons.Add(ev.Person)
	was, known, kept := s.ids.Add(markOf(ev.ID), ev.word(s.seed))
	s.totals.IsPartial = s.totals.IsPartial || !kept
	if found.IsDouble = known; known {
		found.IsConflict, found.IsReuse = compare(was, ev.word(s.seed))
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

// Recent compares each event with recent events of the same uuid. It remembers the last mostRecent
// to 2*mostRecent uuids. Only one goroutine may use it. Its zero value with a seed is ready.
type Recent struct {
	Seed maphash.Seed

	now, before estimate.Marks
}

const mostRecent = 100_000

// Add says how an event differs from the first one with its uuid.
func (r *Recent) Add(ev Event) (isConflict, isReuse bool) {
	mark, word := markOf(ev.ID), ev.word(r.Seed)
	if was, known := r.before.Word(mark); known {
		return compare(was, word)
	}
	r.now.Most = mostRecent
	was, known, kept := r.now.Add(mark, word)
	if !kept {
		r.before, r.now = r.now, r.before
		r.now.Clear()
		r.now.Most = mostRecent
		r.now.Add(mark, word)
	}
	if !known {
		return false, false
	}
	return compare(was, word)
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
