package amplitude_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/history"
)

// properties returns the properties of the event of a record.
func properties(t *testing.T, options *amplitude.Options, members string) (p map[string]any) {
	t.Helper()
	record := fmt.Sprintf(`{"event_type":"e","user_id":"u","device_id":"d","event_time":"2024-07-01 07:18:37.000000",%s}`, members)
	require.NoError(t, json.Unmarshal(convert(t, options, record)[0].RawProperties, &p))
	return p
}

// subset checks that an event has properties, or has them not where the value is nil.
func subset(t *testing.T, p map[string]any, want map[string]any, of string) {
	t.Helper()
	for name, value := range want {
		assert.Equal(t, value, p[name], "%s of %s", name, of)
	}
}

type values = map[string]any

// An event has the properties that PostHog's own SDKs take from the page, wherever Amplitude has them.
func TestPages(t *testing.T) {
	t.Parallel()
	const location = `"[Amplitude] Page Location":"https://shop.example/a?utm_source=x&gclid=7#top"`
	for members, want := range map[string]values{
		`"event_properties":{` + location + `,"[Amplitude] Page URL":"https://shop.example/a"}`: {
			"$current_url": "https://shop.example/a?utm_source=x&gclid=7#top", "$host": "shop.example", "$pathname": "/a",
			"utm_source": "x", "gclid": "7", "$referrer": nil, "$referring_domain": nil, "[Amplitude] Page URL": "https://shop.example/a",
		},
		`"event_properties":{"[Amplitude] Page URL":"https://shop.example/a"}`: {"$current_url": "https://shop.example/a", "utm_source": nil},
		`"event_properties":{"[Amplitude] Page URL":"https://shop.example/a","[Amplitude] Page Domain":"d","[Amplitude] Page Path":"/p"}`: {
			"$host": "d", "$pathname": "/p",
		},
		`"event_properties":{` + location + `,"utm_source":"own"}`:                                              {"utm_source": "own", "gclid": "7"},
		`"event_properties":{` + location + `},"user_properties":{"utm_source":"old","utm_medium":"old"}`:       {"utm_source": "x", "utm_medium": nil},
		`"user_properties":{"utm_source":"news","utm_medium":"EMPTY","utm_term":null,"fbclid":"f","mc_cid":""}`: {"utm_source": "news", "utm_medium": nil, "utm_term": nil, "fbclid": "f", "mc_cid": nil},
		`"user_properties":"{\"utm_source\":\"text of a table\"}"`:                                              {"utm_source": "text of a table"},
		`"user_properties":{"referrer":"https://www.google.com/","referring_domain":"other"}`:                   {"$referrer": "https://www.google.com/", "$referring_domain": "www.google.com"},
		`"user_properties":{"referrer":"a friend"}`:                                                             {"$referrer": nil, "$referring_domain": nil},
		`"event_properties":{"referrer":"https://a.example/x"},"user_properties":{"referrer":"https://b.example/"}`: {
			"$referrer": "https://a.example/x", "$referring_domain": "a.example",
		},
		`"event_properties":{"referrer":"https://a.example/x","referring_domain":"own.example"}`: {"$referring_domain": "own.example"},
		`"event_properties":{"[Amplitude] Screen Name":"Home"}`:                                  {"$screen_name": "Home", "[Amplitude] Screen Name": "Home"},
	} {
		for _, options := range []*amplitude.Options{nil, {PersonProperties: formats.PersonNone}} {
			subset(t, properties(t, options, members), want, members)
		}
	}
}

// A page view is of a visitor who came directly, unless something says another thing. Other events say nothing.
func TestDirect(t *testing.T) {
	t.Parallel()
	of := func(name, members string) any {
		var p values
		record := fmt.Sprintf(`{"event_type":%q,"user_id":"u","event_time":"2024-07-01 07:18:37",%s}`, name, members)
		require.NoError(t, json.Unmarshal(convert(t, nil, record)[0].RawProperties, &p))
		assert.Equal(t, p["$referrer"] == "$direct", p["$referring_domain"] == "$direct")
		return p["$referring_domain"]
	}
	const view, page = "[Amplitude] Page Viewed", `"event_properties":{"[Amplitude] Page URL":"https://shop.example/"}`
	assert.Equal(t, "$direct", of(view, page))
	assert.Equal(t, "a.example", of(view, page+`,"user_properties":{"referrer":"https://a.example"}`))
	assert.Nil(t, of(view, `"event_properties":{}`))
	assert.Nil(t, of("Viewed", page))
}

