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
	// Imports of earlier releases, which had another default, do not resume with this one.
	assert.Equal(t, "person=set", posthogexport.Format(nil).Options)
	assert.Equal(t, "person=set", posthogexport.Format(&posthogexport.Options{PersonProperties: formats.PersonSet}).Options)
	assert.Empty(t, posthogexport.Format(&posthogexport.Options{PersonProperties: formats.PersonSetOnce}).Options)
}

func FuzzConvert(f *testing.F) { formattest.Fuzz(f, "export.jsonl", false, posthogexport.Format(nil)) }
