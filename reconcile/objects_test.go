package reconcile

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/opt"
)

// bucket is a folder of objects with as many rows as their content says, and the coverage of an hourly export that
// wrote them.
type bucket struct {
	fstest.MapFS

	coverage coverage.Coverage
}

// keyedBucket has the objects with the prefix /events/.
type keyedBucket struct{ *bucket }

func (b keyedBucket) ReadKey(key string) ([]byte, error) {
	name, ok := strings.CutPrefix(key, "/events/")
	if !ok {
		return nil, fs.ErrNotExist
	}
	return b.ReadFile(name)
}

func newBucket() *bucket {
	return &bucket{fstest.MapFS{}, coverage.Coverage{ExportID: uuid.New()}}
}

// hour is the beginning of an interval.
func hour(n int) time.Time { return time.Date(2026, 11, 25, n, 0, 0, 0, time.UTC) }

// named is the beginning of a name, as the service writes it.
func named(n int) string {
	return fmt.Sprintf("2026-11-25T%02d:00:00+00:00-2026-11-25T%02d:00:00+00:00", n, n+1)
}

// run adds a run of an interval that began so many minutes after its end.
func (b *bucket) run(n, minutes int, status hogapi.RunStatus, records int64) {
	run := coverage.Run{ID: uuid.New(), Status: status, Start: hour(n), End: hour(n + 1), CreatedAt: hour(n + 1).Add(time.Duration(minutes)*time.Minute + 900*time.Millisecond)}
	if records >= 0 {
		run.Records = &records
	}
	b.coverage.Intervals = append(b.coverage.Intervals, coverage.Interval{Start: hour(n), End: hour(n + 1), Runs: []coverage.Run{run}})
}

// put writes an object so many minutes after the end of its interval.
func (b *bucket) put(name string, n, minutes, rows int) {
	b.MapFS[name] = &fstest.MapFile{Data: fmt.Append(nil, rows), ModTime: hour(n + 1).Add(time.Duration(minutes) * time.Minute)}
}

func (b *bucket) check() *Objects {
	var names []string
	for name := range b.MapFS {
		names = append(names, name)
	}
	return CheckObjects(b, names, func(fsys fs.FS, name string) (n int64, err error) {
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return 0, err
		}
		if strings.HasPrefix(string(text), "refused") {
			return 0, fs.ErrPermission
		}
		_, err = fmt.Sscan(string(text), &n)
		if err != nil {
			err = errors.New(name + ": it was cut off")
		}
		return n, err
	}, &b.coverage)
}