// A view of a screen is $screen.
func TestScreens(t *testing.T) {
	t.Parallel()
	ev := convert(t, nil, `{"event_type":"[Amplitude] Screen Viewed","user_id":"u","event_time":"2024-07-01 07:18:37"}`)[0]
	assert.Equal(t, "$screen", ev.Name)
}

// Devices, languages and countries are in the words of PostHog's own SDKs.
func TestLiveValues(t *testing.T) {
	t.Parallel()
	const web = `"platform":"Web","os_name":"Chrome","os_version":"86",`
	for members, want := range map[string]values{
		web + `"device_type":"Mac","device_model":"Mac OS"`: {
			"$os": "Mac OS X", "$device_type": "Desktop", "$browser": "Chrome", "$device_model": nil, "$amplitude_device_model": "Mac OS",
		},
		web + `"device_type":null,"device_model":"Mac OS","device_family":"Mac OS"`: {"$os": "Mac OS X", "$device_type": "Desktop", "$device_model": nil},
		web + `"device_type":null,"device_family":"Windows 10"`:                     {"$os": "Windows", "$os_version": "10", "$device_type": "Desktop", "$amplitude_device_family": "Windows 10"},
		web + `"device_type":"Apple iPhone","device_model":"iPhone"`:                {"$os": "iOS", "$browser": "Chrome iOS", "$amplitude_os_name": "Chrome", "$device_type": "Mobile", "$device_model": "iPhone"},
		web + `"device_type":"Samsung Galaxy S21","device_model":"SM-G991B"`:        {"$os": "Android", "$device_type": "Mobile", "$device_model": "SM-G991B"},
		`"platform":"Web","os_name":"Chrome Mobile","device_type":"CPH2211"`:        {"$os": "Android", "$browser": "Chrome", "$device_type": "Mobile"},
		`"platform":"Web","os_name":"Chrome Mobile iOS","device_type":""`:           {"$os": nil, "$browser": "Chrome iOS"},
		`"platform":"Web","os_name":"Edge","device_type":"Windows"`:                 {"$browser": "Microsoft Edge", "$amplitude_os_name": "Edge", "$os": "Windows"},
		`"platform":"Android","os_name":"Android Browser","device_type":"x"`:        {"$os": "Android Browser"},
		`"platform":"Web","os_name":"Android Browser","device_type":"x"`:            {"$os": "Android", "$browser": "Android Mobile", "$device_type": "Mobile"},
		`"platform":"iOS","os_name":null,"os_version":"iOS 17.2"`:                   {"$os": "iOS", "$os_version": "17.2", "$device_type": "Mobile", "$browser": nil},
		`"platform":"tvOS","os_name":"tvos"`:                                        {"$os": "tvOS", "$device_type": "TV"},
		web + `"language":"English"`:                                                {"$browser_language": "en", "$amplitude_language": "English", "$locale": nil},
		web + `"language":"Chinese (Simplified)"`:                                   {"$browser_language": "zh"},
		web + `"language":"pt_BR"`:                                                  {"$browser_language": "pt-BR"},
		web + `"language":"Klingon"`:                                                {"$browser_language": nil, "$amplitude_language": "Klingon"},
		`"platform":"iOS","os_name":"ios","language":"German"`:                      {"$browser_language": nil, "$locale": "de"},
		`"country":"United States"`:                                                 {"$geoip_country_name": "United States", "$geoip_country_code": "US"},
		`"country":"Atlantis"`:                                                      {"$geoip_country_name": "Atlantis", "$geoip_country_code": nil},
		`"country":"Canada","event_properties":{"$geoip_country_code":"own"}`:       {"$geoip_country_code": "own"},
	} {
		subset(t, properties(t, nil, members), want, members)
	}
	set := properties(t, &amplitude.Options{PersonProperties: formats.PersonSet}, web+`"device_type":"Mac","country":"Canada"`)["$set"]
	assert.Equal(t, values{
		"$os": "Mac OS X", "$device_type": "Desktop", "$browser": "Chrome", "$browser_version": 86., "$geoip_country_name": "Canada",
		"$geoip_country_code": "CA",
	}, set)
}

