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

// A file that an earlier call, an earlier version or somebody else left under a part's name is downloaded again, and
// never used.
func TestAPartIsBegunAgain(t *testing.T) {
	for name, size := range map[string]string{"a part": "", "and its journal": `{"synced":7,"size":20,"etag":"\"1\""}`} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			part := filepath.Join(folder, "a.part")
			require.NoError(t, os.WriteFile(part, []byte("longer than the file, and garbage"), 0o600))
			if size != "" {
				require.NoError(t, os.WriteFile(part+".size", []byte(size), 0o600))
			}
			paths, s, err := fill(t, folder, file)
			require.NoError(t, err)
			assert.Equal(t, []string{"", ""}, s.ranges)
			got, err := os.ReadFile(paths[0])
			require.NoError(t, err)
			assert.Equal(t, content, string(got))
			assert.Equal(t, paths, filesIn(t, folder))
		})
	}
}

// A file that is cut off resumes within a call, of one version only; a changed file is begun again once.
func TestAFolderMixesNoVersions(t *testing.T) {
	folder := t.TempDir()
	f := Folder{FS: durable.OS{}, Path: folder, Owner: "owner"}
	one, two := fileOf(`"1"`, strings.Repeat("B", 20)), fileOf(`"2"`, strings.Repeat("C", 20))
	s := &storage{steps: []step{cutAt(7, one, io.EOF), two, two}}
	paths, err := f.Fill(t.Context(), []Item{{"a", s.config(3)}})
	require.NoError(t, err)
	assert.Equal(t, []string{"", "bytes=7-", ""}, s.ranges)
	got, err := os.ReadFile(paths[0])
	require.NoError(t, err)
	assert.Equal(t, strings.Repeat("C", 20), string(got))

	s = &storage{steps: []step{cutAt(7, one, io.EOF), two, cutAt(7, two, io.EOF), one}}
	_, err = f.Fill(t.Context(), []Item{{"b", s.config(3)}})
	require.ErrorIs(t, err, errChanged)
	assert.NoFileExists(t, filepath.Join(folder, "b"))
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
		f := Folder{FS: disk, Path: "folder", Owner: "owner"}
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
