package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/history"
)

// planner is the command that writes a plan: a check of all files, and the choices that follow from it.
type planner struct {
	check

	write string
	from  string // --from-checkpoint

	old   *planFile // nil: no plan yet
	begun *state    // nil: its import has sent nothing
	why   map[string]string
	words string // the flags that were given, to be typed again
}

const planHelp = `plan reads all files, as check does, sends nothing, and writes a plan: a file in
YAML with the files and their digests, each choice with its reason, and what the
import is expected to do. What only a person can know is below "decide": write
an answer there. Keep the file in git, and let a second person read it. Then

  hogimport trial PLAN … and hogimport run PLAN
  hogimport status PLAN, verify PLAN, fix PLAN, undo PLAN

do what it says. run refuses it if a file has changed since. Run plan again then
and when the export has grown: it keeps your answers, choices and comments.

Flags become keys of the same names. The format is found by the records where
--format does not name it. A plan has no key of a project.

Exit codes: 0 the plan can be run, 3 it has open decisions, or nothing would be
sent; 2 wrong usage, 1 a file cannot be read.`

func newPlanCommand(a *app) *cobra.Command {
	p := &planner{check: check{app: a, records: map[string]int64{}}, why: map[string]string{}}
	cmd := &cobra.Command{
		Use: "plan FILES…", Short: "Read all files, send nothing, and write a plan of the import", Long: planHelp,
		Example: `  hogimport plan 'export/*' --write migration.yaml
  hogimport plan actions.csv --map event=action --map person=user \
      --map time=when --zone UTC --write migration.yaml
  hogimport plan migration.yaml            # once more, with the same files
  hogimport plan --from-checkpoint hogimport-state/export --write migration.yaml`,
		RunE: func(cmd *cobra.Command, files []string) error { return p.run(cmd.Context(), files) },
	}
	f := cmd.Flags()
	p.flags, p.limits.flags = f, f
	p.in.bind(cmd)
	p.in.bindHeader(cmd)
	p.in.bindUntil(cmd)
	p.in.bindOrder(cmd)
	p.limits.bindLimits(cmd)
	p.project.bindKey(cmd)
	p.project.bindPersonal(cmd)
	f.StringVar(&p.write, "write", "", "write the plan to a `FILE`, such as migration.yaml; default: to the standard output")
	f.StringVar(&p.from, "from-checkpoint", "", "make the plan of an import that was begun with flags: its state `FOLDER`")
	f.StringVar(&p.report, "report", "", "write the plan as an HTML page to a `FILE`")
	return cmd
}

func (p *planner) run(ctx context.Context, files []string) error {
	paths, err := p.begin(ctx, files)
	if err != nil {
		return err
	}
	described, err := p.describe(ctx, paths)
	if err != nil {
		return err
	}
	clear(p.records)
	look, _, checked, err := p.look(ctx, paths)
	if err == nil && look.Report.Good == 0 {
		err = p.nothing(look, p.judge(look, checked, ""))
	}
	if err == nil && p.begun == nil && p.derive(ctx, look) {
		clear(p.records)
		look, _, _, err = p.look(ctx, paths)
	}
	if err != nil {
		return err
	}
	if again, err := p.same(ctx, described); err != nil || !again {
		return cmp.Or(err, error(&shell.Fault{Code: shell.CodeOther, Text: "a file has changed while the files were read; no plan was written", Todo: "let nothing write to the files, and run the same command again"}))
	}
	plan := p.planned(look, described)
	return p.finish(plan, look, paths)
}

// nothing explains why there is no plan: no event would be sent.
func (p *planner) nothing(look *page.Check, err error) error {
	f, ok := err.(*shell.Fault) //nolint:errorlint // made here
	if ok && lacksZone(&look.Report) {
		f.Todo = ""
		f.Next = []shell.Step{{Text: "Say in which zone the times are, such as UTC or US/Pacific.", Command: p.made() + " --zone ZONE"}}
	}
	return err
}

// made returns the command that makes the plan.
func (p *planner) made() string {
	command := "hogimport plan " + p.words
	if p.write != "" && !slices.Contains(strings.Fields(p.words), p.write) {
		command = strings.TrimSpace(command) + " --write " + shell.Quoted(p.write)
	}
	return command
}

// describe takes the digests of the files.
func (p *planner) describe(ctx context.Context, paths []string) ([]history.PlanFile, error) {
	meter := p.Meter()
	defer meter.End()
	files, err := history.PlanFiles(ctx, func(n int64) { meter.Phase("reading the files for their digests: " + progress.Bytes(n)) }, paths...)
	if err != nil {
		return nil, checkFault(err)
	}
	return files, nil
}

// same reports whether files are still as long as they were. Any other change is found by run, which compares the digests.
func (p *planner) same(ctx context.Context, files []history.PlanFile) (bool, error) {
	for _, f := range files {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if sizeOfFile(f.Path) != f.Bytes {
			return false, nil
		}
	}
	return true, nil
}

