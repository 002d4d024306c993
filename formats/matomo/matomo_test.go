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
	formattest.Golden(t, matomo.Format(&matomo.Options{Goals: true, Personless: true, LookUpIP: true}), "visits.jsonl", "visits-options.golden.json")
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

// A model that Matomo does not know is none, and the region of a language is in capital letters.
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
	formattest.Fuzz(f, "visits.jsonl", true, matomo.Format(&matomo.Options{Goals: true, Personless: true}), matomo.Format(nil))
}
