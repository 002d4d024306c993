package ga4_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/ga4"
)

type values = map[string]any

// properties returns the properties of a page view with more members.
func properties(t *testing.T, options *ga4.Options, members string) (p values) {
	t.Helper()
	events, err := ga4.Format(options).Convert([]byte(`{"event_name":"page_view","event_timestamp":1719818317123456,` + members + `}`))
	require.NoError(t, err, members)
	require.Len(t, events, 1)
	require.NoError(t, json.Unmarshal(events[0].RawProperties, &p))
	return p
}

// param is a param of a text.
func param(key, value string) string {
	return `{"key":"` + key + `","value":{"string_value":"` + value + `"}}`
}

// An event has the words of PostHog's own SDKs, and nothing of Google's is lost. A nil is for no such property.
func TestLiveValues(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]values{
		`"device":{"category":"desktop","mobile_brand_name":"Google","mobile_model_name":"Chrome","mobile_marketing_name":"<Other>","operating_system":"Macintosh","operating_system_version":"Macintosh Intel 10.15"}`: {
			"$device_type": "Desktop", "$os": "Mac OS X", "$os_version": "10.15", "$device_model": nil, "$device_name": nil, "$device_manufacturer": nil,
			"device": values{"mobile_brand_name": "Google", "mobile_model_name": "Chrome", "mobile_marketing_name": "<Other>"},
		},
		`"device":{"operating_system_version":"iOS 17.2","operating_system":"iOS","mobile_model_name":"iPhone","mobile_marketing_name":"<Other>","mobile_brand_name":"Apple","category":"mobile"}`: {
			"$os": "iOS", "$os_version": "17.2", "$device_model": "iPhone", "$device_manufacturer": "Apple", "$device_type": "Mobile", "device": values{"mobile_marketing_name": "<Other>"},
		},
		`"device":{"mobile_model_name":"\u003cOther\u003e"}`: {"$device_model": nil, "device": values{"mobile_model_name": "<Other>"}},
		`"device":{"operating_system":"<Other>","operating_system_version":"<Other>","category":7}`: {
			"$os": nil, "$os_version": nil, "$device_type": 7., "device": values{"operating_system": "<Other>", "operating_system_version": "<Other>"},
		},
		`"device":{"operating_system":"Windows","operating_system_version":"Windows 10","web_info":{"browser":"Edge","browser_version":"120.0"}}`: {
			"$os": "Windows", "$os_version": "10", "$browser": "Microsoft Edge", "$browser_version": 120., "device": nil,
		},
		`"device":{"language":"en-gb","web_info":{"browser_version":"122.0.6261.94"}}`: {
			"$browser_language": "en-GB", "$browser_version": 122., "device": values{"web_info": values{"browser_version": "122.0.6261.94"}},
		},
		`"device":{"language":"zh-hant-tw","browser_version":"17.2","web_info":{"browser_version":"beta"}}`: {
			"$browser_language": "zh-hant-tw", "$browser_version": 17.2, "device": values{"web_info": values{"browser_version": "beta"}},
		},
		`"device":{"language":7,"browser_version":101}`:                             {"$browser_language": 7., "$browser_version": 101., "device": nil},
		`"device":{"operating_system":"iOS","web_info":{"browser":"Safari","x":1}}`: {"$browser": "Mobile Safari", "device": values{"web_info": values{"x": 1.}}},
		`"device":{"browser":"Safari","web_info":{"browser":"Chrome"}}`:             {"$browser": "Safari", "device": values{"web_info": values{"browser": "Chrome"}}},
		`"device":{"web_info":{"browser":"Edge"},"browser":"Edge"}`:                 {"$browser": "Microsoft Edge", "device": nil},
		`"geo":{"country":"Türkiye"}`:                                               {"$geoip_country_name": "Türkiye", "$geoip_country_code": "TR"},
		`"geo":{"country":"Atlantis"}`:                                              {"$geoip_country_name": "Atlantis", "$geoip_country_code": nil},
		`"event_params":[` + param("page_location", "https://shop.example/a?gclid=1&utm_source=x&utm_term=t") + `,` + param("source", "own") + `]`: {
			"$host": "shop.example", "$pathname": "/a", "gclid": "1", "utm_source": "own", "utm_term": "t", "$referrer": "$direct", "$referring_domain": "$direct",
		},
		`"event_params":[` + param("page_location", "https://shop.example") + `,` + param("page_referrer", "https://news.example/x") + `]`: {
			"$pathname": "/", "$referrer": "https://news.example/x", "$referring_domain": "news.example",
		},
		`"event_params":[` + param("page_location", "https://shop.example") + `,` + param("page_referrer", "") + `]`: {"$referrer": "$direct", "page_referrer": ""},
		`"event_params":[]`: {"$referrer": nil, "$referring_domain": nil, "$host": nil},
		`"event_params":[` + param("firebase_screen_class", "MainActivity") + `]`:                                           {"$screen_name": "MainActivity", "firebase_screen_class": "MainActivity"},
		`"event_params":[` + param("firebase_screen_class", "MainActivity") + `,` + param("firebase_screen", "Lobby") + `]`: {"$screen_name": "Lobby"},
	} {
		p := properties(t, nil, `"user_pseudo_id":"1.2",`+members)
		for name, value := range want {
			assert.Equal(t, value, p[name], "%s of %s", name, members)
		}
	}
	events, err := ga4.Format(nil).Convert([]byte(`{"event_name":"scroll","event_timestamp":1,"user_id":"u","event_params":[` + param("page_location", "https://shop.example/") + `]}`))
	require.NoError(t, err)
	assert.NotContains(t, string(events[0].RawProperties), "$direct", "only a page view says where a visitor came from")
}

