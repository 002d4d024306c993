package pendo_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/pendo"
)

func agent(string) formats.Agent { return formats.Agent{OS: "Mac OS X", DeviceType: "Desktop"} }

func TestGolden(t *testing.T) {
	t.Parallel()
	formattest.Golden(t, pendo.Format(&pendo.Options{UserAgent: agent, LookUpIP: true}), "guide_event.csv", "guide_event.golden.json")
	formattest.Golden(t, pendo.Format(nil), "events.jsonl", "events.golden.json")
}

// The table in the documentation is the one that the code runs.
func TestDoc(t *testing.T) { formattest.Doc(t, pendo.Table) }

// Totals of an hour are no events: a table of them is refused before its first row.
func TestTotals(t *testing.T) {
	t.Parallel()
	formattest.Refusals(t, pendo.Format(nil), map[string]string{
		"account_id,timestamp,visitor_id,num_events,num_minutes,page_id": "this is a total of an hour (numEvents, numMinutes) and no event",
		"a,b":                       "this is not a table of Pendo's events",
		"visitor_id,type,timestamp": "",
		"VISITOR_ID,EVENT_TYPE,BROWSER_TIMESTAMP": "",
	})
}

func TestOptions(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "mapping 4", pendo.Format(&pendo.Options{GroupType: "account"}).Options)
	f := pendo.Format(&pendo.Options{GroupType: "company"})
	assert.Equal(t, `mapping 4; group="company"`, f.Options)
	r := formattest.Convert(t, f, []byte(`{"visitorId":"u","accountId":7,"type":"guideSeen","timestamp":1709251200000}`))
	assert.Contains(t, string(r.Events[0].Properties), `"$groups":{"company":"7"}`)
}

func FuzzConvert(f *testing.F) { formattest.Fuzz(f, "events.jsonl", true, pendo.Format(nil)) }

func TestPollsAreSurveys(t *testing.T) {
	t.Parallel()
	for record, want := range map[string]string{
		`{"type":"pollResponse","visitorId":"v","timestamp":1709251200000,"guideId":"g1","pollId":"p1","pollResponse":"Yes"}`: `"$survey_id":"g1","$survey_response":"Yes"`,
		`{"type":"pollResponse","visitor_id":"v","timestamp":1709251200000,"poll_id":"p1","poll_response":4}`:                 `"$survey_id":"p1","$survey_response":4`,
	} {
		r := formattest.Convert(t, pendo.Format(nil), []byte(record))
		require.Len(t, r.Events, 1, r.Reject)
		assert.Equal(t, "survey sent", r.Events[0].Event)
		assert.Contains(t, string(r.Events[0].Properties), want)
		r = formattest.Convert(t, pendo.Format(&pendo.Options{Mapping: 3}), []byte(record))
		assert.NotContains(t, string(r.Events[0].Properties), "$survey")
	}
}
