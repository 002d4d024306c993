package wire_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hogapi/hogapi/event"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/internal/wire/wiretest"
)

func ruleEncoder(p event.Protocol, rules wire.Rules) *wire.Encoder {
	rules.Protocol = p
	return wiretest.Encoder(rules)
}

func encodedBy(t *testing.T, p event.Protocol, rules wire.Rules, f wire.Fields) string {
	t.Helper()
	out, refusal := ruleEncoder(p, rules).Encode(&f)
	require.Nil(t, refusal)
	return string(out.Wire)
}

func requireEffect(t *testing.T, want wiretest.Effects, o wire.Rules, f wire.Fields) {
	t.Helper()
	for p, want := range want {
		out, refusal := ruleEncoder(wiretest.Protocols[p], o).Encode(&f)
		if want.Reason != "" {
			require.NotNil(t, refusal, "protocol %d: %s %s %s", p, f.Name, f.DistinctID, f.RawProperties)
			assert.Equal(t, want.Reason, refusal.Reason, "%v", refusal)
			continue
		}
		require.Nil(t, refusal, "protocol %d: %v", p, refusal)
		if want.Warning != "" {
			assert.Contains(t, warningsOf(out), want.Warning, "protocol %d: %s %s %s", p, f.Name, f.DistinctID, f.RawProperties)
		}
	}
}

// requireNoEffect demands that the rule does not touch an event. Another rule may refuse it.
func requireNoEffect(t *testing.T, never wiretest.Effects, o wire.Rules, f wire.Fields) {
	t.Helper()
	for p, never := range never {
		out, refusal := ruleEncoder(wiretest.Protocols[p], o).Encode(&f)
		if never.Reason != "" {
			require.Nil(t, refusal, "protocol %d: %v", p, refusal)
		} else if refusal == nil && never.Warning != "" {
			assert.NotContains(t, warningsOf(out), never.Warning, "protocol %d: %s %s %s", p, f.Name, f.DistinctID, f.RawProperties)
		}
	}
}

// otherTests cover rules about more than a single event. Only a check applies G32.
var otherTests = map[string]func(*testing.T){
	"G1": testSentAt, "G2": testTimeStays, "G20": testGroupTypes, "G31": testCanonicalUUID, "G36": testImportIDs,
	"G41": testYoungEvents,
	"G13": func(t *testing.T) {
		allowed := encodedBy(t, event.ProtocolBatch, wire.Rules{AllowMergeDangerously: true}, wiretest.As("$merge_dangerously", `{"alias":"a"}`))
		assert.Contains(t, allowed, `"alias":"a"`)
	},
	"G40": func(t *testing.T) { // with capture v1 a source's own $lib is kept: see TestEventsOfCaptureV1
		assert.NotContains(t, encodedBy(t, event.ProtocolBatch, wire.Rules{}, wiretest.Carrying(`{"$lib":"web"}`)), "$import_lib")
	},
	"G26": func(t *testing.T) { // over 200 characters /batch/ cuts it, so both protocols refuse it
		for p := range 3 {
			long := wiretest.Event(wiretest.By(strings.Repeat("é", 201)))
			_, refusal := ruleEncoder(wiretest.Protocols[p], wire.Rules{}).Encode(&long)
			require.NotNil(t, refusal)
			assert.Equal(t, event.ReasonTooLong, refusal.Reason)
		}
	},
}

// Each rule of the gate has its effect on its events with each protocol, and no effect on events
// that narrowly miss it.
func TestGateRules(t *testing.T) {
	t.Parallel()
	for i, rule := range wiretest.Rules {
		require.Equal(t, fmt.Sprintf("G%d", i+1), rule.ID, "the rules are complete and in order")
		t.Run(rule.ID, func(t *testing.T) {
			t.Parallel()
			other := otherTests[rule.ID]
			require.True(t, other != nil || rule.ID == "G32" || len(rule.Hits) > 0 && len(rule.Misses) > 0, "a positive and a negative test")
			for _, f := range rule.Hits {
				requireEffect(t, rule.Want, rule.Settings, f)
			}
			for _, f := range rule.Misses {
				requireNoEffect(t, rule.Want, rule.Settings, f)
			}
			if other != nil {
				other(t)
			}
		})
	}
	assert.Len(t, wiretest.Rules, 46)
}

