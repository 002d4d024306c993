package main

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
				assert.Zero(r, time.Since(start), "the reset took time")
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
		assert.Equal(r, []any{"capture_v0", "encoding_gzip"}, health["capabilities"])
		for _, name := range []string{"sdk_name", "sdk_version", "adapter_version"} {
			text, _ := health[name].(string)
			assert.NotEmpty(r, text, name)
		}
	})
}

func TestStateTellsWhatHappened(t *testing.T) {
	inBubble(t, func(r *rig) {
		before := r.call("GET /state", "")
		assert.Equal(r, 0.0, before["total_events_captured"])
		assert.Nil(r, before["last_error"])
		r.answers(503, 200, 400)
		r.init(`"flush_at":1`)
		r.events(1)
		assert.EqualValues(r, 1, r.flush()["events_flushed"])
		r.events(1)
		r.flush()
		r.wait(time.Second)
		got := r.call("GET /state", "")
		for name, want := range map[string]float64{"pending_events": 0, "total_events_captured": 2, "total_events_sent": 1, "total_retries": 1} {
			assert.Equal(r, want, got[name], name)
		}
		assert.Len(r, got["requests_made"], 3)
		assert.Contains(r, got["last_error"], "answer_400")
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
				assert.Equal(r, http.StatusBadRequest, status)
				assert.NotEmpty(r, answer["error"])
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
		flushed := r.flush()
		assert.Equal(r, true, flushed["success"], flushed)
		r.wantTries(11)
	})
}

func TestPlainWhenCompressionIsOff(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.send(1, 0, `"enable_compression":false`)
		r.wantField("event", "test_event")
		assert.Empty(r, r.got()[0].Header.Get("Content-Encoding"))
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
	require.True(t, found)
	require.Regexp(t, `^http://127\.0\.0\.1:`, url)
	post := func(path, body string) {
		t.Helper()
		resp, err := http.Post(url+path, "application/json", strings.NewReader(body))
		require.NoError(t, err)
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body)
		assert.Equal(t, http.StatusOK, resp.StatusCode, path)
		assert.Contains(t, string(text), `"success":true`, path)
	}
	post("/init", `{"api_key":"phc_test_key","host":"`+fake.URL()+`","enable_compression":true}`)
	post("/capture", `{"distinct_id":"test_user","event":"test_event","properties":null,"timestamp":null}`)
	post("/flush", "")
	post("/reset", "")
	got := fake.Ledger().Requests()
	require.Len(t, got, 1)
	assert.Equal(t, 1, got[0].Events)
	assert.True(t, got[0].Gzip)
	stop()
	assert.NoError(t, <-ended)
}

// line passes on the one line that a program writes.
type line chan string

func (l line) Write(p []byte) (int, error) {
	l <- strings.TrimSpace(string(p))
	return len(p), nil
}
