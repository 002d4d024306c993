package extsort_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/durable/simdisk"
	"github.com/hogapi/hogapi/internal/extsort"
)

// pair is an item: a key of two bytes, and a text.
type pair struct{ key, text string }

func open(dir, name string, memory int) (*extsort.Sorter, error) {
	return extsort.Open(dir, extsort.Options{Name: name, Key: 2, Memory: memory})
}

// Compressed files have the items, offsets and digests of plain ones, take less, and are read from each offset. The files
// of an earlier release, which are plain, are merged with them. A flipped bit anywhere is an error, or changes nothing.
func TestPackedFiles(t *testing.T) {
	t.Parallel()
	type result struct {
		items  []string
		ends   []int64
		digest string
	}
	const n, wide = 1200, 2000 // several blocks, and some entries in the index of them
	pad := string(bytes.Repeat([]byte("of one kind, "), wide/13))
	sortInto := func(dir string, packs func(i int) bool) result {
		for {
			state, err := open(dir, "pairs", 1)
			require.NoError(t, err)
			at := int(state.State().Read)
			require.NoError(t, state.Close())
			s, err := extsort.Open(dir, extsort.Options{Name: "pairs", Key: 2, Memory: 500_000, Packs: packs(at)})
			require.NoError(t, err)
			for at < n && !s.IsFull() {
				require.NoError(t, s.Add(func(room []byte) ([]byte, error) {
					return fmt.Append(append(room, byte(at*7), byte(at)), at, pad), nil
				}))
				at++
			}
			require.NoError(t, s.EndRun(json.RawMessage(fmt.Sprint(at))))
			if at < n {
				require.NoError(t, s.Close())
				continue
			}
			require.NoError(t, s.Finish(t.Context(), nil))
			r := result{digest: s.Digest()}
			require.NoError(t, s.Read(0, func(item []byte, end int64) bool {
				r.items, r.ends = append(r.items, string(item)), append(r.ends, end)
				return true
			}))
			for i := range r.ends {
				require.NoError(t, s.Read(r.ends[i], func(item []byte, end int64) bool {
					require.Equal(t, r.items[i+1], string(item))
					require.Equal(t, r.ends[i+1], end)
					return false
				}))
			}
			require.NoError(t, s.Close())
			return r
		}
	}
	plain, packed := t.TempDir(), t.TempDir()
	want := sortInto(plain, func(int) bool { return false })
	require.Len(t, want.items, n)
	require.Equal(t, want, sortInto(packed, func(int) bool { return true }), "packed")
	require.Equal(t, want, sortInto(t.TempDir(), func(at int) bool { return at > n/2 }), "continued")
	require.Equal(t, want, sortInto(t.TempDir(), func(at int) bool { return at < n/2 }), "continued by an earlier release")
	files, err := filepath.Glob(filepath.Join(packed, "run-*"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	content, err := os.ReadFile(files[0])
	require.NoError(t, err)
	assert.Less(t, len(content), n*wide/10)

	s, err := open(packed, "pairs", 1)
	require.NoError(t, err)
	middle, last := want.ends[n/2], 0
	for i := range content {
		if i > 200 && i < len(content)-400 && i%97 > 0 {
			continue
		}
		content[i] ^= 1 << (i % 8)
		require.NoError(t, os.WriteFile(files[0], content, 0o600))
		content[i] ^= 1 << (i % 8)
		for at, offset := range map[int]int64{0: 0, n/2 + 1: middle} {
			err := s.Read(offset, func(item []byte, end int64) bool {
				require.True(t, want.items[at] == string(item) && want.ends[at] == end, "byte %d", i)
				at++
				return true
			})
			if err != nil {
				require.ErrorContains(t, err, "is not as it was written, at byte", "byte %d", i)
				require.ErrorContains(t, err, "remove", "byte %d", i)
				last = i
			} else {
				require.Equal(t, n, at, "byte %d", i)
			}
		}
	}
	assert.Positive(t, last)
	require.NoError(t, s.Close())
}

// sortSome continues to sort pairs until the run at hand is full, or all is done.
func sortSome(t *testing.T, s *extsort.Sorter, pairs []pair) error {
	for i := int(s.State().Read); i < len(pairs) && !s.State().Ended; i++ {
		if s.IsFull() {
			return s.EndRun(json.RawMessage(fmt.Sprint(i)))
		}
		if err := s.Add(func(room []byte) ([]byte, error) { return append(append(room, pairs[i].key...), pairs[i].text...), nil }); err != nil {
			return err
		}
	}
	return s.Finish(t.Context(), nil)
}

// sorted sorts pairs with little memory, in a sorter that is closed and opened again after each run.
func sorted(t *testing.T, dir string, pairs []pair, memory int) (got []string, ends []int64) {
	t.Helper()
	for {
		s, err := open(dir, "pairs", memory)
		require.NoError(t, err)
		require.NoError(t, sortSome(t, s, pairs))
		if s.State().Done {
			require.NoError(t, s.Read(0, func(item []byte, end int64) bool {
				got, ends = append(got, string(item[2:])), append(ends, end)
				return true
			}))
			require.NoError(t, s.Close())
			return got, ends
		}
		left := fmt.Sprintf("run-%06d", s.State().Made+1)
		require.NoError(t, os.WriteFile(filepath.Join(dir, left), []byte("left by a crash"), 0o600))
		require.NoError(t, s.Close())
	}
}

func TestSort(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 50, 5000} {
		var pairs []pair
		for i := range n {
			pairs = append(pairs, pair{string([]byte{byte(random.IntN(9)), byte(random.IntN(3))}), fmt.Sprint(i)})
		}
		dir := t.TempDir()
		got, ends := sorted(t, dir, pairs, 1<<10) // runs of some 30
		slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.key, b.key) })
		var want []string
		for _, p := range pairs {
			want = append(want, p.text)
		}
		require.Equal(t, want, got)
		s, err := open(dir, "pairs", 1)
		require.NoError(t, err)
		for _, i := range []int{0, n / 2, n - 1} {
			if i < 0 || i >= n {
				continue
			}
			var rest []string
			require.NoError(t, s.Read(ends[i], func(item []byte, _ int64) bool { rest = append(rest, string(item[2:])); return true }))
			assert.Equal(t, want[i+1:], append([]string{}, rest...))
		}
		assert.LessOrEqual(t, len(s.State().Runs), 1)
		_, err = open(dir, "pairs", 1)
		require.Error(t, err, "it is held")
		require.NoError(t, s.Close())
		_, err = open(dir, "others", 1)
		require.ErrorContains(t, err, "take another folder")
	}
}

func TestDamagedFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sorted(t, dir, []pair{{"aa", "a"}, {"bb", "b"}}, 1<<10)
	for _, name := range []string{"run-000001", "sorted.json"} {
		require.NoError(t, os.Truncate(filepath.Join(dir, name), 5))
		_, err := open(dir, "pairs", 1)
		require.ErrorContains(t, err, "remove "+filepath.Join(dir, "sorted.json")+", and the files run-* next to it, to sort again")
	}

	require.NoError(t, extsort.Remove(dir))
	require.NoDirExists(t, dir)

	// Open and Remove neither replace nor remove the files of others.
	foreign := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(foreign, "mine"), nil, 0o600))
	require.Error(t, extsort.Remove(foreign))
	require.FileExists(t, filepath.Join(foreign, "mine"))
	require.NoError(t, os.WriteFile(filepath.Join(foreign, "run-000001"), []byte("mine"), 0o600))
	s, err := open(foreign, "pairs", 1)
	require.NoError(t, err)
	require.ErrorIs(t, sortSome(t, s, []pair{{"aa", "a"}}), fs.ErrExist)
	content, err := os.ReadFile(filepath.Join(foreign, "run-000001"))
	require.NoError(t, err)
	assert.Equal(t, "mine", string(content))
}

// A file that cannot be read now may be read later: only damage makes the folder worth removing.
func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, packs := range []bool{false, true} {
		dir := t.TempDir()
		options := extsort.Options{Name: "pairs", Key: 2, Memory: 1 << 10, Packs: packs}
		s, err := extsort.Open(dir, options)
		require.NoError(t, err)
		require.NoError(t, sortSome(t, s, []pair{{"aa", "a"}, {"bb", "b"}}))
		var first int64
		require.NoError(t, s.Read(0, func(_ []byte, end int64) bool { first = end; return false }))
		require.NoError(t, s.Close())

		far := &farFS{durable.OS{}, true}
		options.FS = far
		_, err = extsort.Open(dir, options)
		require.ErrorIs(t, err, errFar)
		require.NotContains(t, err.Error(), "remove")
		far.isFar = false
		s, err = extsort.Open(dir, options)
		require.NoError(t, err)
		far.isFar = true
		err = s.Read(first, func([]byte, int64) bool { return true })
		require.ErrorIs(t, err, errFar)
		require.NotContains(t, err.Error(), "remove")
		require.NoError(t, s.Close())
	}
}

var errFar = errors.New("stale file handle")

