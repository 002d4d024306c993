package coverage

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/hogapi/hogapi"
	calendar "github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/narrow"
	"github.com/hogapi/hogapi/internal/outgoing"
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
	tested, err := r.root.TestDestination(ctx, r.export.BatchExport, isSelected)
	test, _ := tested.(*hogapi.DestinationTest)
	result := outgoing.OrDefault(test)
	api, _ := errors.AsType[*hogapi.APIError](err)
	switch failed := result.Failed(); {
	case errors.Is(err, hogapi.ErrUnsupported) && api == nil: // the service has no test for this type
		return nil
	case errors.Is(err, hogapi.ErrUnsupported) || errors.Is(err, hogapi.ErrInvalid) || api != nil && api.StatusCode >= http.StatusInternalServerError:
		r.note("The destination was not tested: " + mask.OneLine(err.Error()))
		return nil
	case err != nil || failed == nil:
		return err
	case r.export.lastCompleted():
		r.note(fmt.Sprintf("The destination does not pass its test %q: %s. The newest run completed, so the repair continues.",
			mask.OneLine(failed.Name), mask.OneLine(outgoing.OrDefault(failed.Result.Message))))
		return nil
	default:
		return errtext.Errorf("the destination does not pass its test %q: %s", failed.Name, outgoing.OrDefault(failed.Result.Message))
	}
}

// note adds a note to the plan, once.
func (r *repairer) note(text string) {
	if !slices.Contains(r.plan.Notes, text) {
		r.plan.Notes = append(r.plan.Notes, text)
	}
}

// lastCompleted reports whether the newest run that is over has completed.
func (e export) lastCompleted() bool {
	i := slices.IndexFunc(e.LatestRuns, func(run hogapi.Run) bool { return run.Status.IsTerminal() })
	return i >= 0 && e.LatestRuns[i].Status == hogapi.RunStatusCompleted
}

// emptyBackfills are completed backfills that ran nothing in a part of their range: the service begins a backfill at the
// first row with a timestamp in its range, and runs nothing if no row has one.
type emptyBackfills []emptyBackfill

type emptyBackfill struct {
	created time.Time
	part    calendar.Span
}

// emptyBackfills returns the backfills in the time of a coverage that ran nothing.
func (s service) emptyBackfills(ctx context.Context, of *Coverage) (all emptyBackfills, err error) {
	var runs []Run
	for _, x := range of.Intervals {
		runs = append(runs, x.Runs...)
	}
	for b, err := range s.Backfills.All(ctx, of.ExportID, nil) {
		if err != nil {
			return nil, err
		}
		if b.CreatedAt.Before(of.From) { // so are the others
			break
		}
		if b.Status == hogapi.RunStatusCompleted {
			all.add(&b)
		}
	}
	all.without(runs)
	return all, nil
}

// add adds a completed backfill, if its record says that it ran nothing in a part.
func (all *emptyBackfills) add(b *hogapi.Backfill) {
	x := calendar.NewSpan(outgoing.OrDefault(b.StartAt), outgoing.OrDefault(b.EndAt))
	if b.TotalRecordsCount == nil || *b.TotalRecordsCount > 0 {
		x.End = narrow.Earlier(x.End, outgoing.OrDefault(b.AdjustedStartAt).UTC())
	}
	if x.Start.Before(x.End) {
		*all = append(*all, emptyBackfill{b.CreatedAt, x})
	}
}

// without removes the backfills since which something ran there.
func (all *emptyBackfills) without(runs []Run) {
	*all = slices.DeleteFunc(*all, func(b emptyBackfill) bool {
		return slices.ContainsFunc(runs, func(run Run) bool {
			return !run.CreatedAt.Before(b.created) && b.part.Overlaps(run.span())
		})
	})
}

func (all emptyBackfills) spans() (spans []calendar.Span) {
	for _, b := range all {
		spans = append(spans, b.part)
	}
	return spans
}

// again is the part of a step that is exported next, and the parts in which a backfill ran nothing.
type again struct {
	part   calendar.Span
	empty  []calendar.Span
	leaves bool // runs may have left rows of the part: it is not exported
}

// leftParts returns the parts of a range in which a backfill ran nothing.
func (e export) leftParts(empty []calendar.Span) (parts []hogapi.BackfillPart) {
	reason := hogapi.BackfillEmpty
	if e.model().Choosing == calendar.ByAge {
		reason = hogapi.BackfillLeftOut
	}
	for _, x := range empty {
		parts = append(parts, hogapi.BackfillPart{Start: x.Start, End: x.End, Reason: reason})
	}
	return parts
}

// bringsNoMore reports whether another backfill of the range would bring no more rows.
func bringsNoMore(s *hogapi.BackfillState) bool {
	isOpen := func(p hogapi.BackfillPart) bool {
		return p.Reason != hogapi.BackfillLeftOut && p.Reason != hogapi.BackfillEmpty
	}
	if s.Backfill == nil { // a server without records: no run began
		return len(s.Runs) == 0
	}
	return s.Backfill.Status == hogapi.RunStatusCompleted && len(s.NotExported) > 0 && !slices.ContainsFunc(s.NotExported, isOpen)
}

// asked returns the time of a ticket of a backfill.
func (e export) asked(t *hogapi.BackfillTicket) calendar.Span {
	if days, err := e.schedule().Days(); err == nil && (t.StartAt.IsDate() || t.EndAt.IsDate()) {
		return days.Span(calendar.Range{Start: bound(t.StartAt), End: bound(t.EndAt)})
	}
	return calendar.NewSpan(t.StartAt.Time(), t.EndAt.Time())
}

// bound returns a bound of a backfill for the calendar.
func bound(t hogapi.Timestamp) calendar.Bound {
	switch {
	case t.IsBeginning():
		return calendar.Beginning()
	case t.IsCaughtUp():
		return calendar.CaughtUp()
	case t.IsDate():
		return calendar.Date(t.Time())
	}
	return calendar.Instant(t.Time())
}
