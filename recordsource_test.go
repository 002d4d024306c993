package hogapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// recordsOf gives the lines of texts as the records of files.
func recordsOf(texts ...string) func(context.Context, hogapi.Position) iter.Seq2[hogapi.Record, error] {
	return func(_ context.Context, after hogapi.Position) iter.Seq2[hogapi.Record, error] {
		return func(yield func(hogapi.Record, error) bool) {
			found := after.IsZero()
			for i, text := range texts {
				name := fmt.Sprintf("file-%d", i)
				found = found || name == after.Key
				for n, line := range bytes.Split([]byte(strings.TrimSpace(text)), []byte("\n")) {
					number := int64(n + 1)
					if !found || name == after.Key && number <= after.Offset {
						continue
					}
					if !yield(hogapi.Record{Raw: line, Position: hogapi.Position{Key: name, Offset: number}}, nil) {
						return
					}
				}
			}
		}
	}
}

// Records of a reader become the events that they become in files, also where it resumes.
func TestRecordSource(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	text.WriteString(someVisits)
	for i := range 6000 { // equal records further apart than one step back
		at := time.Date(2024, 5, 1, 12, 0, 2+i/4000, 0, time.UTC).Format(time.RFC3339)
		fmt.Fprintf(&text, `{"visitor":"v%d","page":"/","at":"%s"}`+"\n", i%1500, at)
	}
	text.WriteString(someVisits)
	want := hogapitest.New()
	options := hogapi.ImportOptions{ID: "visits", Rate: hogapi.Unpaced, MaxRejectShare: -1, Rejects: hogapi.RejectFunc(func(context.Context, hogapi.Reject) error { return nil })}
	files := hogapi.FileSource(visits, writeFile(t, "a.jsonl", text.String()), writeFile(t, "b.jsonl", someVisits))
	_, err := want.Client(t).Import(t.Context(), files, &options)
	require.NoError(t, err)

	source := hogapi.RecordSource("two files", visits, recordsOf(text.String(), someVisits))
	assert.Equal(t, "visits: two files", source.Name())
	got := hogapitest.New()
	receipt, err := got.Client(t).Import(t.Context(), source, &options)
	require.NoError(t, err)
	requireBalanced(t, receipt)
	assert.Equal(t, stored(t, want), stored(t, got))

	var all []hogapi.Event
	for ev, err := range source.Events(t.Context(), hogapi.Position{}) {
		require.NoError(t, err)
		all = append(all, ev)
	}
	for _, i := range []int{0, 5, 900, 3000, 5990, len(all) - 2} {
		next := i + 1
		for next < len(all) && all[next].Position == all[i].Position {
			next++
		}
		for ev, err := range source.Events(t.Context(), all[i].Position) {
			require.NoError(t, err)
			require.Equal(t, all[next].Position, ev.Position)
			require.Equal(t, all[next].Origin, ev.Origin, "%d of %d", next, len(all))
			next++
		}
		assert.Equal(t, len(all), next)
	}
}

func TestRecordSourceFaults(t *testing.T) {
	t.Parallel()
	broken := errors.New("the file is broken")
	read := func(_ context.Context, after hogapi.Position) iter.Seq2[hogapi.Record, error] {
		return func(yield func(hogapi.Record, error) bool) {
			switch {
			case !after.IsZero():
				yield(hogapi.Record{}, broken)
			case yield(hogapi.Record{Position: hogapi.Position{Key: "f", Offset: 1}, Err: errors.New("not UTF-8")}, nil):
				yield(hogapi.Record{Position: hogapi.Position{Key: "f", Offset: 2}, Raw: make([]byte, 9<<20)}, nil)
			}
		}
	}
	source := hogapi.RecordSource("f", visits, read)
	report, err := hogapi.Check(t.Context(), source, &hogapi.ImportOptions{ID: "visits", MaxRejectShare: -1})
	require.NoError(t, err)
	assert.EqualValues(t, 2, report.Rejected)
	assert.Contains(t, fmt.Sprint(report.Reasons), "not UTF-8")
	assert.Contains(t, fmt.Sprint(report.Reasons), "at most 8388608 are read")
	for _, err := range source.Events(t.Context(), hogapi.Position{Key: "f", Offset: 1}) {
		require.ErrorIs(t, err, broken)
	}
	for _, err := range hogapi.RecordSource("f", hogapi.Format{Name: "f"}, read).Events(t.Context(), hogapi.Position{}) {
		require.ErrorContains(t, err, "Format.Convert")
	}
}
