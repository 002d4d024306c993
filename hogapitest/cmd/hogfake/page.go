package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
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
	"number": number, "time": clock, "state": state, "size": size, "path": withoutKeys,
}).Parse(pageText))

const (
	newestRuns  = 8 // shown of each export
	newestCalls = 25
	mostRows    = 62 // of days; more are shown as months, or as years
	mostNames   = 6  // of events that have a column
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
	Events   matrix
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
	v.Events = newMatrix(ledger.Counts())
	slices.Reverse(calls)
	v.Calls = calls[:min(len(calls), newestCalls)]
	return v
}

// matrix counts events by time and name.
type matrix struct {
	Step  string // Day, Month or Year
	Names []string
	Rows  []matrixRow
	Total []int
}

type matrixRow struct {
	When   string
	Counts []int
}

// newMatrix counts days, or longer steps where there are too many of them, newest first. The names with the fewest events share
// the last column.
func newMatrix(counts map[hogapitest.EventDay]int) matrix {
	m := matrix{Step: "Day"}
	for _, step := range []struct {
		name   string
		length int
	}{{"Day", 10}, {"Month", 7}, {"Year", 4}} {
		whens := map[string]bool{}
		for day := range counts {
			whens[cut(day.Day, step.length)] = true
		}
		m.Step = step.name
		m.Rows = nil
		for _, when := range slices.Sorted(maps.Keys(whens)) {
			m.Rows = append(m.Rows, matrixRow{When: when})
		}
		slices.Reverse(m.Rows)
		if len(m.Rows) <= mostRows {
			break
		}
	}
	byName := map[string]int{}
	for day, n := range counts {
		byName[day.Event] += n
	}
	m.Names = slices.SortedFunc(maps.Keys(byName), func(a, b string) int { return cmp.Or(cmp.Compare(byName[b], byName[a]), cmp.Compare(a, b)) })
	column := map[string]int{}
	for i, name := range m.Names {
		column[name] = min(i, mostNames)
	}
	if len(m.Names) > mostNames {
		m.Names = append(m.Names[:mostNames:mostNames], fmt.Sprintf("%d others", len(byName)-mostNames))
	}
	m.Total = make([]int, len(m.Names)+1)
	for i := range m.Rows {
		m.Rows[i].Counts = make([]int, len(m.Names)+1) // the last one is the sum
	}
	for day, n := range counts {
		i := slices.IndexFunc(m.Rows, func(r matrixRow) bool { return strings.HasPrefix(day.Day, r.When) })
		for _, line := range [][]int{m.Rows[i].Counts, m.Total} {
			line[column[day.Event]] += n
			line[len(m.Names)] += n
		}
	}
	return m
}

func cut(text string, n int) string { return text[:min(len(text), n)] }

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

// aKey is a key that a program put into a path; older ones have no prefix.
var aKey = regexp.MustCompile(`(?i)ph[a-z]_\w*|\w{33,}`)

func withoutKeys(path string) string { return aKey.ReplaceAllString(path, "[key]") }

func size(f hogapitest.File) string { return number(len(f.Content)) + " bytes" }
