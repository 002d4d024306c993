package amplitude_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/internal/formattest"
)

// all are all options. With them, everything that a row has is in its events.
var all = &amplitude.Options{KeepSessions: true, Groups: true, KeepAll: true, PersonProperties: formats.PersonSet}

func TestGolden(t *testing.T) {
	t.Parallel()
	formattest.Golden(t, amplitude.Format(nil), "export.jsonl", "export.golden.json")
	formattest.Golden(t, amplitude.Format(all), "all.jsonl", "all.golden.json")
}

func FuzzConvert(f *testing.F) {
	formattest.Fuzz(f, "export.jsonl", true, amplitude.Format(nil), amplitude.Format(all))
}

// convert makes the events of a record.
func convert(t *testing.T, options *amplitude.Options, record string) []hogapi.Event {
	t.Helper()
	events, err := amplitude.Format(options).Convert([]byte(record))
	require.NoError(t, err)
	return events
}

// Each option is in the text that keeps an import from resuming with others.
func TestOptions(t *testing.T) {
	t.Parallel()
	texts := map[string]bool{}
	for _, o := range []amplitude.Options{
		{}, {KeepSessions: true}, {Groups: true}, {KeepAll: true}, {PersonProperties: formats.PersonSet},
		{PersonProperties: formats.PersonNone}, {NoVisitorProfiles: true}, {LookUpIP: true},
	} {
		text := amplitude.Format(&o).Options
		assert.False(t, texts[text], text)
		texts[text] = true
	}
	assert.True(t, texts[amplitude.Format(nil).Options])
	const record = `{"event_type":"e","user_id":"u","event_time":"2024-07-01 17:18:37","user_properties":{"plan":"x"},"os_name":"ios"}`
	none := convert(t, &amplitude.Options{PersonProperties: formats.PersonNone}, record)
	assert.NotContains(t, string(none[0].RawProperties), "plan")
	set := convert(t, &amplitude.Options{PersonProperties: formats.PersonSet}, record)
	assert.Contains(t, string(set[0].RawProperties), `"$set":{"plan":"x","$os":"iOS","$device_type":"Mobile"}}`)
}

// The uuid of a $groupidentify is made of the group, its properties and the time.
func TestGroupUUIDs(t *testing.T) {
	t.Parallel()
	event := func(at, tier string) hogapi.Event {
		events := convert(t, &amplitude.Options{Groups: true}, `{"event_type":"e","user_id":"u","event_time":"`+at+
			`","groups":{"company":["acme"]},"group_properties":{"company":{"acme":{"tier": "`+tier+`"}}}}`)
		require.Len(t, events, 2)
		assert.Equal(t, "e", events[0].Name)
		assert.Equal(t, "$groupidentify", events[1].Name)
		assert.Equal(t, "$company_acme", events[1].DistinctID)
		assert.Equal(t, events[0].Timestamp, events[1].Timestamp)
		return events[1]
	}
	morning := event("2024-07-01 07:18:37", "gold")
	assert.Equal(t, morning, event("2024-07-01 07:18:37.000000", "gold"))
	assert.NotEqual(t, morning.UUID, event("2024-07-01 07:18:38", "gold").UUID)
	assert.NotEqual(t, morning.UUID, event("2024-07-01 07:18:37", "silver").UUID)
}

// A row's uuid is Amplitude's. An $insert_id, and a text that is not a UUID, give one of their own.
func TestUUIDs(t *testing.T) {
	t.Parallel()
	id := func(members string) string {
		record := `{"event_type":"e","event_time":"2024-07-01 07:18:37",` + members + `}`
		ev := convert(t, nil, record)[0]
		assert.Equal(t, ev.UUID, amplitude.Format(nil).ID([]byte(record)))
		return ev.UUID.String()
	}
	const none = "00000000-0000-0000-0000-000000000000"
	assert.Equal(t, "0d0a2b9e-d7a1-11ee-8f5a-6b2f4d1c9e01", id(`"user_id":"u","uuid":"0D0A2B9E-D7A1-11EE-8F5A-6B2F4D1C9E01","$insert_id":"i"`))
	assert.Equal(t, none, id(`"user_id":"u"`))
	assert.Equal(t, none, id(`"user_id":"u","uuid":null,"$insert_id":""`))
	seen := map[string]bool{none: true}
	for _, members := range []string{
		`"device_id":"d","$insert_id":"i"`, `"device_id":"e","$insert_id":"i"`, `"device_id":"e","$insert_id":"j"`, `"user_id":"d","$insert_id":"i"`,
		`"user_id":"f","device_id":"","$insert_id":"i"`,
		`"user_id":"u","uuid":"x"`, `"user_id":"u","uuid":"0d0a2b9e-d7a1-11ee-0f5a-6b2f4d1c9e01"`, `"user_id":"u","uuid":"{0d0a2b9e-d7a1-11ee-8f5a-6b2f4d1c9e01}"`,
	} {
		made := id(members)
		assert.False(t, seen[made], members)
		assert.EqualValues(t, 5, uuid.MustParse(made).Version(), members)
		seen[made] = true
	}
	assert.Equal(t, id(`"device_id":"d","$insert_id":"i"`), id(`"device_id":"d","user_id":"u","$insert_id":"i"`))
}

