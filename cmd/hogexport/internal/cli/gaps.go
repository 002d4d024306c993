package cli

import (
	"bufio"
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/internal/durable"
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
	case !slices.ContainsFunc(j.Intervals, func(x hogapi.CoverageInterval) bool { return len(x.Runs) > 0 }):
		return "no interval was due: none is exported, and none missing"
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

//go:embed gaps.html
var pageFiles embed.FS

var pageTemplates = page.Templates(pageFiles, nil)

// gapsPage is what the template of --report shows.
type gapsPage struct {
	page.Frame

	At      time.Time
	Version string
	Verdict page.Verdict
	Next    []shell.Step
	Exports []exportView
}

type exportView struct {
	Name, What string
	Verdict    page.Verdict
	Columns    []string
	Rows       []calendarRow
	Legend     string
	Gaps       []gapView
	Notes      []string
}

type calendarRow struct {
	Name  string
	Cells []calendarCell
}

type calendarCell struct {
	Letter, Title string
	Level         page.Level
}

type gapView struct {
	From, To  string
	Intervals int
	Why       string
}

// writePage writes the report of some exports as one page.
func writePage(path, project string, all []judged) error {
	v := gapsPage{
		Frame: page.Frame{Program: "hogexport", Kind: "Gaps", Subject: "project " + project}, At: time.Now().UTC(), Version: shell.Version(),
	}
	open, intervals := 0, 0
	for i := range all {
		view, n := all[i].view()
		v.Exports, open, intervals = append(v.Exports, view), open+len(all[i].open), intervals+n
	}
	v.Facts = []page.Fact{
		{Name: "Exports", Value: page.Count(len(all))}, {Name: "Gaps", Value: page.Count(open), Level: levelOf(open)},
		{Name: "Intervals not exported", Value: page.Count(intervals), Level: levelOf(intervals)},
	}
	v.Verdict = page.NewVerdict(page.Good, "Every interval is exported", "Or its run is under way, or it is known.")
	if open > 0 {
		v.Verdict = page.NewVerdict(page.Bad, plural(intervals, "interval")+" not exported", "The gaps are below, each with its reason.")
		v.Next = []shell.Step{{Text: "See what a repair would do:", Command: "hogexport repair EXPORT --plan plan.json"}}
	}
	var b bytes.Buffer
	if err := page.Write(&b, pageTemplates, "gaps.html", v); err != nil {
		return err
	}
	if err := durable.Replace(durable.OS{}, path, b.Bytes()); err != nil {
		return &shell.Fault{Code: shell.CodeOther, Text: fmt.Sprintf("--report %s: the page cannot be written: %v", path, shell.Cause(err)), Todo: "make room, or give another FILE", Err: err}
	}
	const readable = 0o644
	return os.Chmod(path, readable)
}

func levelOf(n int) page.Level {
	if n > 0 {
		return page.Bad
	}
	return page.Good
}

// view returns an export as the page shows it, and the number of its intervals that are not exported.
func (j *judged) view() (v exportView, intervals int) {
	c := j.Coverage
	v = exportView{Name: c.Name, What: fmt.Sprintf("%s to %s, every %s", c.Model, c.Destination, every(string(c.Interval)))}
	for _, gap := range j.open {
		intervals += gap.Intervals
	}
	v.Verdict = page.NewVerdict(page.Good, page.Sentence(j.verdict()), "")
	if intervals > 0 {
		v.Verdict.Level = page.Bad
	} else if !j.IsExported() {
		v.Verdict.Level = page.Warn
	}
	calendar := newCalendar(c)
	v.Legend = calendar.legend()
	for i := range calendar.columns {
		v.Columns = append(v.Columns, strconv.Itoa(i+calendar.first))
	}
	for _, name := range calendar.rows {
		row := calendarRow{Name: name}
		for i, r := range calendar.cells[name] {
			cell := calendarCell{Letter: strings.TrimSpace(string(letters[r].letter)), Level: page.Good}
			switch {
			case r >= firstBad:
				cell.Level = page.Bad
			case r >= firstOdd:
				cell.Level = page.Warn
			case letters[r].words != "exported":
				cell.Level = page.Info
			}
			cell.Title = fmt.Sprintf("%s, %d: %s", name, i+calendar.first, letters[r].words)
			row.Cells = append(row.Cells, cell)
		}
		v.Rows = append(v.Rows, row)
	}
	for _, gap := range c.Gaps() {
		v.Gaps = append(v.Gaps, gapView{gap.Start.Format(clock), gap.End.Format(clock), gap.Intervals, j.why(gap)})
	}
	v.Notes = slices.Clone(c.Notes)
	for i := range v.Notes {
		v.Notes[i] = inFlags(v.Notes[i])
	}
	return v, intervals
}

// why returns the reason of a gap.
func (j *judged) why(gap hogapi.CoverageGap) string {
	if a := acceptedBy(j.known, j.Coverage, gap); a != nil {
		return "known: " + a.Reason
	}
	return states(gap)
}
