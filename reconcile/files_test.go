package reconcile

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fileOf writes rows as an export does.
func fileOf(t *testing.T, rows []stored) []byte {
	t.Helper()
	var b bytes.Buffer
	for i, r := range rows {
		id := []string{r.id.String(), strings.ToUpper(r.id.String()), strings.ReplaceAll(r.id.String(), "-", "")}[i%3]
		at := r.at.In(time.FixedZone("", 5*3600+1800)).Format("2006-01-02T15:04:05.999999Z07:00")
		require.NoError(t, json.NewEncoder(&b).Encode(map[string]any{
			"uuid": id, "event": r.event, "distinct_id": r.who, "timestamp": at, "team_id": 1, "properties": map[string]any{"uuid": "x"},
		}))
	}
	return b.Bytes()
}

func gzipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// Files of JSON lines give the same report as the same rows in memory.
func TestFilesOfJSONLines(t *testing.T) {
	t.Parallel()
	for seed := range uint64(40) {
		w := newWorld(seed)
		o := w.options()
		w.there.most = 0
		packer, err := zstd.NewWriter(nil)
		require.NoError(t, err)
		before := w.newRow("e") // the only row of its day, and earlier than the time that is compared
		before.at = o.From.Add(-time.Hour)
		w.there.rows = append(w.there.rows, before)
		foreign := w.newRow("e")
		other := bytes.ReplaceAll(fileOf(t, []stored{foreign}), []byte(`"team_id":1`), []byte(`"team_id":2`))
		n := len(w.there.rows)
		files := fstest.MapFS{
			"a/1.jsonl":     {Data: fileOf(t, w.there.rows[:n/3])},
			"a/2.jsonl.gz":  {Data: gzipped(t, append(fileOf(t, w.there.rows[n/3:n/2]), other...))},
			"a/3.jsonl.zst": {Data: packer.EncodeAll(fileOf(t, w.there.rows[n/2:]), nil)},
			"a/other.txt":   {Data: []byte("not a row")},
		}
		reader, err := JSONLines(files, "a/*.jsonl*")
		require.NoError(t, err)
		dir := t.TempDir()
		side := Files(reader, 1, dir)
		r := compare(t, w.service, side, o)
		require.Empty(t, r.Unknown, "seed %d", seed)
		require.Equal(t, w.findings(), shown(r), "seed %d", seed)
		require.Equal(t, w.delivered, byDay(r, Delivered), "seed %d", seed)
		require.NoError(t, side.Close())
		left, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Empty(t, left)
	}
}

// Days before 1970 are days like others.
func TestFilesWithDaysBefore1970(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	midnight := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC)
	o := &Options{From: midnight.AddDate(0, 0, -3), To: midnight.AddDate(0, 0, 2), listDays: 2, listHours: 1}
	w.service.rows, w.there.rows, w.service.most = nil, nil, 0
	want := map[string]int64{}
	for at := o.From.Add(30 * time.Minute); at.Before(o.To); at = at.Add(8 * time.Hour) {
		r := stored{w.id(), "e", "ada", at, at}
		w.service.rows = append(w.service.rows, r)
		w.there.rows = append(w.there.rows, r)
		want[day(r)]++
	}
	missing := stored{w.id(), "e", "ada", midnight.Add(-time.Minute), midnight}
	w.service.rows = append(w.service.rows, missing)
	reader, err := JSONLines(fstest.MapFS{"1.jsonl": {Data: fileOf(t, w.there.rows)}}, "1.jsonl")
	require.NoError(t, err)
	side := Files(reader, 1, t.TempDir())
	r := compare(t, w.service, side, o)
	require.NoError(t, side.Close())
	assert.Empty(t, r.Unknown)
	require.Len(t, r.Findings, 1)
	assert.Equal(t, missing.id, r.Findings[0].UUID)
	assert.Equal(t, want, byDay(r, Delivered))
}

// refusing is a file system that refuses its files and lists.
type refusing struct{ fstest.MapFS }

func (refusing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
}

func (refusing) Glob(string) ([]string, error) { return nil, fs.ErrPermission }

// A file that is cut, or has a line that is not a row, makes the report say so: no row is called missing.
func TestFilesThatCannotBeRead(t *testing.T) {
	t.Parallel()
	w, o := killedWorld()
	good := fileOf(t, w.there.rows)
	for name, data := range map[string][]byte{
		"a cut line":        good[:len(good)-20],
		"a cut archive":     gzipped(t, good)[:len(good)/9],
		"another time":      bytes.Replace(good, []byte(`"timestamp":"2026`), []byte(`"timestamp":"in 2026`), 1),
		"another line":      append([]byte("uuid,event\n"), good...),
		"a uuid for a file": []byte("\x00\x01"),
		"another model":     []byte(`{"team_id":1,"distinct_id":"ada","person_id":"0190f3c0-0000-7000-8000-000000000001","created_at":"2026-11-20T00:00:00Z"}`),
	} {
		path := "rows.jsonl"
		if name == "a cut archive" {
			path += ".gz"
		}
		reader, err := JSONLines(fstest.MapFS{path: {Data: data}}, path)
		require.NoError(t, err)
		side := Files(reader, 1, t.TempDir())
		r, err := Compare(t.Context(), w.service, side, o)
		if err != nil {
			assert.ErrorContains(t, err, path, name)
			continue
		}
		assert.Equal(t, Undecided, r.Verdict, name)
		assert.Zero(t, r.Counts[Missing])
		assert.Contains(t, r.String(), path+", line ", name)
	}
	for _, path := range []string{"rows.jsonl", "*.jsonl"} {
		reader, err := JSONLines(refusing{fstest.MapFS{"rows.jsonl": {Data: good}}}, path)
		require.NoError(t, err)
		r := compare(t, w.service, Files(reader, 1, t.TempDir()), o)
		assert.Equal(t, Undecided, r.Verdict, "a permission that lacks is not a row that is missing")
		assert.Zero(t, r.Counts[Missing])
		assert.Contains(t, r.String(), "permission denied")
	}
	_, err := JSONLines(os.DirFS(t.TempDir()), "*.jsonl")
	require.ErrorContains(t, err, "*.jsonl")
	none, err := JSONLines(os.DirFS(t.TempDir()), "none.jsonl")
	require.NoError(t, err)
	_, err = Compare(t.Context(), w.service, Files(none, 1, t.TempDir()), o)
	require.ErrorContains(t, err, "none.jsonl")

	odd := append(good, []byte(`{"uuid":"not one","event":"e","distinct_id":"p","timestamp":"2026-11-20T00:00:00Z"}`+"\n"+`{"event":"e"}`)...)
	reader, err := JSONLines(fstest.MapFS{"rows.jsonl": {Data: odd}}, "rows.jsonl")
	require.NoError(t, err)
	r := compare(t, w.service, Files(reader, 1, filepath.Join(t.TempDir(), "new")), o)
	require.Len(t, r.Unknown, 1)
	assert.Contains(t, r.Unknown[0].Why, "1 rows of the destination have no uuid")
}
