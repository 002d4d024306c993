package hogapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
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
		"nothing is missing":              {[]step{file}, 20, []string{"bytes=19-"}},
		"cut":                             {[]step{cutAt(7, file, errCut), file}, 0, []string{"", "bytes=7-"}},
		"cut silently":                    {[]step{cutAt(7, file, nil), file}, 0, []string{"", "bytes=7-"}},
		"cut twice":                       {[]step{cutAt(7, file, nil), cutAt(6, file, errCut), file}, 0, []string{"", "bytes=7-", "bytes=13-"}},
		"cut before the first byte":       {[]step{cutAt(0, file, nil), file}, 0, []string{"", ""}},
		"Range is ignored":                {[]step{cutAt(7, whole, nil), whole}, 0, []string{"", "bytes=7-"}},
		"Range is ignored, and cut again": {[]step{cutAt(9, whole, nil), cutAt(3, whole, nil), cutAt(12, whole, nil), whole}, 0, []string{"", "bytes=9-", "bytes=9-", "bytes=12-"}},
		"the URL has expired":             {[]step{answers(403, "<Error/>"), cutAt(7, file, nil), answers(403, "<Error/>"), file}, 0, []string{"", "", "bytes=7-", "bytes=7-"}},
		"storage is busy":                 {[]step{answers(503, "SlowDown"), file}, 0, []string{"", ""}},
		"no answer":                       {[]step{fails(errCut), file}, 0, []string{"", ""}},
		"an encoding that is none":        {[]step{answers(200, testContent, "Content-Encoding", "Identity")}, 0, []string{""}},
		"a part only": {[]step{func(r *http.Request) (*http.Response, error) {
			return answer(r, 206, testContent[:5], "Content-Range", "bytes 0-4/20"), nil
		}, file}, 0, []string{"", "bytes=5-"}},
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

func TestADownloadThatIsNotWholeIsAnError(t *testing.T) {
	for name, c := range map[string]struct {
		step   step
		offset int64 // before
		want   string
		at     int64 // after
		tries  int
	}{
		"always cut":            {cutAt(0, file, nil), 0, "cut off", 0, 4},
		"cut, Range is ignored": {cutAt(7, whole, errCut), 0, "cut off", 7, 4},
		"no length":             {unsized, 0, "how large", 0, 1},
		"not found":             {answers(404, "<Error/>"), 0, "404 Not Found", 0, 1},
		"forbidden":             {answers(403, "<Error/>"), 0, "403 Forbidden", 0, 4},
		"a redirect":            {answers(307, "", "Location", testLocation), 0, "307 Temporary Redirect", 0, 1},
		"a page":                {answers(200, "<html>", "Content-Type", "text/html"), 0, "an HTML page", 0, 1},
		"longer than announced": {longer1, 0, "more than it announced", 20, 1},
		"another part":          {answers(206, "xx", "Content-Range", "bytes 7-8/20"), 5, "which part", 5, 1},
		"less than it names":    {answers(206, "56", "Content-Range", "bytes 5-19/20"), 5, "more or less", 5, 4},
		"a part without range":  {answers(206, "xx"), 5, "which part", 5, 1},
		"416 without a size":    {answers(416, ""), 5, "nothing after so many bytes", 5, 1},
		"416 for a shorter one": {answers(416, "", "Content-Range", "bytes */4"), 5, "shorter than Offset", 5, 1},
		"200 for a shorter one": {answers(200, "0123"), 5, "shorter than Offset", 5, 1},
		"decompressed":          {uncompressed, 0, "decompresses", 0, 1},
		"compressed":            {answers(200, "br", "Content-Encoding", "br"), 0, "another encoding", 0, 1},
		"a part, compressed":    {answers(206, "56", "Content-Encoding", "br", "Content-Range", "bytes 5-6/20"), 5, "another encoding", 5, 1},
		"compressed twice":      {twiceEncoded, 0, "another encoding", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &storage{steps: []step{c.step}}
				got, size, err := downloadFrom(t, s, c.offset)
				var failed *DownloadError
				require.ErrorAs(t, err, &failed)
				require.ErrorContains(t, err, c.want)
				assert.Zero(t, size)
				assert.Equal(t, c.at, failed.Offset)
				assert.Equal(t, testContent[:c.at], got)
				assert.Equal(t, fileA, failed.File)
				assert.Equal(t, c.tries, failed.Tries)
				assert.Len(t, s.ranges, c.tries)
				requireNoSignature(t, err)
			})
		})
	}
}

