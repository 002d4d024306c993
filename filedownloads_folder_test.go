package hogapi

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/durable/simdisk"
)

// downloads is a service with a completed file download of two files, and their storage.
func downloads(files step) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		switch {
		case r.URL.Host != "us.posthog.com":
			return files(r)
		case strings.Contains(r.URL.Path, "/download/"):
			return answer(r, 302, "", "Location", testLocation), nil
		}
		return answer(r, 200, fmt.Sprintf(`{"status":"Completed","files":["%s","%s"],"records_completed":2}`, fileA, fileB)), nil
	}
}

func TestDownloadAllWritesWholeFiles(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "b")
	steps := newScript(cutAt(7, file, nil), fails(&os.PathError{Op: "x"}))
	client := newFakeClient(t, downloads(steps.RoundTrip), WithRetryPolicy(RetryPolicy{MaxTries: 1}))
	o := &FolderOptions{Extension: ".jsonl.gz"}
	paths, err := client.FileDownloads.DownloadAll(t.Context(), downloadA, folder, o)
	var failed *DownloadError
	require.ErrorAs(t, err, &failed)
	assert.Empty(t, paths)
	one, other := filepath.Join(folder, fileA.String()+".jsonl.gz"), filepath.Join(folder, fileB.String()+".jsonl.gz")
	assert.Equal(t, []string{one + ".part", one + ".part.size"}, filesIn(t, folder), "nothing looks whole")

	s := &storage{steps: []step{file}}
	client = newFakeClient(t, downloads(s.RoundTrip))
	paths, err = client.FileDownloads.DownloadAll(t.Context(), downloadA, folder, o)
	require.NoError(t, err)
	assert.Equal(t, []string{one, other}, paths)
	assert.Equal(t, []string{"bytes=7-", ""}, s.ranges, "what was there is kept")
	assert.Equal(t, paths, filesIn(t, folder))
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, testContent, string(content))
	}
	paths, err = client.FileDownloads.DownloadAll(t.Context(), downloadA, folder, o)
	require.NoError(t, err)
	assert.Equal(t, []string{one, other}, paths)
	assert.Len(t, s.ranges, 2, "what is whole is not downloaded again")
}

// A storage may mark a file that is stored as gzip. A Parquet file that comes as gzip was packed on its way.
func TestDownloadAllOfFilesMarkedAsGzip(t *testing.T) {
	for extension, isGood := range map[string]bool{".jsonl.gz": true, "": true, ".parquet": false, ".jsonl": false} {
		s := &storage{steps: []step{answers(200, testContent, "Content-Encoding", "gzip")}}
		client := newFakeClient(t, downloads(s.RoundTrip), WithRetryPolicy(RetryPolicy{MaxTries: 1}))
		folder := t.TempDir()
		paths, err := client.FileDownloads.DownloadAll(t.Context(), downloadA, folder, &FolderOptions{Extension: extension})
		if isGood {
			require.NoError(t, err)
			assert.Len(t, paths, 2)
			continue
		}
		require.ErrorContains(t, err, "another encoding")
		assert.Empty(t, paths)
	}
}

func filesIn(t *testing.T, folder string) (paths []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		paths = append(paths, filepath.Join(folder, e.Name()))
	}
	return paths
}

func TestDownloadAllTrustsNoPartThatItDoesNotKnow(t *testing.T) {
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
			for ending, content := range files {
				require.NoError(t, os.WriteFile(filepath.Join(folder, fileA.String()+ending), []byte(content), 0o600))
			}
			paths, err := newFakeClient(t, downloads(file)).FileDownloads.DownloadAll(t.Context(), downloadA, folder, nil)
			require.NoError(t, err)
			content, err := os.ReadFile(paths[0])
			require.NoError(t, err)
			assert.Equal(t, testContent, string(content))
			assert.Equal(t, paths, filesIn(t, folder))
		})
	}
}

