package wire_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/jsonb"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/internal/wire/wiretest"
)

// FuzzEvent: encoding/json reads exactly the given event from its encoding, in both forms of its
// properties, or the event is refused for a cause that this test finds without the gate.
func FuzzEvent(f *testing.F) {
	for _, properties := range []string{
		`{}`, `{"a":1.50,"b":[null,true,"\u00e9\/"],"c":{"d":-0.0}}`, `{"distinct_id":"p","$lib":"own"}`, `{"distinct_id":12345678901234567890}`, `{"distinct_id":"other"}`,
		`{"$set":{"a":1},"$set_once":{}}`, `{"$set":7}`, `{"$group_type":"c","$group_key":"k","alias":"x"}`, `{"a":1,"a":2}`, `{"n":1e999}`, `{"s":"\ud800"}`, `[1]`, `{`, ``,
	} {
		for _, name := range []string{"order placed", "$set", "$identify", "$create_alias", "$groupidentify"} {
			f.Add(name, "p", []byte(properties), int64(1_700_000_000), int64(123456789), []byte("0123456789abcdef"), uint8(0))
		}
	}
	f.Add("a\xff", " ", []byte(`{}`), int64(-62135596800), int64(0), []byte(nil), uint8(1))
	f.Add(strings.Repeat("\u00e4", 201), "null", []byte(`{"$import_job_id":null}`), int64(253402300800), int64(-1), bytes.Repeat([]byte{0xff}, 16), uint8(2))
	f.Fuzz(func(t *testing.T, name, person string, properties []byte, seconds, nanos int64, id []byte, policy uint8) {
		ev := wire.Fields{Name: name, DistinctID: person, Timestamp: time.Unix(seconds, nanos), RawProperties: properties, Set: map[string]any{"set": name}}
		copy(ev.UUID[:], id)
		if len(properties) == 0 {
			ev.RawProperties = nil
		}
		if policy&4 == 0 {
			ev.Set = nil
		}
		e := testEncoder(wire.Rules{PersonPolicy: event.PersonPolicy(policy % 3)})
		out, refusal := e.Encode(&ev)
		if refusal != nil {
			require.True(t, hasFault(&ev, event.PersonPolicy(policy%3)), "%v: %+v", refusal, ev)
			return
		}
		sent := string(out.Wire)
		checkWire(t, &ev, out, event.PersonPolicy(policy%3))
		again, refusal := testEncoder(wire.Rules{PersonPolicy: event.PersonPolicy(policy % 3)}).Encode(&ev)
		require.Nil(t, refusal)
		require.Equal(t, sent, string(again.Wire), "the same on every send")
		if ev.RawProperties != nil {
			decoder := json.NewDecoder(bytes.NewReader(properties))
			decoder.UseNumber()
			require.NoError(t, decoder.Decode(&ev.Properties))
			ev.RawProperties = nil
			asMap, refusal := e.Encode(&ev)
			require.Nil(t, refusal)
			require.Equal(t, loose(t, []byte(sent)), loose(t, asMap.Wire), "as a map")
		}
	})
}

// checkWire compares the wire with the event.
func checkWire(t *testing.T, f *wire.Fields, out *wire.Encoded, policy event.PersonPolicy) {
	t.Helper()
	var sent struct {
		UUID       uuid.UUID
		Event      string
		Timestamp  time.Time
		DistinctID string `json:"distinct_id"`
		Properties map[string]any
	}
	d := json.NewDecoder(bytes.NewReader(out.Wire))
	d.UseNumber()
	d.DisallowUnknownFields()
	require.NoError(t, d.Decode(&sent))
	require.Equal(t, f.UUID, sent.UUID)
	require.Equal(t, f.Name, sent.Event)
	require.True(t, f.Timestamp.Equal(sent.Timestamp))
	require.True(t, strings.Contains(string(out.Wire), `Z","distinct_id":`), "in UTC")
	want := map[string]any{}
	if f.RawProperties != nil {
		want, _ = loose(t, f.RawProperties).(map[string]any)
	}
	if f.DistinctID != "" {
		require.Equal(t, f.DistinctID, sent.DistinctID)
	}
	stamps := map[string]any{"$lib": "hogapi-go", "$lib_version": wiretest.Version, "$geoip_disable": true, "$import_job_id": "golden", "distinct_id": sent.DistinctID}
	for key, value := range stamps {
		if _, own := want[key]; !own {
			want[key] = value
		}
	}
	if policy == event.PersonPolicyKeep && f.Set != nil {
		want["$set"] = f.Set
	}
	if policy != event.PersonPolicyKeep { // the policy has its own tests
		for _, key := range []string{"$set", "$set_once"} {
			delete(want, key)
			delete(sent.Properties, key)
		}
	}
	require.Equal(t, want, sent.Properties)
}

