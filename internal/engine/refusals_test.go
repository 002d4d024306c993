package engine

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/httptry"
)

// An answer that is not a success halves the request, waits, or stops with its reason.
func TestJudgeRefusals(t *testing.T) {
	t.Parallel()
	page := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
	short, long := strings.Repeat("x", maxRefusal), strings.Repeat("x", maxRefusal+1)
	for _, tt := range []struct {
		how      Endpoint
		status   int
		header   http.Header
		body     string
		verdict  delivery.Verdict
		reason   event.StopReason
		tooLarge bool
		says     string
	}{
		{how: batch{}, status: 301, verdict: delivery.Stop, reason: event.StopRedirect},
		{how: batch{}, status: 399, verdict: delivery.Stop, reason: event.StopRedirect},
		{how: batch{}, status: 400, body: "bad event", verdict: delivery.Split, says: "answered 400: bad event"},
		{how: batch{}, status: 400, body: short, verdict: delivery.Split},
		{how: batch{}, status: 400, body: long, verdict: delivery.Stop, reason: event.StopNotService},
		{how: batch{}, status: 400, header: page, body: "<html>", verdict: delivery.Stop, reason: event.StopNotService, says: "with a page of HTML"},
		{how: batch{}, status: 400, header: page, body: "Bad Request", verdict: delivery.Stop, reason: event.StopNotService},
		{how: batch{}, status: 400, header: http.Header{"Content-Type": {"text/plain"}}, body: "\r\n <html>", verdict: delivery.Stop, reason: event.StopNotService},
		{how: batch{}, status: 413, body: "<!DOCTYPE html>", verdict: delivery.Split, tooLarge: true},
		{how: batch{}, status: 413, body: long, verdict: delivery.Split, tooLarge: true},
		{how: batch{}, status: 400, verdict: delivery.Split},
		{how: batch{}, status: 413, body: "too large", verdict: delivery.Split, tooLarge: true},
		{how: batch{}, status: 413, body: "<html>", verdict: delivery.Split, tooLarge: true, says: "with a page of HTML"},
		{how: v1{}, status: 400, body: `{"error":"invalid_header_value"}`, verdict: delivery.Stop, reason: event.StopRefused},
		{how: v1{}, status: 400, body: `{"error":"invalid_event"}`, verdict: delivery.Split},
		{how: v1{}, status: 413, body: `{"error":"payload_too_large"}`, verdict: delivery.Split, tooLarge: true},
		{how: batch{}, status: 401, verdict: delivery.Stop, reason: event.StopUnauthorized, says: "answered 401 without a text"},
		{how: batch{}, status: 402, verdict: delivery.Stop, reason: event.StopQuota},
		{how: batch{}, status: 403, verdict: delivery.Stop, reason: event.StopForbidden},
		{how: batch{}, status: 404, verdict: delivery.Stop, reason: event.StopNotFound},
		{how: v1{}, status: 404, verdict: delivery.Stop, reason: event.StopNotFound, says: "there is no capture v1 at this URL"},
		{how: batch{}, status: 405, verdict: delivery.Stop, reason: event.StopRefused},
		{how: batch{}, status: 408, verdict: delivery.Wait},
		{how: batch{}, status: 429, verdict: delivery.Wait},
		{how: v1{}, status: 429, body: `{"error":"billing_limit_exceeded"}`, verdict: delivery.Stop, reason: event.StopQuota},
		{how: v1{}, status: 401, verdict: delivery.Stop, reason: event.StopUnauthorized},
		{how: v1{}, status: 402, verdict: delivery.Stop, reason: event.StopQuota},
		{how: v1{}, status: 403, verdict: delivery.Stop, reason: event.StopForbidden},
		{how: v1{}, status: 413, header: page, body: "<html>", verdict: delivery.Split, tooLarge: true},
		{how: v1{}, status: 415, verdict: delivery.Stop, reason: event.StopRefused},
		{how: v1{}, status: 418, verdict: delivery.Stop, reason: event.StopRefused},
		{how: v1{}, status: 400, body: `{"error":"invalid_batch"}`, verdict: delivery.Stop, reason: event.StopRefused},
		{how: v1{}, status: 307, verdict: delivery.Stop, reason: event.StopRedirect},
		{how: batch{}, status: 499, verdict: delivery.Stop, reason: event.StopRefused},
		{how: batch{}, status: 500, verdict: delivery.Wait},
		{how: batch{}, status: 501, verdict: delivery.Stop, reason: event.StopRefused},
		{how: batch{}, status: 503, verdict: delivery.Wait},
	} {
		a, reason := judge(httptry.Try{Status: tt.status, Header: tt.header, Body: []byte(tt.body)}, tt.how, &delivery.Request{}, true, false)
		name := fmt.Sprintf("%s %d %.20q", tt.how.terms().name, tt.status, tt.body)
		assert.Equal(t, tt.verdict, a.Verdict, name)
		assert.Equal(t, tt.reason, reason, name)
		assert.Equal(t, tt.tooLarge, a.TooLarge, name)
		assert.Equal(t, tt.status, a.Status, name)
		require.Error(t, a.Err, name)
		assert.Contains(t, a.Err.Error(), tt.says, name)
	}
	a, _ := judge(httptry.Try{Status: 404}, batch{}, nil, true, false)
	assert.NotContains(t, a.Err.Error(), "capture v1")
}

