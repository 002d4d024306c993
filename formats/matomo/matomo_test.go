package matomo_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/matomo"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	formattest.Golden(t, matomo.Format(nil), "visits.jsonl", "visits.golden.json")
	formattest.Golden(t, matomo.Format(&matomo.Options{Personless: true, LookUpIP: true}), "visits.jsonl", "visits-options.golden.json")
}

// The table in the documentation is the one that the code runs.
func TestDoc(t *testing.T) { formattest.Doc(t, matomo.Table) }

func visit(first, last int64, shown ...int64) []byte {
	var actions strings.Builder
	for i, at := range shown {
		actions.WriteString(fmt.Sprintf(`,{"type":"action","url":"https://shop.example/","pageId":"%d","timestamp":%d}`, i+1, at))
	}
	return fmt.Appendf(nil, `{"idSite":"1","idVisit":"2","visitorId":"v","firstActionTimestamp":%d,"lastActionTimestamp":%d,"actionDetails":[%s]}`, first, last, actions.String()[1:])
}

// A model that Matomo does not know is left out, and the region of a language is in capital letters.
func TestLiveValues(t *testing.T) {
	t.Parallel()
	for model, want := range map[string]string{"Generic Desktop": "", "generic smartphone": "", "iPhone 14": "iPhone 14"} {
		record := strings.Replace(string(visit(7, 7, 7)), `"visitorId"`, `"deviceType":"Smartphone","languageCode":"en-gb","deviceModel":"`+model+`","visitorId"`, 1)
		var p struct {
			Model    string `json:"$device_model"`
			Kind     string `json:"$device_type"`
			Language string `json:"$browser_language"`
		}
		require.NoError(t, json.Unmarshal(formattest.Convert(t, matomo.Format(nil), []byte(record)).Events[0].Properties, &p))
		assert.Equal(t, []string{want, "Mobile", "en-GB"}, []string{p.Model, p.Kind, p.Language}, model)
	}
}

// Actions have the times of the clock of the site.
func TestTimes(t *testing.T) {
	t.Parallel()
	paris, err := time.LoadLocation("Europe/Paris")
	require.NoError(t, err)
	const back = 1729990800 // the clocks of Paris are set from 3:00 to 2:00 then
	const from, to = 1709251200, 1709251300
	const lost = "do not tell how far its actions are from UTC"
	for _, tt := range []struct {
		zone   *time.Location
		record []byte
		want   string // seconds from the first action
	}{
		{nil, visit(from, to, from-25_200, to-25_200), "[0 100]"},
		{nil, visit(from, to, from, to), "[0 100]"},
		{nil, visit(from, to, from+20_700, to+20_700), "[0 100]"},
		{nil, visit(from, to, from+60, to+60), lost},
		{nil, visit(from, to, from+60_000, to+60_000), lost},
		{nil, visit(0, 0, from, to), lost},
		{nil, visit(back-60, back+60, back-60+7200, back+60+3600), lost},
		{paris, visit(back-60, back+60, back-60+7200, back+60+3600), "[0 120]"},
		{paris, visit(back+60, back+90, back+60+3600, back+90+3600), "[0 30]"}, // 2:01 for the second time
		{paris, visit(0, 0, 1709251198, 1709251199), "[0 1]"},
		{paris, visit(0, 0, 1711852200), "the clocks of Europe/Paris skip this time"}, // 2:30 of 31 March 2024
	} {
		r := formattest.Convert(t, matomo.Format(&matomo.Options{Zone: tt.zone}), tt.record)
		if r.Reject != "" {
			assert.Contains(t, r.Reject, tt.want)
			continue
		}
		var seconds []int
		for _, ev := range r.Events {
			seconds = append(seconds, int(ev.Timestamp.Sub(r.Events[0].Timestamp)/time.Second))
		}
		assert.Equal(t, tt.want, fmt.Sprint(seconds), "%s", tt.record)
	}
}