// hasFault finds the causes of a refusal without the gate's code. It does not distinguish them.
func hasFault(f *wire.Fields, policy event.PersonPolicy) bool {
	year := f.Timestamp.UTC().Year()
	runes := utf8.RuneCountInString
	switch {
	case slices.Contains([]string{"", "$performance_event", "$$heatmap", "$$client_ingestion_warning"}, f.Name) || len(utf16.Encode([]rune(f.Name))) > 200 || !utf8.ValidString(f.Name):
		return true
	case f.Timestamp.IsZero() || year < 1900 || year > 2299 || wiretest.Now.Sub(f.Timestamp) < 48*time.Hour:
		return true
	case f.UUID != uuid.Nil && f.UUID[8]&0xc0 != 0x80:
		return true
	case runes(f.DistinctID) > 200 || !utf8.ValidString(f.DistinctID) || len(f.RawProperties) > 400_000:
		return true
	}
	members := map[string]json.RawMessage{}
	if f.RawProperties != nil {
		if jsonb.Object(f.RawProperties, nil) != nil || json.Unmarshal(f.RawProperties, &members) != nil { // which have oracles of their own
			return true
		}
	}
	own, given := members["distinct_id"]
	var text string
	if given && json.Unmarshal(own, &text) != nil {
		text = string(own)
		given = strings.Trim(text, "-0123456789") == ""
		if !given {
			return true
		}
	}
	id := f.DistinctID
	if id == "" {
		id = text
	}
	if strings.TrimSpace(id) == "" || strings.Contains(id, "\x00") || runes(id) > 200 || given && id != text {
		return true
	}
	for key, value := range members {
		switch key {
		case "$set", "$set_once", "$process_person_profile", "$cookieless_mode":
			if value[0] != '{' || f.Set != nil || policy == event.PersonPolicySetOnce {
				return true
			}
		}
	}
	return f.Name == wire.EventAlias || f.Name == "$merge_dangerously" || f.Name == wire.EventGroupIdentify
}

// loose decodes a JSON text with encoding/json and keeps the digits of numbers.
func loose(t *testing.T, text []byte) (v any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	require.NoError(t, d.Decode(&v))
	return v
}

// Notes taken while a line is read replace a second reading of the properties, for any properties.
func FuzzNotedProperties(f *testing.F) {
	for _, properties := range []string{
		`{}`, `null`, `{"a":1}`, ` { "distinct_id" : "ann" , "$lib":"web"}`, `{"a":1,"a":2}`, `{"$set":{"x":1},"$set_once":{}}`, `{"\u0024set":1}`,
		`{"a":{"$lib":"x"}}`, `[1]`, `{"distinct_id":7,"$geoip_disable":false}`, `{"$process_person_profile":"no"}`, `{"a":"\ud800"}`,
		`{"$heatmap_data":1,"$session_id":"x"}`, `{"$current_url":"u","$prev_pageview_pathname":"/"}`, `{"$groups":{"a":1},"$unset":[]}`, `{"$window_id":7,"$import_job_id":"x"}`,
	} {
		f.Add([]byte(`{"event":"e","distinct_id":"ann","timestamp":"2024-05-01T12:30:00Z","properties":`+properties+`}`), uint8(0))
		f.Add([]byte(`{"event":"$set","timestamp":"2024-05-01T12:30:00Z","properties":`+properties+`,"$set":{}}`), uint8(event.PersonPolicyStrip))
	}
	f.Fuzz(func(t *testing.T, line []byte, policy uint8) {
		o := wire.Rules{PersonPolicy: event.PersonPolicy(policy % 3), StripHeatmaps: policy/3%2 == 1}
		trusting, doubting := testEncoder(o), testEncoder(o)
		parser := newParser()
		for range 2 { // no note of an earlier event may remain
			fields, err := parser.Parse(line)
			if err != nil {
				return
			}
			got, gotRefusal := trusting.Encode(fields)
			fields.Noted = nil
			want, wantRefusal := doubting.Encode(fields)
			require.Equal(t, wantRefusal, gotRefusal)
			if wantRefusal == nil {
				require.Equal(t, string(want.Wire), string(got.Wire))
				require.Equal(t, want.Warnings, got.Warnings)
			}
		}
	})
}
