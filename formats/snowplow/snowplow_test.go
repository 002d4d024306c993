package snowplow_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/snowplow"
	"github.com/hogapi/hogapi/history"
)

func agent(string) formats.Agent {
	return formats.Agent{Browser: "Chrome", BrowserVersion: "122", OS: "Mac OS X", OSVersion: "10.15.7", DeviceType: "Desktop"}
}

func TestGolden(t *testing.T) {
	t.Parallel()
	formattest.Golden(t, snowplow.Format(nil), "enriched.tsv", "enriched.golden.json")
	formattest.Golden(t, snowplow.Format(&snowplow.Options{HasNames: true, UserAgent: agent, KeepPagePings: true, LookUpIP: true}), "rows.jsonl", "rows.golden.json")
}

// The table in the documentation is the one that the code runs.
func TestDoc(t *testing.T) { formattest.Doc(t, snowplow.Table) }

func TestColumns(t *testing.T) {
	t.Parallel()
	assert.Len(t, snowplow.Columns, 131)
	for number, name := range map[int]string{1: "app_id", 6: "event", 53: "contexts", 59: "unstruct_event", 123: "derived_contexts", 124: "domain_sessionid", 131: "true_tstamp"} {
		assert.Equal(t, name, snowplow.Columns[number-1])
	}
	for _, row := range snowplow.Table {
		assert.Contains(t, snowplow.Columns, row.From)
	}
}

// A line of another number of values is a reject, and the next line is read.
func TestAnotherNumberOfValues(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "enriched.tsv"))
	require.NoError(t, err)
	good, _, _ := strings.Cut(string(text), "\n")
	path := formattest.File(t, "part", "shop\tweb\n"+good+"\n")
	report, err := history.Check(t.Context(), history.Files(snowplow.Format(nil), path), &history.Options{ID: "snowplow", MaxRejectShare: -1})
	require.NoError(t, err)
	assert.EqualValues(t, []int64{1, 1}, []int64{report.Good, report.Rejected})
}

// Copies of an event have one uuid, and with Options.Fingerprints different events with one id have two.
func TestFingerprints(t *testing.T) {
	t.Parallel()
	id := func(o *snowplow.Options, fingerprint string) string {
		r := formattest.Convert(t, snowplow.Format(o), []byte(`{"event":"page_view","event_id":"c6ef3124-b53a-4b13-a233-0088f79dcbcb","domain_userid":"d",
			"collector_tstamp":"2024-02-29 23:59:58","event_fingerprint":"`+fingerprint+`"}`))
		require.Len(t, r.Events, 1)
		return r.Events[0].UUID
	}
	assert.Equal(t, "c6ef3124-b53a-4b13-a233-0088f79dcbcb", id(nil, "a"))
	assert.Equal(t, id(nil, "a"), id(nil, "b"))
	with := &snowplow.Options{Fingerprints: true}
	assert.Equal(t, id(with, "a"), id(with, "a"))
	assert.NotEqual(t, id(with, "a"), id(with, "b"))
	assert.Equal(t, id(nil, ""), id(with, ""))
}

// The first time that is there counts, a zero id is nobody's, and the visitor is linked to the user.
func TestTimesAndIDs(t *testing.T) {
	t.Parallel()
	const nobody = `"00000000-0000-0000-0000-000000000000"`
	for members, want := range map[string]string{
		`"true_tstamp":"2024-01-01 00:00:01","derived_tstamp":"2024-01-01 00:00:02","collector_tstamp":"2024-01-01 00:00:03","user_id":"u"`: "u  00:00:01",
		`"derived_tstamp":"2024-01-01 00:00:02","collector_tstamp":"2024-01-01 00:00:03","user_id":"u","domain_userid":"d"`:                 "u d 00:00:02",
		`"derived_tstamp":"","collector_tstamp":"2024-01-01 00:00:03","domain_userid":` + nobody + `,"network_userid":"n"`:                  "n  00:00:03",
		`"collector_tstamp":"2024-01-01 00:00:03 UTC","network_userid":` + nobody:                                                           snowplow.SkipNoID,
		`"domain_userid":"d"`:                                "collector_tstamp: it is missing, want a time",
		`"domain_userid":"d","collector_tstamp":"yesterday"`: `collector_tstamp: want a time such as "2024-02-29 23:59:58.012000"`,
	} {
		r := formattest.Convert(t, snowplow.Format(nil), []byte(`{"event":"page_view",`+members+`}`))
		got := r.Skip + r.Reject
		if len(r.Events) > 0 {
			ev := r.Events[0]
			got = ev.DistinctID + " " + ev.AnonymousID + " " + ev.Timestamp.Format("15:04:05")
		}
		assert.Equal(t, want, got, members)
	}
}

// Hosts have the ports of their URLs, as PostHog's own, and the region of a language is in capital letters.
func TestLiveValues(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]string{
		`"page_url":"http://localhost:3000/a","page_urlhost":"localhost","page_urlport":"3000","page_urlpath":"/a",` +
			`"page_referrer":"http://news.example:81/","refr_urlhost":"news.example"`: `"$host":"localhost:3000" "$referring_domain":"news.example:81" `,
		`"page_urlhost":"shop.example"`: `"$host":"shop.example" "$referring_domain":"$direct" `,
		`"br_lang":"en-au"`:             `"$referring_domain":"$direct" "$browser_language":"en-AU" `,
	} {
		r := formattest.Convert(t, snowplow.Format(nil), []byte(`{"event":"page_view","domain_userid":"d","collector_tstamp":"2024-01-01 00:00:03",`+members+`}`))
		require.Len(t, r.Events, 1)
		var p map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(r.Events[0].Properties, &p))
		var got strings.Builder
		for _, name := range []string{"$host", "$referring_domain", "$browser_language"} {
			if p[name] != nil {
				fmt.Fprintf(&got, "%q:%s ", name, p[name])
			}
		}
		assert.Equal(t, want, got.String(), members)
	}
}

// The vendor's ids of sessions become sessions.
func TestSessions(t *testing.T) {
	t.Parallel()
	source := history.Files(snowplow.Format(nil), filepath.Join("testdata", "enriched.tsv"))
	sorted := formats.Sorted(source, t.TempDir())
	var sessions []string
	for ev, err := range formats.Sessions(sorted, &formats.SessionOptions{Key: snowplow.SessionKey}).Events(t.Context(), hogapi.Position{}) {
		require.NoError(t, err)
		var p map[string]any
		if json.Unmarshal(ev.RawProperties, &p) == nil && p[snowplow.SessionKey] != nil {
			sessions = append(sessions, p["$session_id"].(string))
		}
	}
	require.Len(t, sessions, 3)
	assert.Equal(t, sessions[0], sessions[1])
	assert.NotEqual(t, sessions[0], sessions[2])
}

func FuzzConvert(f *testing.F) {
	formattest.Fuzz(f, "rows.jsonl", true, snowplow.Format(&snowplow.Options{HasNames: true, UserAgent: agent}))
}
