package parquet_test

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/parquet-go/parquet-go/deprecated"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/formats/parquet"
	"github.com/hogapi/hogapi/reconcile"
)

// rowsOf reads all rows of a file.
func rowsOf(t *testing.T, path string) (rows []reconcile.FileRow, err error) {
	t.Helper()
	reader, err := parquet.Rows(os.DirFS(filepath.Dir(path)), filepath.Base(path))
	require.NoError(t, err)
	return rows, reader.Rows(t.Context(), func(r reconcile.FileRow) error {
		rows = append(rows, r)
		return nil
	})
}

var (
	rowID = uuid.MustParse("0190f3c0-0000-7000-8000-00000000000a")
	rowAt = time.Date(2026, 11, 20, 10, 0, 0, 123_000_000, time.UTC)
	aRow  = reconcile.FileRow{UUID: rowID.String(), Event: "paid", DistinctID: "ada", Timestamp: rowAt, TeamID: 1}
)

// Every form in which a uuid and a time may be stored gives the same row. Other columns are not read.
func TestRowForms(t *testing.T) {
	t.Parallel()
	type texts struct {
		UUID       string    `parquet:"uuid"`
		Properties string    `parquet:"properties"`
		Event      *string   `parquet:"event,optional,dict"`
		DistinctID string    `parquet:"distinct_id"`
		TeamID     *int64    `parquet:"team_id,optional"`
		Timestamp  time.Time `parquet:"timestamp,timestamp(microsecond)"`
	}
	type typed struct {
		UUID       uuid.UUID `parquet:"uuid,uuid"`
		Event      string    `parquet:"event"`
		DistinctID []byte    `parquet:"distinct_id"`
		TeamID     int32     `parquet:"team_id"`
		Timestamp  int64     `parquet:"timestamp,timestamp(millisecond)"`
	}
	type fixed struct {
		UUID       [16]byte         `parquet:"uuid"`
		Event      string           `parquet:"event"`
		DistinctID string           `parquet:"distinct_id"`
		TeamID     int64            `parquet:"team_id"`
		Timestamp  deprecated.Int96 `parquet:"timestamp"`
	}
	type loose struct {
		UUID       []byte  `parquet:"uuid"`
		Event      string  `parquet:"event"`
		DistinctID string  `parquet:"distinct_id"`
		TeamID     uint32  `parquet:"team_id"`
		Timestamp  *string `parquet:"timestamp,optional"`
	}
	paid, team, zoned, plain := "paid", int64(1), "2026-11-20T15:30:00.123+05:30", "2026-11-20 10:00:00.123000"
	nanos := uint64(10*time.Hour + 123*time.Millisecond)
	for name, path := range map[string]string{
		"texts":  writeParquet(t, "rows.parquet", []texts{{rowID.String(), "{}", &paid, "ada", &team, rowAt}}, 9),
		"upper":  writeParquet(t, "rows.parquet", []texts{{strings.ToUpper(rowID.String()), "{}", &paid, "ada", &team, rowAt}}, 9),
		"typed":  writeParquet(t, "rows.parquet", []typed{{rowID, "paid", []byte("ada"), 1, rowAt.UnixMilli()}}, 9),
		"INT96":  writeParquet(t, "rows.parquet", []fixed{{rowID, "paid", "ada", 1, deprecated.Int96{uint32(nanos), uint32(nanos >> 32), 2_440_588 + 20777}}}, 9),
		"zoned":  writeParquet(t, "rows.parquet", []loose{{rowID[:], "paid", "ada", 1, &zoned}}, 9),
		"unzone": writeParquet(t, "rows.parquet", []loose{{[]byte(rowID.String()), "paid", "ada", 1, &plain}}, 9),
	} {
		rows, err := rowsOf(t, path)
		require.NoError(t, err, name)
		for i := range rows {
			rows[i].UUID = strings.ToLower(rows[i].UUID)
		}
		assert.Equal(t, []reconcile.FileRow{aRow}, rows, name)
	}
	rows, err := rowsOf(t, writeParquet(t, "rows.parquet", []texts{{UUID: rowID.String(), DistinctID: "ada", Timestamp: rowAt}}, 9))
	require.NoError(t, err)
	assert.Equal(t, []reconcile.FileRow{{Timestamp: rowAt}}, rows, "a row without a name counts as one that cannot be compared")
	rows, err = rowsOf(t, writeParquet(t, "rows.parquet", []loose{{UUID: rowID[:], Event: "paid", DistinctID: "ada", TeamID: 1}}, 9))
	require.NoError(t, err)
	assert.Zero(t, rows[0].Timestamp)
	rows, err = rowsOf(t, writeParquet(t, "rows.parquet", exports(0, 500), 100))
	require.NoError(t, err)
	require.Len(t, rows, 500)
	for i, r := range rows {
		x := exportOf(i)
		require.Equal(t, reconcile.FileRow{UUID: x.UUID, Event: x.Event, DistinctID: x.DistinctID, Timestamp: x.Timestamp}, r)
	}
}

