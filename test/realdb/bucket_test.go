package realdb

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/formats/parquet"
	"github.com/hogapi/hogapi/formats/s3files"
	"github.com/hogapi/hogapi/reconcile"
)

// lake is a bucket with the objects of an hourly export, which ClickHouse has written, and the runs that say so.
type lake struct {
	*store

	e        *engine
	names    []string
	coverage *coverage.Coverage
}

// lakeRows are the rows of an hour; each has about a kilobyte that no compression makes smaller.
const lakeRows, lakeHours = 6_000, 4

var lakeBegin = time.Date(2026, 11, 25, 0, 0, 0, 0, time.UTC)

// files are the ways in which ClickHouse writes the objects, by their ending.
var lakeFiles = []struct{ ending, format, columns string }{
	{".parquet", "Parquet", "toString(uuid) AS uuid, event, distinct_id, noise AS properties, timestamp"},
	{".parquet.zst", "Parquet", "uuid, event, distinct_id, toInt64(1) AS team_id, noise AS properties, toDateTime64(timestamp, 3, 'UTC') AS timestamp"},
	{".jsonl", "JSONEachRow", "uuid, event, distinct_id, noise AS properties, timestamp"},
	{".jsonl.gz", "JSONEachRow", "upper(toString(uuid)) AS uuid, event, distinct_id, toInt32(1) AS team_id, noise AS properties, timestamp"},
}

func fillLake(t *testing.T, e *engine, name string) *lake {
	t.Helper()
	l := &lake{store: startStore(t), e: e, coverage: &coverage.Coverage{ExportID: uuid.New()}}
	e.run(fmt.Sprintf(`INSERT INTO %s.stored SELECT generateUUIDv4(), concat('event ', toString(number %% 7)), concat('person ', toString(number %% 101)), '{}',
		toDateTime64('2026-11-25 00:00:00', 6, 'UTC') + toIntervalMillisecond(number * %d) AS at, at FROM numbers(%d)`,
		name, time.Hour.Milliseconds()/lakeRows, lakeRows*lakeHours))
	for hour := range lakeHours {
		l.write(name, hour)
	}
	return l
}

// write writes the object of an hour, and its run.
func (l *lake) write(name string, hour int) {
	l.t.Helper()
	of, at, rows := lakeFiles[hour], lakeBegin.Add(time.Duration(hour)*time.Hour), int64(lakeRows)
	path := filepath.Join(l.t.TempDir(), "rows"+strings.TrimSuffix(of.ending, ".zst")) // packed inside
	options := " SETTINGS date_time_output_format = 'iso', output_format_json_quote_64bit_integers = 0"
	l.e.run(fmt.Sprintf(`INSERT INTO FUNCTION file('%s', '%s') SELECT %s FROM (SELECT *, randomPrintableASCII(1000, uuid) AS noise FROM %s.stored
		WHERE timestamp >= '%s' AND timestamp < '%s') %s`,
		path, of.format, of.columns, name, at.Format(time.DateTime), at.Add(time.Hour).Format(time.DateTime), options))
	const python = "2006-01-02T15:04:05+00:00"
	object := at.Format(python) + "-" + at.Add(time.Hour).Format(python) + of.ending
	l.putFile("events/"+object, path)
	run := coverage.Run{ID: uuid.New(), Status: hogapi.RunStatusCompleted, Start: at, End: at.Add(time.Hour), CreatedAt: at.Add(time.Hour + time.Minute), Records: &rows}
	l.coverage.Intervals = append(l.coverage.Intervals, coverage.Interval{Start: at, End: run.End, Runs: []coverage.Run{run}})
	l.names = append(l.names, object)
}

// files is the bucket as a file system.
func (l *lake) files(key, secret string) *s3files.FS {
	return s3files.New(l.t.Context(), l.client(key, secret), "bucket", "events")
}

