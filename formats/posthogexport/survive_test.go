package posthogexport_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/internal/exported"
)

// Values that PostHog's server has added to an event, and columns that only tables of destinations have, do not become
// properties, and nothing that the client sent is lost.
func TestWhatTheServerAddedStaysOut(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ members, want string }{
		"cookieless":           {`"properties":{"$cookieless_mode":true,"$distinct_id":"u","n":1}`, `{"n":1,"posthog_cookieless_mode":true}`},
		"cookieless, own id":   {`"properties":{"$cookieless_mode":true,"$distinct_id":"other"}`, `{"posthog_cookieless_mode":true,"posthog_distinct_id":"other"}`},
		"an id without a mode": {`"properties":{"$distinct_id":"u"}`, `{"$distinct_id":"u"}`},
		"an earlier import":    {`"properties":{"$import_job_id":"old"}`, `{"posthog_import_job_id":"old"}`},
		"two earlier imports":  {`"properties":{"$import_job_id":"b","posthog_import_job_id":"a"}`, `{"posthog_import_job_id":"a","posthog_posthog_import_job_id":"b"}`},
		"groups":               {`"properties":{"$group_1":"acme","$groups":{"company":"acme"}}`, `{"$groups":{"company":"acme"}}`},
		"groups as numbers":    {`"properties":{"$groups":{"company":7},"$group_4":"7"}`, `{"$groups":{"company":7}}`},
		"a group of no type":   {`"properties":{"$group_0":"x","$groups":{"company":"acme"}}`, `{"$groups":{"company":"acme"},"posthog_group_0":"x"}`},
		"not a group's column": {`"properties":{"$group_5":"x","$group_0x":"y"}`, `{"$group_5":"x","$group_0x":"y"}`},
		"an empty group":       {`"properties":{"$group_0":"","$group_1":null}`, `{}`},
		"set columns": {`"properties":{"n":1},"set":"{\"plan\":\"pro\"}","set_once":{"a":1},"unset":"[\"b\"]","group_set":{"c":2}`,
			`{"n":1,"$set":{"plan":"pro"},"$set_once":{"a":1},"$unset":["b"],"$group_set":{"c":2}}`},
		"set of the properties": {`"set":"{\"plan\":\"old\"}","properties":{"$set":{"plan":"pro"}}`, `{"$set":{"plan":"pro"}}`},
		"set of Snowflake":      {`"people_set":{"plan":"pro"},"people_set_once":{},"properties":{}`, `{"$set":{"plan":"pro"}}`},
		"no sets":               {`"set":"{}","set_once":null,"unset":"[]","group_set":"","people_set":null,"properties":{}`, `{}`},
		"elements as text":      {`"elements":"button:text=\"Buy\""`, `{"$elements_chain":"button:text=\"Buy\""}`},
		"elements of BigQuery":  {`"elements":"\"button:text=\\\"Buy\\\"\""`, `{"$elements_chain":"button:text=\"Buy\""}`},
		"elements of Postgres":  {`"elements":"\"\\\"button:text=\\\\\\\"Buy\\\\\\\"\\\"\""`, `{"$elements_chain":"button:text=\"Buy\""}`},
		"empty elements":        {`"elements":"\"\""`, `{}`},
		"both elements":         {`"elements":"a:x=\"1\"","elements_chain":"a:x=\"1\""`, `{"$elements_chain":"a:x=\"1\""}`},
		"other elements":        {`"elements":[{"tag_name":"a"}]`, `{"elements":[{"tag_name":"a"}]}`},
		"times of the export": {`"bq_ingested_timestamp":"t","snowflake_ingested_timestamp":"t","databricks_ingested_timestamp":"t",` +
			`"azure_blob_ingested_timestamp":"t","site_url":"https://old.example","team_id":7`, `{}`},
	} {
		row := `{"uuid":"0190a6a5-6f6c-7000-8000-000000000001","event":"e","distinct_id":"u","timestamp":"2024-07-01T07:18:37Z",` + c.members + `}`
		events, err := posthogexport.Format(nil).Convert([]byte(row))
		if assert.NoError(t, err, name) {
			assert.JSONEq(t, c.want, string(events[0].RawProperties), name)
		}
	}
	const broken = `{"event":"e","distinct_id":"u","timestamp":"2024-07-01T07:18:37Z","properties":{},"set":"{"}`
	_, err := posthogexport.Format(nil).Convert([]byte(broken))
	require.ErrorContains(t, err, "set: want an object", "a broken column is a reject, and not left out")
}

