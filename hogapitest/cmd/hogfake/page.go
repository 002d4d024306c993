package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"html/template"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// page shows the fake's data, without the configs of destinations, which hold secrets.
type page struct {
	fake *hogapitest.Server
	url  string
	era  hogapitest.Era
}

//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": number, "time": clock, "state": state, "size": size,
	"runs": newest[hogapitest.Run], "backfills": newest[hogapitest.Backfill], "calls": newest[hogapitest.Call],
}).Parse(pageText))

const maxNames = 50 // of events

// newest reverses a list that is its own, and cuts it.
func newest[T any](most int, list []T) []T {
	slices.Reverse(list)
	return list[:min(len(list), most)]
}

func (p page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, p.view(r.URL.Query().Has("refresh"))); err != nil {
		http.Error(w, "the page cannot be written: "+err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; img-src data:")
	_, _ = w.Write(b.Bytes())
}

// view is the page's data.
type view struct {
	URL, Age, Key, Project, ProjectKey string

	Refresh  bool
	Totals   []total
	Projects []*hogapitest.Project
	Events   []*eventRow
	Calls    []hogapitest.Call
}

type total struct {
	Name  string
	Count int
}

func (p page) view(refresh bool) view {
	v := view{
		URL: p.url, Age: p.era.String(), Refresh: refresh, Projects: p.fake.Projects(), Calls: p.fake.Calls(),
		Project: hogapitest.DefaultProject, Key: hogapitest.DefaultPersonalKey, ProjectKey: hogapitest.DefaultProjectKey,
	}
	var exports, runs, backfills, integrations, downloads int
	for _, p := range v.Projects {
		for _, e := range p.Exports() {
			exports, runs, backfills = exports+1, runs+len(p.Runs(e.ID)), backfills+len(p.Backfills(e.ID))
		}
		integrations += len(p.Integrations())
		downloads += len(p.FileDownloads())
	}
	ledger := p.fake.Ledger()
	unique := ledger.Unique()
	v.Totals = []total{
		{"exports", exports}, {"runs", runs}, {"backfills", backfills}, {"integrations", integrations}, {"file downloads", downloads},
		{"events", unique}, {"stored again", ledger.Len() - unique}, {"dropped", len(ledger.Dropped())},
		{"capture requests", len(ledger.Requests())}, {"calls", len(v.Calls)},
	}
	v.Events = eventRows(ledger.Counts())
	return v
}

// eventRow counts the events of one name.
type eventRow struct {
	Name, First, Last string // and their days
	Count             int
}

// eventRows counts by name, the most frequent first.
func eventRows(counts map[hogapitest.EventDay]int) []*eventRow {
	byName := map[string]*eventRow{}
	for day, n := range counts {
		r := byName[day.Event]
		if r == nil {
			r = &eventRow{Name: day.Event, First: day.Day, Last: day.Day}
			byName[day.Event] = r
		}
		r.Count, r.First, r.Last = r.Count+n, min(r.First, day.Day), max(r.Last, day.Day)
	}
	rows := slices.SortedFunc(maps.Values(byName), func(a, b *eventRow) int { return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Name, b.Name)) })
	return rows[:min(len(rows), maxNames)]
}

// number groups the digits by three.
func number(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func clock(t time.Time) string {
	if t.IsZero() {
		return "the beginning"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// state is the class of a status.
func state(s hogapi.RunStatus) string {
	switch {
	case s == hogapi.RunStatusCompleted:
		return "good"
	case s.IsFailure():
		return "bad"
	case s.IsTerminal():
		return "off"
	}
	return "live"
}

func size(f hogapitest.File) string { return number(len(f.Content)) + " bytes" }
