package mixpanel_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/history"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	formattest.Golden(t, mixpanel.Format(nil), "export.jsonl", "export.golden.json")
}

// The table in the documentation is the one that the code runs.
func TestDoc(t *testing.T) { formattest.Doc(t, mixpanel.Table) }

// convert makes the one event of a record.
func convert(t *testing.T, options *mixpanel.Options, record string) hogapi.Event {
	t.Helper()
	events, err := mixpanel.Format(options).Convert([]byte(record))
	require.NoError(t, err)
	require.Len(t, events, 1)
	return events[0]
}

// Each option has its effect, and is in the text that keeps an import from resuming with others.
func TestOptions(t *testing.T) {
	t.Parallel()
	const deleted = `{"event":"e","properties":{"time":1709251199,"distinct_id":"u","$user_id":"u","$device_id":"d","$os":"iOS",` +
		`"$is_deleted":true,"$insert_id":"a","$initial_referrer":"r"}}`
	plain := convert(t, &mixpanel.Options{KeepDeleted: true}, deleted)
	assert.Equal(t, "d", plain.AnonymousID)
	assert.Contains(t, string(plain.RawProperties), `"$set_once":{"$os":"iOS","$initial_referrer":"r"}}`)
	assert.NotContains(t, string(plain.RawProperties), "$insert_id")
	texts := map[string]bool{mixpanel.Format(nil).Options: true}
	for name, c := range map[string]struct {
		options mixpanel.Options
		check   func(hogapi.Event)
	}{
		"DevicePrefix": {mixpanel.Options{DevicePrefix: true}, func(ev hogapi.Event) {
			assert.Equal(t, "$device:d", ev.AnonymousID)
		}},
		"PersonSet": {mixpanel.Options{PersonProperties: formats.PersonSet}, func(ev hogapi.Event) {
			assert.Contains(t, string(ev.RawProperties), `"$set":{"$os":"iOS"},"$set_once":{"$initial_referrer":"r"}}`)
		}},
		"PersonNone": {mixpanel.Options{PersonProperties: formats.PersonNone}, func(ev hogapi.Event) {
			assert.NotContains(t, string(ev.RawProperties), `"$set`)
		}},
		"KeepAll": {mixpanel.Options{KeepAll: true}, func(ev hogapi.Event) {
			assert.Contains(t, string(ev.RawProperties), `"$mixpanel_insert_id":"a"`)
		}},
		"WholeKey": {mixpanel.Options{WholeKey: true}, func(ev hogapi.Event) {
			assert.NotEqual(t, plain.UUID, ev.UUID)
			format := mixpanel.Format(&mixpanel.Options{WholeKey: true})
			assert.Equal(t, ev.UUID, format.ID([]byte(deleted)))
		}},
		"Groups": {mixpanel.Options{Groups: map[string]string{"$os": "system"}}, func(ev hogapi.Event) {
			assert.NotContains(t, string(ev.RawProperties), `"$groups"`, "a property of the table is no group")
		}},
		"NoVisitorProfiles": {mixpanel.Options{NoVisitorProfiles: true}, func(ev hogapi.Event) {
			assert.NotContains(t, string(ev.RawProperties), "$process_person_profile")
		}},
		"LookUpIP": {mixpanel.Options{LookUpIP: true}, func(ev hogapi.Event) {
			assert.NotContains(t, string(ev.RawProperties), "$geoip_disable")
		}},
		"Zone": {mixpanel.Options{Zone: time.FixedZone("", -3600)}, func(ev hogapi.Event) {
			assert.Equal(t, plain.Timestamp.Add(time.Hour), ev.Timestamp)
		}},
	} {
		c.options.KeepDeleted = true
		c.check(convert(t, &c.options, deleted))
		text := mixpanel.Format(&c.options).Options
		assert.False(t, texts[text], "%s: %s", name, text)
		texts[text] = true
	}
	_, err := mixpanel.Format(&mixpanel.Options{Zone: time.Local}).Convert([]byte(deleted))
	assert.ErrorContains(t, err, "mixpanel: options: ")
}

