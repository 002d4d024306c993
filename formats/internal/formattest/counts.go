package formattest

import (
	"bufio"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// Counts counts the events of a file.
type Counts struct {
	Events map[string]int64 // by day and name
	Skips  map[string]int64 // by reason
	IDs    map[string]int64 // events by the kind of their distinct id and uuid
	Reject int64
	Double int64 // events with the uuid of an earlier event
}

// NewCounts returns empty counts.
func NewCounts() Counts {
	return Counts{Events: map[string]int64{}, Skips: map[string]int64{}, IDs: map[string]int64{}}
}

// Add counts an event.
func (t *Counts) Add(at time.Time, name, kind string) {
	t.Events[at.UTC().Format(time.DateOnly)+" "+name]++
	t.IDs[kind]++
}

// CheckCounts compares the totals that Check finds in a file with the generator's own.
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

// Size is the number of records of a generator.
func Size() int {
	switch os.Getenv("HOGAPI_TEST") {
	case "nightly":
		return 30_000
	case "deep":
		return 100_000
	}
	return 10_000
}
