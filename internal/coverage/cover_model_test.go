package coverage_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/testevents"
)

// service is a model of backfills, from PostHog's source: products/batch_exports/backend/service.py
// (align_timestamp_to_interval, unpause_batch_export), temporal/backfill_batch_export.py (get_backfill_info,
// backfill_range, backfill_schedule) and temporal/pipeline (use_distributed_events_recent_table). Times are minutes.
type service struct {
	*rand.Rand
	zone           *time.Location
	step           int // of an interval by the wall clock, in minutes
	hour, weekday  int
	now            time.Time
	events         []modelEvent
	isDay, isWeek  bool
	runs           []modelRun // of the backfill, and those that were joined
	dataStart      time.Time
	isEmpty, isOld bool
}

type modelEvent struct{ at, arrived time.Time }

type modelRun struct {
	from, to    time.Time
	isCompleted bool
	byArrival   bool
}

var modelZones = []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "America/Santiago"}

// newService is a service with one of many schedules.
func newService(r *rand.Rand, now time.Time) (*service, coverage.Schedule) {
	schedule := coverage.Schedule{Interval: []string{"every 5 minutes", "every 15 minutes", "hour", "hour", "day", "day", "week"}[r.IntN(7)], Timezone: modelZones[r.IntN(len(modelZones))]}
	s := &service{Rand: r, now: now}
	s.zone, _ = time.LoadLocation(schedule.Timezone)
	s.step = map[string]int{"every 5 minutes": 5, "every 15 minutes": 15, "hour": 60}[schedule.Interval]
	if s.isDay, s.isWeek = schedule.Interval == "day", schedule.Interval == "week"; s.step == 0 {
		schedule.Hour = []int{0, 4, 5, 12, 23}[r.IntN(5)] // not an hour that the zones skip or repeat
	}
	if s.hour = schedule.Hour; s.isWeek {
		schedule.Weekday = time.Weekday(r.IntN(7))
		s.weekday = int(schedule.Weekday)
	}
	return s, schedule
}

// align is the begin of today's interval that contains a time, by the wall clock of the zone.
func (s *service) align(t time.Time) time.Time {
	if !s.isDay && !s.isWeek {
		return time.Unix(t.Unix()/int64(60*s.step)*int64(60*s.step), 0).UTC()
	}
	local := t.In(s.zone)
	begin := time.Date(local.Year(), local.Month(), local.Day(), s.hour, 0, 0, 0, s.zone)
	if begin.After(t) {
		begin = time.Date(local.Year(), local.Month(), local.Day()-1, s.hour, 0, 0, 0, s.zone)
	}
	for s.isWeek && int(begin.Weekday()) != s.weekday {
		begin = time.Date(begin.Year(), begin.Month(), begin.Day()-1, s.hour, 0, 0, 0, s.zone)
	}
	return begin.UTC()
}

// after is the next bound, by the wall clock.
func (s *service) after(t time.Time) time.Time {
	if !s.isDay && !s.isWeek {
		return t.Add(time.Duration(s.step) * time.Minute)
	}
	local, days := t.In(s.zone), 1
	if s.isWeek {
		days = 7
	}
	return time.Date(local.Year(), local.Month(), local.Day()+days, local.Hour(), 0, 0, 0, s.zone).UTC()
}

// backfill plays a backfill of a range, beside runs under way, which have any start and some end.
func (s *service) backfill(from, to time.Time, underWay []modelRun) {
	var earliest time.Time
	for _, e := range s.events {
		if !e.at.Before(from) && e.at.Before(to) && (earliest.IsZero() || e.at.Before(earliest)) {
			earliest = e.at
		}
	}
	s.dataStart = from
	if s.isEmpty = earliest.IsZero(); s.isEmpty {
		return
	}
	s.dataStart = s.align(earliest)
	s.isOld = s.dataStart.Before(s.now.AddDate(0, 0, -8))
	for at := s.dataStart; at.Before(to); at = s.after(at) {
		end := s.after(at)
		if end.After(to) {
			return
		}
		run := modelRun{at, end, s.IntN(12) > 0, !s.isOld}
		for _, other := range underWay {
			if other.to.Equal(end) {
				other.byArrival = run.byArrival // else the rows of each are those of its own choice
				run = other
			}
		}
		s.runs = append(s.runs, run)
	}
}

// came reports whether a completed run has taken an event.
func (s *service) came(e modelEvent) bool {
	for _, run := range s.runs {
		at := e.at
		if run.byArrival {
			at = e.arrived
		}
		if run.isCompleted && !at.Before(run.from) && at.Before(run.to) {
			return true
		}
	}
	return false
}

