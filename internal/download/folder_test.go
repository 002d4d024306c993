package download

import (
	"cmp"
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

// fill downloads the files a and b into a folder, with one try each.
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

// A part that a download has begun, with or without bytes that are surely on disk, is completed.
func TestAFolderTrustsNoBytesThatItDoesNotKnow(t *testing.T) {
	type left struct {
		part, size string
		requests   int // 3 if the storage shows that the file has changed
	}
	for name, c := range map[string]left{
		"nothing":            {"", "", 2},
		"nothing synced":     {"garbage", `{"synced":0,"size":0,"etag":""}`, 2},
		"lost by a crash":    {"", `{"synced":7,"size":20,"etag":"\"1\""}`, 2},
		"longer than synced": {"0123garbage", `{"synced":4,"size":20,"etag":"\"1\""}`, 2},
		"of another version": {"garbage", `{"synced":7,"size":20,"etag":"\"0\""}`, 3},
		"of another size":    {"garbage", `{"synced":7,"size":19,"etag":"\"1\""}`, 3},
		"of unknown size":    {"0123garbage", `{"synced":4,"size":-1,"etag":"\"1\""}`, 2},
		"of a larger one":    {"0123456789abcdefghijXYZ", `{"synced":23,"size":30,"etag":""}`, 3},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			part := filepath.Join(folder, "a.part")
			require.NoError(t, os.WriteFile(part, []byte(c.part), 0o600))
			if c.size != "" {
				require.NoError(t, os.WriteFile(part+".size", []byte(c.size), 0o600))
			}
			paths, s, err := fill(t, folder, file)
			require.NoError(t, err)
			assert.Len(t, s.ranges, c.requests)
			got, err := os.ReadFile(paths[0])
			require.NoError(t, err)
			assert.Equal(t, content, string(got))
			assert.Equal(t, paths, filesIn(t, folder))
		})
	}
}

// A file with the name of a part is emptied or continued only if it is surely the part of a download.
func TestAFolderLeavesForeignPartsAlone(t *testing.T) {
	for name, c := range map[string]struct{ part, size, named string }{
		"no size":            {"precious", "", ".part"},
		"a size that is bad": {"precious", "x", ".part.size"},
		"only a size":        {"", "precious", ".part.size"},
		"a number":           {"0123", "4", ".part.size"},
		"another form":       {"0123", `{"synced":4}`, ".part.size"},
		"more than the form": {"0123", `{"synced":4,"size":20,"etag":"","mine":1}`, ".part.size"},
		"longer than whole":  {"0123", `{"synced":4,"size":3,"etag":"\"1\""}`, ".part.size"},
		"a negative count":   {"precious", `{"synced":-7,"size":20,"etag":""}`, ".part.size"},
		"too short":          {"012", `{"synced":7,"size":20,"etag":"\"1\""}`, ".part"},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			left := map[string]string{filepath.Join(folder, "a.part"): c.part, filepath.Join(folder, "a.part.size"): c.size}
			for path, text := range left {
				if text != "" {
					require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
				}
			}
			paths, s, err := fill(t, folder, file)
			require.ErrorContains(t, err, filepath.Join(folder, "a"+c.named)+" is in the way: no download has left it as it is; move it away")
			assert.Empty(t, paths)
			assert.Empty(t, s.ranges)
			for path, text := range left {
				if text != "" {
					got, err := os.ReadFile(path)
					require.NoError(t, err)
					assert.Equal(t, text, string(got))
				}
			}
		})
	}
}

// Before a part is emptied, its second file durably says that no byte of the part is known.
func TestAPartIsForgottenDurably(t *testing.T) {
	disk := new(simdisk.Disk)
	p, err := openPart(disk, "folder/a", 1, &durable.Room{Folder: "folder"})
	require.NoError(t, err)
	p.transfer = &transfer{Progress: Progress{Size: 20, ETag: "one"}}
	_, err = p.Write([]byte("0123"))
	require.NoError(t, err)
	require.Contains(t, string(disk.Content("folder/a.part.size")), `"synced":4`)
	require.NoError(t, p.forget())
	for seed := range uint64(20) {
		require.JSONEq(t, `{"synced":0,"size":0,"etag":""}`, string(disk.Crashed(seed).Content("folder/a.part.size")), seed)
	}
}

// A call stops at its limit, and the next one continues.
func TestAFolderIsBounded(t *testing.T) {
	folder := t.TempDir()
	f := Folder{FS: durable.OS{}, Path: folder, Owner: "owner", MaxBytes: 25}
	paths, err := f.Fill(t.Context(), items(&storage{steps: []step{file}}))
	require.ErrorContains(t, err, "more than the limit of 25 bytes")
	require.Len(t, paths, 1)
	paths, err = f.Fill(t.Context(), items(&storage{steps: []step{file}}))
	require.NoError(t, err)
	require.Len(t, paths, 2)
}

// Later versions read a part's second file, so its form stays.
func TestThePartOfAFile(t *testing.T) {
	folder := t.TempDir()
	_, _, err := fill(t, folder, cutAt(7, file, errCut))
	require.Error(t, err)
	part := filepath.Join(folder, "a.part")
	assert.Equal(t, []string{part, part + ".size"}, filesIn(t, folder))
	got, err := os.ReadFile(part + ".size")
	require.NoError(t, err)
	assert.Equal(t, `{"synced":7,"size":20,"etag":"\"1\""}`, string(got))

	two := fileOf(`"2"`, content)
	_, _, err = fill(t, folder, two, cutAt(7, two, errCut))
	require.Error(t, err)
	got, err = os.ReadFile(part + ".size")
	require.NoError(t, err)
	assert.Equal(t, `{"synced":7,"size":20,"etag":"\"2\""}`, string(got), "as much of another version")

	paths, s, err := fill(t, folder, two)
	require.NoError(t, err)
	assert.Equal(t, []string{"bytes=7-", ""}, s.ranges)
	assert.Equal(t, paths, filesIn(t, folder))
}

// A file may be stored as gzip unless its name says otherwise.
func TestAFolderOfFilesMarkedAsGzip(t *testing.T) {
	for name, isGood := range map[string]bool{"a.jsonl.gz": true, "a": true, "a.parquet": false, "a.jsonl": false} {
		s := &storage{steps: []step{answers(200, content, "Content-Encoding", "gzip")}}
		f := Folder{FS: new(simdisk.Disk), Path: "folder", Owner: "owner"}
		_, err := f.Fill(t.Context(), []Item{{name, s.config(1)}})
		if isGood {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "another encoding")
		}
	}
}

// Each call restarts a changed file once; the part that a call leaves is of one version.
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

// After a crash or a disk failure at any time, a file under its own name is whole, and later calls
// complete the rest.
func TestAFolderSurvivesCrashes(t *testing.T) {
	for seed := range cmp.Or(map[string]uint64{"nightly": 3000, "deep": 20_000}[os.Getenv("HOGAPI_TEST")], 500) {
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
