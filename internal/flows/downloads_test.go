package flows_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/ops"
)

const (
	queryOfAll      = "SELECT uuid, event FROM events"
	queryOfInterval = queryOfAll + " WHERE timestamp >= {data_interval_start} AND timestamp < {data_interval_end}"
)

// counted is an answer of the service that counts the rows of a query.
func counted(n int) hogapitest.Fault {
	return hogapitest.Status(http.StatusOK, map[string]any{"count": n})
}

// fiveEvents is a project with five events in three weeks, the second one empty, which its file downloads export.
func fiveEvents() (server *hogapitest.Server, from, to time.Time) {
	server = hogapitest.New(hogapitest.WithTime(coverageNow), hogapitest.WithHogQLExports(), hogapitest.WithPolls(1))
	project := server.Project(hogapitest.DefaultProject)
	project.ExportEvents()
	to = coverageNow.Truncate(24 * time.Hour)
	from = to.AddDate(0, 0, -21)
	for _, day := range []int{0, 2, 6, 14, 20} {
		at := from.AddDate(0, 0, day).Add(time.Hour)
		project.AddEvent(hogapitest.StoredEvent{Event: "e", DistinctID: "x", Time: at, CreatedAt: at})
	}
	return server, from, to
}

// The error of a download is nil only if its files have all rows: of the run, or of a query by the service's count.
func TestDownloadProvesItsRows(t *testing.T) {
	tooSlow := hogapitest.Status(http.StatusBadRequest, map[string]any{"type": "validation_error", "code": "timeout_exceeded", "detail": "too slow"})
	const unknown = -1
	for name, tt := range map[string]struct {
		query         string
		script        []hogapitest.Fault // of the counts
		before, after int64
		files, counts int
		fails         string
	}{
		"a range":                           {before: unknown, after: unknown, files: 2},
		"a query of intervals":              {query: queryOfInterval, before: 5, after: 5, files: 2, counts: 3},
		"a query":                           {query: queryOfAll, before: 5, after: 5, files: 1, counts: 1},
		"rows arrive after the count":       {query: queryOfAll, script: []hogapitest.Fault{counted(2), counted(7)}, before: 2, after: 7, files: 1, counts: 2},
		"rows are deleted after the count":  {query: queryOfAll, script: []hogapitest.Fault{counted(12)}, before: 12, after: 5, files: 1, counts: 2},
		"a count that takes too long":       {query: queryOfAll, script: []hogapitest.Fault{tooSlow}, before: unknown, after: unknown, files: 1, counts: 1},
		"more, and the second takes longer": {query: queryOfAll, script: []hogapitest.Fault{counted(2), hogapitest.Always(tooSlow)}, before: 2, after: unknown, files: 1, counts: 2},
		"fewer rows than counted": {query: queryOfAll, script: []hogapitest.Fault{counted(12), counted(13)}, before: 12, after: 13, files: 1, counts: 2,
			fails: " before its run and 13 after it, but its files have 5: rows may be missing or duplicated"},
		"more rows than counted":             {query: queryOfAll, script: []hogapitest.Fault{counted(2), counted(2)}, before: 2, after: 2, files: 1, counts: 2, fails: "duplicated"},
		"fewer, and the second takes longer": {query: queryOfAll, script: []hogapitest.Fault{counted(12), hogapitest.Always(tooSlow)}, before: 12, after: unknown, files: 1, counts: 2, fails: "counted 12 rows"},
		"a count that is refused":            {query: queryOfAll, script: []hogapitest.Fault{hogapitest.Status(http.StatusForbidden)}, before: unknown, after: unknown, counts: 1, fails: "403"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, from, to := fiveEvents()
				client, o := server.Client(t), linesOnly(t.TempDir())
				if o.HogQLQuery = tt.query; tt.query == queryOfAll {
					from, to = time.Time{}, time.Time{}
				}
				if tt.script != nil {
					server.Script(ops.FileDownloadsCountRows, tt.script...)
				}
				done, err := coverage.Download(t.Context(), client, from, to, o)
				assert.Len(t, server.Calls(ops.FileDownloadsCountRows), tt.counts)
				assert.Len(t, done.Files, tt.files)
				number := func(n *int64) int64 {
					if n == nil {
						return unknown
					}
					return *n
				}
				assert.Equal(t, []int64{tt.before, tt.after}, []int64{number(done.CountedBefore), number(done.CountedAfter)})
				if tt.files > 0 {
					assert.Equal(t, []int64{5, 5}, []int64{done.Expected, done.Written})
				}
				if tt.fails != "" {
					require.ErrorContains(t, err, tt.fails)
					if _, again := coverage.Download(t.Context(), client, from, to, o); tt.files > 0 {
						require.ErrorContains(t, again, tt.fails, "it stays so")
					}
					return
				}
				require.NoError(t, err)
				again, err := coverage.Download(t.Context(), client, from, to, o)
				require.NoError(t, err)
				assert.Equal(t, done, again)
				assert.Len(t, server.Calls(ops.FileDownloadsCreate), 2*tt.files-1, "what is whole is not downloaded again")
				if tt.before == unknown || tt.after != unknown {
					assert.Len(t, server.Calls(ops.FileDownloadsCountRows), tt.counts, "nor counted again, if the service could count it")
				}

				require.NoError(t, os.Truncate(done.Files[0].Path, 3))
				_, err = coverage.Download(t.Context(), client, from, to, o)
				require.ErrorContains(t, err, "the files were changed. Move "+done.Files[0].Path+" away")
				require.NoError(t, os.Remove(done.Files[0].Path))
				again, err = coverage.Download(t.Context(), client, from, to, o)
				require.NoError(t, err)
				assert.Equal(t, done, again)
			})
		})
	}
}