// sessionOf is the session of an event of a device at a time, or "".
func sessionOf(t *testing.T, device, at, members string) string {
	t.Helper()
	record := fmt.Sprintf(`{"event_type":"e","user_id":"u","device_id":%q,"event_time":%q%s}`, device, at, members)
	var p struct {
		Session string `json:"$session_id"`
	}
	require.NoError(t, json.Unmarshal(convert(t, nil, record)[0].RawProperties, &p))
	return p.Session
}

// The id of a session is that of the start and the device, for all events from the start on.
func TestSessions(t *testing.T) {
	t.Parallel()
	const ms, start, later, nextDay = 1719818317123, "2024-07-01 07:18:37.123000", "2024-07-02 07:18:37.122999", "2024-07-02 07:18:37.123000"
	const id = `,"session_id":1719818317123,"platform":"Web"`
	want := sessionOf(t, "d", start, id)
	assert.Equal(t, formats.SessionID(time.UnixMilli(ms), "d", "1719818317123").String(), want)
	assert.Equal(t, want, sessionOf(t, "d", later, id))
	assert.Equal(t, want, sessionOf(t, "d", later, `,"session_id":"1719818317123","library":"http/2.0","platform":"Web"`), "a program of a device")
	assert.NotEqual(t, want, sessionOf(t, "d2", start, id))
	assert.NotEqual(t, want, sessionOf(t, "", start, id))
	next := uuid.MustParse(sessionOf(t, "d", nextDay, id))
	assert.Equal(t, formats.SessionID(time.UnixMilli(ms).Add(24*time.Hour), "d", "1719818317123"), next, "cut after a day")
	for _, none := range []string{
		``, `,"session_id":-1`, `,"session_id":"-1"`, `,"session_id":0`, `,"session_id":null`, `,"session_id":"x"`, `,"session_id":{}`,
		`,"session_id":1719818317124`, `,"session_id":1719818317123,"library":"http/2.0"`, `,"session_id":1719818317123,"library":"batch/1.0","platform":null`,
	} {
		assert.Empty(t, sessionOf(t, "d", start, none), none)
	}
}

// A clock that is ahead does not put events before the start of their session: Amplitude corrects the time of the
// event and not the session.
func TestClocks(t *testing.T) {
	t.Parallel()
	const id = `,"session_id":1719818317123,"client_event_time":` // 07:18:37.123
	hour := time.Date(2024, 7, 1, 5, 0, 0, 0, time.UTC)
	want := formats.SessionID(hour, "d", "1719818317123").String()
	assert.Equal(t, want, sessionOf(t, "d", "2024-07-01 05:18:37.123", id+`"2024-07-01 07:18:37.123"`), "two hours ahead")
	assert.Equal(t, want, sessionOf(t, "d", "2024-07-01 05:20:36.9", id+`"2024-07-01 07:20:37.123"`), "corrected by a little more")
	assert.NotEqual(t, want, sessionOf(t, "d", "2024-07-01 05:18:37.123", `,"session_id":1719818317124,"client_event_time":"2024-07-01 07:18:37.124"`))
	exact := formats.SessionID(time.UnixMilli(1719818317123), "d", "1719818317123").String()
	assert.Equal(t, exact, sessionOf(t, "d", "2024-07-01 07:19:00", id+`"2024-07-01 07:19:59.9"`), "less than a minute ahead")
	assert.Equal(t, exact, sessionOf(t, "d", "2024-07-01 12:19:00", id+`"2024-07-01 07:19:00"`), "behind")
	assert.Equal(t, exact, sessionOf(t, "d", "2024-07-01 07:19:00", id+`"soon"`), "no clock")
	assert.Empty(t, sessionOf(t, "d", "2024-07-01 07:18:37", id+`"2024-07-01 07:18:37"`), "before the start by its own clock")
}

