package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/coverage"
)

const leftOut = "; left out, since --yes was given without --by-timestamp"

// leaveByTimestamp leaves the backfills by timestamp to a person, and the runs that would be cancelled for them: rows may
// come twice, and late rows do not come.
func leaveByTimestamp(plan *coverage.Plan) {
	isOpen := func(s *coverage.Step) bool { return slices.Contains(left, s.State) }
	for i := range plan.Steps {
		if s := &plan.Steps[i]; s.State == coverage.StepPlanned && s.Action == coverage.ActionBackfill && s.Rows == coverage.RowsByTimestamp {
			s.State, s.Note = coverage.StepLeft, strings.TrimPrefix(s.Note+leftOut, "; ")
		}
	}
	for i := range plan.Steps {
		s := &plan.Steps[i]
		isNeeded := slices.ContainsFunc(plan.Steps, func(x coverage.Step) bool {
			return x.Action == coverage.ActionBackfill && isOpen(&x) && x.Start.Before(s.End) && s.Start.Before(x.End)
		})
		if s.Action == coverage.ActionCancel && s.State == coverage.StepPlanned && !isNeeded {
			s.State, s.Note = coverage.StepLeft, s.Note+leftOut
		}
	}
}

// takeByTimestamp plans again what an earlier --yes has left out of a plan.
func takeByTimestamp(plan *coverage.Plan) {
	for i := range plan.Steps {
		s := &plan.Steps[i]
		if note, isLeft := strings.CutSuffix(s.Note, leftOut); isLeft && s.State == coverage.StepLeft {
			s.State, s.Note = coverage.StepPlanned, note
		}
	}
}

// question says in one sentence what the steps of some plans do.
func question(plans []planned, project string) string {
	kinds := map[coverage.Action]int{}
	old, rows, isKnown, mergesAll := 0, int64(0), true, true
	for _, plan := range plans {
		for _, s := range plan.Steps {
			switch {
			case !slices.Contains(left, s.State):
			case s.Action == coverage.ActionBackfill && s.Rows == coverage.RowsByTimestamp:
				old++
				mergesAll = mergesAll && plan.MergesByUUID
				if isKnown = isKnown && s.Estimate != nil; isKnown {
					rows += *s.Estimate
				}
			default:
				kinds[s.Action]++
			}
		}
	}
	var parts []string
	for _, action := range []coverage.Action{coverage.ActionCancel, coverage.ActionBackfill, coverage.ActionSecondExport, coverage.ActionUnpause} {
		if n := kinds[action]; n > 0 {
			parts = append(parts, plural(n, map[coverage.Action]string{
				coverage.ActionCancel: "cancel", coverage.ActionBackfill: "backfill", coverage.ActionSecondExport: "second export", coverage.ActionUnpause: "unpause",
			}[action]))
		}
	}
	if old > 0 {
		text := plural(old, "backfill") + " BY TIMESTAMP: "
		switch {
		case mergesAll:
		case isKnown:
			text += "up to " + progress.Number(rows) + " rows come twice, "
		default:
			text += "nobody knows how many rows come twice, "
		}
		parts = append(parts, text+"rows that arrived late do not come")
	}
	return fmt.Sprintf("Project %s: %s. Carry out?", project, strings.Join(parts, ", "))
}

// agree asks for the consent of a person, or checks the bound of --yes.
func (r *repair) agree(ctx context.Context, plans []planned) error {
	steps := 0
	for _, plan := range plans {
		steps += stepsLeft(plan.Plan)
	}
	if steps == 0 {
		return nil
	}
	if err := r.bound(plans...); err != nil {
		return err
	}
	if r.yes {
		return nil
	}
	if !r.CanAnswer() {
		return shell.UsageError("nobody can answer the question whether to begin", "look at the plan with --plan FILE, then give --apply FILE --yes --max-rows NUMBER; nothing was changed")
	}
	return r.consent(ctx, question(plans, r.project()))
}

// bound refuses plans that export more rows than --max-rows.
func (r *repair) bound(plans ...planned) error {
	if r.maxRows <= 0 {
		return nil
	}
	rows, unknown := rowsOf(plans)
	if unknown != nil {
		todo := "no interval since --since and no newest run is exported, so nothing tells how many rows an interval has: give an earlier --since"
		if unknown.Rows == coverage.RowsByTimestamp {
			todo = "give the key the scope query:read"
		}
		return &shell.Fault{
			Code: shell.CodeCannot, Text: "the number of rows that come again is not known, and --max-rows is given",
			Todo: todo + ", or run without --max-rows and look at the plan; nothing was changed",
		}
	}
	if rows > r.maxRows {
		what := "the plan exports"
		if len(plans) > 1 {
			what = "the plans export"
		}
		return &shell.Fault{
			Code: shell.CodeRejects, Text: fmt.Sprintf("%s %s rows again, more than --max-rows %s", what, progress.Number(rows), progress.Number(r.maxRows)),
			Todo: "look at the plan, and raise --max-rows if it is right; nothing was changed",
		}
	}
	return nil
}

// rowsOf returns about how many rows the steps export again, or a step whose rows are not known.
func rowsOf(plans []planned) (n int64, unknown *coverage.Step) {
	for _, plan := range plans {
		for _, s := range plan.Steps {
			if !slices.Contains(left, s.State) || s.Action != coverage.ActionBackfill && s.Action != coverage.ActionSecondExport {
				continue
			}
			if s.Estimate == nil {
				return 0, &s
			}
			n += *s.Estimate
		}
	}
	return n, nil
}
