package hogapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/durable"
)

var downloadA, fileA, fileB = uuid.MustParse("0190e0a2-0000-7000-8000-0000000000a1"), uuid.MustParse("0190e0a2-0000-7000-8000-0000000000f1"), uuid.MustParse("0190e0a2-0000-7000-8000-0000000000f2")

const downloadsBase = testBase + "/file_download_batch_exports/"

func goodFileDownload() FileDownloadRequest {
	berlin := time.FixedZone("", 3600)
	return FileDownloadRequest{
		Model:             ModelEvents,
		DataIntervalStart: time.Date(2024, 5, 1, 1, 0, 0, 0, berlin),
		DataIntervalEnd:   time.Date(2024, 5, 8, 1, 0, 0, 0, berlin),
	}
}

func TestFileDownloadsSendWhatTheyAreToldTo(t *testing.T) {
	client, mock := newTestClient(t)
	var body []byte
	mock.RegisterResponder("POST", downloadsBase, func(r *http.Request) (*http.Response, error) {
		body, _ = io.ReadAll(r.Body)
		return httpmock.NewStringResponse(202, `{"id":"`+downloadA.String()+`"}`), nil
	})
	id, err := client.FileDownloads.Create(t.Context(), goodFileDownload())
	require.NoError(t, err)
	assert.Equal(t, downloadA, id)
	assert.JSONEq(t, `{"model":"events","file":{},"data_interval_start":"2024-05-01T00:00:00Z","data_interval_end":"2024-05-08T00:00:00Z"}`, string(body))

	_, err = client.FileDownloads.Create(t.Context(), FileDownloadRequest{
		Model: ModelHogQL, HogQLQuery: "SELECT 1 AS one", HogQLModifiers: json.RawMessage(`{"a":1}`),
		File: FileOptions{Format: FileFormatJSONLines, Compression: FileCompressionGzip, MaxSizeMB: Set(0)},
	})
	require.NoError(t, err)
	assert.JSONEq(t, `{"model":"hogql","file":{"format":"JSONLines","compression":"gzip","max_size_mb":0},"hogql_query":"SELECT 1 AS one","hogql_modifiers":{"a":1}}`, string(body))

	download := goodFileDownload()
	download.Include, download.Exclude, download.File.MaxSizeMB = []string{"a"}, []string{"b"}, Null[int]()
	_, err = client.FileDownloads.Create(t.Context(), download)
	require.NoError(t, err)
	assert.Contains(t, string(body), `"include":["a"],"exclude":["b"]`)
	assert.Contains(t, string(body), `"max_size_mb":null`)

	mock.RegisterResponder("POST", downloadsBase+"count_rows/", func(r *http.Request) (*http.Response, error) {
		body, _ = io.ReadAll(r.Body)
		return httpmock.NewStringResponse(200, `{"count":0}`), nil
	})
	n, err := client.FileDownloads.CountRows(t.Context(), CountRowsRequest{HogQLQuery: "SELECT 1 AS one", DataIntervalStart: goodFileDownload().DataIntervalStart})
	require.NoError(t, err)
	assert.Zero(t, n)
	assert.JSONEq(t, `{"model":"hogql","hogql_query":"SELECT 1 AS one","data_interval_start":"2024-05-01T00:00:00Z"}`, string(body))
	mock.RegisterResponder("POST", downloadsBase+"count_rows/", httpmock.NewStringResponder(200, `{}`))
	_, err = client.FileDownloads.CountRows(t.Context(), CountRowsRequest{HogQLQuery: "SELECT 1 AS one"})
	require.ErrorAs(t, err, new(*DecodeError), "no count is not a count of 0")
}

