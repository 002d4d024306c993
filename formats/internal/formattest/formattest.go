// Package formattest has what the tests of all formats share. It is for tests only.
package formattest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
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

// Golden converts the records of a file, one a line, and compares the result with the file beside it whose
// name ends in .golden. With HOGAPI_GOLDEN=write it writes that file.
func Golden(t *testing.T, format hogapi.Format, path string) {
	t.Helper()
	var got bytes.Buffer
	for i, record := range Lines(t, path) {
		fmt.Fprintf(&got, "%d\n%s", i+1, Shown(t, format, record))
	}
	golden := path + ".golden"
	if os.Getenv("HOGAPI_GOLDEN") == "write" {
		require.NoError(t, os.WriteFile(golden, got.Bytes(), 0o600))
	}
	want, err := os.ReadFile(golden) //nolint:gosec // a fixture
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

// Shown is what becomes of a record, as a text.
func Shown(t testing.TB, format hogapi.Format, record []byte) string {
	t.Helper()
	var b bytes.Buffer
	events, err := format.Convert(record)
	if skip, ok := errors.AsType[*hogapi.SkipError](err); ok {
		fmt.Fprintf(&b, "\tskipped: %s\n", skip.Reason)
	} else if err != nil {
		fmt.Fprintf(&b, "\trejected: %s\n", err)
	}
	for _, ev := range events {
		fmt.Fprintf(&b, "\t%q of %q", ev.Name, ev.DistinctID)
		if ev.AnonymousID != "" {
			fmt.Fprintf(&b, " who was %q", ev.AnonymousID)
		}
		fmt.Fprintf(&b, "\n\t%s\n", ev.Timestamp.Format(time.RFC3339Nano))
		if ev.UUID != uuid.Nil {
			fmt.Fprintf(&b, "\t%s\n", ev.UUID)
		}
		require.NoError(t, json.Indent(&b, append([]byte("\t"), ev.RawProperties...), "\t", "  "))
		b.WriteByte('\n')
	}
	return b.String()
}

// RequirePure checks what holds of any record and format: no panic, the same events every time and for any
// whitespace between the tokens, properties that can be sent, and the uuid that Format.ID says.
func RequirePure(t *testing.T, format hogapi.Format, record []byte) {
	t.Helper()
	before := bytes.Clone(record)
	first, failed := format.Convert(record)
	first = compacted(t, first)
	second, err := format.Convert(bytes.Clone(record))
	require.Equal(t, failed, err)
	require.Equal(t, first, compacted(t, second))
	require.Equal(t, before, record, "the record is not changed")
	for _, ev := range first {
		require.False(t, ev.Timestamp.IsZero())
		require.NotEmpty(t, ev.Name)
		require.NotEmpty(t, ev.DistinctID)
		require.NoError(t, jsonb.Object(ev.RawProperties, nil), "%s", ev.RawProperties)
	}
	id := format.ID(record)
	if len(first) > 0 {
		require.Equal(t, id, first[0].UUID)
	}
	if !json.Valid(record) {
		return
	}
	var spaced bytes.Buffer
	require.NoError(t, json.Indent(&spaced, record, " ", "\t"))
	third, err := format.Convert(spaced.Bytes())
	require.Equal(t, failed == nil, err == nil)
	require.Equal(t, first, compacted(t, third))
	require.Equal(t, id, format.ID(spaced.Bytes()))
}

// compacted are events with compact properties of their own.
func compacted(t *testing.T, events []hogapi.Event) []hogapi.Event {
	t.Helper()
	for i := range events {
		compact, err := jsonb.Compact(nil, events[i].RawProperties)
		require.NoError(t, err, "%s", events[i].RawProperties)
		events[i].RawProperties = compact
	}
	return events
}

// Benchmark measures Convert, and encoding/json for comparison, on records in turn, without those that make no
// event.
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
	file, err := os.Create(path) //nolint:gosec // in a folder of the test
	require.NoError(t, err)
	w := bufio.NewWriter(file)
	for _, record := range records {
		_, err := w.Write(append(record, '\n'))
		require.NoError(t, err)
	}
	require.NoError(t, w.Flush())
	require.NoError(t, file.Close())
	return path
}
