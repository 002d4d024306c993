package formattest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/jsonb"
)

var update = flag.Bool("update", false, "write the golden files of formats")

// Record is what became of a record: a golden file has them.
type Record struct {
	Line   int     `json:"line"`
	Skip   string  `json:"skip,omitempty"`
	Reject string  `json:"reject,omitempty"`
	ID     string  `json:"id,omitempty"`
	Events []Event `json:"events,omitempty"`
}

// Event is an event as a golden file has it.
type Event struct {
	Event       string          `json:"event"`
	DistinctID  string          `json:"distinct_id"`
	AnonymousID string          `json:"anonymous_id,omitempty"`
	Timestamp   time.Time       `json:"timestamp"`
	UUID        string          `json:"uuid"`
	Properties  json.RawMessage `json:"properties"`
}

// Convert is what a format makes of a record.
func Convert(tb testing.TB, format hogapi.Format, record []byte) (r Record) {
	tb.Helper()
	before := bytes.Clone(record)
	events, err := format.Convert(record)
	assert.Equal(tb, before, record, "the record is changed")
	if format.ID != nil {
		r.ID = format.ID(record).String()
	}
	if skip, ok := errors.AsType[*hogapi.SkipError](err); ok {
		r.Skip = skip.Reason
		return r
	}
	if err != nil {
		r.Reject = err.Error()
		return r
	}
	for _, ev := range events {
		assert.True(tb, ev.Timestamp.IsZero() || ev.Timestamp.Location() == time.UTC, "not in UTC")
		raw, err := jsonb.Compact(nil, ev.RawProperties)
		require.NoError(tb, err)
		require.NoError(tb, jsonb.Object(raw, nil))
		r.Events = append(r.Events, Event{ev.Name, ev.DistinctID, ev.AnonymousID, ev.Timestamp, ev.UUID.String(), raw})
	}
	return r
}

// Golden compares what a format makes of the lines of a fixture with a golden file, which is written
// with the flag -update.
func Golden(t *testing.T, format hogapi.Format, fixture, golden string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", fixture)) //nolint:gosec // of the test
	require.NoError(t, err)
	var got []Record
	for i, line := range bytes.Split(bytes.TrimSpace(text), []byte("\n")) {
		r := Convert(t, format, line)
		r.Line = i + 1
		got = append(got, r)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	require.NoError(t, enc.Encode(got))
	path := filepath.Join("testdata", golden)
	if *update {
		require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	}
	want, err := os.ReadFile(path) //nolint:gosec // of the test
	require.NoError(t, err)
	assert.Equal(t, string(want), b.String())
}

// Pure fails where a format makes another thing of a record the second time, or with other whitespace.
func Pure(tb testing.TB, format hogapi.Format, record []byte) {
	tb.Helper()
	first := Convert(tb, format, record)
	assert.Equal(tb, first, Convert(tb, format, record), "the second time")
	var compact, wide bytes.Buffer
	if json.Compact(&compact, record) != nil || json.Indent(&wide, record, " ", "\t") != nil {
		return
	}
	for _, other := range [][]byte{compact.Bytes(), wide.Bytes()} {
		again := Convert(tb, format, other)
		assert.Equal(tb, first.Reject == "", again.Reject == "", "rejected with other whitespace: %s", again.Reject)
		again.Reject = first.Reject // which may name a byte
		assert.Equal(tb, first, again, "with other whitespace")
	}
}

// Seeds adds the lines of the fixtures to a fuzz target, and what is no record.
func Seeds(f *testing.F) {
	f.Helper()
	for _, odd := range []string{"", "{", "{}", "[]", "null", `""`, "\x00"} {
		f.Add([]byte(odd))
	}
	paths, err := filepath.Glob("testdata/*.jsonl")
	require.NoError(f, err)
	for _, path := range paths {
		text, err := os.ReadFile(path) //nolint:gosec // of the test
		require.NoError(f, err)
		for line := range bytes.Lines(text) {
			f.Add(bytes.TrimSpace(line))
		}
	}
}

// Counts are the events of a file, counted.
type Counts struct {
	Events map[string]int64 // by day and name
	Skips  map[string]int64 // by reason
	IDs    map[string]int64 // events by the kind of their distinct id and uuid
	Reject int64
	Double int64 // events whose uuid an earlier one has
}

// NewCounts is a count of nothing.
func NewCounts() Counts {
	return Counts{Events: map[string]int64{}, Skips: map[string]int64{}, IDs: map[string]int64{}}
}

// Add counts an event.
func (t *Counts) Add(at time.Time, name, kind string) {
	t.Events[at.UTC().Format(time.DateOnly)+" "+name]++
	t.IDs[kind]++
}

// CheckCounts compares the totals that Check finds in a file with those that were noted.
func CheckCounts(t *testing.T, format hogapi.Format, path string, want Counts, kind func(hogapi.Event) string) {
	t.Helper()
	got := NewCounts()
	source := hogapi.MapSource(hogapi.FileSource(format, path), func(ev hogapi.Event) ([]hogapi.Event, error) {
		got.IDs[kind(ev)]++
		return []hogapi.Event{ev}, nil
	})
	report, err := hogapi.Check(t.Context(), source, &hogapi.ImportOptions{ID: "generated", MaxRejectShare: -1})
	require.NoError(t, err)
	for _, row := range report.Days {
		got.Events[row.Day+" "+row.Event] += row.Events
	}
	maps.Copy(got.Skips, report.Skips)
	got.Reject, got.Double = report.Rejected, report.DoubleUUIDs.Count
	for reason, finding := range report.Reasons {
		if finding.Count != want.Reject {
			t.Logf("%s: %d: %+v", reason, finding.Count, finding.Examples)
		}
	}
	assert.Equal(t, want, got)
}

// WriteLines writes the lines of a generated file, and returns its path.
func WriteLines(t *testing.T, lines func(write func(line []byte))) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "generated.jsonl")
	file, err := os.Create(path) //nolint:gosec // of the test
	require.NoError(t, err)
	w := bufio.NewWriter(file)
	lines(func(line []byte) {
		_, _ = w.Write(line)
		_ = w.WriteByte('\n')
	})
	require.NoError(t, w.Flush())
	require.NoError(t, file.Close())
	return path
}

// Size is how many records a generator makes.
func Size() int {
	if level := os.Getenv("HOGAPI_TEST"); level == "nightly" || level == "deep" {
		return 100_000
	}
	return 10_000
}