// Each call begins a changed file again, once; what a call leaves is of one version.
func TestDownloadAllMixesNoVersions(t *testing.T) {
	folder := t.TempDir()
	all := func(steps ...step) ([]string, *storage, error) {
		s := &storage{steps: steps}
		client := newFakeClient(t, downloads(s.RoundTrip), WithRetryPolicy(RetryPolicy{MaxTries: 1}))
		paths, err := client.FileDownloads.DownloadAll(t.Context(), downloadA, folder, nil)
		return paths, s, err
	}
	_, _, err := all(cutAt(7, file, nil), fails(errCut))
	require.Error(t, err)
	one, two := fileOf(`"1"`, strings.Repeat("B", 20)), fileOf(`"2"`, strings.Repeat("C", 20))
	_, s, err := all(two, cutAt(3, two, nil), fails(errCut))
	require.Error(t, err)
	assert.Equal(t, []string{"bytes=7-", ""}, s.ranges[:2])
	_, s, err = all(cutAt(5, one, nil), cutAt(4, one, nil), two)
	require.Error(t, err)
	assert.Equal(t, []string{"bytes=3-", ""}, s.ranges[:2])
	paths, _, err := all(two, two, two)
	require.NoError(t, err)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, strings.Repeat("C", 20), string(content))
	}
}

func TestDownloadAllGivesUpOnAFileThatAlwaysChanges(t *testing.T) {
	folder, n := t.TempDir(), 0
	changes := func(r *http.Request) (*http.Response, error) {
		n++
		return cutAt(3, fileOf(fmt.Sprintf("%q", fmt.Sprint(n)), testContent), nil)(r)
	}
	_, err := newFakeClient(t, downloads(changes)).FileDownloads.DownloadAll(t.Context(), downloadA, folder, nil)
	require.ErrorIs(t, err, ErrFileChanged)
	assert.Equal(t, 4, n, "two tries, each of which saw two versions")
	assert.Equal(t, []string{filepath.Join(folder, fileA.String()+".part")}, filesIn(t, folder), "with no size: it is not continued")
}

func TestDownloadAllNeedsACompletedDownload(t *testing.T) {
	all := func(body string) ([]string, error) {
		client := newFakeClient(t, newScript(answers(200, body)))
		return client.FileDownloads.DownloadAll(t.Context(), downloadA, t.TempDir(), nil)
	}
	_, err := all(`{"status":"Running"}`)
	require.ErrorContains(t, err, "is still Running: wait until it is over")
	_, err = all(`{"status":"Failed","error":"broken"}`)
	require.ErrorIs(t, err, ErrRunFailed)
	require.ErrorContains(t, err, "broken")
	_, err = all(`{"status":"Dreaming"}`)
	var run *RunError
	require.ErrorAs(t, err, &run)
	paths, err := all(`{"status":"Completed","files":[],"records_completed":0}`)
	require.NoError(t, err)
	assert.Empty(t, paths)
	_, err = all(`{"status":"Completed","files":[],"records_completed":3}`)
	require.ErrorContains(t, err, "has 3 records and lists no files")
}

func TestDownloadAllHasOneOwner(t *testing.T) {
	folder := t.TempDir()
	lock, err := durable.OS{}.Lock(filepath.Join(folder, downloadA.String()+".lock"))
	require.NoError(t, err)
	_, err = newFakeClient(t, downloads(file)).FileDownloads.DownloadAll(t.Context(), downloadA, folder, nil)
	require.ErrorIs(t, err, ErrHeld)
	require.NoError(t, lock.Close())
}

// Whenever the machine crashes, or the disk fails: a file under its own name is whole, and calls that follow complete the rest.
func TestDownloadAllSurvivesCrashes(t *testing.T) {
	for seed := range uint64(longer(300, 20_000)) {
		if err := crashDownloads(t, seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func crashDownloads(t *testing.T, seed uint64) error {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 7))
	disk := new(simdisk.Disk)
	for round := range 6 {
		last := round == 5
		files := step(file)
		if random.IntN(2) == 0 && !last {
			files = cutAt(random.IntN(20), file, nil)
		}
		if !last {
			disk.CrashAt(1 + random.IntN(30))
		}
		client := newFakeClient(t, downloads(files), WithRetryPolicy(RetryPolicy{MaxTries: 1}))
		d := folderDownload{client.FileDownloads, disk, int64(1 + random.IntN(8))}
		_, err := d.run(t.Context(), downloadA, "folder", FolderOptions{}, nil)
		if last && err != nil {
			return err
		}
		if random.IntN(3) == 0 {
			disk = disk.Killed()
		} else {
			disk = disk.Crashed(random.Uint64())
		}
		for _, id := range []string{fileA.String(), fileB.String()} {
			content, readErr := durable.Read(disk, filepath.Join("folder", id))
			if missing := errors.Is(readErr, os.ErrNotExist); !missing && string(content) != testContent || last && missing {
				return fmt.Errorf("round %d: file %s holds %q (%w)", round, id, content, readErr)
			}
		}
	}
	return nil
}
