package hogapi

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
)

// BackfillState is the progress of a backfill or a retry.
type BackfillState struct {
	Backfill  *Backfill // the service's own record; nil if it keeps no records, or has not written it yet
	Runs      []Run     // the newest run of each interval, in the order of the intervals
	Completed int       // of Runs: completed with all of their records
	Failed    int       // of Runs: ended in any other way
	Progress  float64   // 0 to 1: the part of the range that ended runs cover; only Done says that the backfill is over
	Done      bool      // nothing more is expected

	// NotExported are the parts of the range that no run has exported with all of its rows, in the order of time.
	NotExported []BackfillPart
}

// BackfillPart is a part of a range that a backfill or a retry has not exported.
type BackfillPart struct {
	Start  time.Time      `json:"start"` // zero: the beginning of time
	End    time.Time      `json:"end"`   // not included
	Reason BackfillReason `json:"reason"`
}

// BackfillReason says why a part of a range is not exported.
type BackfillReason string

// The reasons.
const (
	// BackfillNoRun means that the service shows no run of the part.
	BackfillNoRun BackfillReason = "no_run"
	// BackfillRunning means that a run is under way.
	BackfillRunning BackfillReason = "running"
	// BackfillIncomplete means that a run ended without all of its rows.
	BackfillIncomplete BackfillReason = "incomplete"
	// BackfillLeftOut means that the backfill began later, since no event has a timestamp in the part. The service chooses
	// the rows by their arrival, so rows may be missing: only [github.com/hogapi/hogapi/coverage.DownloadRange] gets them.
	BackfillLeftOut BackfillReason = "left_out"
	// BackfillEmpty means that the backfill began later, since it would choose no row in the part. Nothing is missing.
	BackfillEmpty BackfillReason = "empty"
	// BackfillNoInterval means that the part is shorter than an interval, so that no run exports it.
	BackfillNoInterval BackfillReason = "no_interval"
)

// String describes the state in a few words.
func (s *BackfillState) String() string {
	text := fmt.Sprintf("%.0f %%, %d runs completed, %d failed", math.Floor(100*s.Progress), s.Completed, s.Failed)
	if empty := s.span(BackfillEmpty); empty != "" {
		text += ", nothing to export " + empty
	}
	return text
}

// span returns the time of the parts with a reason as a text, or "".
func (s *BackfillState) span(why BackfillReason) string {
	isOther := func(p BackfillPart) bool { return p.Reason != why }
	parts := slices.DeleteFunc(slices.Clone(s.NotExported), isOther)
	if len(parts) == 0 {
		return ""
	}
	first, last := parts[0], parts[len(parts)-1]
	text := fmt.Sprintf("from %s to %s", coverage.NewSpan(first.Start, first.End).StartText(), outgoing.Time(last.End))
	if len(parts) > 1 {
		text += fmt.Sprintf(" (in %d parts)", len(parts))
	}
	return text
}

// BackfillError is a backfill or a retry that is over and has not exported its whole range: see State.NotExported. It
// wraps a [*RunError] for each run that did not complete, and matches their sentinels or that of the backfill itself, and
// [ErrOutcomeUnknown] if nothing shows that the backfill began.
type BackfillError struct {
	ExportID uuid.UUID
	State    *BackfillState

	of       string // the retry; empty for a backfill
	reason   string
	sentinel error // may be nil
}

func (e *BackfillError) Error() string {
	return fmt.Sprintf("hogapi: %s: %s", cmp.Or(e.of, "backfill of export "+e.ExportID.String()), e.reason)
}

func (e *BackfillError) Is(target error) bool { return target != nil && target == e.sentinel }

func (e *BackfillError) Unwrap() (all []error) {
	for i := range e.State.Runs {
		if run := &e.State.Runs[i]; run.endedBadly() {
			all = append(all, &RunError{Run: run})
		}
	}
	return all
}

// judge returns the error of a state that is done, or nil.
func (s *BackfillState) judge(t *BackfillTicket) error {
	e := &BackfillError{ExportID: t.ExportID, State: s}
	if t.RetriedRun != uuid.Nil {
		e.of = t.name()
	}
	row, isNew, noRuns := s.Backfill, t.Baseline != nil && !t.Baseline.OfRuns, len(s.Runs) == 0
	leftOut, open, rest := s.span(BackfillLeftOut), s.span(BackfillNoRun), s.span(BackfillNoInterval)
	switch {
	case s.Failed > 0:
		first := &s.Runs[slices.IndexFunc(s.Runs, func(r Run) bool { return r.endedBadly() })]
		e.reason = fmt.Sprintf("%d of %d runs did not complete with all records; the first: run %s %s", s.Failed, len(s.Runs), first.ID, first.ending())
	case row != nil && row.Status != RunStatusCompleted:
		e.reason, e.sentinel = "ended as "+mask.Clean(string(row.Status)), row.Status.sentinel()
	case row == nil && noRuns && t.OutcomeUnknown:
		e.reason, e.sentinel = "no sign of the backfill: most likely the request had no effect", ErrOutcomeUnknown
	case row == nil && noRuns && isNew:
		e.reason, e.sentinel = "the service accepted the request, but shows no record of the backfill: follow the same ticket again later", ErrOutcomeUnknown
	case row == nil && noRuns:
		e.reason = "no run began: the range has no records or no whole interval, or the service is slow; if it should have records, follow the same ticket again"
	case row == nil && open != "":
		e.reason = fmt.Sprintf("%d runs completed, but a part of the range has no run and no further run began: "+
			"the backfill was stopped or is slow; follow the same ticket again", len(s.Runs))
	case open != "":
		e.reason = fmt.Sprintf("no run is shown %s: follow the same ticket again, and backfill that part if it still has no run", open)
	case rest != "":
		e.reason = fmt.Sprintf("no run exports the time %s, which is shorter than an interval", rest)
	case noRuns && len(s.NotExported) == 0:
		e.reason = "nothing ran: no interval ended in the range"
	case noRuns && leftOut == "":
		e.reason = "nothing ran: the range held no records to export"
	}
	if leftOut != "" {
		also := ""
		if e.reason != "" {
			also = e.reason + "; "
		}
		e.reason = fmt.Sprintf("%sthe backfill left out the time %s, in which no event has a timestamp: "+
			"rows that arrived there may be missing, and only coverage.DownloadRange gets them", also, leftOut)
	}
	if row != nil && t.EndAt.IsCaughtUp() && row.facts().IsEmpty {
		e.reason += "; nothing ran, and the service has not unpaused the export"
	}
	if e.reason == "" {
		return nil
	}
	return e
}
