package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/coverage"
	intervals "github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/durable"
)

// inFlags replaces words of the package by words of this program.
var inFlags = strings.NewReplacer(
	"Either export these intervals again: MakePlan, with the coverage that Mark returns.\nOr download", "Download", " (Run.LatestError)", "", "; fix the cause, and call Repair again with this plan", "",
	"Report.Mark tells MakePlan which gaps are empty, and Report.Repair has the statement", "the report shows the rows in the table, and the statement",
	"with package reconcile", "with hogexport reconcile", "RepairOptions.AcceptCopies", "--accept-copies",
	"coverage.DownloadRange", "hogexport download", "RepairOptions.Unpause", "--unpause", "RepairOptions.IncludeUnknown", "--include-unknown",
	"RepairOptions.Credentials", "an integration for the export", "MakePlan", "hogexport repair",
	"hogapi: MaxBytesRead", "--max-read", "run again with the same Dir to continue", "run the same command again to continue",
).Replace

// printPlan writes a plan for people: its steps, duplicate rows, and its deadline.
func printPlan(w io.Writer, plan *coverage.Plan) {
	schedule, _, _ := strings.Cut(plan.Schedule, ",")
	fmt.Fprintln(w, term.Flow(fmt.Sprintf("repair of %s (%s, %s), planned at %s UTC\n", term.Line(plan.Name), plan.ExportID.String()[:minID], schedule, plan.PlannedAt.Format(clock))))
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
			fmt.Fprintln(w, term.Flow("Late rows, and rows that no step exports, need a download. PostHog bills it like an export, and you load the files yourself:"))
		}
		fmt.Fprintln(w, term.Command("  "+command))
	}
	if gap, until := deadline(plan); until.After(plan.PlannedAt) {
		fmt.Fprintln(w, term.Flow(fmt.Sprintf("Start before %s UTC: after that, the gap from %s is more than %s old, and a backfill would choose its events by timestamp instead of arrival. Repair then refuses this plan: make a new one.",
			until.Format(clock), gap.Format(clock), span(plan.AgeLine))))
	}
	if len(plan.Steps) > 0 {
		fmt.Fprintln(w, plan.Summary())
	}
}

func printSteps(w io.Writer, plan *coverage.Plan) {
	t := term.NewTable(w).Narrow([]string{"ACTION", "STATE"}, []string{"INTERVALS"})
	fmt.Fprintln(t, "FROM (UTC)\tTO\tINTERVALS\tACTION\tABOUT ROWS\tSTATE\t")
	for i := range plan.Steps {
		s := &plan.Steps[i]
		rows := ""
		if s.Estimate != nil && s.State != coverage.StepLeft {
			rows = progress.Number(*s.Estimate)
		}
		fmt.Fprintf(t, "%s\t%s\t%d\t%s\t%s\t%s\t\n", s.Start.Format(clock), s.End.Format(clock), s.Intervals, actionOf(s), rows,
			strings.ReplaceAll(string(s.State), "_", " "))
	}
	_ = t.Flush() // to a Screen
	fmt.Fprintln(w)
	for i := range plan.Steps {
		s := &plan.Steps[i]
		text := cmp.Or(s.Result, s.Note)
		switch {
		case s.Action == coverage.ActionSecondExport:
			if !strings.Contains(text, s.Prefix) {
				text += "; its prefix: " + s.Prefix
			}
			text += "; late rows are never in it"
		case s.Request != nil:
			text += "; this repair does not export it. A second export with your own credentials could, by timestamp: --json has the request"
		}
		if text != "" {
			fmt.Fprintln(w, term.Flow(s.Start.Format(clock)+": "+term.Line(inFlags(text))))
		}
	}
}

func actionOf(s *coverage.Step) string {
	if s.Action == coverage.ActionBackfill && s.Rows == coverage.RowsByTimestamp {
		return "backfill by timestamp"
	}
	return actions[s.Action]
}

var actions = map[coverage.Action]string{
	coverage.ActionCancel: "cancel the run", coverage.ActionBackfill: "backfill", coverage.ActionSecondExport: "second export", coverage.ActionUnpause: "unpause",
	coverage.ActionDownload: "download", coverage.ActionByHand: "by hand",
}

