package hogapitest_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

const (
	v1Path    = "/i/v1/analytics/events"
	requestID = "0190a1b2-0000-4000-8000-00000000000a"
)

// post makes a request to v1 with the usual headers, and others in place of them. There is no response where the connection is lost.
func (w *wire) post(body []byte, headers ...string) answer {
	w.t.Helper()
	w.key = ""
	a, _ := w.send("POST", v1Path, body, append([]string{
		"Authorization", "Bearer " + key, "PostHog-Sdk-Info", "posthog-go/2.0.0", "PostHog-Attempt", "1", "PostHog-Request-Id", requestID,
		"PostHog-Request-Timestamp", now.Format(time.RFC3339Nano), "Content-Type", "application/json", "User-Agent", "posthog-go/2.0.0",
	}, headers...)...)
	return a
}

// v1Event is an old event with some fields replaced.
func v1Event(n int, replaced ...string) string {
	fields := map[string]string{
		"event": `"signed up"`, "distinct_id": fmt.Sprintf(`"user-%d"`, n%3), "uuid": `"` + uuids(n)[0].String() + `"`,
		"timestamp": `"2025-01-02T03:04:05.678Z"`, "options": `{"disable_skew_correction":true}`, "properties": fmt.Sprintf(`{"n":%d}`, n),
	}
	for i := 0; i < len(replaced); i += 2 {
		fields[replaced[i]] = replaced[i+1]
	}
	var list []string
	for _, name := range []string{"event", "distinct_id", "uuid", "timestamp", "session_id", "window_id", "options", "properties"} {
		if fields[name] != "" {
			list = append(list, `"`+name+`":`+fields[name])
		}
	}
	return "{" + strings.Join(list, ",") + "}"
}

func v1Batch(events ...string) []byte {
	return []byte(`{"created_at":"2026-03-04T11:59:59Z","historical_migration":true,"batch":[` + strings.Join(events, ",") + `]}`)
}

// refusal is the status and the error of an answer that refuses the request.
func (a answer) refusal(t *testing.T) string {
	t.Helper()
	var body struct {
		Error       string `json:"error"`
		Description string `json:"error_description"`
		URI         string `json:"error_uri"`
	}
	require.NoError(t, json.Unmarshal([]byte(a.text), &body), a.text)
	require.NotEmpty(t, body.Description)
	require.NotEmpty(t, body.URI)
	return fmt.Sprintf("%d %s", a.StatusCode, body.Error)
}

// results are the results in order, as "ok" or "drop: details".
func (a answer) results(t *testing.T) (list []string) {
	t.Helper()
	require.Equal(t, 200, a.StatusCode, a.text)
	dec := json.NewDecoder(strings.NewReader(strings.TrimPrefix(a.text, `{"results":`)))
	_, err := dec.Token() // {
	require.NoError(t, err)
	for dec.More() {
		id, err := dec.Token()
		require.NoError(t, err)
		require.NoError(t, uuid.Validate(id.(string)))
		var r struct{ Result, Details string }
		require.NoError(t, dec.Decode(&r))
		list = append(list, strings.TrimSuffix(r.Result+": "+r.Details, ": "))
	}
	return list
}

