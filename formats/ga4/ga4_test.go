package ga4_test

import (
	"bytes"
	"os"
	"testing"

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
	assert.Empty(t, ga4.Format(nil).Options)
	assert.Empty(t, ga4.Format(&ga4.Options{}).Options)
	all := &ga4.Options{Personless: true, PersonProperties: formats.PersonSet, Skip: []string{"scroll", "click", "scroll"}}
	assert.Equal(t, `personless,person=set,skip="click",skip="scroll"`, ga4.Format(all).Options)
}

// The three forms of a row are one event.
func TestForms(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/rows.jsonl")
	require.NoError(t, err)
	rows := bytes.Split(text, []byte("\n"))
	first := formattest.Convert(t, ga4.Format(nil), rows[0])
	require.Len(t, first.Events, 1)
	for _, row := range rows[1:3] {
		again := formattest.Convert(t, ga4.Format(nil), row)
		require.Len(t, again.Events, 1)
		assert.JSONEq(t, string(first.Events[0].Properties), string(again.Events[0].Properties))
		first.Events[0].Properties, again.Events[0].Properties = nil, nil
		assert.Equal(t, first, again)
		first = formattest.Convert(t, ga4.Format(nil), rows[0])
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
