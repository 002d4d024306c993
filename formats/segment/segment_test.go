package segment_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/formattest"
	"github.com/hogapi/hogapi/formats/segment"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	formattest.Golden(t, segment.Format(nil), "calls.jsonl", "calls.golden.json")
	formattest.Golden(t, segment.Format(&segment.Options{GroupType: "company", PersonProperties: formats.PersonSet}), "calls.jsonl", "calls-options.golden.json")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	assert.Empty(t, segment.Format(nil).Options)
	assert.Empty(t, segment.Format(&segment.Options{}).Options)
	assert.Equal(t, `group="company",groups=off,person=set`, segment.Format(&segment.Options{GroupType: "company", NoGroups: true, PersonProperties: formats.PersonSet}).Options)
	assert.Equal(t, `segment`, segment.Format(nil).Name)
	skipped := formattest.Convert(t, segment.Format(&segment.Options{NoGroups: true}), []byte(`{"type":"group","groupId":"g"}`))
	assert.Equal(t, segment.SkipGroup, skipped.Skip)
}

func FuzzConvert(f *testing.F) {
	formattest.Seeds(f)
	format := segment.Format(&segment.Options{GroupType: "company"})
	lines := formattest.Lines(f, "testdata/calls.jsonl")
	f.Fuzz(func(t *testing.T, record []byte) {
		formattest.Pure(t, format, record)
		formattest.RequireStable(t, format, lines[0], record, lines[1])
	})
}

func BenchmarkConvert(b *testing.B) {
	formattest.Benchmark(b, segment.Format(nil), formattest.Lines(b, "testdata/calls.jsonl"))
}

func TestSameEventsHoweverPacked(t *testing.T) {
	t.Parallel()
	formattest.RequireSameEvents(t, segment.Format(&segment.Options{GroupType: "company"}), formattest.Lines(t, "testdata/calls.jsonl"))
}
