package segment_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	assert.Equal(t, "mapping 2", segment.Format(nil).Options)
	assert.Equal(t, "mapping 2", segment.Format(&segment.Options{}).Options)
	assert.Equal(t, `mapping 2; group="company",groups=off,person=set`, segment.Format(&segment.Options{GroupType: "company", NoGroups: true, PersonProperties: formats.PersonSet}).Options)
	assert.Equal(t, `segment`, segment.Format(nil).Name)
	skipped := formattest.Convert(t, segment.Format(&segment.Options{NoGroups: true}), []byte(`{"type":"group","groupId":"g"}`))
	assert.Equal(t, segment.SkipGroup, skipped.Skip)
}

func FuzzConvert(f *testing.F) {
	formattest.Fuzz(f, "calls.jsonl", false, segment.Format(&segment.Options{GroupType: "company"}))
}

// Members that have no meaning to PostHog in a call of their kind stay under their own names. A key that is
// there twice is an error, in the context too.
func TestMembersThatStay(t *testing.T) {
	t.Parallel()
	const double = "context: duplicate key in "
	for members, want := range map[string]string{
		`"type":"track","event":"e","name":"n","traits":{"a":1}`:                            `{"name":"n","traits":{"a":1}}`,
		`"type":"screen","event":"e","name":"n","traits":{"a":1}`:                           `{"$screen_name":"n","event":"e","traits":{"a":1}}`,
		`"type":"page","event":"e","name":"n","traits":{"a":1}`:                             `{"title":"n","event":"e","name":"n","traits":{"a":1}}`,
		`"type":"identify","event":"e","name":"n","traits":{"a":1}`:                         `{"$set_once":{"a":1},"event":"e","name":"n"}`,
		`"type":"identify","traits":[1]`:                                                    `{"traits":[1]}`,
		`"type":"track","event":"e","context":{"device":{"type":5}}`:                        `{"$device_type":5}`,
		`"type":"track","event":"e","context":{"device":{"type":"IOS"}}`:                    `{"$device_type":"Mobile","context":{"device":{"type":"IOS"}}}`,
		`"type":"track","event":"e","context":{"device":{"type":"android"}}`:                `{"$device_type":"Mobile","context":{"device":{"type":"android"}}}`,
		`"type":"track","event":"e","context":{"device":{"type":"x"}}`:                      `{"$device_type":"x"}`,
		`"type":"track","event":"e","context":{"ip":"a","ip":"b"}`:                          double + "ip",
		`"type":"track","event":"e","context":{"page":{"url":"a","url":"b"},"locale":"de"}`: double + "url",
	} {
		events, err := segment.Format(nil).Convert([]byte(`{"userId":"u","timestamp":"2024-07-01T07:18:37Z",` + members + `}`))
		if strings.HasPrefix(want, double) {
			require.ErrorContains(t, err, want, members)
			continue
		}
		require.NoError(t, err, members)
		require.Len(t, events, 1)
		assert.JSONEq(t, want, string(events[0].RawProperties), members)
	}
	events, err := segment.Format(&segment.Options{GroupType: "g"}).Convert([]byte(`{"type":"group","groupId":"x","userId":"u","timestamp":"2024-07-01T07:18:37Z","traits":{"a":1}}`))
	require.NoError(t, err)
	assert.NotContains(t, string(events[0].RawProperties), `"traits"`)
}