// The uuid is the one of PostHog's own importer, with any options that leave the key alone.
func TestUUIDOfPostHog(t *testing.T) {
	t.Parallel()
	const record = `{"event":"e","properties":{"time":1697379000,"distinct_id":"user123","$insert_id":"unique_insert_id_123"}}`
	const want = "65fdb562-3dcd-5dc3-bc74-78ee4b077e17"
	assert.Equal(t, want, convert(t, nil, record).UUID.String())
	assert.Equal(t, want, convert(t, &mixpanel.Options{Zone: time.FixedZone("x", 3600), KeepAll: true}, record).UUID.String())
}

// One $insert_id on two events of a name, a person and a day is two events with WholeKey only.
func TestWholeKey(t *testing.T) {
	t.Parallel()
	records := [][]byte{
		[]byte(`{"event":"e","properties":{"time":1697379000,"distinct_id":"u","$insert_id":"same"}}`),
		[]byte(`{"event":"e","properties":{"time":1697379001,"distinct_id":"u","$insert_id":"same"}}`),
		[]byte(`{"event":"e","properties":{"time":1697379001,"distinct_id":"u","$insert_id":"same"}}`),
		[]byte(`{"event":"f","properties":{"time":1697379001,"distinct_id":"u","$insert_id":"same"}}`),
	}
	for doubles, options := range map[int64]*mixpanel.Options{3: nil, 1: {WholeKey: true}} {
		report, err := history.Check(t.Context(), history.Files(mixpanel.Format(options), formattest.Write(t, records)),
			&history.Options{ID: "whole"})
		require.NoError(t, err)
		assert.Equal(t, doubles, report.DoubleUUIDs.Count)
	}
}

// An event has the id before a login only if it names both, and an $identify only that of its own. The id before the login replaces one
// that only names a device.
func TestAnonymousIDs(t *testing.T) {
	t.Parallel()
	for properties, want := range map[string][2]string{ // distinct id, anonymous id
		`"distinct_id":"x","$device_id":"d"`:                                {"x", ""},
		`"distinct_id":"x","$user_id":"x"`:                                  {"x", ""},
		`"distinct_id":"x","$user_id":"x","$device_id":"d"`:                 {"x", "$device:d"},
		`"distinct_id":"$device:d","$user_id":"x","$device_id":"d"`:         {"$device:d", ""},
		`"$user_id":"x","$device_id":"d"`:                                   {"x", "$device:d"},
		`"$device_id":"d"`:                                                  {"d", ""},
		`"distinct_id":"x","$anon_id":"a"`:                                  {"x", ""},
		`"distinct_id":"x","$anon_id":"a","$identified_id":"x"`:             {"x", "a"},
		`"distinct_id":"y","$anon_id":"a","$identified_id":"x"`:             {"y", ""},
		`"distinct_id":"x","$anon_id":"x","$identified_id":"x"`:             {"x", ""},
		`"distinct_id":"ZA-09","$distinct_id_before_identity":"before"`:     {"before", ""},
		`"distinct_id":"$device:d","$distinct_id_before_identity":"before"`: {"before", ""},
		`"distinct_id":"4711","$distinct_id_before_identity":"before"`:      {"4711", ""},
		`"distinct_id":"ZA-09","$distinct_id_before_identity":""`:           {"ZA-09", ""},
		`"distinct_id":"ZA-09","$distinct_id_before_identity":null`:         {"ZA-09", ""},
		`"distinct_id":"Za","$distinct_id_before_identity":"before"`:        {"Za", ""},
		`"distinct_id":"A:1","$distinct_id_before_identity":"before"`:       {"A:1", ""},
		`"distinct_id":"A/1","$distinct_id_before_identity":"before"`:       {"A/1", ""},
		`"distinct_id":"09-90","$distinct_id_before_identity":"before"`:     {"09-90", ""},
		`"distinct_id":"A","$user_id":"","$distinct_id_before_identity":7`:  {"A", ""},
	} {
		ev := convert(t, &mixpanel.Options{DevicePrefix: true}, `{"event":"e","properties":{"time":1697379000,`+properties+`}}`)
		assert.Equal(t, want, [2]string{ev.DistinctID, ev.AnonymousID}, properties)
	}
	assert.Equal(t, mixpanel.Format(nil).Options, mixpanel.Format(&mixpanel.Options{Zone: time.UTC}).Options)
	assert.NotEqual(t, mixpanel.Format(nil).Options, mixpanel.Format(&mixpanel.Options{Zone: time.FixedZone("x", 60)}).Options)
}

