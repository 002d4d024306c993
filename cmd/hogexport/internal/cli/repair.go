package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/coverage"
)

type repair struct {
	*app

	since   string
	plan    string // --plan
	apply   string // --apply
	cache   string
	yes     bool
	dryRun  bool
	maxRows int64
	every   time.Duration
	unpause bool
	unknown bool
	copies  bool // --accept-copies
	accept  string

	byTimestamp bool

	known []acceptance
	flags *pflag.FlagSet
}

func newRepairCommand(a *app) *cobra.Command {
	r := &repair{app: a}
	cmd := &cobra.Command{
		Use: "repair EXPORT…", Short: "Export again the intervals that are not exported",
		Long: `repair finds the gaps of an export and plans a repair for each. It prints the
plan: the intervals to export again, rows that may be duplicated, and the gaps
left to you, with reasons. Then it asks, runs and follows the backfills, and
checks the result. With several exports, it prints all plans, asks once, and
applies --max-rows to the sum. It repairs one export after another, up to the
first failure.

If a gap is more than 5 days old, the service may choose its events by timestamp.
In an object store such a backfill would replace objects, so a second export
writes the rows to another prefix. For the reasons and all limits, see
https://github.com/hogapi/hogapi/blob/main/docs/exports.md

A run that is stuck for 3 hours or 3 intervals, whichever is longer, is cancelled
before its gap is exported again. HTTP destinations and workflows act on each row
and are never repaired. With --yes, backfills and second exports by timestamp
need --by-timestamp. Gaps left to you end each repair with code 6: get their
rows, then list the gaps in a file for --accept.

In Postgres and some tables of Redshift, a failed run leaves some of its rows.
Such gaps are left to you without --accept-copies: hogexport reconcile shows
these rows, and prints the statement that removes duplicates.

--plan FILE writes the plan of one export and changes nothing; --apply FILE
carries out that plan, without the gaps of --accept. The file keeps the progress:
after a kill, the same --apply continues and begins nothing twice. Without --plan
and --apply, the plan is kept in the cache, and the same command continues.`,
		Example: "  hogexport repair \"events to the warehouse\"\n  hogexport repair \"events to the warehouse\" --plan plan.json\n  hogexport repair --apply plan.json\n" +
			"  hogexport repair \"events to the warehouse\" --yes --max-rows 1000000  # cron",
		RunE: func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	r.flags = f
	f.StringVar(&r.since, "since", "30d", "repair gaps since this `TIME`:  30d, 36h, or a day")
	f.StringVar(&r.plan, "plan", "", "write the plan to a `FILE`, and change nothing")
	f.StringVar(&r.apply, "apply", "", "carry out the plan of a `FILE` that --plan has written")
	f.BoolVar(&r.yes, "yes", false, "do not ask; needs --max-rows, and leaves backfills by timestamp out")
	f.BoolVar(&r.byTimestamp, "by-timestamp", false, "with --yes, also run backfills and second exports that choose rows by timestamp: rows may be duplicated, and late rows are left out")
	f.Int64Var(&r.maxRows, "max-rows", 0, "refuse plans that export more than about this `NUMBER` of rows again, or an unknown number, and stop before the next step once more rows were exported; downloads do not count")
	f.BoolVar(&r.unpause, "unpause", false, "also unpause the export at the end; unpausing does not export rows again")
	f.StringVar(&r.accept, "accept", "", "a `FILE` of known gaps, which are not repaired: see hogexport gaps --help")
	f.BoolVar(&r.unknown, "include-unknown", false, "also repair intervals that may have been exported already")
	f.BoolVar(&r.copies, "accept-copies", false, "also repair intervals with rows that may be in the table already: these rows are duplicated until you remove the copies")
	f.DurationVar(&r.every, "every", 0, "the `TIME` between two polls of a backfill; default: 5s, growing to 30s")
	r.bindCache(cmd, &r.cache)
	bindDryRun(cmd, &r.dryRun)
	cmd.MarkFlagsMutuallyExclusive("plan", "apply")
	cmd.MarkFlagsMutuallyExclusive("plan", "dry-run")
	return cmd
}

func (r *repair) run(ctx context.Context, names []string) error {
	if r.yes && r.maxRows <= 0 {
		return shell.UsageError("--yes without --max-rows", "give --max-rows NUMBER: rows exported again are billed, and can be duplicated")
	}
	known, err := readAccepted(r.accept)
	if err != nil {
		return err
	}
	r.known = known
	client, err := r.client()
	if err != nil {
		return err
	}
	plans, err := r.plans(ctx, client, names)
	if err != nil {
		return err
	}
	for _, plan := range plans {
		switch {
		case r.byTimestamp || !r.yes:
			takeByTimestamp(plan.Plan)
		default:
			leaveByTimestamp(plan.Plan)
		}
	}
	if r.plan != "" {
		return r.write(plans[0].Plan)
	}
	if !r.JSON {
		for i, plan := range plans {
			if i > 0 {
				fmt.Fprintln(r.Out)
			}
			printPlan(r.Out, plan.Plan)
		}
	}
	if r.dryRun {
		return r.printOnly(plans)
	}
	if err := r.agree(ctx, plans); err != nil {
		return err
	}
	open, commands := 0, []string{}
	for i, plan := range plans {
		n, err := r.repair(ctx, client, plan)
		if err != nil {
			return r.withRest(err, plans[i+1:])
		}
		if n > 0 {
			open, commands = open+n, append(commands, downloads(plan.Plan)...)
		}
	}
	return stillOpen(open, commands)
}

// printOnly ends a repair with --dry-run.
func (r *repair) printOnly(plans []planned) error {
	if r.JSON {
		all := []*coverage.Plan{}
		for _, plan := range plans {
			all = append(all, plan.Plan)
		}
		return json.NewEncoder(r.Out).Encode(all)
	}
	fmt.Fprintln(r.Out, "\nNothing was changed.")
	return nil
}

// repair carries out a plan. It returns the number of gaps that are left.
func (r *repair) repair(ctx context.Context, client *hogapi.Client, plan planned) (open int, err error) {
	if stepsLeft(plan.Plan) == 0 {
		return r.nothing(plan.Plan)
	}
	release, err := r.hold(plan)
	if err != nil {
		return 0, err
	}
	defer release()
	report, err := r.carryOut(ctx, client, plan)
	if err != nil {
		return 0, r.failed(err, plan, report)
	}
	return r.finish(plan, report)
}

// withRest names the exports that were not repaired because an earlier one failed.
func (r *repair) withRest(err error, rest []planned) error {
	names, words := []string{}, ""
	for _, plan := range rest {
		if stepsLeft(plan.Plan) > 0 {
			names, words = append(names, plan.ExportID.String()[:minID]+" "+term.Line(plan.Name)), words+" "+shell.Quoted(plan.asked)
		}
	}
	if len(names) == 0 {
		return err
	}
	f := *r.explain(err)
	f.More = append(slices.Clone(f.More), "not begun: "+strings.Join(names, ", "))
	if len(f.Next) > 0 {
		f.Next = append(slices.Clone(f.Next), shell.Step{Text: "Then repair the others:", Command: "hogexport repair" + words + shell.Given(r.flags, again...)})
	}
	return &f
}

// again are the flags of a repair that a command to continue has too.
var again = []string{"accept", "accept-copies", "age-line", "by-timestamp", "cache", "every", "host", "include-unknown", "max-rows", "personal-key-file", "project-id", "since", "unpause", "yes"}

// write writes the plan of --plan.
func (r *repair) write(plan *coverage.Plan) error {
	out := shell.Output{Flag: "--plan", Path: r.plan, Kind: "plan of hogexport repair", IsOurs: func(begin []byte) bool {
		return bytes.HasPrefix(bytes.TrimSpace(begin), []byte(`{`)) && bytes.Contains(begin, []byte(`"planned_at"`)) && bytes.Contains(begin, []byte(`"export_id"`))
	}}
	if err := out.Check(nil); err != nil {
		return err
	}
	if err := checkReplaced(r.plan, plan); err != nil {
		return err
	}
	if err := r.bound(planned{Plan: plan}); err != nil {
		printPlan(r.Err, plan)
		return err
	}
	if err := savePlan(r.plan, plan); err != nil {
		return err
	}
	if r.JSON {
		return json.NewEncoder(r.Out).Encode(plan)
	}
	printPlan(r.Out, plan)
	fmt.Fprintf(r.Out, "\nThe plan is in %s. Nothing was changed.\n", term.Line(r.plan))
	if stepsLeft(plan) > 0 {
		fmt.Fprintln(r.Out, "To carry it out:\n"+term.Command("  hogexport repair --apply "+shell.Quoted(r.plan)+shell.Given(r.flags, "accept-copies")))
	}
	return nil
}

// nothing ends a repair that has nothing to do.
func (r *repair) nothing(plan *coverage.Plan) (open int, err error) {
	if r.JSON {
		err = json.NewEncoder(r.Out).Encode(plan)
	}
	return count(plan, coverage.StepLeft), err
}

func (r *repair) carryOut(ctx context.Context, client *hogapi.Client, p planned) (*coverage.Report, error) {
	plan := p.Plan
	meter := r.Meter()
	defer meter.End()
	begun := count(plan, coverage.StepBegun)
	save := func(plan *coverage.Plan) error {
		meter.Phase("repair: " + doneOf(plan))
		was := begun
		if begun = count(plan, coverage.StepBegun); begun > was {
			if err := r.checkCame(ctx, client, plan); err != nil {
				return err
			}
		}
		return savePlan(p.file, plan)
	}
	if err := save(plan); err != nil {
		return nil, err
	}
	watch := &hogapi.WatchOptions{Interval: r.every, MaxInterval: r.every, OnLook: func(look hogapi.LookInfo) {
		meter.Phase(fmt.Sprintf("repair: %s, %s: %s", doneOf(plan), look.Of, look.State))
	}}
	return coverage.Repair(ctx, client, plan, &coverage.RepairOptions{Save: save, Watch: watch, AcceptCopies: r.copies})
}

// failed explains an error in the middle of a repair.
func (r *repair) failed(err error, plan planned, report *coverage.Report) error {
	if report != nil && !r.JSON {
		printPlan(r.Out, report.Plan)
	}
	f := *r.explain(err)
	if _, ok := errors.AsType[*hogapi.InputError](err); ok && r.apply == "" {
		return plan.unfit(&f)
	}
	if _, isAnswer := errors.AsType[*hogapi.APIError](err); f.Code == shell.CodeOther || f.Code == shell.CodeStopped || f.Code == shell.CodeUsage && isAnswer {
		f.Code = shell.CodeStopped
		if _, err := os.Stat(plan.file); err == nil {
			text := "Fix the cause, then continue with:"
			if f.Text == "interrupted" {
				f.Todo, text = "", "To continue:"
				for _, s := range plan.Steps {
					if s.State == coverage.StepBegun && s.Action == coverage.ActionBackfill {
						f.More = append(f.More, "the backfill of "+s.Start.Format(clock)+" to "+s.End.Format(clock)+" UTC continues in PostHog: hogexport cancel ends it")
					}
				}
			}
			f.Next = []shell.Step{{Text: text, Command: "hogexport repair --apply " + shell.Quoted(plan.file) + shell.Given(r.flags, "accept", "accept-copies", "by-timestamp", "cache", "every", "host", "max-rows", "personal-key-file", "project-id", "yes")}}
		}
	}
	return &f
}

// finish prints the result, and whether anything is still not exported.
func (r *repair) finish(plan planned, report *coverage.Report) (open int, err error) {
	if r.apply == "" {
		_ = os.Remove(plan.file) // it is done: the next repair plans again
	}
	if r.JSON {
		if err := json.NewEncoder(r.Out).Encode(report); err != nil {
			return 0, err
		}
	} else {
		fmt.Fprintln(r.Out)
		printPlan(r.Out, report.Plan)
	}
	if report.After == nil {
		return 0, &shell.Fault{Code: shell.CodeCannot, Text: "the repair is done, but the coverage could not be read again", Todo: "see hogexport gaps"}
	}
	after := judge(report.After, r.known)
	after.handle = plan.ExportID.String()[:minID]
	if !r.JSON {
		fmt.Fprintln(r.Out)
		after.print(r.Out)
	}
	return len(after.open), nil
}

// stillOpen says how many gaps a repair has left, and how to get their rows.
func stillOpen(open int, commands []string) error {
	if open == 0 {
		return nil
	}
	f := &shell.Fault{Code: shell.CodeMissing, Text: plural(open, "gap") + " still not exported: the plan says why"}
	for _, command := range commands {
		f.Next = append(f.Next, shell.Step{Command: command})
	}
	if len(f.Next) > 0 {
		f.Next[0].Text = "Download the rows that a backfill leaves out:"
	}
	return f
}