// The events of a visit are in one session, which begins with the first action, in any order.
func TestSession(t *testing.T) {
	t.Parallel()
	r := formattest.Convert(t, matomo.Format(nil), visit(1709251198, 1709251298, 1709251298, 1709251198))
	require.Len(t, r.Events, 2)
	var sessions []uuid.UUID
	for _, ev := range r.Events {
		var p struct {
			Session uuid.UUID `json:"$session_id"`
		}
		require.NoError(t, json.Unmarshal(ev.Properties, &p))
		sessions = append(sessions, p.Session)
	}
	assert.Equal(t, sessions[0], sessions[1])
	seconds, _ := sessions[0].Time().UnixTime()
	assert.EqualValues(t, 1709251198, seconds)
	assert.NotEqual(t, r.Events[0].UUID, r.Events[1].UUID)
}

// A table has no actions.
func TestATable(t *testing.T) {
	t.Parallel()
	formattest.Refusals(t, matomo.Format(nil), map[string]string{"idSite,idVisit": "Live.getLastVisitsDetails, format=JSON"})
}

func FuzzConvert(f *testing.F) {
	formattest.Fuzz(f, "visits.jsonl", true, matomo.Format(&matomo.Options{Personless: true}), matomo.Format(nil))
}

// Read = sent + left out, by action: conversions and searches of a page were lost and not counted.
func TestEachActionIsSentOrCounted(t *testing.T) {
	t.Parallel()
	const visit = `{"idSite":1,"idVisit":%d,"visitorId":"v","firstActionTimestamp":1693562400,"lastActionTimestamp":1693562460,"actionDetails":[%s]}`
	const (
		view   = `{"type":"action","timestamp":1693562400,"pageId":"10","url":"https://shop.example/a","pageTitle":"A"}`
		goal   = `{"type":"goal","goalId":1,"goalName":"Lead sent","revenue":99,"goalPageId":"10","timestamp":1693562403}`
		search = `{"type":"search","timestamp":1693562403,"pageId":"10","url":"https://shop.example/a","siteSearchKeyword":"shoes"}`
		click  = `{"type":"event","timestamp":1693562403,"pageId":"10","url":"https://shop.example/a","eventCategory":"c","eventAction":"play","title":"Event: c"}`
		server = `{"type":"goal","goalId":2,"goalName":"Order","revenue":1500,"timestamp":1693562460}`
		last   = `{"type":"action","timestamp":1693562460,"pageId":"11","url":"https://shop.example/b"}`
	)
	for i, tc := range []struct {
		actions []string
		want    []string // events
		left    []string
		options matomo.Options
	}{
		{[]string{view, goal, last}, []string{"$pageview", "$pageview", "goal"}, nil, matomo.Options{}},
		{[]string{server}, []string{"goal"}, nil, matomo.Options{Zone: time.UTC}},
		{[]string{view, search, search, last}, []string{"$pageview", "search", "$pageview"}, []string{matomo.SkipListedTwice}, matomo.Options{}},
		{[]string{view, click, view, last}, []string{"$pageview", "play", "$pageview"}, []string{matomo.SkipListedTwice}, matomo.Options{}},
		{[]string{view, goal, last}, []string{"$pageview", "$pageview"}, []string{matomo.SkipGoal}, matomo.Options{NoGoals: true}},
		{[]string{view, goal, search, last}, []string{"$pageview", "$pageview"}, nil, matomo.Options{Mapping: 3}},
	} {
		raw := fmt.Appendf(nil, visit, i, strings.Join(tc.actions, ","))
		r := formattest.Convert(t, matomo.Format(&tc.options), raw)
		var names []string
		ids := map[string]bool{}
		for _, ev := range r.Events {
			names = append(names, ev.Event)
			ids[ev.UUID] = true
			if ev.Event == "play" {
				assert.Contains(t, string(ev.Properties), `"matomo_title":"Event: c"`)
				assert.NotContains(t, string(ev.Properties), `"title":`)
			}
		}
		assert.Equal(t, tc.want, names, string(raw))
		assert.Equal(t, tc.left, r.Left, string(raw))
		assert.Len(t, ids, len(names), "each has a uuid of its own")
		if tc.options.Mapping == 0 {
			assert.Len(t, tc.actions, len(names)+len(r.Left))
		}
	}
}
