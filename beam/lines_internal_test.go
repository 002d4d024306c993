package hogbeam

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// hostileText has lines of every kind.
func hostileText() string {
	good := func(i int) string {
		return fmt.Sprintf(`{"event":"a","distinct_id":"p%d","timestamp":"2024-05-01T12:30:00Z","properties":{"n":%d}}`, i, i)
	}
	return "\xef\xbb\xbf" + good(0) + "\r\n\n  \n" + good(1) + "\nno JSON\n" + good(2) + "\n" +
		`{"uuid":"498f1d9c-6b1e-4c37-9d2e-0a5b7c1d2e3f","event":7}` + "\n" +
		`{"uuid":"0190f5f4-35a0-7c3e-8d3f-7d8f2a1b6c01","event":"` + strings.Repeat("x", longestLine) + "\"}\n" + good(3) + "\n\r\n\r\r\n" + good(4)
}

func readRange(t *testing.T, in file, from, to int64) (events []Event) {
	t.Helper()
	require.NoError(t, readLines(t.Context(), in, from, func(at int64) bool { return at < to }, func(ev Event) { events = append(events, ev) }))
	return events
}

// The events and positions are those that the core reads.
func TestLinesAreTheCores(t *testing.T) {
	text := hostileText()
	for _, name := range []string{"a.jsonl", "a.jsonl.gz"} {
		content := []byte(text)
		if strings.HasSuffix(name, ".gz") {
			var b bytes.Buffer
			z := gzip.NewWriter(&b)
			_, _ = z.Write(content)
			require.NoError(t, z.Close())
			content = b.Bytes()
		}
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, content, 0o600))
		got := readRange(t, file{MatchedFile: MatchedFile{Path: path, Name: name}, Size: int64(len(content)), Gzip: strings.HasSuffix(name, ".gz")}, 0, 1<<40)
		i := 0
		for want, err := range hogapi.JSONLinesFile(path).Events(t.Context(), hogapi.Position{}) {
			require.NoError(t, err)
			require.Less(t, i, len(got))
			assert.Equal(t, want.Position, got[i].Position)
			assert.Equal(t, want.UUID, got[i].UUID)
			assert.Equal(t, want.DistinctID, got[i].DistinctID)
			assert.Equal(t, string(want.RawProperties), string(got[i].Properties))
			assert.Equal(t, want.Name == "", got[i].Bad != "")
			i++
		}
		assert.Len(t, got, i)
		assert.Equal(t, 8, i)
	}
}

// Wherever a file is divided, each line is read once, by one part.
func TestPartsOfAFileAreTheWhole(t *testing.T) {
	text := strings.Repeat(`{"event":"a","distinct_id":"p","timestamp":"2024-05-01T12:30:00Z"}`+"\n\nx\n", 8)
	path := filepath.Join(t.TempDir(), "a.jsonl")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	in := file{MatchedFile: MatchedFile{Path: path, Name: "a.jsonl"}, Size: int64(len(text))}
	whole := readRange(t, in, 0, in.Size)
	require.Len(t, whole, 16)
	for at := int64(1); at < in.Size; at++ {
		require.Equal(t, whole, append(readRange(t, in, 0, at), readRange(t, in, at, in.Size)...), "divided at %d", at)
	}
	dice := rand.New(rand.NewPCG(1, 1))
	var parts []Event
	for from := int64(0); from < in.Size; {
		to := min(in.Size, from+1+dice.Int64N(90))
		parts = append(parts, readRange(t, in, from, to)...)
		from = to
	}
	assert.Equal(t, whole, parts)
}

func TestAFileThatBecameShorterIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	require.NoError(t, os.WriteFile(path, []byte("{}\n"), 0o600))
	for _, from := range []int64{0, 2, 3, 50} {
		err := readLines(t.Context(), file{MatchedFile: MatchedFile{Path: path}, Size: 100}, from, func(at int64) bool { return at < 100 }, func(Event) {})
		require.ErrorContains(t, err, "shorter than the 100 bytes", "from %d", from)
	}
}

// What is behind the end that a file had would be in no range.
func TestAFileThatBecameLongerIsAnError(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	read := func(text string, size, from int64) error {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return readLines(t.Context(), file{MatchedFile: MatchedFile{Path: path}, Size: size}, from, func(at int64) bool { return at < size }, func(Event) {})
	}
	for _, from := range []int64{0, 1, 2} {
		require.NoError(t, read("{}\n{}\n", 6, from))
		require.NoError(t, read("{}\n{}", 5, from))
		require.NoError(t, read("{}\n{}\n", 5, from), "only the newline was missing")
		require.ErrorContains(t, read("{}\n{}\n", 3, from), "longer than the 3 bytes", "from %d", from)
		require.ErrorContains(t, read("{}\n{} {}", 5, from), "longer than the 5 bytes", "from %d", from)
	}
}

// However a folder is spelled, its files have the same names, and so their events the same uuids.
func TestNamesBelowAFolder(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	require.NoError(t, os.MkdirAll("history/2024", 0o700))
	require.NoError(t, os.WriteFile("history/2024/a.jsonl", []byte("{}\n"), 0o600))
	names := func(glob string) (names []string, err error) {
		err = (&matchFn{Globs: []string{glob}}).ProcessElement(t.Context(), nil, func(f file) { names = append(names, f.Name) })
		return names, err
	}
	for glob, want := range map[string]string{
		"history/*/a.jsonl": "2024/a.jsonl", "./history/*/a.jsonl": "2024/a.jsonl", "history//*/a.jsonl": "2024/a.jsonl",
		"./history/2024/../*/*.jsonl": "2024/a.jsonl", folder + "/history/*/*": "2024/a.jsonl", "*/2024/a.jsonl": "history/2024/a.jsonl",
		"./*/2024/a.jsonl": "history/2024/a.jsonl", "./history/2024/a.jsonl": "a.jsonl", "history/2024/a.jsonl": "a.jsonl",
	} {
		got, err := names(glob)
		require.NoError(t, err, glob)
		assert.Equal(t, []string{want}, got, glob)
	}
}

func TestFolderOf(t *testing.T) {
	for glob, want := range map[string]string{
		"a.jsonl": "", "/data/*.jsonl": "/data/", "gs://b/2024/**/x.jsonl": "gs://b/2024/", "/data/2024-0[1-3]/a": "/data/", "x*/y": "",
	} {
		assert.Equal(t, want, baseOf(glob), glob)
	}
}

func TestOnlyPlainFilesAreDivided(t *testing.T) {
	var f readFn
	large := file{Size: 200 << 20}
	parts := f.SplitRestriction(large, f.CreateInitialRestriction(large))
	require.Len(t, parts, 4)
	assert.Equal(t, float64(large.Size), parts[0].Size()+parts[1].Size()+parts[2].Size()+parts[3].Size())
	large.Gzip = true
	parts = f.SplitRestriction(large, f.CreateInitialRestriction(large))
	require.Len(t, parts, 1)
	assert.Equal(t, float64(large.Size), f.RestrictionSize(large, parts[0]))
	tracker := f.CreateTracker(parts[0])
	require.True(t, tracker.TryClaim(int64(0)))
	_, rest, err := tracker.TrySplit(0.5)
	require.NoError(t, err)
	assert.Nil(t, rest)
}
