// Package survey looks at all events of a source once, in memory that does not grow with it: how many there
// are by day and name, how many persons, which uuids come twice, and how time runs.
package survey

import (
	"encoding/binary"
	"hash/maphash"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/estimate"
	"github.com/hogapi/hogapi/internal/ledger"
)

// Event is what counts of an event.
type Event struct {
	ID     uuid.UUID
	Name   string
	Person uint64
	Time   time.Time

	Content uint64 // a hash of all that is sent of it
	Size    int    // bytes
}

// word is a hash of what the first event of a uuid was: its upper half of what the service tells events of
// one uuid apart by, its lower half of the content.
func (ev *Event) word(seed maphash.Seed) uint32 {
	merged := maphash.Comparable(seed, struct {
		name   string
		person uint64
		day    int64
	}{ev.Name, ev.Person, ev.Time.Truncate(24 * time.Hour).Unix()})
	const half = 16
	return uint32(merged)<<half | uint32(ev.Content>>(64-half))
}

// compare says how two events of one uuid differ.
func compare(was, is uint32) (isConflict, isReuse bool) {
	const half = 16
	isConflict = was>>half != is>>half
	return isConflict, !isConflict && was != is
}

func markOf(id uuid.UUID) uint64 {
	return binary.BigEndian.Uint64(id[:8])*uuidMixFactor ^ binary.BigEndian.Uint64(id[8:])
}

// Found is what is special about an event, compared with those before it.
type Found struct {
	IsDouble   bool          // an earlier event has its uuid
	IsConflict bool          // and another name, person or day
	IsReuse    bool          // and another content, of the same name, person and day
	Jump       time.Duration // how much older it is than the one before; 0: it is not
}

// Totals are over all events.
type Totals struct {
	Events         int64
	Bytes          int64
	Largest        int
	Oldest, Newest time.Time
	LargestJump    time.Duration
	WideSpans      int64 // of each thousand events in a row, how often they span more than a day
	IsPartial      bool  // more uuids than are remembered: those after them were compared with these only
}

const (
	mostIDs       = 1_000_000
	spanEvents    = 1000
	uuidMixFactor = 0x9E3779B97F4A7C15
)

// Survey is what was seen so far. It is for one goroutine.
type Survey struct {
	totals  Totals
	seed    maphash.Seed
	days    *ledger.Counter
	persons estimate.Distinct
	ids     estimate.Marks // with what the first event of each uuid is
	last    time.Time
	span    span
	inSpan  int
}

// span is a time from its oldest to its newest event. Zero, it has none yet.
type span struct{ oldest, newest time.Time }

func (s *span) add(at time.Time) {
	if s.oldest.IsZero() || at.Before(s.oldest) {
		s.oldest = at
	}
	if at.After(s.newest) {
		s.newest = at
	}
}

// New is an empty Survey. The hashes of persons are of the seed.
func New(seed maphash.Seed) *Survey {
	return &Survey{seed: seed, days: ledger.NewCounter(), ids: estimate.Marks{Most: mostIDs}}
}

// Add looks at an event.
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

// Recent compares events with those of the same uuid among the last ones: as many as it remembers, up to
// twice that. It is for one goroutine. Its zero value with a seed is ready to use.
type Recent struct {
	Seed maphash.Seed

	now, before estimate.Marks
}

const mostRecent = 100_000

// Add says how an event differs from the first one of its uuid.
func (r *Recent) Add(ev Event) (isConflict, isReuse bool) {
	mark, word := markOf(ev.ID), ev.word(r.Seed)
	if was, known := r.before.Word(mark); known {
		return compare(was, word)
	}
	r.now.Most = mostRecent
	was, known, kept := r.now.Add(mark, word)
	if !kept {
		r.before, r.now = r.now, estimate.Marks{Most: mostRecent}
		r.now.Add(mark, word)
	}
	if !known {
		return false, false
	}
	return compare(was, word)
}

// Totals are those of all events so far. An open span counts too, so it is to be called once.
func (s *Survey) Totals() Totals {
	s.endSpan()
	return s.totals
}

// Persons is about how many there are.
func (s *Survey) Persons() int64 { return s.persons.Count() }

// Days are the events by day and name.
func (s *Survey) Days() []ledger.Row { return s.days.Rows() }