// Objects are counted against the newest run of their interval. Leftovers of an earlier run are shown separately.
func TestCheckObjects(t *testing.T) {
	t.Parallel()
	const done, failed = hogapi.RunStatusCompleted, hogapi.RunStatusFailed
	for name, c := range map[string]struct {
		set  func(b *bucket)
		want Objects
	}{
		"agrees":    {func(b *bucket) { b.run(1, 1, done, 5); b.put("a/"+named(1)+".parquet", 1, 1, 5) }, Objects{Intervals: 1, Agree: 1}},
		"the codec": {func(b *bucket) { b.run(1, 1, done, 5); b.put(named(1)+".parquet.zst", 1, 2, 5) }, Objects{Intervals: 1, Agree: 1}},
		"parts": {func(b *bucket) {
			b.run(1, 1, done, 5)
			b.put(named(1)+"-0.parquet", 1, 2, 3)
			b.put(named(1)+"-1.parquet", 1, 2, 2)
		}, Objects{Intervals: 1, Agree: 1}},
		"fewer rows":           {func(b *bucket) { b.run(1, 1, done, 5); b.put(named(1)+".parquet", 1, 2, 4) }, Objects{Intervals: 1, Differ: []string{"2026-11-25 01:00 to 2026-11-25 02:00: 4 rows in the objects, and the run says 5"}}},
		"no object":            {func(b *bucket) { b.run(1, 1, done, 5) }, Objects{Intervals: 1, Differ: []string{"2026-11-25 01:00 to 2026-11-25 02:00: no object, and the run says 5 rows"}}},
		"no rows":              {func(b *bucket) { b.run(1, 1, done, 0) }, Objects{}},
		"a later run, no rows": {func(b *bucket) { b.run(1, 1, done, 5); b.run(1, 30, done, 0); b.put(named(1)+".parquet", 1, 2, 5) }, Objects{Stale: []string{named(1) + ".parquet"}}},
		"fewer parts than once": {func(b *bucket) {
			b.run(1, 1, done, 7)
			b.run(1, 30, done, 5)
			b.put(named(1)+"-0.parquet", 1, 31, 5)
			b.put(named(1)+"-1.parquet", 1, 2, 2)
		}, Objects{Intervals: 1, Agree: 1, Stale: []string{named(1) + "-1.parquet"}}},
		"not in the manifest": {func(b *bucket) {
			b.run(1, 1, done, 5)
			b.put(named(1)+"-0.parquet", 1, 2, 5)
			b.put(named(1)+"-1.parquet", 1, 2, 9)
			b.put(named(1)+"_manifest.json", 1, 3, 0)
			b.MapFS[named(1)+"_manifest.json"].Data = []byte(`{"files":["events/` + named(1) + `-0.parquet"]}`)
		}, Objects{Intervals: 1, Agree: 1, Stale: []string{named(1) + "-1.parquet"}}},
		"an old manifest": {func(b *bucket) {
			b.run(1, 30, done, 5)
			b.put(named(1)+".parquet", 1, 31, 5)
			b.put(named(1)+"_manifest.json", 1, 3, 0)
			b.MapFS[named(1)+"_manifest.json"].Data = []byte(`{"files":["events/` + named(1) + `-0.parquet"]}`)
		}, Objects{Intervals: 1, Agree: 1}},
		"a failed run is newer": {func(b *bucket) { b.run(1, 1, done, 5); b.run(1, 9, failed, 2); b.put(named(1)+".parquet", 1, 2, 5) }, Objects{NotCounted: 1}},
		"no number":             {func(b *bucket) { b.run(1, 1, done, -1); b.put(named(1)+".parquet", 1, 2, 5) }, Objects{NotCounted: 1}},
		"JSON lines":            {func(b *bucket) { b.run(1, 1, done, 5); b.put(named(1)+".jsonl.gz", 1, 2, 5) }, Objects{NotCounted: 1}},
		"old JSON lines":        {func(b *bucket) { b.run(1, 9, done, 5); b.put(named(1)+".jsonl.gz", 1, 2, 5) }, Objects{Intervals: 1, Stale: []string{named(1) + ".jsonl.gz"}, Differ: []string{"2026-11-25 01:00 to 2026-11-25 02:00: no object, and the run says 5 rows"}}},
		"two folders": {func(b *bucket) {
			b.run(1, 1, done, 5)
			b.put("a/"+named(1)+".parquet", 1, 2, 5)
			b.put("b/"+named(1)+".parquet", 1, 2, 5)
		}, Objects{NotCounted: 1}},
		"other names": {func(b *bucket) {
			b.run(1, 1, done, 0)
			b.put("rows.parquet", 1, 2, 5)
			b.put(named(3)+".parquet", 1, 2, 5)
		}, Objects{}},
		"refused": {func(b *bucket) {
			b.run(1, 1, done, 5)
			b.put(named(1)+".parquet", 1, 2, 5)
			b.MapFS[named(1)+".parquet"].Data = []byte("refused")
		}, Objects{NotCounted: 1}},
		"cut": {func(b *bucket) {
			b.run(1, 1, done, 5)
			b.put(named(1)+".parquet", 1, 2, 5)
			b.MapFS[named(1)+".parquet"].Data = nil
		}, Objects{Intervals: 1, Differ: []string{"2026-11-25 01:00 to 2026-11-25 02:00: " + named(1) + ".parquet: it was cut off"}}},
	} {
		b := newBucket()
		c.set(b)
		if c.want.Differ == nil {
			c.want.Differ = []string{}
		}
		if c.want.Stale == nil {
			c.want.Stale = []string{}
		}
		assert.Equal(t, &c.want, b.check(), name)
	}

	b := newBucket()
	b.run(1, 1, done, 5)
	b.put(named(1)+".parquet", 1, 2, 5)
	other := newBucket()
	other.run(1, 1, done, 5)
	o := CheckObjects(b, []string{named(1) + ".parquet"}, nil, &b.coverage, &other.coverage)
	assert.Zero(t, o.Intervals, "two exports have the interval: whose object it is cannot be told")

	zoned := "2026-11-24T20:00:00-05:00-2026-11-24T21:00:00.000000-05:00.parquet"
	b = newBucket()
	b.run(1, 1, done, 5)
	b.put(zoned, 1, 2, 5)
	assert.Equal(t, 1, b.check().Agree)

	many := &Objects{Intervals: 2000, Agree: 1970, NotCounted: 3}
	for i := range 30 {
		many.Differ = append(many.Differ, fmt.Sprint("differ ", i))
		many.Stale = append(many.Stale, fmt.Sprint("stale ", i))
	}
	notes := strings.Join(many.Notes(), "\n")
	for _, says := range []string{"the rows of 1,970 of 2,000 intervals agree", "3 intervals were not counted", "differ 19\nobjects: 10 further intervals differ", "30 objects are of an earlier run", "stale 19, …"} {
		assert.Contains(t, notes, says)
	}
	assert.Empty(t, (&Objects{}).Notes())
}

