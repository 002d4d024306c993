package coverage

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/watch"
)

// maxIntervals limits memory: the newest run of each interval is kept.
const maxIntervals = 200_000

// Facts are the relevant facts of a run.
type Facts struct {
	ID       uuid.UUID
	Backfill *uuid.UUID // the cause of the run; nil if unknown
	Interval Span
	Created  time.Time
	Ended    time.Time // or the last change, if it has not ended
	Complete bool      // with all of its rows
	Mark     watch.Mark
}

// Runs holds the newest run of each interval. Only one goroutine may use it.
type Runs[R any] struct {
	Baseline // rows before the request

	Backfill uuid.UUID // the id of the service's record, once known
	Whole    *Span     // the span to cover, once known
	OpenEnd  bool      // only the service knows the end of the range
	CatchUp  bool      // the range has no end: the backfill ends when it has caught up with the schedule
	Most     int       // limit for the number of intervals
	Changed  bool      // since the follower last reset it

	facts  func(R) Facts
	isOver func(R) bool
	newest map[Span]R
	from   time.Time // creation time of the first own run
	since  time.Time // the next look reads the runs created from then on
}

// NewRuns returns an empty Runs.
func NewRuns[R any](before Baseline, requested time.Time, facts func(R) Facts, isOver func(R) bool) *Runs[R] {
	s := &Runs[R]{Baseline: before, Most: maxIntervals, Changed: true, facts: facts, isOver: isOver, newest: map[Span]R{}}
	s.readFrom(requested.Add(-ClocksApart))
	if before.OfRuns {
		s.readFrom(before.Since)
	}
	return s
}

// IsRecord reports whether a backfill record may belong to the request.
func (s *Runs[R]) IsRecord(id uuid.UUID, created time.Time, whole Span) bool {
	return s.isNew(id, created) && (whole == *s.Whole || s.OpenEnd && whole.Start.Equal(s.Whole.Start))
}

// Found takes data from the service's record of the backfill.
func (s *Runs[R]) Found(id uuid.UUID, created time.Time, whole Span) {
	s.Backfill = id
	if s.Whole == nil || s.OpenEnd { // else the record may have been narrowed
		s.Whole = &whole
	}
	s.readFrom(created.Add(-ClocksApart))
}

// readFrom sets the creation time from which runs may be own runs.
func (s *Runs[R]) readFrom(t time.Time) { s.from, s.since = t, t }

// ReadAll makes the next look read all own runs again.
func (s *Runs[R]) ReadAll() { s.since = s.from }

// IsFull reports whether there are more intervals than the limit.
func (s *Runs[R]) IsFull() bool { return len(s.newest) > s.Most }

// Read takes a run from a list, newest first, if it is an own run. It reports whether to read more
// of the list. Call DoneReading after the last.
func (s *Runs[R]) Read(run R) bool {
	f := s.facts(run)
	if f.Created.Before(s.since) || s.IsFull() {
		return false
	}
	if s.isOwn(f) {
		s.take(run, f)
	}
	return true
}

// DoneReading sets the start of the next look: the oldest run that is not over, or slightly before
// the newest run, since rows may be written late.
func (s *Runs[R]) DoneReading() {
	var newest, oldest time.Time
	for _, run := range s.newest {
		f := s.facts(run)
		if !s.isOwn(f) {
			continue
		}
		if f.Created.After(newest) {
			newest = f.Created
		}
		if !s.isOver(run) && (oldest.IsZero() || f.Created.Before(oldest)) {
			oldest = f.Created
		}
	}
	s.since = newest.Add(-ClocksApart)
	if !oldest.IsZero() && oldest.Before(s.since) {
		s.since = oldest
	}
	if s.since.Before(s.from) {
		s.since = s.from
	}
}

// Join takes a run that was under way at the request, if it is part of the range. It reports
// whether the run must be read again.
func (s *Runs[R]) Join(run R) bool {
	f := s.facts(run)
	if !s.Whole.Holds(f.Interval) {
		return false
	}
	s.take(run, f)
	return !s.isOver(run)
}

// Fill takes a run of others that was joined in place of an own run: it ends in a part without own runs, wherever it
// starts, and was under way at some time between began and ended. It reports whether the run must be read again.
func (s *Runs[R]) Fill(run R, opening Span, began, ended time.Time) bool {
	f := s.facts(run)
	old, known := s.newest[f.Interval]
	endsWithin := f.Interval == opening || f.Interval.End.After(opening.Start) && !f.Interval.End.After(opening.End)
	if known && s.isOwn(s.facts(old)) || !endsWithin || f.Created.After(ended) {
		return false
	}
	if isOver := s.isOver(run); !isOver || f.Ended.After(began) {
		s.take(run, f)
		return !isOver
	}
	return false
}

// isOwn reports whether a run belongs to this backfill, as far as the service says so.
func (s *Runs[R]) isOwn(f Facts) bool {
	if f.Backfill != nil && s.Backfill != uuid.Nil {
		return *f.Backfill == s.Backfill
	}
	return s.OfRuns && s.isNew(f.ID, f.Created) && s.Whole.Holds(f.Interval)
}

// take keeps a run unless a newer one of its interval is known.
func (s *Runs[R]) take(run R, f Facts) {
	old, known := s.newest[f.Interval]
	before := s.facts(old)
	if known && before.ID != f.ID && f.Created.Before(before.Created) {
		return
	}
	s.Changed = s.Changed || !known || before.ID != f.ID || before.Mark != f.Mark
	s.newest[f.Interval] = run
}

// AnyUnderWay reports whether some run is not over.
func (s *Runs[R]) AnyUnderWay() bool {
	for _, run := range s.newest {
		if !s.isOver(run) {
			return true
		}
	}
	return false
}

// own returns the intervals with a run of the backfill itself.
func (s *Runs[R]) own() []Span {
	return s.intervals(func(run R) bool { return s.isOwn(s.facts(run)) })
}

// ran returns the newest run of each interval.
func (s *Runs[R]) ran() []Ran {
	runs := make([]Ran, 0, len(s.newest))
	for x, run := range s.newest {
		runs = append(runs, Ran{x, s.isOver(run), s.facts(run).Complete})
	}
	return runs
}

// Sorted returns the newest run of each interval, in the order of the intervals.
func (s *Runs[R]) Sorted() []R {
	var runs []R
	for _, x := range s.intervals(func(R) bool { return true }) {
		runs = append(runs, s.newest[x])
	}
	return runs
}

func (s *Runs[R]) intervals(choose func(R) bool) []Span {
	chosen := slices.DeleteFunc(slices.Collect(maps.Keys(s.newest)), func(x Span) bool { return !choose(s.newest[x]) })
	slices.SortFunc(chosen, Span.compare)
	return chosen
}
