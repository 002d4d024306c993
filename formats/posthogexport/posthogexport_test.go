package posthogexport_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/posthogexport"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	formattest.Golden(t, posthogexport.Format(nil), "rows.jsonl", "rows.golden.json")
	formattest.Golden(t, posthogexport.Format(&posthogexport.Options{PersonProperties: formats.PersonSetOnce}), "rows.jsonl", "rows-once.golden.json")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	// Imports of earlier releases, whose default was another, do not resume with this one.
	assert.Equal(t, "person=set", posthogexport.Format(nil).Options)
	assert.Equal(t, "person=set", posthogexport.Format(&posthogexport.Options{PersonProperties: formats.PersonSet}).Options)
	assert.Empty(t, posthogexport.Format(&posthogexport.Options{PersonProperties: formats.PersonSetOnce}).Options)
}

func FuzzConvert(f *testing.F) {
	formattest.Seeds(f)
	format := posthogexport.Format(nil)
	lines := formattest.Lines(f, "testdata/export.jsonl")
	f.Fuzz(func(t *testing.T, record []byte) {
		formattest.Pure(t, format, record)
		formattest.RequireStable(t, format, lines[0], record, lines[1])
	})
}

func BenchmarkConvert(b *testing.B) {
	formattest.Benchmark(b, posthogexport.Format(nil), formattest.Lines(b, "testdata/export.jsonl"))
}

func TestSameEventsHoweverPacked(t *testing.T) {
	t.Parallel()
	formattest.RequireSameEvents(t, posthogexport.Format(nil), formattest.Lines(t, "testdata/rows.jsonl"))
}
