package page

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi/cmd/internal/page"

	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats"
)

// Export is a running batch export of the project, which sends imported events too.
type Export struct {
	Name        string `json:"name"`
	Destination string `json:"destination"` // its type, such as S3
	Interval    string `json:"interval"`
}

// webView previews web analytics.
type webView struct {
	formats.WebReport

	Chart              *trend // nil: there is nothing to show
	Months             []webRow
	Channels           []counted
	Countries, Entries []counted // the largest
	Mixed              []mixed
	Advice             string // why there is nothing to show
}

// webRow is a month, as text.
type webRow struct{ Month, Visitors, Views, Sessions, Bounce, Duration string }

// mixed is a property with values of several types.
type mixed struct{ Name, Types string }

// trend is a chart of lines. Its places are in percent, and its paths in thousandths.
type trend struct {
	Lines  []line
	Labels []label
	Series []trendLine
}

type trendLine struct {
	Name, Class, Path string
	Points            []point
}

type point struct {
	X, Y, Month string
	N           int64
}

// NoSessions is the advice where no event is in a session.
const NoSessions = "No event has a $session_id that PostHog counts, so visitors, views, sessions and channels stay empty for this history. " +
	"Insights and funnels do not need it."

// WebMonth returns the numbers of a month for people.
func WebMonth(m formats.WebMonth) (visitors, views, sessions, bounce, duration string) {
	if m.Sessions == 0 {
		return page.Count(m.Visitors), page.Count(m.Views), page.Count(m.Sessions), "–", "–"
	}
	return page.Count(m.Visitors), page.Count(m.Views), page.Count(m.Sessions), page.Share(m.Bounces, m.Sessions), Seconds(m.AverageSeconds)
}

// Seconds returns a duration in words, to the second.
func Seconds(n float64) string {
	return progress.Words(time.Duration(n * float64(time.Second)).Round(time.Second))
}

// Mixed returns the properties with values of more than one type by their names.
func Mixed(r *formats.WebReport) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(r.Types)) {
		if r.Types[name].IsMixed() {
			names = append(names, name)
		}
	}
	return names
}

func (c Check) web() *webView {
	r := c.Report.Web
	if r == nil || r.Events == 0 {
		return nil
	}
	v := &webView{WebReport: *r, Channels: sizes(r.Total.Channels, r.Total.Sessions)}
	for _, m := range r.Months {
		row := webRow{Month: m.Month}
		row.Visitors, row.Views, row.Sessions, row.Bounce, row.Duration = WebMonth(m)
		v.Months = append(v.Months, row)
	}
	const most = 10
	v.Countries, v.Entries = sizes(r.Total.Countries, r.Total.Sessions), sizes(r.Total.Entries, r.Total.Sessions)
	v.Countries, v.Entries = v.Countries[:min(most, len(v.Countries))], v.Entries[:min(most, len(v.Entries))]
	for _, name := range Mixed(r) {
		v.Mixed = append(v.Mixed, mixed{name, r.Types[name].String()})
	}
	if r.InSession == 0 {
		v.Advice = NoSessions
		return v
	}
	v.Chart = newTrend(r.Months)
	return v
}

func newTrend(months []formats.WebMonth) *trend {
	byMonth := map[string]formats.WebMonth{}
	var samples []sample
	for _, m := range months {
		byMonth[m.Month] = m
		samples = append(samples, sample{Day: m.Month})
	}
	unit, _, list := periods(samples)
	if unit != "month" || len(list) == 0 {
		return nil
	}
	var highest int64
	for _, m := range months {
		highest = max(highest, m.Views, m.Sessions, m.Visitors)
	}
	grid := new(chart)
	top := grid.grid(highest)
	grid.label(list)
	t := &trend{Lines: grid.Lines, Labels: grid.Labels}
	for i, s := range []struct {
		name string
		of   func(formats.WebMonth) int64
	}{
		{"views", func(m formats.WebMonth) int64 { return m.Views }},
		{"sessions", func(m formats.WebMonth) int64 { return m.Sessions }},
		{"visitors", func(m formats.WebMonth) int64 { return m.Visitors }},
	} {
		one := trendLine{Name: s.name, Class: fmt.Sprintf("c%d", i)}
		var path strings.Builder
		for place, month := range list {
			n := s.of(byMonth[month])
			x, y := (float64(place)+0.5)/float64(len(list)), float64(top-n)/float64(top)
			const thousand = 1000
			fmt.Fprintf(&path, "%s%.1f %.1f", cmp.Or(map[bool]string{true: "M"}[place == 0], "L"), thousand*x, thousand*y)
			one.Points = append(one.Points, point{percent(x, 1), percent(y, 1), month, n})
		}
		one.Path = path.String()
		t.Series = append(t.Series, one)
	}
	return t
}

// webFindings adds the findings about web analytics.
func (c Check) webFindings(add func(l page.Level, anchor, title, text string)) {
	if n := len(c.Exports); n > 0 {
		var names []string
		for _, x := range c.Exports {
			names = append(names, page.Shown(x.Name)+" ("+page.Shown(x.Destination)+")")
		}
		const most = 5
		add(page.Warn, "web", page.Plural(int64(n), "running batch export sends", "running batch exports send")+" this history too",
			"Exports choose events by their arrival, so they export the imported events, and bill their rows: "+few(names, most, ", ")+
				". Pause them before the import if their destinations should not have it.")
	}
	r := c.Report.Web
	if r == nil || r.Events == 0 {
		return
	}
	var outside int64
	var parts []string
	for _, o := range []struct{ reason, text string }{
		{formats.OutsideNotV7, "with an id that is not a UUID of version 7, which are in no session"},
		{formats.OutsideEarly, "before the time in their session's id"},
		{formats.OutsideLate, "24 hours or more after the time in their session's id"},
	} {
		if n := r.Outside[o.reason].Count; n > 0 {
			outside += n
			parts = append(parts, page.Count(n)+" "+o.text)
		}
	}
	if outside > 0 {
		add(page.Warn, "web", page.Plural(outside, "event breaks", "events break")+" PostHog’s rules for sessions", page.Sentence(strings.Join(parts, "; "))+".")
	}
	if r.Hidden > 0 {
		add(page.Warn, "web", page.Plural(r.Hidden, "session", "sessions")+" will not be found", "The time in the id is more than 3 days from the month of the events, so no range of dates has the session.")
	}
	if n := len(r.Busy); n > 0 {
		add(page.Warn, "web", page.Plural(int64(n), "distinct id has", "distinct ids have")+" more than 5,000 events in a minute",
			"PostHog stops processing persons for such an id: its events stay, but its person is not updated. The busiest is "+page.Shown(r.Busy[0].DistinctID)+
				" with "+page.Count(r.Busy[0].Events)+" events. Is it the id of a server, or of all unknown users?")
	}
	if names := Mixed(r); len(names) > 0 {
		const most = 3
		var texts []string
		for _, name := range names {
			texts = append(texts, page.Shown(name)+": "+r.Types[name].String())
		}
		add(page.Info, "web", page.Plural(int64(len(names)), "property has", "properties have")+" values of several types",
			few(texts, most, "; ")+". PostHog gives a property one type, and sums and comparisons leave out the others.")
	}
	if n := r.Young + c.Report.Reasons[event.ReasonTooYoung].Count; n > 0 {
		add(page.Info, "web", page.Plural(n, "event is", "events are")+" less than 48 hours old", "PostHog bills such events as live ones. An import refuses them until they are older.")
	}
}
