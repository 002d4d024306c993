package generic_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/history"
)

// No record panics, and the same record is the same event.
func FuzzConvert(f *testing.F) {
	formattest.Seeds(f)
	for _, seed := range []string{`{"event":"e","distinct_id":1,"timestamp":"2024-05-01T12:30:00Z","uuid":"x","a":"1"}`, `{"a":{"b":null}}`} {
		f.Add([]byte(seed))
	}
	format, err := generic.Format(&generic.Options{Map: []string{"$set.b=b", "$set_once.c=c", "a=a|number"}})
	require.NoError(f, err)
	lists, err := generic.Format(&generic.Options{Map: []string{"[]=a", "*=a", "skip=a.b|is:x", "uuid=id", "event=const:e"}})
	require.NoError(f, err)
	f.Add([]byte(`{"a":[{"b":1},{"b":"x"},{"c":2}],"id":7,"timestamp":"2024-05-01T12:30:00Z"}`))
	first, last := []byte(`{"event":"e","distinct_id":"first"}`), []byte(`{"event":"e","distinct_id":"last"}`)
	f.Fuzz(func(t *testing.T, record []byte) {
		formattest.RequireStable(t, format, first, record, last)
		formattest.RequireStable(t, lists, first, record, last)
		events, err := format.Convert(record)
		again, errAgain := format.Convert(record)
		require.Equal(t, events, again)
		require.Equal(t, err == nil, errAgain == nil)
		if err == nil {
			require.True(t, json.Valid(events[0].RawProperties))
			require.Equal(t, format.ID(record), events[0].UUID)
		}
	})
}

// A file that is not the table of the map stops the import, and is not taken for a header without
// rows.
func TestOtherTables(t *testing.T) {
	t.Parallel()
	mapped := &generic.Options{
		Map:  []string{"event=const:e", "person=user", "time=when|layout:2006-01-02 15:04", "$set.plan=plan", "drop=secret"},
		Zone: time.UTC,
	}
	read := func(options *generic.Options, content string) (history.CheckReport, error) {
		path := formattest.File(t, "table.csv", content)
		format, err := generic.Format(options)
		require.NoError(t, err)
		return history.Check(t.Context(), history.Files(format, path), &history.Options{ID: "t", MaxRejectShare: -1})
	}
	csv := &generic.Options{Layout: history.LayoutCSV, Map: []string{"event=const:e"}}
	tsv := &generic.Options{Layout: history.LayoutTSV, Map: []string{"event=const:e"}}
	for content, cases := range map[string]map[*generic.Options]string{
		"<!DOCTYPE html><html>not found</html>":        {mapped: "this is HTML or XML", nil: "this is HTML or XML", csv: "this is HTML or XML", tsv: "this is HTML or XML"},
		"\n<html>\n<body>not, found</body>\n</html>\n": {mapped: "this is HTML or XML", nil: "this is HTML or XML", csv: "this is HTML or XML"},
		"not found": {mapped: "table.csv: the header: the table has no column for 'person=user', 'time=when", nil: "which columns are the event, the person, the time"},
		"user,when,plan\ra,2024-05-01 12:30,team\r": {mapped: "; its lines end with CR alone"},
		"user,plan\na,team\n":                       {mapped: "no column for 'time=when"},
	} {
		for options, want := range cases {
			report, err := read(options, content)
			require.ErrorContains(t, err, want, content)
			assert.Zero(t, report.Read)
			assert.NotContains(t, err.Error(), "team")
		}
	}
	for content, options := range map[string]*generic.Options{
		"user,when,plan,more\na,2024-05-01 12:30,team,\n":         mapped,
		"event,distinct_id,timestamp\ne,a,2024-05-01T12:30:00Z\n": nil,
		`{"user":"a","when":"2024-05-01 12:30"}`:                  mapped,
	} {
		report, err := read(options, content)
		require.NoError(t, err, content)
		assert.EqualValues(t, 1, report.Good, content)
	}
	headless := *mapped
	headless.Header = []string{"user", "when"}
	_, err := read(&headless, "a,2024-05-01 12:30\n")
	require.ErrorContains(t, err, "no column for '$set.plan=plan'")
	_, err = read(mapped, "")
	require.NoError(t, err, "a table without a header has no other columns")
}
