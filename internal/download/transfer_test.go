package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/httptry"
)

const content = "0123456789abcdefghij"

var (
	errChanged = errors.New("the file has changed")
	errCut     = errors.New("the connection was cut")
)

type failure struct {
	have  Progress
	cause error
}

func (f *failure) Error() string { return f.cause.Error() }
func (f *failure) Unwrap() error { return f.cause }

type step func(*http.Request) (*http.Response, error)

type storage struct {
	steps  []step
	urls   int
	ranges []string // requested ranges, one for each request
}

func (s *storage) config(maxTries int) Config {
	return Config{
		Locate: func(context.Context) (*url.URL, error) {
			s.urls++
			return url.Parse("https://storage.example/file?signature=Canary")
		},
		Do: func(r *http.Request) (*http.Response, error) {
			s.ranges = append(s.ranges, r.Header.Get("Range"))
			return s.steps[min(len(s.ranges), len(s.steps))-1](r)
		},
		Failed:  func(have Progress, err error) error { return &failure{have, err} },
		Changed: errChanged,
		Retry:   httptry.Policy{MaxTries: maxTries, BaseDelay: time.Second, MaxDelay: time.Minute},
		Idle:    10 * time.Second,
	}
}

func answer(status int, body string, headers ...string) *http.Response {
	h := http.Header{}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Add(headers[i], headers[i+1])
	}
	return &http.Response{
		StatusCode: status, Header: h, ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)),
	}
}

func answers(status int, body string, headers ...string) step {
	return func(*http.Request) (*http.Response, error) { return answer(status, body, headers...), nil }
}

func part206(body, place string) step { return answers(206, body, "Content-Range", "bytes "+place) }

func fails(err error) step { return func(*http.Request) (*http.Response, error) { return nil, err } }

// fileOf answers like a storage, with support for Range.
func fileOf(etag, text string) step {
	return func(r *http.Request) (*http.Response, error) {
		from := 0
		switch n, _ := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); {
		case n == 0:
			return answer(200, text, "ETag", etag), nil
		case from >= len(text):
			return answer(416, "", "Content-Range", fmt.Sprintf("bytes */%d", len(text))), nil
		}
		part := fmt.Sprintf("bytes %d-%d/%d", from, len(text)-1, len(text))
		return answer(206, text[from:], "ETag", etag, "Content-Range", part), nil
	}
}

var file = fileOf(`"1"`, content)

const cutETag = `"cut"`

var cutFile = fileOf(cutETag, content)

func rest(headers ...string) step {
	return answers(206, content[7:], append(headers, "Content-Range", "bytes 7-19/20")...)
}

var whole = answers(200, content, "ETag", `"1"`)

// cutAt is a step with a body that ends after n bytes, with an error or, for io.EOF, without one.
func cutAt(n int, inner step, err error) step {
	return func(r *http.Request) (*http.Response, error) {
		resp, _ := inner(r)
		body, _ := io.ReadAll(resp.Body)
		resp.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body[:min(n, len(body))]), failing{err}))
		return resp, nil
	}
}

func with(change func(*http.Response)) step {
	return func(r *http.Request) (*http.Response, error) {
		resp, _ := file(r)
		change(resp)
		return resp, nil
	}
}

var longer = with(func(r *http.Response) {
	r.Body = io.NopCloser(io.MultiReader(r.Body, strings.NewReader("x")))
})

var decompressed = with(func(r *http.Response) { r.Uncompressed = true })