// Data that a destination, or a newer server, does not return is counted.
func TestRowsThatLackAPart(t *testing.T) {
	t.Parallel()
	test := new(posthogexport.RowTest)
	for _, row := range []string{
		`{"event":"$identify","properties":{"$anon_distinct_id":"a"}}`, `{"event":"$identify","properties":{"$set":{}},"set":"{}"}`,
		`{"event":"$identify","properties":"{\"$set_once\":{\"a\":1}}"}`, `{"event":"$set","properties":{"$unset":["a"]}}`,
		`{"event":"$set","set":"{\"a\":1}"}`, `{"event":"$groupidentify","properties":{"$group_type":"company"}}`,
		`{"event":"$groupidentify","group_set":{"a":1}}`, `{"event":"$autocapture","team_id":7,"elements":"\"\""}`,
		`{"event":"$autocapture","elements_chain":"a:x=\"1\""}`, `{"event":"$autocapture","properties":{"$elements":[{"tag_name":"a"}]}}`,
		`{"event":"$ai_generation","properties":{"$ai_model":"m"}}`, `{"event":"$ai_trace","properties":{"$ai_output_state":{"a":1}}}`,
		`{"event":"e","properties":{"$cookieless_mode":true,"$groups":{"company":"acme"},"$group_0":"acme","$group_1":"x"}}`,
		`{"event":"e","properties":{"$import_job_id":"old","$groups":{"seat":7,"team":"7"},"$group_3":"7","$group_4":"7"}}`,
		`{"files":["a"]}`, `{`, `{"event":"e","properties":"{"}`,
	} {
		test.Add([]byte(row))
	}
	assert.Equal(t, []int64{15, 1, 1, 4, 5, 2, 2, 1, 3, 1, 2, 1, 1}, []int64{
		test.Rows, test.Cookieless, test.Imported, test.Indexes, test.Persons, test.PersonsBare, test.Groups, test.GroupsBare, test.Clicks, test.ClicksBare, test.AI, test.AIBare, test.ForeignIndexes,
	})
	assert.Equal(t, map[string]int64{"company": 1, "seat": 1, "team": 1}, test.GroupTypes)
	assert.Equal(t, map[string]int{"company": 0}, test.GroupIndexes, "which number the others have is not known")
	assert.Len(t, test.Losses(), 4)
	assert.Len(t, test.Notes(), 4)
	assert.Contains(t, test.String(), "2 of 5 $identify and $set events have no properties of the person")
	assert.Empty(t, new(posthogexport.RowTest).String())
}

// A column in place of a property obeys the policy as the property does.
func TestSetColumnsObeyThePolicy(t *testing.T) {
	t.Parallel()
	const row = `{"event":"e","distinct_id":"u","timestamp":"2024-07-01T07:18:37Z","properties":{"$set_once":{"a":1}},"set":"{\"b\":2}"}`
	for policy, want := range map[formats.PersonProperties]string{
		formats.PersonSet: `{"$set":{"b":2},"$set_once":{"a":1}}`, formats.PersonSetOnce: `{"$set_once":{"b":2,"a":1}}`, formats.PersonNone: `{}`,
	} {
		events, err := posthogexport.Format(&posthogexport.Options{PersonProperties: policy}).Convert([]byte(row))
		require.NoError(t, err)
		assert.JSONEq(t, want, string(events[0].RawProperties), policy)
	}
}

// Redshift writes zones of hours only, other tables a blank or no colon.
func TestTimesOfTables(t *testing.T) {
	t.Parallel()
	for _, at := range []string{
		"2024-02-29 23:59:58.012+00", "2024-02-29 18:59:58.012-05", "2024-02-29T23:59:58.012+00", "2024-02-29 23:59:58.012 +0000",
		"2024-03-01 05:29:58.012 +05:30", "2024-02-29 23:59:58.012 Z", "2024-02-29 23:59:58.012+0000", "2024-02-29 23:59:58.012 UTC",
	} {
		events, err := posthogexport.Format(nil).Convert([]byte(`{"event":"e","distinct_id":"u","timestamp":"` + at + `"}`))
		if assert.NoError(t, err, at) {
			assert.Equal(t, time.Date(2024, 2, 29, 23, 59, 58, 12e6, time.UTC), events[0].Timestamp, at)
		}
	}
	for _, at := range []string{"2024-02-29 23:59:58+1", "2024-02-29", "2024-02-29 23:59:58 EST"} {
		_, err := posthogexport.Format(nil).Convert([]byte(`{"event":"e","distinct_id":"u","timestamp":"` + at + `"}`))
		require.ErrorContains(t, err, "timestamp: want a time such as", at)
	}
}

// Each column that a destination has is a part of the event, or left out: it does not become a property by its name.
func TestColumnsOfEachDestination(t *testing.T) {
	t.Parallel()
	row := exported.Row{
		UUID: "0190a6a5-6f6c-7000-8000-000000000001", Event: "$autocapture", DistinctID: "u", PersonID: "0190a6a5-6f6c-7000-8000-000000000002",
		Elements: `button:text="Buy"`, TeamID: 7, Timestamp: time.Date(2024, 2, 29, 23, 59, 58, 12e6, time.UTC),
		Properties: []byte(`{"$ip":"203.0.113.9","$set":{"a":1},"n":12345678901234567890123}`),
	}
	for _, kind := range exported.Kinds() {
		want := `{"$elements_chain":"button:text=\"Buy\"","$ip":"203.0.113.9","$set":{"a":1},"n":12345678901234567890123}`
		if kind == "Redshift" || kind == "AzureBlob" || kind == "Databricks" { // which lack the elements
			want = string(row.Properties)
		}
		for _, asStored := range []bool{false, true} {
			events, err := posthogexport.Format(nil).Convert(row.AppendText(nil, kind, asStored))
			require.NoError(t, err, kind)
			assert.JSONEq(t, want, string(events[0].RawProperties), kind)
			assert.Equal(t, row.Timestamp, events[0].Timestamp, kind)
			assert.Equal(t, row.UUID, events[0].UUID.String(), kind)
		}
	}
}
