package page

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi/cmd/internal/page"

	"github.com/hogapi/hogapi/formats"
)

// overlap shows the events that the project already has on the days of the files.
type overlap struct {
	Level       page.Level
	Title, Text string
	Unit        string // "day", "month" or ""
	Rows        []heldRow
	Project     int64 // of others
	Own         int64 // of imports of these files
}

type heldRow struct {
	Period                   string
	Project, Own, Files      int64
	ProjectWidth, FilesWidth string
}

// Foreign returns how many events of others the project has in the days of the files.
func (c Check) Foreign() int64 { return c.overlap().Project }

func (c Check) overlap() *overlap {
	r := c.Report
	switch {
	case c.Unasked != "":
		return &overlap{Level: page.Info, Title: "The project could not be asked", Text: page.Shown(c.Unasked)}
	case c.Project == "":
		return &overlap{
			Level: page.Info, Title: "The project was not asked",
			Text: "Set POSTHOG_PERSONAL_API_KEY (scope query:read) and POSTHOG_PROJECT_ID to compare these days with the events that the project already has.",
		}
	}
	o := &overlap{Level: page.Good, Title: "The project has no events in these days", Text: "Nothing can be duplicated."}
	for _, d := range r.Held {
		own := min(c.Own[d.Day], d.Project)
		o.Own, o.Project = o.Own+own, o.Project+d.Project-own
	}
	if o.Project+o.Own == 0 {
		return o
	}
	common := o.rows(r, c.Own)
	both := page.Plural(common, cmp.Or(o.Unit, "period"), cmp.Or(o.Unit, "period")+"s")
	if o.Project == 0 {
		o.Level, o.Title = page.Info, "The project has "+page.Plural(o.Own, "event", "events")+" in these days, all of this import"
		o.Text = "They are of " + c.ownText(o.Own) + "."
		return o
	}
	other := ""
	if o.Own > 0 {
		other = "other "
	}
	if common == 0 {
		o.Level, o.Title = page.Info, "The project has "+page.Plural(o.Project, "event", "events")+" of others between these days"
		o.Text = "None is of a " + cmp.Or(o.Unit, "period") + " of which the files have events, so nothing can be there twice."
		return o
	}
	o.Level, o.Title = page.Warn, "The project already has "+page.Plural(o.Project, other+"event", other+"events")+" in these days"
	o.Text = "In " + both + " both the project and the files have events: of a live SDK that ran in parallel, or of an earlier import. " +
		"Events of an earlier import with the same ID are stored once; all others are added."
	if r.CutFrom != "" {
		o.Text = "From " + r.CutFrom + " on the project has events on each day of the files. If a live SDK ran in parallel, " +
			"import only what is before that day: --until " + r.CutFrom + "."
	}
	if o.Own > 0 {
		o.Text += " " + page.Plural(o.Own, "more is", "more are") + " of this import: they are of " + c.ownText(o.Own) + "."
	}
	return o
}

// ownText names the imports of these files, with advice about each. The project has so many of their events.
func (c Check) ownText(own int64) string {
	var list []string
	for _, b := range c.Begun {
		own -= b.Acknowledged
		text := page.Shown(b.Folder)
		switch {
		case b.IsVerified:
			text += ", which is verified"
		case b.Is == "complete":
			text += ": compare them with hogimport verify"
		case b.Is == "running" || b.Is == "waiting":
			text += ", which is under way"
		default:
			text += ": continue it with hogimport run"
		}
		list = append(list, text)
	}
	text := strings.Join(list, "; and of ")
	if own > 0 {
		text += ". What was sent again is counted until the project merges it"
	}
	return text
}

// rows adds up by days, or by months if there are many days or the report has counted by months. It returns the
// number of periods with events both of the files and of others in the project.
func (o *overlap) rows(r formats.CheckReport, own map[string]int64) (both int64) {
	const maxDays = 31
	cut := len(time.DateOnly)
	if len(r.Held) > maxDays {
		cut = len("2006-01")
	}
	for _, d := range r.Days {
		cut = min(cut, len(d.Day))
	}
	o.Unit = map[int]string{len(time.DateOnly): "day", len("2006-01"): "month"}[cut]
	rows := map[string]*heldRow{}
	row := func(day string) *heldRow {
		period := day[:min(cut, len(day))]
		if rows[period] == nil {
			rows[period] = &heldRow{Period: cmp.Or(period, "all")}
		}
		return rows[period]
	}
	for _, d := range r.Held {
		row(d.Day).Project += d.Project
		row(d.Day).Own += min(own[d.Day], d.Project)
	}
	for _, d := range r.Days {
		if period := d.Day[:min(cut, len(d.Day))]; rows[period] != nil {
			rows[period].Files += d.Events
		}
	}
	for _, row := range rows {
		if row.Project > row.Own && row.Files > 0 {
			both++
		}
	}
	highest := int64(1)
	for _, row := range rows {
		highest = max(highest, row.Project, row.Files)
	}
	for _, row := range rows {
		row.ProjectWidth, row.FilesWidth = percent(float64(row.Project), int(highest)), percent(float64(row.Files), int(highest))
		o.Rows = append(o.Rows, *row)
	}
	slices.SortFunc(o.Rows, func(a, b heldRow) int { return cmp.Compare(a.Period, b.Period) })
	return both
}
