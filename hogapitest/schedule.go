package hogapitest

import (
	"hash/fnv"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
)

// RunSchedule lets the schedule of an export run from its creation on, by the server's clock: a run begins after the
// end of each interval, with the service's delay. The export is paused when too many of its newest runs have
// failed, which cancels its backfills. The outcome function decides about each interval: which end its run has, and
// whether it begins at all. With nil, all runs complete. A run with Polls is under way until it has been shown so
// often.
func (p *Project) RunSchedule(exportID uuid.UUID, outcome func(start, end time.Time) (Outcome, bool)) {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if outcome == nil {
		outcome = func(time.Time, time.Time) (Outcome, bool) { return Outcome{}, true }
	}
	e := p.mustFind(exportID)
	e.schedule = &schedule{next: e.intervalOf(e.Created), outcome: outcome}
	e.catchUp(s.now())
}

// schedule is the schedule of an export that runs.
type schedule struct {
	next    time.Time // start of the next interval
	begun   int       // its runs so far
	outcome func(start, end time.Time) (Outcome, bool)
}

// timesOf returns when the schedule begins the run of an interval: twice or never, where clocks repeat or skip the hour of its
// end.
func (e *export) timesOf(end time.Time) []time.Time {
	if e.length() > 0 {
		return []time.Time{end}
	}
	return timesAt(shownBy(end, e.zone()).Truncate(24*time.Hour).Add(e.hour()), e.zone())
}

// delay returns the time from the end of an interval until its run begins: at least a minute, or half of it for 5 minutes.
func (e *export) delay(end time.Time) time.Duration {
	most := map[hogapi.Interval]time.Duration{
		"day": 20 * time.Minute, "week": 30 * time.Minute, "every 5 minutes": time.Minute, "every 15 minutes": 3 * time.Minute,
	}
	if e.project.server.era == E1 {
		most["day"], most["week"] = time.Hour, 24*time.Hour
	}
	least := time.Minute
	if e.Interval == "every 5 minutes" {
		least /= 2
	}
	h := fnv.New64a()
	_, _ = h.Write(append(e.ID[:], end.Format(time.RFC3339)...))
	jitter := h.Sum64() % uint64(or(most[e.Interval], 15*time.Minute))
	return max(least, time.Duration(jitter))
}

// catchUp begins the runs that are due.
func (e *export) catchUp(now time.Time) {
	for e.schedule != nil {
		start := e.schedule.next
		end := e.intervalAfter(start)
		ends := e.timesOf(end)
		if end.After(now) {
			return
		}
		if e.schedule.begun == len(ends) {
			e.schedule.next, e.schedule.begun = end, 0
			continue
		}
		end = ends[e.schedule.begun]
		at := end.Add(e.delay(end))
		if at.After(now) {
			return
		}
		e.schedule.begun++
		isIdle := e.Paused || !e.StartAt.IsZero() && end.Before(e.StartAt) || !e.EndAt.IsZero() && end.After(e.EndAt)
		outcome, begins := e.schedule.outcome(start, end)
		if isIdle || !begins {
			continue
		}
		r := e.begin(Run{Start: start, End: end, Created: at}, outcome)
		if outcome.Polls == 0 {
			r.end(at.Add(time.Minute))
		}
	}
}

// pauseWindow is how many of the newest runs the service looks at after a failure, and how many failed ones pause an export.
func (e *export) pauseWindow() (runs, most int) {
	if e.project.server.era == E1 {
		return 50, 10
	}
	return map[hogapi.Interval]int{"day": 7, "week": 4, "every 5 minutes": 12, "every 15 minutes": 4, "hour": 24}[e.Interval], 3
}

// failed pauses an unpaused export if too many of its newest runs have failed, and cancels its running backfills, even
// if the export is already paused.
func (e *export) failed(now time.Time) {
	if e.schedule == nil {
		return
	}
	newest := slices.Clone(e.runs)
	slices.SortStableFunc(newest, func(a, b *run) int { return b.updated.Compare(a.updated) })
	window, most := e.pauseWindow()
	n := 0
	for _, r := range newest[:min(len(newest), window)] {
		if r.Status == "Failed" {
			n++
		}
	}
	if n < most {
		return
	}
	if before := e.settings(); !e.Paused {
		e.Paused, e.LastPaused, e.updated = true, now, now
		e.logEdit(before, now)
	}
	for _, b := range e.backfills {
		b.cancelRunning(now)
	}
}
