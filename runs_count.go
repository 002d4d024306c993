package hogapi

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"
)

// RunCount is how many runs of an export were created on one day.
type RunCount struct {
	Day      time.Time         // its midnight, in UTC
	ByStatus map[RunStatus]int // statuses without a run are left out; may hold statuses that this package does not know
}

// Total is the number of runs of the day.
func (c RunCount) Total() int {
	total := 0
	for _, n := range c.ByStatus {
		total += n
	}
	return total
}

// Completed is how many of the runs have completed.
func (c RunCount) Completed() int { return c.ByStatus[RunStatusCompleted] }

// Failed is how many of the runs have failed: see [RunStatus.IsFailure].
func (c RunCount) Failed() int {
	failed := 0
	for status, n := range c.ByStatus {
		if status.IsFailure() {
			failed += n
		}
	}
	return failed
}

// Counts counts the runs of an export by the day of their creation in UTC, the oldest day first.
// Days without runs are left out. It takes the place of [AppMetricsService.Get], which newer servers
// do not have, and works on every server. Each run counts once, with the status that it had when it
// was read: a retried run stays Failed, and its retry counts as a run of its own.
//
// It reads the list of runs in pages of 100, so bound a long history with After. A Cursor is
// refused: it would leave out what comes before it. With an error there are no counts.
//
// GET /batch_exports/{batch_export_id}/runs/, scope batch_export:read.
func (s *RunsService) Counts(ctx context.Context, exportID uuid.UUID, o *RunListOptions, options ...CallOption) ([]RunCount, error) {
	if ctx == nil {
		return nil, nilContext(OpRunsList)
	}
	if orDefault(o).Cursor != "" {
		return nil, &InputError{Op: OpRunsList, Field: "Cursor", Want: "an empty cursor: counts cover the whole list"}
	}
	days := map[time.Time]RunCount{}
	for run, err := range s.All(ctx, exportID, o, options...) {
		if err != nil {
			return nil, fromTheStart(err)
		}
		day := run.CreatedAt.UTC().Truncate(24 * time.Hour)
		if _, ok := days[day]; !ok {
			days[day] = RunCount{Day: day, ByStatus: map[RunStatus]int{}}
		}
		days[day].ByStatus[run.Status]++
	}
	return slices.SortedFunc(maps.Values(days), func(a, b RunCount) int { return a.Day.Compare(b.Day) }), nil
}
