package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/coverage"
)

const leftOut = "; left out, since --yes was given without --by-timestamp"

// isByTimestamp reports whether a step exports rows by timestamp, into the table or with a second export.
func isByTimestamp(s *coverage.Step) bool {
	return s.Rows == coverage.RowsByTimestamp && (s.Action == coverage.ActionBackfill || s.Action == coverage.ActionSecondExport)
}

// leaveByTimestamp leaves the steps by timestamp to a person, and the runs that would be cancelled for them: rows may
// come twice, and late rows do not come.
func leaveByTimestamp(plan *coverage.Plan) {
	isOpen := func(s *coverage.Step) bool { return slices.Contains(left, s.State) }
	for i := range plan.Steps {
		if s := &plan.Steps[i]; s.State == coverage.StepPlanned && isByTimestamp(s) {
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

// takeByTimestamp restores the steps that an earlier --yes left out of a plan.
func takeByTimestamp(plan *coverage.Plan) {
	for i := range plan.Steps {
		s := &plan.Steps[i]
		if note, isLeft := strings.CutSuffix(s.Note, leftOut); isLeft && s.State == coverage.StepLeft {
			s.State, s.Note = coverage.StepPlanned, note
		}
	}
}

// tally counts steps of one kind, and their rows.
type tally struct {
	steps     int
	rows      int64
	isUnknown bool // rows
}

func (t *tally) add(s *coverage.Step) {
	t.steps++
	if t.isUnknown = t.isUnknown || s.Estimate == nil; !t.isUnknown {
		t.rows += *s.Estimate
	}
}

// text is such as "2 backfills of about 10 rows".
func (t *tally) text(noun, about string) string {
	text := plural(t.steps, noun)
	if !t.isUnknown {
		text += " of " + about + " " + page.Plural(t.rows, "row", "rows")
	}
	return text
}

// question describes the steps of some plans in one sentence.
func question(plans []planned, project string) string {
	var cancels, young, old, second, unpauses tally
	mergesAll := true
	for _, plan := range plans {
		for i := range plan.Steps {
			s := &plan.Steps[i]
			switch {
			case !slices.Contains(left, s.State):
			case s.Action == coverage.ActionBackfill && isByTimestamp(s):
				old.add(s)
				mergesAll = mergesAll && plan.MergesByUUID
			default:
				to, isKnown := map[coverage.Action]*tally{
					coverage.ActionCancel: &cancels, coverage.ActionBackfill: &young, coverage.ActionSecondExport: &second, coverage.ActionUnpause: &unpauses,
				}[s.Action]
				if isKnown {
					to.add(s)
				}
			}
		}
	}
	var parts []string
	add := func(t *tally, text string) {
		if t.steps > 0 {
			parts = append(parts, text)
		}
	}
	add(&cancels, plural(cancels.steps, "cancel"))
	add(&young, young.text("backfill", "about"))
	add(&second, second.text("second export", "up to")+" by timestamp")
	add(&unpauses, plural(unpauses.steps, "unpause"))
	twice := "up to " + page.Plural(old.rows, "row", "rows") + " are duplicated, "
	switch {
	case mergesAll:
		twice = ""
	case old.isUnknown:
		twice = "an unknown number of rows are duplicated, "
	}
	add(&old, plural(old.steps, "backfill")+" BY TIMESTAMP: "+twice+"late rows are left out")
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
		return shell.UsageError("this is not a terminal, so nobody can confirm the repair", "look at the plan with --plan FILE, then give --apply FILE --yes --max-rows NUMBER; nothing was changed")
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
		todo := "no run since --since has completed, so the rows per interval are unknown: give an earlier --since"
		if unknown.Rows == coverage.RowsByTimestamp {
			todo = "give the key the scope query:read"
		}
		return &shell.Fault{
			Code: shell.CodeCannot, Text: "the number of rows to export again is unknown, so --max-rows cannot be checked",
			Todo: todo + ", or run without --max-rows and look at the plan; nothing was changed",
		}
	}
	if rows > r.maxRows {
		what := "the plan exports"
		if len(plans) > 1 {
			what = "the plans export"
		}
		return &shell.Fault{
			Code: shell.CodeRejects, Text: fmt.Sprintf("%s about %s rows again, more than --max-rows %s", what, progress.Number(rows), progress.Number(r.maxRows)),
			Todo: "look at the plan, and raise --max-rows if it is right; nothing was changed",
		}
	}
	return nil
}

// rowsOf returns about how many rows the steps export again, or a step with an unknown number of rows.
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

// checkCame ends a repair of which more rows came than the plan said, before it begins a step that may pass --max-rows.
func (r *repair) checkCame(ctx context.Context, client *hogapi.Client, plan *coverage.Plan) error {
	if r.maxRows <= 0 || count(plan, coverage.StepDone) == 0 {
		return nil
	}
	came, err := rowsThatCame(ctx, client, plan)
	if err != nil {
		return err
	}
	rest, unknown := rowsOf([]planned{{Plan: plan}})
	if unknown != nil || came+rest <= r.maxRows {
		return nil
	}
	return &shell.Fault{
		Code: shell.CodeRejects,
		Text: fmt.Sprintf("%s rows were exported so far, and the other steps have about %s: more than --max-rows %s", progress.Number(came), progress.Number(rest), progress.Number(r.maxRows)),
		Todo: "the other steps were not started: to continue, run the same command again with a larger --max-rows",
	}
}

// rowsThatCame returns how many rows the runs of the steps of a plan have exported since it was made.
func rowsThatCame(ctx context.Context, client *hogapi.Client, plan *coverage.Plan) (n int64, err error) {
	steps := map[uuid.UUID][]coverage.Step{} // by export
	for _, s := range plan.Steps {
		if s.Ticket != nil {
			steps[s.Ticket.ExportID] = append(steps[s.Ticket.ExportID], s)
		}
	}
	for id, mine := range steps {
		for run, err := range client.Runs.All(ctx, id, &hogapi.RunListOptions{After: plan.PlannedAt}) {
			if err != nil {
				return 0, err
			}
			isOf := func(s coverage.Step) bool {
				return run.DataIntervalStart != nil && !run.DataIntervalStart.Before(s.Start) && !run.DataIntervalEnd.After(s.End)
			}
			if run.RecordsCompleted != nil && slices.ContainsFunc(mine, isOf) {
				n += *run.RecordsCompleted
			}
		}
	}
	return n, nil
}