// Once a host has accepted events, an answer that the service cannot have written is an outage, and settles nothing. An
// answer that it can have written stops the sending as before.
func TestJudgeAHostThatWasGood(t *testing.T) {
	t.Parallel()
	page := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
	for _, how := range []Endpoint{batch{}, v1{}} {
		judge := func(r httptry.Try, isGood bool) (delivery.Verdict, event.StopReason) {
			a, reason := judge(r, how, &delivery.Request{}, true, isGood)
			require.Error(t, a.Err)
			return a.Verdict, reason
		}
		for _, r := range []httptry.Try{
			{Status: 200}, {Status: 204}, {Status: 200, Body: []byte("{}")}, {Status: 200, Body: []byte("null")}, {Status: 200, Body: []byte("OK")},
			{Status: 200, Header: page, Body: []byte("<html>")}, {Status: 404, Header: page, Body: []byte("<html>")}, {Status: 403, Header: page, Body: []byte("<html>")},
			{Status: 302, Header: page, Body: []byte("<a>")}, {Status: 401, Body: []byte(strings.Repeat("x", maxRefusal+1))}, {Status: 400, Body: []byte("<html>")},
			{Err: fmt.Errorf("%w: over 64 KiB", httptry.ErrTooBig)},
		} {
			verdict, reason := judge(r, true)
			assert.Equal(t, delivery.Wait, verdict, "%d %.20q", r.Status, r.Body)
			assert.Empty(t, reason)
			verdict, reason = judge(r, false)
			assert.Equal(t, delivery.Stop, verdict, "%d %.20q", r.Status, r.Body)
			assert.NotEmpty(t, reason)
		}
		for want, r := range map[event.StopReason]httptry.Try{
			event.StopUnauthorized: {Status: 401, Body: []byte(`{"error":"invalid_api_key"}`)}, event.StopForbidden: {Status: 403}, event.StopNotFound: {Status: 404}, event.StopRedirect: {Status: 308},
			event.StopQuota: {Status: 402}, event.StopNotService: {Err: httptry.ErrForeignOrigin}, event.StopRefused: {Status: 405},
		} {
			verdict, reason := judge(r, true)
			assert.Equal(t, delivery.Stop, verdict, want)
			assert.Equal(t, want, reason)
		}
	}
}

// A failure that no repetition can fix stops before the first answer; afterwards it is an outage. Only a failed try
// can be unsent or stale.
func TestJudgeFailures(t *testing.T) {
	t.Parallel()
	for reason, err := range map[event.StopReason]error{
		event.StopWrongScheme: http.ErrSchemeMismatch,
		event.StopCertificate: x509.UnknownAuthorityError{},
		event.StopTLS:         errors.New("remote error: tls: protocol version not supported"),
		"":                    errors.New("connection refused"),
	} {
		require.Equal(t, reason, unreachable(err))
		for _, answered := range []bool{false, true} {
			a, got := judge(httptry.Try{Err: err, Unsent: true, Stale: true}, batch{}, nil, answered, false)
			want := delivery.Wait
			if reason != "" && !answered {
				want = delivery.Stop
			}
			assert.Equal(t, want, a.Verdict, "%v, answered: %v", err, answered)
			assert.Equal(t, want == delivery.Stop, got != "")
			assert.Equal(t, err, a.Err)
			assert.True(t, a.Unsent && a.Stale)
		}
	}
	a, _ := judge(httptry.Try{Err: errors.New("lost")}, batch{}, nil, true, false)
	assert.False(t, a.Unsent || a.Stale)
	a, _ = judge(httptry.Try{Status: 500, Unsent: true, Stale: true}, batch{}, nil, true, false)
	assert.False(t, a.Unsent || a.Stale, "it was answered")
	assert.Equal(t, event.StopWrongScheme, unreachable(tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}))
	assert.Equal(t, event.StopTLS, unreachable(tls.AlertError(40)))
	assert.Empty(t, unreachable(&net.DNSError{Err: "tls: no such host"}), "the name may come")
	assert.Empty(t, unreachable(nil))
}

