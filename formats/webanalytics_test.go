package formats_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/history"
)

// sessionAt returns the id of a session that begins at a time.
func sessionAt(at time.Time, n byte) string {
	ms := at.UnixMilli()
	return uuid.UUID{byte(ms >> 40), byte(ms >> 32), byte(ms >> 24), byte(ms >> 16), byte(ms >> 8), byte(ms), 0x70, 0, 0x80, 15: n}.String()
}

// visit returns an event of a session, some seconds after its begin.
func visit(session string, begin time.Time, seconds float64, name string, properties map[string]any) hogapi.Event {
	p := map[string]any{"$session_id": session}
	maps.Copy(p, properties)
	at := begin.Add(time.Duration(seconds * float64(time.Second)))
	return hogapi.Event{Name: name, DistinctID: "ann", Timestamp: at, Properties: p}
}

func reported(t *testing.T, w *formats.WebAnalytics, events []hogapi.Event) formats.WebReport {
	t.Helper()
	for i := range events {
		w.Add(&events[i])
	}
	r, err := w.Report(t.Context())
	require.NoError(t, err)
	require.NoError(t, w.Close(), "it may be closed twice")
	return r
}

// Each rule of PostHog's sessions table, by one session.
func TestSessionsOfWebAnalytics(t *testing.T) {
	t.Parallel()
	begin := time.Date(2024, 5, 31, 23, 59, 50, 900_000_000, time.UTC)
	id := sessionAt(begin, 1)
	url := func(path string) map[string]any {
		return map[string]any{"$current_url": "https://shop.example" + path + "?a=/b#c"}
	}
	for name, c := range map[string]struct {
		events              []hogapi.Event
		sessions, bounces   int64
		seconds             int64
		entry, exit, origin string
	}{
		"one view":                      {[]hogapi.Event{visit(id, begin, 0, "$pageview", url("/a"))}, 1, 1, 0, "/a", "/a", "Unknown"},
		"one view, and 9 seconds":       {[]hogapi.Event{visit(id, begin, 0, "$pageview", url("/a")), visit(id, begin, 9.09, "x", nil)}, 1, 1, 9, "/a", "/a", "Unknown"},
		"10 seconds by whole seconds":   {[]hogapi.Event{visit(id, begin, 0, "$pageview", url("/a")), visit(id, begin, 9.1, "x", nil)}, 1, 0, 10, "/a", "/a", "Unknown"},
		"two views":                     {[]hogapi.Event{visit(id, begin, 0, "$pageview", url("/a")), visit(id, begin, 1, "$screen", url("/b"))}, 1, 0, 1, "/a", "/b", "Unknown"},
		"a click":                       {[]hogapi.Event{visit(id, begin, 0, "$pageview", url("/a")), visit(id, begin, 1, "$autocapture", nil)}, 1, 0, 1, "/a", "/a", "Unknown"},
		"no view":                       {[]hogapi.Event{visit(id, begin, 0, "$autocapture", url("/a"))}, 0, 0, 0, "", "", ""},
		"views before others":           {[]hogapi.Event{visit(id, begin, 0, "x", url("/x")), visit(id, begin, 1, "$pageview", url("/a")), visit(id, begin, 2, "x", url("/y"))}, 1, 1, 2, "/a", "/a", "Unknown"},
		"others if no view has a page":  {[]hogapi.Event{visit(id, begin, 0, "x", url("/x")), visit(id, begin, 1, "$screen", nil), visit(id, begin, 2, "x", url("/y"))}, 1, 1, 2, "/x", "/y", "Unknown"},
		"the channel of the first view": {[]hogapi.Event{visit(id, begin, 0, "x", map[string]any{"gclid": "1"}), visit(id, begin, 1, "$pageview", map[string]any{"$referring_domain": "t.co"}), visit(id, begin, 2, "$pageview", map[string]any{"utm_medium": "email"})}, 1, 0, 2, "", "", "Organic Social"},
		"a null is nothing":             {[]hogapi.Event{visit(id, begin, 0, "$pageview", map[string]any{"gclid": nil, "$referring_domain": nil, "$current_url": nil})}, 1, 1, 0, "", "", "Unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := reported(t, formats.NewWebAnalytics(nil), c.events)
			assert.Equal(t, int64(len(c.events)), r.InSession)
			assert.EqualValues(t, 1, r.Sessions)
			assert.Equal(t, []int64{c.sessions, c.bounces, c.seconds}, []int64{r.Total.Sessions, r.Total.Bounces, r.Total.Seconds})
			assert.Equal(t, c.sessions, r.Months[0].Sessions, "a session is of the month in which it begins")
			assert.Equal(t, counted(c.entry), r.Total.Entries)
			assert.Equal(t, counted(c.exit), r.Total.Exits)
			assert.Equal(t, counted(c.origin), r.Total.Channels)
		})
	}
}

