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
	Size   int // bytes
}

// Found is what is special about an event, compared with those before it.
type Found struct {
	IsDouble   bool          // an earlier event has its uuid
	IsConflict bool          // and another name, person or day
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
	found.IsDouble, found.IsConflict = s.addID(ev)
	found.Jump = s.addTime(ev.Time)
	return found
}

func (s *Survey) addID(ev Event) (isDouble, isConflict bool) {
	mark := binary.BigEndian.Uint64(ev.ID[:8])*uuidMixFactor ^ binary.BigEndian.Uint64(ev.ID[8:])
	is := uint32(maphash.Comparable(s.seed, struct {
		name   string
		person uint64
		day    int64
	}{ev.Name, ev.Person, ev.Time.Truncate(24 * time.Hour).Unix()}))
	was, known, kept := s.ids.Add(mark, is)
	s.totals.IsPartial = s.totals.IsPartial || !kept
	return known, known && was != is
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

// Totals are those of all events so far. An open span counts too, so it is to be called once.
func (s *Survey) Totals() Totals {
	s.endSpan()
	return s.totals
}

// Persons is about how many there are.
func (s *Survey) Persons() int64 { return s.persons.Count() }

// Days are the events by day and name.
func (s *Survey) Days() []ledger.Row { return s.days.Rows() }
