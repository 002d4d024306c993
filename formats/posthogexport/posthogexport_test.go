package posthogexport_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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

// An identify links two ids. Properties of other events, and $set and $set_once that are no objects, stay.
func TestLinksAndProperties(t *testing.T) {
	t.Parallel()
	for members, want := range map[string]struct{ anonymous, properties string }{
		`"event":"e","properties":{"$anon_distinct_id":"a","o":{"a":1},"$set_once":5,"$set":"x"}`: {"", `{"$anon_distinct_id":"a","o":{"a":1},"$set_once":5,"$set":"x"}`},
		`"event":"$identify","properties":{"$anon_distinct_id":"a"}`:                              {"a", `{"$anon_distinct_id":"a"}`},
		`"event":"$identify","properties":{"$anon_distinct_id":"u"}`:                              {"", `{"$anon_distinct_id":"u"}`},
	} {
		for _, at := range []string{"2024-07-01 07:18:37", "2024-07-01 07:18:37 UTC", "2024-07-01 09:18:37+02:00", "2024-07-01T07:18:37Z"} {
			row := `{"uuid":"0190a6a5-6f6c-7000-8000-000000000001","distinct_id":"u","timestamp":"` + at + `",` + members + `}`
			for _, policy := range []formats.PersonProperties{formats.PersonSet, formats.PersonSetOnce} {
				events, err := posthogexport.Format(&posthogexport.Options{PersonProperties: policy}).Convert([]byte(row))
				require.NoError(t, err, row)
				require.Len(t, events, 1)
				assert.Equal(t, want.anonymous, events[0].AnonymousID, row)
				assert.JSONEq(t, want.properties, string(events[0].RawProperties), row)
				assert.Equal(t, time.Date(2024, 7, 1, 7, 18, 37, 0, time.UTC), events[0].Timestamp)
			}
		}
	}
}
