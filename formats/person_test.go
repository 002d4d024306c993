package formats_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/ga4"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/formats/segment"
)

// Every vendor's format takes the same three values, and no other.
func TestPersonProperties(t *testing.T) {
	t.Parallel()
	for name, of := range map[string]func(formats.PersonProperties) hogapi.Format{
		"amplitude": func(p formats.PersonProperties) hogapi.Format {
			return amplitude.Format(&amplitude.Options{PersonProperties: p})
		},
		"ga4": func(p formats.PersonProperties) hogapi.Format { return ga4.Format(&ga4.Options{PersonProperties: p}) },
		"mixpanel": func(p formats.PersonProperties) hogapi.Format {
			return mixpanel.Format(&mixpanel.Options{PersonProperties: p})
		},
		"posthogexport": func(p formats.PersonProperties) hogapi.Format {
			return posthogexport.Format(&posthogexport.Options{PersonProperties: p})
		},
		"segment": func(p formats.PersonProperties) hogapi.Format {
			return segment.Format(&segment.Options{PersonProperties: p})
		},
	} {
		paths, err := filepath.Glob(filepath.Join(name, "testdata", "*.jsonl"))
		require.NoError(t, err)
		require.NotEmpty(t, paths, name)
		count := func(p formats.PersonProperties, key string) (n int) {
			for _, path := range paths {
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				for line := range bytes.Lines(text) {
					events, _ := of(p).Convert(bytes.TrimSpace(line))
					for _, ev := range events {
						n += bytes.Count(ev.RawProperties, []byte(`"`+key+`":{`))
					}
				}
			}
			return n
		}
		assert.Positive(t, count(formats.PersonSetOnce, "$set_once"), name)
		assert.Zero(t, count(formats.PersonSetOnce, "$set"), name)
		assert.Positive(t, count(formats.PersonSet, "$set"), name)
		assert.Zero(t, count(formats.PersonNone, "$set")+count(formats.PersonNone, "$set_once"), name)
		_, err = of("Set").Convert([]byte("{}"))
		require.ErrorContains(t, err, name+": options: PersonProperties: want PersonSetOnce", name)
		assert.Contains(t, of(formats.PersonNone).Options, "person=none", name)
	}
}
