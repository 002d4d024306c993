package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// rig is a small harness: it calls the adapter, waits in virtual time, and inspects the requests at the service.
type rig struct {
	*testing.T

	service *service
	adapter http.Handler
}

// inBubble runs a test in virtual time. At its end no goroutine may be left.
func inBubble(t *testing.T, test func(*rig)) {
	synctest.Test(t, func(t *testing.T) {
		s := &service{}
		a := newTestAdapter()
		a.transport = s
		r := &rig{T: t, service: s, adapter: a.handler()}
		test(r)
		r.call("POST /reset", "")
		r.importersWord()
	})
}

// importersWord checks the fields that every request of an import must have and the harness does not test.
func (r *rig) importersWord() {
	r.Helper()
	for _, got := range r.service.got() {
		if got.path != "/batch/" || got.body["historical_migration"] != true {
			r.Errorf("a request to %s with historical_migration %v", got.path, got.body["historical_migration"])
		}
		if _, found := got.body["sent_at"]; found {
			r.Error("sent_at: the service would shift the events' times by it")
		}
	}
}

// try makes one call of the protocol, such as "POST /init".
func (r *rig) try(route, body string) (status int, answer map[string]any) {
	r.Helper()
	method, path, _ := strings.Cut(route, " ")
	w := httptest.NewRecorder()
	r.adapter.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
	if kind := w.Header().Get("Content-Type"); kind != "application/json" {
		r.Fatalf("%s: content type %q: the harness takes application/json only", route, kind)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		r.Fatalf("%s: %v", route, err)
	}
	return w.Code, answer
}

// call is try for a call that must succeed.
func (r *rig) call(route, body string) map[string]any {
	r.Helper()
	status, answer := r.try(route, body)
	if status != http.StatusOK {
		r.Fatalf("%s: status %d, %v", route, status, answer)
	}
	return answer
}

// init begins a session. Settings are additional members of the call's body.
func (r *rig) init(settings ...string) {
	r.Helper()
	members := append([]string{`"api_key":"phc_test_key"`, `"host":"http://127.0.0.1:8191"`}, settings...)
	r.call("POST /init", "{"+strings.Join(members, ",")+"}")
}

// event captures one event of test_user.
func (r *rig) event(name string) {
	r.Helper()
	r.capture(name, "null", "null")
}

func (r *rig) capture(name, properties, timestamp string) {
	r.Helper()
	r.call("POST /capture", `{"distinct_id":"test_user","event":"`+name+`","properties":`+properties+`,"timestamp":`+timestamp+`}`)
}

// events captures test_event_0, test_event_1 and so on.
func (r *rig) events(n int) {
	r.Helper()
	for i := range n {
		r.event("test_event_" + string(rune('0'+i)))
	}
}

func (r *rig) flush() map[string]any {
	r.Helper()
	return r.call("POST /flush", "")
}

// send is the commonest test: it queues answers, captures and flushes one event, and then waits.
func (r *rig) send(queue []reply, wait time.Duration, settings ...string) {
	r.Helper()
	r.service.queue = queue
	r.init(settings...)
	r.event("test_event")
	r.flush()
	r.wait(wait)
}

func (r *rig) wait(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (r *rig) wantRequests(n int) {
	r.Helper()
	if got := len(r.service.got()); got != n {
		r.Errorf("%d requests, want %d", got, n)
	}
}

func (r *rig) wantRequestsAtLeast(n int) {
	r.Helper()
	if got := len(r.service.got()); got < n {
		r.Fatalf("%d requests, want at least %d", got, n)
	}
}

// first returns the first event of the first request.
func (r *rig) first() map[string]any {
	r.Helper()
	got := r.service.got()
	if len(got) == 0 || len(got[0].events) == 0 {
		r.Fatal("no event has arrived")
	}
	return got[0].events[0]
}

func (r *rig) wantField(field string, want any) {
	r.Helper()
	if got := r.first()[field]; got != want {
		r.Errorf("%s is %#v, want %#v", field, got, want)
	}
}

func (r *rig) wantProperty(name string, want any) {
	r.Helper()
	properties, _ := r.first()["properties"].(map[string]any)
	if got := properties[name]; got != want {
		r.Errorf("property %s is %#v, want %#v", name, got, want)
	}
}

var uuidForm = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func (r *rig) wantSuccess() {
	r.Helper()
	for _, got := range r.service.got() {
		if got.status == http.StatusOK {
			return
		}
	}
	r.Error("no request has succeeded")
}

// each returns one field of all events of a request.
func (r *rig) each(got request, field string) (values []string) {
	r.Helper()
	for _, event := range got.events {
		text, _ := event[field].(string)
		if text == "" {
			r.Fatalf("an event without %s", field)
		}
		values = append(values, text)
	}
	if len(values) == 0 {
		r.Fatal("a request without events")
	}
	return values
}

// wantSame requires that a field of the events is the same in every request.
func (r *rig) wantSame(field string) {
	r.Helper()
	r.wantRequestsAtLeast(2)
	all := r.service.got()
	want := r.each(all[0], field)
	for _, again := range all[1:] {
		if got := r.each(again, field); !reflect.DeepEqual(got, want) {
			r.Errorf("%s of a repeated request: %v, want %v", field, got, want)
		}
	}
}

// wantUniqueUUIDs requires n events in all requests together, with no uuid twice.
func (r *rig) wantUniqueUUIDs(n int) {
	r.Helper()
	seen := map[string]bool{}
	for _, got := range r.service.got() {
		for _, id := range r.each(got, "uuid") {
			if seen[id] {
				r.Errorf("uuid %s came twice", id)
			}
			seen[id] = true
		}
	}
	if len(seen) != n {
		r.Errorf("%d uuids, want %d", len(seen), n)
	}
}

// wantUniqueInBatch requires n events in each request, with no uuid twice in one request.
func (r *rig) wantUniqueInBatch(n int) {
	r.Helper()
	r.wantRequestsAtLeast(1)
	for _, got := range r.service.got() {
		seen := map[string]bool{}
		for _, id := range r.each(got, "uuid") {
			seen[id] = true
		}
		if len(got.events) != n || len(seen) != n {
			r.Errorf("%d events with %d uuids in a batch, want %d", len(got.events), len(seen), n)
		}
	}
}

// wantDelay requires a wait between the first two requests.
func (r *rig) wantDelay(least, most time.Duration) {
	r.Helper()
	r.wantRequestsAtLeast(2)
	all := r.service.got()
	if wait := all[1].at.Sub(all[0].at); wait < least || wait > most {
		r.Errorf("the second request came after %v, want %v to %v", wait, least, most)
	}
}

// newTestAdapter returns the adapter without settings.
func newTestAdapter() *adapter {
	a, err := newAdapter("", "")
	if err != nil {
		panic(err)
	}
	return a
}
