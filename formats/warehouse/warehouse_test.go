package warehouse_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/segment"
	"github.com/hogapi/hogapi/formats/warehouse"
	"github.com/hogapi/hogapi/history"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	tracks := warehouse.Segment(nil, &warehouse.Options{Numbers: []string{"price"}})
	formattest.Golden(t, tracks, "tracks.csv", "tracks.golden.json")
	formattest.Golden(t, warehouse.Segment(nil, nil), "pages.csv", "pages.golden.json")
	formattest.Golden(t, warehouse.Segment(nil, &warehouse.Options{Numbers: []string{"SEATS"}}), "identifies.csv", "identifies.golden.json")
	formattest.Golden(t, warehouse.Segment(&segment.Options{GroupType: "company"}, nil), "groups.csv", "groups.golden.json")
	formattest.Golden(t, warehouse.Segment(nil, &warehouse.Options{Table: "screens"}), "rudder-screens.csv", "rudder-screens.golden.json")
	formattest.Golden(t, warehouse.Amplitude(nil, nil), "amplitude.csv", "amplitude.golden.json")
	formattest.Golden(t, warehouse.AmplitudePeople(nil, nil), "amplitude.csv", "amplitude-people.golden.json")
	formattest.Golden(t, warehouse.GA4(nil, nil), "ga4.csv", "ga4.golden.json")
}

// The documentation has the tables that the code runs.
func TestDoc(t *testing.T) { //nolint:paralleltest // with -update, all write one file
	formattest.DocIn(t, "Segment and RudderStack", warehouse.SegmentColumns)
	formattest.DocIn(t, "Amplitude", warehouse.AmplitudeColumns)
	formattest.DocIn(t, "Google Analytics 4", warehouse.GA4Columns)
}

// A row of a table and the call in a file are one event.
func TestARowHasTheUUIDOfItsCall(t *testing.T) {
	t.Parallel()
	call := formattest.Convert(t, segment.Format(nil), []byte(`{"type":"page","messageId":"ajs-0c3f","anonymousId":"a-1","timestamp":"2024-02-29T22:28:55.000Z",
		"context":{"ip":"203.0.113.9","page":{"url":"https://shop.example/"}}}`))
	row := formattest.Convert(t, warehouse.Segment(nil, nil), []byte(`{"id":"ajs-0c3f","anonymous_id":"a-1","timestamp":"2024-02-29 22:28:55","context_ip":"203.0.113.9",
		"context_page_url":"https://shop.example/","url":""}`))
	assert.Equal(t, call, row)
}

// The state of a user in a table and in a file is one event.
func TestARowHasTheStateOfItsRecord(t *testing.T) {
	t.Parallel()
	file := formattest.Convert(t, amplitude.PeopleFormat(nil), []byte(`{"user_id":"u","event_time":"2024-02-29 23:59:58.012000","event_type":"e","user_properties":{"plan":"team","seats":5}}`))
	row := formattest.Convert(t, warehouse.AmplitudePeople(nil, nil), []byte(`{"USER_ID":"u","EVENT_TIME":"2024-02-29T23:59:58.012","EVENT_TYPE":"e","USER_PROPERTIES":"{\"plan\":\"team\",\"seats\":5}"}`))
	assert.Equal(t, file, row)
	require.Len(t, row.Events, 1)
}

// Events keep no part of the room that the next row is built in.
func TestEventsStay(t *testing.T) {
	t.Parallel()
	lines := formattest.Lines(t, filepath.Join("testdata", "rows.jsonl"))
	for i, format := range []history.Format{warehouse.Segment(nil, nil), warehouse.GA4(nil, nil), warehouse.Amplitude(nil, nil)} {
		line := lines[[...]int{0, 2, 3}[i]]
		events, err := format.Convert(line)
		require.NoError(t, err)
		want := []string{string(events[0].RawProperties), strings.Clone(events[0].Name), strings.Clone(events[0].DistinctID)}
		for range 100 {
			_, _ = format.Convert(bytes.ReplaceAll(line, []byte("shop"), []byte("stop")))
		}
		assert.Equal(t, want, []string{string(events[0].RawProperties), events[0].Name, events[0].DistinctID})
	}
}

