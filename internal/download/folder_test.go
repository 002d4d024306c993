package download

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/durable/simdisk"
)

// fill downloads the files a and b into a folder, with one try for each.
func fill(t *testing.T, folder string, steps ...step) ([]string, *storage, error) {
	t.Helper()
	s := &storage{steps: steps}
	paths, err := Folder{FS: durable.OS{}, Path: folder, Owner: "owner"}.Fill(t.Context(), items(s))
	return paths, s, err
}

func items(s *storage) []Item { return []Item{{"a", s.config(1)}, {"b", s.config(1)}} }

func filesIn(t *testing.T, folder string) (paths []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		paths = append(paths, filepath.Join(folder, e.Name()))
	}
	return paths
}

func TestAFolderTrustsNoPartThatItDoesNotKnow(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"no size":            {".part": "garbage"},
		"a size that is bad": {".part": "garbage", ".part.size": "x"},
		"too short":          {".part": "012", ".part.size": "7"},
		"of an unknown file": {".part": "0123garbage", ".part.size": "4"},
		"longer than synced": {".part": "0123garbage", ".part.size": `{"synced":4,"size":20,"etag":"\"1\""}`},
		"longer than whole":  {".part": "0123garbage", ".part.size": `{"synced":4,"size":3,"etag":"\"1\""}`},
		"of another version": {".part": "garbage", ".part.size": `{"synced":7,"size":20,"etag":"\"0\""}`},
		"of another size":    {".part": "garbage", ".part.size": `{"synced":7,"size":19,"etag":"\"1\""}`},
		"of a larger one":    {".part": "0123456789abcdefghijXYZ", ".part.size": `{"synced":23,"size":30}`},
		"a negative count":   {".part": "garbage", ".part.size": `{"synced":-7,"size":20}`},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			for ending, text := range files {
				require.NoError(t, os.WriteFile(filepath.Join(folder, "a"+ending), []byte(text), 0o600))
			}
			paths, _, err := fill(t, folder, file)
			require.NoError(t, err)
			got, err := os.ReadFile(paths[0])
			require.NoError(t, err)
			assert.Equal(t, content, string(got))
			assert.Equal(t, paths, filesIn(t, folder))
		})
	}
}

// What a part's second file says is read by later versions: its form stays.
func TestThePartOfAFile(t *testing.T) {
	folder := t.TempDir()
	_, _, err := fill(t, folder, cutAt(7, file, errCut))
	require.Error(t, err)
	part := filepath.Join(folder, "a.part")
	assert.Equal(t, []string{part, part + ".size"}, filesIn(t, folder))
	got, err := os.ReadFile(part + ".size")
	require.NoError(t, err)
	assert.Equal(t, `{"synced":7,"size":20,"etag":"\"1\""}`, string(got))

	paths, s, err := fill(t, folder, file)
	require.NoError(t, err)
	assert.Equal(t, []string{"bytes=7-", ""}, s.ranges)
	assert.Equal(t, paths, filesIn(t, folder))
}

// Each call begins a changed file again, once; what a call leaves is of one version.
func TestAFolderMixesNoVersions(t *testing.T) {
	folder := t.TempDir()
	_, _, err := fill(t, folder, cutAt(7, file, io.EOF), fails(errCut))
	require.Error(t, err)
	one, two := fileOf(`"1"`, strings.Repeat("B", 20)), fileOf(`"2"`, strings.Repeat("C", 20))
	_, s, err := fill(t, folder, two, cutAt(3, two, io.EOF), fails(errCut))
	require.Error(t, err)
	assert.Equal(t, []string{"bytes=7-", ""}, s.ranges[:2])
	_, s, err = fill(t, folder, cutAt(5, one, io.EOF), cutAt(4, one, io.EOF), two)
	require.Error(t, err)
	assert.Equal(t, []string{"bytes=3-", ""}, s.ranges[:2])
	paths, _, err := fill(t, folder, two, two, two)
	require.NoError(t, err)
	for _, path := range paths {
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, strings.Repeat("C", 20), string(got))
	}
}

func TestAFolderHasOneOwner(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "owner.lock")
	lock, err := durable.OS{}.Lock(name)
	require.NoError(t, err)
	_, _, err = fill(t, folder, file)
	require.ErrorIs(t, err, durable.ErrLocked)
	require.ErrorContains(t, err, name)
	require.NoError(t, lock.Close())
}

// Whenever the machine crashes, or the disk fails: a file under its own name is whole, and calls
// that follow complete the rest.
func TestAFolderSurvivesCrashes(t *testing.T) {
	seeds := uint64(300)
	if level := os.Getenv("HOGAPI_TEST"); level == "nightly" || level == "deep" {
		seeds = 20_000
	}
	for seed := range seeds {
		if err := crash(t, seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func crash(t *testing.T, seed uint64) error {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 7))
	disk := new(simdisk.Disk)
	for round := range 6 {
		last := round == 5
		files := file
		if random.IntN(2) == 0 && !last {
			files = cutAt(random.IntN(20), file, io.EOF)
		}
		if !last {
			disk.CrashAt(1 + random.IntN(30))
		}
		f := Folder{FS: disk, Path: "folder", Owner: "owner", SyncEvery: int64(1 + random.IntN(8))}
		_, err := f.Fill(t.Context(), items(&storage{steps: []step{files}}))
		if last && err != nil {
			return err
		}
		if random.IntN(3) == 0 {
			disk = disk.Killed()
		} else {
			disk = disk.Crashed(random.Uint64())
		}
		for _, name := range []string{"a", "b"} {
			got, readErr := durable.Read(disk, filepath.Join("folder", name))
			if missing := errors.Is(readErr, os.ErrNotExist); !missing && string(got) != content || last && missing {
				return fmt.Errorf("round %d: file %s holds %q (%w)", round, name, got, readErr)
			}
		}
	}
	return nil
}
