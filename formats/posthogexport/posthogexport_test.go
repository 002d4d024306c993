package posthogexport_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/eventtest"
	"github.com/hogapi/hogapi/formats/posthogexport"
)

func TestGolden(t *testing.T) {
	t.Parallel()
	eventtest.Golden(t, posthogexport.Format(nil), "rows.jsonl", "rows.golden.json")
	eventtest.Golden(t, posthogexport.Format(&posthogexport.Options{PersonProperties: formats.PersonSet}), "rows.jsonl", "rows-set.golden.json")
}

func TestOptions(t *testing.T) {
	t.Parallel()
	assert.Empty(t, posthogexport.Format(nil).Options)
	assert.Equal(t, "person=set", posthogexport.Format(&posthogexport.Options{PersonProperties: formats.PersonSet}).Options)
}

func FuzzConvert(f *testing.F) {
	eventtest.Seeds(f)
	format := posthogexport.Format(nil)
	f.Fuzz(func(t *testing.T, record []byte) { eventtest.Pure(t, format, record) })
}

func BenchmarkConvert(b *testing.B) {
	eventtest.BenchmarkConvert(b, posthogexport.Format(nil), "export.jsonl")
}
