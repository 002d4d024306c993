// Package formattest serves the tests of all formats.
package formattest

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/jsonb"
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
func Benchmark(b *testing.B, format history.Format, records [][]byte) {
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
	return File(t, "export.jsonl", string(bytes.Join(records, []byte("\n")))+"\n")
}

// File writes a file into a folder of its own.
func File(t testing.TB, name, content string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// Fuzz fuzzes formats with the lines of all fixtures, and with seeds that are not records. Each
// record makes the same events every time, however it is spaced. The last format also reads it
// between the first two lines of the fixture, packed in several ways. With isNamed no event lacks a
// name or a person; other formats leave these to the gate.
func Fuzz(f *testing.F, fixture string, isNamed bool, formats ...history.Format) {
	f.Helper()
	Seeds(f)
	lines := Lines(f, filepath.Join("testdata", fixture))
	f.Fuzz(func(t *testing.T, record []byte) {
		RequireStable(t, formats[len(formats)-1], lines[0], record, lines[1])
		for _, format := range formats {
			Pure(t, format, record)
			events, _ := format.Convert(record)
			for _, ev := range events {
				if _, isSkipped := ev.Skipped(); isSkipped {
					continue
				}
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

// RequireStable checks the events of a record between two others: they are the same in lines, in an
// array, packed, and where the file is divided at any boundary of records.
func RequireStable(t *testing.T, format history.Format, first, record, last []byte) {
	t.Helper()
	var compact bytes.Buffer
	if json.Compact(&compact, record) != nil || compact.Bytes()[0] != '{' || isSame(record, first) || isSame(record, last) {
		return // no record of a file, or one that is there twice: in another file that is the same event
	}
	if alone := roots(t, format, append(compact.Bytes(), '\n')); slices.ContainsFunc(alone, func(root string) bool { return strings.HasSuffix(root, "true") }) {
		return // at the end of a file it says that the export broke off
	}
	records := [][]byte{first, compact.Bytes(), last}
	lines := append(bytes.Join(records, []byte("\n")), '\n')
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write(lines)
	require.NoError(t, errors.Join(err, z.Close()))
	array := fmt.Appendf(nil, "[%s]", bytes.Join(records, []byte(",\n")))
	one := len(first) + 1
	two := one + compact.Len() + 1
	want := roots(t, format, lines)
	for name, files := range map[string][][]byte{
		"gzip": {packed.Bytes()}, "array": {array}, "after the first": {lines[:one], lines[one:]},
		"before the last": {lines[:two], lines[two:]}, "one by one": {lines[:one], lines[one:two], lines[two:]},
	} {
		require.Equal(t, want, roots(t, format, files...), name)
	}
}

// isSame reports whether a record is another one, however it is written.
func isSame(record, other []byte) bool {
	a, err := jsonb.Canonical(nil, record)
	b, otherErr := jsonb.Canonical(nil, other)
	return err != nil || otherErr != nil || bytes.Equal(a, b)
}

// roots are the events of the files, and the places from which uuids are made.
func roots(t *testing.T, format history.Format, files ...[]byte) (roots []string) {
	t.Helper()
	fsys := fstest.MapFS{}
	for i, content := range files {
		fsys[fmt.Sprintf("f%d", i)] = &fstest.MapFile{Data: content}
	}
	for ev, err := range history.FilesFS(fsys, format, "f*").Events(t.Context(), hogapi.Position{}) {
		roots = append(roots, fmt.Sprint(ev.UUID, ev.Origin, ev.Name, ev.DistinctID, ev.Timestamp, string(ev.RawProperties), err != nil))
	}
	return roots
}
