package s3files_test

import (
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The standard library's own test of a file system.
func TestFileSystem(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	s.put("exports/a.txt", text(1000))
	s.put("exports/empty.txt", nil)
	s.put("exports/2024/01.txt", text(3000))
	s.put("exports/2024/deep/02.txt", text(20))
	s.put("exports/2024/", nil) // the mark of a folder
	s.put("exports2/other.txt", nil)
	require.NoError(t, fstest.TestFS(s.files("exports"), "a.txt", "empty.txt", "2024/01.txt", "2024/deep/02.txt"))
	require.NoError(t, fstest.TestFS(s.files("exports/2024/"), "01.txt", "deep/02.txt"))

	files := s.files("")
	for pattern, want := range map[string][]string{
		"exports/*":         {"exports/2024", "exports/a.txt", "exports/empty.txt"},
		"exports/*/*":       {"exports/2024/01.txt", "exports/2024/deep"},
		"exports/2024/*":    {"exports/2024/01.txt", "exports/2024/deep"},
		"exports/*/*.txt":   {"exports/2024/01.txt"},
		"*/2024/*/0[1-3].*": {"exports/2024/deep/02.txt"},
		"exports/a.txt":     {"exports/a.txt"},
		"none*":             nil,
	} {
		got, err := files.Glob(pattern)
		require.NoError(t, err)
		assert.Equal(t, want, got, pattern)
	}
	_, err := files.Glob("[")
	require.Error(t, err)
}

// Any part of an object can be read, in any order, and reading on takes few requests.
func TestRanges(t *testing.T) {
	t.Parallel()
	s, content := newStorage(t), text(6<<20)
	s.put("big", content)
	file, err := s.files("").Open("big")
	require.NoError(t, err)
	got, err := io.ReadAll(file)
	require.NoError(t, err)
	require.Equal(t, content, got)
	asked := s.asked()
	assert.Equal(t, []string{"bytes=0-262143", "bytes=262144-786431", "bytes=786432-1835007"}, asked[:3])
	assert.LessOrEqual(t, len(asked), 7)

	dice := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		at, n := dice.IntN(len(content)), dice.IntN(1<<19)
		part := make([]byte, n)
		read, err := file.(io.ReaderAt).ReadAt(part, int64(at))
		if at+n > len(content) {
			require.ErrorIs(t, err, io.EOF)
		} else {
			require.NoError(t, err)
		}
		require.Equal(t, content[at:min(at+n, len(content))], part[:read])
	}
	require.NoError(t, file.Close())
	_, err = file.Read(make([]byte, 1))
	require.ErrorIs(t, err, fs.ErrClosed)
}

// Lists of more than a page are whole, and a listed object needs no further request.
func TestThousandsOfKeys(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	const n = 2500
	for i := range n {
		s.put(fmt.Sprintf("year/%04d.json", i), []byte("{}"))
	}
	files := s.files("year")
	names, err := files.Glob("*.json")
	require.NoError(t, err)
	require.Len(t, names, n)
	var requests atomic.Int64
	s.setFault(func(http.ResponseWriter, *http.Request) bool { requests.Add(1); return false })
	for _, name := range names {
		info, err := files.Stat(name)
		require.NoError(t, err)
		require.EqualValues(t, 2, info.Size())
	}
	assert.Zero(t, requests.Load())
	entries, err := files.ReadDir(".")
	require.NoError(t, err)
	assert.Len(t, entries, n)
	assert.EqualValues(t, 3, requests.Load())
}

// A list that says that there is more, and not where, is no list.
func TestAListWithoutAnEnd(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	token := ""
	s.setFault(func(w http.ResponseWriter, _ *http.Request) bool {
		_, _ = io.WriteString(w, `<ListBucketResult><IsTruncated>true</IsTruncated>`+token+`<Contents><Key>a</Key><Size>1</Size><ETag>"x"</ETag></Contents></ListBucketResult>`)
		return true
	})
	_, err := s.files("").Glob("*")
	require.ErrorContains(t, err, "there are more keys")
	token = "<NextContinuationToken>same</NextContinuationToken>"
	_, err = s.files("").Glob("*")
	require.ErrorContains(t, err, "there are more keys")
}

