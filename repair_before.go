package hogapi

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/errtext"
)

// testDestination tests the destination, where the service can test it without credentials of the caller.
func (r *repairer) testDestination(ctx context.Context) error {
	e := r.export
	if _, ok := e.Destination.Integration.Get(); !ok {
		return nil
	}
	test, err := r.client.BatchExports.TestDestination(ctx, BatchExportRequest{
		Name: e.Name, Model: cmp.Or(e.Model, ModelEvents), Destination: e.Destination, Interval: e.Interval,
	}, r.options...)
	result := orDefault(test)
	switch failed := result.Failed(); {
	case errors.Is(err, ErrNoDestinationTest) || errors.Is(err, ErrUnsupported):
		return nil
	case err == nil && failed != nil:
		return errtext.Errorf("the destination does not pass its test %q: %s", failed.Name, orDefault(failed.Result.Message))
	}
	return err
}

// emptyBackfills are completed backfills that ran nothing in a part of their range: the service begins a backfill at the
// first row with a timestamp in its range, and runs nothing if no row has one.
type emptyBackfills []emptyBackfill

type emptyBackfill struct {
	created time.Time
	part    coverage.Span
}

// emptyBackfills returns those of the time of a coverage.
func (c *Client) emptyBackfills(ctx context.Context, of *Coverage, options []CallOption) (all emptyBackfills, err error) {
	var runs []CoverageRun
	for _, x := range of.Intervals {
		runs = append(runs, x.Runs...)
	}
	for b, err := range c.Backfills.All(ctx, of.ExportID, nil, options...) {
		if err != nil {
			return nil, err
		}
		if b.CreatedAt.Before(of.From) { // so are the others
			break
		}
		if b.Status == RunStatusCompleted {
			all.add(&b)
		}
	}
	all.without(runs)
	return all, nil
}

// add adds a completed backfill, if its record says that it ran nothing in a part.
func (all *emptyBackfills) add(b *Backfill) {
	x := coverage.NewSpan(orDefault(b.StartAt), orDefault(b.EndAt))
	if b.TotalRecordsCount == nil || *b.TotalRecordsCount > 0 {
		x.End = earliest(x.End, orDefault(b.AdjustedStartAt).UTC())
	}
	if x.Start.Before(x.End) {
		*all = append(*all, emptyBackfill{b.CreatedAt, x})
	}
}

// without removes the backfills since which something ran there.
func (all *emptyBackfills) without(runs []CoverageRun) {
	*all = slices.DeleteFunc(*all, func(b emptyBackfill) bool {
		return slices.ContainsFunc(runs, func(run CoverageRun) bool {
			return !run.CreatedAt.Before(b.created) && b.part.Overlaps(coverage.NewSpan(run.Start, run.End))
		})
	})
}

func (all emptyBackfills) spans() (spans []coverage.Span) {
	for _, b := range all {
		spans = append(spans, b.part)
	}
	return spans
}

// again is the part of a step that is exported next, and whether a backfill ran nothing in another part.
type again struct {
	part    coverage.Span
	isEmpty bool
}

// asked returns the time of a ticket of a backfill.
func (e *BatchExport) asked(t *BackfillTicket) coverage.Span {
	if days, err := e.schedule().Days(); err == nil && t.EndAt.IsDate() {
		return days.Span(BackfillRange{t.StartAt, t.EndAt}.bounds())
	}
	return coverage.NewSpan(t.StartAt.Time(), t.EndAt.Time())
}
