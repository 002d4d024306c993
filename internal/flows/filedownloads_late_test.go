package flows_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// inParts adds a file download that is under way, with three files: of 1, 2 and 4 rows.
func inParts(server *hogapitest.Server, pack func(string) []byte, late ...time.Duration) uuid.UUID {
	x := hogapitest.FileDownload{Status: "Running"}
	for i := range 3 {
		file := hogapitest.File{Content: pack(strings.Repeat(`{"event":"`+string(rune('a'+i))+`"}`+"\n", 1<<i))}
		if i < len(late) {
			file.Late = late[i]
		}
		x.Files = append(x.Files, file)
	}
	return server.Project(hogapitest.DefaultProject).AddFileDownload(x)
}

func plain(text string) []byte { return []byte(text) }

func gzipped(text string) []byte {
	var packed bytes.Buffer
	for line := range strings.Lines(text) { // the service packs each row by itself
		w := gzip.NewWriter(&packed)
		_, _ = w.Write([]byte(line))
		_ = w.Close()
	}
	return packed.Bytes()
}

// The service lists the files of a completed file download one by one, and repeats one that failed after up to a minute.
func TestFilesThatAreListedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New(hogapitest.WithPolls(1))
		client, ctx := server.Client(t), t.Context()
		done, err := client.FileDownloads.Wait(ctx, inParts(server, plain), nil)
		require.NoError(t, err)
		assert.Len(t, done.Files, 3)
		var seen []int
		for state, err := range client.FileDownloads.Watch(ctx, inParts(server, plain), nil) {
			require.NoError(t, err)
			seen = append(seen, len(state.Files))
		}
		assert.Equal(t, []int{0, 3}, seen, "Running, Completed")

		for name, pack := range map[string]func(string) []byte{"plain": plain, "gzip": gzipped} {
			id := inParts(server, pack, 2*time.Minute, time.Minute)
			_, err = client.FileDownloads.Get(ctx, id) // Running
			require.NoError(t, err)
			paths, err := client.FileDownloads.DownloadAll(ctx, id, t.TempDir(), nil)
			require.NoError(t, err, name)
			assert.Len(t, paths, 3, name)
		}

		id := inParts(server, plain, 0, time.Hour)
		_, err = client.FileDownloads.Get(ctx, id)
		require.NoError(t, err)
		folder := t.TempDir()
		paths, err := client.FileDownloads.DownloadAll(ctx, id, folder, nil)
		require.ErrorContains(t, err, "its run has 7 records, but its listed files (2) have 5: the service lists files after the run has completed, so call again later")
		assert.Len(t, paths, 2)
		time.Sleep(time.Hour)
		paths, err = client.FileDownloads.DownloadAll(ctx, id, folder, nil)
		require.NoError(t, err)
		assert.Len(t, paths, 3)

		ending, end := context.WithCancelCause(ctx)
		id = inParts(server, plain, 0, time.Hour)
		_, err = client.FileDownloads.Get(ctx, id)
		require.NoError(t, err)
		stop := time.AfterFunc(20*time.Second, func() { end(errors.New("going home")) })
		defer stop.Stop()
		_, err = client.FileDownloads.DownloadAll(ending, id, folder, nil)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorContains(t, err, "going home")
	})
}

// Rows that are packed with brotli cannot be counted: the list must stay the same, and have no hole in the numbers.
func TestFilesWhoseRowsCannotBeCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New(hogapitest.WithPolls(1))
		client, ctx := server.Client(t), t.Context()
		brotli := func(text string) []byte { return []byte("\x1b" + text) }
		for name, tt := range map[string]struct {
			late  []time.Duration
			files int
			lacks string
		}{
			"at once":         {nil, 3, ""},
			"a minute later":  {[]time.Duration{0, time.Minute}, 3, ""},
			"an hour later":   {[]time.Duration{time.Hour}, 2, "does not list file 0 of its run"},
			"two hours later": {[]time.Duration{0, 2 * time.Hour}, 2, "does not list file 1 of its run"},
			"seconds later":   {[]time.Duration{0, 4 * time.Second}, 3, ""},
		} {
			id := inParts(server, brotli, tt.late...)
			_, err := client.FileDownloads.Get(ctx, id)
			require.NoError(t, err)
			paths, err := client.FileDownloads.DownloadAll(ctx, id, t.TempDir(), nil)
			assert.Len(t, paths, tt.files, name)
			if tt.lacks == "" {
				require.NoError(t, err, name)
			} else {
				require.ErrorContains(t, err, tt.lacks, name)
			}
		}
	})
}