func counted(name string) map[string]int64 {
	if name == "" {
		return nil
	}
	return map[string]int64{name: 1}
}

// Ids that break PostHog's rules are counted by the rule, at its limits.
func TestEventsOutsideASession(t *testing.T) {
	t.Parallel()
	begin := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	id := sessionAt(begin, 1)
	day := (24 * time.Hour).Seconds()
	events := []hogapi.Event{
		visit(id, begin, -0.001, "$pageview", nil), visit(id, begin, 0, "$pageview", nil), visit(id, begin, day-0.001, "$pageview", nil), visit(id, begin, day, "$pageview", nil),
		visit("0190a6a5-6f6c-4000-8000-000000000001", begin, 0, "$pageview", nil), visit("", begin, 0, "$pageview", nil), visit("session 1", begin, 0, "$pageview", nil),
		{Name: "$pageview", DistinctID: "ann", Timestamp: begin, RawProperties: json.RawMessage(`{"$session_id":17}`)},
		{Name: "$pageview", DistinctID: "ann", Timestamp: begin}, {Name: "no time", DistinctID: "ann"},
		visit(sessionAt(begin.AddDate(0, 1, 5), 2), begin, 0, "$pageview", nil),
	}
	r := reported(t, formats.NewWebAnalytics(nil), events)
	assert.Equal(t, []int64{10, 5, 2, 1}, []int64{r.Events, r.InSession, r.Sessions, r.Hidden})
	assert.Equal(t, []int64{4, 2, 1}, []int64{r.Outside[formats.OutsideNotV7].Count, r.Outside[formats.OutsideEarly].Count, r.Outside[formats.OutsideLate].Count})
	assert.Equal(t, "0190a6a5-6f6c-4000-8000-000000000001", r.Outside[formats.OutsideNotV7].Examples[0].Text)
	assert.EqualValues(t, 1, r.Total.Sessions, "the other one has a time in its id where nobody looks for it")
}