func TestV1Headers(t *testing.T) {
	tests := []struct {
		name    string
		headers []string
		want    string
	}{
		{"no key", []string{"Authorization", ""}, "401 missing_authorization"},
		{"no key comes before the rest", []string{"Authorization", "", "PostHog-Attempt", "", "Content-Type", "text/plain"}, "401 missing_authorization"},
		{"another scheme", []string{"Authorization", "Basic abc"}, "400 invalid_header_value"},
		{"empty key", []string{"Authorization", "Bearer "}, "401 invalid_api_token"},
		{"long key", []string{"Authorization", "Bearer " + strings.Repeat("a", 65)}, "401 invalid_api_token"},
		{"personal key", []string{"Authorization", "Bearer phx_abc"}, "401 invalid_api_token"},
		{"key beyond ASCII", []string{"Authorization", "Bearer phc_ä"}, "400 invalid_header_value"},
		{"no attempt", []string{"PostHog-Attempt", ""}, "400 missing_required_headers"},
		{"attempt 0", []string{"PostHog-Attempt", "0"}, "400 invalid_header_value"},
		{"attempt 1.5", []string{"PostHog-Attempt", "1.5"}, "400 invalid_header_value"},
		{"no request id", []string{"PostHog-Request-Id", ""}, "400 missing_required_headers"},
		{"request id is none", []string{"PostHog-Request-Id", "7"}, "400 invalid_header_value"},
		{"no time", []string{"PostHog-Request-Timestamp", ""}, "400 missing_required_headers"},
		{"time without a zone", []string{"PostHog-Request-Timestamp", "2026-03-04T12:00:00"}, "400 invalid_header_value"},
		{"no SDK", []string{"PostHog-Sdk-Info", ""}, "400 missing_required_headers"},
		{"no content type", []string{"Content-Type", ""}, "400 missing_required_headers"},
		{"missing comes before wrong", []string{"Content-Type", "", "PostHog-Attempt", "x"}, "400 missing_required_headers"},
		{"another content type", []string{"Content-Type", "text/plain"}, "415 unsupported_content_type"},
		{"wrong before the content type", []string{"Content-Type", "text/plain", "PostHog-Attempt", "x"}, "400 invalid_header_value"},
		{"content type before the encoding", []string{"Content-Type", "text/plain", "Content-Encoding", "x"}, "415 unsupported_content_type"},
		{"identity", []string{"Content-Encoding", "identity"}, "415 unsupported_encoding"},
		{"a list of encodings", []string{"Content-Encoding", "gzip, br"}, "415 unsupported_encoding"},
		{"br without a decoder", []string{"Content-Encoding", "br"}, "415 unsupported_encoding"},
		{"SDK beyond ASCII", []string{"PostHog-Sdk-Info", "ä/1"}, "400 invalid_header_value"},
	}
	over(t, nil, func(t *testing.T, w *wire) {
		for _, test := range tests {
			a := w.post(v1Batch(v1Event(1)), test.headers...)
			assert.Equal(t, test.want, a.refusal(t), test.name)
			assert.Empty(t, a.Header.Get("Retry-After"), test.name)
		}
		assert.Zero(t, w.Ledger().Len())
		for name, headers := range map[string][]string{
			"scheme in any case":   {"Authorization", "bEARER " + key},
			"charset":              {"Content-Type", "application/json; charset=utf-8"},
			"unusable SDK":         {"PostHog-Sdk-Info", "nothing"},
			"a long SDK":           {"PostHog-Sdk-Info", "a/" + strings.Repeat("1", 200)},
			"UUID without hyphens": {"PostHog-Request-Id", strings.ReplaceAll(requestID, "-", "")},
		} {
			a := w.post(v1Batch(v1Event(1)), headers...)
			assert.Equal(t, 200, a.StatusCode, "%s: %s", name, a.text)
		}
	})
	w := inProcess(t)
	a := w.post(v1Batch(v1Event(1)), "PostHog-Attempt", "", "User-Agent", "")
	for _, name := range []string{"PostHog-Attempt", "User-Agent"} {
		assert.Contains(t, a.text, name)
	}
	assert.NotContains(t, a.text, "PostHog-Sdk-Info")
}

