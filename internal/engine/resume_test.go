package engine

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/lines"
	"github.com/hogapi/hogapi/ops"
)

var of = Of{Import: "imp", Target: "target", Source: "src"}

// FuzzSavedState: a state resumes only with its own import and source, and its counts stay the same through a
// checkpoint: a changed count would hide an event.
func FuzzSavedState(f *testing.F) {
	books := ledger.New("a warning")
	for i, name := range []string{"a", "b", "a"} {
		seq := books.Take(ledger.Event{Position: event.Position{Key: "f", Offset: int64(i + 1)}, ID: [16]byte{byte(i)}, Name: name, Time: time.Unix(1e9, 0), Warnings: 1, Ends: true})
		books.Acknowledge([]uint64{seq}, time.Unix(1, 0))
	}
	books.Reject(ledger.Event{Name: "c", Ends: true}, "bad_record")
	books.Skip(ledger.Event{Ends: true}, "internal")
	books.Commit(5)
	state, err := json.Marshal(Saved{Version: stateVersion, Import: "imp", Source: "src", State: books.State()})
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
		s, err := ReadSaved(raw, of)
		if err != nil {
			_, unfit := errors.AsType[*ops.InputError](err)
			require.True(t, unfit)
			return
		}
		if raw == nil {
			return
		}
		require.Contains(t, []int{versionBatch, stateVersion}, s.Version)
		require.Equal(t, "imp", s.Import)
		resumed, err := ledger.Resume(s.State)
		require.NoError(t, err)
		require.Equal(t, s.State.Rows(), resumed.State().Rows())
		s.State = resumed.State()
		written, err := json.Marshal(s)
		if err != nil {
			require.ErrorContains(t, err, "year", "a time that no event has")
			return
		}
		again, err := ReadSaved(written, of)
		require.NoError(t, err)
		require.Equal(t, s.State.Rows(), again.State.Rows())
		require.Equal(t, s.State.Totals.Counts(), again.State.Totals.Counts())
		require.Equal(t, s.State.Position, again.State.Position)
		require.Equal(t, s.File, again.File)
	})
}

// sources has begun with a name.
type sources struct{ from string }

func (s sources) HasGrown(from string) bool                  { return from == s.from }
func (sources) Fingerprint(event.Position) lines.Fingerprint { return lines.Fingerprint{Head: "h"} }

type memory struct {
	state []byte
	err   error
	open  bool
}

func (m *memory) Open(context.Context) ([]byte, error) {
	m.open = m.err == nil
	return m.state, m.err
}

func (m *memory) Save(_ context.Context, state []byte) error {
	if m.err == nil {
		m.state = state
	}
	return m.err
}

func (m *memory) Close() error {
	m.open = false
	return m.err
}

func stateAt(offset int64, read int64) (s ledger.State) {
	s.Position = event.Position{Key: "f", Offset: offset}
	s.Totals.Read, s.Totals.Acknowledged = read, read
	return s
}

// An import of an older release that has settled something stays with the one protocol that it knew.
func TestStateOfAnOlderRelease(t *testing.T) {
	t.Parallel()
	for totals, want := range map[string]event.Protocol{`{}`: "", `{"read":1,"acknowledged":1}`: onlyProtocol} {
		s, err := ReadSaved([]byte(`{"version":2,"import":"imp","source":"src","state":{"totals":`+totals+`}}`), of)
		require.NoError(t, err)
		assert.Equal(t, want, s.Protocol, totals)
	}
}

// A state names its source and its project once it settles something, and the protocol from its decision on.
func TestFiles(t *testing.T) {
	t.Parallel()
	m := &memory{}
	run := func() *Files {
		return &Files{Of: Of{of.Import, of.Target, of.Source, sources{}}, Checkpoint: m}
	}
	f := run()
	saved, err := f.Open(t.Context())
	require.NoError(t, err)
	require.Nil(t, saved)

	read := func() *Saved {
		saved, err := ReadSaved(m.state, of)
		require.NoError(t, err)
		return saved
	}
	require.NoError(t, f.Save(t.Context(), stateAt(0, 0)))
	assert.Empty(t, read().Source+read().Target+string(read().Protocol))
	require.NoError(t, f.Save(t.Context(), stateAt(5, 1)))
	require.NoError(t, f.Decide(t.Context(), "v1"))
	assert.EqualValues(t, 5, read().State.Position.Offset, "the newest state, with the decision")
	assert.Equal(t, "h", read().File.Head)
	assert.Equal(t, "src target v1", read().Source+" "+read().Target+" "+string(read().Protocol))
	require.NoError(t, f.Finish(t.Context(), stateAt(9, 2)))
	assert.True(t, read().Finished)
	_, err = f.Close()
	require.NoError(t, err)
	require.ErrorIs(t, f.Save(t.Context(), stateAt(10, 3)), errClosed, "a source that was left behind saves nothing")
	assert.False(t, m.open)

	f = run()
	saved, err = f.Open(t.Context())
	require.NoError(t, err)
	assert.EqualValues(t, 9, saved.State.Position.Offset)
	assert.Equal(t, event.ProtocolV1, f.Protocol)
	assert.True(t, saved.Finished)
	require.NoError(t, f.Save(t.Context(), stateAt(9, 2)))
	assert.False(t, read().Finished, "a run that continues with more files may be killed")
}

func TestWhatIsNotOfTheImport(t *testing.T) {
	t.Parallel()
	for text, field := range map[string]string{
		`{`:                              "state",
		`{"version":1,"import":"imp"}`:   "version",
		`{"version":4,"import":"imp"}`:   "version",
		`{"version":3,"import":"other"}`: "begun by the import",
		`{"version":3,"import":"imp","target":"other"}`: "begun with the project",
		`{"version":3,"import":"imp","source":"other"}`: FieldSource,
	} {
		_, err := ReadSaved([]byte(text), of)
		unfit, ok := errors.AsType[*ops.InputError](err)
		require.True(t, ok, text)
		assert.Equal(t, "checkpoint: "+field, unfit.Field)
	}
}
