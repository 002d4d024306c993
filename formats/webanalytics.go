package formats

import (
	"context"
	"encoding/binary"
	"errors"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/estimate"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// WebAnalytics predicts the numbers of PostHog's web analytics for events before they are sent: visitors, views,
// sessions, bounce rate, duration, channels and countries by month, to compare them with the vendor's own charts.
//
// Web analytics counts only events with a $session_id that is a UUID of version 7. WebAnalytics folds them into sessions
// by the rules of PostHog's sessions table: the entry page, the channel and the exit page are of the first and last
// $pageview or $screen, and of other events only if there is neither; a session is a bounce if it has one such event, no
// $autocapture, and lasts less than 10 seconds. Months are in UTC, while PostHog's are in the zone of the project.
// A project's own rules for channels, bounces and events of web analytics are not known here.
//
// Visitors are counted by distinct id, within about 2 %: where several ids become one person, PostHog shows fewer.
//
// Events may come in any order, each one once. The memory is at most 32 MiB: more sessions are sorted on disk, in the
// folder for temporary files. It is not safe for concurrent use. Call Close, or Report, which closes it.
type WebAnalytics struct {
	now        time.Time
	report     WebReport
	months     map[int]*webMonth // by year and month
	total      webMonth
	other      *webMonth // of all months that are too many
	properties keyTable[webProperty]
	busy       busyIDs
	fold       webFold
	failed     error
}

// WebAnalyticsOptions are the options of [NewWebAnalytics].
type WebAnalyticsOptions struct {
	// Now is the time of the import. Events that are less than 48 hours older are billed. The default is the clock's.
	Now time.Time
}

// WebReport is the prediction of a [WebAnalytics].
type WebReport struct {
	Events    int64 `json:"events"`
	InSession int64 `json:"in_session"` // events that are in a session
	Sessions  int64 `json:"sessions"`   // that will exist; web analytics counts only sessions with a view
	// Hidden is how many sessions no date range finds, since the time in their id is more than 3 days from their month.
	Hidden int64      `json:"hidden_sessions"`
	Months []WebMonth `json:"months"` // the oldest first
	Total  WebMonth   `json:"total"`  // of all months

	// Outside has the events that break PostHog's rules for a $session_id, by OutsideNotV7 and so on. Only events of
	// OutsideNotV7 are in no session for sure. The examples show the id.
	Outside map[string]history.CheckFinding `json:"outside,omitempty"`

	Types        map[string]PropertyTypes `json:"types,omitempty"`         // of the values of properties, by name: of the first 1,000 names
	TypesPartial bool                     `json:"types_partial,omitempty"` // there are more names
	// Busy has distinct ids with more than 5,000 events in a minute, for which PostHog stops to process persons. The
	// counts are upper bounds, nearly exact for fewer than about 10,000,000 events. At most 100 ids are kept.
	Busy  []BusyID `json:"busy,omitempty"`
	Young int64    `json:"young"` // events less than 48 hours old, which are billed as live ones
}

// The reasons of WebReport.Outside.
const (
	OutsideNotV7 = "not_v7" // the id is not a UUID of version 7: the event is in no session
	OutsideEarly = "early"  // the event is before the time in the id
	OutsideLate  = "late"   // the event is 24 hours or more after the time in the id
)

// WebMonth has the numbers of web analytics for a month.
type WebMonth struct {
	Month     string `json:"month"` // 2006-01 in UTC; "other" if there are more than 240 months; empty for the total
	Events    int64  `json:"events"`
	InSession int64  `json:"in_session"` // events that are in a session
	Visitors  int64  `json:"visitors"`   // an estimate of the distinct ids that have a view
	Views     int64  `json:"views"`      // $pageview and $screen in a session

	// Of sessions that begin in the month and have a view:
	Sessions       int64   `json:"sessions"`
	Bounces        int64   `json:"bounces"`
	BounceRate     float64 `json:"bounce_rate"` // from 0 to 1
	Seconds        int64   `json:"seconds"`     // of all sessions together
	AverageSeconds float64 `json:"average_seconds"`

	Channels  map[string]int64 `json:"channels,omitempty"`    // sessions by channel, such as "Organic Search"
	Countries map[string]int64 `json:"countries,omitempty"`   // sessions by $geoip_country_code
	Entries   map[string]int64 `json:"entry_pages,omitempty"` // sessions by the path of the first page; of many, some 500 and "(others)"
	Exits     map[string]int64 `json:"exit_pages,omitempty"`  // sessions by the path of the last page
}

// BusyID is a distinct id in its busiest minute.
type BusyID struct {
	DistinctID string    `json:"distinct_id"`
	Minute     time.Time `json:"minute"`
	Events     int64     `json:"events"` // at most 65,535
}

// webMonth is a month that is being counted.
type webMonth struct {
	WebMonth

	visitors *estimate.Distinct
}

const (
	maxMonths     = 240 // 16 KiB each
	maxOutside    = 5   // examples
	billedYounger = 48 * time.Hour
	sessionLength = 24 * time.Hour // the longest that PostHog's rule allows
)

// NewWebAnalytics returns a WebAnalytics without events.
func NewWebAnalytics(options *WebAnalyticsOptions) *WebAnalytics {
	w := &WebAnalytics{now: time.Now(), months: map[int]*webMonth{}}
	if options != nil && !options.Now.IsZero() {
		w.now = options.Now
	}
	w.total.visitors = new(estimate.Distinct)
	w.properties.max, w.report.Outside = maxProperties, map[string]history.CheckFinding{}
	return w
}

// Add counts an event. An event without a time is left out, since PostHog would not take it from an import.
func (w *WebAnalytics) Add(ev *hogapi.Event) { w.add(ev, nil) }

// add is Add, with the view of the properties if they were noted.
func (w *WebAnalytics) add(ev *hogapi.Event, view *jsonb.View) {
	if ev.Timestamp.IsZero() || w.failed != nil {
		return
	}
	var p webProperties
	w.propertiesOf(ev, view, &p)
	person := ev.DistinctID
	if person == "" {
		person = p[fieldPerson].value()
	}
	mark := webMark(person)
	w.busy.add(person, mark, ev.Timestamp)
	w.report.Events++
	if ev.Timestamp.After(w.now.Add(-billedYounger)) {
		w.report.Young++
	}
	month := w.month(ev.Timestamp)
	month.Events++
	w.total.Events++
	session := &p[fieldSession]
	if !session.isSet {
		return
	}
	id, ok := session.sessionID()
	if !ok {
		w.outside(OutsideNotV7, ev, session.value())
		return
	}
	switch at, begin := ev.Timestamp.UnixMicro(), timeOfID(id); {
	case at < begin:
		w.outside(OutsideEarly, ev, session.value())
	case at >= begin+sessionLength.Microseconds():
		w.outside(OutsideLate, ev, session.value())
	}
	w.report.InSession++
	month.InSession++
	w.total.InSession++
	if isView(ev.Name) {
		for _, m := range []*webMonth{month, &w.total} {
			m.Views++
			m.visitors.Add(mark)
		}
	}
	w.failed = w.fold.add(id, ev, &p)
}

func isView(event string) bool { return event == "$pageview" || event == "$screen" }

func (w *WebAnalytics) outside(reason string, ev *hogapi.Event, id string) {
	f := w.report.Outside[reason]
	if f.Count++; len(f.Examples) < maxOutside {
		f.Examples = append(f.Examples, event.Example{Position: ev.Position, Text: id})
	}
	w.report.Outside[reason] = f
}

// month returns the month of a time.
func (w *WebAnalytics) month(at time.Time) *webMonth {
	const ofYear = 12
	year, number, _ := at.UTC().Date()
	key := year*ofYear + int(number)
	if m := w.months[key]; m != nil {
		return m
	}
	if len(w.months) >= maxMonths {
		if w.other == nil {
			w.other = &webMonth{WebMonth{Month: "other"}, new(estimate.Distinct)}
		}
		return w.other
	}
	m := &webMonth{WebMonth{Month: at.UTC().Format("2006-01")}, new(estimate.Distinct)}
	w.months[key] = m
	return m
}

// Report returns the prediction, and closes w. When ctx ends, it stops with the context's cause.
func (w *WebAnalytics) Report(ctx context.Context) (WebReport, error) {
	if w.failed == nil {
		w.failed = w.fold.each(ctx, w.addSession)
	}
	if err := w.Close(); err != nil || w.failed != nil {
		return WebReport{}, errors.Join(w.failed, err)
	}
	r := w.report
	r.Types, r.TypesPartial = map[string]PropertyTypes{}, w.properties.isPartial
	for name, property := range w.properties.known {
		r.Types[name] = property.of.types
	}
	for _, m := range w.sortedMonths() {
		r.Months = append(r.Months, m.finished())
	}
	r.Total, r.Busy = w.total.finished(), w.busy.list()
	return r, nil
}

// Close removes the files on disk. It may be called more than once.
func (w *WebAnalytics) Close() error { return w.fold.close() }

// sortedMonths returns the months in their order, and the other months last.
func (w *WebAnalytics) sortedMonths() (list []*webMonth) {
	for _, key := range slices.Sorted(maps.Keys(w.months)) {
		list = append(list, w.months[key])
	}
	if w.other != nil {
		list = append(list, w.other)
	}
	return list
}

// addSession counts a whole session.
func (w *WebAnalytics) addSession(s *webSession) {
	w.report.Sessions++
	start := time.UnixMicro(s.First).UTC()
	if isHidden(s.ID, start) {
		w.report.Hidden++
		return
	}
	if s.Pageviews+s.Screens == 0 {
		return
	}
	const longEnough = 10 // seconds
	seconds := time.UnixMicro(s.Last).Unix() - time.UnixMicro(s.First).Unix()
	isBounce := s.Pageviews+s.Screens+s.Autocaptures == 1 && seconds < longEnough
	for _, m := range []*webMonth{w.month(start), &w.total} {
		m.Sessions++
		m.Seconds += seconds
		if isBounce {
			m.Bounces++
		}
		const few, many = 50, 500
		m.Channels = counting(m.Channels, s.Channel, few)
		if s.CountryAt != math.MaxInt64 {
			m.Countries = counting(m.Countries, s.Country, many)
		}
		if s.EntryAt != math.MaxInt64 {
			m.Entries = counting(m.Entries, s.Entry, many)
		}
		if s.ExitAt != math.MinInt64 {
			m.Exits = counting(m.Exits, s.Exit, many)
		}
	}
}

// counting counts a name. If there are many others already, it counts them together.
func counting(counts map[string]int64, name string, most int) map[string]int64 {
	if counts == nil {
		counts = map[string]int64{}
	}
	if _, known := counts[name]; !known && len(counts) >= most {
		name = "(others)"
	}
	counts[name]++
	return counts
}

// isHidden reports whether a query for the month in which a session starts does not find it: PostHog looks for ids with
// a time in the range of the query, and 3 days before and after.
func isHidden(id uuid.UUID, start time.Time) bool {
	const slack = 3
	year, month, _ := start.Date()
	from := time.Date(year, month, 1-slack, 0, 0, 0, 0, time.UTC).UnixMicro()
	to := time.Date(year, month+1, 1+slack, 0, 0, 0, 0, time.UTC).UnixMicro()
	at := timeOfID(id)
	return at < from || at > to
}

func (m *webMonth) finished() WebMonth {
	m.Visitors = m.visitors.Count()
	if m.Sessions > 0 {
		m.BounceRate = float64(m.Bounces) / float64(m.Sessions)
		m.AverageSeconds = float64(m.Seconds) / float64(m.Sessions)
	}
	return m.WebMonth
}

// sessionID returns a session id as PostHog reads it, and whether it is a UUID of version 7.
func (t *webText) sessionID() (id uuid.UUID, ok bool) {
	const quoted, version = 38, 7
	var err error
	if len(t.raw) == quoted {
		id, err = uuid.ParseBytes(t.raw[1 : quoted-1])
	} else {
		id, err = uuidOf(t.value())
	}
	return id, err == nil && id.Version() == version
}

// uuidOf is uuid.Parse for the two forms that ClickHouse reads.
func uuidOf(text string) (uuid.UUID, error) {
	const long, short = 36, 32
	if len(text) != long && len(text) != short {
		return uuid.Nil, errNoUUID
	}
	return uuid.Parse(text)
}

var errNoUUID = errors.New("no UUID")

// timeOfID returns the time in a session's id, in microseconds since 1970.
func timeOfID(id uuid.UUID) int64 {
	const micros, bits = 1000, 16 // that follow the milliseconds
	return int64(binary.BigEndian.Uint64(id[:8])>>bits) * micros
}
