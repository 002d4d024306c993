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
	formattest.Fuzz(f, "calls.jsonl", false, segment.Format(&segment.Options{GroupType: "company"}))
}