// A click and a change of an element are $autocapture, which names the one of the two.
func TestElements(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"Clicked": "click", "Changed": "change"} {
		ev := convert(t, nil, `{"event_type":"[Amplitude] Element `+name+`","user_id":"u","event_time":"2024-07-01 07:18:37"}`)[0]
		assert.Equal(t, "$autocapture", ev.Name)
		assert.Contains(t, string(ev.RawProperties), `"$event_type":"`+want+`"`)
	}
}

// The first group of a type is the event's. Further ones, and values that are no groups, stay in a property
// of their own, and so do user properties that are no object.
func TestOddValues(t *testing.T) {
	t.Parallel()
	const acme = `"groups":{"company":["acme"]},`
	const ofAcme = `"$groups":{"company":"acme"},`
	for _, tt := range []struct {
		members string
		want    string // the properties that are made of them
		of      string // of which group, with which properties
	}{
		{`"groups":{"company":["acme"]}`, `"$groups":{"company":"acme"},`, ""},
		{`"groups":{"company":[ "acme" ]}`, `"$groups":{"company":"acme"},`, ""},
		{`"groups":{"company":"acme"}`, `"$groups":{"company":"acme"},`, ""},
		{`"groups":{"company":["a\"b"]}`, `"$groups":{"company":"a\"b"},`, ""},
		{`"groups":{"company":["a\\"]}`, `"$groups":{"company":"a\\"},`, ""},
		{`"groups":{"company":[7, 8]}`, `"$groups":{"company":"7"},"$amplitude_groups":{"company":[7, 8]},`, ""},
		{`"groups":{"company":["", "acme"]}`, `"$groups":{"company":"acme"},"$amplitude_groups":{"company":["", "acme"]},`, ""},
		{`"groups":{"company":[]}`, ``, ""},
		{`"groups":{"company":[""]}`, ``, ""},
		{`"groups":{"company":[null]}`, ``, ""},
		{`"groups":{"company":""}`, ``, ""},
		{`"groups":{"":["acme"]}`, `"$amplitude_groups":{"":["acme"]},`, ""},
		{`"groups":{"company":[{"a":1},"b"],"team":["x"]}`, `"$groups":{"team":"x"},"$amplitude_groups":{"company":[{"a":1},"b"],"team":["x"]},`, ""},
		{`"groups":{"team":[true],"company":[""]}`, `"$amplitude_groups":{"team":[true],"company":[""]},`, ""},
		{`"groups":{"team":true,"company":["acme"]}`, `"$groups":{"company":"acme"},"$amplitude_groups":{"team":true,"company":["acme"]},`, ""},
		{acme + `"group_properties":{"company":{"acme":{"a":1}}}`, ofAcme, `company acme {"a":1}`},
		{acme + `"group_properties":{"company":{"initech":{"a":1}}}`, ofAcme, `company initech {"a":1}`},
		{acme + `"group_properties":{"team":{"acme":{"a":1}}}`, ofAcme, `team acme {"a":1}`},
		{acme + `"group_properties":{"company":{"acme":1}}`, ofAcme + `"$amplitude_group_properties":{"company":{"acme":1}},`, ""},
		{acme + `"group_properties":{"company":{"":{"a":1}}}`, ofAcme + `"$amplitude_group_properties":{"company":{"":{"a":1}}},`, ""},
		{acme + `"group_properties":{"":{"acme":{"a":1}}}`, ofAcme + `"$amplitude_group_properties":{"":{"acme":{"a":1}}},`, ""},
		{acme + `"group_properties":{"company":1}`, ofAcme + `"$amplitude_group_properties":{"company":1},`, ""},
		{acme + `"group_properties":{"company":1,"team":null}`, ofAcme + `"$amplitude_group_properties":{"company":1,"team":null},`, ""},
		{acme + `"group_properties":{"company":{"acme":null},"team":null}`, ofAcme, ""},
		{acme + `"group_properties":1`, ofAcme + `"$amplitude_group_properties":1,`, ""},
		{`"user_properties":"x"`, `"$amplitude_user_properties":"x",`, ""},
		{`"user_properties":""`, ``, ""},
	} {
		record := `{"event_type":"e","user_id":"u","event_time":"2024-07-01 07:18:37",` + tt.members + `}`
		for _, options := range []*amplitude.Options{{Groups: true}, {Groups: true, KeepAll: true}} {
			events := convert(t, options, record)
			assert.Equal(t, `{`+tt.want+`"$amplitude_user_id":"u","historical_migration":true,"analytics_source":"amplitude"}`, string(events[0].RawProperties), tt.members)
			var made []string
			for _, ev := range events[1:] {
				var p struct {
					Kind string          `json:"$group_type"`
					Key  string          `json:"$group_key"`
					Set  json.RawMessage `json:"$group_set"`
				}
				require.NoError(t, json.Unmarshal(ev.RawProperties, &p))
				made = append(made, p.Kind+" "+p.Key+" "+string(p.Set))
			}
			assert.Equal(t, tt.of, strings.Join(made, ","), tt.members)
		}
	}
}

