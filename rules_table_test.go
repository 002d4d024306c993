package hogapi

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// effect is what a rule does to an event: it refuses it, warns of it, or nothing.
type effect struct {
	reason  Reason
	warning Warning
}

// effects are those of a rule by protocol.
type effects [3]effect

func always(e effect) effects       { return effects{e, e, e} }
func refuses(reason Reason) effects { return always(effect{reason: reason}) }
func warns(warning Warning) effects { return always(effect{warning: warning}) }
func (e effects) on(p protocol, of effect) effects {
	e[p] = of
	return e
}

// gateRule is one rule of the gate, with events that it is for and events that are nearly such.
type gateRule struct {
	id           string
	want         effects
	options      GateOptions
	hits, misses []Event
	other        func(t *testing.T) // for rules that are not about a single event
}

// like is the event of the tests, changed.
func like(changes ...func(*Event)) Event {
	ev := testEvent()
	for _, change := range changes {
		change(&ev)
	}
	return ev
}

func named(name string) func(*Event) { return func(e *Event) { e.Name = name } }

func by(person string) func(*Event) { return func(e *Event) { e.DistinctID = person } }

// having sets the properties, as JSON.
func having(properties string) func(*Event) {
	return func(e *Event) { e.Properties, e.RawProperties = nil, json.RawMessage(properties) }
}

// as makes a named event with properties.
func as(name, properties string) Event { return like(named(name), having(properties)) }

func carrying(properties string) Event { return like(having(properties)) }

func group(properties string) Event {
	return as("$groupidentify", `{"$group_type":"company"`+properties+`}`)
}

func v7(at time.Time) func(*Event) {
	return func(e *Event) {
		ms := uint64(at.UnixMilli())
		for i := range 6 {
			e.UUID[i] = byte(ms >> (40 - 8*i))
		}
		e.UUID[6] = 0x70
	}
}