// Words shows the service's own explanation, without the events, keys or control bytes in it.
func TestWords(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"":           "the server answered 400 without a text",
		" \n":        "the server answered 400 without a text",
		"<html>":     "the server answered 400 with a page of HTML",
		"no\x1b[31m": "the server answered 400: no",
		`{"error":"missing_uuid","error_description":"an event has none"}`: "the server answered 400: missing_uuid: an event has none",
		`{"error":"missing_uuid"}`:              "the server answered 400: missing_uuid",
		`{"detail":"bad","event":{"secret":1}}`: "the server answered 400: bad",
		`{"event":{"secret":1}}`:                "the server answered 400 with 22 bytes of JSON",
		`[{"event":"secret"}]`:                  "the server answered 400 with 20 bytes of JSON",
		`{"detail":{"event":"secret"}}`:         "the server answered 400 with 29 bytes of JSON",
		`[{"event":"secret`:                     "the server answered 400 with 17 bytes of JSON",
		"phc_ThisIsAKey0123456789 is not known": "the server answered 400: [redacted] is not known",
		strings.Repeat("a", 200):                "the server answered 400: " + strings.Repeat("a", 200),
		strings.Repeat("a", 201):                "the server answered 400: " + strings.Repeat("a", 200),
	} {
		got := words(httptry.Try{Status: 400, Body: []byte(body)}).Error()
		assert.True(t, strings.HasPrefix(got, want), "%q: %s", body, got)
		assert.LessOrEqual(t, len(got), len("the server answered 400: ")+200, body)
		assert.NotContains(t, got, "secret", body)
	}
}

// Only the words of capture v1 itself show that a server has it.
func TestOffer(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status  int
		body    string
		name    event.Protocol
		isClear bool
	}{
		{400, `{"error":"empty_batch"}`, event.ProtocolV1, true},
		{200, `{"error":"empty_batch"}`, event.ProtocolBatch, false},
		{400, `{"error":"other"}`, event.ProtocolBatch, false},
		{400, "empty_batch", event.ProtocolBatch, false},
		{404, "", event.ProtocolBatch, true},
		{405, "", event.ProtocolBatch, true},
		{403, "", event.ProtocolBatch, false},
	} {
		how, isClear := offer(httptry.Try{Status: tt.status, Body: []byte(tt.body)}, nil)
		assert.Equal(t, tt.name, how.terms().name, "%d %s", tt.status, tt.body)
		assert.Equal(t, tt.isClear, isClear, "%d %s", tt.status, tt.body)
	}
	assert.Equal(t, event.ProtocolV1, named(event.ProtocolV1, nil).terms().name)
	assert.Equal(t, event.ProtocolBatch, named(event.ProtocolBatch, nil).terms().name)
	assert.Nil(t, named("", nil))
}

// A success of capture v1 without a whole answer settles nothing.
func TestJudgeSuccessOfV1(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]delivery.Verdict{`{"results":{}}`: delivery.Settled, `{"results":{`: delivery.Wait, `{"status":"Ok"}`: delivery.Stop, "": delivery.Stop} {
		a, reason := judge(httptry.Try{Status: 200, Body: []byte(body)}, v1{}, &delivery.Request{}, true, false)
		assert.Equal(t, want, a.Verdict, body)
		assert.Equal(t, want == delivery.Stop, reason == event.StopNotService, body)
		assert.Equal(t, want == delivery.Settled, a.Err == nil, body)
	}
}

// A request to each endpoint names its sender.
func TestWhatARequestIsMadeOf(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 7, time.FixedZone("", 3600))
	who := sender{now: now}
	h := http.Header{}
	of := &delivery.Request{Try: 3}
	v1{who}.Header(h, of)
	assert.Equal(t, http.Header{
		"Authorization": {"Bearer phc_x"}, "Posthog-Sdk-Info": {"hogapi/1"}, "Posthog-Attempt": {"3"}, "Posthog-Request-Id": {of.ID.String()},
		"Posthog-Request-Timestamp": {"2026-11-23T11:00:00.000000007Z"},
	}, h)
	prefix, suffix := batch{who}.Around(now)
	assert.JSONEq(t, `{"api_key":"phc_x","historical_migration":true,"batch":[]}`, string(prefix)+string(suffix))
	prefix, suffix = v1{who}.Around(now.Add(5 * time.Millisecond))
	assert.JSONEq(t, `{"created_at":"2026-11-23T11:00:00.005Z","historical_migration":true,"batch":[]}`, string(prefix)+string(suffix))
	assert.Zero(t, batch{}.terms().answerBytes, "one word")
	const longest = `"0191c0de-0000-5000-8000-000000000000":{"result":"warning","details":"person_processing_disabled"},`
	assert.Greater(t, v1{}.terms().answerBytes, int64(len(longest)), "an answer with many results fits")
}

type sender struct {
	Client
	now time.Time
}

func (sender) Key() string      { return "phc_x" }
func (sender) SDK() string      { return "hogapi/1" }
func (s sender) Now() time.Time { return s.now }