// twice says which rows come twice.
func twice(plan *coverage.Plan) string {
	var scheduled, other, second int
	var rows, ofSecond int64
	isKnown := true // ofSecond
	var partly []string
	for _, s := range plan.Steps {
		switch {
		case s.Action == coverage.ActionSecondExport && s.State != coverage.StepLeft:
			second++
			if isKnown = isKnown && s.Estimate != nil; isKnown {
				ofSecond += *s.Estimate
			}
			continue
		case s.Action != coverage.ActionBackfill || s.State == coverage.StepLeft:
			continue
		case s.Rows == coverage.RowsAsScheduled:
			scheduled++
		default:
			other++
			if s.Estimate != nil {
				rows += *s.Estimate
			}
		}
		if s.Leftovers {
			partly = append(partly, s.Start.Format(clock))
		}
	}
	if isObjectStore(plan) && scheduled+other+second > 0 {
		again := "none"
		switch {
		case second > 0 && isKnown:
			again = "up to " + progress.Number(ofSecond) + ", if both the old and the new prefix are read"
		case second > 0:
			again = "unknown, if both the old and the new prefix are read"
		}
		return "Duplicate rows: " + again + "; a backfill replaces the objects of its intervals, if there are any."
	}
	var texts []string
	switch {
	case scheduled+other == 0:
		return ""
	case modelOf(plan) == hogapi.ModelPersons:
		return "Duplicate rows: none, since the table keeps one row per person, by team and distinct id."
	case modelOf(plan) == hogapi.ModelSessions:
		return "Duplicate rows: none, since the table keeps one row per session."
	case modelOf(plan) == hogapi.ModelHogQL:
		return "Duplicate rows: depends on the query; none if the export merges by a primary key."
	case plan.MergesByUUID:
		return "Duplicate rows: none, since the table keeps one row per uuid."
	case other > 0:
		texts = append(texts, fmt.Sprintf("up to %s, of the %s by timestamp; only a comparison of rows tells how many (hogexport reconcile)", progress.Number(rows), plural(other, "backfill")))
	}
	if len(partly) > 0 {
		texts = append(texts, "rows that runs may have written before they ended, in the gaps from "+strings.Join(partly, ", "))
	}
	return "Duplicate rows: " + cmp.Or(strings.Join(texts, "; "), "none") + "."
}

// isObjectStore reports whether the export of a plan writes objects.
func isObjectStore(plan *coverage.Plan) bool {
	_, to, _ := strings.Cut(plan.Schedule, " to ")
	kind, _, _ := strings.Cut(to, ",")
	return intervals.IsObjectStore(kind)
}

// modelOf returns the model of the export of a plan.
func modelOf(plan *coverage.Plan) hogapi.Model {
	_, of, _ := strings.Cut(plan.Schedule, " of ")
	model, _, _ := strings.Cut(of, " to ")
	return hogapi.Model(model)
}

// downloads returns the commands for the rows of the remaining steps, including the late rows of steps by timestamp.
func downloads(plan *coverage.Plan) (commands []string) {
	for _, s := range plan.Steps {
		times := s.Left
		isLeft := s.State == coverage.StepLeft && (s.Action == coverage.ActionDownload || strings.Contains(s.Result+s.Note, "coverage.DownloadRange"))
		switch {
		case !isLeft && (!isByTimestamp(&s) || s.State == coverage.StepCovered):
			continue
		case len(times) == 0:
			times = []hogapi.BackfillPart{{Start: s.Start, End: s.End}}
		}
		for _, x := range times {
			commands = append(commands, "hogexport download --of "+plan.ExportID.String()+" --from "+x.Start.Format(time.RFC3339)+" --to "+x.End.Format(time.RFC3339)+" FOLDER")
		}
	}
	return commands
}

// deadline returns the time at which a planned step is first too old to be exported as the schedule would have, and its begin.
func deadline(plan *coverage.Plan) (begin, first time.Time) {
	if modelOf(plan) != hogapi.ModelEvents {
		return begin, first // other rows have no age line
	}
	interval, _, _ := strings.Cut(plan.Schedule, " of ")
	for _, s := range plan.Steps {
		isYoung := s.Action == coverage.ActionBackfill && s.Rows == coverage.RowsAsScheduled && s.State == coverage.StepPlanned
		at := intervals.AgeLine(plan.AgeLine).Until(intervals.NewSpan(s.Start, s.End).First(interval))
		if isYoung && plan.AgeLine > 0 && (first.IsZero() || at.Before(first)) {
			begin, first = s.Start, at
		}
	}
	return begin, first
}

// planned is the plan of an export, and the file that keeps it.
type planned struct {
	*coverage.Plan

	file  string
	text  []byte // of the file when the plan was made or read
	asked string // the name or id that was given
}

// unfit explains that a plan in the cache does not fit any more. A plan without a step under way is removed: its steps
// show in the coverage.
func (p planned) unfit(f *shell.Fault) *shell.Fault {
	f.Code, f.Todo = shell.CodeStopped, "the plan was removed: run the same command again to make a new one"
	kept, _, err := readPlan(p.file)
	if err == nil && count(kept, coverage.StepBegun) > 0 {
		f.Todo = "wait until the backfill under way has ended (see hogexport gaps), remove " + p.file + ", and run the same command again"
		return f
	}
	_ = os.Remove(p.file)
	return f
}

