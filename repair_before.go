package hogapi

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/narrow"
)

// harmlessSteps are the steps of tests that change nothing at the destination. The others create a table or a volume, and
// drop it, also one that was there.
var harmlessSteps = []string{
	"Ensure we can assume provided AWS role", "Check S3 bucket exists", "Check Azure Blob container exists",
	"Impersonate BigQuery service account", "Verify BigQuery service account ownership", "Verify BigQuery project", "Verify BigQuery dataset",
	"Establish connection to Snowflake", "Verify Snowflake warehouse", "Verify Snowflake database", "Verify Snowflake schema",
	"Establish connection to Databricks", "Verify Databricks catalog", "Verify Databricks schema",
}

// testDestination tests the destination, where the service can test it without credentials of the caller. If the newest run
// completed, a test that fails is a note: exports need fewer rights than tests. So is a test that the service refuses.
func (r *repairer) testDestination(ctx context.Context) error {
	if _, ok := r.export.Destination.Integration.Get(); !ok {
		return nil
	}
	isSelected := func(name string) bool { return r.selected.TestAll || slices.Contains(harmlessSteps, name) }
	test, err := r.client.BatchExports.testOf(ctx, r.export, isSelected, r.options)
	result := orDefault(test)
	switch failed := result.Failed(); {
	case errors.Is(err, ErrNoDestinationTest):
		return nil
	case errors.Is(err, ErrUnsupported) || errors.Is(err, ErrInvalid) || errors.Is(err, ErrServer):
		r.note("The destination was not tested: " + mask.OneLine(err.Error()))
		return nil
	case err != nil || failed == nil:
		return err
	case r.export.lastCompleted():
		r.note(fmt.Sprintf("The destination does not pass its test %q: %s. The newest run completed, so the repair continues.",
			mask.OneLine(failed.Name), mask.OneLine(orDefault(failed.Result.Message))))
		return nil
	default:
		return errtext.Errorf("the destination does not pass its test %q: %s", failed.Name, orDefault(failed.Result.Message))
	}
}

// note adds a note to the plan, once.
func (r *repairer) note(text string) {
	if !slices.Contains(r.plan.Notes, text) {
		r.plan.Notes = append(r.plan.Notes, text)
	}
}

// lastCompleted reports whether the newest run that is over has completed.
func (e *BatchExport) lastCompleted() bool {
	i := slices.IndexFunc(e.LatestRuns, func(run Run) bool { return run.Status.IsTerminal() })
	return i >= 0 && e.LatestRuns[i].Status == RunStatusCompleted
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
		x.End = narrow.Earlier(x.End, orDefault(b.AdjustedStartAt).UTC())
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

// again is the part of a step that is exported next, and the parts in which a backfill ran nothing.
type again struct {
	part   coverage.Span
	empty  []coverage.Span
	leaves bool // runs may have left rows of the part: it is not exported
}

// leftParts returns the parts of a range in which a backfill ran nothing.
func (e *BatchExport) leftParts(empty []coverage.Span) (parts []BackfillPart) {
	reason := BackfillEmpty
	if e.model().Choosing == coverage.ByAge {
		reason = BackfillLeftOut
	}
	for _, x := range empty {
		parts = append(parts, BackfillPart{Start: x.Start, End: x.End, Reason: reason})
	}
	return parts
}

// isFinal reports whether another backfill of the range would bring no more rows.
func (s *BackfillState) isFinal() bool {
	isOpen := func(p BackfillPart) bool { return p.Reason != BackfillLeftOut && p.Reason != BackfillEmpty }
	if s.Backfill == nil { // a server without records: no run began
		return len(s.Runs) == 0
	}
	return s.Backfill.Status == RunStatusCompleted && len(s.NotExported) > 0 && !slices.ContainsFunc(s.NotExported, isOpen)
}

// asked returns the time of a ticket of a backfill.
func (e *BatchExport) asked(t *BackfillTicket) coverage.Span {
	if days, err := e.schedule().Days(); err == nil && (t.StartAt.IsDate() || t.EndAt.IsDate()) {
		return days.Span(BackfillRange{t.StartAt, t.EndAt}.bounds())
	}
	return coverage.NewSpan(t.StartAt.Time(), t.EndAt.Time())
}
