package hogapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/httptry"
)

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
	size, err := client.FileDownloads.Download(t.Context(), downloadA, fileA, &got, &DownloadOptions{Offset: offset})
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

// A DownloadError holds enough for a later call to notice that the file has changed.
func TestAResumeIsOfTheSameFile(t *testing.T) {
	var got strings.Builder
	client := newFakeClient(t, &storage{steps: []step{cutAt(7, file, nil)}}, WithRetryPolicy(RetryPolicy{MaxTries: 1}))
	_, err := client.FileDownloads.Download(t.Context(), downloadA, fileA, &got, nil)
	var failed *DownloadError
	require.ErrorAs(t, err, &failed)
	require.NotErrorIs(t, err, ErrFileChanged)
	assert.Equal(t, fileA, failed.File)
	assert.Equal(t, 1, failed.Tries)
	o := DownloadOptions{Offset: failed.Offset, Size: failed.Size, ETag: failed.ETag}
	assert.Equal(t, DownloadOptions{Offset: 7, Size: 20, ETag: `"1"`}, o)

	resume := func(o DownloadOptions, s step) error {
		var rest strings.Builder
		_, err := newFakeClient(t, &storage{steps: []step{s}}).FileDownloads.Download(t.Context(), downloadA, fileA, &rest, &o)
		if err != nil {
			require.ErrorIs(t, err, ErrFileChanged)
			require.ErrorContains(t, err, "start again at Offset 0, in an empty writer")
			require.NotContains(t, err.Error(), "resume")
			assert.Empty(t, rest.String())
		}
		return err
	}
	require.NoError(t, resume(o, file))
	require.NoError(t, resume(o, whole))
	require.Error(t, resume(o, fileOf(`"2"`, testContent)))
	require.Error(t, resume(o, answers(416, "")))
}

// fileOf is file with another ETag and content.
func fileOf(etag, content string) step {
	return func(r *http.Request) (*http.Response, error) {
		w := httptest.NewRecorder()
		w.Header().Set("ETag", etag)
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(content))
		resp := w.Result()
		resp.Request = r
		return resp, nil
	}
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
			require.ErrorAs(t, err, new(*DownloadError))
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

// shownOf is all that is shown of a download: the error, the log, what hooks receive, and the reply.
func shownOf(t *testing.T, s *storage) (shown string, reply Reply, err error) {
	t.Helper()
	var log bytes.Buffer
	client := newFakeClient(t, s, WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))), WithRetryPolicy(RetryPolicy{MaxTries: 2}), WithHooks(Hooks{
		OnTry:    func(_ context.Context, e TryInfo) { fmt.Fprintf(&log, "%+v", e) },
		OnResult: func(_ context.Context, e ResultInfo) { fmt.Fprintf(&log, "%+v", e) },
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