// The prediction does not depend on the order of events, nor on whether sessions were on disk.
func TestWebAnalyticsInAnyOrder(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	t.Setenv("TMP", folder) // on Windows
	random := rand.New(rand.NewPCG(1, 2))
	var events []hogapi.Event
	for n := range 300 {
		begin := time.Date(2024, 1, 1, 0, 0, n*9000, 0, time.UTC)
		for range 1 + random.IntN(6) {
			names := []string{"$pageview", "$screen", "$autocapture", "x"}
			ev := visit(sessionAt(begin, byte(n)), begin, float64(random.IntN(20)), names[random.IntN(len(names))], map[string]any{
				"$current_url": fmt.Sprint("https://x.example/", random.IntN(5)), "utm_source": []string{"google", "facebook", "sms"}[random.IntN(3)], "$geoip_country_code": []string{"DE", "FR"}[random.IntN(2)],
			})
			ev.DistinctID = fmt.Sprint(n % 50)
			events = append(events, ev)
		}
	}
	want := reported(t, formats.NewWebAnalytics(nil), events)
	assert.EqualValues(t, 300, want.Sessions)
	assert.InDelta(t, 49, want.Total.Visitors, 2)
	assert.Len(t, want.Months, 2)
	for range 5 {
		random.Shuffle(len(events), func(i, j int) { events[i], events[j] = events[j], events[i] })
		assert.Equal(t, want, reported(t, formats.NewWebAnalytics(nil), events))
		assert.Equal(t, want, reported(t, formats.NewWebAnalyticsOf(7), events), "with 7 sessions in memory")
	}
	left, err := os.ReadDir(folder)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestWebAnalyticsThatStops(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	for _, w := range []*formats.WebAnalytics{formats.NewWebAnalytics(nil), formats.NewWebAnalyticsOf(1)} {
		ctx, stop := context.WithCancelCause(t.Context())
		for n := range byte(3) {
			ev := visit(sessionAt(longAgo, n), longAgo, 0, "$pageview", nil)
			w.Add(&ev)
		}
		stop(stopped)
		_, err := w.Report(ctx)
		require.ErrorIs(t, err, stopped)
	}
}

func TestTypesOfProperties(t *testing.T) {
	t.Parallel()
	var events []hogapi.Event
	for n := range 10 {
		ev := hogapi.Event{Name: "x", DistinctID: "ann", Timestamp: longAgo, Properties: map[string]any{"revenue": float64(n), "plan": "a", "when": longAgo, "list": []string{"a"}, "none": nil, "yes": n < 5}}
		if n == 9 {
			ev.Properties["revenue"] = "9 EUR"
		}
		raw := hogapi.Event{Name: "x", DistinctID: "ann", Timestamp: longAgo, RawProperties: json.RawMessage(`{"revenue" : 1.5, "map": {"a":1}, "no":false,"list":[],"none":null}`)}
		events = append(events, ev, raw)
	}
	r := reported(t, formats.NewWebAnalytics(nil), events)
	assert.Equal(t, "95.0 % number, 5.0 % text", r.Types["revenue"].String())
	assert.Equal(t, map[string]formats.PropertyTypes{
		"revenue": {Numbers: 19, Texts: 1}, "plan": {Texts: 10}, "when": {Texts: 10}, "list": {Lists: 20}, "none": {Nulls: 20}, "yes": {Booleans: 10}, "map": {Objects: 10}, "no": {Booleans: 10},
	}, r.Types)
	for name, types := range r.Types {
		assert.Equal(t, name == "revenue", types.IsMixed(), name)
	}
	assert.False(t, r.TypesPartial)
	many := map[string]any{}
	for n := range 1001 {
		many[fmt.Sprint(n)] = n
	}
	r = reported(t, formats.NewWebAnalytics(nil), []hogapi.Event{{Name: "x", DistinctID: "ann", Timestamp: longAgo, Properties: many}})
	assert.Len(t, r.Types, 1000)
	assert.True(t, r.TypesPartial)
	const text = `{"plan":"a","list":[1,{"$session_id":null}]}`
	var cut []hogapi.Event
	for n := range text {
		cut = append(cut, hogapi.Event{Name: "x", DistinctID: "ann", Timestamp: longAgo, RawProperties: json.RawMessage(text[:n])})
	}
	r = reported(t, formats.NewWebAnalytics(nil), cut)
	assert.EqualValues(t, len(text), r.Events, "a damaged text does no harm")
}

// More than 5,000 events of one id in a minute are found, and events that are billed.
func TestBusyIDsAndYoungEvents(t *testing.T) {
	t.Parallel()
	var events []hogapi.Event
	add := func(id string, at time.Time, n int) {
		for range n {
			events = append(events, hogapi.Event{Name: "x", DistinctID: id, Timestamp: at})
		}
	}
	add("busy", longAgo.Add(30*time.Second), 5001)
	add("not quite", longAgo, 5000)
	add("often", longAgo, 3000)
	add("often", longAgo.Add(time.Minute), 3000)
	events = append(events, hogapi.Event{Name: "x", Timestamp: longAgo, RawProperties: json.RawMessage(`{"distinct_id":"busy"}`)})
	r := reported(t, formats.NewWebAnalytics(&formats.WebAnalyticsOptions{Now: longAgo.Add(48*time.Hour + time.Second)}), events)
	assert.Equal(t, []formats.BusyID{{DistinctID: "busy", Minute: longAgo, Events: 5002}}, r.Busy)
	assert.EqualValues(t, 5001+3000, r.Young)
}

// Only events that would be sent are counted, and each one once.
func TestCheckWithWebAnalytics(t *testing.T) {
	t.Parallel()
	line := func(id int, person, name string) string {
		return fmt.Sprintf(`{"uuid":"0190a6a5-6f6c-7000-8000-%012d","event":%q,"distinct_id":%q,"timestamp":%q,"properties":{"$session_id":%q}}`+"\n",
			id, name, person, longAgo.Format(time.RFC3339), sessionAt(longAgo, 1))
	}
	path := write(t, "events.jsonl", line(1, "ann", "$pageview")+line(2, "", "$pageview")+line(4, "", "$pageview")+line(1, "ann", "$pageview")+line(3, "bob", "$pageview"))
	check, web, err := formats.CheckWeb(t.Context(), history.JSONLines(path), &history.Options{ID: "x", MaxRejectShare: -1}, &formats.WebAnalyticsOptions{})
	require.NoError(t, err)
	assert.Equal(t, []int64{3, 2}, []int64{check.Good, check.Rejected})
	assert.Equal(t, []int64{2, 2, 2, 1}, []int64{web.Events, web.Total.Views, web.Total.Visitors, web.Total.Sessions})
	_, web, err = formats.CheckWeb(t.Context(), history.JSONLines(path), &history.Options{ID: "x", MaxRejects: -1}, nil)
	require.Error(t, err, "too many rejects")
	assert.Nil(t, web)
	_, web, err = formats.CheckWeb(t.Context(), history.JSONLines(path), &history.Options{ID: "x", MaxRejectShare: -1, MaxRejects: 1}, &formats.WebAnalyticsOptions{})
	var stop *hogapi.StopError
	require.ErrorAs(t, err, &stop)
	assert.EqualValues(t, 2, web.Events, "the whole file was read")
	_, web, err = formats.CheckWeb(t.Context(), history.JSONLines(path+"x"), &history.Options{ID: "x"}, &formats.WebAnalyticsOptions{})
	require.Error(t, err)
	assert.Nil(t, web)

	format, err := generic.Format(nil)
	require.NoError(t, err)
	table := write(t, "events.csv", "event,distinct_id,timestamp,$session_id\n$pageview,ann,"+longAgo.Format(time.RFC3339)+","+sessionAt(longAgo, 1)+"\n")
	r, err := formats.Check(t.Context(), format, &formats.CheckOptions{Web: &formats.WebAnalyticsOptions{}}, table)
	require.NoError(t, err)
	assert.EqualValues(t, 1, r.Web.Total.Sessions)
	text, err := json.Marshal(r)
	require.NoError(t, err)
	assert.Contains(t, string(text), `"web":{"events":1,"in_session":1,"sessions":1,"hidden_sessions":0,"months":[{"month":"2024-05","events":1,"in_session":1,"visitors":1,"views":1,"sessions":1,"bounces":1,"bounce_rate":1`)
}

// The limit is 1.3 times a check without it.
func BenchmarkCheckWithWebAnalytics(b *testing.B) {
	var lines strings.Builder
	const events = 20_000
	for i := range events {
		begin := longAgo.Add(time.Duration(i/5) * time.Minute)
		fmt.Fprintf(&lines, `{"event":"$pageview","distinct_id":"user-%d","timestamp":%q,"properties":{"$session_id":%q,"$current_url":"https://shop.example/p/%d?utm_source=google","utm_source":"google",`+
			`"$browser":"Chrome","$os":"Mac OS X","$device_type":"Desktop","$referring_domain":"www.google.com","plan":"professional","value":%d.5,"items":%d,"$lib":"web","$geoip_country_code":"DE"}}`+"\n",
			i%997, begin.Add(time.Duration(i%5)*time.Second).Format(time.RFC3339), sessionAt(begin, byte(i/5)), i%90, i%90, i%7)
	}
	path := write(b, "events.jsonl", lines.String())
	format, err := generic.Format(nil)
	require.NoError(b, err)
	for name, source := range map[string]history.Source{"lines": history.JSONLines(path), "records": history.Files(format, path)} {
		for what, web := range map[string]*formats.WebAnalyticsOptions{"without": nil, "with": {}} {
			b.Run(name+"/"+what, func(b *testing.B) {
				for b.Loop() {
					r, _, err := formats.CheckWeb(b.Context(), source, &history.Options{ID: "x"}, web)
					require.NoError(b, err)
					require.EqualValues(b, events, r.Good)
				}
			})
		}
	}
}
