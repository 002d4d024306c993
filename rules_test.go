package hogapi

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/jsonb"
)

func people(ids ...string) (list []Event) {
	for _, id := range ids {
		list = append(list, like(by(id)))
	}
	return list
}

func ruleEncoder(p protocol, o GateOptions) *encoder {
	e := newEncoder(newGate(o, p, time.Now), newStamps("golden"), testEncoder(o).seed)
	return e
}

func encodedBy(t *testing.T, p protocol, o GateOptions, ev Event) string {
	t.Helper()
	out, refusal := ruleEncoder(p, o).encode(&ev)
	require.Nil(t, refusal)
	return string(out.wire)
}

// requireEffect encodes an event for each protocol.
func requireEffect(t *testing.T, want effects, o GateOptions, ev Event) {
	t.Helper()
	for p, want := range want {
		out, refusal := ruleEncoder(protocol(p), o).encode(&ev)
		if want.reason != "" {
			require.NotNil(t, refusal, "protocol %d: %s %s %s", p, ev.Name, ev.DistinctID, ev.RawProperties)
			assert.Equal(t, want.reason, refusal.Reason, "%v", refusal)
			continue
		}
		require.Nil(t, refusal, "protocol %d: %v", p, refusal)
		if want.warning != "" {
			assert.Contains(t, warningsOf(out), want.warning, "protocol %d: %s %s %s", p, ev.Name, ev.DistinctID, ev.RawProperties)
		}
	}
}

// requireNoEffect demands that the rule spares an event. It can have a fault of another rule.
func requireNoEffect(t *testing.T, never effects, o GateOptions, ev Event) {
	t.Helper()
	for p, never := range never {
		out, refusal := ruleEncoder(protocol(p), o).encode(&ev)
		if never.reason != "" {
			require.Nil(t, refusal, "protocol %d: %v", p, refusal)
		} else if refusal == nil && never.warning != "" {
			assert.NotContains(t, warningsOf(out), never.warning, "protocol %d: %s %s %s", p, ev.Name, ev.DistinctID, ev.RawProperties)
		}
	}
}

func warningsOf(out encoded) (list []Warning) {
	for w := range out.warn.all {
		list = append(list, w)
	}
	return list
}

// Each rule of the gate has its effect on the events that it is for, with each protocol, and none on those that are nearly such.
func TestGateRules(t *testing.T) {
	t.Parallel()
	for i, rule := range gateRules {
		require.Equal(t, fmt.Sprintf("G%d", i+1), rule.id, "the rules are complete and in order")
		t.Run(rule.id, func(t *testing.T) {
			t.Parallel()
			require.True(t, rule.other != nil || len(rule.hits) > 0 && len(rule.misses) > 0, "a positive and a negative test")
			for _, ev := range rule.hits {
				requireEffect(t, rule.want, rule.options, ev)
			}
			for _, ev := range rule.misses {
				requireNoEffect(t, rule.want, rule.options, ev)
			}
			if rule.other != nil {
				rule.other(t)
			}
		})
	}
	assert.Len(t, gateRules, 41)
}

// sourceOf is a source of events at places of their own.
func sourceOf(list ...Event) Source {
	return SourceFunc("rules", func(context.Context, Position) iter.Seq2[Event, error] {
		return func(yield func(Event, error) bool) {
			for i, ev := range list {
				ev.Position = Position{Offset: int64(i + 1)}
				if !yield(ev, nil) {
					return
				}
			}
		}
	})
}

// Check reports each rule, with where it was broken and what to do. It does not know the protocol: what capture v1 alone drops is a
// warning.
func TestCheckReportsEachRule(t *testing.T) {
	t.Parallel()
	for _, rule := range gateRules {
		want := rule.want[protocolUnknown]
		if want == (effect{}) {
			continue
		}
		t.Run(rule.id, func(t *testing.T) {
			t.Parallel()
			o := ImportOptions{ID: "golden", Gate: rule.options, MaxRejectShare: -1}
			report, err := Check(t.Context(), sourceOf(append([]Event{testEvent()}, rule.hits...)...), o)
			require.NoError(t, err)
			found, line := report.Warnings[want.warning], "warning, "+string(want.warning)
			if want.reason != "" {
				found, line = report.Reasons[want.reason], "refused, "+string(want.reason)
			} else {
				assert.Contains(t, report.String(), " ("+want.warning.Advice()+")")
			}
			assert.EqualValues(t, len(rule.hits), found.Count)
			assert.EqualValues(t, 2, found.Examples[0].Position.Offset)
			assert.Contains(t, report.String(), line)
		})
	}
}

