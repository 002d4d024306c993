package generic_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/formats/internal/formattest"
)

func TestColumns(t *testing.T) {
	t.Parallel()
	format := generic.Format(&generic.Options{
		Columns: map[string]string{
			"action": generic.Event, "user": generic.DistinctID, "device": generic.AnonymousID, "when": generic.Timestamp, "id": generic.UUID,
			"plan": "$set.plan", "first": "$set_once.first", "url": "$current_url", "secret": generic.Drop,
		},
		TimeLayout: "2006-01-02 15:04", Zone: time.FixedZone("", 2*3600), Numbers: []string{"price", "none"},
	})
	events, err := format.Convert([]byte(`{"action":"bought","user":4711,"device":"d1","when":"2024-05-01 12:30","id":"order 7",` +
		`"plan":"team","first":1,"url":"https:\/\/x","secret":"s","price":"12.50","none":"","other":{"a":[1]},"é":null}`))
	require.NoError(t, err)
	require.Len(t, events, 1)
	ev := events[0]
	assert.JSONEq(t, `{"$current_url":"https://x","price":12.50,"none":null,"other":{"a":[1]},"é":null,"$set":{"plan":"team"},"$set_once":{"first":1}}`, string(ev.RawProperties))
	ev.RawProperties = nil
	id := format.ID([]byte(`{"id":"order 7"}`))
	assert.Equal(t, hogapi.Event{Name: "bought", DistinctID: "4711", AnonymousID: "d1", Timestamp: time.Date(2024, 5, 1, 10, 30, 0, 0, time.UTC), UUID: id}, ev)
	assert.NotEqual(t, uuid.Nil, id)
	own := uuid.MustParse("0190a6a5-6f6c-7000-8000-000000000001")
	assert.Equal(t, own, format.ID([]byte(`{"id":"`+own.String()+`"}`)))
	assert.Equal(t, uuid.Nil, format.ID([]byte(`{"id":""}`)))
	assert.Contains(t, format.Options, "action=event")

	events, err = format.Convert([]byte(`{"user":"u1","distinct_id":"u2","action":"a","event":""}`))
	require.NoError(t, err)
	assert.Equal(t, []string{"a", "u2"}, []string{events[0].Name, events[0].DistinctID})
	for record, want := range map[string]string{
		`{"when":"yesterday"}`: "column when: want a time such as",
		`{"price":"much"}`:     "column price: want a number",
		`{"user":["a"]}`:       "column user: want a text or a number",
		`{"user":`:             "",
	} {
		_, err := format.Convert([]byte(record))
		require.ErrorContains(t, err, want)
	}
}

func TestTimesSince1970(t *testing.T) {
	t.Parallel()
	for layout, times := range map[string]map[string]time.Time{
		generic.UnixSeconds:      {`1714552200`: time.Unix(1714552200, 0), `"1714552200.5"`: time.Unix(1714552200, 5e8), `1714552200.1234567891`: time.Unix(1714552200, 123456789)},
		generic.UnixMilliseconds: {`1714552200123`: time.UnixMilli(1714552200123), `1714552200123.5`: time.UnixMicro(1714552200123500)},
	} {
		format := generic.Format(&generic.Options{TimeLayout: layout, EventName: "e"})
		for text, want := range times {
			events, err := format.Convert([]byte(`{"timestamp":` + text + `}`))
			require.NoError(t, err)
			assert.Equal(t, want.UTC(), events[0].Timestamp, text)
		}
		_, err := format.Convert([]byte(`{"timestamp":"2024"}`))
		require.NoError(t, err)
		_, err = format.Convert([]byte(`{"timestamp":"a"}`))
		require.Error(t, err)
	}
}

// No record panics, and the same record is the same event.
func FuzzConvert(f *testing.F) {
	formattest.Seeds(f)
	for _, seed := range []string{`{"event":"e","distinct_id":1,"timestamp":"2024-05-01T12:30:00Z","uuid":"x","a":"1"}`, `{"a":{"b":null}}`} {
		f.Add([]byte(seed))
	}
	format := generic.Format(&generic.Options{Columns: map[string]string{"b": "$set.b", "c": "$set_once.c"}, Numbers: []string{"a"}})
	first, last := []byte(`{"event":"e","distinct_id":"first"}`), []byte(`{"event":"e","distinct_id":"last"}`)
	f.Fuzz(func(t *testing.T, record []byte) {
		formattest.RequireStable(t, format, first, record, last)
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
