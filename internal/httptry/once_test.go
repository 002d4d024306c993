package httptry

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/mask"
)

const testKey = "phc_CanaryProjectKey0123456789"

func once(t *testing.T, base roundTrip) Try {
	target, err := url.Parse(home)
	require.NoError(t, err)
	return Once(t.Context(), NewClients(&http.Client{Transport: base}, 0, nil, nil).Capture(), Request{
		Plan:   Plan{Timeout: time.Second, MaxBytes: 100},
		Method: http.MethodPost, URL: target, Header: http.Header{"Content-Encoding": {"gzip"}},
		Open: func() io.ReadCloser { return io.NopCloser(strings.NewReader("body")) }, Size: 4, Keys: []string{testKey},
	})
}

// The request as it goes out, and its answer without the keys.
func TestOnce(t *testing.T) {
	a := once(t, func(r *http.Request) (*http.Response, error) {
		first := func() (io.ReadCloser, error) { return r.Body, nil }
		for _, open := range []func() (io.ReadCloser, error){first, r.GetBody} {
			body, err := open()
			require.NoError(t, err)
			sent, err := io.ReadAll(body)
			require.NoError(t, err)
			require.Equal(t, "body", string(sent))
		}
		require.Equal(t, "POST "+home, r.Method+" "+r.URL.String())
		require.EqualValues(t, 4, r.ContentLength)
		require.Equal(t, http.Header{"Content-Encoding": {"gzip"}}, r.Header)
		return answers(200, "for "+testKey, "X-A", "b")(r)
	})
	require.NoError(t, a.Err)
	require.Equal(t, 200, a.Status)
	require.Equal(t, "b", a.Header.Get("X-A"))
	require.Equal(t, "for "+mask.Redacted, string(a.Body))
	require.False(t, a.Unsent)
}

// A failed request returns the reason, without the key, and says whether anything was sent.
func TestOnceFails(t *testing.T) {
	for _, tt := range []struct {
		err    error
		unsent bool
		text   string
	}{
		{errCut, false, "the connection was cut"},
		{io.EOF, false, "the connection was closed without an answer: EOF"},
		{&net.OpError{Op: "dial", Net: "tcp", Err: errCut}, true, "dial tcp: the connection was cut"},
		{&url.Error{Op: "Post", URL: home, Err: malformed{}}, false, `malformed answer "` + mask.Redacted + `"`},
	} {
		a := once(t, fails(tt.err))
		require.EqualError(t, a.Err, tt.text)
		require.Equal(t, tt.unsent, a.Unsent, tt.text)
		require.Zero(t, a.Status)
		require.Empty(t, a.Body)
	}
}

type malformed struct{}

func (malformed) Error() string { return `malformed answer "` + testKey + `"` }