// The id of a session is that of its start and of the visitor, in all forms of a number.
func TestSessions(t *testing.T) {
	t.Parallel()
	const start, day = 1719818317, 24 * 60 * 60
	session := func(value, members string) any {
		return properties(t, nil, members+`,"event_params":[{"key":"ga_session_id","value":`+value+`}]`)["$session_id"]
	}
	const visitor = `"user_pseudo_id":"1.2"`
	want := formats.SessionID(time.Unix(start, 0), "1.2", "1719818317").String()
	for _, value := range []string{`{"int_value":1719818317}`, `{"int_value":"1719818317"}`, `{"string_value":"1719818317"}`, `{"double_value":1719818317.0}`} {
		assert.Equal(t, want, session(value, visitor), value)
	}
	assert.Equal(t, want, session(`{"int_value":1719818317}`, `"user_id":"u",`+visitor), "after the login too")
	assert.Equal(t, formats.SessionID(time.Unix(start, 0), "u", "1719818317").String(), session(`{"int_value":1719818317}`, `"user_id":"u"`))
	assert.Equal(t, formats.SessionID(time.Unix(start, 0), "1.2", "1719645517").String(), session(`{"int_value":1719645517}`, visitor), "two days before: cut")
	assert.Equal(t, 1719645517, start-2*day)
	for _, none := range []string{`{"int_value":1719818318}`, `{"int_value":0}`, `{"int_value":-1}`, `{"string_value":"session_123"}`, `{"int_value":null}`, `{"string_value":""}`} {
		assert.Nil(t, session(none, visitor), none)
	}
	p := properties(t, nil, visitor+`,"user_properties":[{"key":"ga_session_id","value":{"int_value":1719818317}}]`)
	assert.NotContains(t, p, "$session_id", "of an earlier event")
	assert.NotContains(t, properties(t, &ga4.Options{Personless: true}, `"event_params":[{"key":"ga_session_id","value":{"int_value":1719818317}}]`), "$session_id")
}

// With the option, visitors make no profile; users do.
func TestNoVisitorProfiles(t *testing.T) {
	t.Parallel()
	const members = `"user_pseudo_id":"1.2","user_properties":[{"key":"plan","value":{"string_value":"team"}}],"traffic_source":{"source":"news"}`
	options := &ga4.Options{NoVisitorProfiles: true, PersonProperties: formats.PersonSet}
	assert.Equal(t, values{
		"$process_person_profile": false, "traffic_source": values{"source": "news"},
		"user_properties": []any{values{"key": "plan", "value": values{"string_value": "team"}}},
	}, properties(t, options, members))
	user := properties(t, options, `"user_id":"u",`+members)
	assert.NotContains(t, user, "$process_person_profile")
	assert.Equal(t, values{"plan": "team"}, user["$set"])
	assert.NotContains(t, properties(t, nil, members), "$process_person_profile")
}
