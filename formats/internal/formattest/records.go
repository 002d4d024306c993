package formattest

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/jsonb"
)

var update = flag.Bool("update", false, "write the golden files of formats")

// Record is the outcome of a record, as a golden file has it.
type Record struct {
	Line   int     `json:"line"`
	Skip   string  `json:"skip,omitempty"`
	Reject string  `json:"reject,omitempty"`
	ID     string  `json:"id,omitempty"`
	Events []Event `json:"events,omitempty"`

	Left []string `json:"left,omitempty"` // why some events of the record are skipped
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

// Convert converts a record with a format.
func Convert(tb testing.TB, format history.Format, record []byte) (r Record) {
	tb.Helper()
	before := bytes.Clone(record)
	events, err := format.Convert(record)
	assert.Equal(tb, before, record, "the record is changed")
	if format.ID != nil {
		r.ID = format.ID(record).String()
	}
	if skip, ok := errors.AsType[*event.SkipError](err); ok {
		r.Skip = skip.Reason
		return r
	}
	if err != nil {
		r.Reject = err.Error()
		return r
	}
	for _, ev := range events {
		if reason, isSkipped := ev.Skipped(); isSkipped {
			r.Left = append(r.Left, reason)
			continue
		}
		assert.True(tb, ev.Timestamp.IsZero() || ev.Timestamp.Location() == time.UTC, "not in UTC")
		raw, err := jsonb.Compact(nil, ev.RawProperties)
		require.NoError(tb, err)
		require.NoError(tb, jsonb.Object(raw, nil))
		r.Events = append(r.Events, Event{ev.Name, ev.DistinctID, ev.AnonymousID, ev.Timestamp, ev.UUID.String(), raw})
	}
	return r
}

// Rows are the records of a file as a format gets them.
func Rows(tb testing.TB, format history.Format, path string) (records [][]byte) {
	tb.Helper()
	if strings.HasSuffix(path, ".jsonl") {
		return Lines(tb, path)
	}
	format.ID, format.Convert = nil, func(record []byte) ([]hogapi.Event, error) {
		records = append(records, bytes.Clone(record))
		return nil, nil
	}
	for _, err := range history.Files(format, path).Events(tb.Context(), hogapi.Position{}) {
		require.NoError(tb, err)
	}
	return records
}

// Golden compares the outcome of each line of a fixture with a golden file, which the flag -update
// writes, and the totals of a check of the fixture with the sums of these outcomes.
func Golden(t *testing.T, format history.Format, fixture, golden string) {
	t.Helper()
	var got []Record
	sum := history.CheckReport{Skips: map[string]int64{}}
	seen := map[string]int{}
	for i, line := range Rows(t, format, filepath.Join("testdata", fixture)) {
		r := Convert(t, format, line)
		r.Line = i + 1
		got = append(got, r)
		sum.Good += int64(len(r.Events))
		for _, reason := range r.Left {
			sum.Skips[reason]++
		}
		switch {
		case r.Skip != "":
			sum.Skips[r.Skip]++
		case r.Reject != "":
			sum.Rejected++
		}
		for _, ev := range r.Events {
			seen[ev.UUID]++
		}
	}
	for id, n := range seen {
		if id != uuid.Nil.String() {
			sum.DoubleUUIDs.Count += int64(n - 1)
		}
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
	report, err := history.Check(t.Context(), history.Files(format, filepath.Join("testdata", fixture)),
		&history.Options{ID: "golden", MaxRejectShare: -1})
	require.NoError(t, err)
	assert.Equal(t, []int64{sum.Good, sum.Rejected, sum.DoubleUUIDs.Count},
		[]int64{report.Good, report.Rejected, report.DoubleUUIDs.Count}, "good, rejected, double: %v", report.Reasons)
	assert.Equal(t, sum.Skips, report.Skips)
}

// Pure fails where a format makes another thing of a record the second time, or with other
// whitespace.
func Pure(tb testing.TB, format history.Format, record []byte) {
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

// Refusals reads tables with no rows. Each has these columns, divided by commas, and is refused with a text, or is read if
// the text is empty.
func Refusals(t *testing.T, format history.Format, byColumns map[string]string) {
	t.Helper()
	for columns, want := range byColumns {
		text := ""
		for _, err := range history.Files(format, File(t, "table.csv", columns+"\n")).Events(t.Context(), hogapi.Position{}) {
			text = err.Error()
		}
		if want == "" {
			assert.Empty(t, text, columns)
		} else {
			assert.Contains(t, text, want, columns)
		}
	}
}