func TestV1RefusesTheWholeBatch(t *testing.T) {
	event := func(replaced ...string) []byte { return v1Batch(v1Event(1), v1Event(2, replaced...)) }
	upper := `"` + strings.ToUpper(uuids(1)[0].String()) + `"`
	tests := map[string]struct {
		body []byte
		tag  string
	}{
		"no created_at":               {[]byte(`{"batch":[` + v1Event(1) + `]}`), "request_parsing_error"},
		"created_at is no time":       {[]byte(`{"created_at":"soon","batch":[` + v1Event(1) + `]}`), "invalid_batch"},
		"no batch":                    {[]byte(`{"created_at":"2026-03-04T11:59:59Z"}`), "request_parsing_error"},
		"empty batch":                 {v1Batch(), "empty_batch"},
		"flag as text":                {[]byte(`{"created_at":"2026-03-04T11:59:59Z","historical_migration":"true","batch":[` + v1Event(1) + `]}`), "request_parsing_error"},
		"a bare array":                {[]byte(`[` + v1Event(1) + `]`), "request_parsing_error"},
		"no JSON":                     {[]byte(`{`), "request_parsing_error"},
		"empty body":                  {nil, "empty_body"},
		"no name":                     {event("event", ""), "request_parsing_error"},
		"name is a number":            {event("event", "1"), "request_parsing_error"},
		"no distinct id":              {event("distinct_id", ""), "request_parsing_error"},
		"distinct id is a number":     {event("distinct_id", "7"), "request_parsing_error"},
		"no uuid":                     {event("uuid", ""), "request_parsing_error"},
		"uuid is a number":            {event("uuid", "7"), "request_parsing_error"},
		"empty uuid":                  {event("uuid", `""`), "missing_event_uuid"},
		"blank uuid":                  {event("uuid", `"  "`), "missing_event_uuid"},
		"uuid is none":                {event("uuid", `"7"`), "invalid_event_uuid"},
		"uuid twice, in upper case":   {event("uuid", upper), "duplicate_event_uuid"},
		"uuid twice, as an URN":       {event("uuid", `"urn:uuid:`+uuids(1)[0].String()+`"`), "duplicate_event_uuid"},
		"no timestamp":                {event("timestamp", ""), "request_parsing_error"},
		"timestamp is a number":       {event("timestamp", "1735787045"), "request_parsing_error"},
		"session id is a number":      {event("session_id", "1"), "request_parsing_error"},
		"window id is a number":       {event("window_id", "1"), "request_parsing_error"},
		"gzip bytes without a header": {packed(t, "gzip", v1Batch(v1Event(1))), "request_parsing_error"},
	}
	over(t, nil, func(t *testing.T, w *wire) {
		for name, test := range tests {
			a := w.post(test.body)
			require.NotNil(t, a.Response, name)
			assert.Equal(t, "400 "+test.tag, a.refusal(t), name)
		}
		assert.Zero(t, w.Ledger().Len())
	})
}

func TestV1JudgesEachEvent(t *testing.T) {
	long := `"` + strings.Repeat("a", 201) + `"`
	tests := []struct {
		replaced []string
		result   string
	}{
		{nil, "ok"},
		{[]string{"event", `""`}, "drop: missing_event_name"},
		{[]string{"event", long}, "drop: event_name_too_long"},
		{[]string{"event", `"` + strings.Repeat("ä", 101) + `"`}, "drop: event_name_too_long"},
		{[]string{"distinct_id", `"  "`}, "drop: missing_distinct_id"},
		{[]string{"distinct_id", long}, "drop: distinct_id_too_large"},
		{[]string{"distinct_id", `" ` + strings.Repeat("a", 200) + ` "`}, "ok"},
		{[]string{"timestamp", `"soon"`}, "drop: invalid_event_timestamp"},
		{[]string{"timestamp", `"2025-01-02 03:04:05Z"`}, "drop: invalid_event_timestamp"},
		{[]string{"timestamp", `"2025-01-02T03:04:05"`}, "drop: invalid_event_timestamp"},
		{[]string{"timestamp", `"2025-01-02"`}, "drop: invalid_event_timestamp"},
		{[]string{"properties", `null`}, "drop: malformed_event_properties"},
		{[]string{"properties", `[]`}, "drop: malformed_event_properties"},
		{[]string{"properties", ``}, "ok"},
		{[]string{"options", `null`}, "ok"},
		{[]string{"options", `[]`}, "drop: invalid_options"},
		{[]string{"options", `{"cookieless_mode":"maybe"}`}, "drop: invalid_options"},
		{[]string{"options", `{"product_tour_id":1}`}, "drop: invalid_options"},
		{[]string{"options", `{"process_person_profile":false,"unknown":1,"disable_skew_correction":true,"cookieless_mode":null}`}, "ok"},
		{[]string{"distinct_id", `"$posthog_cookieless"`}, "drop: cookieless_mode_required"},
		{[]string{"distinct_id", `"$posthog_cookieless"`, "options", `{"cookieless_mode":true}`}, "ok"},
		{[]string{"event", `"$performance_event"`}, "drop: dropped_performance_event"},
		{[]string{"distinct_id", `" NULL "`}, "ok: person_processing_disabled"},
		{[]string{"distinct_id", `"nil"`}, "ok"},
		{[]string{"session_id", `null`}, "ok"},
	}
	over(t, nil, func(t *testing.T, w *wire) {
		var events, want []string
		stored := 0
		for i, test := range tests {
			events, want = append(events, v1Event(i+1, test.replaced...)), append(want, test.result)
			if strings.HasPrefix(test.result, "ok") {
				stored++
			}
		}
		a := w.post(v1Batch(events...))
		assert.Equal(t, want, a.results(t))
		assert.Empty(t, a.Header.Get("Retry-After"))
		assert.NotEmpty(t, a.Header.Get("Date"))
		assert.Equal(t, stored, w.Ledger().Len())
		assert.Len(t, w.Ledger().Dropped(), len(tests)-stored)
	})
	w := inProcess(t)
	big := v1Event(2, "properties", `{"a":"`+strings.Repeat("x", 1_000_000)+`"}`)
	assert.Equal(t, []string{"ok", "drop: event_too_big", "ok"}, w.post(v1Batch(v1Event(1), big, v1Event(3))).results(t))
}