func unsized(r *http.Request) (*http.Response, error) {
	resp := answer(r, 200, testContent)
	resp.ContentLength = -1
	return resp, nil
}

func longer1(r *http.Request) (*http.Response, error) {
	resp, _ := file(r)
	resp.Body = io.NopCloser(io.MultiReader(resp.Body, strings.NewReader("x")))
	return resp, nil
}

func uncompressed(r *http.Request) (*http.Response, error) {
	resp, _ := file(r)
	resp.Uncompressed = true
	return resp, nil
}

func twiceEncoded(r *http.Request) (*http.Response, error) {
	resp, _ := file(r)
	resp.Header["Content-Encoding"] = []string{"identity", "gzip"}
	return resp, nil
}

func TestADownloadIsOfOneFile(t *testing.T) {
	other := func(headers ...string) step {
		return func(r *http.Request) (*http.Response, error) {
			return answer(r, 206, testContent[7:], append([]string{"Content-Range", "bytes 7-19/20"}, headers...)...), nil
		}
	}
	_, _, err := downloadFrom(t, &storage{steps: []step{cutAt(7, file, nil), other("ETag", `"2"`)}}, 0)
	require.ErrorContains(t, err, "the file has changed")
	_, _, err = downloadFrom(t, &storage{steps: []step{cutAt(7, file, nil), answers(206, "xx", "Content-Range", "bytes 7-8/9")}}, 0)
	require.ErrorContains(t, err, "the file has changed")
	_, _, err = downloadFrom(t, &storage{steps: []step{cutAt(7, file, nil), other()}}, 0)
	require.NoError(t, err, "no ETag is no other one")
}

// What a DownloadError carries is enough to notice in a later call that the file is another one.
func TestAResumeIsOfTheSameFile(t *testing.T) {
	var got strings.Builder
	client := newFakeClient(t, &storage{steps: []step{cutAt(7, file, nil)}}, WithRetryPolicy(RetryPolicy{MaxTries: 1}))
	_, err := client.FileDownloads.Download(t.Context(), downloadA, fileA, &got, nil)
	var failed *DownloadError
	require.ErrorAs(t, err, &failed)
	require.NotErrorIs(t, err, ErrFileChanged)
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
			var failed *DownloadError
			require.ErrorAs(t, err, &failed)
			requireNoSignature(t, err)
			assert.Empty(t, got.String())
		})
	}
	_, err := newFakeClient(t, newScript(answers(400, `{"type":"validation_error","code":"invalid_input","detail":"This file download has expired"}`))).
		FileDownloads.Download(t.Context(), downloadA, fileA, io.Discard, nil)
	require.ErrorIs(t, err, ErrInvalid)
	require.ErrorContains(t, err, "has expired")
}

type shortWriter struct{ room int }

func (w *shortWriter) Write(p []byte) (int, error) {
	n := min(len(p), w.room)
	w.room -= n
	if n < len(p) {
		return n, errors.New("disk full")
	}
	return n, nil
}

func TestAWriterThatFailsEndsTheDownload(t *testing.T) {
	s := &storage{steps: []step{file}}
	_, err := newFakeClient(t, s).FileDownloads.Download(t.Context(), downloadA, fileA, &shortWriter{6}, nil)
	var failed *DownloadError
	require.ErrorAs(t, err, &failed)
	assert.EqualValues(t, 6, failed.Offset)
	require.ErrorContains(t, err, "disk full")
	assert.Len(t, s.ranges, 1)
}

