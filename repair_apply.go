package hogapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/internal/configs"
	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/watch"
	"github.com/hogapi/hogapi/ops"
)

// Repair carries out the steps of a plan that are planned or begun, one after another, and reads the coverage again. It
// changes the states of the steps in the plan, and stops at the first step that fails: call it again with the same plan
// to go on.
//
// Before the first step it tests the destination, if the service can, and refuses to begin if one more failed run would
// pause the export. Before each step it looks at the runs and backfills again: it waits for a backfill or a run of the
// same time that is under way, and leaves out a step whose gap is covered by then. If a step of young events has crossed
// the age line since the plan, Repair refuses it: make a new plan. While the service has too many backfills under way,
// Repair waits.
//
// After a kill, Repair continues with the plan that RepairOptions.Save has stored, or with a new plan: it finds a backfill
// that it had begun, and begins none twice. The service has no lock: if two operators begin a repair of one gap within
// the same seconds, both may be carried out.
//
// Repair returns the report with an error too. The errors are an [*InputError] for a plan that does not fit, a
// [*BackfillError] if a backfill did not complete, and the errors of its calls.
//
// GET and POST /batch_exports/{id}/backfills/, GET …/runs/, POST …/runs/{id}/cancel/, POST /batch_exports/, scope
// batch_export:write.
func (s *BatchExportsService) Repair(ctx context.Context, plan *RepairPlan, o *RepairOptions, options ...CallOption) (*RepairReport, error) {
	if err := cmp.Or(checkContext(ctx, ops.BackfillsCreate), refused(ops.BackfillsCreate, plan.check())); err != nil {
		return nil, err
	}
	selected := orDefault(o)
	pace, err := selected.Watch.withDefaults(ops.BackfillsGet)
	if err != nil {
		return nil, err
	}
	r := &repairer{client: s.client, plan: plan, selected: selected, pace: pace.Pace, options: append(slices.Clip(options), onlyHeader)}
	err = r.run(ctx)
	report := &RepairReport{Plan: plan}
	if (err == nil || r.export != nil) && ctx.Err() == nil {
		var unread error
		report.After, unread = s.Coverage(ctx, plan.ExportID, r.after(), r.options...)
		err = errors.Join(err, unread)
	}
	return report, err
}

func (p *RepairPlan) check() *outgoing.Refusal {
	return cmp.Or(
		outgoing.If(p == nil, "plan", "", "a plan of PlanRepair, not nil"),
		outgoing.If(orDefault(p).ExportID == uuid.Nil, "plan.ExportID", "", "an id, not the nil UUID"),
	)
}

// repairer carries out a plan.
type repairer struct {
	client   *Client
	plan     *RepairPlan
	selected RepairOptions
	pace     watch.Pace
	options  []CallOption
	export   *BatchExport
}

func (r *repairer) now() time.Time { return r.client.core.now().UTC() }

// after returns the options of the coverage of all steps.
func (r *repairer) after() *CoverageOptions {
	o := &CoverageOptions{AgeLine: r.plan.AgeLine}
	for _, step := range r.plan.Steps {
		if step.Action != RepairUnpause && (o.From.IsZero() || step.Start.Before(o.From)) {
			o.From = step.Start
		}
	}
	return o
}

func (r *repairer) run(ctx context.Context) (err error) {
	isOpen := func(s RepairStep) bool {
		return slices.Contains([]RepairState{RepairPlanned, RepairBegun, RepairFailed}, s.State)
	}
	if !slices.ContainsFunc(r.plan.Steps, isOpen) {
		return nil
	}
	if r.export, err = r.client.BatchExports.Get(ctx, r.plan.ExportID, r.options...); err != nil {
		return err
	}
	if now := r.export.scheduleText(); now != r.plan.Schedule {
		return &InputError{Op: ops.BackfillsCreate, Field: "plan", Value: r.plan.Schedule, Want: "a plan for the export as it is now (" + now + "): plan again"}
	}
	if err := r.testDestination(ctx); err != nil {
		return err
	}
	for i := range r.plan.Steps {
		if step := &r.plan.Steps[i]; isOpen(*step) {
			if err := r.carryOut(ctx, step); err != nil {
				return errtext.Errorf("repair of %s to %s: %v", outgoing.Time(step.Start), outgoing.Time(step.End), err)
			}
		}
	}
	return nil
}

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

// save notes the state of a step and stores the plan.
func (r *repairer) save(step *RepairStep, state RepairState, result string) error {
	step.State, step.Result = state, result
	if r.selected.Save == nil {
		return nil
	}
	return r.selected.Save(r.plan)
}

func (r *repairer) carryOut(ctx context.Context, step *RepairStep) error {
	switch step.Action {
	case RepairCancel:
		return r.cancel(ctx, step)
	case RepairUnpause:
		if _, err := r.client.BatchExports.Unpause(ctx, r.plan.ExportID, nil, r.options...); err != nil {
			return err
		}
		return r.save(step, RepairDone, "")
	default:
		return r.exportAgain(ctx, step)
	}
}

