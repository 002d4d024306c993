package cli

import (
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	intervals "github.com/hogapi/hogapi/internal/coverage"
)

// status says how an export is, as far as its newest runs tell.
type status struct {
	ID           uuid.UUID  `json:"id"`
	Name         string     `json:"name"`
	Model        string     `json:"model"`
	Destination  string     `json:"destination"`
	Interval     string     `json:"interval"`
	State        string     `json:"state"` // "active", "paused", "failing", "stuck" or "behind"
	PausedSince  *time.Time `json:"paused_since"`
	ExportedTo   *time.Time `json:"exported_to"`                        // the end of the newest interval that a run has completed
	MayBeLater   bool       `json:"exported_to_may_be_later,omitempty"` // older runs than those that were read may have exported a newer interval
	Failures     int        `json:"failures"`                           // failed runs that count towards a pause
	FailuresLeft int        `json:"failures_left"`
	IsAtLeast    bool       `json:"failures_may_be_more,omitempty"` // only some of the runs that count were read
	StuckSince   *time.Time `json:"stuck_since"`                    // of the oldest run that should be over
	StuckFrom    *time.Time `json:"stuck_from"`                     // its interval
	StuckTo      *time.Time `json:"stuck_to"`
	StuckRun     *uuid.UUID `json:"stuck_run"`
	LastError    string     `json:"last_error,omitempty"`
	Rows         *int64     `json:"last_rows"`
	Bytes        *int64     `json:"last_bytes"`
	Uncovered    *int       `json:"uncovered,omitempty"` // intervals that are not exported
	Gaps         *int       `json:"gaps,omitempty"`

	target string // the destination with its bucket or table
	paused string // who has paused it, and since when
}

const (
	stateActive  = "active"
	statePaused  = "paused"
	stateFailing = "failing"
	stateStuck   = "stuck"
	stateBehind  = "behind"
)

// statusOf reads the status of an export from the newest runs that its list has, or from more of them.
func statusOf(e *hogapi.BatchExport, runs []hogapi.Run, now time.Time) status {
	s := status{
		ID: e.ID, Name: e.Name, Model: string(e.Model), Destination: string(e.Destination.Type), Interval: string(e.Interval), State: stateActive, target: target(e),
	}
	for _, run := range newestUpdates(runs, s.Interval) {
		if run.Status == hogapi.RunStatusFailed {
			s.Failures++
		}
	}
	s.IsAtLeast = len(runs) < intervals.PauseWindow(s.Interval) && len(runs) >= maxLatestRuns
	s.FailuresLeft = max(0, intervals.PauseAfter-s.Failures)
	s.MayBeLater = len(runs) >= maxLatestRuns
	limit := stuckAfter(s.Interval)
	for i := range runs { // the newest first
		run := &runs[i]
		switch {
		case run.Status == hogapi.RunStatusCompleted && !isBad(run):
			s.exportedTo(run.DataIntervalEnd)
			isScheduled := run.Backfill == nil && run.CreatedAt.Sub(run.DataIntervalEnd) < patience(s.Interval) // older servers do not name the backfill
			s.MayBeLater = s.MayBeLater && !isScheduled                                                         // the schedule's newer runs have newer intervals; backfills have any
			if s.Rows == nil && s.Bytes == nil {
				s.Rows, s.Bytes = run.RecordsCompleted, run.BytesExported
			}
		case run.Status.IsFailure() && s.LastError == "" && run.LatestError != nil:
			s.LastError = *run.LatestError
		case !run.Status.IsTerminal() && now.Sub(run.CreatedAt) > limit:
			s.StuckSince, s.StuckTo, s.StuckRun = new(run.CreatedAt.UTC()), new(run.DataIntervalEnd.UTC()), &run.ID
			s.StuckFrom = s.StuckTo
			if run.DataIntervalStart != nil {
				s.StuckFrom = new(run.DataIntervalStart.UTC())
			}
		}
	}
	switch {
	case e.Paused:
		s.State = statePaused
		if e.LastPausedAt != nil {
			s.PausedSince = new(e.LastPausedAt.UTC())
		}
	case s.StuckSince != nil:
		s.State = stateStuck
	case len(runs) > 0 && runs[0].Status.IsFailure():
		s.State = stateFailing
	case !s.MayBeLater && s.ExportedTo != nil && now.Sub(*s.ExportedTo) > lateAfter(s.Interval) && (e.EndAt == nil || s.ExportedTo.Before(*e.EndAt)):
		s.State = stateBehind
	}
	return s
}