func TestFileDownloadsRefuseWhatTheServiceWould(t *testing.T) {
	client, mock := newTestClient(t)
	day := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		field  string
		change func(*FileDownloadRequest)
	}{
		"no model":       {"Model", func(r *FileDownloadRequest) { r.Model = "" }},
		"misspelt model": {"Model", func(r *FileDownloadRequest) { r.Model = "Events" }},
		"no start":       {"DataIntervalStart", func(r *FileDownloadRequest) { r.DataIntervalStart = time.Time{} }},
		"no end":         {"DataIntervalEnd", func(r *FileDownloadRequest) { r.DataIntervalEnd = time.Time{} }},
		"reversed":       {"DataIntervalEnd", func(r *FileDownloadRequest) { r.DataIntervalEnd = r.DataIntervalStart.Add(-1) }},
		"over 7 days":    {"DataIntervalEnd", func(r *FileDownloadRequest) { r.DataIntervalEnd = r.DataIntervalStart.Add(longestDownload + 1) }},
		"over 7 days of a query": {"DataIntervalEnd", func(r *FileDownloadRequest) {
			r.Model, r.HogQLQuery, r.DataIntervalEnd = ModelHogQL, "SELECT", day.AddDate(1, 0, 0)
		}},
		"names for persons":    {"Include", func(r *FileDownloadRequest) { r.Model, r.Include = ModelPersons, []string{"a"} }},
		"names for sessions":   {"Include", func(r *FileDownloadRequest) { r.Model, r.Exclude = ModelSessions, []string{"a"} }},
		"names for hogql":      {"Include", func(r *FileDownloadRequest) { r.Model, r.HogQLQuery, r.Include = ModelHogQL, "SELECT", []string{"a"} }},
		"hogql without query":  {"HogQLQuery", func(r *FileDownloadRequest) { r.Model = ModelHogQL }},
		"query for events":     {"HogQLQuery", func(r *FileDownloadRequest) { r.HogQLQuery = "SELECT 1" }},
		"modifiers for events": {"HogQLQuery", func(r *FileDownloadRequest) { r.HogQLModifiers = json.RawMessage(`{}`) }},
		"misspelt format":      {"File.Format", func(r *FileDownloadRequest) { r.File.Format = "parquet" }},
		"misspelt compression": {"File.Compression", func(r *FileDownloadRequest) { r.File.Compression = "GZIP" }},
		"negative size":        {"File.MaxSizeMB", func(r *FileDownloadRequest) { r.File.MaxSizeMB = Set(-1) }},
		"a codec of Parquet only": {"File.Compression", func(r *FileDownloadRequest) {
			r.File = FileOptions{Format: FileFormatJSONLines, Compression: FileCompressionZstd}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			download := goodFileDownload()
			c.change(&download)
			_, err := client.FileDownloads.Create(t.Context(), download)
			requireInputError(t, err, c.field)
		})
	}
	_, err := client.FileDownloads.CountRows(t.Context(), CountRowsRequest{HogQLQuery: " "})
	requireInputError(t, err, "HogQLQuery")
	_, err = client.FileDownloads.CountRows(t.Context(), CountRowsRequest{HogQLQuery: "SELECT", DataIntervalStart: day, DataIntervalEnd: day.AddDate(0, 0, 8)})
	requireInputError(t, err, "DataIntervalEnd")
	_, err = client.FileDownloads.Download(t.Context(), downloadA, fileA, nil, nil)
	requireInputError(t, err, "w")
	_, err = client.FileDownloads.Download(t.Context(), downloadA, fileA, io.Discard, &DownloadOptions{Offset: -1})
	requireInputError(t, err, "Offset")
	_, err = client.FileDownloads.Download(t.Context(), downloadA, fileA, io.Discard, &DownloadOptions{Offset: 5, Size: 4})
	requireInputError(t, err, "Size")
	_, err = client.FileDownloads.DownloadAll(t.Context(), downloadA, "", nil)
	requireInputError(t, err, "folder")
	for _, bad := range []string{"parquet", "./x", "..", ".a/b", ".part", ".PART", ".gz.part", ".part.size", ".lock", ".tmp", ".part.size.tmp"} {
		_, err = client.FileDownloads.DownloadAll(t.Context(), downloadA, "x", &FolderOptions{Extension: bad})
		requireInputError(t, err, "Extension")
	}
	assert.Zero(t, mock.GetTotalCallCount())
}

