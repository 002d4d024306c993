package hogapitest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// scripted answers by the event's place.
func scripted(results ...hogapitest.Result) hogapitest.Fault {
	return hogapitest.Results(func(i int, _ hogapitest.StoredEvent) hogapitest.Result { return results[i] })
}

func TestResultsByScript(t *testing.T) {
	over(t, nil, func(t *testing.T, w *wire) {
		w.Script(ops.Capture, scripted(
			hogapitest.Result{},
			hogapitest.Result{Result: "warning", Details: "person_processing_disabled"},
			hogapitest.Result{Result: "drop", Details: "event_restriction_drop"},
			hogapitest.Result{Result: "limited"},
			hogapitest.Result{Absent: true},
			hogapitest.Result{Absent: true, Stored: true},
			hogapitest.Result{Result: "limited", Stored: true},
			hogapitest.Result{Result: "ok"}, // the service's own drops stay
		))
		var events []string
		for n := range 7 {
			events = append(events, v1Event(n+1))
		}
		a := w.post(v1Batch(append(events, v1Event(8, "event", `""`))...))
		assert.Equal(t, []string{
			"ok", "warning: person_processing_disabled", "drop: event_restriction_drop", "limited", "limited", "drop: missing_event_name",
		}, a.results(t))
		assert.Empty(t, a.Header.Get("Retry-After"))
		assert.Equal(t, uuids(3, 4, 5, 8), w.Ledger().Missing(uuids(1, 2, 3, 4, 5, 6, 7, 8)))

		w.Script(ops.Capture, scripted(hogapitest.Result{Result: "retry", Details: "not_persisted"}, hogapitest.Result{}))
		a = w.post(v1Batch(v1Event(20), v1Event(21)))
		assert.Equal(t, []string{"retry: not_persisted", "ok"}, a.results(t))
		assert.Equal(t, "1", a.Header.Get("Retry-After"))
		assert.Equal(t, uuids(20), w.Ledger().Missing(uuids(20, 21)))
		assert.Equal(t, 200, w.batch(historical(event(9))).StatusCode)
	})
}

func TestV1AnswersByScript(t *testing.T) {
	tests := []struct {
		fault      hogapitest.Fault
		status     int
		tag        string
		retryAfter string
		stored     int
	}{
		{hogapitest.Status(400), 400, "request_parsing_error", "", 0},
		{hogapitest.Status(401), 401, "invalid_api_token", "", 0},
		{hogapitest.Status(402), 402, "billing_limit_exceeded", "", 0},
		{hogapitest.Status(408), 408, "request_timeout", "1", 0},
		{hogapitest.Status(413), 413, "payload_too_large", "", 0},
		{hogapitest.Status(415), 415, "unsupported_encoding", "", 0},
		{hogapitest.Status(500), 500, "internal_error", "1", 0},
		{hogapitest.Status(503).WithHeader("X-A", "b"), 503, "service_unavailable", "1", 0},
		{hogapitest.Status(504), 504, "gateway_timeout", "1", 0},
		{hogapitest.Status(400, map[string]any{"error": "mine", "error_description": "d", "error_uri": "u"}), 400, "mine", "", 0},
		{hogapitest.RateLimit("60"), 429, "", "60", 0},
		{hogapitest.Status(502), 502, "", "", 0},
		{hogapitest.Status(404), 404, "", "", 0},
		{hogapitest.HTML(200), 200, "", "", 0},
		{hogapitest.Acted(hogapitest.HTML(200)), 200, "", "", 2},
		{hogapitest.Acted(hogapitest.Status(503)), 503, "service_unavailable", "1", 2},
		{hogapitest.PartialCommit(1, 500), 500, "internal_error", "1", 1},
		{hogapitest.CutBefore(), 0, "", "", 0},
		{hogapitest.CutAfter(), 0, "", "", 2},
	}
	for _, test := range tests {
		over(t, nil, func(t *testing.T, w *wire) {
			w.Script(ops.Capture, test.fault)
			a := w.post(v1Batch(v1Event(1), v1Event(2)))
			assert.Equal(t, test.stored, w.Ledger().Len(), test.fault)
			if test.status == 0 {
				require.Nil(t, a.Response, test.fault)
				return
			}
			assert.Equal(t, test.status, a.StatusCode, test.fault)
			assert.Equal(t, test.retryAfter, a.Header.Get("Retry-After"), test.fault)
			if test.tag == "" {
				assert.False(t, json.Valid([]byte(a.text)), test.fault)
			} else {
				assert.Equal(t, test.tag, a.tag(t), test.fault)
			}
		})
	}
}

func TestV1Culprits(t *testing.T) {
	w := inProcess(t)
	w.RejectEvents(func(raw json.RawMessage) int {
		switch {
		case strings.Contains(string(raw), `"n":2`):
			return http.StatusBadRequest
		case strings.Contains(string(raw), `"n":3`):
			return http.StatusRequestEntityTooLarge
		}
		return 0
	})
	assert.Equal(t, "request_parsing_error", w.post(v1Batch(v1Event(1), v1Event(2))).tag(t))
	assert.Equal(t, []string{"ok", "drop: event_too_big"}, w.post(v1Batch(v1Event(1), v1Event(3))).results(t))
	assert.Equal(t, 1, w.Ledger().Len())
	unknown := w.post(v1Batch(v1Event(5)), "Authorization", "Bearer phc_nobody")
	assert.Equal(t, []string{"ok"}, unknown.results(t))
	assert.Equal(t, 1, w.Ledger().Len())
	assert.Equal(t, "unknown key", w.Ledger().Dropped()[1].Reason)
}
