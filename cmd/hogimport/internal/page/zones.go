package page

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/mixpanel"
)

// zoneView shows a test of the time zone.
type zoneView struct {
	Level   Level
	Title   string
	Text    string
	Live    int64
	Offsets []counted // the most frequent
}

// newZones is what the test has found of times that were read by the clocks of a zone; nil without a test.
func newZones(t *mixpanel.ZoneTest, chosen *time.Location) *zoneView {
	if t == nil {
		return nil
	}
	v := &zoneView{Live: t.Live}
	for offset, n := range t.Offsets {
		v.Offsets = append(v.Offsets, counted{Name: offsetName(offset), N: n, Of: t.Live, Width: percent(float64(n), int(max(t.Live, 1)))})
	}
	slices.SortFunc(v.Offsets, func(a, b counted) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name)) })
	const most = 8
	v.Offsets = v.Offsets[:min(most, len(v.Offsets))]
	if chosen == nil {
		chosen = time.UTC
	}
	fits := t.Share(chosen)
	fitting := Share(int64(fits*float64(t.Live)+0.5), t.Live) + " of the live events agree with the clock of Mixpanel's servers."
	switch {
	case t.Live == 0:
		v.Level, v.Title = Warn, "The time zone could not be tested"
		v.Text = "No record has the time of Mixpanel's servers. Projects made before 2023 export local time: compare one event whose time you know."
	case fits > 0.5:
		v.Level, v.Title, v.Text = Good, "The times fit "+chosen.String(), fitting
	case t.IsLocal():
		v.Level, v.Title = Bad, "The times are local, not UTC"
		v.Text = "Most live events are at " + v.Offsets[0].Name + " by the clock of Mixpanel's servers. "
		if zone := BestZone(t); zone != "" {
			v.Text += "The clocks of " + zone + " fit best: check again with --zone " + zone + ", or another zone with these clocks."
		} else {
			v.Text += "Give the time zone of the Mixpanel project with --zone, and check again."
		}
	default:
		v.Level, v.Title = Bad, "The times do not fit "+chosen.String()
		v.Text = "Only " + fitting + " Give the time zone of the Mixpanel project with --zone, or none for UTC, and check again."
	}
	return v
}

// commonZones are tried, the most populous of equal clocks first.
var commonZones = []string{
	"America/Los_Angeles", "America/New_York", "America/Chicago", "America/Denver", "America/Phoenix", "America/Toronto", "America/Halifax",
	"America/Sao_Paulo", "America/Mexico_City", "America/Bogota", "America/Argentina/Buenos_Aires", "America/Santiago",
	"Europe/London", "Europe/Paris", "Europe/Helsinki", "Europe/Istanbul", "Europe/Moscow", "Africa/Lagos", "Africa/Cairo", "Africa/Johannesburg",
	"Asia/Jerusalem", "Asia/Dubai", "Asia/Karachi", "Asia/Kolkata", "Asia/Dhaka", "Asia/Jakarta", "Asia/Shanghai", "Asia/Tokyo",
	"Australia/Perth", "Australia/Brisbane", "Australia/Sydney", "Pacific/Auckland", "Pacific/Honolulu",
}

// BestZone is the zone whose clocks fit most live events, or "" where none fits nearly all.
func BestZone(t *mixpanel.ZoneTest) (best string) {
	most := 0.9
	for _, name := range commonZones {
		zone, err := time.LoadLocation(name)
		if err != nil {
			continue
		}
		if fits := t.Share(zone); fits > most {
			best, most = name, fits
		}
	}
	return best
}

// offsetName is how far a time is ahead of UTC.
func offsetName(d time.Duration) string {
	if d == 0 {
		return "UTC"
	}
	sign := "+"
	if d < 0 {
		sign, d = "−", -d
	}
	return fmt.Sprintf("UTC%s%d:%02d", sign, d/time.Hour, d%time.Hour/time.Minute)
}

// overlap shows what the project already has in the days of the files.
type overlap struct {
	Level       Level
	Title, Text string
	Asked       bool
	Unit        string // "day", "month", or none
	Rows        []heldRow
	Project     int64
}

type heldRow struct {
	Period                   string
	Project, Files           int64
	ProjectWidth, FilesWidth string
}

func newOverlap(r formats.CheckReport, project, unasked string) *overlap {
	switch {
	case unasked != "":
		return &overlap{Level: Info, Title: "The project could not be asked", Text: Shown(unasked)}
	case project == "":
		return &overlap{
			Level: Info, Title: "The project was not asked",
			Text: "Set POSTHOG_PERSONAL_API_KEY (scope query:read) and POSTHOG_PROJECT_ID to compare these days with the events that the project already has.",
		}
	}
	o := &overlap{Level: Good, Asked: true, Title: "The project has no events in these days", Text: "Nothing can be there twice."}
	for _, d := range r.Held {
		o.Project += d.Project
	}
	if o.Project == 0 {
		return o
	}
	both := o.rows(r)
	o.Level, o.Title = Warn, "The project already has "+plural(o.Project, "event", "events")+" in these days"
	o.Text = "In " + both + " both the project and the files have events: of a live SDK that ran in parallel, or of an earlier import. " +
		"Events of an earlier import with the same ID are stored once; all others are added."
	if r.CutFrom != "" {
		o.Text = "From " + r.CutFrom + " on the project has events on each day of the files. If a live SDK ran in parallel, " +
			"import only what is before that day: --until " + r.CutFrom + "."
	}
	return o
}

// rows adds up by days, or by months where there are many days, or where the report has counted by months. It returns
// in how many of them both the project and the files have events.
func (o *overlap) rows(r formats.CheckReport) (both string) {
	const mostDays = 31
	cut := len(time.DateOnly)
	if len(r.Held) > mostDays {
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
	}
	for _, d := range r.Days {
		if period := d.Day[:min(cut, len(d.Day))]; rows[period] != nil {
			rows[period].Files += d.Events
		}
	}
	var n int64
	for _, row := range rows {
		if row.Project > 0 && row.Files > 0 {
			n++
		}
	}
	both = plural(n, cmp.Or(o.Unit, "period"), cmp.Or(o.Unit, "period")+"s")
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
