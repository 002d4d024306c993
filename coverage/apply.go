package coverage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/internal/bridge"
	"github.com/hogapi/hogapi/internal/configs"
	calendar "github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/watch"
	"github.com/hogapi/hogapi/ops"
)

// Repair carries out the steps of a plan that are planned or begun, one after another, stores their states in the plan,
// and reads the coverage again. It stops at the first step that fails; another call with the same plan, also after a
// kill with the plan that RepairOptions.Save has stored, continues and begins no backfill twice. It refuses to begin if
// one more failed run would pause the export. Steps can be left to you without an error: Report.After has the remaining
// gaps. The report comes with an error too: an [*hogapi.InputError] for a plan that does not fit, a
// [*hogapi.BackfillError], or a call's error. docs/reference.md lists the checks before each step.
//
// GET and POST /batch_exports/{id}/backfills/, GET …/runs/, POST …/runs/{id}/cancel/, POST /batch_exports/, scope
// batch_export:write.
func Repair(ctx context.Context, client *hogapi.Client, plan *Plan, o *RepairOptions) (*Report, error) {
	selected := outgoing.OrDefault(o)
	pace, refusal := paceOf(selected.Watch)
	root, err := bridge.Open(ctx, client, ops.BatchExportsRepair, cmp.Or(plan.check(), refusal))
	if err != nil {
		return nil, err
	}
	r := &repairer{service: service{client, root}, plan: plan, selected: selected, pace: pace}
	err = r.run(ctx)
	report := &Report{Plan: plan}
	if (err == nil || r.export.BatchExport != nil) && ctx.Err() == nil {
		var unread error
		report.After, unread = Of(ctx, client, plan.ExportID, r.after())
		err = errors.Join(err, unread)
		if unread == nil {
			plan.confirm(report.After)
		}
	}
	return report, err
}

func (p *Plan) check() *ops.InputError {
	return cmp.Or(
		outgoing.If(p == nil, "plan", "", "a plan of MakePlan, not nil"),
		outgoing.If(outgoing.OrDefault(p).ExportID == uuid.Nil, "plan.ExportID", "", "an id, not the nil UUID"),
		outgoing.Durations(map[string]time.Duration{"plan.AgeLine": outgoing.OrDefault(p).AgeLine}),
		outgoing.OrDefault(p).checkSteps(),
	)
}

// checkSteps refuses the steps of a plan that was edited, or that a newer version made.
func (p Plan) checkSteps() (refusal *ops.InputError) {
	for i, s := range p.Steps {
		isOpen, isExport, field := slices.Contains(openStates, s.State), s.Action == ActionBackfill || s.Action == ActionSecondExport, fmt.Sprintf("plan.Steps[%d].", i)
		refusal = cmp.Or(refusal,
			outgoing.If(!slices.Contains(repairStates, s.State), field+"State", string(s.State), "a state of this package: make a new plan"),
			outgoing.If(isOpen && !slices.Contains(carriedOut, s.Action), field+"Action", string(s.Action), "an action that Repair carries out: make a new plan"),
			outgoing.If(isExport && !s.Start.Before(s.End), field+"End", outgoing.Time(s.End), "later than Start"),
			outgoing.If(s.Action == ActionCancel && s.Run == nil, field+"Run", "", "the run to be cancelled: make a new plan"),
		)
	}
	return refusal
}

// repairer carries out a plan.
type repairer struct {
	service

	plan     *Plan
	selected RepairOptions
	pace     watch.Pace
	export   export
	ahead    time.Duration // of the service's clock
}

// now returns the time by the service's clock.
func (r *repairer) now() time.Time { return r.root.Now().UTC().Add(r.ahead) }

// after returns the options of the coverage of all steps.
func (r *repairer) after() *Options {
	o := &Options{AgeLine: r.plan.AgeLine}
	for _, step := range r.plan.Steps {
		if step.Action != ActionUnpause && (o.From.IsZero() || step.Start.Before(o.From)) {
			o.From = step.Start
		}
	}
	return o
}

