package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/coverage"
)

// plans returns the plan of --apply, or a plan for each export: one that was begun, or a new one.
func (r *repair) plans(ctx context.Context, client *hogapi.Client, names []string) (plans []planned, err error) {
	switch {
	case r.apply != "" && len(names) > 0:
		return nil, shell.UsageError("an export and --apply", "leave out the export: the plan names it")
	case r.apply != "":
		plan, text, err := readPlan(r.apply)
		if err == nil {
			r.leaveKnown(plan)
		}
		return []planned{{Plan: plan, file: r.apply, text: text}}, err
	case len(names) > 1 && r.plan != "":
		return nil, shell.UsageError(fmt.Sprintf("want one export with --plan, not %d", len(names)), "a file has the plan of one export: give each its own")
	case len(names) == 0:
		return nil, only(names, "repair")
	}
	exports, err := r.exports(ctx, client, names)
	if err != nil {
		return nil, err
	}
	seen := map[uuid.UUID]bool{}
	for i := range exports {
		if seen[exports[i].ID] {
			continue
		}
		seen[exports[i].ID] = true
		plan, err := r.planOf(ctx, client, &exports[i])
		if err != nil {
			return nil, err
		}
		plan.asked = names[i]
		plans = append(plans, plan)
	}
	return plans, nil
}

func (r *repair) planOf(ctx context.Context, client *hogapi.Client, export *hogapi.BatchExport) (p planned, err error) {
	store := r.cacheOf(r.cache)
	p.file = filepath.Join(store.folder, export.ID.String()+".plan.json")
	plan, text, err := readPlan(p.file)
	if err == nil {
		r.leaveKnown(plan)
	}
	if p.text = text; err == nil && isUnderWay(plan) && r.plan == "" {
		r.Note("continue the repair that was planned at " + plan.PlannedAt.Format(clock) + " UTC and not finished")
		p.Plan = plan
		return p, nil
	}
	from, err := parseTime("--since", r.since, time.Now().UTC())
	if err != nil {
		return p, err
	}
	c, err := store.coverage(ctx, client, export, from)
	if err != nil {
		return p, err
	}
	p.Plan, err = coverage.MakePlan(ctx, client, without(c, r.known), &coverage.RepairOptions{
		Unpause: r.unpause, IncludeUnknown: r.unknown, AcceptCopies: r.copies, AgeLine: time.Duration(r.ageLine),
	})
	if err == nil {
		estimate(p.Plan, c, export.LatestRuns)
		notes := warnings(p.Plan, c, export)
		p.Notes = append(notes, p.Notes...)
	}
	return p, err
}

// leaveKnown takes the steps that are not over and of gaps that are known out of a plan.
func (r *repair) leaveKnown(plan *coverage.Plan) {
	of := &coverage.Coverage{ExportID: plan.ExportID, Name: plan.Name}
	plan.Steps = slices.DeleteFunc(plan.Steps, func(s coverage.Step) bool {
		return slices.Contains(left, s.State) && acceptedBy(r.known, of, coverage.Gap{Start: s.Start, End: s.End}) != nil
	})
}

// without returns a coverage without the gaps that are known.
func without(c *coverage.Coverage, known []acceptance) *coverage.Coverage {
	rest := *c
	rest.Intervals = slices.DeleteFunc(slices.Clone(c.Intervals), func(x coverage.Interval) bool {
		return x.State.IsGap() && acceptedBy(known, c, coverage.Gap{Start: x.Start, End: x.End}) != nil
	})
	return &rest
}

// estimate estimates the rows of the steps that the service was not asked for, by the mean of the intervals that are
// exported, or else of the newest runs.
func estimate(plan *coverage.Plan, c *coverage.Coverage, newest []hogapi.Run) {
	var rows, intervals int64
	add := func(n *int64) {
		if n != nil {
			rows, intervals = rows+*n, intervals+1
		}
	}
	for _, x := range c.Intervals {
		if x.State == coverage.StateCompleted {
			add(x.Records)
		}
	}
	isNeeded := intervals == 0
	for i := range newest {
		if isNeeded && newest[i].Status == hogapi.RunStatusCompleted {
			add(newest[i].RecordsCompleted)
		}
	}
	if intervals == 0 {
		return
	}
	for i := range plan.Steps {
		if s := &plan.Steps[i]; s.Estimate == nil && s.Action == coverage.ActionBackfill && s.Rows != coverage.RowsByTimestamp {
			s.Estimate = new((rows*int64(s.Intervals) + intervals - 1) / intervals)
		}
	}
}