// hold lets one repair at a time change an export, for this user and this cache. It refuses a plan if its file has
// changed since the plan was shown. The returned function releases the lock.
func (r *repair) hold(p planned) (release func(), err error) {
	folder := r.cacheOf(r.cache).folder
	name := filepath.Join(folder, p.ExportID.String()+".lock")
	var lock durable.Lock
	if err = makeFolder(folder); err == nil {
		lock, err = durable.OS{}.Lock(name)
	}
	switch {
	case errors.Is(err, durable.ErrLocked):
		return nil, &shell.Fault{
			Code: shell.CodeStopped, Text: "another hogexport is repairing " + term.Line(p.Name), Todo: "run the same command again when that one has ended; this export was not changed", Err: err,
		}
	case err != nil:
		r.Warn(fmt.Sprintf("another repair of %s is not kept away: %v", term.Line(p.Name), shell.Cause(err)))
		release = func() {}
	default:
		release = func() { _ = errors.Join(os.Remove(name), lock.Close()) }
	}
	if now, _ := durable.Read(durable.OS{}, p.file); !bytes.Equal(now, p.text) {
		release()
		return nil, &shell.Fault{Code: shell.CodeStopped, Text: p.file + " has changed since the plan was shown", Todo: "run the same command again; this export was not changed"}
	}
	return release, nil
}

// readPlan reads a plan that --plan or an earlier run has written, and returns the text of the file too.
func readPlan(path string) (*coverage.Plan, []byte, error) {
	text, err := durable.Read(durable.OS{}, path)
	if err != nil {
		return nil, nil, shell.UsageError(fmt.Sprintf("%s: the plan cannot be read: %v", path, shell.Cause(err)), "give a file written by hogexport repair --plan")
	}
	plan := &coverage.Plan{}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(plan); err != nil || decoder.More() || plan.ExportID == uuid.Nil || len(plan.Steps) > 0 && plan.Schedule == "" {
		return nil, text, shell.UsageError(path+": not a plan of hogexport repair", "give a file written by hogexport repair --plan")
	}
	return plan, text, nil
}

// checkReplaced refuses to replace the plan in a file by the plan of another export, and a plan that is under way: the
// file has the progress of the repair.
func checkReplaced(path string, plan *coverage.Plan) error {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return nil //nolint:nilerr // what is wrong with the path shows when the plan is written
	}
	old, _, err := readPlan(path)
	switch {
	case err != nil:
		return err
	case old.ExportID != plan.ExportID:
		return shell.UsageError(path+" has the plan of another export: "+term.Line(old.Name), "give --plan another FILE")
	case isUnderWay(old):
		return &shell.Fault{
			Code: shell.CodeUsage, Text: path + " has a plan that is under way", Todo: "give --plan another FILE",
			Next: []shell.Step{{Text: "Or continue it with:", Command: "hogexport repair --apply " + shell.Quoted(path)}},
		}
	}
	return nil
}

// stepsLeft counts the steps that a repair carries out.
func stepsLeft(plan *coverage.Plan) int { return count(plan, left...) }

// isUnderWay reports whether a repair has begun a plan and not finished it.
func isUnderWay(plan *coverage.Plan) bool {
	return stepsLeft(plan) > 0 && count(plan, coverage.StepBegun, coverage.StepFailed, coverage.StepDone) > 0
}

// left are the states of steps that a repair carries out.
var left = []coverage.StepState{coverage.StepPlanned, coverage.StepBegun, coverage.StepFailed}

// count counts the steps in some states.
func count(plan *coverage.Plan, states ...coverage.StepState) (n int) {
	for _, s := range plan.Steps {
		if slices.Contains(states, s.State) {
			n++
		}
	}
	return n
}

// doneOf says how many of the steps that a repair carries out are done.
func doneOf(plan *coverage.Plan) string {
	done := count(plan, coverage.StepDone, coverage.StepCovered)
	return fmt.Sprintf("%d of %d steps done", done, done+stepsLeft(plan))
}

func savePlan(path string, plan *coverage.Plan) error {
	text, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		return err
	}
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return &shell.Fault{Code: shell.CodeOther, Text: fmt.Sprintf("%s: the plan cannot be written: %v", path, shell.Cause(err)), Todo: "give a file in another folder", Err: err}
	}
	if to, err := filepath.EvalSymlinks(path); err == nil {
		path = to // the file, and not the link
	}
	if err := durable.Replace(durable.OS{}, path, append(text, '\n')); err != nil {
		return &shell.Fault{Code: shell.CodeStopped, Text: fmt.Sprintf("%s: the plan cannot be written: %v", path, shell.Cause(err)), Todo: "free some space, or give a file in another folder, and run the same command again", Err: err}
	}
	return nil
}