func TestFileDownloadStates(t *testing.T) {
	client, mock := newTestClient(t)
	one := downloadsBase + downloadA.String() + "/"
	get := func(body string) (*FileDownload, error) {
		mock.RegisterResponder("GET", one, httpmock.NewStringResponder(200, body))
		return client.FileDownloads.Get(t.Context(), downloadA)
	}
	d, err := get(`{"status":"Completed","files":["` + fileA.String() + `"],"records_completed":7}`)
	require.NoError(t, err)
	assert.Equal(t, &FileDownload{ID: downloadA, Status: RunStatusCompleted, Files: []uuid.UUID{fileA}, RecordsCompleted: new(int64(7))}, d)
	d, err = get(`{"status":"Completed","files":[],"records_completed":null}`)
	require.NoError(t, err)
	assert.Equal(t, &FileDownload{ID: downloadA, Status: RunStatusCompleted, Files: []uuid.UUID{}}, d)
	d, err = get(`{"status":"Failed","error":"broken"}`)
	require.NoError(t, err)
	assert.Equal(t, &FileDownload{ID: downloadA, Status: RunStatusFailed, Error: new("broken")}, d)
	for _, body := range []string{
		`{}`, `{"status":"Completed"}`, `{"status":""}`,
		`{"status":"Completed","files":[null]}`, `{"status":"Completed","files":["00000000-0000-0000-0000-000000000000"]}`,
	} {
		_, err = get(body)
		require.ErrorAs(t, err, new(*DecodeError), body)
	}

	mock.RegisterResponder("GET", downloadsBase, httpmock.NewStringResponder(200, `{"count":1,"next":null,"previous":null,"results":[{"id":"`+downloadA.String()+`","status":"Dreaming"}]}`))
	for d, err := range client.FileDownloads.All(t.Context(), nil) {
		require.NoError(t, err)
		assert.Equal(t, FileDownload{ID: downloadA, Status: "Dreaming"}, d)
	}

	cancel := func(status int, body string) error {
		mock.RegisterResponder("POST", one+"cancel/", httpmock.NewStringResponder(status, body))
		return client.FileDownloads.Cancel(t.Context(), downloadA)
	}
	require.NoError(t, cancel(200, `{"status":"Cancelled"}`))
	err = cancel(200, `{"status":"Running"}`)
	require.ErrorIs(t, err, ErrOutcomeUnknown, "the service swallows errors there")
	require.ErrorContains(t, err, "still Running")
	require.ErrorIs(t, cancel(400, `{"type":"validation_error","detail":"Cannot cancel a run that is in 'Completed' status"}`), ErrInvalid)
}

func TestTooManyFileDownloadsIsNoRateLimit(t *testing.T) {
	tries := newScript(answers(429, `{"type":"server_error","code":"too_many_concurrent_file_downloads","detail":"Too many concurrent file download batch exports for this team."}`))
	_, err := newFakeClient(t, tries).FileDownloads.Create(t.Context(), goodFileDownload())
	require.ErrorIs(t, err, ErrTooManyFileDownloads)
	require.NotErrorIs(t, err, ErrRateLimited)
	require.NotErrorIs(t, err, ErrTooManyBackfills)
	require.NotErrorIs(t, err, ErrOutcomeUnknown)
	require.ErrorContains(t, err, "wait until a running file download has ended")
	assert.EqualValues(t, 1, tries.tries.Load(), "it is not tried again")

	tries = newScript(answers(429, `{"type":"server_error","code":"too_many_concurrent_file_downloads"}`))
	_, err = newFakeClient(t, tries).FileDownloads.Get(t.Context(), downloadA)
	require.ErrorIs(t, err, ErrTooManyFileDownloads)
	assert.EqualValues(t, 1, tries.tries.Load(), "nor for a read")
}

func TestALostAnswerOfCreateIsOfUnknownOutcome(t *testing.T) {
	for name, s := range map[string]step{
		"cut":                  fails(errCut),
		"could not be started": answers(500, `{"detail": "The batch export failed to start. Try again"}`),
		"no id":                answers(202, `{}`),
	} {
		t.Run(name, func(t *testing.T) {
			tries := newScript(s)
			_, err := newFakeClient(t, tries).FileDownloads.Create(t.Context(), goodFileDownload())
			require.ErrorIs(t, err, ErrOutcomeUnknown)
			require.ErrorContains(t, err, "FileDownloads.List shows the newest first")
			assert.EqualValues(t, 1, tries.tries.Load())
		})
	}
}