// All ids that a record names belong to one person, and no id is lost.
func TestUserIDs(t *testing.T) {
	t.Parallel()
	type person struct {
		distinct, anonymous string
		users               []string
	}
	for record, want := range map[string]person{
		`"event":"e","properties":{"distinct_id":"c","$user_id":"u","$device_id":"d"`:                            {"c", "d", []string{"u"}},
		`"event":"e","properties":{"distinct_id":"d","$user_id":"u","$device_id":"d"`:                            {"d", "", []string{"u"}},
		`"event":"e","properties":{"distinct_id":"u","$user_id":"u","$device_id":"d"`:                            {"u", "d", nil},
		`"event":"e","properties":{"distinct_id":"c","$user_id":"u"`:                                             {"c", "", []string{"u"}},
		`"event":"e","properties":{"distinct_id":"c","$device_id":"d"`:                                           {"c", "", nil},
		`"event":"e","properties":{"distinct_id":"ZA-09","$distinct_id_before_identity":"b"`:                     {"b", "", []string{"ZA-09"}},
		`"event":"$merge","properties":{"$distinct_ids":["a",7]`:                                                 {"a", "", []string{"7"}},
		`"event":"$merge","properties":{"distinct_id":"b","$distinct_ids":["a","b"]`:                             {"b", "", []string{"a"}},
		`"event":"$merge","properties":{"distinct_id":"c","$distinct_ids":["a","b","",null,{}]`:                  {"c", "", []string{"a", "b"}},
		`"event":"$merge","properties":{"distinct_id":"c","$distinct_ids":"a"`:                                   {"c", "", nil},
		`"event":"e","properties":{"distinct_id":"c","$distinct_ids":["a","b"]`:                                  {"c", "", nil},
		`"event":"$identify","properties":{"distinct_id":"u","$anon_id":"a"`:                                     {"u", "a", nil},
		`"event":"$identify","properties":{"distinct_id":"c","$identified_id":"u"`:                               {"c", "", []string{"u"}},
		`"event":"$identify","properties":{"$identified_id":"u","$anon_id":"a"`:                                  {"u", "a", nil},
		`"event":"$identify","properties":{"$anon_id":"a"`:                                                       {"a", "", nil},
		`"event":"$identify","properties":{"distinct_id":"a","$identified_id":"u","$anon_id":"a"`:                {"a", "", []string{"u"}},
		`"event":"$identify","properties":{"distinct_id":"c","$identified_id":"u","$anon_id":"a","$user_id":"u"`: {"c", "a", []string{"u"}},
	} {
		ev := convert(t, nil, "{"+record+`,"time":1697379000}}`)
		assert.Equal(t, want, person{ev.DistinctID, ev.AnonymousID, ev.UserIDs}, record)
	}
}

