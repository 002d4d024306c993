package arrival

import (
	"bytes"
	"errors"
	"io/fs"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func id(n byte) uuid.UUID { return uuid.UUID{15: n} }

// However many files it takes, all items come back in order, by cell.
func TestSorter(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 9, 10, 11, 1000} {
		folder := t.TempDir()
		s, err := openSorter(folder, 10*itemSize)
		require.NoError(t, err)
		want := make([]Item, n)
		random := rand.New(rand.NewPCG(1, uint64(n)))
		for i := range want {
			want[i] = Item{random.IntN(5), uuid.UUID{byte(random.IntN(256)), byte(random.IntN(256))}, Mark(random.IntN(3))}
			require.NoError(t, s.Add(want[i]))
		}
		require.NoError(t, s.Finish(t.Context()))
		require.NoError(t, s.Close())
		slices.SortFunc(want, func(a, b Item) int { return bytes.Compare(a.put(nil), b.put(nil)) })
		sorted, err := OpenSorted(folder)
		require.NoError(t, err)
		var got, byCell []Item
		for item, err := range sorted.All() {
			require.NoError(t, err)
			got = append(got, item)
		}
		for cell := range 5 {
			before := len(byCell)
			for item, err := range sorted.Cell(cell) {
				require.NoError(t, err)
				require.Equal(t, cell, item.Cell)
				byCell = append(byCell, item)
			}
			assert.EqualValues(t, len(byCell)-before, sorted.Count(cell))
		}
		assert.Equal(t, want, append([]Item{}, got...), n)
		assert.Equal(t, got, byCell)
	}
}

// A flipped bit is an error, wherever it is: no uuid is compared that is not one of the source.
func TestDamagedSorting(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s, err := NewSorter(folder)
	require.NoError(t, err)
	for n := range byte(3) {
		require.NoError(t, s.Add(Item{1, id(n), 0}))
	}
	require.NoError(t, errors.Join(s.Finish(t.Context()), s.Close()))
	files, err := filepath.Glob(filepath.Join(folder, "run-*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	content, err := os.ReadFile(files[0])
	require.NoError(t, err)
	for i := range content {
		content[i] ^= 1
		require.NoError(t, os.WriteFile(files[0], content, 0o600))
		content[i] ^= 1
		_, err := OpenSorted(folder)
		require.ErrorContains(t, err, "remove", "byte %d", i)
	}
}

// A sorting that did not end is not taken for one that did.
func TestUnfinishedSorting(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	s, err := openSorter(folder, 1)
	require.NoError(t, err)
	require.NoError(t, s.Add(Item{1, id(1), 0}))
	require.NoError(t, s.Add(Item{1, id(2), 0}))
	require.NoError(t, s.Close())
	_, err = OpenSorted(folder)
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
	ours := []Item{{0, id(2), 0}, {0, id(3), 0}, {0, id(3), 0}, {0, id(5), 0}, {0, id(6), Hidden}, {0, id(7), 0}, {0, id(8), 0}, {0, id(9), 0}}
	f, err := Compare(sequence(nil, ours...), sequence(nil, id(1), id(3), id(4), id(7), id(9), id(10)), 10)
	require.NoError(t, err)
	assert.Equal(t, Found{
		Listed: 6, Doubled: 1, Hidden: 1, Lacking: 3, Strange: 3,
		Absent: []uuid.UUID{id(2), id(5), id(8)}, Foreign: []uuid.UUID{id(1), id(4), id(10)},
	}, f)

	f, err = Compare(sequence[Item](nil, ours[0], ours[1]), sequence[uuid.UUID](nil), 1)
	require.NoError(t, err)
	assert.Equal(t, Found{Lacking: 2, Absent: []uuid.UUID{id(2)}}, f, "all are counted, the first are named")
	f, err = Compare(sequence[Item](nil, ours[:0]...), sequence(nil, id(1), id(4)), 1)
	require.NoError(t, err)
	assert.Equal(t, Found{Listed: 2, Strange: 2, Foreign: []uuid.UUID{id(1)}}, f, "of the strange ones too")

	cut := errors.New("cut")
	_, err = Compare(sequence(nil, ours...), sequence(cut, id(2)), 10)
	require.ErrorIs(t, err, cut, "a list that is cut off shows nothing as absent")
	_, err = Compare(sequence(nil, ours[:1]...), sequence(cut, id(2)), 10)
	require.ErrorIs(t, err, cut, "nor at its end")
	_, err = Compare(sequence(cut, ours...), sequence(nil, id(2)), 10)
	require.ErrorIs(t, err, cut)
}

func TestMergeIDs(t *testing.T) {
	t.Parallel()
	var got []uuid.UUID
	for x, err := range MergeIDs([]iter.Seq2[uuid.UUID, error]{sequence(nil, id(1), id(4)), sequence[uuid.UUID](nil), sequence(nil, id(1), id(2), id(5))}) {
		require.NoError(t, err)
		got = append(got, x)
	}
	assert.Equal(t, []uuid.UUID{id(1), id(2), id(4), id(5)}, got)
	cut := errors.New("cut")
	for _, streams := range [][]iter.Seq2[uuid.UUID, error]{{sequence(cut, id(1)), sequence(nil, id(3))}, {sequence[uuid.UUID](cut)}} {
		var last error
		for _, err := range MergeIDs(streams) {
			last = err
		}
		require.ErrorIs(t, last, cut)
	}
}
