package verify

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func id(n byte) uuid.UUID { return uuid.UUID{0: 0xab, 6: 0x40, 8: 0x80, 15: n} }

// A reject file of several imports says which events of this one were not taken.
func TestReadRejects(t *testing.T) {
	path := filepath.Join(t.TempDir(), "rejects.jsonl")
	lines := []string{
		fmt.Sprintf(`{"uuid":%q,"$reject":{"reason":"answer_400","import":"mine"}}`, id(1)),
		fmt.Sprintf(`{"uuid":%q,"$reject":{"reason":"unconfirmed","import":"mine"}}`, id(2)),
		fmt.Sprintf(`{"uuid":%q,"$reject":{"reason":"answer_400","import":"another"}}`, id(3)),
		fmt.Sprintf(`{"uuid":%q,"event":"corrected by hand"}`, id(4)),
		`{"$reject":{"reason":"bad_record","raw":"x"}}`, `torn {`, ``,
		fmt.Sprintf("\x00\x00"+`{"uuid":%q,"$reject":{"reason":"too_young"}}`, id(5)),
	}
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600))
	r, err := readRejects(t.Context(), []string{path}, "mine")
	require.NoError(t, err)
	assert.Equal(t, []uuid.UUID{id(1), id(4), id(5)}, r.refused)
	assert.Equal(t, []uuid.UUID{id(2)}, r.unconfirmed)
	_, err = readRejects(t.Context(), []string{path + ".no"}, "mine")
	require.ErrorIs(t, err, fs.ErrNotExist)
	assert.NotContains(t, err.Error(), filepath.Dir(path), "no path of this machine")
}

// searchIn gives a search the events 1 to n, each at the place of its number, and returns the events that it takes.
func searchIn(m MissingEvents, n byte, after int) (taken []uuid.UUID, err error) {
	s := NewSearch(m, after)
	for i := range n {
		if s.Takes(int(i)+1, id(i+1), i+1 != 3) { // the third is skipped by the gate
			taken = append(taken, id(i+1))
		}
	}
	return taken, s.End()
}

func TestSearchAfterAPlace(t *testing.T) {
	t.Parallel()
	missing := NewMissingEvents([]uuid.UUID{id(4), id(2), id(4)}, 2)
	for after, want := range map[int][]uuid.UUID{0: {id(2), id(4)}, 1: {id(2), id(4)}, 2: {id(4)}, 4: nil, 5: nil} {
		taken, err := searchIn(missing, 5, after)
		require.NoError(t, err, after)
		assert.Equal(t, want, taken, after)
	}
}

// Events of one record share a place: a search after that place takes no event of the record.
func TestSearchAfterARecord(t *testing.T) {
	t.Parallel()
	s := NewSearch(NewMissingEvents([]uuid.UUID{id(1), id(2), id(3)}, 3), 1)
	assert.False(t, s.Takes(1, id(1), true))
	assert.False(t, s.Takes(1, id(2), true))
	assert.True(t, s.Takes(2, id(3), true))
	require.NoError(t, s.End())
}

func TestSearchThatIsNotWhole(t *testing.T) {
	t.Parallel()
	for want, tt := range map[string]struct {
		missing MissingEvents
		after   int
	}{
		"1 of the 2 missing events were not found":              {NewMissingEvents([]uuid.UUID{id(2), id(9)}, 2), 0},
		"1 of the 1 missing events were not found":              {NewMissingEvents([]uuid.UUID{id(3)}, 1), 0},
		"all 1 missing events that are named were given, and 4": {NewMissingEvents([]uuid.UUID{id(2)}, 5), 0},
		"no longer has the position":                            {NewMissingEvents([]uuid.UUID{id(2)}, 1), 77},
	} {
		_, err := searchIn(tt.missing, 5, tt.after)
		require.ErrorContains(t, err, want)
	}
}

func TestMissingAreNamedByTheirUUIDs(t *testing.T) {
	t.Parallel()
	ids := []uuid.UUID{id(2), id(1), id(2)}
	m := NewMissingEvents(ids, 2)
	assert.Equal(t, NewMissingEvents([]uuid.UUID{id(1), id(2)}, 2).String(), m.String())
	assert.NotEqual(t, NewMissingEvents([]uuid.UUID{id(1), id(3)}, 2).String(), m.String())
	assert.Equal(t, []uuid.UUID{id(2), id(1), id(2)}, ids, "the caller's list is not sorted")
}
