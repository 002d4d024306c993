package hogapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/httptry"
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
		"over 7 days":    {"DataIntervalEnd", func(r *FileDownloadRequest) { r.DataIntervalEnd = r.DataIntervalStart.Add(7*24*time.Hour + 1) }},
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
	_, err = client.FileDownloads.Download(t.Context(), downloadA, fileA, io.Discard, &DownloadState{Offset: -1})
	requireInputError(t, err, "Offset")
	_, err = client.FileDownloads.Download(t.Context(), downloadA, fileA, io.Discard, &DownloadState{Offset: 5, Size: 4})
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
	for body, want := range map[string]FileDownload{
		`{"status":"Completed","files":["` + fileA.String() + `"],"records_completed":7}`: {ID: downloadA, Status: RunStatusCompleted, Files: []uuid.UUID{fileA}, RecordsCompleted: new(int64(7))},
		`{"status":"Completed","files":[],"records_completed":null}`:                      {ID: downloadA, Status: RunStatusCompleted, Files: []uuid.UUID{}},
		`{"status":"Failed","error":"broken"}`:                                            {ID: downloadA, Status: RunStatusFailed, Error: new("broken")},
	} {
		d, err := get(body)
		require.NoError(t, err)
		assert.Equal(t, want, *d)
	}
	for _, body := range []string{
		`{}`, `{"status":"Completed"}`, `{"status":""}`,
		`{"status":"Completed","files":[null]}`, `{"status":"Completed","files":["00000000-0000-0000-0000-000000000000"]}`,
	} {
		_, err := get(body)
		require.ErrorAs(t, err, new(*DecodeError), body)
	}

	mock.RegisterResponder("GET", downloadsBase, httpmock.NewStringResponder(200, `{"count":1,"next":null,"previous":null,"results":[{"id":"`+downloadA.String()+`","status":"Dreaming"}]}`))
	assert.Equal(t, []FileDownload{{ID: downloadA, Status: "Dreaming"}}, walked(t, client.FileDownloads.All(t.Context(), nil)))

	cancel := func(status int, body string) error {
		mock.RegisterResponder("POST", one+"cancel/", httpmock.NewStringResponder(status, body))
		return client.FileDownloads.Cancel(t.Context(), downloadA)
	}
	require.NoError(t, cancel(200, `{"status":"Cancelled"}`))
	err := cancel(200, `{"status":"Running"}`)
	require.ErrorIs(t, err, ErrOutcomeUnknown, "the service swallows errors there")
	require.ErrorContains(t, err, "still Running")
	require.ErrorIs(t, cancel(400, `{"type":"validation_error","detail":"Cannot cancel a run that is in 'Completed' status"}`), ErrInvalid)
}

func TestTooManyFileDownloadsAreNotTriedAgain(t *testing.T) {
	tries := newScript(answers(429, `{"type":"server_error","code":"too_many_concurrent_file_downloads","detail":"Too many concurrent file download batch exports for this team."}`))
	_, err := newFakeClient(t, tries).FileDownloads.Create(t.Context(), goodFileDownload())
	require.ErrorIs(t, err, ErrRateLimited)
	require.Equal(t, CodeTooManyFileDownloads, as[*APIError](t, err).Code)
	require.NotErrorIs(t, err, ErrOutcomeUnknown)
	require.ErrorContains(t, err, "wait until a running file download has ended")
	assert.EqualValues(t, 1, tries.tries.Load(), "it is not tried again")

	tries = newScript(answers(429, `{"type":"server_error","code":"too_many_concurrent_file_downloads"}`))
	_, err = newFakeClient(t, tries).FileDownloads.Get(t.Context(), downloadA)
	require.Equal(t, CodeTooManyFileDownloads, as[*APIError](t, err).Code)
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

func TestDownloadAllNeedsACompletedDownload(t *testing.T) {
	for body, want := range map[string]string{
		`{"status":"Running"}`:                                    "is still Running: wait until it is over",
		`{"status":"Failed","error":"broken"}`:                    "broken",
		`{"status":"Dreaming"}`:                                   "ended as Dreaming",
		`{"status":"Completed","files":[],"records_completed":0}`: "",
		`{"status":"Completed","files":[],"records_completed":3}`: "has 3 records but lists no files",
	} {
		synctest.Test(t, func(t *testing.T) {
			client := newFakeClient(t, newScript(answers(200, body)))
			paths, err := client.FileDownloads.DownloadAll(t.Context(), downloadA, t.TempDir(), nil)
			assert.Empty(t, paths)
			if want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, want)
			assert.Equal(t, want == "broken", errors.Is(err, ErrRunFailed))
		})
	}
}