var gateRules = []gateRule{
	{id: "G1", other: testSentAt},
	{id: "G2", other: func(t *testing.T) { // nothing for /batch/
		for _, p := range []protocol{protocolBatch, protocolUnknown} {
			out := encodedBy(t, p, GateOptions{}, testEvent())
			assert.NotContains(t, out, "disable_skew_correction")
			assert.Contains(t, out, `"timestamp":"2024-02-29T18:29:59.123456789Z"`)
		}
	}},
	{id: "G3", want: refuses(ReasonDropped), hits: []Event{like(named("$performance_event"))}, misses: []Event{like(named("$performance"))}},
	{id: "G4", want: refuses(ReasonDropped),
		hits:   []Event{like(named("$$heatmap")), like(named("$$client_ingestion_warning"))},
		misses: []Event{like(named("$heatmap")), like(named("$$heatmaps"))}},
	{id: "G5", want: warns(WarnHeatmap),
		hits:   []Event{carrying(`{"$heatmap_data":null}`), carrying(`{"$prev_pageview_pathname":"/a","$current_url":"https://b"}`)},
		misses: []Event{carrying(`{"$prev_pageview_pathname":"/a"}`), carrying(`{"$current_url":"https://b"}`), carrying(`{"x":{"$heatmap_data":1}}`)}},
	{id: "G6", want: warns(WarnAIEvent), hits: []Event{like(named("$ai_generation")), like(named("$ai_"))}, misses: []Event{like(named("$ai")), like(named("ai_x"))}},
	{id: "G7", want: warns(WarnException), hits: []Event{like(named("$exception"))}, misses: []Event{like(named("exception")), like(named("$exceptions"))}},
	{id: "G8", want: warns(WarnFlagCalled), hits: []Event{like(named("$feature_flag_called"))}, misses: []Event{like(named("feature_flag_called"))}},
	{id: "G9", want: warns(WarnSuspectID), hits: people("NULL", " null ", "Anonymous", `"null"`, `'0'`, "nan", "uNdEfInEd", "system", "backend", uuid.Nil.String()),
		misses: people("nil", "01", "nope", `"NULL"`, `'null"`, "null1", `"`, `"system"`)},
	{id: "G10", want: refuses(ReasonBadMerge),
		hits: []Event{
			as("$identify", `{"$anon_distinct_id":null}`), as("$identify", `{"$anon_distinct_id":""}`), as("$identify", `{"$anon_distinct_id":" "}`),
			as("$identify", `{"$anon_distinct_id":"GUEST"}`), as("$create_alias", `{"alias":"[object Object]"}`), as("$create_alias", `{"alias":"\"None\""}`),
			like(named("$create_alias"), having(`{"alias":"a"}`), by("null")), like(named("$identify"), having(`{"$anon_distinct_id":"a"}`), by("False")),
		},
		misses: []Event{
			as("$identify", `{"$anon_distinct_id":"NULL"}`), as("$identify", `{"$anon_distinct_id":" null "}`), as("$identify", `{}`), as("$identify", `{"alias":"null"}`),
			like(named("$identify"), by("null")), as("$create_alias", `{"alias":"nan"}`), as("e", `{"alias":"null","$anon_distinct_id":null}`),
		}},
	{id: "G11", want: refuses(ReasonBadSpecial),
		hits: []Event{
			as("$identify", `{"$anon_distinct_id":5}`), as("$identify", `{"$anon_distinct_id":{}}`), as("$identify", `{"alias":true}`),
			as("$create_alias", `{"alias":5}`), as("$create_alias", `{"alias":"a","$anon_distinct_id":[1]}`), as("$merge_dangerously", `{"alias":1}`),
		},
		misses: []Event{as("$identify", `{"$anon_distinct_id":"5"}`), as("$identify", `{"alias":null}`), as("$create_alias", `{"alias":"5"}`), as("e", `{"alias":5}`)}},
	{id: "G12", want: refuses(ReasonBadSpecial), options: GateOptions{AllowMergeDangerously: true},
		hits:   []Event{as("$create_alias", `{}`), as("$create_alias", `{"alias":""}`), as("$merge_dangerously", `{"alias":null}`)},
		misses: []Event{as("$create_alias", `{"alias":"a"}`), as("$merge_dangerously", `{"alias":"a"}`), as("$identify", `{}`)}},
	{id: "G13", want: refuses(ReasonDangerousMerge), hits: []Event{as("$merge_dangerously", `{"alias":"a"}`)},
		misses: []Event{as("$create_alias", `{"alias":"a"}`)}, other: func(t *testing.T) {
			assert.Contains(t, encodedBy(t, protocolBatch, GateOptions{AllowMergeDangerously: true}, as("$merge_dangerously", `{"alias":"a"}`)), `"alias":"a"`)
		}},
	{id: "G14", want: warns(WarnSelfMerge),
		hits:   []Event{as("$create_alias", `{"alias":"user-1"}`), as("$identify", `{"$anon_distinct_id":"user\u002d1"}`)},
		misses: []Event{as("$create_alias", `{"alias":"user-2"}`), as("e", `{"alias":"user-1"}`)}},
	{id: "G15", want: refuses(ReasonBadSpecial),
		hits: []Event{
			group(``), group(`,"$group_key":""`), group(`,"$group_key":0`), group(`,"$group_key":0.0`), group(`,"$group_key":false`), group(`,"$group_key":null`),
			as("$groupidentify", `{"$group_key":"acme"}`), as("$groupidentify", `{"$group_key":"acme","$group_type":0}`), as("$groupidentify", `{"$group_key":"acme","$group_type":""}`),
		},
		misses: []Event{group(`,"$group_key":"0"`), group(`,"$group_key":"acme"`), as("$group_identify", `{}`)}},
	{id: "G16", want: refuses(ReasonBadSpecial),
		hits:   []Event{group(`,"$group_key":"` + strings.Repeat("a", 401) + `"`), group(`,"$group_key":"` + strings.Repeat("𝄞", 201) + `"`)},
		misses: []Event{group(`,"$group_key":"` + strings.Repeat("é", 400) + `"`), group(`,"$group_key":"` + strings.Repeat("𝄞", 200) + `"`), as("e", `{"$group_key":"`+strings.Repeat("a", 401)+`"}`)}},
	{id: "G17", want: warns(WarnGroupKeyNumber),
		hits:   []Event{group(`,"$group_key":5`), group(`,"$group_key":-1.5e3`), carrying(`{"$groups":{"company":17}}`), carrying(`{"$groups":{"a":"b","company":-1}}`)},
		misses: []Event{group(`,"$group_key":"5"`), carrying(`{"$groups":{"company":"17"}}`), carrying(`{"$groups":{}}`), carrying(`{"$group_key":5}`)}},
	{id: "G18", want: refuses(ReasonBadSpecial), hits: []Event{group(`,"$group_key":"a","$group_set":[]`), group(`,"$group_key":"a","$group_set":"x"`)},
		misses: []Event{group(`,"$group_key":"a","$group_set":{}`), group(`,"$group_key":"a","$group_set":null`)}},
	{id: "G19", want: refuses(ReasonBadSpecial), hits: []Event{carrying(`{"$groups":"acme"}`), carrying(`{"$groups":["acme"]}`), carrying(`{"$groups":7}`)},
		misses: []Event{carrying(`{"$groups":{"company":"acme"}}`), carrying(`{"$groups":null}`)}},
	{id: "G20", other: testGroupTypes},
	{id: "G21", want: warns(WarnGroupIdentify), hits: []Event{like(named("$group_identify"))}, misses: []Event{group(`,"$group_key":"a"`)}},
	{id: "G22", want: refuses(ReasonBadSpecial), options: GateOptions{AllowMergeDangerously: true},
		hits: []Event{
			as("$identify", `{"$process_person_profile":false}`), as("$create_alias", `{"alias":"a","$process_person_profile":false}`),
			as("$merge_dangerously", `{"alias":"a","$process_person_profile":false}`),
		},
		misses: []Event{as("$identify", `{"$process_person_profile":true}`), as("$set", `{"$process_person_profile":false}`), carrying(`{"$process_person_profile":false}`)}},
	{id: "G23", want: warns(WarnGroupUnchanged), hits: []Event{group(`,"$group_key":"a","$process_person_profile":false`)},
		misses: []Event{group(`,"$group_key":"a","$process_person_profile":true`), carrying(`{"$process_person_profile":false}`)}},
	{id: "G24", want: refuses(ReasonBadSpecial),
		hits:   []Event{carrying(`{"$process_person_profile":"false"}`), carrying(`{"$process_person_profile":null}`), carrying(`{"$cookieless_mode":0}`), carrying(`{"$cookieless_mode":"false"}`)},
		misses: []Event{carrying(`{"$process_person_profile":false}`), carrying(`{"$cookieless_mode":false}`), carrying(`{}`)}},
	{id: "G25", want: refuses(ReasonCookieless), hits: append(people("$posthog_cookieless"), like(by(""), having(`{"distinct_id":"$posthog_cookieless"}`))),
		misses: people("$posthog_cookieless2", "posthog_cookieless")},
	{id: "G26", want: effects{}.on(protocolUnknown, effect{warning: WarnLongID}).on(protocolV1, effect{reason: ReasonTooLong}),
		hits: people(strings.Repeat("é", 101), strings.Repeat("𝄞", 200)), misses: people(strings.Repeat("a", 200), strings.Repeat("é", 100)),
		other: func(t *testing.T) { // over 200 characters it is refused for /batch/ too, which cuts
			requireEffect(t, refuses(ReasonTooLong), GateOptions{}, people(strings.Repeat("é", 201))[0])
		}},
	{id: "G27", want: warns(WarnIDBlanks), hits: people(" ann", "ann ", "\tann", "ann\u00a0"), misses: people("ann", "a nn")},
	{id: "G28", want: refuses(ReasonNUL), hits: people("a\x00b", "\x00a"), misses: people("a\x01b", "a0b")},
	{id: "G29", want: warns(WarnLongName).on(protocolV1, effect{reason: ReasonTooLong}),
		hits: []Event{like(named(strings.Repeat("é", 101)))}, misses: []Event{like(named(strings.Repeat("é", 100))), like(named(strings.Repeat("a", 200)))}},
	{id: "G30", want: warns(WarnUUIDTime), hits: []Event{like(v7(testTime.Add(73 * time.Hour))), like(v7(testTime.Add(-73 * time.Hour)))},
		misses: []Event{like(v7(testTime.Add(71 * time.Hour))), like(v7(testTime)), like(func(e *Event) { e.UUID = uuid.New() })}},
	{id: "G31", other: testCanonicalUUID},
	{id: "G32", other: testUUIDConflict},
	{id: "G33", want: warns(WarnSessionType), hits: []Event{carrying(`{"$session_id":7}`), carrying(`{"$window_id":{}}`), carrying(`{"$session_id":true}`)},
		misses: []Event{carrying(`{"$session_id":"0190f5f4-35a0-7c3e-8d3f-000000000001"}`), carrying(`{"$window_id":"w"}`), carrying(`{"$session_id":null}`)}},
	{id: "G34", want: warns(WarnSessionID), hits: []Event{carrying(`{"$session_id":"abc"}`), carrying(`{"$session_id":""}`)},
		misses: []Event{carrying(`{"$session_id":"0190f5f4-35a0-7c3e-8d3f-000000000001"}`), carrying(`{"$window_id":"abc"}`), carrying(`{"$session_id":null}`)}},
	{id: "G35", want: refuses(ReasonBadProperties), hits: []Event{carrying(`null`), carrying(`[]`), carrying(`"x"`)},
		misses: []Event{carrying(`{}`), like(func(e *Event) { e.Properties = nil })}},
	{id: "G36", other: testImportIDs},
	{id: "G37", want: warns(WarnOwnJobID), hits: []Event{carrying(`{"$import_job_id":"other"}`), carrying(`{"$import_job_id":7}`)}, misses: []Event{carrying(`{"$import_job_id":"golden"}`), carrying(`{}`)}},
	{id: "G38", want: warns(WarnUnset), hits: []Event{carrying(`{"$unset":["plan"]}`)}, misses: []Event{carrying(`{"unset":["plan"]}`)}},
	{id: "G39", want: warns(WarnSetIgnored),
		hits:   []Event{as("$ai_trace", `{"$set":{"a":1}}`), as("$exception", `{"$set_once":{"a":1}}`), like(named("$exception"), func(e *Event) { e.Set = map[string]any{"a": 1} })},
		misses: []Event{as("$ai_trace", `{}`), carrying(`{"$set":{"a":1}}`)}},
	{id: "G40", want: effects{}.on(protocolUnknown, effect{warning: WarnLib}), hits: []Event{carrying(`{"$lib":"web"}`)}, misses: []Event{carrying(`{"lib":"web"}`)}, other: testOwnLib},
	{id: "G41", want: refuses(ReasonNoTimestamp), hits: []Event{like(func(e *Event) { e.Timestamp = time.Time{} })}, misses: []Event{testEvent()}, other: func(t *testing.T) {
		for age, reason := range map[time.Duration]Reason{-time.Minute: ReasonFuture, 47 * time.Hour: ReasonTooYoung} {
			ev := testEvent()
			ev.Timestamp = time.Now().Add(-age)
			_, refusal := ruleEncoder(protocolBatch, GateOptions{}).encode(&ev)
			require.NotNil(t, refusal)
			assert.Equal(t, reason, refusal.Reason)
		}
		_, err := newLineParser().parse([]byte(`{"event":"e","distinct_id":"a","timestamp":"yesterday"}`))
		require.ErrorContains(t, err, "timestamp")
	}},
}
