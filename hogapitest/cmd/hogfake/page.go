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
}).Parse(pageText))

const (
	newestRuns  = 8 // shown of each export
	newestCalls = 25
	mostNames   = 50 // of events
)

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
	Projects []project
	Events   []*eventRow
	Calls    []hogapitest.Call
}

type total struct {
	Name  string
	Count int
}

type project struct {
	*hogapitest.Project

	Exports []export
}

type export struct {
	hogapitest.Export

	Runs      []hogapitest.Run // newest first
	AllRuns   int
	Backfills []hogapitest.Backfill
}

func (p page) view(refresh bool) view {
	v := view{
		URL: p.url, Age: p.era.String(), Refresh: refresh,
		Project: hogapitest.DefaultProject, Key: hogapitest.DefaultPersonalKey, ProjectKey: hogapitest.DefaultProjectKey,
	}
	var exports, runs, backfills, integrations, downloads int
	for _, from := range p.fake.Projects() {
		shown := project{Project: from}
		for _, e := range from.Exports() {
			all := from.Runs(e.ID)
			slices.Reverse(all)
			x := export{Export: e, AllRuns: len(all), Runs: all[:min(len(all), newestRuns)], Backfills: from.Backfills(e.ID)}
			slices.Reverse(x.Backfills)
			shown.Exports = append(shown.Exports, x)
			exports, runs, backfills = exports+1, runs+len(all), backfills+len(x.Backfills)
		}
		integrations += len(from.Integrations())
		downloads += len(from.FileDownloads())
		v.Projects = append(v.Projects, shown)
	}
	ledger, calls := p.fake.Ledger(), p.fake.Calls()
	unique := ledger.Unique()
	v.Totals = []total{
		{"exports", exports}, {"runs", runs}, {"backfills", backfills}, {"integrations", integrations}, {"file downloads", downloads},
		{"events", unique}, {"stored again", ledger.Len() - unique}, {"dropped", len(ledger.Dropped())},
		{"capture requests", len(ledger.Requests())}, {"calls", len(calls)},
	}
	v.Events = eventRows(ledger.Counts())
	slices.Reverse(calls)
	v.Calls = calls[:min(len(calls), newestCalls)]
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
	return rows[:min(len(rows), mostNames)]
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