// Systems and devices have PostHog's names, whether the row is of the web or not. A version of a
// browser is a number.
func TestSystems(t *testing.T) {
	t.Parallel()
	for members, want := range map[string][4]any{ // $os, $device_type, $browser_version, $amplitude_os_name
		`"os_name":"ios","platform":"iOS"`:                                    {"iOS", "Mobile", nil, nil},
		`"os_name":"iPhone OS","platform":"iOS"`:                              {"iOS", "Mobile", nil, "iPhone OS"},
		`"os_name":"BeOS","platform":"Other"`:                                 {"BeOS", nil, nil, nil},
		`"os_name":"ios","platform":"iOS","device_type":"Apple iPad"`:         {"iOS", "Tablet", nil, nil},
		`"os_name":"android","platform":"Android","device_type":"A tablet"`:   {"Android", "Tablet", nil, nil},
		`"os_name":"ios","platform":"iOS","device_model":"iPad8,1"`:           {"iOS", "Tablet", nil, nil},
		`"os_name":"windows","platform":"Windows","device_type":"A tablet"`:   {"Windows", "Desktop", nil, nil},
		`"os_name":"Chrome","device_type":"Windows","os_version":"120"`:       {"Windows", "Desktop", 120., nil},
		`"os_name":"Safari","device_type":"iPad","platform":"Web"`:            {"iOS", "Tablet", nil, "Safari"},
		`"os_name":"Chrome","device_type":"x","os_version":"0"`:               {"x", nil, 0., nil},
		`"os_name":"Chrome","device_type":"x","os_version":"9"`:               {"x", nil, 9., nil},
		`"os_name":"Chrome","device_type":"x","os_version":"09"`:              {"x", nil, 9., nil},
		`"os_name":"Chrome","device_type":"x","os_version":"123456789"`:       {"x", nil, 123456789., nil},
		`"os_name":"Chrome","device_type":"x","os_version":"1234567890"`:      {"x", nil, "1234567890", nil},
		`"os_name":"Chrome","device_type":"x","os_version":"1.5"`:             {"x", nil, 1.5, nil},
		`"os_name":"Chrome","device_type":"x","os_version":"1a"`:              {"x", nil, 1., nil},
		`"os_name":"Chrome","device_type":"x","os_version":"beta"`:            {"x", nil, "beta", nil},
		`"os_name":"Chrome","device_type":"x","os_version":7`:                 {"x", nil, 7., nil},
		`"os_name":"Chrome","device_type":"x","os_version":123,"platform":""`: {"x", nil, 123., nil},
	} {
		ev := convert(t, nil, `{"event_type":"e","user_id":"u","event_time":"2024-07-01 07:18:37",`+members+`}`)[0]
		var p map[string]any
		require.NoError(t, json.Unmarshal(ev.RawProperties, &p))
		assert.Equal(t, want, [4]any{p["$os"], p["$device_type"], p["$browser_version"], p["$amplitude_os_name"]}, members)
	}
}
