package formats_test

import (
	"bytes"
	"fmt"
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

// vendorFormats are the formats of all vendors, by their folders.
var vendorFormats = map[string]func() hogapi.Format{
	"amplitude":     func() hogapi.Format { return amplitude.Format(nil) },
	"ga4":           func() hogapi.Format { return ga4.Format(nil) },
	"mixpanel":      func() hogapi.Format { return mixpanel.Format(&mixpanel.Options{DevicePrefix: true}) },
	"posthogexport": func() hogapi.Format { return posthogexport.Format(nil) },
	"segment":       func() hogapi.Format { return segment.Format(&segment.Options{GroupType: "company"}) },
}

// A record makes the same events after any other record.
func TestNothingIsCarriedToTheNextRecord(t *testing.T) {
	t.Parallel()
	for name, format := range vendorFormats {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			paths, err := filepath.Glob(filepath.Join(name, "testdata", "*.jsonl"))
			require.NoError(t, err)
			var records [][]byte
			for _, path := range paths {
				text, err := os.ReadFile(path)
				require.NoError(t, err)
				for line := range bytes.Lines(text) {
					records = append(records, bytes.TrimSpace(line))
				}
			}
			records = append(records, []byte(`{}`), []byte(`{"event":"$identify","distinct_id":"b","timestamp":"2024-01-01T00:00:00Z","properties":{}}`))
			said := func(f hogapi.Format, record []byte) string {
				events, err := f.Convert(record)
				return fmt.Sprintf("%+v %v %v", events, err, f.ID(record))
			}
			for _, record := range records {
				want := said(format(), record)
				for _, before := range records {
					f := format()
					said(f, before)
					require.Equal(t, want, said(f, record), "%s\nafter %s", record, before)
				}
			}
		})
	}
}

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
