package hogapi

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzSavedState: a state goes on only with its own import and source, and what its books say is what it says itself: a count that
// changes on the way through a checkpoint would be an event hidden.
func FuzzSavedState(f *testing.F) {
	k := newBooks("imp", "src")
	k.enter(&entry{state: entryAcknowledged, time: testTime, tally: k.tally("a", testTime), id: testEvent().UUID, pos: Position{Key: "f", Offset: 7}})
	k.enter(&entry{state: entryRejected, time: testTime, tally: k.tally("b", testTime)})
	length := int64(9)
	for _, rejects := range []*int64{nil, &length} {
		state, err := json.Marshal(savedState{Version: stateVersion, Import: "imp", Source: "src", Rejects: rejects, RejectFile: "r", Receipt: k.receipt()})
		require.NoError(f, err)
		f.Add(state)
	}
	const digest = `"digest":"00000000000000000000000000000000"`
	for _, text := range []string{
		"null", "{}", "", `{"version":2,"import":"imp","source":"src","receipt":{` + digest + `}}`, `{"version":1,"import":"other","source":"src","receipt":{` + digest + `}}`,
		`{"version":1,"import":"imp","source":"src","receipt":{` + digest + `}}`,
		`{"version":1,"import":"imp","source":"src","receipt":{` + digest + `,"days":[{"day":"other","event":"other","acknowledged":3}]}}`,
		`{"version":1,"import":"imp","source":"src","receipt":{` + digest + `,"days":[{"day":"2024-02-29","event":"a"},{"day":"2024-02-29","event":"a","rejected":1}]}}`,
		`{"version":1,"import":"imp","source":"src","rejects":-1,"receipt":{` + digest + `,"read":-5,"days":[{"day":"soon"}]}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := readState(raw, "imp", "src")
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			return
		}
		if raw == nil {
			return
		}
		require.Equal(t, stateVersion, s.Version)
		require.Equal(t, [2]string{"imp", "src"}, [2]string{s.Import, s.Source})
		requireSameCounts(t, s.Receipt, s.books.receipt())
		s.Receipt = s.books.receipt()
		written, err := json.Marshal(s)
		if err != nil {
			require.ErrorContains(t, err, "year", "a time that no event has")
			return
		}
		again, err := readState(written, "imp", "src")
		require.NoError(t, err)
		require.Equal(t, s.Place, again.Place)
		require.Equal(t, s.Rejects, again.Rejects)
		require.Equal(t, s.RejectFile, again.RejectFile)
		requireSameCounts(t, s.Receipt, again.books.receipt())
	})
}

// requireSameCounts compares receipts line by line. Their order and empty lines mean nothing.
func requireSameCounts(t *testing.T, want, got Receipt) {
	t.Helper()
	lines := func(r Receipt) map[DayCount][2]int64 {
		days := map[DayCount][2]int64{}
		for _, d := range r.Days {
			key := DayCount{Day: d.Day, Event: d.Event}
			if d.Day == otherDay {
				key.Event = otherDay
			}
			days[key] = [2]int64{days[key][0] + d.Acknowledged, days[key][1] + d.Rejected}
		}
		for key, counts := range days {
			if counts[0]+counts[1] == 0 {
				delete(days, key)
			}
		}
		return days
	}
	require.Equal(t, lines(want), lines(got))
	require.Equal(t, [6]int64{want.Read, want.Acknowledged, want.Rejected, want.Pending, want.Refused, want.Resent},
		[6]int64{got.Read, got.Acknowledged, got.Rejected, got.Pending, got.Refused, got.Resent})
	require.Equal(t, len(want.Warnings), len(got.Warnings))
	for w, n := range want.Warnings {
		require.Equal(t, n, got.Warnings[w])
	}
	require.Equal(t, [2]Position{want.First, want.Last}, [2]Position{got.First, got.Last})
	require.True(t, want.Oldest.Equal(got.Oldest) && want.Newest.Equal(got.Newest))
	require.Equal(t, want.ID+want.Source, got.ID+got.Source)
}
