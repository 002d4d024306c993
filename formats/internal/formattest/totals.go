package formattest

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// Totals are the counts that a generator of records notes and that a check of them finds.
type Totals struct {
	Days       map[hogapi.CheckCount]int64 // events by name and day
	Skips      map[string]int64
	Rejected   int64
	Doubles    int64            // events with the uuid of an earlier event
	Persons    map[string]int64 // events by the kind of their distinct id
	Linked     map[string]int64 // the same of their anonymous id
	VendorIDs  int64            // events whose uuid comes from the vendor's id
	ContentIDs int64            // events whose uuid comes from their content
	Times      int64            // the sum of all times in nanoseconds, as far as it has room
	Notes      map[string]int64 // events by the notes of a test
}

// NewTotals are empty.
func NewTotals() *Totals {
	return &Totals{
		Days: map[hogapi.CheckCount]int64{}, Skips: map[string]int64{}, Persons: map[string]int64{}, Linked: map[string]int64{},
		Notes: map[string]int64{},
	}
}

// Event notes an event.
func (t *Totals) Event(name string, at time.Time, person, linked string, hasID bool) {
	t.Days[hogapi.CheckCount{Day: at.UTC().Format(time.DateOnly), Event: name}]++
	t.Persons[person]++
	if linked != "" {
		t.Linked[linked]++
	}
	if hasID {
		t.VendorIDs++
	} else {
		t.ContentIDs++
	}
	t.Times += at.UnixNano()
}

// Check checks files of records with a format, and returns the totals that it finds. The caller decides on the kind
// of an id, and on other notes about an event.
func Check(
	t *testing.T, format hogapi.Format, path string, kind func(id string) string, notes func(hogapi.Event) []string,
) *Totals {
	t.Helper()
	found := NewTotals()
	var lock sync.Mutex
	convert := format.Convert
	format.Convert = func(record []byte) ([]hogapi.Event, error) {
		events, err := convert(record)
		lock.Lock()
		defer lock.Unlock()
		for _, ev := range events {
			linked := ev.AnonymousID
			if linked != "" {
				linked = kind(linked)
			}
			found.Event(ev.Name, ev.Timestamp, kind(ev.DistinctID), linked, ev.UUID != uuid.Nil)
			if notes == nil {
				continue
			}
			for _, note := range notes(ev) {
				found.Notes[note]++
			}
		}
		return events, err
	}
	report, err := hogapi.Check(t.Context(), hogapi.FileSource(format, path),
		&hogapi.ImportOptions{ID: "generated", MaxRejectShare: -1})
	require.NoError(t, err)
	clear(found.Days)
	for _, row := range report.Days {
		found.Days[hogapi.CheckCount{Day: row.Day, Event: row.Event}] = row.Events
	}
	found.Skips, found.Rejected, found.Doubles = report.Skips, report.Rejected, report.DoubleUUIDs.Count
	require.False(t, report.UUIDsPartial)
	return found
}

// RequireEqual fails the test if any total differs, and shows it.
func (t *Totals) RequireEqual(tt *testing.T, want *Totals) {
	tt.Helper()
	for _, found := range []struct {
		what      string
		got, want any
	}{
		{"skips", t.Skips, want.Skips},
		{"rejects", t.Rejected, want.Rejected},
		{"persons", t.Persons, want.Persons},
		{"links", t.Linked, want.Linked},
		{"ids of the vendor", t.VendorIDs, want.VendorIDs},
		{"ids of the content", t.ContentIDs, want.ContentIDs},
		{"times", t.Times, want.Times},
		{"notes", t.Notes, want.Notes},
		{"double uuids", t.Doubles, want.Doubles},
		{"days", len(t.Days), len(want.Days)},
	} {
		assert.Equal(tt, found.want, found.got, found.what)
	}
	for row, n := range want.Days {
		require.Equal(tt, n, t.Days[row], "%s on %s", row.Event, row.Day)
	}
}
