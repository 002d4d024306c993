package verify

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