// exportAgain exports the time of a step again. A request whose answer was lost is sent once more if nothing shows that it
// had an effect.
func (r *repairer) exportAgain(ctx context.Context, step *RepairStep) error {
	for {
		isCovered, err := r.begin(ctx, step)
		if err != nil || isCovered {
			return err
		}
		state, err := r.client.Backfills.Wait(ctx, step.Ticket, r.selected.Watch, r.options...)
		switch {
		case err == nil:
			return r.save(step, RepairDone, state.String())
		case errors.Is(err, ErrNoRuns):
			return r.save(step, RepairDone, "no rows: only FileDownloads.Range gets rows that arrived in this time")
		case ctx.Err() != nil:
			return err
		}
		wasLost := step.Ticket.OutcomeUnknown && errors.Is(err, ErrOutcomeUnknown)
		if _, isOver := errors.AsType[*BackfillError](err); isOver {
			step.Ticket, step.BegunAt = nil, time.Time{}
		}
		if !wasLost {
			return errors.Join(err, r.save(step, RepairFailed, err.Error()))
		}
	}
}

// begin makes sure that a backfill of the step's time has been requested, unless the time is covered already.
func (r *repairer) begin(ctx context.Context, step *RepairStep) (isCovered bool, err error) {
	if step.Ticket != nil {
		return false, nil
	}
	target := r.export
	if step.Action == RepairSecondExport {
		if target, err = r.secondExport(ctx, step); err != nil {
			return false, err
		}
	}
	if isCovered, err = r.lookAgain(ctx, target, step); err != nil || isCovered {
		return isCovered, err
	}
	return false, r.request(ctx, target.ID, step)
}

func (r *repairer) cancel(ctx context.Context, step *RepairStep) error {
	run, err := r.client.Runs.Get(ctx, r.plan.ExportID, step.Run.ID, r.options...)
	if err == nil && run.Status.goesOn() {
		err = r.client.Runs.Cancel(ctx, r.plan.ExportID, run.ID, r.options...)
		if err == nil || errors.Is(err, ErrOutcomeUnknown) {
			run, err = r.client.Runs.Wait(ctx, r.plan.ExportID, run.ID, r.selected.Watch, r.options...)
		}
	}
	if _, isOver := errors.AsType[*RunError](err); err != nil && !isOver {
		return err
	}
	return r.save(step, RepairDone, "the run ended as "+string(run.Status))
}

// lookAgain waits until no backfill or run of the step's time is under way, and reports whether completed runs cover
// it by then. It refuses the step if its events have become too old, or if one more failure would pause the export.
func (r *repairer) lookAgain(ctx context.Context, target *BatchExport, step *RepairStep) (isCovered bool, err error) {
	gap := coverage.NewSpan(step.Start, step.End)
	isOld := coverage.AgeLine(r.plan.AgeLine).IsPast(gap.First(string(r.export.Interval)), r.now())
	if step.Rows == RowsAsScheduled && r.export.choosing() == coverage.ByAge && isOld {
		return false, &InputError{Op: ops.BackfillsCreate, Field: "plan", Want: "a gap on the young side of the age line, which this gap has crossed since the plan: plan again"}
	}
	if !step.BegunAt.IsZero() && !watch.Sleep(ctx, step.BegunAt.Add(r.pace.Settle).Sub(r.now())) { // its record may come late
		return false, context.Cause(ctx)
	}
	if err := r.waitForBackfills(ctx, target.ID, gap); err != nil {
		return false, err
	}
	reader := &coverageReader{client: r.client, options: r.options, export: target, now: r.now()}
	var completed []coverage.Span
	for isWaiting := true; isWaiting; {
		runs, err := reader.runs(ctx, step.Start, Coverage{})
		if err != nil {
			return false, err
		}
		completed, isWaiting = nil, false
		for _, run := range runs {
			x := coverage.NewSpan(run.Start, run.End)
			switch {
			case !gap.Overlaps(x):
			case run.Status == RunStatusCompleted:
				completed = append(completed, x)
			case run.Status.goesOn() && r.now().Sub(run.CreatedAt) > leastStuck:
				return false, errtext.Errorf("run %s of this time has been under way since %s: plan again, which cancels it", run.ID, outgoing.Time(run.CreatedAt))
			case run.Status.goesOn():
				isWaiting = true
				_, err := r.client.Runs.Wait(ctx, target.ID, run.ID, r.selected.Watch, r.options...)
				if _, isOver := errors.AsType[*RunError](err); err != nil && !isOver {
					return false, err
				}
			}
		}
	}
	if len(gap.Without(completed)) == 0 {
		return true, r.save(step, RepairCovered, "covered since the plan was made")
	}
	return false, r.checkFailures(ctx, target)
}