// farFS has files in which nobody can seek while they are far.
type farFS struct {
	durable.FS

	isFar bool
}

func (f *farFS) OpenFile(name string, flag int, perm fs.FileMode) (durable.File, error) {
	file, err := f.FS.OpenFile(name, flag, perm)
	return farFile{file, f}, err
}

type farFile struct {
	durable.File

	fs *farFS
}

func (f farFile) Seek(offset int64, whence int) (int64, error) {
	if f.fs.isFar {
		return 0, errFar
	}
	return f.File.Seek(offset, whence)
}

// A loss of power at any moment of the sorting, and a failure of any operation, loses and changes nothing: the next
// run continues the sorting.
func TestPowerLoss(t *testing.T) {
	t.Parallel()
	pairs := make([]pair, 40)
	want := make([]string, len(pairs))
	for i := range pairs {
		pairs[i] = pair{string([]byte{byte(i * 7 % 40), 0}), fmt.Sprint(i)}
		want[i*7%40] = fmt.Sprint(i)
	}
	for _, packs := range []bool{false, true} {
		t.Run(fmt.Sprint("packed ", packs), func(t *testing.T) {
			t.Parallel()
			run := func(disk *simdisk.Disk) (got []string, err error) {
				for {
					s, err := extsort.Open("dir", extsort.Options{FS: disk, Name: "pairs", Key: 2, Memory: 100, Packs: packs})
					if err != nil {
						return nil, err
					}
					if err := errors.Join(sortSome(t, s, pairs), s.Close()); err != nil {
						return nil, err
					}
					if s.State().Done {
						return got, s.Read(0, func(item []byte, _ int64) bool { got = append(got, string(item[2:])); return true })
					}
				}
			}
			whole := &simdisk.Disk{}
			got, err := run(whole)
			require.NoError(t, err)
			require.Equal(t, want, got)
			for at := range whole.Operations() {
				for seed := range uint64(10) {
					disk := &simdisk.Disk{}
					disk.CrashAt(at + 1)
					_, err := run(disk)
					require.ErrorIs(t, err, simdisk.ErrCrashed)
					got, err := run(disk.Crashed(seed))
					require.NoError(t, err, "operation %d, seed %d", at, seed)
					require.Equal(t, want, got, "operation %d, seed %d", at, seed)
				}
				full := errors.New("disk full")
				disk := &simdisk.Disk{}
				disk.FailAt(at+1, full)
				if _, err := run(disk); err == nil {
					continue // a failed removal is not an error
				}
				got, err := run(disk)
				require.NoError(t, err, "operation %d failed", at)
				require.Equal(t, want, got, "operation %d failed", at)
			}
		})
	}
}

// Until something is there, a folder is of the data that it is opened for last. After that it is of the
// data that was sorted, even if that was nothing.
func TestStateOfAFolder(t *testing.T) {
	t.Parallel()
	for name, pairs := range map[string][]pair{"of some items": {{"aa", "a"}}, "of no items": nil} {
		dir := t.TempDir()
		openFor := func(of string) *extsort.Sorter {
			s, err := extsort.Open(dir, extsort.Options{Name: "pairs", Of: []byte(of), Key: 2, Memory: 1 << 10})
			require.NoError(t, err)
			return s
		}
		require.NoError(t, openFor("1").Close())
		s := openFor("2")
		assert.JSONEq(t, "2", string(s.State().Of), name)
		require.NoError(t, sortSome(t, s, pairs))
		require.NoError(t, s.Close())
		s = openFor("3")
		assert.JSONEq(t, "2", string(s.State().Of), name)
		assert.True(t, s.State().Done, name)
		require.NoError(t, s.Close())
	}
}

