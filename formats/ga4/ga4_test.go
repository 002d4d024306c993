package ga4_test

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/ga4"
	"github.com/hogapi/hogapi/formats/internal/eventtest"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	eventtest.Golden(t, ga4.Format(nil), "rows.jsonl", "rows.golden.json")
	eventtest.Golden(t, ga4.Format(&ga4.Options{Personless: true, PersonProperties: formats.PersonSet, Skip: []string{"user_engagement"}}), "rows.jsonl", "rows-options.golden.json")
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
	first := eventtest.Convert(t, ga4.Format(nil), rows[0])
	require.Len(t, first.Events, 1)
	for _, row := range rows[1:3] {
		again := eventtest.Convert(t, ga4.Format(nil), row)
		require.Len(t, again.Events, 1)
		assert.JSONEq(t, string(first.Events[0].Properties), string(again.Events[0].Properties))
		first.Events[0].Properties, again.Events[0].Properties = nil, nil
		assert.Equal(t, first, again)
		first = eventtest.Convert(t, ga4.Format(nil), rows[0])
	}
}

func FuzzConvert(f *testing.F) {
	eventtest.Seeds(f)
	format := ga4.Format(&ga4.Options{Personless: true})
	f.Fuzz(func(t *testing.T, record []byte) { eventtest.Pure(t, format, record) })
}

func BenchmarkConvert(b *testing.B) {
	eventtest.BenchmarkConvert(b, ga4.Format(nil), "rows.jsonl")
}
