package coverage

import (
	"cmp"
	"slices"

	"github.com/hogapi/hogapi/internal/outgoing"
)

// Choosing says how the service chooses the rows of backfills and retries of a model.
type Choosing uint8

// Ways of choosing.
const (
	LikeTheSchedule Choosing = iota // no age line
	ByAge                           // by timestamp, past the age line
	ByTheServer                     // the one or the other, by the age of the server
)

// Model says how the exports of a model are covered, and how their gaps are repaired.
type Model struct {
	Choosing   Choosing
	AllRows    bool // each run exports all rows
	Acts       bool // the destination acts on each row, which cannot be undone
	NoDownload bool // no file download has the model

	name, covers, line, twice, repair string // the row of docs/exports.md
}

const coveredAlike = "the same"

var (
	events = Model{
		Choosing: ByAge, name: "events", covers: "any completed run in a table; the newest in an object store", line: "yes",
		twice: "after an old backfill, or one that overlaps the schedule", repair: "young: backfill. Old: see below",
	}
	persons = Model{
		name: "persons", covers: "the same; the newest state of each person", line: "no",
		twice: "the same person, newer: merge by team and distinct id", repair: "backfill; a later change removes the need",
	}
	sessions = Model{
		Choosing: ByTheServer, name: "sessions", covers: coveredAlike,
		line:  "by the age of the server, so a backfill is `completed by timestamp`",
		twice: "the same session: merge by session id", repair: "backfill; it replaces only rows of sessions that end later than the row says",
	}
	hogql = Model{
		NoDownload: true, name: "hogql with `{data_interval_start}` or `_end`", covers: coveredAlike, line: "no", twice: "depends on the query",
		repair: "backfill",
	}
	hogqlOfAll = Model{
		AllRows: true, NoDownload: true, name: "hogql without them", covers: "any later completed run", line: "no",
		twice: "every run appends all rows", repair: "the next run; never a backfill",
	}
	acting = Model{
		Acts: true, name: "any, to HTTP or Workflows", covers: coveredAlike, line: "as the model", twice: "every row acts again",
		repair: "never by this package",
	}
)

// ModelOf returns the model of an export. Old exports have no model and export events. Nothing is known of an age line of
// other models, so they are like persons. Workflows choose by timestamp in their schedule too.
func ModelOf(model, destination, query string) Model {
	m := persons
	switch cmp.Or(model, events.name) {
	case events.name:
		m = events
	case sessions.name:
		m = sessions
	case "hogql":
		m = hogql
		if !HasIntervalPlaceholders(query) {
			m = hogqlOfAll
		}
	}
	m.Acts = ActsOnRows(destination)
	if destination == "Workflows" {
		m.Choosing = LikeTheSchedule
	}
	return m
}

// WhyEmpty says why a backfill of a time ran nothing in parts of it, or in all of it, and how to get the rows.
func (m Model) WhyEmpty(whole Span, parts []Span) string {
	text, when := "no run began, since ", "this time"
	if len(parts) > 0 && !slices.Equal(parts, []Span{whole}) {
		when = "the time from " + parts[0].StartText() + " to " + outgoing.Time(parts[len(parts)-1].End)
	}
	if m.Choosing == ByAge {
		return text + "no row has a timestamp in " + when + ": only coverage.DownloadRange gets rows that arrived in it"
	}
	return text + "the service found no rows in " + when
}
