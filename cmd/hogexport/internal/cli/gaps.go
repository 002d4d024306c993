package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
)

type gaps struct {
	*app

	since, accept, report, cache string
}

func newGapsCommand(a *app) *cobra.Command {
	g := &gaps{app: a}
	cmd := &cobra.Command{
		Use: "gaps [EXPORT…]", Short: "Show which intervals of exports are not exported",
		Long: `gaps compares each interval of the schedule with the runs of an export. It
prints a calendar with a letter for each interval, or for the worst interval
of each day, and then the gaps with their reasons. It changes nothing. Without
EXPORT it shows all exports of the project.

--accept FILE names gaps that are known: they are shown, and do not count. A
line has the export's name or id, the first and the last time, and the reason,
divided by tabs:

  events to the lake	2026-10-02 00:00	2026-10-03 00:00	before the move`,
		Example: "  hogexport gaps \"events to the warehouse\" --since 30d\n  hogexport gaps 0190f3c0-0000-7000-8000-000000000001 --json",
		RunE:    func(cmd *cobra.Command, args []string) error { return g.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.StringVar(&g.since, "since", "30d", "the `TIME` from which on intervals count: 30d, 36h, or a day")
	f.StringVar(&g.accept, "accept", "", "a `FILE` with the gaps that are known")
	f.StringVar(&g.report, "report", "", "also write a page to a `FILE` that can be sent on, such as gaps.html")
	bindCache(cmd, &g.cache)
	return cmd
}

// judged is the coverage of an export, and the gaps that are known.
type judged struct {
	*hogapi.Coverage

	Accepted []acceptance `json:"accepted"`

	known []acceptance
	open  []hogapi.CoverageGap // the others
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
	from, err := parseTime("--since", g.since, time.Now().UTC())
	if err != nil {
		return err
	}
	exports, err := g.exports(ctx, client, names)
	if err != nil {
		return err
	}
	store, all := g.cacheOf(g.cache), []judged{}
	for i := range exports {
		c, err := store.coverage(ctx, client, &exports[i], from)
		if err != nil {
			return err
		}
		all = append(all, judge(c, known))
	}
	if g.report != "" {
		if err := writePage(g.report, g.project(), all); err != nil {
			return err
		}
	}
	if g.JSON {
		if err := json.NewEncoder(g.Out).Encode(all); err != nil {
			return err
		}
		return verdictOf(all)
	}
	for i := range all {
		if i > 0 {
			fmt.Fprintln(g.Out)
		}
		all[i].print(g.Out)
	}
	return verdictOf(all)
}

func judge(c *hogapi.Coverage, known []acceptance) judged {
	j := judged{Coverage: c, Accepted: []acceptance{}, known: known}
	for _, gap := range c.Gaps() {
		if a := acceptedBy(known, c, gap); a != nil {
			j.Accepted = append(j.Accepted, *a)
		} else {
			j.open = append(j.open, gap)
		}
	}
	return j
}

// print writes the calendar, the gaps and the verdict.
func (j *judged) print(w io.Writer) {
	c := j.Coverage
	fmt.Fprintf(w, "%s: %s to %s, every %s\n\n", term.Line(c.Name), c.Model, c.Destination, every(string(c.Interval)))
	printCalendar(w, c)
	fmt.Fprintln(w)
	if len(j.open)+len(j.Accepted) > 0 {
		t := term.NewTable(w)
		fmt.Fprintln(t, "FROM (UTC)\tTO\tINTERVALS\tWHY\t")
		for _, gap := range c.Gaps() {
			fmt.Fprintf(t, "%s\t%s\t%d\t%s\t\n", gap.Start.Format(clock), gap.End.Format(clock), gap.Intervals, term.Line(j.why(gap)))
		}
		_ = t.Flush() // to a Screen
		fmt.Fprintln(w)
	}
	for _, note := range c.Notes {
		fmt.Fprintln(w, term.Flow("note: "+inFlags(note)))
	}
	fmt.Fprintln(w, term.Flow(j.colored()))
}

func states(gap hogapi.CoverageGap) string {
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
		return fmt.Sprintf("NOT EXPORTED: %s in %s, since %s UTC", plural(n, "interval"), plural(len(j.open), "gap"), j.open[0].Start.Format(clock))
	case j.IsExported():
		return "every interval is exported"
	case len(j.Accepted) > 0:
		return "every other interval is exported, or its run is under way"
	}
	return "no gap; but some intervals are exported by timestamp, or their runs are under way"
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
func verdictOf(all []judged) error {
	isUnknown, count := false, 0
	var name string
	for i := range all {
		for _, gap := range all[i].open {
			onlyUnknown := len(gap.States) == 1 && gap.States[0] == hogapi.IntervalUnknown
			isUnknown = isUnknown || onlyUnknown
			if !onlyUnknown {
				if count++; name == "" || name == shell.Quoted(all[i].Name) {
					name = shell.Quoted(all[i].Name)
				} else {
					name = "EXPORT"
				}
			}
		}
	}
	switch {
	case count > 0:
		return &shell.Fault{
			Code: shell.CodeMissing, Text: plural(count, "gap") + ", which nothing exports by itself",
			Next: []shell.Step{{Text: "See what a repair would do:", Command: "hogexport repair " + name + " --plan plan.json"}},
		}
	case isUnknown:
		return &shell.Fault{Code: shell.CodeCannot, Text: "some intervals have no run, and the settings of their time are not known", Todo: "give the key the scope activity_log:read, if the plan has an activity log"}
	}
	return nil
}

// acceptance is a gap that is known.
type acceptance struct {
	Export string    `json:"export"`
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Reason string    `json:"reason"`
}

func acceptedBy(known []acceptance, c *hogapi.Coverage, gap hogapi.CoverageGap) *acceptance {
	for i := range known {
		a := &known[i]
		if (a.Export == c.Name || a.Export == c.ExportID.String()) && !gap.Start.Before(a.From) && !gap.End.After(a.To) {
			return &acceptance{c.Name, gap.Start, gap.End, a.Reason}
		}
	}
	return nil
}

func readAccepted(path string) (known []acceptance, err error) {
	if path == "" {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, shell.UsageError(fmt.Sprintf("--accept %s: %v", path, shell.Cause(err)), "give a file with the gaps that are known")
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || strings.HasPrefix(text, "#") {
			continue
		}
		const columns = 4
		parts := strings.SplitN(text, "\t", columns)
		wrong := shell.UsageError(fmt.Sprintf("--accept %s, line %d: want the export, two times and the reason, divided by tabs", path, n), "see hogexport gaps --help")
		if len(parts) != columns || strings.TrimSpace(parts[3]) == "" {
			return nil, wrong
		}
		a := acceptance{Export: strings.TrimSpace(parts[0]), Reason: strings.TrimSpace(parts[3])}
		for i, to := range []*time.Time{&a.From, &a.To} {
			if *to, err = parseTime("a time", strings.TrimSpace(parts[i+1]), time.Time{}); err != nil || to.IsZero() {
				return nil, wrong
			}
		}
		known = append(known, a)
	}
	return known, lines.Err()
}