// An event with several faults is refused for the first, and all are listed: in the error, in the report, in the reject file.
func TestAllFaultsAreListed(t *testing.T) {
	t.Parallel()
	bad := like(named("$$heatmap"), by("null"), having(`{"$groups":7}`), func(e *Event) { e.Timestamp = time.Time{} })
	bad.Position = Position{Offset: 7}
	_, refusal := ruleEncoder(protocolBatch, GateOptions{}).encode(&bad)
	require.NotNil(t, refusal)
	assert.Equal(t, ReasonDropped, refusal.Reason)
	require.Len(t, refusal.Also, 2)
	assert.Regexp(t, `^hogapi: event refused: dropped: event "\$\$heatmap": .*; also no_timestamp: timestamp: .*; also bad_special: properties.\$groups: .* \(at 7\)$`, refusal.Error())

	line, err := newReject(&bad, refusal).line(&jsonb.Encoder{}, rejectedBy{})
	require.NoError(t, err)
	assert.Contains(t, string(line), `"also":["no_timestamp: timestamp: want the time of the event","bad_special: properties.$groups: `)

	report, err := Check(t.Context(), sourceOf(bad), ImportOptions{ID: "golden", MaxRejectShare: -1})
	require.NoError(t, err)
	assert.EqualValues(t, 1, report.Refused)
	for _, reason := range []Reason{ReasonDropped, ReasonNoTimestamp, ReasonBadSpecial} {
		assert.EqualValues(t, 1, report.Reasons[reason].Count, reason)
		assert.Contains(t, report.String(), "refused, "+string(reason)+": 1")
	}
	assert.Len(t, report.Reasons, 3)
}

// The guide has a row for each rule, with the words that reports have for it.
func TestGuideHasEachRule(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("docs/historical-import.md")
	require.NoError(t, err)
	for _, rule := range gateRules {
		row := regexp.MustCompile(`(?m)^\| `+rule.id+` \|.*$`).FindAllString(string(guide), -1)
		require.Len(t, row, 1, rule.id)
		for _, want := range rule.want {
			for _, word := range []string{string(want.reason), string(want.warning)} {
				if word != "" {
					assert.Contains(t, row[0], "`"+word+"`")
				}
			}
		}
	}
	for _, w := range eventWarnings {
		assert.NotEmpty(t, w.Advice(), w)
		assert.True(t, strings.Contains(string(guide), "`"+string(w)+"`"), w) //nolint:testifylint // it would print the guide
	}
	assert.Empty(t, Warning("of tomorrow").Advice())
}

// G1: a record's sent_at is left out, since the service would shift the event's time by it.
func testSentAt(t *testing.T) {
	const event = `"event":"e","distinct_id":"ann","timestamp":"2024-05-01T12:30:00Z","properties":{"a":1}`
	for line, found := range map[string]bool{`{"sent_at":"2024-05-01T12:31:00Z",` + event + `}`: false, `{` + event + `}`: false, `{"offset":5,` + event + `}`: true} {
		ev, err := newLineParser().parse([]byte(line))
		if found {
			require.ErrorContains(t, err, "unknown key")
			continue
		}
		require.NoError(t, err)
		ev.UUID = testEvent().UUID
		wire := encodedBy(t, protocolBatch, GateOptions{}, ev)
		assert.NotContains(t, wire, "sent_at")
		assert.Contains(t, wire, `"timestamp":"2024-05-01T12:30:00Z"`)
	}
}

