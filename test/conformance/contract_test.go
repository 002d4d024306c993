package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// contract is the harness's suite "capture" for server SDKs at its version 1.0.0, test by test under its names, in virtual time. Where
// the harness would pass too easily, as with uuids that are missing from both requests, these tests are stricter.
var contract = map[string]func(*rig){
	"format_validation.event_has_required_fields": func(r *rig) {
		r.send(1, 0, `"flush_at":1`)
		r.wantRequests(1)
		r.wantField("event", "test_event")
		r.wantField("distinct_id", "test_user")
	},
	"format_validation.event_has_uuid": func(r *rig) {
		r.send(1, 0)
		assert.Regexp(r, uuidForm, r.first()["uuid"])
	},
	"format_validation.event_has_lib_properties": func(r *rig) {
		r.send(1, 0)
		r.wantProperty("$lib", "hogapi-go")
		version, _ := r.property("$lib_version").(string)
		assert.NotEmpty(r, version)
	},
	"format_validation.distinct_id_is_string": func(r *rig) {
		r.init()
		r.call("POST /capture", `{"distinct_id":"test_user_123","event":"test_event","properties":null,"timestamp":null}`)
		r.flush()
		r.wantField("distinct_id", "test_user_123")
		r.wantProperty("distinct_id", "test_user_123") // client SDKs send it here; an import sends both
	},
	"format_validation.token_is_present": func(r *rig) {
		r.send(1, 0)
		r.wantRequests(1)
		assert.Equal(r, "phc_test_key", r.got()[0].body["api_key"])
	},
	"format_validation.custom_properties_preserved": func(r *rig) {
		r.init()
		r.capture("test_event", `{"custom_string":"hello","custom_number":42,"custom_bool":true}`, "null")
		r.flush()
		r.wantProperty("custom_string", "hello")
		r.wantProperty("custom_number", 42.0)
		r.wantProperty("custom_bool", true)
	},
	"format_validation.event_has_timestamp": func(r *rig) {
		r.send(1, 0)
		text, _ := r.first()["timestamp"].(string)
		at, err := time.Parse(time.RFC3339, text)
		require.NoError(r, err)
		assert.WithinDuration(r, time.Now(), at, time.Second)
	},
	"format_validation.non_utc_event_timestamp_is_converted_to_utc": func(r *rig) {
		r.init(`"flush_at":1`)
		r.capture("test_event", `{"timestamp_like":"2025-01-02T08:34:05+05:30"}`, `"2025-01-02T08:34:05+05:30"`)
		r.flush()
		r.wantField("timestamp", "2025-01-02T03:04:05Z")
		r.wantProperty("timestamp_like", "2025-01-02T08:34:05+05:30")
	},

	"retry_behavior.retries_on_503": func(r *rig) {
		r.answers(503, 503)
		r.send(1, 5*time.Second)
		r.wantTries(3)
	},
	"retry_behavior.does_not_retry_on_400": after(400, oneTry),
	"retry_behavior.does_not_retry_on_401": after(401, oneTry),
	"retry_behavior.respects_retry_after_header": func(r *rig) {
		r.fake.Script(ops.Capture, hogapitest.RateLimit("3"))
		r.send(1, 5*time.Second)
		r.wantTries(2)
		r.wantDelay(3*time.Second, 3500*time.Millisecond)
	},
	"retry_behavior.implements_backoff": func(r *rig) {
		r.answers(503, 503, 503)
		r.send(1, 15*time.Second)
		r.wantTries(4)
		r.wantDelay(100*time.Millisecond, time.Second)
	},
	"retry_behavior.retries_on_500": after(500, secondTry),
	"retry_behavior.retries_on_502": after(502, secondTry),
	"retry_behavior.retries_on_504": after(504, secondTry),
	"retry_behavior.max_retries_respected": func(r *rig) {
		r.answers(503, 503, 503, 503, 503)
		r.send(1, 15*time.Second, `"max_retries":3`)
		r.wantRequests(4)
	},

	"deduplication.generates_unique_uuids": func(r *rig) {
		r.send(5, 0)
		r.wantRequests(1)
		r.wantUniqueUUIDs(5)
	},
	"deduplication.preserves_uuid_on_retry": after(503, secondTry),
	"deduplication.preserves_uuid_and_timestamp_on_retry": func(r *rig) {
		r.answers(503, 503)
		r.send(1, 10*time.Second)
		r.wantTries(3)
	},
	"deduplication.preserves_uuid_and_timestamp_on_batch_retry": func(r *rig) {
		r.answers(503)
		r.send(3, 5*time.Second, `"flush_at":10`)
		r.wantTries(2)
		r.wantUniqueUUIDs(3)
	},
	"deduplication.no_duplicate_events_in_batch": func(r *rig) {
		r.send(5, 0, `"flush_at":10`)
		r.wantRequests(1)
		r.wantUniqueUUIDs(5)
	},
	"deduplication.different_events_have_different_uuids": func(r *rig) {
		r.init()
		for range 2 {
			r.capture("test_event", `{"key":"value"}`, "null")
		}
		r.flush()
		r.wantUniqueUUIDs(2)
	},

	"compression.sends_gzip_when_enabled": func(r *rig) {
		r.send(1, 0, `"enable_compression":true`)
		r.wantRequests(1)
		assert.Equal(r, "gzip", r.got()[0].Header.Get("Content-Encoding"))
		r.wantField("event", "test_event")
	},

	"batch_format.uses_proper_batch_structure": func(r *rig) {
		r.send(1, 0)
		r.wantBatch(1)
	},
	"batch_format.flush_with_no_events_sends_nothing": func(r *rig) {
		r.init()
		r.flush()
		r.wait(time.Minute)
		r.wantRequests(0)
	},
	"batch_format.multiple_events_batched_together": func(r *rig) {
		r.send(5, 0, `"flush_at":10`)
		r.wantBatch(5)
	},

	"error_handling.does_not_retry_on_403": after(403, oneTry),
	"error_handling.does_not_retry_on_413": after(413, oneTry),
	"error_handling.retries_on_408":        after(408, secondTry),
}

// after sends an event, and looks at the tries that follow the first answer's status.
func after(status int, want func(*rig)) func(*rig) {
	return func(r *rig) {
		r.answers(status)
		r.send(1, 5*time.Second)
		want(r)
	}
}

func oneTry(r *rig)    { r.wantRequests(1) }
func secondTry(r *rig) { r.wantTries(2) } // with the same event

// wantBatch requires one request of n events with the key at the root.
func (r *rig) wantBatch(n int) {
	r.Helper()
	r.wantRequests(1)
	got := r.got()[0]
	assert.Len(r, got.events, n)
	assert.IsType(r, "", got.body["api_key"], "at the root: %v", got.body)
}

func TestContract(t *testing.T) {
	assert.Len(t, contract, 30, "the harness has 30 tests")
	for name, test := range contract {
		t.Run(name, func(t *testing.T) { inBubble(t, test) })
	}
}