// exportedTo takes the end of an interval that is exported into account.
func (s *status) exportedTo(end time.Time) {
	if s.ExportedTo == nil || end.After(*s.ExportedTo) {
		s.ExportedTo = new(end.UTC())
	}
}

// addKnown adds runs that an earlier command has read, where the list of exports has too few.
func (s *status) addKnown(known *coverage.Coverage, e *hogapi.BatchExport) {
	if known == nil || !s.MayBeLater && !s.IsAtLeast {
		return
	}
	first := slices.MinFunc(e.LatestRuns, func(a, b hogapi.Run) int { return a.CreatedAt.Compare(b.CreatedAt) }).CreatedAt
	isWhole := !known.CheckedAt.Before(first) // no run between the two is unread
	to, isUnderWay := newestExported(known)
	isKnown := !to.IsZero() || s.ExportedTo == nil && !known.From.After(e.CreatedAt) // nothing since the export was made
	if !to.IsZero() {
		s.exportedTo(to)
	}
	s.MayBeLater = s.MayBeLater && !(isWhole && isKnown && !isUnderWay)
	if s.IsAtLeast && isWhole {
		s.countWith(known, e.LatestRuns, first)
	}
}

// newestExported returns the end of the newest exported interval, or zero, and whether a run of a newer interval was
// under way.
func newestExported(c *coverage.Coverage) (end time.Time, isUnderWay bool) {
	for _, x := range c.Intervals { // in their order
		switch x.State {
		case coverage.StateCompleted, coverage.StateByTimestamp:
			end, isUnderWay = x.End, false
		case coverage.StateRunning, coverage.StateStuck:
			isUnderWay = true
		default:
		}
	}
	return end, isUnderWay
}

// countWith counts the failures again with older runs than the list has. The number is exact, except for failed
// backfills of times before the coverage, and for runs under way that may have failed since.
func (s *status) countWith(known *coverage.Coverage, list []hogapi.Run, first time.Time) {
	older, mayFail := map[uuid.UUID]coverage.Run{}, false
	for _, x := range known.Intervals {
		for _, run := range x.Runs {
			if run.CreatedAt.Before(first) {
				older[run.ID] = run
				mayFail = mayFail || !run.Status.IsTerminal()
			}
		}
	}
	newest := slices.SortedFunc(maps.Values(older), func(a, b coverage.Run) int { return b.CreatedAt.Compare(a.CreatedAt) })
	rest := intervals.PauseWindow(s.Interval) - len(list)
	for _, run := range newest[:min(rest, len(newest))] {
		if run.Status == hogapi.RunStatusFailed {
			s.Failures++
		}
	}
	s.FailuresLeft = max(0, intervals.PauseAfter-s.Failures)
	s.IsAtLeast = mayFail || len(newest) < rest
}

// newestUpdates returns the runs that count towards a pause of the export.
func newestUpdates(runs []hogapi.Run, interval string) []hogapi.Run {
	newest := slices.Clone(runs)
	slices.SortStableFunc(newest, func(a, b hogapi.Run) int { return b.LastUpdatedAt.Compare(a.LastUpdatedAt) })
	return newest[:min(intervals.PauseWindow(interval), len(newest))]
}

// maxLatestRuns is how many runs the list of exports has for each.
const maxLatestRuns = 10

func stuckAfter(interval string) time.Duration {
	const least = 3 * time.Hour
	step, _ := intervals.Step(interval)
	return max(least, 3*step)
}

// underWaySince returns since when the oldest run of the intervals in some states has been under way.
func underWaySince(c *coverage.Coverage, includes func(coverage.State) bool) (since time.Time) {
	for _, i := range c.Intervals {
		if !includes(i.State) {
			continue
		}
		for _, run := range i.Runs {
			if !run.Status.IsTerminal() && (since.IsZero() || run.CreatedAt.Before(since)) {
				since = run.CreatedAt.UTC()
			}
		}
	}
	return since
}