// planned makes the plan.
func (p *planner) planned(look *page.Check, files []history.PlanFile) *planFile {
	plan := &planFile{path: cmp.Or(p.write, "migration.yaml"), notes: map[string][]string{}, Plan: history.Plan{
		Version: history.PlanVersion, ID: p.limits.importID, State: p.limits.state, Mapping: p.in.version(), Files: files,
		Choices: p.in.Choices, Limits: p.limits.limits, Expected: outcomeOf(look),
	}}
	plan.Limits.Memory = p.in.memory
	if p.begun != nil {
		plan.Mapping = p.begun.kept.Mapping
	}
	for i := range files {
		files[i].Records = p.records[files[i].Path]
	}
	p.toProject(plan)
	if p.begun == nil {
		plan.Decide = p.decisions(look)
	}
	if p.old != nil {
		plan.notes = p.old.notes
		p.mark(plan)
	}
	return plan
}

// toProject notes where the events go, as far as it is known.
func (p *planner) toProject(plan *planFile) {
	if p.old != nil {
		plan.Project = p.old.Project
	}
	if p.begun != nil {
		k := p.begun.kept
		plan.Project = history.PlanProject{Host: k.Target, ID: k.Project, Key: k.Key}
	}
	plan.Project.ID = cmp.Or(plan.Project.ID, p.projectID(&p.project))
	plan.Project.Key = cmp.Or(plan.Project.Key, p.keyDigest(&p.project))
	if plan.Project.Host == "" && p.host(&p.project) != "" {
		if client, err := p.client(&p.project, false, false); err == nil {
			plan.Project.Host = p.targetOf(client, &p.project).Target
		}
	}
}

// mark notes the entries that the earlier plan lacked.
func (p *planner) mark(plan *planFile) {
	w := &planText{to: plan}
	for _, f := range plan.Files {
		at := slices.IndexFunc(p.old.Files, func(old history.PlanFile) bool { return sameFile(old.Path, f.Path) })
		switch {
		case at < 0:
			p.why["files."+w.written(f.Path)] = "new"
		case p.old.Files[at].SHA256 != f.SHA256:
			p.why["files."+w.written(f.Path)] = "changed"
		}
	}
}

func outcomeOf(look *page.Check) history.PlanOutcome {
	r := look.Report
	out := history.PlanOutcome{Events: r.Good, Rejected: r.Rejected, LeftOut: r.Skipped, Persons: page.Rounded(r.Persons)}
	events := map[string]int64{}
	for _, d := range r.Days {
		const month = len("2006-01")
		if len(d.Day) >= month {
			events[d.Day[:month]] += d.Events
		}
	}
	if r.Web != nil {
		out.Billed = r.Web.Young
		for _, m := range r.Web.Months {
			out.Months = append(out.Months, history.PlanMonth{Month: m.Month, Events: cmp.Or(events[m.Month], m.Events), Visitors: m.Visitors, Views: m.Views, Sessions: m.Sessions})
		}
	}
	return out
}

// finish writes the plan, and prints the next steps.
func (p *planner) finish(plan *planFile, look *page.Check, paths []string) error {
	w := &planText{to: plan, head: p.header(plan), reasons: p.reasons(plan, look)}
	switch {
	case p.write != "":
		var old []byte
		if p.old != nil {
			old = p.old.raw
		}
		if err := w.save(old, paths); err != nil {
			return err
		}
	case !p.JSON:
		fmt.Fprint(p.Out, w.String())
	}
	look.Next = p.steps(plan)
	if p.report != "" {
		look.Plan = plan.shown(w.reasons)
		if err := writePage(p.report, look.Write); err != nil {
			return err
		}
	}
	if p.JSON {
		if err := json.NewEncoder(p.Out).Encode(plan.Plan); err != nil {
			return err
		}
	}
	if !p.JSON && p.write != "" {
		planTable(p.Out, plan, look, p.report)
	}
	open := plan.open()
	if len(open) == 0 {
		return nil
	}
	return &shell.Fault{Code: shell.CodeRejects, Text: fmt.Sprintf("the plan has %s: %s", counted(int64(len(open)), "open decision"), strings.Join(open, ", ")),
		Todo: "read the problems below decide, and write an answer to each after answer:"}
}

func (p *planFile) open() (keys []string) {
	for _, d := range p.Decide {
		if d.IsOpen() {
			keys = append(keys, d.Key)
		}
	}
	return keys
}

func planTable(w io.Writer, plan *planFile, look *page.Check, report string) {
	e := plan.Expected
	said, findings := look.Summary()
	fmt.Fprintf(w, "%s\n", term.Flow(fmt.Sprintf("%s: %s in %s, of which %s would be sent, %s rejected, %s left out.", term.Line(plan.path),
		counted(look.Report.Read, "record"), counted(int64(len(plan.Files)), "file"), counted(e.Events, "event"), progress.Number(e.Rejected), progress.Number(e.LeftOut))))
	fmt.Fprintf(w, "\n%s\n", term.Flow(said.Title+"."))
	for _, f := range findings {
		fmt.Fprintf(w, "%s\n", term.Flow("- "+colored(f.Level)+": "+f.Title))
	}
	if report != "" {
		fmt.Fprintf(w, "\nThe plan as a page: %s\n", report)
	}
	nextSteps(w, look.Next)
}

// now is for the header of a plan.
func now() string { return time.Now().UTC().Format("2006-01-02 15:04 UTC") }
