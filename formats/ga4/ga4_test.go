package ga4_test

import (
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/ga4"
	"github.com/hogapi/hogapi/formats/internal/formattest"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	formattest.Golden(t, ga4.Format(nil), "rows.jsonl", "rows.golden.json")
	formattest.Golden(t, ga4.Format(&ga4.Options{Personless: true, PersonProperties: formats.PersonSet, Skip: []string{"user_engagement"}}), "rows.jsonl", "rows-options.golden.json")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	assert.Equal(t, "mapping 4", ga4.Format(nil).Options)
	assert.Equal(t, "mapping 4", ga4.Format(&ga4.Options{}).Options)
	all := &ga4.Options{Personless: true, PersonProperties: formats.PersonSet, NoVisitorProfiles: true, Skip: []string{"scroll", "click", "scroll"}}
	assert.Equal(t, `mapping 4; personless,person=set,no visitor profiles,skip="click",skip="scroll"`, ga4.Format(all).Options)
}

// The three forms of a row are one event.
func TestForms(t *testing.T) {
	t.Parallel()
	rows := formattest.Lines(t, "testdata/rows.jsonl")
	for _, row := range rows[1:3] {
		first, again := formattest.Convert(t, ga4.Format(nil), rows[0]), formattest.Convert(t, ga4.Format(nil), row)
		require.Len(t, again.Events, 1)
		assert.JSONEq(t, string(first.Events[0].Properties), string(again.Events[0].Properties))
		first.Events[0].Properties, again.Events[0].Properties = nil, nil
		assert.Equal(t, first, again)
	}
}

func FuzzConvert(f *testing.F) {
	formattest.Fuzz(f, "rows.jsonl", false, ga4.Format(&ga4.Options{Personless: true}))
}

// A first visit without a page sets no first page.
func TestFirstVisitWithoutPage(t *testing.T) {
	t.Parallel()
	visit := formattest.Convert(t, ga4.Format(nil), []byte(`{"event_name":"first_visit","event_timestamp":1709251198012345,"user_pseudo_id":"1.2"}`))
	require.Len(t, visit.Events, 1)
	assert.Equal(t, "{}", string(visit.Events[0].Properties))
}

// Some members of a column, and some params, become properties with a meaning to PostHog; the others stay in place. A malformed param is
// an error.
func TestColumnsAndParams(t *testing.T) {
	t.Parallel()
	const bad = "event_params: want an array of objects, each with a text key and an object value"
	for members, want := range map[string]string{
		`"items":[{"id":"a","item_params":[{"key":"k","value":{"string_value":"v"}}]}]`:                                                                  `{"items":[{"id":"a","item_params":{"k":"v"}}]}`,
		`"items":[{"id":"a","item_params":{"k":"v"}}]`:                                                                                                   `{"items":[{"id":"a","item_params":{"k":"v"}}]}`,
		`"items":[{"id":"a","other":[{"key":"k","value":{"string_value":"v"}}]}]`:                                                                        `{"items":[{"id":"a","other":[{"key":"k","value":{"string_value":"v"}}]}]}`,
		`"device":{"web_info":{"browser":"Chrome","x":"y"}}`:                                                                                             `{"$browser":"Chrome","device":{"web_info":{"x":"y"}}}`,
		`"device":{"web_info":"text"}`:                                                                                                                   `{"device":{"web_info":"text"}}`,
		`"device":{"other":{"browser":"a"}}`:                                                                                                             `{"device":{"other":{"browser":"a"}}}`,
		`"device":{"web_info":{"web_info":{"browser":"a"}}}`:                                                                                             `{"device":{"web_info":{"web_info":{"browser":"a"}}}}`,
		`"device":{"web_info":{"browser":"a","browser":"b"}}`:                                                                                            "device: duplicate key in browser (byte 15)",
		`"device":{"browser":"a","browser":"b"}`:                                                                                                         "device: duplicate key in browser (byte 15)",
		`"device":{"category":"desktop","browser":"(other)"}`:                                                                                            `{"$device_type":"Desktop","$browser":"(other)"}`,
		`"device":{"category":"smart tv"}`:                                                                                                               `{"$device_type":"smart tv"}`,
		`"geo":{"city":"(not set)","country":"x","city2":""}`:                                                                                            `{"$geoip_country_name":"x"}`,
		`"collected_traffic_source":{"manual_source":"google","manual_medium":"(none)","gclid":"1","dclid":""}`:                                          `{"utm_source":"google","gclid":"1","collected_traffic_source":{"manual_medium":"(none)"}}`,
		`"collected_traffic_source":{"manual_source":7,"manual_term":"x"}`:                                                                               `{"utm_term":"x","collected_traffic_source":{"manual_source":7}}`,
		`"event_params":[{"key":"source","value":{"string_value":"v"}},{"key":"medium","value":{"string_value":"(none)"}}]`:                              `{"utm_source":"v","medium":"(none)"}`,
		`"event_params":[{"key":"content","value":{"int_value":1}},{"key":"page_title","value":{"string_value":""}},{"key":"n","value":{}}]`:             `{"content":1,"page_title":"","n":null}`,
		`"event_params":[{"key":"a","value":{"string_value":"v","int_value":7}},{"key":"b","value":{"string_value":null,"int_value":"7","other":null}}]`: `{"a":"v","b":7}`,
		`"event_params":[{"key":"a","value":null},{"key":"b"}]`:                                                                                          `{"a":null,"b":null}`,
		`"event_params":[{"key":"a","value":7}]`:                                                                                                         bad,
		`"event_params":[{"key":"a","value":{"string_value":{}}}]`:                                                                                       bad,
		`"event_params":[{"key":"a","value":{"float_value":[1]}}]`:                                                                                       bad,
		`"event_params":[{"value":{"string_value":"v"}}]`:                                                                                                bad,
		`"event_params":[{"key":7,"value":{"string_value":"v"}}]`:                                                                                        bad,
		`"event_params":{"key":"a","value":{"string_value":"v"}}`:                                                                                        bad,
		`"event_params":["a"]`: bad,
	} {
		events, err := ga4.Format(nil).Convert([]byte(`{"event_name":"e","event_timestamp":1709251198012345,"user_pseudo_id":"1.2",` + members + `}`))
		if want[0] != '{' {
			require.ErrorContains(t, err, want, members)
			continue
		}
		require.NoError(t, err, members)
		require.Len(t, events, 1)
		assert.JSONEq(t, want, string(events[0].RawProperties), members)
	}
}

