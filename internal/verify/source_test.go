package verify

import (
	"bytes"
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
