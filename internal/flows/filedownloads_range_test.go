package flows_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
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

// ranged has events on days 1, 2 and 20 of a range of 24 days, so the second of its four intervals is empty.
func ranged(t *testing.T, options ...hogapitest.Option) (server *hogapitest.Server, from, to time.Time) {
	t.Helper()
	server = hogapitest.New(append(options, hogapitest.WithTime(coverageNow))...)
	from = coverageNow.Truncate(24*time.Hour).AddDate(0, 0, -30)
	capture, err := server.Client(t).NewCapture(nil)
	require.NoError(t, err)
	for _, day := range []int{1, 2, 20} {
		require.NoError(t, capture.Enqueue(t.Context(), hogapi.Event{UUID: uuid.New(), Name: fmt.Sprint("day ", day), DistinctID: "x", Timestamp: from.AddDate(0, 0, day)}))
	}
	_, err = capture.Close(t.Context())
	require.NoError(t, err)
	return server, from, from.AddDate(0, 0, 24)
}

func readRange(ctx context.Context, t *testing.T, client *hogapi.Client, from, to time.Time, o *coverage.RangeOptions) (names []string, err error) {
	t.Helper()
	for file, err := range coverage.DownloadRange(ctx, client, from, to, o) {
		if err != nil {
			return names, err
		}
		names = append(names, filepath.Base(file.Path))
		assert.FileExists(t, file.Path)
		assert.Equal(t, 1, file.Part)
	}
	return names, nil
}

func linesOnly(folder string) *coverage.RangeOptions {
	return &coverage.RangeOptions{Folder: folder, File: hogapi.FileOptions{Format: hogapi.FileFormatJSONLines}}
}

func TestRangeOfFileDownloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, from, to := ranged(t, hogapitest.WithFileDownloadLimit(1))
		client, o := server.Client(t), linesOnly(t.TempDir())
		want := []string{"2026-10-27T000000Z-2026-11-03T000000Z-1.jsonl", "2026-11-10T000000Z-2026-11-17T000000Z-1.jsonl"}
		names, err := readRange(t.Context(), t, client, from, to, o)
		require.NoError(t, err)
		assert.Equal(t, want, names)
		first, err := os.ReadFile(filepath.Join(o.Folder, want[0]))
		require.NoError(t, err)
		assert.Contains(t, string(first), "day 1")
		assert.Contains(t, string(first), "day 2")
		assert.Len(t, server.Calls(ops.FileDownloadsCreate), 4)

		calls := len(server.Calls())
		names, err = readRange(t.Context(), t, client, from, to, o)
		require.NoError(t, err)
		assert.Equal(t, want, names)
		assert.Len(t, server.Calls(), calls, "whole files need no request")

		require.NoError(t, os.Remove(filepath.Join(o.Folder, want[1])))
		names, err = readRange(t.Context(), t, client, from, to, o)
		require.NoError(t, err)
		assert.Equal(t, want, names)
		assert.Len(t, server.Calls(ops.FileDownloadsCreate), 4, "the service still has the file")

		o.File.Compression = hogapi.FileCompressionGzip
		_, err = readRange(t.Context(), t, client, from, to, o)
		require.ErrorContains(t, err, "the options of the earlier call")
	})
}

// The folder of a range that an earlier version began continues: it has taken the first interval for whole, which is
// checked once, and the file download of the second is gone.
func TestRangeOfAnEarlierVersion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, from, to := ranged(t)
		o := linesOnly(t.TempDir())
		const kept = "testdata/v0.1.0/range"
		require.NoError(t, os.CopyFS(o.Folder, os.DirFS(kept)))
		whole := hogapitest.File{Content: readFile(t, filepath.Join(kept, "2026-10-27T000000Z-2026-11-03T000000Z-1.jsonl"))}
		server.Project(hogapitest.DefaultProject).AddFileDownload(hogapitest.FileDownload{
			ID: uuid.MustParse("7425c486-0184-43b1-8b26-2a4297ae6642"), Files: []hogapitest.File{whole},
		})
		names, err := readRange(t.Context(), t, server.Client(t), from, to, o)
		require.NoError(t, err)
		require.Len(t, names, 2)
		assert.Equal(t, readFile(t, filepath.Join(kept, names[0])), readFile(t, filepath.Join(o.Folder, names[0])))
		assert.Len(t, server.Calls(ops.FileDownloadsCreate), 3)
	})
}

// A range goes on after a death at any request, and makes one file download for each interval.
func TestRangeContinuesAfterADeath(t *testing.T) {
	for at := 1; ; at++ {
		survived := false
		synctest.Test(t, func(t *testing.T) {
			server, from, to := ranged(t)
			o := linesOnly(t.TempDir())
			ctx, die := context.WithCancel(t.Context())
			transport := &dying{server.Transport(), at, false, die}
			mortal, err := hogapi.NewClient(append(server.ClientOptions(hogapitest.DefaultProject), hogapi.WithHTTPClient(&http.Client{Transport: transport}))...)
			require.NoError(t, err)
			_, err = readRange(ctx, t, mortal, from, to, o)
			if survived = err == nil; survived {
				return
			}
			names, err := readRange(t.Context(), t, server.Client(t), from, to, o)
			require.NoError(t, err, "death at request %d", at)
			assert.Len(t, names, 2, "death at request %d", at)
			assert.Len(t, server.Calls(ops.FileDownloadsCreate), 4, "death at request %d", at)
		})
		if survived {
			assert.Greater(t, at, 12)
			return
		}
	}
}

func TestRangeIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, from, to := ranged(t)
		client, o := server.Client(t), linesOnly(t.TempDir())
		o.MaxBytes = 1000 // one file
		var names []string
		var err error
		for calls := range 10 {
			if names, err = readRange(t.Context(), t, client, from, to, o); err == nil {
				assert.Positive(t, calls)
				break
			}
		}
		require.NoError(t, err)
		assert.Len(t, names, 2)
		for field, bad := range map[string]*coverage.RangeOptions{
			"folder": {}, "Step": {Folder: "x", Step: time.Millisecond}, "Model": {Folder: "x", Model: hogapi.ModelHogQL}, "MaxBytes": {Folder: "x", MaxBytes: -2},
		} {
			_, err = readRange(t.Context(), t, client, from, to, bad)
			require.ErrorIs(t, err, hogapi.ErrInvalid)
			require.ErrorContains(t, err, field)
		}
		_, err = readRange(t.Context(), t, client, to, from, linesOnly("x"))
		require.ErrorIs(t, err, hogapi.ErrInvalid)
	})
}

// expired is the answer for a file that the service has removed.
var expired = hogapitest.Status(http.StatusBadRequest, map[string]any{"type": "validation_error", "code": "invalid_input", "detail": "This file download has expired"})

// The service removes files after a while. A new file download may divide the rows in another way, so it is not mixed
// with files of the first.
func TestRangeOfExpiredFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, from, _ := ranged(t)
		client, o, to := server.Client(t), linesOnly(t.TempDir()), from.AddDate(0, 0, 7)
		server.Script(ops.FileDownloadsDownload, hogapitest.Status(http.StatusForbidden), expired)
		_, err := readRange(t.Context(), t, client, from, to, o)
		require.ErrorIs(t, err, hogapi.ErrForbidden)
		names, err := readRange(t.Context(), t, client, from, to, o)
		require.NoError(t, err)
		assert.Len(t, names, 1)
		assert.Len(t, server.Calls(ops.FileDownloadsCreate), 2, "the files of the first have expired")
		server.Script(ops.FileDownloadsDownload, hogapitest.Always(expired))
		require.NoError(t, os.Remove(filepath.Join(o.Folder, names[0])))
		_, err = readRange(t.Context(), t, client, from, to, o)
		require.ErrorContains(t, err, "This file download has expired")
		assert.Len(t, server.Calls(ops.FileDownloadsCreate), 3, "a new one has no files either")
	})
}

func TestRangeMixesNoFileDownloads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New(hogapitest.WithTime(coverageNow))
		client, o, to := server.Client(t), linesOnly(t.TempDir()), coverageNow.Truncate(24*time.Hour)
		id := server.Project(hogapitest.DefaultProject).AddFileDownload(hogapitest.FileDownload{Files: []hogapitest.File{{Content: []byte("1\n")}, {Content: []byte("2\n")}}})
		server.Script(ops.FileDownloadsCreate, hogapitest.Status(http.StatusAccepted, map[string]any{"id": id}))
		server.Script(ops.FileDownloadsDownload, hogapitest.Slow(0), expired)
		var whole []string
		for file, err := range coverage.DownloadRange(t.Context(), client, to.AddDate(0, 0, -1), to, o) {
			if err == nil {
				whole = append(whole, file.Path)
				continue
			}
			require.ErrorContains(t, err, "no longer has the file download of "+whole[0]+", and its files here may be incomplete: move the files of this interval away")
		}
		require.Len(t, whole, 1)
		require.NoError(t, os.Remove(whole[0]))
		server.Script(ops.FileDownloadsDownload, expired)
		names, err := readRange(t.Context(), t, client, to.AddDate(0, 0, -1), to, o)
		require.NoError(t, err)
		assert.Len(t, names, 1, "of a new file download")
	})
}

func TestRangeWithoutAListOfFiles(t *testing.T) {
	for want, records := range map[string]any{"has 7 records but lists no files": 7, "has no number of records": nil} {
		synctest.Test(t, func(t *testing.T) {
			server, from, to := ranged(t)
			server.Script(ops.FileDownloadsGet, hogapitest.Always(hogapitest.Status(http.StatusOK, map[string]any{"status": "Completed", "files": []string{}, "records_completed": records})))
			_, err := readRange(t.Context(), t, server.Client(t), from, to, linesOnly(t.TempDir()))
			require.ErrorContains(t, err, want)
		})
	}
}
