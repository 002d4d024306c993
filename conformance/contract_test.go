package main

import (
	"net/http"
	"testing"
	"time"
)

// contract is the harness's suite "capture" for server SDKs at its version 1.0.0, test by test under its names, in virtual time. Where
// the harness would pass too easily, as with uuids that are missing from both requests, these tests are stricter.
var contract = map[string]func(*rig){
	"format_validation.event_has_required_fields": func(r *rig) {
		r.send(nil, 0, `"flush_at":1`)
		r.wantRequests(1)
		r.wantField("event", "test_event")
		r.wantField("distinct_id", "test_user")
	},
	"format_validation.event_has_uuid": func(r *rig) {
		r.send(nil, 0)
		if id, _ := r.first()["uuid"].(string); !uuidForm.MatchString(id) {
			r.Errorf("uuid %q", id)
		}
	},
	"format_validation.event_has_lib_properties": func(r *rig) {
		r.send(nil, 0)
		r.wantProperty("$lib", "hogapi-go")
		properties, _ := r.first()["properties"].(map[string]any)
		if version, _ := properties["$lib_version"].(string); version == "" {
			r.Error("no $lib_version")
		}
	},
	"format_validation.distinct_id_is_string": func(r *rig) {
		r.init()
		r.call("POST /capture", `{"distinct_id":"test_user_123","event":"test_event","properties":null,"timestamp":null}`)
		r.flush()
		r.wantField("distinct_id", "test_user_123")
		r.wantProperty("distinct_id", "test_user_123") // client SDKs send it here; an import sends both
	},
	"format_validation.token_is_present": func(r *rig) {
		r.send(nil, 0)
		r.wantRequests(1)
		if key := r.service.got()[0].body["api_key"]; key != "phc_test_key" {
			r.Errorf("api_key %v", key)
		}
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
		r.send(nil, 0)
		text, _ := r.first()["timestamp"].(string)
		if at, err := time.Parse(time.RFC3339, text); err != nil || time.Since(at).Abs() > time.Second {
			r.Errorf("timestamp %q, want now", text)
		}
	},
	"format_validation.non_utc_event_timestamp_is_converted_to_utc": func(r *rig) {
		r.init(`"flush_at":1`)
		r.capture("test_event", `{"timestamp_like":"2025-01-02T08:34:05+05:30"}`, `"2025-01-02T08:34:05+05:30"`)
		r.flush()
		r.wantField("timestamp", "2025-01-02T03:04:05Z")
		r.wantProperty("timestamp_like", "2025-01-02T08:34:05+05:30")
	},

	"retry_behavior.retries_on_503": func(r *rig) {
		r.send(statuses(503, 503, 200), 5*time.Second)
		r.wantRequests(3)
		r.wantSuccess()
	},
	"retry_behavior.does_not_retry_on_400": func(r *rig) { r.wantOneTry(400) },
	"retry_behavior.does_not_retry_on_401": func(r *rig) { r.wantOneTry(401) },
	"retry_behavior.respects_retry_after_header": func(r *rig) {
		r.send([]reply{{status: 429, retryAfter: "3"}, {status: 200}}, 5*time.Second)
		r.wantDelay(3*time.Second, 3500*time.Millisecond)
		r.wantRequests(2)
	},
	"retry_behavior.implements_backoff": func(r *rig) {
		r.send(statuses(503, 503, 503, 200), 15*time.Second)
		r.wantDelay(100*time.Millisecond, time.Second)
		r.wantRequests(4)
	},
	"retry_behavior.retries_on_500": func(r *rig) { r.wantSecondTry(500) },
	"retry_behavior.retries_on_502": func(r *rig) { r.wantSecondTry(502) },
	"retry_behavior.retries_on_504": func(r *rig) { r.wantSecondTry(504) },
	"retry_behavior.max_retries_respected": func(r *rig) {
		r.send(statuses(503, 503, 503, 503, 503), 15*time.Second, `"max_retries":3`)
		r.wantRequests(4)
	},

	"deduplication.generates_unique_uuids": func(r *rig) {
		r.init()
		r.events(5)
		r.flush()
		r.wantUniqueUUIDs(5)
	},
	"deduplication.preserves_uuid_on_retry": func(r *rig) {
		r.send(statuses(503, 200), 5*time.Second)
		r.wantSame("uuid")
	},
	"deduplication.preserves_uuid_and_timestamp_on_retry": func(r *rig) {
		r.send(statuses(503, 503, 200), 10*time.Second)
		r.wantRequests(3)
		r.wantSame("uuid")
		r.wantSame("timestamp")
	},
	"deduplication.preserves_uuid_and_timestamp_on_batch_retry": func(r *rig) {
		r.service.queue = statuses(503, 200)
		r.init(`"flush_at":10`)
		r.events(3)
		r.flush()
		r.wait(5 * time.Second)
		r.wantRequests(2)
		r.wantSame("uuid")
		r.wantSame("timestamp")
		r.wantUniqueInBatch(3)
	},
	"deduplication.no_duplicate_events_in_batch": func(r *rig) {
		r.init(`"flush_at":10`)
		r.events(5)
		r.flush()
		r.wantUniqueInBatch(5)
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
		r.send(nil, 0, `"enable_compression":true`)
		r.wantRequests(1)
		if got := r.service.got()[0].header.Get("Content-Encoding"); got != "gzip" {
			r.Errorf("Content-Encoding %q", got)
		}
		r.wantField("event", "test_event")
	},

	"batch_format.uses_proper_batch_structure": func(r *rig) {
		r.send(nil, 0)
		r.wantBatch()
	},
	"batch_format.flush_with_no_events_sends_nothing": func(r *rig) {
		r.init()
		r.flush()
		r.wait(time.Minute)
		r.wantRequests(0)
	},
	"batch_format.multiple_events_batched_together": func(r *rig) {
		r.init(`"flush_at":10`)
		r.events(5)
		r.flush()
		r.wantRequests(1)
		r.wantBatch()
	},

	"error_handling.does_not_retry_on_403": func(r *rig) { r.wantOneTry(403) },
	"error_handling.does_not_retry_on_413": func(r *rig) { r.wantOneTry(413) },
	"error_handling.retries_on_408":        func(r *rig) { r.wantSecondTry(408) },
}

// wantOneTry sends an event; no second try may follow the answer's status.
func (r *rig) wantOneTry(status int) {
	r.Helper()
	r.send(statuses(status), 2*time.Second)
	r.wantRequests(1)
}

// wantSecondTry sends an event; a second try must follow the first answer's status.
func (r *rig) wantSecondTry(status int) {
	r.Helper()
	r.send(statuses(status, http.StatusOK), 5*time.Second)
	r.wantRequests(2)
	r.wantSuccess()
}

func (r *rig) wantBatch() {
	r.Helper()
	r.wantRequestsAtLeast(1)
	body := r.service.got()[0].body
	if _, found := body["api_key"].(string); !found {
		r.Error("no api_key at the root")
	}
	if _, found := body["batch"].([]any); !found {
		r.Error("no array batch at the root")
	}
}

func TestContract(t *testing.T) {
	if len(contract) != 30 {
		t.Errorf("%d tests, the harness has 30", len(contract))
	}
	for name, test := range contract {
		t.Run(name, func(t *testing.T) { inBubble(t, test) })
	}
}
