package segment_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/segment"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	formattest.Golden(t, segment.Format(nil), "calls.jsonl", "calls.golden.json")
	formattest.Golden(t, segment.Format(&segment.Options{GroupType: "company", PersonProperties: formats.PersonSet}), "calls.jsonl", "calls-options.golden.json")
}

// The table in the documentation is the one that the code runs.
func TestDoc(t *testing.T) { formattest.Doc(t, segment.Table) }

func TestOptions(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "mapping 4", segment.Format(nil).Options)
	assert.Equal(t, "mapping 4", segment.Format(&segment.Options{}).Options)
	assert.Equal(t, `mapping 4; group="company",groups=off,person=set`, segment.Format(&segment.Options{GroupType: "company", NoGroups: true, PersonProperties: formats.PersonSet}).Options)
	assert.Equal(t, `segment`, segment.Format(nil).Name)
	skipped := formattest.Convert(t, segment.Format(&segment.Options{NoGroups: true}), []byte(`{"type":"group","groupId":"g"}`))
	assert.Equal(t, segment.SkipGroup, skipped.Skip)
}

func FuzzConvert(f *testing.F) {
	formattest.Fuzz(f, "calls.jsonl", false, segment.Format(&segment.Options{GroupType: "company"}))
}

// Members that have no meaning to PostHog in a call of their kind stay under their own names. A key that is
// there twice is an error, in the context too.
func TestMembersThatStay(t *testing.T) {
	t.Parallel()
	const double = "context: duplicate key in "
	for members, want := range map[string]string{
		`"type":"track","event":"e","name":"n","traits":{"a":1}`:                            `{"name":"n","traits":{"a":1}}`,
		`"type":"screen","event":"e","name":"n","traits":{"a":1}`:                           `{"$screen_name":"n","event":"e","traits":{"a":1}}`,
		`"type":"page","event":"e","name":"n","traits":{"a":1}`:                             `{"title":"n","event":"e","name":"n","traits":{"a":1}}`,
		`"type":"identify","event":"e","name":"n","traits":{"a":1}`:                         `{"$set_once":{"a":1},"event":"e","name":"n"}`,
		`"type":"identify","traits":[1]`:                                                    `{"traits":[1]}`,
		`"type":"screen","properties":{"name":"p"},"event":"e"`:                             `{"$screen_name":"p","name":"p","event":"e"}`,
		`"type":"screen","event":"e"`:                                                       `{"$screen_name":"e","event":"e"}`,
		`"type":"track","event":"e","context":{"device":{"type":5}}`:                        `{"$device_type":5}`,
		`"type":"track","event":"e","context":{"device":{"type":"IOS"}}`:                    `{"$device_type":"Mobile","context":{"device":{"type":"IOS"}}}`,
		`"type":"track","event":"e","context":{"device":{"type":"android"}}`:                `{"$device_type":"Mobile","context":{"device":{"type":"android"}}}`,
		`"type":"track","event":"e","context":{"device":{"type":"x"}}`:                      `{"$device_type":"x"}`,
		`"type":"track","event":"e","context":{"ip":"a","ip":"b"}`:                          double + "ip",
		`"type":"track","event":"e","context":{"page":{"url":"a","url":"b"},"locale":"de"}`: double + "url",
	} {
		events, err := segment.Format(nil).Convert([]byte(`{"userId":"u","timestamp":"2024-07-01T07:18:37Z",` + members + `}`))
		if strings.HasPrefix(want, double) {
			require.ErrorContains(t, err, want, members)
			continue
		}
		require.NoError(t, err, members)
		require.Len(t, events, 1)
		assert.JSONEq(t, want, string(events[0].RawProperties), members)
	}
	events, err := segment.Format(&segment.Options{GroupType: "g"}).Convert([]byte(`{"type":"group","groupId":"x","userId":"u","timestamp":"2024-07-01T07:18:37Z","traits":{"a":1}}`))
	require.NoError(t, err)
	assert.NotContains(t, string(events[0].RawProperties), `"traits"`)
}

