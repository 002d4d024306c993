package vendortest

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/testevents"
)

// Mixpanel is the raw export API, GET /api/2.0/export, of one project.
type Mixpanel struct {
	server
	events []Event
	zone   *time.Location
}

// NewMixpanel returns a server that holds events. The zone is the one of a project made before 2023: days are days in
// that zone, and times are local times written as if they were UTC. Nil stands for a newer project, which uses UTC.
func NewMixpanel(events []Event, zone *time.Location) *Mixpanel {
	m := &Mixpanel{events: events, zone: zone}
	m.path, m.check, m.answer = "/api/2.0/export", m.ask, m.give
	return m
}

func (m *Mixpanel) ask(r *http.Request, asked *Request) (f *failure) {
	if f := m.authorize(r, asked); f != nil {
		return f
	}
	q := asked.Query
	from, f := day(q.Get("from_date"), "from_date")
	if f != nil {
		return f
	}
	to, f := day(q.Get("to_date"), "to_date")
	if f != nil {
		return f
	}
	switch {
	case to.Before(from):
		return refusal(http.StatusBadRequest, "to_date cannot be before from_date")
	case to.After(m.clock(time.Now())):
		return refusal(http.StatusBadRequest, "to_date cannot be later than today")
	case q.Has("where"), q.Has("limit"), q.Has("event"), q.Get("time_in_ms") != "true":
		return refusal(http.StatusBadRequest, "this server has no where, limit and event, and no times in seconds")
	}
	asked.From, asked.To, asked.Step = from, to, 24*time.Hour
	return nil
}

func (m *Mixpanel) authorize(r *http.Request, asked *Request) *failure {
	user, password, _ := r.BasicAuth()
	switch project := asked.Query.Get("project_id"); {
	case user != User || password != Secret:
		return refusal(http.StatusUnauthorized, "invalid credentials")
	case project == "":
		return refusal(http.StatusBadRequest, "project_id is a required parameter for service accounts")
	case project != Project:
		return refusal(http.StatusForbidden, "no access to this project")
	}
	return nil
}

func day(text, name string) (time.Time, *failure) {
	if text == "" {
		return time.Time{}, refusal(http.StatusBadRequest, "%s is a required parameter", name)
	}
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		return at, refusal(http.StatusBadRequest, "%s must have the form YYYY-MM-DD", name)
	}
	return at, nil
}

// clock returns a time in the form of the project: the real time, or the local time of its zone as if it was
// UTC.
func (m *Mixpanel) clock(at time.Time) time.Time {
	if m.zone == nil {
		return at.UTC()
	}
	at = at.In(m.zone)
	return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC)
}

// Day returns the day of an event in the export, such as 2024-03-01.
func (m *Mixpanel) Day(e Event) string { return m.clock(e.Time).Format(time.DateOnly) }

func (m *Mixpanel) give(w http.ResponseWriter, r *http.Request, asked *Request) ([]byte, *failure) {
	text := m.lines(asked)
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		return text, nil
	}
	w.Header().Set("Content-Encoding", "gzip")
	return []byte(testevents.Gzip(string(text))), nil
}

// lines returns the requested records, in another order each time.
func (m *Mixpanel) lines(asked *Request) []byte {
	var records [][]byte
	for _, e := range m.events {
		at := m.clock(e.Time)
		if !at.Before(asked.From) && at.Before(asked.To.Add(asked.Step)) {
			records = append(records, slices.Repeat([][]byte{m.record(e)}, e.Copies)...)
		}
	}
	rand.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	return bytes.Join(append(records, nil), []byte("\n"))
}

// record returns one line of the export, with the fields that are read.
func (m *Mixpanel) record(e Event) []byte {
	p := map[string]any{
		"time": m.clock(e.Time).UnixMilli(), "$insert_id": strings.ReplaceAll(e.ID, "-", "")[:16],
		"$mp_api_timestamp_ms": e.Received.UnixMilli(), "mp_processing_time_ms": e.Received.UnixMilli() + 1200, "plan": e.Plan,
	}
	switch {
	case e.User != "":
		p["distinct_id"], p["$user_id"], p["$device_id"] = e.User, e.User, e.Device
	case e.Device != "":
		p["distinct_id"], p["$device_id"] = "$device:"+e.Device, e.Device
	}
	name := e.Name
	if name == "page" {
		name = "$mp_web_page_view"
	}
	line, _ := json.Marshal(map[string]any{"event": name, "properties": p}) //nolint:errchkjson // it has texts and numbers only
	return line
}