// A key that cannot be a file's name is not left out silently.
func TestKeysThatAreNoNames(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	for list, pattern := range map[string]string{
		`<Contents><Key>2024//a.json</Key><Size>1</Size><ETag>"x"</ETag></Contents>`:      "2024/*/*.json",
		`<Contents><Key>2024/./a.json</Key><Size>1</Size><ETag>"x"</ETag></Contents>`:     "2024/?/*",
		`<Contents><Key>2024/a/b/</Key><Size>1</Size><ETag>"x"</ETag></Contents>`:         "2024/*/*/*",
		`<CommonPrefixes><Prefix>2024//</Prefix></CommonPrefixes>`:                        "2024/*",
		`<Contents><Key>2024//b/a.json</Key><Size>1</Size><ETag>"x"</ETag></Contents>`:    "*/*",
		`<Contents><Key>2024/../b/a.json</Key><Size>1</Size><ETag>"x"</ETag></Contents> `: "*/*",
	} {
		s.setFault(func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = io.WriteString(w, "<ListBucketResult>"+list+"</ListBucketResult>")
			return true
		})
		_, err := s.files("").Glob(pattern)
		require.ErrorContains(t, err, "copy it to another key", list)
		_, err = s.files("").ReadDir("2024")
		require.ErrorContains(t, err, "copy it to another key", list)
	}
	s.setFault(nil)
	s.put("/2024/a_manifest.json", []byte("{}"))
	got, err := s.files("2024").ReadKey("/2024/a_manifest.json")
	require.NoError(t, err)
	assert.Equal(t, "{}", string(got))
	_, err = s.files("2024").ReadKey("2024/a_manifest.json")
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// A large object takes as much memory as a small one. No other test runs at the same time.
func TestMemory(t *testing.T) {
	s := newStorage(t)
	const size = 256 << 20
	block := text(4 << 20)
	var most atomic.Uint64
	s.setFault(func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("ETag", `"large"`)
		w.Header().Set("Last-Modified", time.Unix(0, 0).UTC().Format(http.TimeFormat))
		begin, end := 0, size-1
		if of, ok := strings.CutPrefix(r.Header.Get("Range"), "bytes="); ok {
			from, to, _ := strings.Cut(of, "-")
			begin, _ = strconv.Atoi(from)
			end, _ = strconv.Atoi(to)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", begin, end, size))
		}
		w.Header().Set("Content-Length", strconv.Itoa(end-begin+1))
		if r.Method == http.MethodHead {
			return true
		}
		w.WriteHeader(http.StatusPartialContent)
		_, _ = w.Write(block[:end-begin+1])
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		most.Store(max(most.Load(), now.HeapAlloc))
		return true
	})
	file, err := s.files("").Open("large")
	require.NoError(t, err)
	n, err := io.Copy(io.Discard, struct{ io.Reader }{file})
	require.NoError(t, err)
	require.EqualValues(t, size, n)
	assert.Less(t, most.Load(), uint64(48<<20))
	t.Logf("%d MiB of heap at most", most.Load()>>20)
}

// A folder that is empty can be read, one that is not there cannot. All entries are given for a number that
// is not positive.
func TestEmptyFolders(t *testing.T) {
	t.Parallel()
	s := newStorage(t)
	files := s.files("")
	entries, err := files.ReadDir(".")
	require.NoError(t, err)
	assert.Empty(t, entries)
	_, err = files.ReadDir("none")
	require.ErrorIs(t, err, fs.ErrNotExist)
	s.put("empty/", nil)
	entries, err = files.ReadDir("empty")
	require.NoError(t, err)
	assert.Empty(t, entries)

	s.put("some/a", nil)
	s.put("some/b", nil)
	folder, err := files.Open("some")
	require.NoError(t, err)
	for _, want := range []int{2, 0} { // the second time nothing is left
		entries, err := folder.(fs.ReadDirFile).ReadDir(0)
		require.NoError(t, err)
		assert.Len(t, entries, want)
	}
	_, err = folder.(fs.ReadDirFile).ReadDir(1)
	require.ErrorIs(t, err, io.EOF)
	require.NoError(t, folder.Close())
}
