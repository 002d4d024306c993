package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/term"
)

// inFlags puts words of the package into those of this program.
var inFlags = strings.NewReplacer(
	"FileDownloads.Range", "hogexport download", "RepairOptions.Unpause", "--unpause", "RepairOptions.IncludeUnknown", "--include-unknown",
	"RepairOptions.Credentials", "an integration for the export", "PlanRepair", "hogexport repair",
).Replace

// printPlan writes a plan for people: its steps, what comes twice, and until when it must begin.
func printPlan(w io.Writer, plan *hogapi.RepairPlan) {
	fmt.Fprintf(w, "repair of %s, planned at %s UTC\n\n", term.Line(plan.Name), plan.PlannedAt.Format(clock))
	if len(plan.Steps) == 0 {
		fmt.Fprintln(w, "nothing to repair")
	} else {
		printSteps(w, plan)
	}
	for _, note := range plan.Notes {
		fmt.Fprintln(w, term.Flow("note: "+inFlags(note)))
	}
	if text := twice(plan); text != "" {
		fmt.Fprintln(w, term.Flow(text))
	}
	if until := deadline(plan); !until.IsZero() {
		fmt.Fprintln(w, term.Flow(fmt.Sprintf("Begin before %s UTC: %s after the start of a gap, a backfill chooses events by their timestamp, and no longer those that arrived in it.",
			until.Format(clock), span(plan.AgeLine))))
	}
	if len(plan.Steps) > 0 {
		fmt.Fprintln(w, summary(plan))
	}
}

func printSteps(w io.Writer, plan *hogapi.RepairPlan) {
	t := term.NewTable(w)
	fmt.Fprintln(t, "FROM (UTC)\tTO\tINTERVALS\tACTION\tABOUT ROWS\tSTATE\t")
	for i := range plan.Steps {
		s := &plan.Steps[i]
		rows := ""
		if s.Estimate != nil && s.State != hogapi.RepairLeft {
			rows = progress.Number(*s.Estimate)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t\n", s.Start.Format(clock), s.End.Format(clock), s.Intervals, actions[s.Action], rows,
			strings.ReplaceAll(string(s.State), "_", " "))
	}
	_ = t.Flush() // to a Screen
	fmt.Fprintln(w)
	for i := range plan.Steps {
		s := &plan.Steps[i]
		text := s.Result
		if text == "" || s.State == hogapi.RepairLeft {
			text = s.Note
		}
		if s.Prefix != "" && s.Action == hogapi.RepairSecondExport {
			text += "; prefix " + s.Prefix
		}
		if text != "" {
			fmt.Fprintln(w, term.Flow(s.Start.Format(clock)+": "+term.Line(inFlags(text))))
		}
	}
}

var actions = map[hogapi.RepairAction]string{
	hogapi.RepairCancel: "cancel the run", hogapi.RepairBackfill: "backfill", hogapi.RepairSecondExport: "second export", hogapi.RepairUnpause: "unpause",
	hogapi.RepairDownload: "download", hogapi.RepairByHand: "by hand",
}

// twice says which rows come twice.
func twice(plan *hogapi.RepairPlan) string {
	var scheduled, other int
	var rows int64
	for _, s := range plan.Steps {
		switch {
		case s.Action != hogapi.RepairBackfill || s.State == hogapi.RepairLeft:
		case s.Rows == hogapi.RowsAsScheduled:
			scheduled++
		default:
			other++
			if s.Estimate != nil {
				rows += *s.Estimate
			}
		}
	}
	switch {
	case other > 0:
		return fmt.Sprintf("Rows that come twice: up to %s, of the %s by timestamp. Only a comparison of rows tells how many.", progress.Number(rows), plural(other, "backfill"))
	case scheduled > 0:
		return "Rows that come twice: none, unless a failed or cancelled run had written a part of its rows to a table."
	}
	return ""
}

// deadline returns the time at which the first planned step is too old to be exported as the schedule would have.
func deadline(plan *hogapi.RepairPlan) (first time.Time) {
	for _, s := range plan.Steps {
		isYoung := s.Action == hogapi.RepairBackfill && s.Rows == hogapi.RowsAsScheduled && s.State == hogapi.RepairPlanned
		if at := s.Start.Add(plan.AgeLine); isYoung && plan.AgeLine > 0 && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

func summary(plan *hogapi.RepairPlan) string {
	count := map[hogapi.RepairState]int{}
	for _, s := range plan.Steps {
		count[s.State]++
	}
	return fmt.Sprintf("%s: %d planned, %d done or covered, %d failed, %d left to you", plural(len(plan.Steps), "step"),
		count[hogapi.RepairPlanned]+count[hogapi.RepairBegun], count[hogapi.RepairDone]+count[hogapi.RepairCovered], count[hogapi.RepairFailed], count[hogapi.RepairLeft])
}
