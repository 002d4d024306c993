package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	intervals "github.com/hogapi/hogapi/internal/coverage"
)

// warnings returns what a person should know before a plan is carried out: that it will be refused, or who paused the
// export.
func warnings(plan *coverage.Plan, c *coverage.Coverage, e *hogapi.BatchExport) (texts []string) {
	s := statusOf(e, e.LatestRuns, plan.PlannedAt)
	s.addKnown(c, e)
	isBackfill := slices.ContainsFunc(plan.Steps, func(s coverage.Step) bool {
		return s.State == coverage.StepPlanned && s.Action == coverage.ActionBackfill
	})
	if s.Failures >= intervals.PauseAfter-1 && isBackfill {
		text := fmt.Sprintf("repair refuses this plan now: %d of the newest %d runs have failed, and one more failure would pause the export and cancel the backfill. Remove the cause, and repair when newer runs have completed",
			s.Failures, intervals.PauseWindow(s.Interval))
		if e.Paused {
			text += ", after hogexport unpause"
		}
		texts = append(texts, text+". Last error: "+cmp.Or(s.LastError, "not known"))
	}
	if by := s.pausedBy(e); by != "" {
		isSaid := func(note string) bool { return strings.HasPrefix(note, "The export is paused and stays so") }
		plan.Notes = slices.DeleteFunc(plan.Notes, isSaid)
		texts = append(texts, "the export is "+by+"; without --unpause, repair leaves it so")
	}
	return texts
}

// pausedBy says who has paused an export, as far as its newest runs tell: the service does so as soon as a run has failed.
func (s *status) pausedBy(e *hogapi.BatchExport) string {
	if s.PausedSince == nil || s.State != statePaused {
		return ""
	}
	const soon = 5 * time.Minute
	hasEndedThen := func(run hogapi.Run) bool {
		return run.Status == hogapi.RunStatusFailed && s.PausedSince.Sub(run.LastUpdatedAt).Abs() < soon
	}
	isOlder := func(run hogapi.Run) bool { return run.CreatedAt.Before(*s.PausedSince) }
	since := "paused since " + s.PausedSince.Format(clock) + " UTC"
	switch {
	case s.Failures >= intervals.PauseAfter && slices.ContainsFunc(e.LatestRuns, hasEndedThen):
		return since + ", probably by the service after " + plural(s.Failures, "failed run")
	case !slices.ContainsFunc(e.LatestRuns, hasEndedThen) && (len(e.LatestRuns) < maxLatestRuns || slices.ContainsFunc(e.LatestRuns, isOlder)):
		return since + ", probably by a person: no run had failed then"
	}
	return since
}
