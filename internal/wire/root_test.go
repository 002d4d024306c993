package wire_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/internal/wire/wiretest"
)

// Capture v1 events have some properties at the root instead, and lose nothing else. A value that
// capture v1 would refuse at the root stays a property.
func TestEventsOfCaptureV1(t *testing.T) {
	const stamps = `"$geoip_disable":true,"$import_job_id":"golden"`
	for name, c := range map[string]struct{ properties, root, kept string }{
		"none":            {`{}`, `"options":{"disable_skew_correction":true}`, stamps},
		"ordinary":        {`{"a":1}`, `"options":{"disable_skew_correction":true}`, `"a":1,` + stamps},
		"the distinct id": {`{"distinct_id":"user-1","a":1}`, `"options":{"disable_skew_correction":true}`, `"a":1,` + stamps},
		"alone":           {`{"distinct_id":"user-1"}`, `"options":{"disable_skew_correction":true}`, stamps},
		"a session": {
			`{"$session_id":"0190c0de-0000-7000-8000-000000000001","a":1,"$window_id":"w"}`,
			`"session_id":"0190c0de-0000-7000-8000-000000000001","window_id":"w","options":{"disable_skew_correction":true}`, `"a":1,` + stamps,
		},
		"a session of another type": {`{"$session_id":5,"$window_id":null}`, `"options":{"disable_skew_correction":true}`, `"$session_id":5,"$window_id":null,` + stamps},
		"options": {
			`{"$product_tour_id":"t","$process_person_profile":false,"$cookieless_mode":false,"$ignore_sent_at":false}`,
			`"options":{"disable_skew_correction":true,"product_tour_id":"t","process_person_profile":false,"cookieless_mode":false}`, stamps,
		},
		"an option of another type": {`{"$product_tour_id":7}`, `"options":{"disable_skew_correction":true}`, `"$product_tour_id":7,` + stamps},
		"a library":                 {`{"$lib":"web","$lib_version":"1"}`, `"options":{"disable_skew_correction":true}`, `"$import_lib":"web","$import_lib_version":"1",` + stamps},
		"two libraries":             {`{"$lib":"web","$import_lib":"ios"}`, `"options":{"disable_skew_correction":true}`, `"$lib":"web","$import_lib":"ios",` + stamps},
		"stamps of its own":         {`{"$geoip_disable":false,"$import_job_id":"golden"}`, `"options":{"disable_skew_correction":true}`, `"$geoip_disable":false,"$import_job_id":"golden"`},
	} {
		t.Run(name, func(t *testing.T) {
			want := `{"uuid":"461fc531-6209-5996-b1b1-a8aa997a6516","event":"$pageview","timestamp":"2024-02-29T18:29:59.123456789Z",` +
				`"distinct_id":"user-1",` + c.root + `,"properties":{` + c.kept + `}}`
			require.True(t, json.Valid([]byte(want)))
			assert.Equal(t, want, encodedBy(t, event.ProtocolV1, wire.Rules{}, wiretest.Carrying(c.properties)))

			fields := wiretest.Carrying(c.properties)
			fields.RawProperties, fields.Properties = nil, map[string]any{}
			require.NoError(t, json.Unmarshal([]byte(c.properties), &fields.Properties))
			assert.JSONEq(t, want, encodedBy(t, event.ProtocolV1, wire.Rules{}, fields), "from a map")

			var ev struct {
				Event      string
				DistinctID string `json:"distinct_id"`
				Timestamp  time.Time
				UUID       uuid.UUID
				Properties json.RawMessage
			}
			require.NoError(t, json.Unmarshal(wire.Lower([]byte(want)), &ev))
			again := wire.Fields{Name: ev.Event, DistinctID: ev.DistinctID, Timestamp: ev.Timestamp, UUID: ev.UUID, RawProperties: ev.Properties}
			assert.JSONEq(t, want, encodedBy(t, event.ProtocolV1, wire.Rules{}, again), "as a line of a file, and sent again")
		})
	}
	fields := wiretest.Event(func(f *wire.Fields) { f.Properties, f.Set = nil, map[string]any{"plan": "pro"} })
	assert.Contains(t, encodedBy(t, event.ProtocolV1, wire.Rules{}, fields), `"properties":{`+stamps+`,"$set":{"plan":"pro"}}}`)
}