// waitForBackfills waits for the backfills of a time that are under way.
func (r *repairer) waitForBackfills(ctx context.Context, exportID uuid.UUID, gap coverage.Span) error {
	for b, err := range r.client.Backfills.All(ctx, exportID, nil, r.options...) {
		switch {
		case hasNoRecords(err):
			return nil
		case err != nil:
			return fromTheStart(err)
		case !b.Status.goesOn() || !gap.Overlaps(coverage.NewSpan(orDefault(b.StartAt), orDefault(b.EndAt))):
			continue
		}
		ticket := &BackfillTicket{ExportID: exportID, BackfillID: b.ID.String(), RequestedAt: b.CreatedAt, StartAt: Beginning(), EndAt: At(orDefault(b.EndAt))}
		if b.StartAt != nil {
			ticket.StartAt = At(*b.StartAt)
		}
		_, err := r.client.Backfills.Wait(ctx, ticket, r.selected.Watch, r.options...)
		if _, isOver := errors.AsType[*BackfillError](err); err != nil && !isOver {
			return err
		}
	}
	return nil
}

// checkFailures refuses to continue if one more failed run would pause the export.
func (r *repairer) checkFailures(ctx context.Context, target *BatchExport) error {
	page, err := r.client.Runs.List(ctx, target.ID, &RunListOptions{Ordering: RunsNewestFirst}, r.options...)
	if err != nil {
		return err
	}
	slices.SortStableFunc(page.Results, func(a, b Run) int { return b.LastUpdatedAt.Compare(a.LastUpdatedAt) })
	window, failed := page.Results[:min(len(page.Results), coverage.PauseWindow(string(target.Interval)))], 0
	for _, run := range window {
		if run.Status == RunStatusFailed {
			failed++
		}
	}
	if failed >= coverage.PauseAfter-1 && !target.Paused {
		return errtext.Errorf("%d of the last %d runs have failed, and one more failure would pause the export: remove the cause first (Run.LatestError)",
			failed, len(window))
	}
	return nil
}

// request requests the backfill of a step. It waits while the service has too many backfills under way.
func (r *repairer) request(ctx context.Context, exportID uuid.UUID, step *RepairStep) error {
	bounds, err := r.export.BackfillRange(step.Start, step.End)
	if err != nil {
		return err
	}
	for {
		step.BegunAt = r.now()
		if err := r.save(step, RepairBegun, ""); err != nil {
			return err
		}
		o := &BackfillOptions{AcceptRowsByTimestamp: step.Rows != RowsAsScheduled}
		ticket, err := r.client.BatchExports.Backfill(ctx, exportID, bounds, o, r.options...)
		if ticket != nil {
			step.Ticket = ticket
			return r.save(step, RepairBegun, "")
		}
		if !errors.Is(err, ErrTooManyBackfills) {
			step.BegunAt = time.Time{}
			return errors.Join(err, r.save(step, RepairPlanned, ""))
		}
		if !watch.Sleep(ctx, r.pace.MaxInterval) {
			return context.Cause(ctx)
		}
	}
}

// secondExport returns the paused export of a step, and makes it if necessary.
func (r *repairer) secondExport(ctx context.Context, step *RepairStep) (*BatchExport, error) {
	found, err := r.client.BatchExports.ByName(ctx, step.Export, r.options...)
	if err == nil || !errors.Is(err, ErrNotFound) {
		return found, err
	}
	request, err := r.export.second(*step, r.selected.Credentials)
	if err != nil {
		return nil, err
	}
	return r.client.BatchExports.Create(ctx, request, r.options...)
}

// second returns the request for the second export of a step: with another prefix, and with credentials.
func (e *BatchExport) second(step RepairStep, credentials destination.Config) (BatchExportRequest, error) {
	keys := configs.Keys{}
	for _, config := range []destination.Config{e.Destination.Config, credentials} {
		if isNil(config) {
			continue
		}
		_, more, refusal := configs.Encode(config)
		if refusal != nil {
			return BatchExportRequest{}, refused(ops.BatchExportsCreate, refusal)
		}
		keys = configs.Overlay(keys, more)
	}
	keys["prefix"], _ = json.Marshal(step.Prefix) //nolint:errchkjson // a text
	config, err := json.Marshal(keys)
	return BatchExportRequest{
		Name: step.Export, Model: cmp.Or(e.Model, ModelEvents), Interval: e.Interval, Paused: true, Filters: e.Filters, Timezone: e.Timezone,
		OffsetDay: e.OffsetDay, OffsetHour: e.OffsetHour,
		Destination: Destination{Type: e.Destination.Type, Integration: e.Destination.Integration, Config: destination.Raw(config)},
	}, err
}

// String returns the plan with its results, and what is still not exported.
func (r *RepairReport) String() string {
	text := r.Plan.String()
	if r.After != nil {
		text += "\n\n" + r.After.String()
	}
	return text
}