// For any schedule, past and present, the answer never claims more than the service has done: every event that a
// backfill of this age takes was exported, unless it lies in a part named as missing.
func TestCoverIsNeverMoreThanCame(t *testing.T) {
	t.Parallel()
	whole, lacking, leftOut, empty := 0, 0, 0, 0
	for seed := range testevents.Sized(1_000, 10_000) {
		r := rand.New(rand.NewPCG(1, uint64(seed)))
		now := time.Date(2026, time.Month(1+r.IntN(12)), 1+r.IntN(28), r.IntN(24), 0, 0, 0, time.UTC)
		s, schedule := newService(r, now)
		before := s
		if r.IntN(3) == 0 { // interval, offset or zone were changed since
			before, _ = newService(r, now)
		}
		// Bounds of today's schedule, of an earlier one, or of a pause.
		to := before.align(s.now.Add(-time.Duration(r.IntN(12*24*60)) * time.Minute))
		from := to
		for range 1 + r.IntN(6) {
			from = before.align(from.Add(-time.Minute))
		}
		if r.IntN(6) == 0 {
			from = from.Add(time.Duration(r.IntN(70)) * time.Minute)
			to = to.Add(time.Duration(r.IntN(70)) * time.Minute)
		}
		if !from.Before(to) {
			continue
		}
		span := to.Sub(from)
		for range r.IntN(12) {
			at := from.Add(time.Duration(r.Int64N(int64(2*span))) - span/2).Truncate(time.Second)
			arrived := at.Add(time.Duration(r.IntN(90)) * time.Second) // early, or late by up to the range
			if r.IntN(3) == 0 {
				arrived = at.Add(time.Duration(r.Int64N(int64(span) + 1)))
			}
			if r.IntN(8) == 0 {
				arrived = at.Add(-time.Minute)
			}
			s.events = append(s.events, modelEvent{at, arrived})
		}
		var underWay []modelRun
		for range r.IntN(3) { // of the schedule, perhaps of an earlier one
			begin := before.align(from.Add(time.Duration(r.Int64N(int64(span)))))
			end := before.after(begin)
			if r.IntN(2) == 0 { // with an end of today's schedule
				end = s.after(s.align(end))
			}
			underWay = append(underWay, modelRun{begin, end, r.IntN(4) > 0, true})
		}
		s.backfill(from, to, underWay)

		asked := coverage.Asked{Span: coverage.NewSpan(from, to), Schedule: schedule, OfPause: r.IntN(4) == 0, DataStart: s.dataStart, ByArrival: !s.isOld}
		if s.isEmpty {
			asked.DataStart, asked.ByArrival = to, !from.Before(s.now.AddDate(0, 0, -8))
		}
		var runs []coverage.Ran
		for _, run := range s.runs {
			runs = append(runs, coverage.Ran{coverage.NewSpan(run.from, run.to), true, run.isCompleted})
		}
		parts := asked.Cover(runs)
		says := func(t time.Time) bool { // that nothing is missing at a time
			for _, part := range parts {
				if part.Why != coverage.WhyEmpty && !t.Before(part.Start) && t.Before(part.End) {
					return false
				}
			}
			return true
		}
		end := to
		if asked.OfPause {
			end = s.align(to)
		}
		missing := 0
		for _, e := range s.events {
			at := e.arrived
			if !asked.ByArrival {
				at = e.at
			}
			if at.Before(from) || !at.Before(end) || s.came(e) {
				continue
			}
			missing++
			require.False(t, says(at), "seed %d: %v of %v, asked %v, ran %v, parts %v", seed, e, schedule, asked.Span, s.runs, parts)
		}
		count := map[coverage.Why]int{}
		for _, part := range parts {
			count[part.Why]++
			require.True(t, part.Start.Before(part.End), "seed %d: %v", seed, parts)
		}
		leftOut, empty = leftOut+min(1, count[coverage.WhyLeftOut]), empty+min(1, count[coverage.WhyEmpty])
		if progress := asked.Progress(parts); len(parts) == count[coverage.WhyEmpty] {
			whole++
			require.InDelta(t, 1, progress, 0, "seed %d", seed)
		} else if lacking++; count[coverage.WhyIncomplete] == 0 {
			require.Less(t, progress, 1.0, "seed %d", seed)
		}
	}
	t.Logf("%d whole, %d lacking, %d with a part left out, %d with an empty part", whole, lacking, leftOut, empty)
	for _, n := range []int{whole, lacking, leftOut, empty} {
		require.Greater(t, n, 20, "each kind is met")
	}
}