// Numbers in Parquet files and in CSV files make the same session.
func TestKindsOfValues(t *testing.T) {
	t.Parallel()
	f := warehouse.Segment(nil, nil)
	text := formattest.Convert(t, f, []byte(`{"event":"e","id":"i","anonymous_id":"a","timestamp":"2024-02-29T22:28:55Z","context_session_id":"1709250900000","context_screen_width":"5"}`))
	number := formattest.Convert(t, f, []byte(`{"event":"e","id":"i","anonymous_id":"a","timestamp":"2024-02-29T22:28:55Z","context_session_id":1709250900000,"context_screen_width":5}`))
	assert.Equal(t, text, number)
	assert.Contains(t, string(text.Events[0].Properties), `"$screen_width":5`)
}

// Rows of which the columns do not tell the table are rejected, and so is an unknown table.
func TestTables(t *testing.T) {
	t.Parallel()
	row := []byte(`{"id":"i","user_id":"u","timestamp":"2024-02-29 22:28:55","name":"Cart"}`)
	kind := func(o *warehouse.Options) string {
		r := formattest.Convert(t, warehouse.Segment(nil, o), row)
		if r.Reject != "" {
			return r.Reject
		}
		return r.Events[0].Event
	}
	assert.Contains(t, kind(nil), "set Options.Table")
	assert.Equal(t, "$screen", kind(&warehouse.Options{Table: "screens"}))
	assert.Equal(t, "$identify", kind(&warehouse.Options{Table: "identifies"}))
	assert.Contains(t, kind(&warehouse.Options{Table: "screen"}), `Options.Table "screen": want tracks,`)
	assert.Equal(t, `mapping 4; table=screens, numbers="a,b"`, warehouse.Segment(nil, &warehouse.Options{Table: "screens", Numbers: []string{"b", "a", "b"}}).Options)
	assert.Equal(t, "mapping 4", warehouse.GA4(nil, nil).Options)
}

// A file of another table is refused before its first row.
func TestOtherColumns(t *testing.T) {
	t.Parallel()
	for columns, want := range map[string]string{
		"id,email,received_at":           "it has no column anonymous_id or user_id: the rows of a table users are no events",
		"a,b":                            "it has no column id",
		"id,user_id":                     "it has no column timestamp",
		"event_type,event_time,uuid":     "",
		"name,timestamp,user_pseudo_id":  "",
		"name,timestamp":                 "it has no column user_pseudo_id",
		"EVENT_TYPE,USER_ID,EVENT_TIME":  "",
		"date,sessions,active_users,b,c": "it has no column name",
	} {
		path := formattest.File(t, "table.csv", columns+"\n")
		fits := 0
		var texts strings.Builder
		for _, format := range []history.Format{warehouse.Segment(nil, nil), warehouse.Amplitude(nil, nil), warehouse.GA4(nil, nil)} {
			for _, err := range history.Files(format, path).Events(t.Context(), hogapi.Position{}) {
				texts.WriteString(err.Error() + "\n")
				fits--
			}
			fits++
		}
		if want == "" && columns != "event_type,event_time,uuid" {
			assert.Equal(t, 1, fits, columns)
			continue
		}
		assert.Zero(t, fits, columns)
		assert.Contains(t, texts.String(), want, columns)
	}
}

func FuzzConvert(f *testing.F) {
	formattest.Fuzz(f, "rows.jsonl", true, warehouse.Amplitude(nil, nil), warehouse.AmplitudePeople(nil, nil), warehouse.GA4(nil, nil), warehouse.Segment(&segment.Options{PersonProperties: formats.PersonSet}, nil))
}