var unsized = with(func(r *http.Response) { r.ContentLength = -1 })

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestATransferResumesWhereItWas(t *testing.T) {
	for name, c := range map[string]struct {
		steps  []step
		have   Progress
		ranges []string
	}{
		"at once":            {[]step{file}, Progress{}, []string{""}},
		"from an offset":     {[]step{file}, Progress{At: 5}, []string{"bytes=4-"}},
		"of a known size":    {[]step{file}, Progress{At: 5, Size: 20}, []string{"bytes=5-"}},
		"nothing is missing": {[]step{file}, Progress{At: 20, Size: 20}, []string{"bytes=19-"}},
		"cut":                {[]step{cutAt(7, file, errCut), file}, Progress{}, []string{"", "bytes=7-"}},
		"cut silently":       {[]step{cutAt(7, file, io.EOF), file}, Progress{}, []string{"", "bytes=7-"}},
		"only a part": {
			[]step{part206(content[:5], "0-4/20"), file},
			Progress{},
			[]string{"", "bytes=5-"},
		},
		"another version, not begun": {[]step{file}, Progress{Size: 3, ETag: `"0"`}, []string{""}},
		"Range is ignored":           {[]step{cutAt(7, whole, io.EOF), whole}, Progress{}, []string{"", "bytes=7-"}},
		"no answer":                  {[]step{fails(errCut), file}, Progress{}, []string{"", ""}},
		"no ETag at the end":         {[]step{cutAt(7, file, io.EOF), rest()}, Progress{}, []string{"", "bytes=7-"}},
		"the URL has expired":        {[]step{answers(403, ""), file}, Progress{}, []string{"", ""}},
		"three cuts in 2 tries": {
			[]step{cutAt(7, file, io.EOF), cutAt(2, file, io.EOF), cutAt(2, file, errCut), file},
			Progress{},
			[]string{"", "bytes=7-", "bytes=9-", "bytes=11-"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &storage{steps: c.steps}
				got := bytes.NewBufferString(content[:c.have.At])
				size, err := File(t.Context(), s.config(2), got, c.have)
				require.NoError(t, err)
				assert.Equal(t, content, got.String())
				assert.EqualValues(t, len(content), size)
				assert.Equal(t, c.ranges, s.ranges)
				assert.Equal(t, len(c.ranges), s.urls, "each request has a URL of its own")
			})
		})
	}
}

func TestATransferThatIsNotWhole(t *testing.T) {
	known := Progress{At: 5, Size: 20, ETag: `"1"`}
	unknown := func(at int64) Progress { return Progress{At: at, Size: -1, Tries: 1} }
	for name, c := range map[string]struct {
		step step
		have Progress
		want string
		left Progress
	}{
		"what was of no use":   {answers(404, ""), Progress{Size: 3, ETag: `"0"`}, "404 Not Found", unknown(0)},
		"no further try helps": {answers(404, ""), Progress{}, "404 Not Found", unknown(0)},
		"all tries fail":       {answers(503, ""), known, "503 Service Unavailable", Progress{5, 20, `"1"`, 3}},
		"cut at the same byte": {cutAt(7, whole, errCut), Progress{}, "cut off", Progress{7, 20, `"1"`, 3}},
		"another size":         {fileOf(`"1"`, content+"x"), known, "changed: 21 bytes now, 20 before", Progress{5, 20, `"1"`, 1}},
		"another ETag":         {fileOf(`"2"`, content), known, "changed: the ETag differs", Progress{5, 20, `"1"`, 1}},
		"shorter":              {fileOf(`"1"`, "0"), Progress{At: 5}, "changed: 1 bytes, fewer than Offset", unknown(5)},
		"nothing there":        {answers(416, ""), Progress{At: 5}, "changed: the storage has nothing after so many bytes", unknown(5)},
		"encoded":              {answers(200, "x", "Content-Encoding", "br"), Progress{}, "another encoding", unknown(0)},
		"longer":               {longer, Progress{}, "changed: the storage sent more than it announced", Progress{20, 20, `"1"`, 1}},
		"less than it names":   {part206("56", "5-19/20"), Progress{At: 5}, "more or less", Progress{5, -1, "", 3}},
		"a part of no place":   {answers(206, "xx"), Progress{At: 5}, "which part", unknown(5)},
		"a shorter whole":      {answers(200, "0123"), Progress{At: 5}, "changed: 4 bytes, fewer than Offset", unknown(5)},
		"a part, encoded":      {answers(206, "56", "Content-Encoding", "br", "Content-Range", "bytes 5-6/20"), Progress{At: 5}, "another encoding", unknown(5)},
		"a part further on":    {part206("67", "6-7/20"), Progress{At: 5}, "which part", unknown(5)},
		"decompressed":         {decompressed, Progress{}, "decompresses", unknown(0)},
		"no length":            {unsized, Progress{}, "does not send the size", unknown(0)},
		"a message":            {answers(200, "<Error/>", "Content-Type", "application/xml"), Progress{}, "XML instead of the file", Progress{0, -1, "", 3}},
		"an unmarked message":  {answers(200, "<?xml version='1.0'?><Error/>", "Content-Type", ""), Progress{}, "XML instead of the file", Progress{0, 29, "", 3}},
		"meanwhile, a size":    {part206("xx", "7-8/9"), Progress{}, "changed: 9 bytes now, 20 before", Progress{7, 20, cutETag, 2}},
		"meanwhile, an ETag":   {rest("ETag", `"2"`), Progress{}, "changed: the ETag differs", Progress{7, 20, cutETag, 2}},
		"a page":               {answers(200, "x", "Content-Type", "text/html"), Progress{}, "an HTML page", unknown(0)},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &storage{steps: []step{c.step}}
				if c.left.ETag == cutETag { // it changes between two tries
					s.steps = []step{cutAt(7, cutFile, io.EOF), c.step}
				}
				_, err := File(t.Context(), s.config(3), io.Discard, c.have)
				require.ErrorContains(t, err, c.want)
				var failed *failure
				require.ErrorAs(t, err, &failed)
				assert.Equal(t, c.left, failed.have)
				assert.Equal(t, strings.Contains(c.want, "changed"), errors.Is(err, errChanged))
				_, isPassing := errors.AsType[passing](err)
				assert.False(t, isPassing)
			})
		})
	}
}

