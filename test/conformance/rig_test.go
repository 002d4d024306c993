package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// rig is a small harness: it calls the adapter, waits in virtual time, and inspects the requests at the fake.
type rig struct {
	*testing.T

	fake    *hogapitest.Server
	adapter http.Handler
}

// inBubble runs a test in virtual time. At its end no goroutine may be left.
func inBubble(t *testing.T, test func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, fake: hogapitest.New()}
		a := newTestAdapter()
		a.transport = r.fake.Transport()
		r.adapter = a.handler()
		test(r)
		r.call("POST /reset", "")
		r.importersWord()
	})
}

// newTestAdapter returns the adapter without settings.
func newTestAdapter() *adapter {
	a, err := newAdapter("", "")
	if err != nil {
		panic(err)
	}
	return a
}

// answers queues the statuses of the next answers. The fake stores the events that it answers with 200.
func (r *rig) answers(codes ...int) {
	for _, code := range codes {
		fault := hogapitest.Status(code)
		if code == http.StatusOK {
			fault = hogapitest.Slow(0)
		}
		r.fake.Script(ops.Capture, fault)
	}
}

// request is a request that has arrived.
type request struct {
	hogapitest.Call

	body   map[string]any
	events []map[string]any
}

// got returns the requests. Like the harness's mock, it unzips a body only if the header says gzip.
func (r *rig) got() (list []request) {
	r.Helper()
	for _, call := range r.fake.Calls(ops.Capture) {
		raw := call.Body
		if call.Header.Get("Content-Encoding") == "gzip" {
			z, err := gzip.NewReader(bytes.NewReader(raw))
			require.NoError(r, err)
			raw, _ = io.ReadAll(z)
		}
		got := request{Call: call}
		var batch struct{ Batch []map[string]any }
		require.NoError(r, json.Unmarshal(raw, &got.body), "%s", raw)
		require.NoError(r, json.Unmarshal(raw, &batch), "%s", raw)
		got.events = batch.Batch
		list = append(list, got)
	}
	return list
}

// importersWord checks the fields that every request of an import must have and the harness does not test.
func (r *rig) importersWord() {
	r.Helper()
	for _, got := range r.got() {
		assert.Equal(r, "/batch/", got.Path)
		assert.Equal(r, true, got.body["historical_migration"])
		assert.NotContains(r, got.body, "sent_at", "the service would shift the events' times by it")
	}
}

// try makes one call of the protocol, such as "POST /init".
func (r *rig) try(route, body string) (status int, answer map[string]any) {
	r.Helper()
	method, path, _ := strings.Cut(route, " ")
	w := httptest.NewRecorder()
	r.adapter.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	require.Equal(r, "application/json", w.Header().Get("Content-Type"), "%s: the harness takes no other", route)
	require.NoError(r, json.Unmarshal(w.Body.Bytes(), &answer), route)
	return w.Code, answer
}

// call is try for a call that must succeed.
func (r *rig) call(route, body string) map[string]any {
	r.Helper()
	status, answer := r.try(route, body)
	require.Equal(r, http.StatusOK, status, "%s: %v", route, answer)
	return answer
}

// init begins a session. Settings are additional members of the call's body.
func (r *rig) init(settings ...string) {
	r.Helper()
	members := append([]string{`"api_key":"phc_test_key"`, `"host":"http://127.0.0.1:8191"`}, settings...)
	r.call("POST /init", "{"+strings.Join(members, ",")+"}")
}

func (r *rig) capture(name, properties, timestamp string) {
	r.Helper()
	r.call("POST /capture", `{"distinct_id":"test_user","event":"`+name+`","properties":`+properties+`,"timestamp":`+timestamp+`}`)
}

// events captures n events of test_user.
func (r *rig) events(n int) {
	r.Helper()
	for range n {
		r.capture("test_event", "null", "null")
	}
}

func (r *rig) flush() map[string]any {
	r.Helper()
	return r.call("POST /flush", "")
}

// send is the commonest test: it captures and flushes some events, and then waits.
func (r *rig) send(events int, wait time.Duration, settings ...string) {
	r.Helper()
	r.init(settings...)
	r.events(events)
	r.flush()
	r.wait(wait)
}

func (r *rig) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (r *rig) wantRequests(n int) {
	r.Helper()
	require.Len(r, r.got(), n)
}

// first returns the first event of the first request.
func (r *rig) first() map[string]any {
	r.Helper()
	got := r.got()
	require.NotEmpty(r, got, "no event has arrived")
	require.NotEmpty(r, got[0].events, "no event has arrived")
	return got[0].events[0]
}

func (r *rig) wantField(field string, want any) {
	r.Helper()
	assert.Equal(r, want, r.first()[field], field)
}

func (r *rig) property(name string) any {
	r.Helper()
	properties, _ := r.first()["properties"].(map[string]any)
	return properties[name]
}

func (r *rig) wantProperty(name string, want any) {
	r.Helper()
	assert.Equal(r, want, r.property(name), "property %s", name)
}

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// wantTries requires n requests, of which only the last one succeeds, with the same uuids and times in each.
func (r *rig) wantTries(n int) {
	r.Helper()
	r.wantRequests(n)
	all := r.got()
	for i, got := range all {
		assert.Equal(r, i == n-1, got.Status == http.StatusOK, "request %d was answered %d", i+1, got.Status)
		for _, field := range []string{"uuid", "timestamp"} {
			assert.Equal(r, r.each(all[0], field), r.each(got, field), "%s of a repeated request", field)
		}
	}
}

// each returns one field of all events of a request.
func (r *rig) each(got request, field string) (values []string) {
	r.Helper()
	for _, event := range got.events {
		text, _ := event[field].(string)
		require.NotEmpty(r, text, "an event without %s", field)
		values = append(values, text)
	}
	require.NotEmpty(r, values, "a request without events")
	return values
}

// wantUniqueUUIDs requires a first request of n events, with no uuid twice.
func (r *rig) wantUniqueUUIDs(n int) {
	r.Helper()
	got := r.got()
	require.NotEmpty(r, got, "no request")
	ids := slices.Sorted(slices.Values(r.each(got[0], "uuid")))
	assert.Len(r, ids, n)
	assert.Len(r, slices.Compact(ids), n)
}

// wantDelay requires a wait between the first two requests.
func (r *rig) wantDelay(least, most time.Duration) {
	r.Helper()
	all := r.got()
	wait := all[1].At.Sub(all[0].At)
	assert.True(r, least <= wait && wait <= most, "the second request came after %v, want %v to %v", wait, least, most)
}