// G20: a project has room for five group types.
func testGroupTypes(t *testing.T) {
	e := ruleEncoder(protocolBatch, GateOptions{})
	find := func(ev Event) []Warning {
		out, refusal := e.encode(&ev)
		require.Nil(t, refusal)
		return warningsOf(out)
	}
	assert.Empty(t, find(carrying(`{"$groups":{"a":"1","b":"1","c":"1"}}`)))
	assert.Empty(t, find(as("$groupidentify", `{"$group_type":"d","$group_key":"1"}`)))
	assert.Empty(t, find(carrying(`{"$groups":{"a":"2","e":"1"},"$group_type":"no group"}`)))
	assert.Equal(t, []Warning{WarnGroupTypes}, find(carrying(`{"$groups":{"a":"2","f":"1"}}`)))
	assert.Equal(t, []Warning{WarnGroupTypes}, find(as("$groupidentify", `{"$group_type":"g","$group_key":"1"}`)))
	assert.Empty(t, find(as("$groupidentify", `{"$group_type":"e","$group_key":"1"}`)))

	var list []Event
	for i := range 7 {
		list = append(list, carrying(fmt.Sprintf(`{"$groups":{"type %d":"1"}}`, i)))
	}
	report, err := Check(t.Context(), sourceOf(list...), ImportOptions{ID: "golden"})
	require.NoError(t, err)
	assert.EqualValues(t, 2, report.Warnings[WarnGroupTypes].Count)
	assert.Contains(t, report.String(), "warning, group_types: 2 (")
}

// G31: a uuid goes out in its canonical form, whatever its form in the source. What is none is refused.
func testCanonicalUUID(t *testing.T) {
	for form, good := range map[string]bool{
		"461FC531-6209-5996-B1B1-A8AA997A6516": true, "461fc53162095996b1b1a8aa997a6516": true, "{461fc531-6209-5996-b1b1-a8aa997a6516}": true,
		"urn:uuid:461fc531-6209-5996-b1b1-a8aa997a6516": true, "461fc531-6209-5996-b1b1-a8aa997a651": false, "461fc531": false,
	} {
		ev, err := newLineParser().parse([]byte(`{"event":"e","distinct_id":"ann","timestamp":"2024-05-01T12:30:00Z","uuid":"` + form + `"}`))
		require.Equal(t, good, err == nil, form)
		if good {
			assert.Contains(t, encodedBy(t, protocolBatch, GateOptions{}, ev), `{"uuid":"461fc531-6209-5996-b1b1-a8aa997a6516"`)
		}
	}
}

// G32: Check finds two events of one uuid, and whether they could ever be merged.
func testUUIDConflict(t *testing.T) {
	second := like(func(e *Event) { e.Properties = map[string]any{"other": true} })
	report, err := Check(t.Context(), sourceOf(testEvent(), second, like(func(e *Event) { e.Timestamp = e.Timestamp.Add(-time.Hour) })), ImportOptions{ID: "golden"})
	require.NoError(t, err)
	assert.EqualValues(t, 2, report.DoubleUUIDs.Count)
	assert.Zero(t, report.Warnings[WarnUUIDConflict].Count, "one event, given again")
	report, err = Check(t.Context(), sourceOf(testEvent(), like(named("other")), like(by("bob")), like(func(e *Event) { e.Timestamp = e.Timestamp.Add(-20 * time.Hour) })), ImportOptions{ID: "golden"})
	require.NoError(t, err)
	assert.EqualValues(t, 3, report.DoubleUUIDs.Count)
	assert.EqualValues(t, 3, report.Warnings[WarnUUIDConflict].Count)
	assert.Contains(t, report.String(), "warning, uuid_conflict: 3 (")
}

// G36: an id for which the service would guess a type other than text is refused when the import starts.
func testImportIDs(t *testing.T) {
	for id, good := range map[string]bool{
		"": false, "2024": false, "-1.5e3": false, "true": false, "False": false, "2024-03-01": false, "01/03/2024": false, "2024-03-01T10:00:00Z": false,
		"hogapi-2024": true, "2024-mixpanel": true, "truest": true, "v1.2": true, "2024-03-01-mixpanel": true, "1e": true,
	} {
		_, err := Check(t.Context(), sourceOf(testEvent()), ImportOptions{ID: id})
		assert.Equal(t, good, err == nil, "%q: %v", id, err)
		if !good {
			require.ErrorIs(t, err, ErrInvalid)
		}
	}
}