// /batch/ and v1 store an event alike, except for the properties that v1 adds.
func TestV1StoresWhatBatchStores(t *testing.T) {
	w := inProcess(t)
	require.Equal(t, 200, w.batch(historical(event(1))).StatusCode)
	odd := v1Event(1, "properties", `{"n":1,"$session_id":"own","$lib":"web"}`, "session_id", `"s"`, "window_id", `"w"`, "distinct_id", `" user-1 "`)
	require.Equal(t, []string{"ok"}, w.post(v1Batch(odd)).results(t))
	old, got := w.Ledger().Event(0), w.Ledger().Event(1)
	assert.Equal(t, []any{old.UUID, old.Event, old.DistinctID, old.Timestamp, old.Time, old.Historical}, []any{got.UUID, got.Event, got.DistinctID, got.Timestamp, got.Time, got.Historical})
	assert.JSONEq(t, `{"n":1,"$session_id":"s","$window_id":"w","$lib":"posthog-go","$lib_version":"2.0.0","$ignore_sent_at":true}`, string(got.Properties))
	assert.Equal(t, odd, string(got.Raw))
	requests := w.Ledger().Requests()
	assert.Equal(t, []string{"batch", "v1"}, []string{requests[0].Protocol, requests[1].Protocol})
}

func TestV1Time(t *testing.T) {
	sent := "2026-03-04T12:00:30Z" // the client's clock is 30 s fast
	for name, test := range map[string]struct {
		options, timestamp, want string
		shifted, historical      bool
	}{
		"shifted":                 {`{}`, "2025-01-02T03:04:05Z", "2025-01-02T03:03:35Z", true, true},
		"the old word":            {`{"disable_skew_adjustment":true}`, "2025-01-02T03:04:05Z", "2025-01-02T03:03:35Z", true, true},
		"switched off":            {`{"disable_skew_correction":true}`, "2025-01-02T03:04:05+02:00", "2025-01-02T01:04:05Z", false, true},
		"far ahead":               {`{}`, "2026-03-05T12:00:00Z", "2026-03-04T12:00:00Z", true, false},
		"far ahead, switched off": {`{"disable_skew_correction":true}`, "2027-01-01T00:00:00Z", "2027-01-01T00:00:00Z", false, false},
	} {
		w := inProcess(t)
		a := w.post(v1Batch(v1Event(1, "options", test.options, "timestamp", `"`+test.timestamp+`"`)), "PostHog-Request-Timestamp", sent)
		require.Equal(t, 200, a.StatusCode, name)
		got := w.Ledger().Event(0)
		assert.Equal(t, test.want, got.Time.Format(time.RFC3339Nano), name)
		assert.Equal(t, test.historical, got.Historical, name)
		assert.Equal(t, test.shifted, slices.ContainsFunc(w.Violations(), func(b hogapitest.Violation) bool { return b.Rule == hogapitest.RuleSkew }), name)
	}
}