// A file that is not one of events, or that is damaged, cannot be told: it is named, and no row is missing for it.
func TestRowsThatCannotBeRead(t *testing.T) {
	t.Parallel()
	type row struct {
		UUID       string `parquet:"uuid"`
		Event      string `parquet:"event"`
		DistinctID string `parquet:"distinct_id"`
		Timestamp  string `parquet:"timestamp"`
	}
	type noUUID struct {
		Event, DistinctID string
		Timestamp         string `parquet:"timestamp"`
	}
	type noTime struct {
		UUID       string `parquet:"uuid"`
		Event      string `parquet:"event"`
		DistinctID string `parquet:"distinct_id"`
	}
	type numberTime struct {
		UUID       string `parquet:"uuid"`
		Event      string `parquet:"event"`
		DistinctID string `parquet:"distinct_id"`
		Timestamp  int64  `parquet:"timestamp"`
	}
	type list struct {
		UUID       []string `parquet:"uuid"`
		Event      string   `parquet:"event"`
		DistinctID string   `parquet:"distinct_id"`
		Timestamp  string   `parquet:"timestamp"`
	}
	good, err := os.ReadFile(writeParquet(t, "good.parquet", exports(0, 500), 100))
	require.NoError(t, err)
	changed := append([]byte(nil), good...)
	for i := 4; i < 400; i++ {
		changed[i] ^= 0x55
	}
	for says, path := range map[string]string{
		"no column uuid":                    writeParquet(t, "bad.parquet", []noUUID{{"e", "p", "2026-11-20T10:00:00Z"}}, 9),
		"no column timestamp":               writeParquet(t, "bad.parquet", []noTime{{"x", "e", "p"}}, 9),
		"INT(64,true), which is not a time": writeParquet(t, "bad.parquet", []numberTime{{"x", "e", "p", 5}}, 9),
		"a group or a list":                 writeParquet(t, "bad.parquet", []list{{[]string{"x"}, "e", "p", "2026-11-20T10:00:00Z"}}, 9),
		"none of the columns":               writeParquet(t, "bad.parquet", []struct{ Email string }{{"a@example.com"}}, 9),
		"row 2: timestamp is":               writeParquet(t, "bad.parquet", []row{{"x", "e", "p", "2026-11-20T10:00:00Z"}, {"x", "e", "p", "soon"}}, 9),
		"the Parquet footer is missing":     rewrite(t, good[:len(good)-9]),
		"only 9 bytes":                      rewrite(t, good[:9]),
		"row 1: ":                           rewrite(t, changed),
	} {
		_, err := rowsOf(t, path)
		require.ErrorIs(t, err, reconcile.ErrCannotTell, says)
		require.ErrorContains(t, err, "bad.parquet", says)
		assert.ErrorContains(t, err, says)
	}
	for path := range map[string]bool{"bad.parquet": true, "*.parquet": true} {
		reader, err := parquet.Rows(refusing{}, path)
		require.NoError(t, err)
		err = reader.Rows(t.Context(), nil)
		require.ErrorIs(t, err, reconcile.ErrCannotTell)
		assert.ErrorContains(t, err, "permission denied")
	}
	_, err = rowsOf(t, filepath.Join(t.TempDir(), "gone.parquet"))
	require.ErrorContains(t, err, "gone.parquet")
	require.NotErrorIs(t, err, reconcile.ErrCannotTell)
	_, err = parquet.Rows(os.DirFS(t.TempDir()), "*.parquet")
	require.ErrorContains(t, err, "*.parquet")

	reader, err := parquet.Rows(dying{fstest.MapFS{"bad.parquet": {Data: good}}}, "bad.parquet")
	require.NoError(t, err)
	err = reader.Rows(t.Context(), func(reconcile.FileRow) error { return nil })
	require.ErrorIs(t, err, context.DeadlineExceeded, "the storage's own error")
	require.NotErrorIs(t, err, reconcile.ErrCannotTell, "a storage that does not answer is not a damaged file: the comparison can continue")
}

type refusing struct{ fstest.MapFS }

func (refusing) Open(name string) (fs.File, error) {
	return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrPermission}
}

func (refusing) Glob(string) ([]string, error) { return nil, fs.ErrPermission }

// dying is a file system that does not answer in the middle of a file.
type dying struct{ fstest.MapFS }

func (d dying) Open(name string) (fs.File, error) {
	file, err := d.MapFS.Open(name)
	return dyingFile{file}, err
}

type dyingFile struct{ fs.File }

func (f dyingFile) ReadAt(p []byte, offset int64) (int, error) {
	if offset > 4 && offset < 2000 {
		return 0, &fs.PathError{Op: "read", Path: "bad.parquet", Err: context.DeadlineExceeded}
	}
	return f.File.(io.ReaderAt).ReadAt(p, offset)
}
