package hogapi_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// A panic of a format is an error with the record's place, and without the record.
func TestFormatsThatPanic(t *testing.T) {
	t.Parallel()
	content := "{\"n\":1}\n{\"n\":2}\n{\"n\":\"secret\"}\n"
	for name, f := range map[string]func(record []byte){
		"a panic with a value of type string":             func(record []byte) { panic("no " + string(record)) },
		"index out of range":                              func(record []byte) { _ = record[len(record)] },
		"sourcefaults_test.go:":                           func(record []byte) { _ = record[len(record)] },
		"a panic with a value of type *hogapi.InputError": func([]byte) { panic(&hogapi.InputError{Field: "secret"}) },
	} {
		format := visits
		format.Convert = func(record []byte) ([]hogapi.Event, error) {
			if strings.Contains(string(record), "secret") {
				f(record)
			}
			return []hogapi.Event{{Name: "e", DistinctID: "a", Timestamp: time.Unix(1714552200, 0)}}, nil
		}
		path := writeFile(t, "v.jsonl", content)
		_, err := hogapi.Check(t.Context(), hogapi.FileSource(format, path), &hogapi.ImportOptions{ID: "v", MaxRejectShare: -1})
		require.ErrorContains(t, err, "v.jsonl:3: the format's function panicked")
		require.ErrorContains(t, err, name)
		assert.NotContains(t, err.Error(), "secret")
		_, err = hogapitest.New().Client(t).Import(t.Context(), hogapi.FileSource(format, path), &hogapi.ImportOptions{ID: "v", MaxRejectShare: -1})
		require.ErrorContains(t, err, "v.jsonl:3: the format's function panicked")
	}
}

// Zeros in place of text stop an import of lines, wherever they are.
func TestHolesInLines(t *testing.T) {
	t.Parallel()
	line := `{"event":"e","distinct_id":"a","timestamp":"2024-05-01T12:30:00Z"}` + "\n"
	for _, content := range []string{line + strings.Repeat("\x00", 8<<10) + line + line, line + line[:20] + strings.Repeat("\x00", 512), line + strings.Repeat("\x00", 2<<20) + "\n" + line} {
		_, err := hogapi.Check(t.Context(), hogapi.JSONLinesFile(writeFile(t, "e.jsonl", content)), &hogapi.ImportOptions{ID: "e", MaxRejectShare: -1})
		require.ErrorContains(t, err, "e.jsonl: line 2: the file has zeros in place of text")
	}
}

type wrapping struct{ hogapi.Source }

func (w wrapping) Unwrap() hogapi.Source { return w.Source }

// A source that is made of nil is refused.
func TestSourcesOfNil(t *testing.T) {
	t.Parallel()
	good := hogapi.JSONLinesFile("a")
	for _, source := range []hogapi.Source{nil, hogapi.Concat(), hogapi.Concat(nil), hogapi.Concat(good, nil), wrapping{}, hogapi.Concat(good, wrapping{}), wrapping{hogapi.Concat(nil)}} {
		_, err := hogapi.Check(t.Context(), source, &hogapi.ImportOptions{ID: "e"})
		assert.Equal(t, "source", requireInputError(t, err).Field)
		_, err = hogapitest.New().Client(t).Import(t.Context(), source, &hogapi.ImportOptions{ID: "e"})
		assert.Equal(t, "source", requireInputError(t, err).Field)
	}
}