// A row has its own uuid if it has all three numbers of its batch. Its time is after 1970.
func TestRowsOfABatch(t *testing.T) {
	t.Parallel()
	const page, order, index = `,"batch_page_id":1`, `,"batch_ordering_id":2`, `,"batch_event_index":3`
	id := func(members string) uuid.UUID {
		return ga4.Format(nil).ID([]byte(`{"event_name":"e","event_timestamp":1709251198012345,"user_pseudo_id":"1.2"` + members + `}`))
	}
	seen := map[uuid.UUID]bool{}
	for _, members := range []string{"", page, order, index, page + order, page + index, order + index} {
		seen[id(members)] = true
	}
	assert.Equal(t, map[uuid.UUID]bool{id(""): true}, seen)
	assert.NotEqual(t, id(""), id(page+order+index))
	assert.NotEqual(t, id(page+order+`,"batch_event_index":4`), id(page+order+index))
	for _, at := range []string{`0`, `-1`, `"0"`, `"noon"`, `null`, `true`} {
		_, err := ga4.Format(nil).Convert([]byte(`{"event_name":"e","event_timestamp":` + at + `,"user_pseudo_id":"1.2"}`))
		require.ErrorContains(t, err, "microseconds since 1970", at)
	}
}

// The order of event_params is another one in each export, and the table of the day has more numbers of the batch.
func TestUUIDsOfRowsOfABatch(t *testing.T) {
	t.Parallel()
	row := func(params ...string) []byte {
		return []byte(`{"event_name":"purchase","event_timestamp":1693526400000000,"user_pseudo_id":"p","batch_page_id":1,"batch_ordering_id":2,"batch_event_index":3,"event_params":[` +
			strings.Join(params, ",") + `]}`)
	}
	const x, y, batch = `{"key":"x","value":{"string_value":"1"}}`, `{"key":"page_location","value":{"string_value":"https://shop.example/"}}`, `{"key":"batch_user_id","value":{"int_value":"7"}}`
	format, before := ga4.Format(nil), ga4.Format(&ga4.Options{Mapping: 3})
	want := format.ID(row(x, y))
	assert.Equal(t, want, format.ID(row(y, x)))
	assert.Equal(t, want, format.ID(row(batch, y, x)))
	assert.NotEqual(t, want, format.ID(row(x)))
	assert.NotEqual(t, before.ID(row(x, y)), before.ID(row(y, x)), "as imports of mapping 3 began")
}