func TestDownloadAllHasOneOwner(t *testing.T) {
	folder := t.TempDir()
	lock, err := durable.OS{}.Lock(filepath.Join(folder, downloadA.String()+".lock"))
	require.NoError(t, err)
	_, err = newFakeClient(t, downloads(file)).FileDownloads.DownloadAll(t.Context(), downloadA, folder, nil)
	require.ErrorIs(t, err, ErrHeld)
	require.NoError(t, lock.Close())
}

const (
	testSignature = "CanarySignature0123456789"
	testLocation  = "https://bucket.storage.example/exports/file.jsonl.gz?X-Amz-Expires=3600&X-Amz-Signature=" + testSignature
	testContent   = "0123456789abcdefghij"
)

// storage is a service that redirects every download, and its storage, which plays a step a request, the last one again and again.
type storage struct {
	steps    []step
	service  step // in place of the redirect
	location string
	ranges   []string // asked for, one each request
	urls     int      // that were signed
	headers  []http.Header
}

func (s *storage) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == "us.posthog.com" {
		s.urls++
		if s.service != nil {
			return s.service(r)
		}
		if s.location == "" {
			s.location = testLocation
		}
		return answer(r, 302, "moved to "+s.location, "Location", s.location, "Cache-Control", "no-store"), nil
	}
	s.ranges = append(s.ranges, r.Header.Get("Range"))
	s.headers = append(s.headers, r.Header.Clone())
	return s.steps[min(len(s.ranges), len(s.steps))-1](r)
}

// file answers as a storage does, Range included.
func file(r *http.Request) (*http.Response, error) {
	from := 0
	if n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); n == 0 {
		return answer(r, 200, testContent, "Content-Type", "binary/octet-stream", "ETag", `"1"`), nil
	}
	if from >= len(testContent) {
		return answer(r, 416, "<Error/>", "Content-Range", fmt.Sprintf("bytes */%d", len(testContent))), nil
	}
	return answer(r, 206, testContent[from:], "ETag", `"1"`, "Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, len(testContent)-1, len(testContent))), nil
}

// whole ignores Range.
func whole(r *http.Request) (*http.Response, error) {
	return answer(r, 200, testContent, "ETag", `"1"`), nil
}

// cutAt is file, cut off after n bytes of its body, with an error or, worse, without one.
func cutAt(n int, inner step, err error) step {
	return func(r *http.Request) (*http.Response, error) {
		resp, _ := inner(r)
		body, _ := io.ReadAll(resp.Body)
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:min(n, len(body))]), failing{err}))
		return resp, nil
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}

func downloadFrom(t *testing.T, s *storage, offset int64, options ...Option) (string, int64, error) {
	t.Helper()
	var got strings.Builder
	got.WriteString(testContent[:offset])
	client := newFakeClient(t, s, options...)
	size, err := client.FileDownloads.Download(t.Context(), downloadA, fileA, &got, &DownloadState{Offset: offset})
	return got.String(), size, err
}