// A record of every platform has the properties of PostHog's live events.
func TestProperties(t *testing.T) {
	t.Parallel()
	for record, want := range map[string]string{
		`"event":"Order","properties":{"$current_url":"https://shop.example/a?gclid=g&utm_term=t","$referrer":"https://news.example/x","$os":"Windows"`: `{"$current_url":"https://shop.example/a?gclid=g&utm_term=t",` +
			`"$referrer":"https://news.example/x","$os":"Windows","$device_type":"Desktop","$host":"shop.example","$pathname":"/a","gclid":"g","utm_term":"t","$referring_domain":"news.example"}`,
		`"event":"Order","properties":{"current_domain":"shop.example","current_url_path":"/a"`: `{"$pathname":"/a","$host":"shop.example"}`,
		`"event":"Open","properties":{"$os":"iPhone OS","$os_version":"17.2","$model":"iPad8,9","$manufacturer":"Apple","$app_version_string":"1.2","$app_build_number":"7"`: `{"$os":"iOS",` +
			`"$os_version":"17.2","$device_type":"Tablet","$device_model":"iPad8,9","$device_manufacturer":"Apple","$app_version":"1.2","$app_build":"7"}`,
		`"event":"Open","properties":{"$os":"Android","$device":"Android"`:                                  `{"$os":"Android","$device":"Android","$device_type":"Mobile"}`,
		`"event":"Open","properties":{"$os":"Android","$device_type":"TV","$model":"SM-T870"`:               `{"$os":"Android","$device_type":"TV","$device_model":"SM-T870"}`,
		`"event":"Open","properties":{"$os":7,"$app_version":"1","$app_version_string":"2"`:                 `{"$app_version":"1","$os":7,"$app_version_string":"2"}`,
		`"event":"$mp_click","properties":{"$el_text":"Buy","$elements":[1]`:                                `{"$el_text":"Buy","$mixpanel_elements":[1],"$event_type":"click"}`,
		`"event":"$mp_page_leave","properties":{"$referrer":"$direct"`:                                      `{"$referrer":"$direct","$referring_domain":"$direct"}`,
		`"event":"$mp_web_page_view","properties":{"$current_url":"https://a.b/"`:                           `{"$current_url":"https://a.b/","$host":"a.b","$pathname":"/","$referrer":"$direct","$referring_domain":"$direct"}`,
		`"event":"$mp_web_page_view","properties":{"$current_url":"https://a.b/","$referring_domain":"c.d"`: `{"$current_url":"https://a.b/","$referring_domain":"c.d","$host":"a.b","$pathname":"/"}`,
		`"event":"$mp_web_page_view","properties":{"$el_text":"x"`:                                          `{"$el_text":"x"}`,
		`"event":"e","properties":{"$browser_version":"91.0.4472.101"`:                                      `{"$mixpanel_browser_version":"91.0.4472.101","$browser_version":91}`,
		`"event":"e","properties":{"$browser_version":"beta"`:                                               `{"$browser_version":"beta"}`,
		`"event":"e","properties":{"company_id":"acme","team":[7,8],"none":[],"$set":"x"`:                   `{"company_id":"acme","team":[7,8],"none":[],"$mixpanel_set":"x","$groups":{"company":"acme","team":"7"}}`,
		`"event":"e","properties":{"distinct_id":"$device:d","$device_id":"d"`:                              `{"$mixpanel_device_id":"d","$process_person_profile":false}`,
		`"event":"e","properties":{"distinct_id":"d","$device_id":"d"`:                                      `{"$mixpanel_device_id":"d","$process_person_profile":false}`,
		`"event":"e","properties":{"distinct_id":"d","$device_id":"d","$user_id":"u"`:                       `{"$mixpanel_user_id":"u","$mixpanel_device_id":"d"}`,
		`"event":"e","properties":{"$ip":"203.0.113.9"`:                                                     `{"$ip":"203.0.113.9","$geoip_disable":false}`,
		`"event":"e","properties":{"$ip":"203.0.113.9","mp_country_code":"DE"`:                              `{"$ip":"203.0.113.9","$geoip_country_code":"DE","$geoip_country_name":"Germany"}`,
	} {
		if !strings.Contains(record, "distinct_id") {
			record += `,"distinct_id":"x"`
		}
		ev := convert(t, &mixpanel.Options{
			Groups: map[string]string{"company_id": "company", "team": "team", "none": "none"}, NoVisitorProfiles: true, LookUpIP: true,
			PersonProperties: formats.PersonNone,
		}, "{"+record+`,"time":1697379000}}`)
		got := strings.Replace(string(ev.RawProperties), `,"historical_migration":true,"analytics_source":"mixpanel"`, "", 1)
		assert.Equal(t, want, got, record)
	}
	for name, want := range map[string]string{"$mp_web_page_view": "$pageview", "$mp_page_leave": "$pageleave", "$mp_click": "$autocapture", "$pageview": "$pageview"} {
		assert.Equal(t, want, convert(t, nil, `{"event":"`+name+`","properties":{"time":1697379000,"distinct_id":"x"}}`).Name)
	}
}

func FuzzConvert(f *testing.F) {
	plain, full := mixpanel.Format(nil), mixpanel.Format(&mixpanel.Options{
		Zone: loadZone(f, "America/New_York"), DevicePrefix: true, PersonProperties: formats.PersonSet, KeepDeleted: true, KeepAll: true,
	})
	tested := plain
	tested.Convert = func(record []byte) ([]hogapi.Event, error) {
		new(mixpanel.ZoneTest).Add(record)
		return plain.Convert(record)
	}
	formattest.Fuzz(f, "export.jsonl", true, tested, full)
}
