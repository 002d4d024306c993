// Package formattest serves the tests of all formats.
package formattest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// Lines are the lines of a file.
func Lines(t testing.TB, path string) (lines [][]byte) {
	t.Helper()
	text, err := os.ReadFile(path) //nolint:gosec // a fixture
	require.NoError(t, err)
	for line := range bytes.Lines(text) {
		lines = append(lines, bytes.TrimSpace(line))
	}
	return lines
}

// Benchmark measures Convert, and encoding/json for comparison, on the records in turn that make
// an event.
func Benchmark(b *testing.B, format hogapi.Format, records [][]byte) {
	records = slices.DeleteFunc(slices.Clone(records), func(record []byte) bool {
		_, err := format.Convert(record)
		return err != nil
	})
	size := 0
	for _, record := range records {
		size += len(record)
	}
	run := func(name string, one func(record []byte) error) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(size / len(records)))
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if err := one(records[i%len(records)]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("Convert", func(record []byte) error {
		_, err := format.Convert(record)
		return err
	})
	run("Unmarshal", func(record []byte) error {
		var m map[string]any
		return json.Unmarshal(record, &m)
	})
}

// Write writes records to a file of JSON lines.
func Write(t testing.TB, records [][]byte) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "export.jsonl")
	require.NoError(t, os.WriteFile(path, append(bytes.Join(records, []byte("\n")), '\n'), 0o600))
	return path
}