// An interrupted download returns an error and the files so far, and another call continues: success means that no file
// is missing.
func TestDownloadThatIsInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, from, _ := fiveEvents()
		server.Script(ops.FileDownloadsCreate, hogapitest.Status(http.StatusAccepted, map[string]any{"id": inParts(server, plain, 0, time.Hour)}))
		client, o, to := server.Client(t), linesOnly(t.TempDir()), from.AddDate(0, 0, 7)
		done, err := coverage.Download(t.Context(), client, from, to, o)
		require.ErrorContains(t, err, "its run has 7 records, but its listed files (2) have 5")
		assert.Equal(t, []any{int64(7), int64(5), 2}, []any{done.Expected, done.Written, len(done.Files)})
		time.Sleep(time.Hour)

		ctx, cancel := context.WithCancel(t.Context())
		server.Script(ops.FileDownloadsGet, hogapitest.Slow(time.Minute))
		stop := time.AfterFunc(time.Second, cancel)
		defer stop.Stop()
		_, err = coverage.Download(ctx, client, from, to, o)
		require.ErrorIs(t, err, context.Canceled)

		o.MaxBytes = 3
		done, err = coverage.Download(t.Context(), client, from, to, o)
		require.Error(t, err, "no room for the third file")
		assert.Less(t, done.Written, done.Expected)
		o.MaxBytes = 0
		done, err = coverage.Download(t.Context(), client, from, to, o)
		require.NoError(t, err)
		assert.Equal(t, []any{int64(7), int64(7), 3}, []any{done.Expected, done.Written, len(done.Files)})
		assert.Len(t, server.Calls(ops.FileDownloadsCreate), 1)
	})
}

// A download goes on after a death at any request, and proves all rows with one file download for each interval.
func TestDownloadContinuesAfterADeath(t *testing.T) {
	for at := 1; ; at++ {
		survived := false
		synctest.Test(t, func(t *testing.T) {
			server, from, to := fiveEvents()
			o := linesOnly(t.TempDir())
			o.HogQLQuery = queryOfInterval
			ctx, die := context.WithCancel(t.Context())
			transport := &dying{server.Transport(), at, false, die}
			mortal, err := hogapi.NewClient(append(server.ClientOptions(hogapitest.DefaultProject), hogapi.WithHTTPClient(&http.Client{Transport: transport}))...)
			require.NoError(t, err)
			done, err := coverage.Download(ctx, mortal, from, to, o)
			if survived = err == nil; !survived {
				done, err = coverage.Download(t.Context(), server.Client(t), from, to, o)
			}
			require.NoError(t, err, "death at request %d", at)
			assert.Equal(t, []int64{5, 5}, []int64{done.Expected, done.Written}, "death at request %d", at)
			assert.Equal(t, new(int64(5)), done.CountedBefore)
			assert.Len(t, server.Calls(ops.FileDownloadsCreate), 3, "death at request %d", at)
		})
		if survived {
			assert.Greater(t, at, 12)
			return
		}
	}
}

