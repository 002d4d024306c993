package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// The harness counts later requests in its next test: no request may come after a reset, and the reset must not wait for anything.
func TestResetStopsAtOnce(t *testing.T) {
	for name, always := range map[string]hogapitest.Fault{
		"between tries":     hogapitest.Status(503),
		"in a long wait":    hogapitest.RateLimit("600"),
		"amidst a request":  hogapitest.Slow(1000 * time.Hour),
		"before any answer": hogapitest.Slow(0),
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				r.fake.Script(ops.Capture, hogapitest.Always(always))
				r.init(`"flush_interval_ms":50`)
				r.events(1)
				if name != "before any answer" {
					r.wait(time.Second)
					r.first()
				}
				before, start := len(r.got()), time.Now()
				r.call("POST /reset", "")
				if took := time.Since(start); took > 0 {
					r.Errorf("the reset took %v", took)
				}
				r.wait(time.Hour)
				r.wantRequests(before)
			})
		})
	}
}

// A second init ends the old session, as a reset does.
func TestInitEndsTheOldSession(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.fake.Script(ops.Capture, hogapitest.Always(hogapitest.Status(503)))
		r.init()
		r.events(1)
		r.wait(time.Second)
		r.init()
		before := len(r.got())
		r.wait(time.Hour)
		r.wantRequests(before)
	})
}

func TestHealthDeclaresCapabilities(t *testing.T) {
	inBubble(t, func(r *rig) {
		health := r.call("GET /health", "")
		if got := fmt.Sprint(health["capabilities"]); got != "[capture_v0 encoding_gzip]" {
			r.Errorf("capabilities %s", got)
		}
		for _, name := range []string{"sdk_name", "sdk_version", "adapter_version"} {
			if text, _ := health[name].(string); text == "" {
				r.Errorf("no %s", name)
			}
		}
	})
}

func TestStateTellsWhatHappened(t *testing.T) {
	inBubble(t, func(r *rig) {
		if got := r.call("GET /state", ""); got["total_events_captured"] != 0.0 || got["last_error"] != nil {
			r.Errorf("before init: %v", got)
		}
		r.answers(503, 200, 400)
		r.init(`"flush_at":1`)
		r.events(1)
		if got := r.flush()["events_flushed"]; got != 1.0 {
			r.Errorf("events_flushed %v", got)
		}
		r.events(1)
		r.flush()
		r.wait(time.Second)
		got := r.call("GET /state", "")
		for name, want := range map[string]float64{"pending_events": 0, "total_events_captured": 2, "total_events_sent": 1, "total_retries": 1} {
			if got[name] != want {
				r.Errorf("%s is %v, want %v", name, got[name], want)
			}
		}
		if made, _ := got["requests_made"].([]any); len(made) != 3 {
			r.Errorf("requests_made: %v", made)
		}
		if text, _ := got["last_error"].(string); !strings.Contains(text, "answer_400") {
			r.Errorf("last_error %q", text)
		}
	})
}

func TestRefusals(t *testing.T) {
	const key = `"api_key":"phc_test_key",`
	for name, call := range map[string][2]string{
		"real service":        {"POST /init", "{" + key + `"host":"https://us.i.posthog.com"}`},
		"other machine":       {"POST /init", "{" + key + `"host":"http://192.0.2.1:8191"}`},
		"no host":             {"POST /init", "{" + key + `"host":""}`},
		"not historical":      {"POST /init", "{" + key + `"host":"http://127.0.0.1:8191","historical_migration":false}`},
		"located by address":  {"POST /init", "{" + key + `"host":"http://127.0.0.1:8191","disable_geoip":false}`},
		"personal key":        {"POST /init", `{"api_key":"phx_key","host":"http://127.0.0.1:8191"}`},
		"no JSON":             {"POST /init", "{"},
		"capture before init": {"POST /capture", `{"distinct_id":"test_user","event":"test_event","properties":null,"timestamp":null}`},
		"flush before init":   {"POST /flush", ""},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(r *rig) {
				status, answer := r.try(call[0], call[1])
				if text, _ := answer["error"].(string); status != http.StatusBadRequest || text == "" {
					r.Errorf("status %d, %v", status, answer)
				}
			})
		})
	}
}

// The tests below cover behavior of an importer that the harness does not test.

func TestNoLimitOfTriesUnlessAsked(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.answers(503, 503, 503, 503, 503, 503, 503, 503, 503, 503)
		r.init()
		r.events(1)
		if flushed := r.flush(); flushed["success"] != true {
			r.Errorf("flush: %v", flushed)
		}
		r.wantTries(11)
	})
}

func TestPlainWhenCompressionIsOff(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(1, 0, `"enable_compression":false`)
		r.wantField("event", "test_event")
		if got := r.got()[0].Header.Get("Content-Encoding"); got != "" {
			r.Errorf("Content-Encoding %q", got)
		}
	})
}

// The program works over real connections.
func TestProgram(t *testing.T) {
	fake := hogapitest.New()
	defer fake.Close()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out, ended := line(make(chan string, 1)), make(chan error, 1)
	go func() { ended <- run(ctx, out, "0", newTestAdapter()) }()
	url, found := strings.CutPrefix(<-out, "listening on ")
	if !found || !strings.HasPrefix(url, "http://127.0.0.1:") {
		t.Fatalf("listens on %q", url)
	}
	post := func(path, body string) {
		t.Helper()
		resp, err := http.Post(url+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if text, _ := io.ReadAll(resp.Body); resp.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(`"success":true`)) {
			t.Errorf("%s: status %d, %s", path, resp.StatusCode, text)
		}
	}
	post("/init", `{"api_key":"phc_test_key","host":"`+fake.URL()+`","enable_compression":true}`)
	post("/capture", `{"distinct_id":"test_user","event":"test_event","properties":null,"timestamp":null}`)
	post("/flush", "")
	post("/reset", "")
	if got := fake.Ledger().Requests(); len(got) != 1 || got[0].Events != 1 || !got[0].Gzip {
		t.Errorf("the service got %v", got)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// line passes on the one line that a program writes.
type line chan string

func (l line) Write(p []byte) (int, error) {
	l <- strings.TrimSpace(string(p))
	return len(p), nil
}
