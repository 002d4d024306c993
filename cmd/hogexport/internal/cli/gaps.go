package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/coverage"
)

type gaps struct {
	*app

	since, accept, report, cache string

	maxBehind time.Duration
	until     string
	intervals bool

	flags *pflag.FlagSet
}

// same are the flags of a command that a suggested one has too.
var same = []string{"accept", "age-line", "cache", "host", "personal-key-file", "project-id", "since"}

func newGapsCommand(a *app) *cobra.Command {
	g := &gaps{app: a}
	cmd := &cobra.Command{
		Use: "gaps [EXPORT…]", Short: "Show which intervals of exports are not exported",
		Long: `gaps compares each interval of the schedule with the runs of an export. It
prints a calendar with a letter for each interval, or for the worst interval
of each day, and then the gaps with their reasons. It changes nothing. Without
EXPORT it shows all exports of the project.

--accept FILE lists known gaps: they are shown, but do not count. A line has the
export's name or id, two times and the reason, separated by tabs. It covers every
interval between the two times; with from and one time, all later intervals;
without a time, the whole export:

  events to the lake	2026-10-02 00:00	2026-10-03 00:00	before the move
  events to the lake	from 2026-11-18	paused until the audit is over
  second export	written once by a repair

--max-behind TIME is for cron: it prints nothing if the newest exported interval
of every export ended at most TIME ago. If the interval of an export is longer
than TIME, it may be an interval and TIME ago. Older gaps do not count. Exit code
6: an export is behind; 7: cannot tell for some exports, even if others are
behind, or the service does not answer.`,
		Example: "  hogexport gaps \"events to the warehouse\" --since 30d\n  hogexport gaps 0190f3c0 --json\n  hogexport gaps --max-behind 90m   # cron",
		RunE:    func(cmd *cobra.Command, args []string) error { return g.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	g.flags = f
	f.StringVar(&g.since, "since", "30d", "count intervals since this `TIME`:  30d, 36h, or a day")
	f.StringVar(&g.until, "until", "", "count intervals until this `TIME`; default: now")
	f.BoolVar(&g.intervals, "intervals", false, "with --json, also print each interval with its runs")
	f.StringVar(&g.accept, "accept", "", "a `FILE` of known gaps")
	f.StringVar(&g.report, "report", "", "also write the result as a web page to a `FILE`, such as gaps.html")
	f.DurationVar(&g.maxBehind, "max-behind", 0, "only check the newest exported interval of each unpaused export: exit code 6 if it ended longer ago than this `TIME`, such as 90m")
	g.bindCache(cmd, &g.cache)
	cmd.MarkFlagsMutuallyExclusive("max-behind", "report")
	cmd.MarkFlagsMutuallyExclusive("max-behind", "since")
	return cmd
}

// judged is the coverage of an export, and the gaps that are known.
type judged struct {
	*coverage.Coverage

	Accepted []acceptance

	known  []acceptance
	open   []coverage.Gap // the others
	handle string         // what names the export in a command
	target string         // the destination with its bucket or table
	began  time.Time      // of the export
}

func (g *gaps) run(ctx context.Context, names []string) error {
	known, err := readAccepted(g.accept)
	if err != nil {
		return err
	}
	if g.report != "" {
		if err := shell.PageAt(g.report, "hogexport", "gaps", "Gaps").Check(nil); err != nil {
			return err
		}
	}
	client, err := g.client()
	if err != nil {
		return err
	}
	if g.flags.Changed("max-behind") {
		if g.maxBehind <= 0 {
			return shell.UsageError(fmt.Sprintf("--max-behind %v is not above 0", g.maxBehind), "give a time such as 90m")
		}
		return g.behind(ctx, client, names, known)
	}
	now := time.Now().UTC()
	from, err := parseTime("--since", g.since, now)
	if err != nil {
		return err
	}
	var to time.Time
	if g.until != "" {
		if to, err = parseTime("--until", g.until, now); err != nil {
			return err
		}
		if !from.Before(to) {
			return shell.UsageError("--until is not after --since", "give a later --until, or an earlier --since")
		}
	}
	exports, err := g.exports(ctx, client, names)
	if err != nil {
		return err
	}
	store, all, handles := g.cacheOf(g.cache), []judged{}, handles(exports, names)
	for i := range exports {
		c, err := store.coverage(ctx, client, &exports[i], from)
		if err != nil {
			return err
		}
		all = append(all, judge(before(c, to), known))
		all[i].handle, all[i].began, all[i].target = handles[i], exports[i].CreatedAt, target(&exports[i])
	}
	if g.report != "" {
		if err := writePage(g.report, g.project(), all); err != nil {
			return err
		}
	}
	if g.JSON {
		if err := g.printJSON(all); err != nil {
			return err
		}
		return g.verdictOf(all)
	}
	for i := range all {
		if i > 0 {
			fmt.Fprintln(g.Out)
		}
		all[i].print(g.Out)
	}
	return g.verdictOf(all)
}

func judge(c *coverage.Coverage, known []acceptance) judged {
	j := judged{Coverage: c, Accepted: []acceptance{}, known: known}
	for _, gap := range pieces(c, known) {
		if gap.by != nil {
			j.Accepted = append(j.Accepted, *gap.by)
		} else {
			j.open = append(j.open, gap.Gap)
		}
	}
	return j
}

// print writes the calendar, the gaps and the verdict.
func (j *judged) print(w io.Writer) {
	c := j.Coverage
	fmt.Fprintln(w, term.Flow(fmt.Sprintf("%s: %s to %s, every %s (%s)\n", term.Line(c.Name), c.Model, term.Line(cmp.Or(j.target, string(c.Destination))), every(string(c.Interval)), c.ExportID.String()[:minID])))
	printCalendar(w, c)
	fmt.Fprintln(w)
	if len(j.open)+len(j.Accepted) > 0 {
		t := term.NewTable(w).Narrow([]string{"WHY"}, nil)
		fmt.Fprintln(t, "FROM (UTC)\tTO\tINTERVALS\tWHY\t")
		for _, gap := range pieces(c, j.known) {
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t\n", gap.Start.Format(clock), gap.End.Format(clock), gap.Intervals, term.Line(gap.why()))
		}
		_ = t.Flush() // to a Screen
		fmt.Fprintln(w)
	}
	for _, note := range c.Notes {
		fmt.Fprintln(w, term.Flow("note: "+inFlags(note)))
	}
	for _, x := range j.Intervals {
		if id := stuckRun(x); x.State == coverage.StateStuck && id != nil {
			fmt.Fprintln(w, term.Flow(fmt.Sprintf("note: why the run of %s is stuck: hogexport logs %s --run %s", x.Start.Format(clock), shell.Quoted(j.handle), id)))
		}
	}
	fmt.Fprintln(w, term.Flow(j.colored()))
}

func states(gap coverage.Gap) string {
	var words []string
	for _, s := range gap.States {
		words = append(words, s.String())
	}
	return strings.Join(words, ", ")
}

// verdict says in one line which intervals are exported.
func (j *judged) verdict() string {
	n := 0
	for _, gap := range j.open {
		n += gap.Intervals
	}
	switch {
	case n > 0:
		return fmt.Sprintf("NOT EXPORTED: %s in %s, since %s UTC, checked from %s", plural(n, "interval"), plural(len(j.open), "gap"), j.open[0].Start.Format(clock), j.window())
	case j.IsExported():
		return "every interval from " + strings.Replace(j.window(), " (", " is exported (", 1)
	case len(j.Accepted) > 0:
		return "every other interval is exported or has a run under way, checked from " + j.window()
	case !slices.ContainsFunc(j.Intervals, func(x coverage.Interval) bool { return len(x.Runs) > 0 }):
		return "no interval was due, so nothing is missing"
	}
	return "no gap, but some intervals were exported by timestamp or have a run under way, in " + j.window()
}

// window says in which time the intervals of a verdict are, and that there are earlier ones.
func (j *judged) window() string {
	first, last := j.From, j.CheckedAt
	for i, x := range j.Intervals {
		if i == 0 {
			first = x.Start
		}
		if x.State != coverage.StateNotDue && x.State != coverage.StateAfterEnd {
			last = x.End
		}
	}
	const day = 24 * time.Hour
	length := last.Sub(first)
	if length > 2*day {
		length = length.Round(day)
	}
	text := fmt.Sprintf("%s to %s UTC (%s", first.UTC().Format(clock), last.UTC().Format(clock), span(length))
	if j.began.Before(first) && !j.began.IsZero() {
		text += "; the export began " + j.began.UTC().Format(time.DateOnly)
	}
	return text + ")"
}

// colored returns the verdict in the color that it has on a terminal.
func (j *judged) colored() string {
	switch {
	case len(j.open) > 0:
		return term.Problem(j.verdict())
	case j.IsExported() || len(j.Accepted) > 0:
		return j.verdict()
	}
	return term.Warning(j.verdict())
}

// verdictOf returns the error of a command that has found gaps.
func (g *gaps) verdictOf(all []judged) error {
	isUnknown, count, open := false, 0, []string{}
	for i := range all {
		for _, gap := range all[i].open {
			if len(gap.States) == 1 && gap.States[0] == coverage.StateUnknown {
				isUnknown = true
				continue
			}
			count++
			if name := shell.Quoted(all[i].handle); !slices.Contains(open, name) {
				open = append(open, name)
			}
		}
	}
	const few = 3
	names, plan := strings.Join(open, " "), ""
	switch n := len(open); {
	case n == 1:
		plan = " --plan plan.json"
	case n > few:
		names = "EXPORT…"
	}
	switch {
	case count > 0:
		return &shell.Fault{
			Code: shell.CodeMissing, Text: plural(count, "gap") + "; they are not exported automatically",
			Next: []shell.Step{{Text: "See what a repair would do:", Command: "hogexport repair " + names + shell.Given(g.flags, same...) + plan}},
		}
	case isUnknown:
		return &shell.Fault{Code: shell.CodeCannot, Text: "some intervals have no run, and the settings at that time are unknown", Todo: "give the key the scope activity_log:read, if the plan has an activity log"}
	}
	return nil
}

// why returns the reason of a gap.
func (p *piece) why() string {
	if p.by != nil {
		return "known: " + p.by.Reason
	}
	return states(p.Gap)
}