// G40: over capture v1 a source's own $lib is kept as $import_lib, unless it has that too.
func testOwnLib(t *testing.T) {
	wire := encodedBy(t, protocolV1, GateOptions{}, carrying(`{"$lib":"web"}`))
	assert.Contains(t, wire, `"$import_lib":"web"`)
	assert.True(t, json.Valid([]byte(wire)))
	assert.Contains(t, encodedBy(t, protocolV1, GateOptions{}, carrying(`{"$lib":"web","$import_lib":"ios"}`)), `"$import_lib":"ios"`)
	assert.NotContains(t, encodedBy(t, protocolV1, GateOptions{}, carrying(`{"$lib":"web","$import_lib":"ios"}`)), `"$import_lib":"web"`)
	assert.NotContains(t, encodedBy(t, protocolV1, GateOptions{}, testEvent()), "$import_lib")
	assert.NotContains(t, encodedBy(t, protocolBatch, GateOptions{}, carrying(`{"$lib":"web"}`)), "$import_lib")
}

// HeatmapStrip removes what the service makes heatmap rows of, and nothing else. It is counted.
func TestHeatmapStrip(t *testing.T) {
	t.Parallel()
	o := GateOptions{Heatmaps: HeatmapStrip}
	for properties, want := range map[string]string{
		`{"a":1,"$heatmap_data":{"x":[1]},"z":2}`:                                             `{"a":1,"z":2}`,
		`{"$heatmap_data":1,"$prev_pageview_pathname":"/a"}`:                                  `{"$prev_pageview_pathname":"/a"}`,
		`{"$prev_pageview_pathname":"/a","$current_url":"u","$prev_pageview_max_scroll":0.5}`: `{"import_prev_pageview_pathname":"/a","$current_url":"u","$prev_pageview_max_scroll":0.5}`,
		`{"$current_url":"u","$heatmap_data":1,"$prev_pageview_pathname":null}`:               `{"$current_url":"u","import_prev_pageview_pathname":null}`,
		`{"$heatmap_data":1,"$set":{"a":1}}`:                                                  `{"$set":{"a":1}}`,
	} {
		for _, change := range []func(*Event){having(properties), func(e *Event) {
			e.Properties = map[string]any{}
			require.NoError(t, json.Unmarshal([]byte(properties), &e.Properties))
		}} {
			ev := like(change)
			out, refusal := ruleEncoder(protocolBatch, o).encode(&ev)
			require.Nil(t, refusal)
			assert.Equal(t, []Warning{WarnHeatmapStrip}, warningsOf(out))
			var wire struct{ Properties map[string]any }
			require.NoError(t, json.Unmarshal(out.wire, &wire))
			for _, ours := range []string{"distinct_id", "$lib", "$lib_version", "$geoip_disable", "$import_job_id"} {
				delete(wire.Properties, ours)
			}
			got, err := json.Marshal(wire.Properties)
			require.NoError(t, err)
			assert.JSONEq(t, want, string(got))
		}
	}
	untouched := carrying(`{"$prev_pageview_pathname":"/a"}`)
	out, refusal := ruleEncoder(protocolBatch, o).encode(&untouched)
	require.Nil(t, refusal)
	assert.Empty(t, warningsOf(out))

	both := carrying(`{"$prev_pageview_pathname":"/a","$current_url":"u","import_prev_pageview_pathname":"/b"}`)
	_, refusal = ruleEncoder(protocolBatch, o).encode(&both)
	require.NotNil(t, refusal, "neither value may be lost")
	require.ErrorContains(t, refusal, "import_prev_pageview_pathname")
	require.Error(t, GateOptions{Heatmaps: 2}.check(OpImport))
}