// Each call has the properties of PostHog's live events.
func TestProperties(t *testing.T) {
	t.Parallel()
	const agent = `"userAgent":"Mozilla/5.0 (Macintosh)"`
	for members, want := range map[string]string{
		`"type":"track","event":"e","context":{` + agent + `}`: `{"$raw_user_agent":"Mozilla/5.0 (Macintosh)","$browser":"Chrome","$browser_version":119.1,"$os":"Mac OS X","$os_version":"10.15.7","$device_type":"Desktop"}`,
		`"type":"track","event":"e","context":{` + agent + `,"os":{"name":"android","version":"8"},"device":{"type":"Android","model":"SM-T870"}}`: `{"$raw_user_agent":"Mozilla/5.0 (Macintosh)",` +
			`"$browser":"Chrome","$browser_version":119.1,"$os":"Android","$os_version":"8","$device_type":"Tablet","$device_model":"SM-T870","context":{"device":{"type":"Android"}}}`,
		`"type":"track","event":"e","context":{"os":{"name":"iPhone OS","version":"8.1"}}`:       `{"$os":"iOS","$os_version":"8.1"}`,
		`"type":"track","event":"e","context":{"os":{"name":"macOS"}}`:                           `{"$os":"Mac OS X","$device_type":"Desktop"}`,
		`"type":"track","event":"e","context":{"locale":"en-GB"}`:                                `{"$locale":"en-GB","$browser_language":"en-GB"}`,
		`"type":"track","event":"e","context":{"screen":{"innerWidth":5,"innerHeight":6,"x":7}}`: `{"$viewport_width":5,"$viewport_height":6,"context":{"screen":{"x":7}}}`,
		`"type":"track","event":"e","context":{"page":{"url":"https://a.b/c?gclid=g&utm_source=url"},"campaign":{"source":"s","id":"i"}}`: `{"$current_url":"https://a.b/c?gclid=g&utm_source=url",` +
			`"$host":"a.b","$pathname":"/c","gclid":"g","utm_source":"s","context":{"campaign":{"id":"i"}}}`,
		`"type":"page","properties":{"url":"https://a.b/","referrer":"https://r.c/d"},"context":{"page":{"url":"https://x.y/","referrer":null,"search":"?a"}}`: `{"$current_url":"https://a.b/",` +
			`"$host":"a.b","$pathname":"/","$referrer":"https://r.c/d","$referring_domain":"r.c","context":{"page":{"url":"https://x.y/","search":"?a"}}}`,
		`"type":"page","properties":{"url":"https://a.b/","referrer":""},"context":{"page":{"referrer":""}}`: `{"$current_url":"https://a.b/","$host":"a.b","$pathname":"/",` +
			`"$referrer":"$direct","$referring_domain":"$direct"}`,
		`"type":"page","context":{"page":{"url":"https://a.b/","referrer":"$direct"}}`:             `{"$current_url":"https://a.b/","$host":"a.b","$pathname":"/","$referrer":"$direct","$referring_domain":"$direct"}`,
		`"type":"track","event":"e","context":{"page":{"url":"https://a.b/","referrer":""}}`:       `{"$current_url":"https://a.b/","$host":"a.b","$pathname":"/"}`,
		`"type":"page","properties":{"title":"own","$pathname":"/p","path":"/q"}`:                  `{"title":"own","$pathname":"/p","path":"/q"}`,
		`"type":"track","event":"e","context":{"ip":"203.0.113.9","traits":{"a":1},"groupId":"g"}`: `{"$ip":"203.0.113.9","$geoip_disable":false,"context":{"traits":{"a":1},"groupId":"g"}}`,
	} {
		format := segment.Format(&segment.Options{LookUpIP: true, UserAgent: func(string) formats.Agent {
			return formats.Agent{Browser: "Chrome", BrowserVersion: "119.1", OS: "Mac OS X", OSVersion: "10.15.7", DeviceType: "Desktop"}
		}})
		events, err := format.Convert([]byte(`{"userId":"u","timestamp":"2024-07-01T07:18:37Z",` + members + `}`))
		require.NoError(t, err, members)
		assert.JSONEq(t, want, string(events[0].RawProperties), members)
	}
}

// Visitors get no profile by option, but whoever is identified does.
func TestNoVisitorProfiles(t *testing.T) {
	t.Parallel()
	format := segment.Format(&segment.Options{NoVisitorProfiles: true, GroupType: "g"})
	for members, isLeft := range map[string]bool{
		`"type":"track","event":"e","anonymousId":"a"`:              true,
		`"type":"page","anonymousId":"a","userId":" "`:              true,
		`"type":"screen","anonymousId":"a","userId":null`:           true,
		`"type":"track","event":"e","anonymousId":"a","userId":"u"`: false,
		`"type":"track","event":"e","userId":7`:                     false,
		`"type":"identify","anonymousId":"a"`:                       false,
		`"type":"group","anonymousId":"a","groupId":"x"`:            false,
		`"type":"alias","anonymousId":"a","previousId":"x"`:         false,
	} {
		events, err := format.Convert([]byte(`{"timestamp":"2024-07-01T07:18:37Z",` + members + `}`))
		require.NoError(t, err, members)
		assert.Equal(t, isLeft, strings.Contains(string(events[0].RawProperties), `"$process_person_profile":false`), members)
	}
}

// The id of a session that is the time of its start makes a session of PostHog, the same for all its events.
func TestSession(t *testing.T) {
	t.Parallel()
	session := func(id, at, anonymous string) string {
		events, err := segment.Format(nil).Convert([]byte(`{"type":"track","event":"e","userId":"u","anonymousId":"` + anonymous + `","timestamp":"` + at + `","context":{"sessionId":` + id + `}}`))
		require.NoError(t, err)
		var p struct {
			Session string          `json:"$session_id"`
			Own     json.RawMessage `json:"segment_session_id"`
		}
		require.NoError(t, json.Unmarshal(events[0].RawProperties, &p))
		assert.Equal(t, id, string(p.Own))
		return p.Session
	}
	const start, at, later = "1719818317123", "2024-07-01T07:18:37.123Z", "2024-07-01T08:00:00Z"
	first := session(start, at, "a")
	assert.Len(t, first, 36)
	assert.EqualValues(t, '7', first[14])
	assert.Equal(t, first, session(start, later, "a"))
	assert.Equal(t, first, session(`"`+start+`"`, later, "a"))
	assert.NotEqual(t, first, session(start, later, "b"))
	assert.NotEmpty(t, session("1719818317", later, "a"), "seconds, as on phones")
	assert.Empty(t, session(start, "2024-07-01T07:18:37.122Z", "a"), "before the start")
	assert.Empty(t, session("1234567890", later, "a"), "chosen by hand")
	assert.Empty(t, session(`"c0ffee"`, later, "a"))
}
