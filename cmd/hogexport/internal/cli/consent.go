package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/progress"
)

const leftOut = "; left out, since --yes was given without --by-timestamp"

// leaveByTimestamp leaves the backfills by timestamp to a person, and the runs that would be cancelled for them: rows may
// come twice, and late rows do not come.
func leaveByTimestamp(plan *hogapi.RepairPlan) {
	isOpen := func(s *hogapi.RepairStep) bool { return slices.Contains(left, s.State) }
	for i := range plan.Steps {
		if s := &plan.Steps[i]; s.State == hogapi.RepairPlanned && s.Action == hogapi.RepairBackfill && s.Rows == hogapi.RowsByTimestamp {
			s.State, s.Note = hogapi.RepairLeft, strings.TrimPrefix(s.Note+leftOut, "; ")
		}
	}
	for i := range plan.Steps {
		s := &plan.Steps[i]
		isNeeded := slices.ContainsFunc(plan.Steps, func(x hogapi.RepairStep) bool {
			return x.Action == hogapi.RepairBackfill && isOpen(&x) && x.Start.Before(s.End) && s.Start.Before(x.End)
		})
		if s.Action == hogapi.RepairCancel && s.State == hogapi.RepairPlanned && !isNeeded {
			s.State, s.Note = hogapi.RepairLeft, s.Note+leftOut
		}
	}
}

// takeByTimestamp plans again what an earlier --yes has left out of a plan.
func takeByTimestamp(plan *hogapi.RepairPlan) {
	for i := range plan.Steps {
		s := &plan.Steps[i]
		if note, isLeft := strings.CutSuffix(s.Note, leftOut); isLeft && s.State == hogapi.RepairLeft {
			s.State, s.Note = hogapi.RepairPlanned, note
		}
	}
}

// question says in one sentence what the steps of some plans do.
func question(plans []planned, project string) string {
	kinds := map[hogapi.RepairAction]int{}
	old, rows, isKnown, mergesAll := 0, int64(0), true, true
	for _, plan := range plans {
		for _, s := range plan.Steps {
			switch {
			case !slices.Contains(left, s.State):
			case s.Action == hogapi.RepairBackfill && s.Rows == hogapi.RowsByTimestamp:
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
	for _, action := range []hogapi.RepairAction{hogapi.RepairCancel, hogapi.RepairBackfill, hogapi.RepairSecondExport, hogapi.RepairUnpause} {
		if n := kinds[action]; n > 0 {
			parts = append(parts, plural(n, map[hogapi.RepairAction]string{
				hogapi.RepairCancel: "cancel", hogapi.RepairBackfill: "backfill", hogapi.RepairSecondExport: "second export", hogapi.RepairUnpause: "unpause",
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