// A range marks an interval as whole only with all rows of its run, and a file keeps its name when others are listed
// before it.
func TestRangeOfFilesThatAreListedLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, late := range [][]time.Duration{nil, {time.Hour}, {0, time.Hour}, {time.Hour, 2 * time.Hour}} {
			server := hogapitest.New(hogapitest.WithTime(coverageNow), hogapitest.WithPolls(1))
			id := inParts(server, plain, late...)
			server.Script(ops.FileDownloadsCreate, hogapitest.Status(202, map[string]any{"id": id}))
			client, o, to := server.Client(t), linesOnly(t.TempDir()), coverageNow.Truncate(24*time.Hour)
			read := func() (rows []string, err error) {
				for file, err := range coverage.DownloadRange(t.Context(), client, to.AddDate(0, 0, -7), to, o) {
					if err != nil {
						return rows, err
					}
					rows = append(rows, strings.Split(strings.TrimSpace(string(readFile(t, file.Path))), "\n")...)
				}
				return rows, nil
			}
			rows, err := read()
			for err != nil {
				require.ErrorContains(t, err, "its run has 7 records")
				assert.Less(t, len(rows), 7)
				time.Sleep(time.Hour)
				rows, err = read()
			}
			slices.Sort(rows)
			assert.Equal(t, strings.Split(`{"event":"a"} {"event":"b"} {"event":"b"} {"event":"c"} {"event":"c"} {"event":"c"} {"event":"c"}`, " "), rows)
			calls := len(server.Calls())
			rows, err = read()
			require.NoError(t, err)
			assert.Len(t, rows, 7)
			assert.Len(t, server.Calls(), calls, "whole files need no request")
			assert.Len(t, server.Calls(ops.FileDownloadsCreate), 1)
		}
	})
}

// A folder in which an earlier version took one of three files for all of them.
func TestRangeOfAnEarlierVersionWithAPart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New(hogapitest.WithTime(coverageNow))
		o := linesOnly(t.TempDir())
		require.NoError(t, os.CopyFS(o.Folder, os.DirFS("testdata/v0.1.0/range")))
		from := time.Date(2026, 10, 27, 0, 0, 0, 0, time.UTC)
		x := hogapitest.FileDownload{ID: uuid.MustParse("7425c486-0184-43b1-8b26-2a4297ae6642")}
		for range 3 {
			x.Files = append(x.Files, hogapitest.File{Content: []byte(`{"event":"x"}` + "\n")})
		}
		server.Project(hogapitest.DefaultProject).AddFileDownload(x)
		client := server.Client(t)
		_, err := readRange(t.Context(), t, client, from, from.AddDate(0, 0, 7), o)
		require.ErrorContains(t, err, "has 3 files, but an earlier version of this package stopped after 1: move these files away")
		require.NoError(t, os.Remove(filepath.Join(o.Folder, "2026-10-27T000000Z-2026-11-03T000000Z-1.jsonl")))
		n := 0
		for _, err := range coverage.DownloadRange(t.Context(), client, from, from.AddDate(0, 0, 7), o) {
			require.NoError(t, err)
			n++
		}
		assert.Equal(t, 3, n)
		assert.Empty(t, server.Calls(ops.FileDownloadsCreate))
	})
}