// A folder that DownloadRange has filled is proven without another download; one of an earlier version asks the service.
func TestDownloadProvesAFolder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, from, to := fiveEvents()
		client, o := server.Client(t), linesOnly(t.TempDir())
		_, err := readRange(t.Context(), t, client, from, to, o)
		require.NoError(t, err)
		calls := len(server.Calls())
		done, err := coverage.Download(t.Context(), client, from, to, o)
		require.NoError(t, err)
		assert.Equal(t, []any{int64(5), int64(5)}, []any{done.Expected, done.Written})
		assert.Len(t, server.Calls(), calls)

		states, err := filepath.Glob(filepath.Join(o.Folder, "*.range"))
		require.NoError(t, err)
		for _, path := range states { // as earlier versions wrote them
			state, ok := durable.Unseal("range", readFile(t, path))
			require.True(t, ok)
			state = regexp.MustCompile(`,"records":\d+`).ReplaceAll(state, nil)
			require.NoError(t, os.WriteFile(path, durable.Seal("range", state), 0o600))
		}
		again, err := coverage.Download(t.Context(), client, from, to, o)
		require.NoError(t, err)
		assert.Equal(t, done, again)
		assert.Len(t, server.Calls(), calls+len(states), "the service says how many records each has")

		o.Folder = t.TempDir()
		require.NoError(t, os.CopyFS(o.Folder, os.DirFS("testdata/v0.1.0/range")))
		from = time.Date(2026, 10, 27, 0, 0, 0, 0, time.UTC)
		_, err = coverage.Download(t.Context(), client, from, from.AddDate(0, 0, 7), o)
		require.ErrorContains(t, err, "the service no longer has the file download of "+filepath.Join(o.Folder, "2026-10-27T000000Z-2026-11-03T000000Z-1.jsonl"))
	})
}

func TestDownloadRefusesWhatProvesNothing(t *testing.T) {
	server, from, to := fiveEvents()
	client := server.Client(t)
	for field, tt := range map[string]struct {
		from time.Time
		o    coverage.RangeOptions
	}{
		"File.Compression":              {from, coverage.RangeOptions{File: hogapi.FileOptions{Format: hogapi.FileFormatJSONLines, Compression: hogapi.FileCompressionBrotli}}},
		`RangeOptions.Model "events"`:   {from, coverage.RangeOptions{Model: hogapi.ModelEvents, HogQLQuery: queryOfInterval}},
		`RangeOptions.Model "hogql"`:    {from, coverage.RangeOptions{Model: hogapi.ModelHogQL}},
		"RangeOptions.HogQLQuery":       {from, coverage.RangeOptions{HogQLQuery: strings.Replace(queryOfInterval, "{data_interval_end}", "now()", 1)}},
		"they do not limit it":          {from, coverage.RangeOptions{HogQLQuery: queryOfAll}},
		"from: want two times":          {time.Time{}, coverage.RangeOptions{HogQLQuery: queryOfInterval}},
		"RangeOptions.ByTimestamp":      {from, coverage.RangeOptions{HogQLQuery: queryOfInterval, ByTimestamp: true}},
		"HogQLQuery: want no query and": {from, coverage.RangeOptions{HogQLModifiers: []byte(`{}`)}},
	} {
		tt.o.Folder = "x"
		_, err := coverage.Download(t.Context(), client, tt.from, to, &tt.o)
		require.ErrorIs(t, err, hogapi.ErrInvalid, field)
		require.ErrorContains(t, err, field)
	}
	assert.Empty(t, server.Calls())
}