// G1: a record's sent_at is left out, since the service would shift the event's time by it.
func testSentAt(t *testing.T) {
	const rest = `"event":"e","distinct_id":"ann","timestamp":"2024-05-01T12:30:00Z","properties":{"a":1}`
	for line, found := range map[string]bool{`{"sent_at":"2024-05-01T12:31:00Z",` + rest + `}`: false, `{` + rest + `}`: false, `{"offset":5,` + rest + `}`: true} {
		f, err := newParser().Parse([]byte(line))
		if found {
			require.ErrorContains(t, err, "unknown key")
			continue
		}
		require.NoError(t, err)
		f.UUID = wiretest.Event().UUID
		sent := encodedBy(t, event.ProtocolBatch, wire.Rules{}, *f)
		assert.NotContains(t, sent, "sent_at")
		assert.Contains(t, sent, `"timestamp":"2024-05-01T12:30:00Z"`)
	}
}

// G2: nothing shifts the time of an event.
func testTimeStays(t *testing.T) {
	for _, p := range []event.Protocol{event.ProtocolBatch, event.ProtocolAuto} {
		out := encodedBy(t, p, wire.Rules{}, wiretest.Event())
		assert.NotContains(t, out, "disable_skew_correction")
		assert.Contains(t, out, `"timestamp":"2024-02-29T18:29:59.123456789Z"`)
	}
}

// G36: an id that the service would not take for text is refused.
func testImportIDs(t *testing.T) {
	for id, good := range map[string]bool{
		"golden": true, "2024-05-01T10:00:00.nightly": false, "2024-05-01T10:00:00Zrun2": false, `a\b`: false, `a"b`: false, "null": false, "nullable": true,
		"2024": false, "2024-03-01": false, "v1.2": true, "a b": false, strings.Repeat("a", 201): false,
	} {
		assert.Equal(t, good, wire.WantImportID(id) == "", id)
	}
}

// G41: events from the future or less than 48 hours old are refused.
func testYoungEvents(t *testing.T) {
	for age, reason := range map[time.Duration]event.Reason{-time.Second: event.ReasonFuture, 48*time.Hour - time.Second: event.ReasonTooYoung, 48 * time.Hour: ""} {
		f := wiretest.Event()
		f.Timestamp = wiretest.Now.Add(-age)
		e := wiretest.Effect{Reason: reason}
		requireEffect(t, wiretest.Effects{e, e, e}, wire.Rules{}, f)
	}
	_, err := newParser().Parse([]byte(`{"event":"e","distinct_id":"a","timestamp":"yesterday"}`))
	require.ErrorContains(t, err, "timestamp")
}

// G20: a project has room for five group types.
func testGroupTypes(t *testing.T) {
	e := ruleEncoder(event.ProtocolBatch, wire.Rules{})
	find := func(f wire.Fields) []event.Warning {
		out, refusal := e.Encode(&f)
		require.Nil(t, refusal)
		return warningsOf(out)
	}
	assert.Empty(t, find(wiretest.Carrying(`{"$groups":{"a":"1","b":"1","c":"1"}}`)))
	assert.Empty(t, find(wiretest.As("$groupidentify", `{"$group_type":"d","$group_key":"1"}`)))
	assert.Empty(t, find(wiretest.Carrying(`{"$groups":{"a":"2","e":"1"},"$group_type":"no group"}`)))
	assert.Equal(t, []event.Warning{event.WarningGroupTypes}, find(wiretest.Carrying(`{"$groups":{"a":"2","f":"1"}}`)))
	assert.Equal(t, []event.Warning{event.WarningGroupTypes}, find(wiretest.As("$groupidentify", `{"$group_type":"g","$group_key":"1"}`)))
	assert.Empty(t, find(wiretest.As("$groupidentify", `{"$group_type":"e","$group_key":"1"}`)))
}