// With ByTimestamp, a query chooses the events of a range by their timestamp, with the same names.
func TestRangeByTimestamp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New(hogapitest.WithTime(coverageNow), hogapitest.WithHogQLExports())
		project, client := server.Project(hogapitest.DefaultProject), server.Client(t)
		project.ExportEvents()
		from := coverageNow.AddDate(0, 0, -30)
		project.AddEvent(hogapitest.StoredEvent{Event: "late", DistinctID: "x", Time: from.Add(time.Hour), CreatedAt: coverageNow.AddDate(0, 0, -1)})
		project.AddEvent(hogapitest.StoredEvent{Event: "early", DistinctID: "x", Time: from.AddDate(0, 0, -2), CreatedAt: from.Add(time.Hour)})
		for isByTimestamp, want := range map[bool]string{true: "late", false: "early"} {
			o := linesOnly(t.TempDir())
			o.ByTimestamp, o.Exclude = isByTimestamp, []string{`it's a \`}
			for file, err := range coverage.DownloadRange(t.Context(), client, from, from.AddDate(0, 0, 1), o) {
				require.NoError(t, err)
				assert.Contains(t, string(readFile(t, file.Path)), want)
			}
		}
		var queries []string
		for _, call := range server.Calls("file_downloads.create") {
			if bytes.Contains(call.Body, []byte("hogql_query")) {
				queries = append(queries, string(call.Body))
			}
		}
		require.Len(t, queries, 1)
		assert.Contains(t, queries[0], `event NOT IN ('it\\'s a \\\\')`)
		_, err := readRange(t.Context(), t, client, from, from.AddDate(0, 0, 1), &coverage.RangeOptions{Folder: "x", ByTimestamp: true, Model: hogapi.ModelPersons})
		require.ErrorContains(t, err, "ByTimestamp")
	})
}

// For an interval of exactly 5 minutes, the service reads a table of recent events only.
func TestRangeMakesNoIntervalOfFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New(hogapitest.WithTime(coverageNow))
		project, client := server.Project(hogapitest.DefaultProject), server.Client(t)
		project.ExportEvents()
		from := coverageNow.AddDate(0, 0, -30)
		for minute := range 5 {
			at := from.AddDate(0, 0, 7).Add(time.Duration(minute) * time.Minute)
			project.AddEvent(hogapitest.StoredEvent{Event: "late", DistinctID: "x", Time: at, CreatedAt: at})
		}
		for name, tt := range map[string]struct{ from, to time.Time }{
			"5 minutes":            {from.AddDate(0, 0, 7), from.AddDate(0, 0, 7).Add(5 * time.Minute)},
			"a week and 5 minutes": {from, from.AddDate(0, 0, 7).Add(5 * time.Minute)},
		} {
			rows := 0
			for file, err := range coverage.DownloadRange(t.Context(), client, tt.from, tt.to, linesOnly(t.TempDir())) {
				require.NoError(t, err)
				rows += bytes.Count(readFile(t, file.Path), []byte("\n"))
				assert.NotEqual(t, 5*time.Minute, file.End.Sub(file.Start))
			}
			assert.Equal(t, 5, rows, name)
		}
		o := linesOnly(t.TempDir())
		o.Step = 5 * time.Minute
		_, err := readRange(t.Context(), t, client, from, from.AddDate(0, 0, 1), o)
		require.ErrorIs(t, err, hogapi.ErrInvalid)
		require.ErrorContains(t, err, "RangeOptions.Step")
		request := hogapi.FileDownloadRequest{Model: hogapi.ModelEvents, DataIntervalStart: from, DataIntervalEnd: from.Add(5 * time.Minute)}
		calls := len(server.Calls())
		_, err = client.FileDownloads.Create(t.Context(), request)
		require.ErrorIs(t, err, hogapi.ErrInvalid)
		require.ErrorContains(t, err, "a length other than 5 minutes")
		assert.Len(t, server.Calls(), calls)
		request.DataIntervalStart = coverageNow.AddDate(0, 0, -1)
		request.DataIntervalEnd = request.DataIntervalStart.Add(5 * time.Minute)
		_, err = client.FileDownloads.Create(t.Context(), request)
		require.NoError(t, err, "of yesterday")
	})
}

// If the context of a range ends while the service has too many file downloads under way, the range returns the cause.
func TestRangeThatWaitsEndsWithTheCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, from, to := ranged(t, hogapitest.WithFileDownloadLimit(1))
		server.Project(hogapitest.DefaultProject).AddFileDownload(hogapitest.FileDownload{Status: "Running"})
		ctx, end := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("the shift is over"))
		defer end()
		_, err := readRange(ctx, t, server.Client(t), from, to, linesOnly(t.TempDir()))
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "the shift is over")
		require.NotErrorIs(t, err, hogapi.ErrRateLimited)
	})
}