func TestFileExtensions(t *testing.T) {
	for want, o := range map[string]FileOptions{
		".parquet":  {Compression: FileCompressionZstd},
		".jsonl":    {Format: FileFormatJSONLines},
		".jsonl.gz": {Format: FileFormatJSONLines, Compression: FileCompressionGzip},
		".jsonl.br": {Format: FileFormatJSONLines, Compression: FileCompressionBrotli},
	} {
		assert.Equal(t, want, o.Extension())
	}
}

// downloads is a service with a completed file download of two files, and their storage.
func downloads(files step) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		switch {
		case r.URL.Host != "us.posthog.com":
			return files(r)
		case strings.Contains(r.URL.Path, "/download/"):
			return answer(r, 302, "", "Location", testLocation), nil
		}
		return answer(r, 200, fmt.Sprintf(`{"status":"Completed","files":["%s","%s"],"records_completed":2}`, fileA, fileB)), nil
	}
}

func TestDownloadAllWritesWholeFiles(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "b")
	steps := newScript(cutAt(7, file, nil), fails(&os.PathError{Op: "x"}))
	client := newFakeClient(t, downloads(steps.RoundTrip), WithRetryPolicy(RetryPolicy{MaxTries: 1}))
	o := &FolderOptions{Extension: ".jsonl.gz"}
	paths, err := client.FileDownloads.DownloadAll(t.Context(), downloadA, folder, o)
	require.ErrorAs(t, err, new(*DownloadError))
	assert.Empty(t, paths)
	one, other := filepath.Join(folder, fileA.String()+".jsonl.gz"), filepath.Join(folder, fileB.String()+".jsonl.gz")
	assert.Equal(t, []string{one + ".part", one + ".part.size"}, filesIn(t, folder), "nothing looks whole")

	s := &storage{steps: []step{file}}
	client = newFakeClient(t, downloads(s.RoundTrip))
	paths, err = client.FileDownloads.DownloadAll(t.Context(), downloadA, folder, o)
	require.NoError(t, err)
	assert.Equal(t, []string{one, other}, paths)
	assert.Equal(t, []string{"bytes=7-", ""}, s.ranges, "what was there is kept")
	assert.Equal(t, paths, filesIn(t, folder))
	for _, path := range paths {
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, testContent, string(content))
	}
	paths, err = client.FileDownloads.DownloadAll(t.Context(), downloadA, folder, o)
	require.NoError(t, err)
	assert.Equal(t, []string{one, other}, paths)
	assert.Len(t, s.ranges, 2, "what is whole is not downloaded again")
}

func filesIn(t *testing.T, folder string) (paths []string) {
	t.Helper()
	entries, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, e := range entries {
		paths = append(paths, filepath.Join(folder, e.Name()))
	}
	return paths
}

func TestDownloadAllNeedsACompletedDownload(t *testing.T) {
	all := func(body string) ([]string, error) {
		client := newFakeClient(t, newScript(answers(200, body)))
		return client.FileDownloads.DownloadAll(t.Context(), downloadA, t.TempDir(), nil)
	}
	_, err := all(`{"status":"Running"}`)
	require.ErrorContains(t, err, "is still Running: wait until it is over")
	_, err = all(`{"status":"Failed","error":"broken"}`)
	require.ErrorIs(t, err, ErrRunFailed)
	require.ErrorContains(t, err, "broken")
	_, err = all(`{"status":"Dreaming"}`)
	require.ErrorAs(t, err, new(*RunError))
	paths, err := all(`{"status":"Completed","files":[],"records_completed":0}`)
	require.NoError(t, err)
	assert.Empty(t, paths)
	_, err = all(`{"status":"Completed","files":[],"records_completed":3}`)
	require.ErrorContains(t, err, "has 3 records and lists no files")
}

func TestDownloadAllHasOneOwner(t *testing.T) {
	folder := t.TempDir()
	lock, err := durable.OS{}.Lock(filepath.Join(folder, downloadA.String()+".lock"))
	require.NoError(t, err)
	_, err = newFakeClient(t, downloads(file)).FileDownloads.DownloadAll(t.Context(), downloadA, folder, nil)
	require.ErrorIs(t, err, ErrHeld)
	require.NoError(t, lock.Close())
}
