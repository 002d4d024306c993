package cli

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/internal/durable"
)

//go:embed gaps.html
var pageFiles embed.FS

var pageTemplates = page.Templates(pageFiles, nil)

// gapsPage is the data of the --report template.
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
	v.Verdict = page.NewVerdict(page.Good, "Every interval is exported, in the time that each export below names", "Or its run is under way, or it is known.")
	if open > 0 {
		v.Verdict = page.NewVerdict(page.Bad, plural(intervals, "interval")+" not exported", "The gaps are below, each with its reason.")
		v.Next = []shell.Step{{Text: "See what a repair would do:", Command: "hogexport repair EXPORT --plan plan.json"}}
	}
	var b bytes.Buffer
	if err := page.Write(&b, pageTemplates, "gaps.html", v); err != nil {
		return err
	}
	if err := durable.Replace(durable.OS{}, path, b.Bytes()); err != nil {
		return &shell.Fault{Code: shell.CodeOther, Text: fmt.Sprintf("--report %s: the page cannot be written: %v", path, shell.Cause(err)), Todo: "free some space, or give another FILE", Err: err}
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
	for _, gap := range pieces(c, j.known) {
		v.Gaps = append(v.Gaps, gapView{gap.Start.Format(clock), gap.End.Format(clock), gap.Intervals, gap.why()})
	}
	v.Notes = slices.Clone(c.Notes)
	for i := range v.Notes {
		v.Notes[i] = inFlags(v.Notes[i])
	}
	return v, intervals
}
