package generic_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/formats/internal/formattest"
)

// No record panics, and the same record is the same event.
func FuzzConvert(f *testing.F) {
	formattest.Seeds(f)
	for _, seed := range []string{`{"event":"e","distinct_id":1,"timestamp":"2024-05-01T12:30:00Z","uuid":"x","a":"1"}`, `{"a":{"b":null}}`} {
		f.Add([]byte(seed))
	}
	format, err := generic.Format(&generic.Options{Map: []string{"$set.b=b", "$set_once.c=c", "a=a|number"}})
	require.NoError(f, err)
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
