package hogapi

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/ops"
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

// countedRun is a row that can be counted.
type countedRun struct{ Run }

func (r *countedRun) complete() error {
	if r.CreatedAt.IsZero() {
		return errors.New("it has no created_at")
	}
	return cmp.Or(r.Run.complete(), hasText(string(r.Status), "status"))
}

// includes reports whether a run is among those asked for: old servers do not filter by status, and
// read times in another zone.
func (o RunListOptions) includes(r Run) bool {
	switch {
	case len(o.Statuses) > 0 && !slices.Contains(o.Statuses, r.Status),
		r.CreatedAt.Before(o.After), !o.Before.IsZero() && r.CreatedAt.After(o.Before),
		!o.Start.IsZero() && orDefault(r.DataIntervalStart).Before(o.Start), !o.End.IsZero() && r.DataIntervalEnd.After(o.End):
		return false
	}
	return true
}

// Counts counts the runs of an export by the day of their creation in UTC, the oldest day first.
// Days without runs are left out. It takes the place of [AppMetricsService.Get], which newer servers
// do not have, and works on every server. Each run counts once, with the status that it had when it
// was first read: a retried run stays Failed, and its retry counts as a run of its own. A run outside
// of After, Before, Start and End does not count, even if the service lists it. A run without a status
// or a created_at is a [*DecodeError].
//
// It reads the list of runs in pages of 100 and remembers their ids, about 40 bytes each, so bound a
// long history with After. A Cursor is refused: it would leave out what comes before it. With an error
// there are no counts.
//
// GET /batch_exports/{batch_export_id}/runs/, scope batch_export:read.
func (s *RunsService) Counts(ctx context.Context, exportID uuid.UUID, o *RunListOptions, options ...CallOption) ([]RunCount, error) {
	if ctx == nil {
		return nil, nilContext(ops.RunsList)
	}
	selected := orDefault(o)
	if selected.Cursor != "" {
		return nil, &InputError{Op: ops.RunsList, Field: "Cursor", Want: "an empty cursor: counts cover the whole list"}
	}
	r := endpointByID(ops.RunsList, exportID).refuse(selected.check(ops.RunsList)).with(selected.query())
	days, seen := map[time.Time]RunCount{}, map[uuid.UUID]struct{}{}
	for run, err := range walkByCursor[countedRun](s.client, r, selected.CursorOptions, options).All(ctx) {
		if err != nil {
			return nil, fromTheStart(err)
		}
		if _, isOld := seen[run.ID]; isOld || !selected.includes(run.Run) {
			continue
		}
		seen[run.ID] = struct{}{}
		day := run.CreatedAt.UTC().Truncate(24 * time.Hour)
		if _, ok := days[day]; !ok {
			days[day] = RunCount{Day: day, ByStatus: map[RunStatus]int{}}
		}
		days[day].ByStatus[run.Status]++
	}
	return slices.SortedFunc(maps.Values(days), func(a, b RunCount) int { return a.Day.Compare(b.Day) }), nil
}