// A storage that stalls costs an attempt; a slow one that sends something now and then does not.
func TestADownloadThatStallsIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stalls := func(r *http.Request) (*http.Response, error) {
			resp, _ := file(r)
			resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(testContent[:3]), stalled{r.Context()}))
			return resp, nil
		}
		drips := func(r *http.Request) (*http.Response, error) {
			resp, _ := file(r)
			resp.Body = io.NopCloser(slowly{resp.Body, 9 * time.Second})
			return resp, nil
		}
		began := time.Now()
		s := &storage{steps: []step{hangs, stalls, drips}}
		got, _, err := downloadFrom(t, s, 0, WithTryTimeout(10*time.Second))
		require.NoError(t, err)
		assert.Equal(t, testContent, got)
		assert.Equal(t, []string{"", "", "bytes=3-"}, s.ranges)
		assert.InDelta(t, 20+9*18, time.Since(began).Seconds(), 2, "two time limits, then 17 bytes and the end at 9 s each")

		_, _, err = downloadFrom(t, &storage{steps: []step{hangs}}, 0, WithTryTimeout(time.Second))
		require.ErrorIs(t, err, httptry.ErrTimeout)

		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err = newFakeClient(t, &storage{steps: []step{stalls}}).FileDownloads.Download(ctx, downloadA, fileA, io.Discard, nil)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var failed *DownloadError
		require.ErrorAs(t, err, &failed)
		assert.EqualValues(t, 3, failed.Offset)
	})
}

type stalled struct{ ctx context.Context }

func (s stalled) Read([]byte) (int, error) {
	<-s.ctx.Done()
	return 0, s.ctx.Err()
}

// slowly gives one byte at a time.
type slowly struct {
	io.Reader

	wait time.Duration
}

func (s slowly) Read(p []byte) (int, error) {
	time.Sleep(s.wait)
	return s.Reader.Read(p[:1])
}

func requireNoSignature(t *testing.T, err error) {
	t.Helper()
	for _, text := range []string{err.Error(), fmt.Sprintf("%+v", err), fmt.Sprintf("%#v", err)} {
		require.NotContains(t, text, "Canary")
		require.NotContains(t, text, "storage.example")
	}
}

// The signed URL is in no error, log, hook or reply, also where a transport quotes it.
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

// errQuoting is an error of a transport that quotes what it was asked for, or what it was sent.
var errQuoting = errors.New(`malformed HTTP response "{\"distinct_id\":\"CanaryPerson\"}" from ` + testLocation)

func TestErrorsOfTheStorageAreInFixedWords(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	reset := &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	lost := &net.DNSError{Err: "no such host", Name: "bucket.storage.example", IsNotFound: true}
	for name, c := range map[string]struct {
		err   error
		want  string
		cause error // that is still found
	}{
		"refused":          {refused, "connection refused", syscall.ECONNREFUSED},
		"reset":            {reset, "connection reset", syscall.ECONNRESET},
		"reset, quoted":    {fmt.Errorf("%s: %w", testLocation, reset), "connection reset", syscall.ECONNRESET},
		"timeout":          {&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, "did not answer in time", os.ErrDeadlineExceeded},
		"no such name":     {lost, "the name of its host was not found", nil},
		"name, no answer":  {&net.DNSError{Err: "server misbehaving", Name: "bucket.storage.example"}, "could not be looked up", nil},
		"certificate":      {&tls.CertificateVerificationError{Err: x509.HostnameError{Host: "bucket.storage.example", Certificate: &x509.Certificate{}}}, "certificate", nil},
		"no TLS":           {tls.RecordHeaderError{Msg: "Canary"}, "does not speak TLS", nil},
		"HTTP":             {http.ErrSchemeMismatch, "does not speak TLS", nil},
		"not HTTP":         {errQuoting, "does not speak HTTP", nil},
		"ended":            {fmt.Errorf("http: %w", io.EOF), "ended", io.ErrUnexpectedEOF},
		"ended in between": {io.ErrUnexpectedEOF, "ended", io.ErrUnexpectedEOF},
		"something else":   {errors.New("proxy refuses " + testLocation), "the connection failed", nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				for where, s := range map[string]step{"no answer from the storage": fails(c.err), "the file was cut off": cutAt(3, file, c.err)} {
					_, _, err := downloadFrom(t, &storage{steps: []step{s, fails(c.err)}}, 0, WithRetryPolicy(RetryPolicy{MaxTries: 1}))
					require.ErrorContains(t, err, where+": ")
					require.ErrorContains(t, err, c.want)
					if c.cause != nil {
						require.ErrorIs(t, err, c.cause)
					}
					for cause := err; cause != nil; cause = errors.Unwrap(cause) {
						requireNoSignature(t, cause)
					}
				}
			})
		})
	}
}
