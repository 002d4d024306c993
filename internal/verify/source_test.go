package verify

import (
	"bytes"
	"errors"
	"io/fs"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// However many files it takes, all items come back in order, by cell.
func TestSorter(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 9, 10, 11, 1000} {
		folder := t.TempDir()
		s, err := openItems(folder, 10*itemSize)
		require.NoError(t, err)
		want := make([]item, n)
		random := rand.New(rand.NewPCG(1, uint64(n)))
		for i := range want {
			want[i] = item{random.IntN(5), uuid.UUID{byte(random.IntN(256)), byte(random.IntN(256))}, random.IntN(2) == 1}
			require.NoError(t, addItem(s, want[i]))
		}
		require.NoError(t, s.Finish(t.Context(), nil))
		require.NoError(t, s.Close())
		slices.SortFunc(want, func(a, b item) int { return bytes.Compare(a.put(nil), b.put(nil)) })
		sorted, err := openSorted(folder)
		require.NoError(t, err)
		var got, byCell []item
		for item, err := range sorted.all() {
			require.NoError(t, err)
			got = append(got, item)
		}
		for cell := range 5 {
			before := len(byCell)
			for item, err := range sorted.cell(cell) {
				require.NoError(t, err)
				require.Equal(t, cell, item.cell)
				byCell = append(byCell, item)
			}
			assert.EqualValues(t, len(byCell)-before, sorted.count(cell))
		}
		assert.Equal(t, want, append([]item{}, got...), n)
		assert.Equal(t, got, byCell)
	}
}

// A sorting that did not end is not taken for one that did.
func TestUnfinishedSorting(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s, err := openItems(folder, 1)
	require.NoError(t, err)
	require.NoError(t, addItem(s, item{1, id(1), false}))
	require.NoError(t, addItem(s, item{1, id(2), false}))
	require.NoError(t, s.Close())
	_, err = openSorted(folder)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func sequence[T any](err error, list ...T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, x := range list {
			if !yield(x, nil) {
				return
			}
		}
		var none T
		if err != nil {
			yield(none, err)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	ours := []item{{0, id(2), false}, {0, id(3), false}, {0, id(3), false}, {0, id(5), false}, {0, id(6), true}, {0, id(7), false}, {0, id(8), false}, {0, id(9), false}}
	f, err := compareSorted(sequence(nil, ours...), sequence(nil, id(1), id(3), id(4), id(7), id(9), id(10)), 10)
	require.NoError(t, err)
	assert.Equal(t, Found{
		Listed: 6, Doubled: 1, Hidden: 1, Absent: 3, Foreign: 3,
		AbsentIDs: []uuid.UUID{id(2), id(5), id(8)}, ForeignIDs: []uuid.UUID{id(1), id(4), id(10)},
	}, f)

	f, err = compareSorted(sequence[item](nil, ours[0], ours[1]), sequence[uuid.UUID](nil), 1)
	require.NoError(t, err)
	assert.Equal(t, Found{Absent: 2, AbsentIDs: []uuid.UUID{id(2)}}, f, "all are counted, the first are named")
	f, err = compareSorted(sequence[item](nil, ours[:0]...), sequence(nil, id(1), id(4)), 1)
	require.NoError(t, err)
	assert.Equal(t, Found{Listed: 2, Foreign: 2, ForeignIDs: []uuid.UUID{id(1)}}, f, "of the strange ones too")

	cut := errors.New("cut")
	_, err = compareSorted(sequence(nil, ours...), sequence(cut, id(2)), 10)
	require.ErrorIs(t, err, cut, "a list that is cut off shows nothing as absent")
	_, err = compareSorted(sequence(nil, ours[:1]...), sequence(cut, id(2)), 10)
	require.ErrorIs(t, err, cut, "nor at its end")
	_, err = compareSorted(sequence(cut, ours...), sequence(nil, id(2)), 10)
	require.ErrorIs(t, err, cut)
}

func TestMergeIDs(t *testing.T) {
	t.Parallel()
	var got []uuid.UUID
	for x, err := range mergeIDs([]iter.Seq2[uuid.UUID, error]{sequence(nil, id(1), id(4)), sequence[uuid.UUID](nil), sequence(nil, id(1), id(2), id(5))}) {
		require.NoError(t, err)
		got = append(got, x)
	}
	assert.Equal(t, []uuid.UUID{id(1), id(2), id(4), id(5)}, got)
	cut := errors.New("cut")
	for _, streams := range [][]iter.Seq2[uuid.UUID, error]{{sequence(cut, id(1)), sequence(nil, id(3))}, {sequence[uuid.UUID](cut)}} {
		var last error
		for _, err := range mergeIDs(streams) {
			last = err
		}
		require.ErrorIs(t, last, cut)
	}
}