// compare compares the project with the objects. The function then, if there is one, is called when they are listed.
func (l *lake) compare(service *reconcile.PostHogSide, fsys fs.FS, then func()) (*reconcile.Report, error) {
	l.t.Helper()
	inLines, err := reconcile.JSONLines(fsys, "*.jsonl*")
	require.NoError(l.t, err)
	inColumns, err := parquet.Rows(fsys, "*.parquet*")
	require.NoError(l.t, err)
	if then != nil {
		then()
	}
	side := reconcile.Files(bothReaders{inLines, inColumns}, 1, l.t.TempDir())
	defer side.Close()
	return reconcile.Compare(l.t.Context(), service, side, &reconcile.Options{From: lakeBegin, To: lakeBegin.Add(lakeHours * time.Hour)})
}

type bothReaders [2]reconcile.RowReader

func (b bothReaders) Name() string { return b[0].Name() + " and " + b[1].Name() }

func (b bothReaders) Rows(ctx context.Context, yield func(reconcile.FileRow) error) error {
	if err := b[0].Rows(ctx, yield); err != nil {
		return err
	}
	return b[1].Rows(ctx, yield)
}

// Objects that ClickHouse wrote in four forms into a strict S3 give each row its class: one is missing, one doubled, one
// altered and one foreign. Footers alone say which interval has other rows than its run.
func TestReconcileBucket(t *testing.T) {
	e := newEngine(t)
	_, service := newHogQL(t, e, "lake")
	l := fillLake(t, e, "lake")
	fsys := l.files(accessKey, secretKey)
	r, err := l.compare(service, fsys, nil)
	require.NoError(t, err)
	require.Equal(t, reconcile.Complete, r.Verdict, r.String())
	require.EqualValues(t, lakeRows*lakeHours, r.Counts[reconcile.Delivered])

	var size int64
	for _, name := range l.names[:2] {
		info, err := fs.Stat(fsys, name)
		require.NoError(t, err)
		size += info.Size()
	}
	l.read.Store(0)
	objects := reconcile.CheckObjects(fsys, l.names, parquet.CountRows, l.coverage)
	assert.Equal(t, []int{2, 2, 2}, []int{objects.Intervals, objects.Agree, objects.NotCounted}, objects)
	assert.Less(t, 100*l.read.Load(), size, "the footers of %d bytes", size)
	t.Logf("footers: %d of %d bytes", l.read.Load(), size)

	// Each hour lacks, doubles or changes a row, and the last one has a foreign row.
	pick := func(hour int) string {
		at := lakeBegin.Add(time.Duration(hour) * time.Hour).Format(time.DateTime)
		return fmt.Sprint(e.run(fmt.Sprintf("SELECT toString(uuid) FROM lake.stored WHERE timestamp >= '%s' ORDER BY timestamp LIMIT 1 OFFSET %d", at, rand.IntN(lakeRows)))[0][0])
	}
	missing, doubled, altered, foreign := pick(0), pick(1), pick(2), uuid.New().String()
	e.run("CREATE DATABASE IF NOT EXISTS lake_there")
	e.run("CREATE OR REPLACE TABLE lake_there.stored AS lake.stored ENGINE = MergeTree ORDER BY timestamp")
	e.run("INSERT INTO lake_there.stored SELECT * FROM lake.stored WHERE uuid != '" + missing + "' AND uuid != '" + altered + "'")
	e.run("INSERT INTO lake_there.stored SELECT * FROM lake.stored WHERE uuid = '" + doubled + "'")
	e.run("INSERT INTO lake_there.stored SELECT * REPLACE (concat(event, 'x') AS event) FROM lake.stored WHERE uuid = '" + altered + "'")
	e.run("INSERT INTO lake_there.stored SELECT * REPLACE (toUUID('" + foreign + "') AS uuid) FROM lake.stored WHERE timestamp >= '2026-11-25 03:00:00' LIMIT 1")
	l.names, l.coverage.Intervals = nil, nil
	for hour := range lakeHours {
		l.write("lake_there", hour)
	}
	fsys = l.files(accessKey, secretKey)
	r, err = l.compare(service, fsys, nil)
	require.NoError(t, err)
	assertFound(t, r, missing, doubled, altered, foreign)
	objects = reconcile.CheckObjects(fsys, l.names, parquet.CountRows, l.coverage)
	assert.Equal(t, []string{
		"2026-11-25 00:00 to 2026-11-25 01:00: 5,999 rows in the objects, and the run says 6,000",
		"2026-11-25 01:00 to 2026-11-25 02:00: 6,001 rows in the objects, and the run says 6,000",
	}, objects.Differ)
	e.run("DROP DATABASE lake")
	e.run("DROP DATABASE lake_there")
}

