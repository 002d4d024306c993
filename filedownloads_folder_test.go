package hogapi

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/durable"
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
