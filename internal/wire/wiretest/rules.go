package wiretest

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/wire"
)

// Effect is the effect of a rule on an event: a refusal, a warning, or neither.
type Effect struct {
	Reason  event.Reason
	Warning event.Warning
}

// Protocols are the protocols in the order of Effects.
var Protocols = [3]event.Protocol{event.ProtocolAuto, event.ProtocolBatch, event.ProtocolV1}

// Effects are the effects of a rule by protocol.
type Effects [len(Protocols)]Effect

func always(e Effect) Effects             { return Effects{e, e, e} }
func refuses(reason event.Reason) Effects { return always(Effect{Reason: reason}) }
func warns(warning event.Warning) Effects { return always(Effect{Warning: warning}) }
func (e Effects) on(p event.Protocol, of Effect) Effects {
	e[slices.Index(Protocols[:], p)] = of
	return e
}

// Rule is one rule of the gate, with events that it applies to and events that narrowly miss it.
// Rules about more than a single event have no events.
type Rule struct {
	ID           string
	Want         Effects
	Settings     wire.Rules
	Hits, Misses []wire.Fields
}

// Named changes an event's name.
func Named(name string) func(*wire.Fields) { return func(f *wire.Fields) { f.Name = name } }

// By changes an event's distinct id.
func By(person string) func(*wire.Fields) { return func(f *wire.Fields) { f.DistinctID = person } }

// Having sets the properties, as JSON.
func Having(properties string) func(*wire.Fields) {
	return func(f *wire.Fields) { f.Properties, f.RawProperties = nil, json.RawMessage(properties) }
}

// As makes a named event with properties.
func As(name, properties string) wire.Fields { return Event(Named(name), Having(properties)) }

// Carrying makes an event with properties.
func Carrying(properties string) wire.Fields { return Event(Having(properties)) }

// At is the event at another time.
func At(timestamp string) wire.Fields {
	at, err := time.Parse(time.RFC3339, timestamp)
	if err != nil {
		panic(err)
	}
	return Event(func(f *wire.Fields) { f.Timestamp = at })
}

// People are the event with other distinct ids.
func People(ids ...string) (list []wire.Fields) {
	for _, id := range ids {
		list = append(list, Event(By(id)))
	}
	return list
}

func group(properties string) wire.Fields {
	return As("$groupidentify", `{"$group_type":"company"`+properties+`}`)
}

func v7(at time.Time) func(*wire.Fields) {
	return func(f *wire.Fields) {
		ms := uint64(at.UnixMilli())
		for i := range 6 {
			f.UUID[i] = byte(ms >> (40 - 8*i))
		}
		f.UUID[6] = 0x70
	}
}

// session is the event with a $session_id of another time.
func session(after time.Duration) wire.Fields {
	f := Event(v7(Time.Add(after)))
	return Carrying(`{"$session_id":"` + f.UUID.String() + `"}`)
}