// A server without v1 answers 404, without any part of v1's answers.
func TestWithoutV1(t *testing.T) {
	for _, option := range []hogapitest.Option{hogapitest.WithoutV1(), hogapitest.WithOldService()} {
		over(t, []hogapitest.Option{option}, func(t *testing.T, w *wire) {
			for _, body := range [][]byte{v1Batch(), v1Batch(v1Event(1))} {
				a := w.post(body)
				assert.Equal(t, 404, a.StatusCode)
				assert.False(t, json.Valid([]byte(a.text)))
			}
			assert.Empty(t, w.Unknown())
			assert.Empty(t, w.Violations())
		})
	}
}

// A probe has an operation of its own: a script of capture waits for events.
func TestProbes(t *testing.T) {
	over(t, nil, func(t *testing.T, w *wire) {
		w.Script(ops.Capture, hogapitest.Status(503))
		for _, encoding := range []string{"", "gzip"} {
			body := v1Batch()
			if encoding != "" {
				body = packed(t, encoding, body)
			}
			assert.Equal(t, "400 empty_batch", w.post(body, "Content-Encoding", encoding).refusal(t))
		}
		assert.Equal(t, 503, w.post(v1Batch(v1Event(1))).StatusCode)
		w.Script(ops.Protocol, hogapitest.HTML(200))
		assert.Equal(t, 200, w.post(v1Batch()).StatusCode)
		assert.Len(t, w.Calls(ops.Protocol), 3)
		assert.Len(t, w.Calls(ops.Capture), 1)
	})
}

// packed compresses a body.
func packed(t *testing.T, encoding string, body []byte) []byte {
	var b bytes.Buffer
	var z io.WriteCloser = gzip.NewWriter(&b)
	if encoding == "zstd" {
		z, _ = zstd.NewWriter(&b)
	}
	_, err := z.Write(body)
	require.NoError(t, err)
	require.NoError(t, z.Close())
	return b.Bytes()
}

func TestV1Encodings(t *testing.T) {
	body := v1Batch(v1Event(1))
	over(t, nil, func(t *testing.T, w *wire) {
		for _, test := range []struct {
			encoding string
			body     []byte
		}{
			{"", body}, {"GZip", packed(t, "gzip", body)}, {"zstd", packed(t, "zstd", body)},
		} {
			a := w.post(test.body, "Content-Encoding", test.encoding)
			assert.Equal(t, []string{"ok"}, a.results(t), test.encoding)
			if test.encoding != "" {
				a = w.post([]byte("no such stream"), "Content-Encoding", test.encoding)
				assert.Contains(t, []string{"400 request_decoding_error", "400 request_parsing_error"}, a.refusal(t), test.encoding)
			}
		}
		assert.Equal(t, 3, w.Ledger().Len())
	})
}

func TestV1Sizes(t *testing.T) {
	w := inProcess(t)
	blanks := func(n int) []byte { // a batch of n bytes
		body := v1Batch(v1Event(1))
		return append(body, bytes.Repeat([]byte(" "), n-len(body))...)
	}
	assert.Equal(t, 200, w.post(blanks(10<<20)).StatusCode)
	assert.Equal(t, "413 payload_too_large", w.post(blanks(10<<20+1)).refusal(t))
	assert.Equal(t, 200, w.post(packed(t, "gzip", blanks(50<<20-1)), "Content-Encoding", "gzip").StatusCode)
	for _, encoding := range []string{"gzip", "zstd"} { // it trips when the limit is reached
		assert.Equal(t, "413 payload_too_large", w.post(packed(t, encoding, blanks(50<<20)), "Content-Encoding", encoding).refusal(t))
	}
}

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
				assert.Equal(t, fmt.Sprintf("%d %s", test.status, test.tag), a.refusal(t), test.fault)
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
	assert.Equal(t, "400 request_parsing_error", w.post(v1Batch(v1Event(1), v1Event(2))).refusal(t))
	assert.Equal(t, []string{"ok", "drop: event_too_big"}, w.post(v1Batch(v1Event(1), v1Event(3))).results(t))
	assert.Equal(t, 1, w.Ledger().Len())
	unknown := w.post(v1Batch(v1Event(5)), "Authorization", "Bearer phc_nobody")
	assert.Equal(t, []string{"ok"}, unknown.results(t))
	assert.Equal(t, 1, w.Ledger().Len())
	assert.Equal(t, "unknown key", w.Ledger().Dropped()[1].Reason)
}