func TestATransferWithoutALocation(t *testing.T) {
	c := new(storage).config(3)
	c.Locate = func(context.Context) (*url.URL, error) { return nil, errCut }
	_, err := File(t.Context(), c, io.Discard, Progress{At: 5})
	require.Equal(t, &failure{Progress{At: 5, Size: -1}, errCut}, err, "the caller has tried already")
}

func TestATransferEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := File(ctx, (&storage{steps: []step{answers(503, "")}}).config(3), io.Discard, Progress{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "503 Service Unavailable (the call was ended: ")

		silent := func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, errors.New("quoting " + r.URL.String())
		}
		began := time.Now()
		_, err = File(t.Context(), (&storage{steps: []step{silent}}).config(1), io.Discard, Progress{})
		require.ErrorIs(t, err, httptry.ErrTimeout)
		require.NotContains(t, err.Error(), "Canary")
		assert.Equal(t, 10*time.Second, time.Since(began))
	})
}

// A storage that stalls costs a try; one that sends something now and then does not.
func TestAStorageThatStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stalls := func(r *http.Request) (*http.Response, error) {
			resp, _ := file(r)
			resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(content[:3]), readerFunc(func([]byte) (int, error) {
				<-r.Context().Done()
				return 0, r.Context().Err()
			})))
			return resp, nil
		}
		drips := func(r *http.Request) (*http.Response, error) {
			resp, _ := file(r)
			body := resp.Body
			resp.Body = io.NopCloser(readerFunc(func(p []byte) (int, error) {
				time.Sleep(9 * time.Second)
				return body.Read(p[:1])
			}))
			return resp, nil
		}
		began, s := time.Now(), &storage{steps: []step{stalls, drips}}
		var got bytes.Buffer
		_, err := File(t.Context(), s.config(2), &got, Progress{})
		require.NoError(t, err)
		assert.Equal(t, content, got.String())
		assert.Equal(t, []string{"", "bytes=3-"}, s.ranges)
		assert.Greater(t, time.Since(began), 17*9*time.Second)

		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		_, err = File(ctx, (&storage{steps: []step{stalls}}).config(2), io.Discard, Progress{})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		var failed *failure
		require.ErrorAs(t, err, &failed)
		assert.EqualValues(t, 3, failed.have.At)
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// The time limit applies to the storage, not to the writer.
func TestASlowWriter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got bytes.Buffer
		s := &storage{steps: []step{func(r *http.Request) (*http.Response, error) {
			resp, _ := file(r)
			resp.Body = io.NopCloser(&pieces{resp.Body, r.Context()})
			return resp, nil
		}}}
		_, err := File(t.Context(), s.config(1), slow{&got}, Progress{})
		require.NoError(t, err)
		assert.Equal(t, content, got.String())
	})
}

type slow struct{ io.Writer }

func (w slow) Write(p []byte) (int, error) {
	time.Sleep(time.Minute)
	return w.Writer.Write(p)
}

// pieces is a body in halves, which ends with the request.
type pieces struct {
	io.Reader

	ctx context.Context
}

func (b *pieces) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, b.ctx.Err()
	}
	return b.Reader.Read(p[:min(len(p), len(content)/2)])
}

// short has room for a few bytes only, and may or may not report that.
type short struct {
	room int
	err  error
}

func (w *short) Write(p []byte) (int, error) { return min(len(p), w.room), w.err }

func TestAWriterThatFails(t *testing.T) {
	for _, w := range []*short{{6, errCut}, {6, nil}} {
		s := &storage{steps: []step{file}}
		_, err := File(t.Context(), s.config(3), w, Progress{})
		require.ErrorContains(t, err, "the writer failed")
		var failed *failure
		require.ErrorAs(t, err, &failed)
		assert.Equal(t, Progress{6, 20, `"1"`, 1}, failed.have)
	}
}
