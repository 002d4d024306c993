package extsort_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/extsort"
)

type pair struct {
	key  extsort.Key
	text string
}

// sorted sorts pairs with little memory, in a sorter that is closed and opened again after each run.
func sorted(t *testing.T, dir string, pairs []pair, memory int) (got []string, ends []int64) {
	t.Helper()
	for begin := true; begin; {
		s, err := extsort.Open(dir, "pairs", memory)
		require.NoError(t, err)
		i := int(s.State().Read)
		begin = i < len(pairs) && !s.State().Ended
		for ; i < len(pairs); i++ {
			if s.IsFull() {
				require.NoError(t, s.EndRun(json.RawMessage(fmt.Sprint(i))))
				break
			}
			require.NoError(t, s.Add(pairs[i].key, func(room []byte) ([]byte, error) { return append(room, pairs[i].text...), nil }))
		}
		if i == len(pairs) {
			require.NoError(t, s.Finish(t.Context(), nil))
			begin = false
			require.NoError(t, s.Read(0, func(text []byte, end int64) bool {
				got, ends = append(got, string(text)), append(ends, end)
				return true
			}))
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "run-999999"), []byte("left by a crash"), 0o600))
		require.NoError(t, s.Close())
	}
	return got, ends
}

func TestSort(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 50, 5000} {
		var pairs []pair
		for i := range n {
			pairs = append(pairs, pair{extsort.Key{Major: random.Int64N(9) - 4, Minor: random.Int32N(3)}, fmt.Sprint(i)})
		}
		dir := t.TempDir()
		got, ends := sorted(t, dir, pairs, 1<<10) // runs of some 30
		slices.SortStableFunc(pairs, func(a, b pair) int {
			if a.key.Major != b.key.Major {
				return int(a.key.Major - b.key.Major)
			}
			return int(a.key.Minor - b.key.Minor)
		})
		var want []string
		for _, p := range pairs {
			want = append(want, p.text)
		}
		require.Equal(t, want, got)
		s, err := extsort.Open(dir, "pairs", 1)
		require.NoError(t, err)
		for _, i := range []int{0, n / 2, n - 1} {
			if i < 0 || i >= n {
				continue
			}
			var rest []string
			require.NoError(t, s.Read(ends[i], func(text []byte, _ int64) bool { rest = append(rest, string(text)); return true }))
			assert.Equal(t, want[i+1:], append([]string{}, rest...))
		}
		assert.LessOrEqual(t, len(s.State().Runs), 1)
		_, err = extsort.Open(dir, "pairs", 1)
		require.Error(t, err, "it is held")
		require.NoError(t, s.Close())
		_, err = extsort.Open(dir, "others", 1)
		require.ErrorContains(t, err, "take another folder")
	}
}

func TestDamagedFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sorted(t, dir, []pair{{text: "a"}, {text: "b"}}, 1<<10)
	runs, err := filepath.Glob(filepath.Join(dir, "run-0*"))
	require.NoError(t, err)
	require.Len(t, runs, 1)
	require.NoError(t, os.Truncate(runs[0], 5))
	_, err = extsort.Open(dir, "pairs", 1)
	require.ErrorContains(t, err, "remove the folder to sort again")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "sorted.json"), []byte("{"), 0o600))
	_, err = extsort.Open(dir, "pairs", 1)
	require.ErrorContains(t, err, "remove the folder to sort again")
}