// Rules are the rules of the gate, G1 and so on, complete and in order.
var Rules = []Rule{
	{ID: "G1"},
	{ID: "G2"},
	{ID: "G3", Want: refuses(event.ReasonDropped), Hits: []wire.Fields{Event(Named("$performance_event"))}, Misses: []wire.Fields{Event(Named("$performance"))}},
	{ID: "G4", Want: refuses(event.ReasonDropped),
		Hits:   []wire.Fields{Event(Named("$$heatmap")), Event(Named("$$client_ingestion_warning"))},
		Misses: []wire.Fields{Event(Named("$heatmap")), Event(Named("$$heatmaps"))}},
	{ID: "G5", Want: warns("heatmap_data"),
		Hits:   []wire.Fields{Carrying(`{"$heatmap_data":null}`), Carrying(`{"$prev_pageview_pathname":"/a","$current_url":"https://b"}`)},
		Misses: []wire.Fields{Carrying(`{"$prev_pageview_pathname":"/a"}`), Carrying(`{"$current_url":"https://b"}`), Carrying(`{"x":{"$heatmap_data":1}}`)}},
	{ID: "G6", Want: warns("ai_event"), Hits: []wire.Fields{Event(Named("$ai_generation")), Event(Named("$ai_"))}, Misses: []wire.Fields{Event(Named("$ai")), Event(Named("ai_x"))}},
	{ID: "G7", Want: warns("exception_event"), Hits: []wire.Fields{Event(Named("$exception"))}, Misses: []wire.Fields{Event(Named("exception")), Event(Named("$exceptions"))}},
	{ID: "G8", Want: warns("flag_called_event"), Hits: []wire.Fields{Event(Named("$feature_flag_called"))}, Misses: []wire.Fields{Event(Named("feature_flag_called"))}},
	{ID: "G9", Want: warns("suspect_distinct_id"), Hits: People("NULL", " null ", "None", "Anonymous", "Guest", `"null"`, "0", `'0'`, "nan", "uNdEfInEd", "[object Object]", "system", "backend", "nil", "N/A", "unknown", "-1", uuid.Nil.String()),
		Misses: People("nils", "01", "nope", `"NULL"`, `'null"`, "null1", `"`, `"system"`)},
	{ID: "G10", Want: refuses(event.ReasonBadMerge),
		Hits: []wire.Fields{
			As("$identify", `{"$anon_distinct_id":null}`), As("$identify", `{"$anon_distinct_id":""}`), As("$identify", `{"$anon_distinct_id":" "}`),
			As("$identify", `{"$anon_distinct_id":"GUEST"}`), As("$create_alias", `{"alias":"[object Object]"}`), As("$create_alias", `{"alias":"\"None\""}`),
			Event(Named("$create_alias"), Having(`{"alias":"a"}`), By("null")), Event(Named("$identify"), Having(`{"$anon_distinct_id":"a"}`), By("False")),
		},
		Misses: []wire.Fields{
			As("$identify", `{"$anon_distinct_id":"NULL"}`), As("$identify", `{"$anon_distinct_id":" null "}`), As("$identify", `{}`), As("$identify", `{"alias":"null"}`),
			Event(Named("$identify"), By("null")), As("$create_alias", `{"alias":"nan"}`), As("e", `{"alias":"null","$anon_distinct_id":null}`),
		}},
	{ID: "G11", Want: refuses(event.ReasonBadSpecial),
		Hits: []wire.Fields{
			As("$identify", `{"$anon_distinct_id":5}`), As("$identify", `{"$anon_distinct_id":{}}`), As("$identify", `{"alias":true}`),
			As("$create_alias", `{"alias":5}`), As("$create_alias", `{"alias":"a","$anon_distinct_id":[1]}`), As("$merge_dangerously", `{"alias":1}`),
		},
		Misses: []wire.Fields{As("$identify", `{"$anon_distinct_id":"5"}`), As("$identify", `{"alias":null}`), As("$create_alias", `{"alias":"5"}`), As("e", `{"alias":5}`)}},
	{ID: "G12", Want: refuses(event.ReasonBadSpecial), Settings: wire.Rules{AllowMergeDangerously: true},
		Hits:   []wire.Fields{As("$create_alias", `{}`), As("$create_alias", `{"alias":""}`), As("$merge_dangerously", `{"alias":null}`)},
		Misses: []wire.Fields{As("$create_alias", `{"alias":"a"}`), As("$merge_dangerously", `{"alias":"a"}`), As("$identify", `{}`)}},
	{ID: "G13", Want: refuses(event.ReasonDangerousMerge), Hits: []wire.Fields{As("$merge_dangerously", `{"alias":"a"}`)},
		Misses: []wire.Fields{As("$create_alias", `{"alias":"a"}`)}},
	{ID: "G14", Want: warns("self_merge"),
		Hits:   []wire.Fields{As("$create_alias", `{"alias":"user-1"}`), As("$identify", `{"$anon_distinct_id":"user\u002d1"}`)},
		Misses: []wire.Fields{As("$create_alias", `{"alias":"user-2"}`), As("e", `{"alias":"user-1"}`)}},
	{ID: "G15", Want: refuses(event.ReasonBadSpecial),
		Hits: []wire.Fields{
			group(``), group(`,"$group_key":""`), group(`,"$group_key":0`), group(`,"$group_key":0.0`), group(`,"$group_key":false`), group(`,"$group_key":null`),
			As("$groupidentify", `{"$group_key":"acme"}`), As("$groupidentify", `{"$group_key":"acme","$group_type":0}`), As("$groupidentify", `{"$group_key":"acme","$group_type":""}`),
		},
		Misses: []wire.Fields{group(`,"$group_key":"0"`), group(`,"$group_key":"acme"`), As("$group_identify", `{}`)}},
	{ID: "G16", Want: refuses(event.ReasonBadSpecial),
		Hits:   []wire.Fields{group(`,"$group_key":"` + strings.Repeat("a", 401) + `"`), group(`,"$group_key":"` + strings.Repeat("𝄞", 201) + `"`)},
		Misses: []wire.Fields{group(`,"$group_key":"` + strings.Repeat("é", 400) + `"`), group(`,"$group_key":"` + strings.Repeat("𝄞", 200) + `"`), As("e", `{"$group_key":"`+strings.Repeat("a", 401)+`"}`)}},
	{ID: "G17", Want: warns("group_key_number"),
		Hits:   []wire.Fields{group(`,"$group_key":5`), group(`,"$group_key":-1.5e3`), Carrying(`{"$groups":{"company":17}}`), Carrying(`{"$groups":{"a":"b","company":-1}}`)},
		Misses: []wire.Fields{group(`,"$group_key":"5"`), Carrying(`{"$groups":{"company":"17"}}`), Carrying(`{"$groups":{}}`), Carrying(`{"$group_key":5}`)}},
	{ID: "G18", Want: refuses(event.ReasonBadSpecial), Hits: []wire.Fields{group(`,"$group_key":"a","$group_set":[]`), group(`,"$group_key":"a","$group_set":"x"`)},
		Misses: []wire.Fields{group(`,"$group_key":"a","$group_set":{}`), group(`,"$group_key":"a","$group_set":null`)}},
	{ID: "G19", Want: refuses(event.ReasonBadSpecial), Hits: []wire.Fields{Carrying(`{"$groups":"acme"}`), Carrying(`{"$groups":["acme"]}`), Carrying(`{"$groups":7}`)},
		Misses: []wire.Fields{Carrying(`{"$groups":{"company":"acme"}}`), Carrying(`{"$groups":null}`)}},
	{ID: "G20"},
	{ID: "G21", Want: warns("group_identify_name"), Hits: []wire.Fields{Event(Named("$group_identify"))}, Misses: []wire.Fields{group(`,"$group_key":"a"`)}},
	{ID: "G22", Want: refuses(event.ReasonBadSpecial), Settings: wire.Rules{AllowMergeDangerously: true},
		Hits: []wire.Fields{
			As("$identify", `{"$process_person_profile":false}`), As("$create_alias", `{"alias":"a","$process_person_profile":false}`),
			As("$merge_dangerously", `{"alias":"a","$process_person_profile":false}`),
		},
		Misses: []wire.Fields{As("$identify", `{"$process_person_profile":true}`), As("$set", `{"$process_person_profile":false}`), Carrying(`{"$process_person_profile":false}`)}},
	{ID: "G23", Want: warns("group_unchanged"), Hits: []wire.Fields{group(`,"$group_key":"a","$process_person_profile":false`)},
		Misses: []wire.Fields{group(`,"$group_key":"a","$process_person_profile":true`), Carrying(`{"$process_person_profile":false}`)}},
	{ID: "G24", Want: refuses(event.ReasonBadSpecial),
		Hits:   []wire.Fields{Carrying(`{"$process_person_profile":"false"}`), Carrying(`{"$process_person_profile":null}`), Carrying(`{"$cookieless_mode":0}`), Carrying(`{"$cookieless_mode":"false"}`)},
		Misses: []wire.Fields{Carrying(`{"$process_person_profile":false}`), Carrying(`{"$cookieless_mode":false}`), Carrying(`{}`)}},
	{ID: "G25", Want: refuses(event.ReasonCookieless), Hits: append(People("$posthog_cookieless"), Event(By(""), Having(`{"distinct_id":"$posthog_cookieless"}`))),
		Misses: People("$posthog_cookieless2", "posthog_cookieless")},
	{ID: "G26", Want: Effects{}.on(event.ProtocolAuto, Effect{Warning: "v1_distinct_id_bytes"}).on(event.ProtocolV1, Effect{Reason: event.ReasonTooLong}),
		Hits: People(strings.Repeat("é", 101), strings.Repeat("𝄞", 200)), Misses: People(strings.Repeat("a", 200), strings.Repeat("é", 100))},
	{ID: "G27", Want: warns("distinct_id_blanks"), Hits: People(" ann", "ann ", "\tann", "ann\u00a0"), Misses: People("ann", "a nn")},
	{ID: "G28", Want: refuses(event.ReasonNUL), Hits: People("a\x00b", "\x00a"), Misses: People("a\x01b", "a0b")},
	{ID: "G29", Want: warns("name_over_200_bytes").on(event.ProtocolV1, Effect{Reason: event.ReasonTooLong}),
		Hits: []wire.Fields{Event(Named(strings.Repeat("é", 101)))}, Misses: []wire.Fields{Event(Named(strings.Repeat("é", 100))), Event(Named(strings.Repeat("a", 200)))}},
	{ID: "G30", Want: warns("uuid_time"), Hits: []wire.Fields{Event(v7(Time.Add(73 * time.Hour))), Event(v7(Time.Add(-73 * time.Hour)))},
		Misses: []wire.Fields{Event(v7(Time.Add(71 * time.Hour))), Event(v7(Time)), Event(func(f *wire.Fields) { f.UUID = uuid.New() })}},
	{ID: "G31"},
	{ID: "G32"},
	{ID: "G33", Want: warns("session_id_type"), Hits: []wire.Fields{Carrying(`{"$session_id":7}`), Carrying(`{"$window_id":{}}`), Carrying(`{"$session_id":true}`)},
		Misses: []wire.Fields{Carrying(`{"$session_id":"0190f5f4-35a0-7c3e-8d3f-000000000001"}`), Carrying(`{"$window_id":"w"}`), Carrying(`{"$session_id":null}`)}},
	{ID: "G34", Want: warns("session_id_not_uuid"), Hits: []wire.Fields{Carrying(`{"$session_id":"abc"}`), Carrying(`{"$session_id":""}`)},
		Misses: []wire.Fields{Carrying(`{"$session_id":"0190f5f4-35a0-7c3e-8d3f-000000000001"}`), Carrying(`{"$window_id":"abc"}`), Carrying(`{"$session_id":null}`)}},
	{ID: "G35", Want: refuses(event.ReasonBadProperties), Hits: []wire.Fields{Carrying(`null`), Carrying(`[]`), Carrying(`"x"`)},
		Misses: []wire.Fields{Carrying(`{}`), Event(func(f *wire.Fields) { f.Properties = nil })}},
	{ID: "G36"},
	{ID: "G37", Want: warns("own_import_job_id"), Hits: []wire.Fields{Carrying(`{"$import_job_id":"other"}`), Carrying(`{"$import_job_id":7}`)}, Misses: []wire.Fields{Carrying(`{"$import_job_id":"golden"}`), Carrying(`{}`)}},
	{ID: "G38", Want: warns("unset"), Hits: []wire.Fields{Carrying(`{"$unset":["plan"]}`)}, Misses: []wire.Fields{Carrying(`{"unset":["plan"]}`)}},
	{ID: "G39", Want: warns("set_ignored"),
		Hits:   []wire.Fields{As("$ai_trace", `{"$set":{"a":1}}`), As("$exception", `{"$set_once":{"a":1}}`), Event(Named("$exception"), func(f *wire.Fields) { f.Set = map[string]any{"a": 1} })},
		Misses: []wire.Fields{As("$ai_trace", `{}`), Carrying(`{"$set":{"a":1}}`)}},
	{ID: "G40", Want: Effects{}.on(event.ProtocolAuto, Effect{Warning: "v1_lib"}), Hits: []wire.Fields{Carrying(`{"$lib":"web"}`)}, Misses: []wire.Fields{Carrying(`{"lib":"web"}`)}},
	{ID: "G41", Want: refuses(event.ReasonNoTimestamp), Hits: []wire.Fields{Event(func(f *wire.Fields) { f.Timestamp = time.Time{} })}, Misses: []wire.Fields{Event()}},
	{ID: "G42", Want: warns("before_1980"), Hits: []wire.Fields{At("1979-12-31T23:59:59.999Z"), At("1900-01-01T00:00:00Z")}, Misses: []wire.Fields{At("1980-01-01T00:00:00Z")}},
	{ID: "G43", Want: warns("session_id_not_v7"), Hits: []wire.Fields{Carrying(`{"$session_id":"5f0c2d1e-9c53-4f0a-8be0-c1d700000001"}`), Carrying(`{"$session_id":"00000000-0000-6000-8000-000000000001"}`)},
		Misses: []wire.Fields{session(0), Carrying(`{"$window_id":"5f0c2d1e-9c53-4f0a-8be0-c1d700000001"}`), Carrying(`{"$session_id":"abc"}`)}},
	{ID: "G44", Want: warns("session_id_time"), Hits: []wire.Fields{session(24*time.Hour + time.Millisecond), session(-24*time.Hour - time.Millisecond)},
		Misses: []wire.Fields{session(0), session(24 * time.Hour), session(time.Millisecond - 24*time.Hour), Carrying(`{"$session_id":"5f0c2d1e-9c53-4f0a-8be0-c1d700000001"}`)}},
	{ID: "G45", Want: warns("groups_dropped"), Hits: []wire.Fields{Carrying(`{"$groups":{"company":"acme"},"$process_person_profile":false}`)},
		Misses: []wire.Fields{Carrying(`{"$groups":{"company":"acme"}}`), Carrying(`{"$groups":{},"$process_person_profile":false}`), Carrying(`{"$groups":{"company":"acme"},"$process_person_profile":true}`)}},
	{ID: "G46", Want: warns("almost_special_name"),
		Hits: []wire.Fields{
			Event(Named("$Identify")), Event(Named("$IDENTIFY")), Event(Named("$page_view")), Event(Named("$PageView")), Event(Named(" $identify")), Event(Named("$pageview ")),
			Event(Named("$createAlias")), Event(Named("$alias")), Event(Named("$Group_Identify")), Event(Named("$auto-capture")),
		},
		Misses: []wire.Fields{Event(Named("identify")), Event(Named("$pageview")), Event(Named("$groupidentify2")), Event(Named("$group_identify")), Event(Named("$views"))}},
}
