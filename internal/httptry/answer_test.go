package httptry

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// bodied answers with a body that is read as it comes, of unknown length.
func bodied(status int, body io.Reader) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		resp, err := answers(status, "")(r)
		resp.ContentLength, resp.TransferEncoding, resp.Body = -1, []string{"chunked"}, io.NopCloser(body)
		return resp, err
	}
}

type errReader struct{ err error }

func (r errReader) Read([]byte) (int, error) { return 0, r.err }

type zeros struct{ read int64 }

func (z *zeros) Read(p []byte) (int, error) {
	clear(p)
	z.read += int64(len(p))
	return len(p), nil
}

// An answer is read up to its limit. For a success with an unreadable body, the facts have its status.
func TestReadAnswer(t *testing.T) {
	cut := func(body string) io.Reader {
		return io.MultiReader(strings.NewReader(body), errReader{io.ErrUnexpectedEOF})
	}
	for name, tt := range map[string]struct {
		base     roundTrip
		most     int64
		is       error
		answered int
	}{
		"whole":                       {answers(200, `{"a":1}`), 100, nil, 0},
		"as long as it may be":        {answers(200, `{"a":1}`), 7, nil, 0},
		"too big":                     {answers(200, `{"a":1}`), 6, ErrTooBig, 200},
		"cut off":                     {bodied(201, cut(`{"a":`)), 100, io.ErrUnexpectedEOF, 201},
		"cut off, not needed":         {bodied(201, cut(`{"a":`)), 0, nil, 0},
		"cut off, no success":         {bodied(503, cut(`{"a":`)), 100, nil, 0},
		"a page that is cut off":      {bodied(200, cut("<html>")), 100, io.ErrUnexpectedEOF, 0},
		"a status that is not final":  {answers(103, ""), 100, errNotFinal, 0},
		"no answer":                   {fails(nil), 100, ErrNoAnswer, 0},
		"JSON ended by the end only":  {endsWith(`{"a":`), 100, io.ErrUnexpectedEOF, 200},
		"whole JSON ended by the end": {endsWith(` {"a":1} `), 100, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			plan := Plan{MaxBytes: tt.most}
			_, err := do(t, tt.base, &plan)
			facts := plan.take(nil, nil)
			require.Equal(t, tt.answered, facts.Answered)
			require.False(t, facts.Unsent)
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
				return
			}
			require.NoError(t, err)
		})
	}
}

// endsWith answers with a body that only the end of the connection ends.
func endsWith(body string) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		resp, err := answers(200, body)(r)
		resp.ContentLength = -1
		return resp, err
	}
}

// Bodies are bounded, that of an error at fewer bytes and in time.
func TestBodiesAreBounded(t *testing.T) {
	var endless zeros
	_, err := do(t, bodied(200, &endless), &Plan{MaxBytes: MaxAnswer, Timeout: time.Minute})
	require.ErrorIs(t, err, ErrTooBig)
	require.EqualValues(t, MaxAnswer+1, endless.read)

	endless.read = 0
	a, err := do(t, bodied(400, &endless), &Plan{MaxBytes: MaxAnswer})
	require.NoError(t, err)
	require.Len(t, a.Body, MaxErrorBody)
	require.EqualValues(t, MaxErrorBody+1, endless.read)

	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		slow := func(r *http.Request) (*http.Response, error) { return bodied(503, trickle{r.Context()})(r) }
		a, err := do(t, slow, &Plan{Timeout: time.Minute})
		require.NoError(t, err)
		require.Equal(t, 503, a.Status)
		require.InDelta(t, ErrorBodyTime, time.Since(start), float64(50*time.Millisecond))
	})
}

// trickle is a body that gives a byte at a time until its request ends.
type trickle struct {
	ctx context.Context //nolint:containedctx // of the request it belongs to
}

func (b trickle) Read(p []byte) (int, error) {
	select {
	case <-b.ctx.Done():
		return 0, context.Cause(b.ctx)
	case <-time.After(20 * time.Millisecond):
		p[0] = 'x'
		return 1, nil
	}
}

// A transport may leave the body out, and give a Location that is not a URL: it is not shown.
func TestSparseAnswer(t *testing.T) {
	a, err := do(t, func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 302, Header: http.Header{"Location": {"http://[::1/secret"}}}, nil
	}, new(Plan))
	require.NoError(t, err)
	require.Empty(t, a.Body)
	require.Empty(t, a.Header.Get("Location"))
}

func TestIsCut(t *testing.T) {
	for body, want := range map[string]bool{
		"": false, "Ok": false, "{}": false, " [1] ": false, `"a`: false,
		"{": true, ` {"a":1`: true, "[1": true, "{}{}": true,
	} {
		require.Equal(t, want, IsCut([]byte(body)), body)
	}
}
