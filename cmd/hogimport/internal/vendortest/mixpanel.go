package vendortest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MixpanelLimits are the limits of Mixpanel's raw export API.
var MixpanelLimits = Limits{PerHour: 60, PerSecond: 3, Concurrent: 100}

// MixpanelOptions describe a project of Mixpanel.
type MixpanelOptions struct {
	Secret string // the project's secret: the user of basic auth, with an empty password

	ServiceUser   string // or a service account, which has to name the project
	ServiceSecret string
	ProjectID     string

	Events []Event
	Zone   *time.Location // of the project; nil is UTC
	// Old: made before 2023. Days are days of Zone, and time is the local clock, written as if it
	// was UTC.
	Old bool

	Limits Limits
	Now    func() time.Time // the server's clock; nil is time.Now. The limits use the real clock.
}

// Mixpanel is the raw export API, GET /api/2.0/export, of one project.
type Mixpanel struct {
	server
	o MixpanelOptions
}

// NewMixpanel returns a server that holds the events of options.
func NewMixpanel(options MixpanelOptions) *Mixpanel {
	m := &Mixpanel{o: options}
	if m.o.Zone == nil {
		m.o.Zone = time.UTC
	}
	if m.o.Now == nil {
		m.o.Now = time.Now
	}
	m.server.path = "/api/2.0/export"
	m.server.pace.limits = options.Limits.or(MixpanelLimits)
	m.server.fail, m.server.check, m.server.answer = m.fail, m.check, m.answer
	return m
}

// fail answers as Mixpanel does: with the request's path and a text.
func (m *Mixpanel) fail(w http.ResponseWriter, r *http.Request, f failure) {
	w.Header().Set("Content-Type", "application/json")
	if f.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Basic realm="Mixpanel"`)
	}
	w.WriteHeader(f.status)
	_, _ = fmt.Fprintf(w, `{"request":%q,"error":%q}`, r.URL.Path, f.text)
}

func (m *Mixpanel) check(r *http.Request, asked *Request) (f *failure) {
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
	switch today := m.clock(m.o.Now()).Truncate(24 * time.Hour); {
	case to.Before(from):
		return refusal(http.StatusBadRequest, "to_date cannot be before from_date")
	case to.After(today):
		return refusal(http.StatusBadRequest, "to_date cannot be later than today")
	case q.Has("where"), q.Has("limit"), q.Has("event"):
		return refusal(http.StatusBadRequest, "this server has no where, limit and event")
	}
	if ms := q.Get("time_in_ms"); ms != "" && ms != "true" && ms != "false" {
		return refusal(http.StatusBadRequest, "time_in_ms must be true or false")
	}
	asked.From, asked.To, asked.Step = from, to, 24*time.Hour
	return nil
}

func (m *Mixpanel) authorize(r *http.Request, asked *Request) *failure {
	user, password, ok := r.BasicAuth()
	project := asked.Query.Get("project_id")
	switch {
	case !ok || user == "":
		return refusal(http.StatusUnauthorized, "no credentials")
	case m.o.Secret != "" && user == m.o.Secret && password == "":
	case m.o.ServiceUser != "" && user == m.o.ServiceUser && password == m.o.ServiceSecret:
		if project == "" {
			return refusal(http.StatusBadRequest, "project_id is a required parameter for service accounts")
		}
	default:
		return refusal(http.StatusUnauthorized, "invalid credentials")
	}
	if project != "" && project != m.o.ProjectID {
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

// clock is a time as the project writes it: the real one, or that of its zone as if it was UTC.
func (m *Mixpanel) clock(at time.Time) time.Time {
	if !m.o.Old {
		return at.UTC()
	}
	at = at.In(m.o.Zone)
	return time.Date(at.Year(), at.Month(), at.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), time.UTC)
}

// Day is the day of an event as the export has it, such as 2024-03-01.
func (m *Mixpanel) Day(e Event) string { return m.clock(e.Time).Format(time.DateOnly) }

func (m *Mixpanel) answer(w http.ResponseWriter, _ *http.Request, asked *Request, fault Fault) ([]byte, *failure) {
	text := m.lines(asked)
	switch fault.Cut {
	case CutLine:
		text = halfLine(text, fault.place(len(text)))
	case CutTerminated:
		text = append(wholeLines(text, fault.place(len(text))), "terminated early\n"...)
	case CutBody, CutConnection, CutEmpty: // when it is written
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Vary", "Accept-Encoding")
	if !asked.Gzip {
		return text, nil
	}
	w.Header().Set("Content-Encoding", "gzip")
	var packed bytes.Buffer
	writeGzip(&packed, text)
	return packed.Bytes(), nil
}

// lines are the records that were asked for, in another order each time.
func (m *Mixpanel) lines(asked *Request) []byte {
	now, end := m.o.Now(), asked.To.Add(asked.Step)
	var records [][]byte
	for i, e := range m.o.Events {
		at := m.clock(e.Time)
		if at.Before(asked.From) || !at.Before(end) || e.Received.After(now) {
			continue
		}
		record := m.record(i, e, asked.Query.Get("time_in_ms") == "true")
		for range max(e.Copies, 1) {
			records = append(records, record)
		}
	}
	rand.Shuffle(len(records), func(i, j int) { records[i], records[j] = records[j], records[i] })
	asked.Rows = len(records)
	return bytes.Join(append(records, nil), []byte("\n"))
}

// wholeLines are the lines that end before the place.
func wholeLines(text []byte, place int) []byte {
	return slices.Clone(text[:bytes.LastIndexByte(text[:place], '\n')+1])
}

// halfLine is the text up to the middle of the line that holds the place.
func halfLine(text []byte, place int) []byte {
	if place >= len(text) {
		place = max(len(text)-1, 0)
	}
	begin := bytes.LastIndexByte(text[:place], '\n') + 1
	length := bytes.IndexByte(text[begin:], '\n')
	return text[:begin+max(length, 0)/2]
}

func mixpanelName(e Event) string {
	if e.Name == "page" {
		return "$mp_web_page_view"
	}
	return e.Name
}

// record is one line of the export, like a real one: a time with a fraction, a version that is a
// number or a text, ids in several forms.
func (m *Mixpanel) record(index int, e Event, milliseconds bool) []byte {
	at := m.clock(e.Time)
	var stamp any = at.Unix()
	switch {
	case milliseconds:
		stamp = at.UnixMilli()
	case index%50 == 7:
		stamp = json.Number(strconv.FormatInt(at.Unix(), 10) + at.Format(".000"))
	}
	p := map[string]any{
		"time": stamp, "$insert_id": strings.ReplaceAll(e.ID, "-", "")[:16],
		"$mp_api_timestamp_ms": e.Received.UnixMilli(), "mp_processing_time_ms": e.Received.UnixMilli() + 1200,
		"$browser": "Chrome", "$os": "Mac OS X", "$city": "Lyon", "mp_country_code": "FR", "mp_lib": "web", "plan": e.Plan,
	}
	if p["$browser_version"] = any(122); index%3 == 0 {
		p["$browser_version"] = "91.0.4472.101"
	}
	switch {
	case e.User != "":
		p["distinct_id"], p["$user_id"], p["$device_id"] = e.User, e.User, e.Device
	case e.Device != "":
		p["distinct_id"], p["$device_id"] = "$device:"+e.Device, e.Device
	}
	line, err := json.Marshal(map[string]any{"event": mixpanelName(e), "properties": p})
	if err != nil {
		panic(err) // made of texts and numbers
	}
	return line
}