func TestDownloadsResumeWhereTheyWere(t *testing.T) {
	for name, c := range map[string]struct {
		steps  []step
		offset int64
		ranges []string
	}{
		"at once":                         {[]step{file}, 0, []string{""}},
		"from an offset":                  {[]step{file}, 5, []string{"bytes=4-"}},
		"cut":                             {[]step{cutAt(7, file, errCut), file}, 0, []string{"", "bytes=7-"}},
		"Range is ignored":                {[]step{cutAt(7, whole, nil), whole}, 0, []string{"", "bytes=7-"}},
		"Range is ignored, and cut again": {[]step{cutAt(9, whole, nil), cutAt(3, whole, nil), cutAt(12, whole, nil), whole}, 0, []string{"", "bytes=9-", "bytes=9-", "bytes=12-"}},
		"the URL has expired":             {[]step{answers(403, "<Error/>"), cutAt(7, file, nil), answers(403, "<Error/>"), file}, 0, []string{"", "", "bytes=7-", "bytes=7-"}},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			s := &storage{steps: c.steps}
			got, size, err := downloadFrom(t, s, c.offset)
			require.NoError(t, err)
			assert.Equal(t, testContent, got)
			assert.EqualValues(t, len(testContent), size)
			assert.Equal(t, c.ranges, s.ranges)
			assert.Equal(t, len(c.ranges), s.urls, "each request has a URL of its own")
			for _, h := range s.headers {
				h.Del("Range")
				assert.Equal(t, http.Header{"Accept-Encoding": {"identity"}}, h, "nothing of ours goes to the storage")
			}
		}))
	}
}

// A DownloadState holds enough for a later call to notice that the file has changed.
func TestAResumeIsOfTheSameFile(t *testing.T) {
	var got strings.Builder
	client := newFakeClient(t, &storage{steps: []step{cutAt(7, file, nil)}}, WithRetryPolicy(RetryPolicy{MaxTries: 1}))
	var o DownloadState
	_, err := client.FileDownloads.Download(t.Context(), downloadA, fileA, &got, &o)
	require.ErrorContains(t, err, "file "+fileA.String())
	require.ErrorContains(t, err, "the writer has 7 of 20 bytes: resume with the same state [1 tries]")
	assert.Equal(t, DownloadState{Offset: 7, Size: 20, ETag: `"1"`}, o)

	resume := func(o DownloadState, s step) error {
		var rest strings.Builder
		_, err := newFakeClient(t, &storage{steps: []step{s}}).FileDownloads.Download(t.Context(), downloadA, fileA, &rest, &o)
		if err != nil {
			require.ErrorContains(t, err, "the file has changed since its download began")
			require.ErrorContains(t, err, "start again with an empty writer")
			require.NotContains(t, err.Error(), "resume")
			assert.Empty(t, rest.String())
			assert.Zero(t, o)
		} else {
			assert.EqualValues(t, len(testContent), o.Offset)
		}
		return err
	}
	require.NoError(t, resume(o, file))
	require.NoError(t, resume(o, whole))
	require.Error(t, resume(o, answers(200, testContent, "ETag", `"2"`)))
}

func TestADownloadWithoutARedirectIsAnError(t *testing.T) {
	for name, s := range map[string]step{
		"the file itself":  answers(200, testContent, "Content-Type", "text/plain"),
		"a page":           answers(200, "<html>", "Content-Type", "text/html"),
		"another redirect": answers(301, "", "Location", testLocation),
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			_, err := newFakeClient(t, newScript(s)).FileDownloads.Download(t.Context(), downloadA, fileA, &got, nil)
			require.ErrorContains(t, err, "the writer has ")
			requireNoSignature(t, err)
			assert.Empty(t, got.String())
		})
	}
	_, err := newFakeClient(t, newScript(answers(400, `{"type":"validation_error","code":"invalid_input","detail":"This file download has expired"}`))).
		FileDownloads.Download(t.Context(), downloadA, fileA, io.Discard, nil)
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "has expired")
}

