package coverage

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	calendar "github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/watch"
)

func (r *repairer) cancel(ctx context.Context, step *Step) error {
	run, err := r.Runs.Get(ctx, r.plan.ExportID, step.Run.ID)
	if err == nil && calendar.IsOpen(run.Status) {
		err = r.Runs.Cancel(ctx, r.plan.ExportID, run.ID)
		switch {
		case ctx.Err() != nil:
		case err == nil, errors.Is(err, hogapi.ErrOutcomeUnknown), errors.As(err, new(*hogapi.RunError)):
			run, err = r.Runs.Get(ctx, r.plan.ExportID, run.ID)
		case errors.Is(err, hogapi.ErrInvalid): // it may have ended, or somebody has cancelled it, since the last look
			if now, unread := r.Runs.Get(ctx, r.plan.ExportID, run.ID); unread == nil && !calendar.IsOpen(now.Status) {
				run, err = r.ended(ctx, run.ID)
			}
		}
	} else if err == nil {
		run, err = r.ended(ctx, run.ID)
	}
	switch {
	case err != nil:
		return err
	case !calendar.IsFinal(run.Status, run.FinishedAt):
		return r.save(step, StepLeft, fmt.Sprintf("the service accepted the cancel, but run %s is not over after %v: its workflow may be gone", run.ID, watch.CancelPatience))
	}
	return r.save(step, StepDone, "the run ended as "+string(run.Status))
}

func (r *repairer) ended(ctx context.Context, runID uuid.UUID) (*hogapi.Run, error) {
	ended, err := r.root.EndOfRun(ctx, r.plan.ExportID, runID)
	run, _ := ended.(*hogapi.Run)
	return run, err
}

// uncancelled returns the run of a step's time that could not be cancelled, or nil.
func (p *Plan) uncancelled(step *Step) *Run {
	for _, s := range p.Steps {
		if s.Action == ActionCancel && s.State == StepLeft && step.Action == ActionBackfill && s.span().Overlaps(step.span()) {
			return s.Run
		}
	}
	return nil
}

// confirm leaves steps to the user that the coverage after them does not confirm.
func (p *Plan) confirm(after *Coverage) {
	for i := range p.Steps {
		step := &p.Steps[i]
		if step.Action != ActionBackfill || step.State != StepDone && step.State != StepCovered {
			continue
		}
		for _, x := range after.Intervals {
			if x.State.IsGap() && step.span().Holds(x.span()) {
				step.State, step.Result = StepLeft, fmt.Sprintf("%s; but the coverage after it says %q from %s to %s: make a new plan", step.Result, x.State, outgoing.Time(x.Start), outgoing.Time(x.End))
				break
			}
		}
	}
}