// Some of more runs than can be merged at once are merged first: the neighbours that are the smallest, and
// as few as leave one merge of all.
func TestMergeOfManyRuns(t *testing.T) {
	t.Parallel()
	const runs, atOnce = 300, 256
	for name, tt := range map[string]struct {
		small func(i int) bool
		first int // run that is merged first
	}{
		"of one size":       {func(int) bool { return true }, 0},
		"small at the end":  {func(i int) bool { return i >= atOnce-1 }, atOnce - 1},
		"small in between":  {func(i int) bool { return i >= 100 && i < 145 }, 100},
		"small at the head": {func(i int) bool { return i < 45 }, 0},
	} {
		pairs := make([]pair, runs)
		for i := range pairs {
			pairs[i] = pair{string([]byte{byte(i * 7), 0}), fmt.Sprintf("%04d", i)}
			if !tt.small(i) {
				pairs[i].text += " and more"
			}
		}
		disk := &simdisk.Disk{}
		s, err := extsort.Open("dir", extsort.Options{FS: disk, Name: "pairs", Key: 2, Memory: 1})
		require.NoError(t, err)
		var merged [][]extsort.Run // the runs when a merge begins
		s.Merged = func(items int64) {
			assert.Zero(t, items)
			merged = append(merged, slices.Clone(s.State().Runs))
		}
		for !s.State().Done {
			require.NoError(t, sortSome(t, s, pairs))
		}
		require.Len(t, merged, 2, name)
		assert.Len(t, merged[0], runs)
		assert.Len(t, merged[1], atOnce)
		for i, r := range merged[1] {
			assert.Equal(t, i == tt.first, r.Items == runs-atOnce+1, "%s: run %d", name, i)
		}
		var got []string
		require.NoError(t, s.Read(0, func(item []byte, _ int64) bool { got = append(got, string(item[2:])); return true }))
		slices.SortStableFunc(pairs, func(a, b pair) int { return cmp.Compare(a.key, b.key) })
		for i, p := range pairs {
			require.Equal(t, p.text, got[i], name)
		}
		assert.EqualValues(t, runs, s.State().Runs[0].Items)
		require.NoError(t, s.Close())
	}
}

// The end of a context stops a merge, which a later one does again. A run that is damaged before it is
// merged is an error.
func TestMergeThatEnds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pairs := []pair{{"bb", "1"}, {"aa", "2"}, {"bb", "3"}}
	s, err := open(dir, "pairs", 1)
	require.NoError(t, err)
	for i, p := range pairs {
		require.NoError(t, s.Add(func(room []byte) ([]byte, error) { return append(append(room, p.key...), p.text...), nil }))
		require.NoError(t, s.EndRun(json.RawMessage(fmt.Sprint(i))))
	}
	assert.NotEmpty(t, s.Digest())
	ctx, cancel := context.WithCancelCause(t.Context())
	gone := errors.New("gone")
	cancel(gone)
	require.ErrorIs(t, s.Finish(ctx, nil), gone)
	require.NoError(t, s.Close())

	second := filepath.Join(dir, "run-000002")
	content, err := os.ReadFile(second)
	require.NoError(t, err)
	for i := range content {
		content[i] ^= 1
		require.NoError(t, os.WriteFile(second, content, 0o600))
		content[i] ^= 1
		s, err := open(dir, "pairs", 1)
		require.NoError(t, err)
		require.ErrorContains(t, s.Finish(t.Context(), nil), "run-000002 is not as it was written, at byte 0", "byte %d", i)
		require.NoError(t, s.Close())
	}
	require.NoError(t, os.WriteFile(second, content, 0o600))
	s, err = open(dir, "pairs", 1)
	require.NoError(t, err)
	require.NoError(t, s.Finish(t.Context(), nil))
	var got string
	require.NoError(t, s.Read(0, func(item []byte, _ int64) bool { got += string(item[2:]); return true }))
	assert.Equal(t, "213", got)
	require.NoError(t, s.Close())
	left, err := filepath.Glob(filepath.Join(dir, "run-*"))
	require.NoError(t, err)
	assert.Len(t, left, 1, "the runs that were merged are removed")

	require.NoError(t, os.Truncate(left[0], 0))
	require.ErrorContains(t, s.Read(0, func([]byte, int64) bool { return true }), "is not as it was written, at byte 0", "a file that has become shorter")
}

// A run is full when its items, with 16 bytes for each in addition to its own, fill the memory. An item may be its
// key alone. Equal items have an equal digest.
func TestRuns(t *testing.T) {
	t.Parallel()
	digests := map[string]bool{}
	for _, texts := range [][]string{{"", ""}, {"", "a"}, {"", "a"}, nil} {
		s, err := open(t.TempDir(), "pairs", 2*(16+2))
		require.NoError(t, err)
		assert.Empty(t, s.Digest())
		for i, text := range texts {
			assert.False(t, s.IsFull(), i)
			require.NoError(t, s.Add(func(room []byte) ([]byte, error) { return append(append(room, "aa"...), text...), nil }))
		}
		assert.Equal(t, len(texts) == 2, s.IsFull())
		require.NoError(t, s.Finish(t.Context(), nil))
		n := 0
		require.NoError(t, s.Read(0, func([]byte, int64) bool { n++; return true }))
		assert.Len(t, texts, n)
		digests[s.Digest()] = true
		require.NoError(t, s.Close())
	}
	assert.Len(t, digests, 3)
}