// WithTryTimeout limits the silence of a storage.
func TestADownloadFromASilentStorage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, _, err := downloadFrom(t, &storage{steps: []step{hangs}}, 0, WithTryTimeout(time.Second), WithRetryPolicy(RetryPolicy{MaxTries: 1}))
		require.ErrorIs(t, err, httptry.ErrTimeout)
		require.Equal(t, time.Second, time.Since(began))
	})
}

func requireNoSignature(t *testing.T, err error) {
	t.Helper()
	requireUnsigned(t, fmt.Sprintf("%v %+v %#v", err, err, err))
}

func requireUnsigned(t *testing.T, text string) {
	t.Helper()
	require.NotContains(t, text, "Canary")
	require.NotContains(t, text, "storage.example")
}

// shownOf is everything that a download shows: the error, the log, the calls of hooks, and the reply.
func shownOf(t *testing.T, s *storage) (shown string, reply Reply, err error) {
	t.Helper()
	var log bytes.Buffer
	client := newFakeClient(t, s, WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))), WithRetryPolicy(RetryPolicy{MaxTries: 2}), WithHooks(Hooks{
		OnCall: func(_ context.Context, r CallRecord) { fmt.Fprintf(&log, "%+v", r) },
	}))
	_, err = client.FileDownloads.Download(t.Context(), downloadA, fileA, io.Discard, nil, WithReply(&reply))
	shown = fmt.Sprintf("%s %+v %s %v %+v %#v", log.String(), reply, reply.Body, err, err, err)
	if failed, ok := errors.AsType[*APIError](err); ok {
		shown += fmt.Sprintf("%s %+v %s", failed.Body(), failed, failed.Detail)
	}
	return shown, reply, err
}

// No error, log, hook or reply holds the signed URL, even if a transport quotes it.
func TestTheSignedURLIsNotShown(t *testing.T) {
	for name, s := range map[string]*storage{
		"good":              {steps: []step{file}},
		"quoted":            {steps: []step{fails(errors.New("Get \"" + testLocation[strings.Index(testLocation, "?"):] + "\": broken"))}},
		"refused scheme":    {location: strings.Replace(testLocation, "https", "ftp", 1)},
		"not encrypted":     {location: strings.Replace(testLocation, "https", "http", 1)},
		"with a password":   {location: strings.Replace(testLocation, "bucket", "user:CanaryPassword@bucket", 1)},
		"relative":          {location: "/login?next=" + testSignature},
		"not a URL":         {location: "https://bucket.storage.example/%zz?" + testSignature},
		"none":              {location: " "},
		"storage echoes it": {steps: []step{answers(404, "no "+testLocation, "Location", testLocation)}},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			shown, _, err := shownOf(t, s)
			require.Equal(t, name == "good", err == nil)
			requireUnsigned(t, shown)
			assert.LessOrEqual(t, len(s.ranges), 2)
		}))
	}
}

func TestTheSignedURLIsNotShownWhateverTheStatus(t *testing.T) {
	escaped := strings.ReplaceAll(testLocation, "/", `\/`)
	for name, body := range map[string]string{
		"text":        "moved to " + testLocation,
		"page":        `<html><a href="` + testLocation + `">`,
		"JSON":        `{"url":"` + testLocation + `"}`,
		"own JSON":    `{"type":"validation_error","code":"moved","detail":"to ` + testLocation + `"}`,
		"escaped":     `{"type":"validation_error","code":"moved","detail":"d","attr":null,"to":"` + escaped + `"}`,
		"query alone": `{"type":"validation_error","code":"moved","detail":"/f\u003fX-Amz-Signature\u003d` + testSignature + `"}`,
	} {
		t.Run(name, bubble(func(t *testing.T) {
			for _, status := range []int{200, 202, 300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 429, 500, 503} {
				shown, reply, err := shownOf(t, &storage{steps: []step{file}, service: answers(status, body, "Location", testLocation)})
				require.Equal(t, status == http.StatusFound, err == nil, status)
				requireUnsigned(t, shown)
				if err != nil {
					assert.Equal(t, status, reply.StatusCode)
				}
			}
		}))
	}
}
