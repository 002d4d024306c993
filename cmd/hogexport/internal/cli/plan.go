package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/internal/coverage"
)

// inFlags replaces words of the package by words of this program.
var inFlags = strings.NewReplacer(
	"Either export these intervals again: PlanRepair, with the coverage that Mark returns.\nOr download", "Download", " (Run.LatestError)", "", "; remove the cause, and call Repair again with this plan", "",
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
	for i, command := range downloads(plan) {
		if i == 0 {
			fmt.Fprintln(w, term.Flow("Rows that no backfill brings. A download is billed like an export; how many rows it has is known only afterwards, and you load its files yourself:"))
		}
		fmt.Fprintln(w, term.Command("  "+command))
	}
	if gap, until := deadline(plan); until.After(plan.PlannedAt) {
		fmt.Fprintln(w, term.Flow(fmt.Sprintf("Begin before %s UTC: from then on, the gap from %s is more than %s old. A backfill would choose its events by their timestamp, not by their arrival, so repair refuses this plan: plan again.",
			until.Format(clock), gap.Format(clock), span(plan.AgeLine))))
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
		switch {
		case s.Action == hogapi.RepairSecondExport && !strings.Contains(text, s.Prefix):
			text += "; its prefix: " + s.Prefix
		case s.Request != nil:
			text += "; this repair writes nothing for it. A second export with credentials of your own could, by timestamp: --json has the request"
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
	var scheduled, other, second int
	var rows, ofSecond int64
	isKnown := true // ofSecond
	var partly []string
	for _, s := range plan.Steps {
		switch {
		case s.Action == hogapi.RepairSecondExport && s.State != hogapi.RepairLeft:
			second++
			if isKnown = isKnown && s.Estimate != nil; isKnown {
				ofSecond += *s.Estimate
			}
			continue
		case s.Action != hogapi.RepairBackfill || s.State == hogapi.RepairLeft:
			continue
		case s.Rows == hogapi.RowsAsScheduled:
			scheduled++
		default:
			other++
			if s.Estimate != nil {
				rows += *s.Estimate
			}
		}
		if slices.ContainsFunc(s.Gap, hasBegun) {
			partly = append(partly, s.Start.Format(clock))
		}
	}
	if isObjectStore(plan) && scheduled+other+second > 0 {
		again := "none"
		switch {
		case second > 0 && isKnown:
			again = "up to " + progress.Number(ofSecond) + ", if both the old and the new prefix are read"
		case second > 0:
			again = "nobody knows how many, if both the old and the new prefix are read"
		}
		return "Rows that come twice: " + again + "; a backfill replaces the objects of its intervals, if there are any."
	}
	text := "Rows that come twice: "
	switch {
	case other > 0:
		text += fmt.Sprintf("up to %s, of the %s by timestamp; only a comparison of rows tells how many (hogexport reconcile).", progress.Number(rows), plural(other, "backfill"))
	case scheduled > 0 && len(partly) == 0:
		return text + "none."
	case scheduled == 0:
		return ""
	}
	if len(partly) > 0 {
		text += " Failed, cancelled and stuck runs may have written rows before they ended, which come twice too: in the gaps from " + strings.Join(partly, ", ") + "."
	}
	return strings.Replace(text, "twice:  Failed", "twice: failed", 1)
}

// isObjectStore reports whether the export of a plan writes objects.
func isObjectStore(plan *hogapi.RepairPlan) bool {
	_, to, _ := strings.Cut(plan.Schedule, " to ")
	kind, _, _ := strings.Cut(to, ",")
	return coverage.IsObjectStore(kind)
}

func hasBegun(s hogapi.IntervalState) bool {
	return s == hogapi.IntervalFailed || s == hogapi.IntervalCancelled || s == hogapi.IntervalStuck || s == hogapi.IntervalPartly
}

// downloads returns the commands that get the rows of the steps that are left.
func downloads(plan *hogapi.RepairPlan) (commands []string) {
	for _, s := range plan.Steps {
		if s.State == hogapi.RepairLeft && (s.Action == hogapi.RepairDownload || strings.Contains(s.Note, "FileDownloads.Range")) {
			commands = append(commands, "hogexport download --of "+plan.ExportID.String()+" --from "+s.Start.Format(time.RFC3339)+" --to "+s.End.Format(time.RFC3339)+" FOLDER")
		}
	}
	return commands
}

// deadline returns the time at which a planned step is first too old to be exported as the schedule would have, and its begin.
func deadline(plan *hogapi.RepairPlan) (begin, first time.Time) {
	if !strings.Contains(plan.Schedule, " of events to ") {
		return begin, first // other rows have no age line
	}
	interval, _, _ := strings.Cut(plan.Schedule, " of ")
	for _, s := range plan.Steps {
		isYoung := s.Action == hogapi.RepairBackfill && s.Rows == hogapi.RowsAsScheduled && s.State == hogapi.RepairPlanned
		at := coverage.AgeLine(plan.AgeLine).Until(coverage.NewSpan(s.Start, s.End).First(interval))
		if isYoung && plan.AgeLine > 0 && (first.IsZero() || at.Before(first)) {
			begin, first = s.Start, at
		}
	}
	return begin, first
}

// summary counts the steps by their states.
func summary(plan *hogapi.RepairPlan) string {
	states := make([]hogapi.RepairState, len(plan.Steps))
	for i := range plan.Steps {
		states[i] = plan.Steps[i].State
	}
	return coverage.PlanSummary(states)
}
