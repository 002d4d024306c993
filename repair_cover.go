package hogapi

import (
	"context"
	"errors"
	"fmt"

	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/outgoing"
)

func (r *repairer) cancel(ctx context.Context, step *RepairStep) error {
	run, err := r.client.Runs.Get(ctx, r.plan.ExportID, step.Run.ID, r.options...)
	if err == nil && run.Status.goesOn() {
		err = r.client.Runs.Cancel(ctx, r.plan.ExportID, run.ID, r.options...)
		switch {
		case ctx.Err() != nil:
		case err == nil, errors.Is(err, ErrOutcomeUnknown), errors.Is(err, ErrNotCancelled):
			run, err = r.client.Runs.Get(ctx, r.plan.ExportID, run.ID, r.options...)
		case errors.Is(err, ErrInvalid): // it may have ended, or somebody has cancelled it, since the last look
			if now, unread := r.client.Runs.Get(ctx, r.plan.ExportID, run.ID, r.options...); unread == nil && !now.Status.goesOn() {
				run, err = r.client.Runs.ended(ctx, r.plan.ExportID, run.ID, r.options)
			}
		}
	} else if err == nil {
		run, err = r.client.Runs.ended(ctx, r.plan.ExportID, run.ID, r.options)
	}
	switch {
	case err != nil:
		return err
	case !run.isFinal():
		return r.save(step, RepairLeft, fmt.Sprintf("the service accepted the cancel, but run %s is not over after %v: its workflow may be gone", run.ID, cancelPatience))
	}
	return r.save(step, RepairDone, "the run ended as "+string(run.Status))
}

// uncancelled returns the run of a step's time that could not be cancelled, or nil.
func (p *RepairPlan) uncancelled(step *RepairStep) *CoverageRun {
	for _, s := range p.Steps {
		if s.Action == RepairCancel && s.State == RepairLeft && step.Action == RepairBackfill && s.span().Overlaps(step.span()) {
			return s.Run
		}
	}
	return nil
}

// confirm leaves steps to the user that the coverage after them does not confirm.
func (p *RepairPlan) confirm(after *Coverage) {
	for i := range p.Steps {
		step := &p.Steps[i]
		if step.Action != RepairBackfill || step.State != RepairDone && step.State != RepairCovered {
			continue
		}
		for _, x := range after.Intervals {
			if x.State.IsGap() && step.span().Holds(coverage.NewSpan(x.Start, x.End)) {
				step.State, step.Result = RepairLeft, fmt.Sprintf("%s; but the coverage after it says %q from %s to %s: plan again", step.Result, x.State, outgoing.Time(x.Start), outgoing.Time(x.End))
				break
			}
		}
	}
}