// Where a bucket may not be listed, the names follow from the export and its runs.
func TestNamedObjects(t *testing.T) {
	t.Parallel()
	b := newBucket()
	b.run(1, 1, hogapi.RunStatusCompleted, 5)
	b.run(2, 1, hogapi.RunStatusCompleted, 0)
	b.run(3, 1, hogapi.RunStatusFailed, 5)
	b.run(4, 1, hogapi.RunStatusCompleted, -1)
	b.coverage.Intervals[3].Runs[0].Start = time.Time{}
	e := &hogapi.BatchExport{Name: "lake"}
	names := func(prefix string, config destination.S3) []string {
		e.Destination.Config = &config
		names, err := NamedObjects(b, prefix, e, &b.coverage)
		require.NoError(t, err)
		return names
	}
	last := "None-2026-11-25T05:00:00+00:00"
	assert.Equal(t, []string{named(1) + ".jsonl", last + ".jsonl"}, names("events", destination.S3{Prefix: opt.Set("events/")}))
	assert.Equal(t, []string{"2026/11/" + named(1) + ".jsonl.gz", "2026/11/" + last + ".jsonl.gz"}, names("events/", destination.S3{Prefix: opt.Set("/events//{year}/{month}"), Compression: opt.Set(destination.CompressionGzip)}))
	assert.Equal(t, []string{"{nothing}/" + named(1) + ".parquet", "{nothing}/" + last + ".parquet"}, names("", destination.S3{Prefix: opt.Set("{nothing}"), FileFormat: opt.Set(destination.FormatParquet), Compression: opt.Set(destination.CompressionZstd), LegacyParquetExtension: opt.Set(false)}))
	assert.Equal(t, []string{named(1) + ".parquet.zst", last + ".parquet.zst"}, names("", destination.S3{FileFormat: opt.Set(destination.FormatParquet), Compression: opt.Set(destination.CompressionZstd)}))

	parts := destination.S3{Prefix: opt.Set("events"), FileFormat: opt.Set(destination.FormatParquet), MaxFileSizeMB: opt.Set(5)}
	e.Destination.Config = &parts
	_, err := NamedObjects(b, "events", e, &b.coverage)
	require.ErrorIs(t, err, ErrCannotTell)
	require.ErrorContains(t, err, "the manifest of 2026-11-25 01:00")
	for _, n := range []string{named(1), last} {
		b.MapFS[n+"_manifest.json"] = &fstest.MapFile{Data: []byte(`{"files":["events/` + n + `-0.parquet","events/` + n + `-1.parquet"]}`)}
	}
	assert.Equal(t, []string{named(1) + "-0.parquet", named(1) + "-1.parquet", last + "-0.parquet", last + "-1.parquet"}, names("events", parts))
	slash := parts // the key of a manifest keeps the slash that the keys of objects lose
	slash.Prefix = opt.Set("/events")
	e.Destination.Config = &slash
	_, err = NamedObjects(b, "events", e, &b.coverage)
	require.ErrorContains(t, err, "the key begins with a slash")
	keyed, err := NamedObjects(keyedBucket{b}, "events", e, &b.coverage)
	require.NoError(t, err)
	assert.Equal(t, names("events", parts), keyed)
	assert.Equal(t, []string{named(1) + ".jsonl", last + ".jsonl"}, names("", destination.S3{MaxFileSizeMB: opt.Set(0)}), "0 is no limit, so there is no manifest")
	azure := &hogapi.BatchExport{Name: "lake", Destination: hogapi.Destination{Type: destination.TypeAzureBlob, Config: &destination.AzureBlob{
		Prefix: opt.Set("events"), FileFormat: opt.Set(destination.FormatParquet), MaxFileSizeMB: opt.Set(5), LegacyParquetExtension: opt.Set(false),
	}}}
	delete(b.MapFS, last+"_manifest.json")
	found, err := NamedObjects(b, "events", azure, &b.coverage)
	require.NoError(t, err, "Azure writes a manifest of several parts only")
	assert.Equal(t, []string{named(1) + "-0.parquet", named(1) + "-1.parquet", last + "-0.parquet"}, found)
	e.Destination.Config = &parts
	_, err = NamedObjects(b, "others", e, &b.coverage)
	require.ErrorIs(t, err, ErrCannotTell)
	require.ErrorContains(t, err, "not below the prefix")
}
