package hogapi

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/ledger"
)

// FuzzSavedState: a state resumes only with its own import and source, and what its books say is what it says itself: a count that
// changes on the way through a checkpoint would be an event hidden.
func FuzzSavedState(f *testing.F) {
	books := ledger.New[Position, *Reject]("a warning")
	for i, name := range []string{"a", "b", "a"} {
		seq := books.Take(ledger.Event[Position]{Place: Position{Key: "f", Offset: int64(i + 1)}, ID: testEvent().UUID, Name: name, Time: testTime, Warnings: 1, Ends: true})
		books.Acknowledge([]uint64{seq}, time.Unix(1, 0))
	}
	books.Reject(ledger.Event[Position]{Name: "c", Ends: true}, "bad_record", nil)
	books.Skip(ledger.Event[Position]{Ends: true}, "internal")
	books.Commit(5)
	state, err := json.Marshal(savedState{Version: stateVersion, Import: "imp", Source: "src", State: books.State()})
	require.NoError(f, err)
	f.Add(state)
	for _, text := range []string{
		"null", "{}", "", `{"version":1,"import":"imp"}`, `{"version":2,"import":"other"}`,
		`{"version":2,"import":"imp","source":"src","state":{"totals":{"read":3,"acknowledged":3,"digest":"00000000000000000000000000000000"}}}`,
		`{"version":2,"import":"imp","source":"src","state":{"totals":{"read":4,"acknowledged":3}}}`,
		`{"version":2,"import":"imp","source":"src","state":{"totals":{},"table":{"grain":0,"names":["a"],"rows":[[0,738000,1,2],[0,738000,1,2]]}}}`,
		`{"version":2,"import":"imp","source":"src","state":{"totals":{},"table":{"grain":9,"names":[],"rows":[]}}}`,
		`{"version":2,"import":"imp","source":"src","state":{"totals":{},"table":{"grain":2,"names":["a"],"rows":[[0,-1,5,0]],"other":[1,2]}}}`,
		`{"version":2,"import":"imp","source":"src","state":{"totals":{},"table":{"grain":1,"names":["a"],"rows":[[1,3,5,0]]}}}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s, err := readState(raw, "imp", "target", "src")
		if err != nil {
			require.ErrorIs(t, err, ErrInvalid)
			return
		}
		if raw == nil {
			return
		}
		require.Contains(t, []int{versionBatch, stateVersion}, s.Version)
		require.Equal(t, "imp", s.Import)
		resumed, err := ledger.Resume[Position, *Reject](s.State)
		require.NoError(t, err)
		require.Equal(t, s.State.Rows(), resumed.State().Rows())
		s.State = resumed.State()
		written, err := json.Marshal(s)
		if err != nil {
			require.ErrorContains(t, err, "year", "a time that no event has")
			return
		}
		again, err := readState(written, "imp", "target", "src")
		require.NoError(t, err)
		require.Equal(t, newReceipt("imp", "src", s.State), newReceipt("imp", "src", again.State))
		require.Equal(t, s.State.Place, again.State.Place)
		require.Equal(t, s.File, again.File)
	})
}