// A device id that is the id of a user joins nobody, however Amplitude says that it is one.
func TestDevicesThatAreUsers(t *testing.T) {
	t.Parallel()
	row := func(user, device string) string {
		return fmt.Sprintf(`{"event_type":"e","event_time":"2024-07-01 07:18:37","user_id":%q,"device_id":%q}`+"\n", user, device)
	}
	for rows, want := range map[string]string{
		row("u", "d"):                                "u<d ",
		row("u", "v") + row("v", ""):                 formats.SkipUserDevice + " ",
		row("u", "v") + row("v", "v"):                formats.SkipUserDevice + " ",
		row("u", "v") + row("v", "d"):                formats.SkipUserDevice + " v<d ",
		row("u", "v") + row("", "v"):                 "u<v ",
		row("u", "d") + row("", "d") + row("v", "d"): formats.SkipSharedDevice + " ",
	} {
		links := formats.Links(history.FilesFS(fstest.MapFS{"f": {Data: []byte(rows)}}, amplitude.Format(nil), "f"))
		report, err := history.Check(t.Context(), links, &history.Options{ID: "links"})
		require.NoError(t, err)
		var got []string
		for ev, err := range links.Events(t.Context(), hogapi.Position{}) {
			require.NoError(t, err)
			if ev.DistinctID != "" {
				got = append(got, fmt.Sprintf("%s<%v ", ev.DistinctID, ev.Properties["$anon_distinct_id"]))
			}
		}
		for reason, n := range report.Skips {
			assert.EqualValues(t, 1, n, rows)
			got = append(got, reason+" ")
		}
		slices.Sort(got)
		assert.Equal(t, want, strings.Join(got, ""), rows)
	}
}

// With the options, visitors make no profile, and PostHog looks addresses up.
func TestOptionsOfProperties(t *testing.T) {
	t.Parallel()
	of := func(o amplitude.Options, members string) (p values) {
		record := `{"event_type":"e","event_time":"2024-07-01 07:18:37","os_name":"ios","user_properties":{"plan":"x","utm_source":"s"},` + members + `}`
		require.NoError(t, json.Unmarshal(convert(t, &o, record)[0].RawProperties, &p))
		return p
	}
	none := amplitude.Options{NoVisitorProfiles: true}
	subset(t, of(none, `"device_id":"d"`), values{
		"$process_person_profile": false, "$set_once": nil, "$amplitude_user_properties": values{"plan": "x", "utm_source": "s"}, "utm_source": "s", "$os": "iOS",
	}, "a visitor")
	assert.Nil(t, of(none, `"device_id":"d","user_id":"u"`)["$process_person_profile"])
	assert.NotNil(t, of(none, `"device_id":"d","user_id":"u"`)["$set_once"])
	assert.Nil(t, of(amplitude.Options{}, `"device_id":"d"`)["$process_person_profile"])
	identify := convert(t, &none, `{"event_type":"$identify","device_id":"d","event_time":"2024-07-01 07:18:37","user_properties":{"plan":"x"}}`)[0]
	assert.NotContains(t, string(identify.RawProperties), "$process_person_profile", "PostHog refuses it there")
	set := amplitude.Options{NoVisitorProfiles: true, KeepAll: true, PersonProperties: formats.PersonSet}
	subset(t, of(set, `"device_id":"d"`), values{"$set": nil, "$amplitude_user_properties": values{"plan": "x", "utm_source": "s"}}, "all is kept once")
	assert.Nil(t, of(amplitude.Options{NoVisitorProfiles: true, PersonProperties: formats.PersonNone}, `"device_id":"d"`)["$amplitude_user_properties"])

	assert.Equal(t, false, of(amplitude.Options{LookUpIP: true}, `"user_id":"u","ip_address":"203.0.113.9"`)["$geoip_disable"])
	assert.Nil(t, of(amplitude.Options{LookUpIP: true}, `"user_id":"u"`)["$geoip_disable"])
	assert.Nil(t, of(amplitude.Options{}, `"user_id":"u","ip_address":"203.0.113.9"`)["$geoip_disable"])
}