// Objects that are cut, deleted or replaced during the reading, and objects that may not be listed or read: each is
// named, and no row is called missing.
func TestReconcileBucketFaults(t *testing.T) {
	e := newEngine(t)
	_, service := newHogQL(t, e, "faulty")
	l := fillLake(t, e, "faulty")
	l.addReader()
	path := func(hour int) string { return filepath.Join(l.dir, "bucket", "events", l.names[hour]) }
	for hour := range lakeHours {
		whole, err := os.ReadFile(path(hour))
		require.NoError(t, err)
		damaged := bytes.Clone(whole)
		for i := range 2_000 {
			damaged[100+i] ^= 0x5a
		}
		for name, content := range map[string][]byte{"cut": whole[:len(whole)/2+7], "damaged": damaged} {
			require.NoError(t, l.send("PUT", "/bucket/events/"+l.names[hour], string(content), secretKey))
			r, err := l.compare(service, l.files(accessKey, secretKey), nil)
			if err != nil {
				require.ErrorContains(t, err, l.names[hour], name)
			} else {
				assert.Equal(t, reconcile.Undecided, r.Verdict, "%s, %s: %v", name, l.names[hour], r)
				assert.Zero(t, r.Counts[reconcile.Missing])
				assert.Contains(t, r.String(), l.names[hour])
			}
		}
		require.NoError(t, l.send("PUT", "/bucket/events/"+l.names[hour], string(whole), secretKey))

		// After it was listed, another one takes its place, or none.
		_, err = l.compare(service, l.files(accessKey, secretKey), func() {
			require.NoError(t, l.send("PUT", "/bucket/events/"+l.names[hour], string(append(bytes.Clone(whole), '\n')), secretKey))
		})
		require.ErrorIs(t, err, s3files.ErrReplaced)
		require.ErrorContains(t, err, l.names[hour])
		_, err = l.compare(service, l.files(accessKey, secretKey), func() { require.NoError(t, os.Remove(path(hour))) })
		require.ErrorIs(t, err, fs.ErrNotExist)
		require.ErrorContains(t, err, l.names[hour])
		require.NoError(t, l.send("PUT", "/bucket/events/"+l.names[hour], string(whole), secretKey))
	}

	r, err := l.compare(service, l.files(readerKey, readerSecret), nil)
	require.NoError(t, err)
	assert.Equal(t, reconcile.Undecided, r.Verdict, "the reader may not list")
	assert.Contains(t, r.String(), "access is denied")
	_, err = parquet.CountRows(l.files(readerKey, readerSecret), l.names[0])
	require.NoError(t, err)
	_, err = fs.ReadDir(l.files(accessKey, "wrong"), ".")
	require.ErrorContains(t, err, "the secret key is wrong")
	require.NotErrorIs(t, err, s3files.ErrDenied)
	_, err = fs.ReadDir(s3files.New(t.Context(), l.client(accessKey, secretKey), "other-bucket", ""), ".")
	require.ErrorIs(t, err, fs.ErrNotExist)
	e.run("DROP DATABASE faulty")
}
