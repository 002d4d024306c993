package hogbeam_test

import (
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/beam"
)

// Lanes that do not fit their memory sort on disk, and nothing else changes.
func TestLanesSortOnDisk(t *testing.T) {
	const events = 12_000
	server := newServer(t)
	o := optionsFor(t, server)
	o.Sort.Memory = 1 << 20
	_, receipt := must(t, o, fromFiles(writeEvents(t, events, 2)))
	assert.EqualValues(t, events, receipt.Acknowledged)
	assert.Equal(t, events, server.Ledger().Unique())
	assert.Zero(t, server.Ledger().Inversions(byTime(server)))
	left, err := os.ReadDir(o.Sort.Folder)
	require.NoError(t, err)
	assert.Empty(t, left)
}

func TestPlainAndGzipFilesInFolders(t *testing.T) {
	folder := t.TempDir()
	line := `{"event":"a","distinct_id":"ann","timestamp":"2024-05-01T12:30:00Z"}` + "\n"
	for _, day := range []string{"2024-05-01", "2024-05-02"} {
		require.NoError(t, os.Mkdir(filepath.Join(folder, day), 0o700))
		f, err := os.Create(filepath.Join(folder, day, "events.jsonl.gz"))
		require.NoError(t, err)
		z := gzip.NewWriter(f)
		_, err = z.Write([]byte(line + line))
		require.NoError(t, err)
		require.NoError(t, z.Close())
		require.NoError(t, f.Close())
	}
	server := newServer(t)
	_, receipt := must(t, optionsFor(t, server), fromFiles(folder+"/*/events.jsonl.gz"))
	assert.EqualValues(t, 4, receipt.Acknowledged)
	id := hogapi.Position{Key: "2024-05-02/events.jsonl.gz", Offset: int64(2 * len(line))}.UUID("shop")
	assert.Len(t, server.Ledger().Find(id), 1)

	text := failure(t, optionsFor(t, server), folder+"/2024-05-01/*", folder+"/2024-05-02/*")
	assert.Contains(t, text, `both have the name "events.jsonl.gz"`)
}

func TestFilesThatCannotBeRead(t *testing.T) {
	server := newServer(t)
	cases := map[string]struct {
		globs []string
		want  string
	}{
		"no match":   {[]string{filepath.Join(t.TempDir(), "*.jsonl")}, "no file matches"},
		"no text":    {[]string{writeFile(t, "a.zip", "PK\x03\x04\x14\x00\x00")}, "it looks like application/zip"},
		"empty gzip": {[]string{writeFile(t, "a.jsonl.gz", "")}, "an empty gzip file is not"},
		"cut gzip":   {[]string{writeFile(t, "a.jsonl.gz", "\x1f\x8b\x08\x00")}, "cut off or damaged"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			assert.Contains(t, failure(t, optionsFor(t, server), c.globs...), c.want)
		})
	}
	assert.Empty(t, server.Calls())
}

// A lane above its cap ends the job before the lane is sent.
func TestALaneAboveItsCapEndsTheJob(t *testing.T) {
	server := newServer(t)
	o := optionsFor(t, server)
	o.Sort.MaxBytes = 10_000
	text := failure(t, o, writeEvents(t, 5000, 1))
	assert.Contains(t, text, (&hogbeam.LaneTooLargeError{MaxBytes: 10_000}).Error()[len("hogbeam: lane 0 "):])
	assert.Empty(t, server.Calls())
}