// G31: a uuid in any form is sent in its canonical form. Other texts are refused.
func testCanonicalUUID(t *testing.T) {
	for form, good := range map[string]bool{
		"461FC531-6209-5996-B1B1-A8AA997A6516": true, "461fc53162095996b1b1a8aa997a6516": true, "{461fc531-6209-5996-b1b1-a8aa997a6516}": true,
		"urn:uuid:461fc531-6209-5996-b1b1-a8aa997a6516": true, "461fc531-6209-5996-b1b1-a8aa997a651": false, "461fc531": false,
	} {
		f, err := newParser().Parse([]byte(`{"event":"e","distinct_id":"ann","timestamp":"2024-05-01T12:30:00Z","uuid":"` + form + `"}`))
		require.Equal(t, good, err == nil, form)
		if good {
			assert.Contains(t, encodedBy(t, event.ProtocolBatch, wire.Rules{}, *f), `{"uuid":"461fc531-6209-5996-b1b1-a8aa997a6516"`)
		}
	}
}

// StripHeatmaps removes only the properties that produce heatmap rows, and counts the events.
func TestStripHeatmaps(t *testing.T) {
	t.Parallel()
	o := wire.Rules{StripHeatmaps: true}
	for properties, want := range map[string]string{
		`{"a":1,"$heatmap_data":{"x":[1]},"z":2}`:                                             `{"a":1,"z":2}`,
		`{"$heatmap_data":1,"$prev_pageview_pathname":"/a"}`:                                  `{"$prev_pageview_pathname":"/a"}`,
		`{"$prev_pageview_pathname":"/a","$current_url":"u","$prev_pageview_max_scroll":0.5}`: `{"import_prev_pageview_pathname":"/a","$current_url":"u","$prev_pageview_max_scroll":0.5}`,
		`{"$current_url":"u","$heatmap_data":1,"$prev_pageview_pathname":null}`:               `{"$current_url":"u","import_prev_pageview_pathname":null}`,
		`{"$heatmap_data":1,"$set":{"a":1}}`:                                                  `{"$set":{"a":1}}`,
	} {
		for _, change := range []func(*wire.Fields){wiretest.Having(properties), func(e *wire.Fields) {
			e.Properties = map[string]any{}
			require.NoError(t, json.Unmarshal([]byte(properties), &e.Properties))
		}} {
			f := wiretest.Event(change)
			out, refusal := ruleEncoder(event.ProtocolBatch, o).Encode(&f)
			require.Nil(t, refusal)
			assert.Equal(t, []event.Warning{event.WarningStripHeatmaps}, warningsOf(out))
			var sent struct{ Properties map[string]any }
			require.NoError(t, json.Unmarshal(out.Wire, &sent))
			for _, ours := range []string{"distinct_id", "$lib", "$lib_version", "$geoip_disable", "$import_job_id"} {
				delete(sent.Properties, ours)
			}
			got, err := json.Marshal(sent.Properties)
			require.NoError(t, err)
			assert.JSONEq(t, want, string(got))
		}
	}
	untouched := wiretest.Carrying(`{"$prev_pageview_pathname":"/a"}`)
	out, refusal := ruleEncoder(event.ProtocolBatch, o).Encode(&untouched)
	require.Nil(t, refusal)
	assert.Empty(t, warningsOf(out))

	both := wiretest.Carrying(`{"$prev_pageview_pathname":"/a","$current_url":"u","import_prev_pageview_pathname":"/b"}`)
	_, refusal = ruleEncoder(event.ProtocolBatch, o).Encode(&both)
	require.NotNil(t, refusal, "neither value may be lost")
	require.ErrorContains(t, refusal, "import_prev_pageview_pathname")
}