func (r *repairer) run(ctx context.Context) (err error) {
	isOpen := func(s Step) bool { return slices.Contains(openStates, s.State) }
	if !slices.ContainsFunc(r.plan.Steps, isOpen) {
		return nil
	}
	var now time.Time
	if r.export, now, err = r.getAt(ctx, r.plan.ExportID); err != nil {
		return err
	}
	r.ahead = now.Sub(r.root.Now())
	if now := r.export.scheduleText(); now != r.plan.Schedule {
		return &hogapi.InputError{Op: ops.BatchExportsRepair, Field: "plan", Value: r.plan.Schedule, Want: "a plan for the export as it is now (" + now + "): make a new plan"}
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

// save notes the state of a step and stores the plan.
func (r *repairer) save(step *Step, state StepState, result string) error {
	step.State, step.Result = state, result
	if r.selected.Save == nil {
		return nil
	}
	return r.selected.Save(r.plan)
}

func (r *repairer) carryOut(ctx context.Context, step *Step) error {
	switch step.Action {
	case ActionCancel:
		return r.cancel(ctx, step)
	case ActionUnpause:
		if _, err := r.BatchExports.Unpause(ctx, r.plan.ExportID, nil); err != nil {
			return err
		}
		return r.save(step, StepDone, "")
	default:
		return r.exportAgain(ctx, step)
	}
}

// exportAgain exports the parts of a step's time that no completed run covers. If an answer was lost, the request is
// sent once more if nothing shows that it had an effect.
func (r *repairer) exportAgain(ctx context.Context, step *Step) error {
	target, err := r.target(ctx, step)
	if err != nil {
		return err
	}
	if run := r.plan.uncancelled(step); run != nil {
		return r.save(step, StepLeft, fmt.Sprintf("run %s in this time cannot be cancelled: a Backfill of this time starts a new run if that run's workflow is gone, "+
			"and otherwise joins it", run.ID))
	}
	var next again
	end, result, at := StepCovered, "covered since the plan was made", step.Start
	if step.Ticket != nil {
		next.part = target.asked(step.Ticket)
	}
	for isBegun := step.Ticket != nil; ; isBegun = false {
		if !isBegun {
			if next, err = r.beginNext(ctx, target, step, at); err != nil {
				return err
			}
			if len(next.empty) > 0 {
				end, result = StepLeft, target.model().WhyEmpty(step.span(), next.empty)
				step.Left = target.leftParts(next.empty)
			}
			if next.leaves {
				end, result, step.Leftovers = StepLeft, leftoversText(next.part, step.ComparedAt), true
			}
			if next.leaves || next.part.End.IsZero() {
				return r.save(step, end, result)
			}
		}
		state, err := r.Backfills.Wait(ctx, step.Ticket, r.selected.Watch)
		isUnknown := errors.Is(err, hogapi.ErrOutcomeUnknown)
		_, isOver := errors.AsType[*hogapi.BackfillError](err)
		switch {
		case err == nil:
			at, end, result = next.part.End, StepDone, state.String()
		case isOver && !isUnknown && bringsNoMore(state):
			at, end, result = next.part.End, StepLeft, target.model().WhyEmpty(step.span(), nil)
		case isUnknown && step.Ticket.OutcomeUnknown: // begin it once more
		case ctx.Err() != nil:
			return err
		case isOver && !isUnknown:
			step.Ticket, step.BegunAt = nil, time.Time{}
			unsaved := r.save(step, StepFailed, err.Error())
			return errors.Join(errtext.Errorf("%v; fix the cause, and call Repair again with this plan", err), unsaved)
		default:
			return errors.Join(err, r.save(step, StepBegun, err.Error()))
		}
	}
}

// beginNext requests the backfill of the next part without cover, from a time on. The part is empty if every part has cover.
// While the service has too many backfills under way, beginNext waits.
func (r *repairer) beginNext(ctx context.Context, target export, step *Step, at time.Time) (next again, err error) {
	for {
		if next, err = r.lookAgain(ctx, target, step, at); err != nil || next.part.End.IsZero() || next.leaves {
			return next, err
		}
		if err = r.request(ctx, target.ID, step, next.part); !hasCode(err, hogapi.CodeTooManyBackfills) {
			return next, err
		}
		if !watch.Sleep(ctx, r.pace.MaxInterval) {
			return next, context.Cause(ctx)
		}
	}
}

// lookAgain waits until no backfill or run of the step's time is under way, and returns the next part after a time that
// no completed run covers by then, and separately the parts in which a backfill ran nothing. It refuses the step if its
// events have become too old, or if one more failure would pause the export.
func (r *repairer) lookAgain(ctx context.Context, target export, step *Step, at time.Time) (next again, err error) {
	gap := step.span()
	var ranNothing emptyBackfills
	if err := r.waitForBackfills(ctx, target.ID, gap, &ranNothing); err != nil {
		return next, err
	}
	reader := &reader{service: r.service, export: target, now: r.now()}
	var runs []Run
	for isWaiting := true; isWaiting; {
		if runs, err = reader.runs(ctx, step.Start, Coverage{}); err != nil {
			return next, err
		}
		ranNothing.without(runs)
		isWaiting = false
		for _, run := range runs {
			switch {
			case !gap.Overlaps(run.span()):
			case calendar.IsOpen(run.Status) && r.now().Sub(run.CreatedAt) > calendar.StuckAfter(string(target.Interval)):
				return next, errtext.Errorf("run %s in this time has been under way since %s: make a new plan, which cancels it", run.ID, outgoing.Time(run.CreatedAt))
			case calendar.IsOpen(run.Status):
				isWaiting = true
				_, err := r.Runs.Wait(ctx, target.ID, run.ID, r.selected.Watch)
				if _, isOver := errors.AsType[*hogapi.RunError](err); err != nil && !isOver {
					return next, err
				}
			}
		}
	}
	runs = slices.DeleteFunc(runs, func(run Run) bool { return run.CreatedAt.Before(step.ComparedAt) })
	open := target.rest(gap, runs)
	rest := calendar.Without(open, ranNothing.spans())
	next.empty = calendar.Without(open, rest)
	rest = slices.DeleteFunc(rest, func(x calendar.Span) bool { return x.Start.Before(at) })
	if len(rest) == 0 {
		return next, nil
	}
	next.part, next.leaves = rest[0], !r.selected.AcceptCopies && (step.Leftovers || len(target.leavers(rest, runs)) > 0)
	isOld := calendar.AgeLine(r.plan.AgeLine).IsPast(rest[0].First(string(r.export.Interval)), r.now())
	if step.Rows == RowsAsScheduled && r.export.model().Choosing == calendar.ByAge && isOld {
		return next, &hogapi.InputError{Op: ops.BatchExportsRepair, Field: "plan", Want: "a gap newer than the age line: this gap has become older since the plan was made, so make a new plan"}
	}
	return next, r.checkFailures(ctx, target)
}

// waitForBackfills waits for the backfills of a time that are under way. After each, it waits for a random time, since
// another operator may have waited for the same one, and looks again. It collects the backfills that ran nothing.
func (r *repairer) waitForBackfills(ctx context.Context, exportID uuid.UUID, gap calendar.Span, empty *emptyBackfills) error {
	*empty = nil
	for b, err := range r.Backfills.All(ctx, exportID, nil) {
		switch {
		case bridge.HasNoRecords(err):
			return nil
		case err != nil:
			return bridge.FromTheStart(err)
		case b.Status == hogapi.RunStatusCompleted:
			empty.add(&b)
			continue
		case !calendar.IsOpen(b.Status):
			continue
		}
		end := hogapi.AtTime(outgoing.OrDefault(b.EndAt))
		if b.EndAt == nil {
			end = hogapi.CaughtUp()
		}
		if !gap.Overlaps(calendar.NewSpan(outgoing.OrDefault(b.StartAt), cmp.Or(end.Time(), gap.End))) {
			continue
		}
		ticket := &hogapi.BackfillTicket{ExportID: exportID, BackfillID: b.ID, RequestedAt: b.CreatedAt, StartAt: hogapi.AtBeginning(), EndAt: end}
		if b.StartAt != nil {
			ticket.StartAt = hogapi.AtTime(*b.StartAt)
		}
		_, err := r.Backfills.Wait(ctx, ticket, r.selected.Watch)
		if _, isOver := errors.AsType[*hogapi.BackfillError](err); err != nil && !isOver {
			return err
		}
		if !watch.Sleep(ctx, httptry.Jitter(r.pace.MaxInterval, r.pace.MaxInterval, 1, httptry.Random())) {
			return context.Cause(ctx)
		}
		return r.waitForBackfills(ctx, exportID, gap, empty)
	}
	return nil
}

// checkFailures refuses to continue if one more failed run would pause the export.
func (r *repairer) checkFailures(ctx context.Context, target export) error {
	page, err := r.Runs.List(ctx, target.ID, &hogapi.RunListOptions{Ordering: hogapi.RunsNewestFirst})
	if err != nil {
		return err
	}
	slices.SortStableFunc(page.Results, func(a, b hogapi.Run) int { return b.LastUpdatedAt.Compare(a.LastUpdatedAt) })
	window, failed := page.Results[:min(len(page.Results), calendar.PauseWindow(string(target.Interval)))], 0
	for _, run := range window {
		if run.Status == hogapi.RunStatusFailed {
			failed++
		}
	}
	if failed >= calendar.PauseAfter-1 {
		return errtext.Errorf("%d of the last %d runs have failed, and one more failure would pause the export and cancel the backfill: "+
			"remove the cause (Run.LatestError), and repair when newer runs have completed", failed, len(window))
	}
	return nil
}

// request requests the backfill of a part of a step. Its ticket is stored before, so that a lost answer can be settled.
func (r *repairer) request(ctx context.Context, exportID uuid.UUID, step *Step, part calendar.Span) error {
	bounds, err := r.export.BackfillRange(part.Start, part.End)
	if err != nil {
		return errtext.Errorf("a part of this time was exported since the plan was made, so make a new plan: %v", err)
	}
	store := func(ticket any) error {
		step.Ticket, _ = ticket.(*hogapi.BackfillTicket)
		step.BegunAt = r.now()
		return r.save(step, StepBegun, "")
	}
	ticket, err := r.root.Backfill(ctx, exportID, bounds, store) // of any age: lookAgain has measured it by the line of the plan
	if step.Ticket, _ = ticket.(*hogapi.BackfillTicket); step.Ticket != nil {
		return r.save(step, StepBegun, "")
	}
	step.BegunAt = time.Time{}
	return errors.Join(err, r.save(step, StepPlanned, ""))
}

// target returns the export of a step's backfill. It makes the paused second export if necessary.
func (r *repairer) target(ctx context.Context, step *Step) (export, error) {
	if step.Action != ActionSecondExport {
		return r.export, nil
	}
	found, err := r.BatchExports.ByName(ctx, step.Export)
	switch _, hasIntegration := r.export.Destination.Integration.Get(); {
	case err == nil:
		if prefix := configs.Prefix(found.Destination.Config); prefix != step.Prefix {
			err = errtext.Errorf("the export %q has the prefix %q, not the plan's %q: rename it", found.Name, prefix, step.Prefix)
		}
		return export{found}, err
	case !errors.Is(err, hogapi.ErrNotFound):
		return export{}, err
	case !hasIntegration && outgoing.IsNil(r.selected.Credentials):
		return export{}, &hogapi.InputError{Op: ops.BatchExportsRepair, Field: "RepairOptions.Credentials", Want: "those of the plan, which does not store them"}
	}
	request, err := r.export.second(*step, r.selected.Credentials)
	if err != nil {
		return export{}, err
	}
	found, err = r.BatchExports.Create(ctx, request)
	return export{found}, err
}

// second returns the request for the second export of a step: with another prefix, and with credentials.
func (e export) second(step Step, credentials destination.Config) (hogapi.BatchExportRequest, error) {
	all := []any{e.Destination.Config, credentials}
	config, refusal := configs.WithPrefix(step.Prefix, slices.DeleteFunc(all, func(config any) bool { return outgoing.IsNil(config) })...)
	return hogapi.BatchExportRequest{
		Name: step.Export, Model: cmp.Or(e.Model, hogapi.ModelEvents), Interval: e.Interval, Paused: true, Filters: e.Filters, Timezone: e.Timezone,
		OffsetDay: e.OffsetDay, OffsetHour: e.OffsetHour,
		Destination: hogapi.Destination{Type: e.Destination.Type, Integration: e.Destination.Integration, Config: destination.Raw(config)},
	}, outgoing.Refused(ops.BatchExportsCreate, refusal)
}

// String returns the plan with its results and the remaining gaps.
func (r *Report) String() string {
	if r.After == nil {
		return r.Plan.String()
	}
	return r.Plan.String() + "\n\n" + r.After.String()
}
