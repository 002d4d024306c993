package formattest

import (
	"bytes"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// Fuzz fuzzes formats with the lines of all fixtures, and with seeds that are not records. Each
// record makes the same events every time, however it is spaced. The last format also reads it
// between the first two lines of the fixture, packed in several ways. With isNamed no event lacks a
// name or a person; other formats leave these to the gate.
func Fuzz(f *testing.F, fixture string, isNamed bool, formats ...hogapi.Format) {
	f.Helper()
	Seeds(f)
	lines := Lines(f, filepath.Join("testdata", fixture))
	f.Fuzz(func(t *testing.T, record []byte) {
		RequireStable(t, formats[len(formats)-1], lines[0], record, lines[1])
		for _, format := range formats {
			Pure(t, format, record)
			events, _ := format.Convert(record)
			for _, ev := range events {
				require.False(t, ev.Timestamp.IsZero())
				require.True(t, !isNamed || ev.Name != "" && ev.DistinctID != "")
			}
			if len(events) > 0 {
				require.Equal(t, format.ID(record), events[0].UUID)
			}
		}
	})
}

// Seeds adds the lines of the fixtures to a fuzz target, and texts that are not records.
func Seeds(f *testing.F) {
	f.Helper()
	for _, odd := range []string{"", "{", "{}", "[]", "null", `""`, "\x00"} {
		f.Add([]byte(odd))
	}
	paths, err := filepath.Glob("testdata/*.jsonl")
	require.NoError(f, err)
	for _, path := range paths {
		for _, line := range Lines(f, path) {
			f.Add(bytes.TrimSpace(line))
		}
	}
}
