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

// storage is a service that redirects every download, and the storage that it leads to. Each request to the storage plays the next
// step; the last one again and again.
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
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
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
			})
		})
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
	require.Error(t, resume(o, fileOf(`"1"`, testContent+"x")))
	require.Error(t, resume(o, fileOf(`"1"`, "0")), "a 416 with the size")
	require.Error(t, resume(o, answers(416, "")))
	o = DownloadOptions{Offset: 20, Size: 20, ETag: `"1"`}
	require.NoError(t, resume(o, file), "nothing is missing, which is checked")
	require.Error(t, resume(o, fileOf(`"2"`, testContent)))
	o = DownloadOptions{Size: 20, ETag: `"1"`}
	require.NoError(t, resume(o, fileOf(`"2"`, "x")), "there is nothing that it could be mixed with")
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
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
		require.NotContains(t, text, "Canary")
		require.NotContains(t, text, "storage.example")
	}
}

// No error, log, hook or reply holds the signed URL, even if a transport quotes it.
func TestTheSignedURLIsNotShown(t *testing.T) {
	var logged bytes.Buffer
	var reply Reply
	logger := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
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
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := newFakeClient(t, s, WithLogger(logger), WithRetryPolicy(RetryPolicy{MaxTries: 2}), WithHooks(Hooks{
					OnTry:    func(_ context.Context, e TryInfo) { fmt.Fprintf(&logged, "%+v", e) },
					OnResult: func(_ context.Context, e ResultInfo) { fmt.Fprintf(&logged, "%+v", e) },
				}))
				_, err := client.FileDownloads.Download(t.Context(), downloadA, fileA, io.Discard, nil, WithReply(&reply))
				if name == "good" {
					require.NoError(t, err)
				} else {
					requireNoSignature(t, err)
					assert.Empty(t, s.ranges[min(len(s.ranges), 2):])
				}
				for _, shown := range []string{logged.String(), fmt.Sprintf("%+v %s", reply, reply.Body)} {
					assert.NotContains(t, shown, "Canary")
					assert.NotContains(t, shown, "storage.example")
				}
			})
		})
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
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for _, status := range []int{200, 202, 300, 301, 302, 303, 304, 307, 308, 400, 401, 403, 404, 429, 500, 503} {
					var logged bytes.Buffer
					var reply Reply
					logger := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
					moved := answers(status, body, "Location", testLocation)
					client := newFakeClient(t, &storage{steps: []step{file}, service: moved}, WithLogger(logger))
					_, err := client.FileDownloads.Download(t.Context(), downloadA, fileA, io.Discard, nil, WithReply(&reply))
					if status == http.StatusFound {
						require.NoError(t, err)
					} else {
						requireNoSignature(t, err)
						assert.Equal(t, status, reply.StatusCode)
					}
					if failed, ok := errors.AsType[*APIError](err); ok {
						assert.NotContains(t, fmt.Sprintf("%s %+v %s", failed.Body(), failed, failed.Detail), "Canary", status)
					}
					for _, shown := range []string{logged.String(), fmt.Sprintf("%+v %s", reply, reply.Body)} {
						assert.NotContains(t, shown, "Canary", status)
						assert.NotContains(t, shown, "storage.example", status)
					}
				}
			})
		})
	}
}
