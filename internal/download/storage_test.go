package download

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestContentRanges(t *testing.T) {
	from, end, size, ok := parseContentRange("bytes 5-9/10")
	assert.Equal(t, []any{int64(5), int64(10), int64(10), true}, []any{from, end, size, ok})
	for _, bad := range []string{
		"", "5-9/10", "bytes 5-9", "bytes 5-9/*", "bytes 9-5/10", "bytes 5-10/10",
		"bytes -1-9/10", "bytes 5-/10", "bytes +5-9/10",
		"bytes 5-9/99999999999999999999", "bytes 5-9223372036854775807/9223372036854775807",
	} {
		_, _, _, ok := parseContentRange(bad)
		assert.False(t, ok, bad)
	}
	size, ok = parseUnsatisfied("bytes */10")
	assert.Equal(t, []any{int64(10), true}, []any{size, ok})
	for _, bad := range []string{"", "*/10", "bytes */", "bytes */*", "bytes */-1", "bytes 5-9/10"} {
		_, ok := parseUnsatisfied(bad)
		assert.False(t, ok, bad)
	}
}

func TestLocations(t *testing.T) {
	for _, c := range []struct{ text, scheme, want string }{
		{"https://storage.example/f?s=Canary", "https", ""},
		{"http://storage.example/f?s=Canary", "http", ""},
		{"http://storage.example/f?s=Canary", "https", "not encrypted"},
		{"", "https", "does not lead to a file"},
		{"/login?next=Canary", "https", "not a URL of a file"},
		{"ftp://storage.example/Canary", "https", "not a URL of a file"},
		{"https://user:Canary@storage.example/f", "https", "not a URL of a file"},
		{"https://storage.example/%zz?Canary", "https", "not a URL of a file"},
	} {
		u, err := Location(c.text, c.scheme)
		if c.want == "" {
			require.NoError(t, err)
			assert.Equal(t, c.text, u.String())
			continue
		}
		require.ErrorContains(t, err, c.want)
		assert.NotContains(t, err.Error(), "Canary")
		assert.NotContains(t, err.Error(), "storage.example")
	}
}

func TestEncodings(t *testing.T) {
	for _, c := range []struct {
		values       []string
		noGzip, want bool
	}{
		{nil, true, false},
		{[]string{""}, true, false},
		{[]string{"Identity"}, true, false},
		{[]string{"GZIP"}, false, false},
		{[]string{"gzip"}, true, true},
		{[]string{"br"}, false, true},
		{[]string{"gzip, gzip"}, false, true},
		{[]string{"identity", "gzip"}, false, true},
	} {
		assert.Equal(t, c.want, isEncoded(http.Header{"Content-Encoding": c.values}, c.noGzip), "%v", c)
	}
}

func TestWhichStatusesPass(t *testing.T) {
	for status, want := range map[int]bool{
		403: true, 408: true, 429: true, 500: true, 503: true,
		301: false, 400: false, 404: false, 501: false,
	} {
		_, isPassing := errors.AsType[passing](statusError(status))
		assert.Equal(t, want, isPassing, status)
	}
}

// Errors name the kind of a transport error only: its text may quote the signed URL.
func TestConnectionErrorsQuoteNothing(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	reset := &net.OpError{Op: "read", Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	noTLS := "the host does not speak TLS: is the scheme of the URL right?"
	for _, c := range []struct {
		err   error
		want  string
		cause error // that is still found
	}{
		{refused, "the connection failed: connect: connection refused", syscall.ECONNREFUSED},
		{fmt.Errorf("Canary: %w", reset), "the connection failed: read: connection reset by peer", syscall.ECONNRESET},
		{&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, "no answer in time: i/o timeout", os.ErrDeadlineExceeded},
		{&net.DNSError{Name: "Canary", IsNotFound: true}, "the host name was not found", nil},
		{&net.DNSError{Err: "server misbehaving", Name: "Canary"}, "the host name could not be looked up", nil},
		{&tls.CertificateVerificationError{Err: errors.New("Canary")}, "the certificate is not trusted, or belongs to another host", nil},
		{tls.RecordHeaderError{Msg: "Canary"}, noTLS, nil},
		{http.ErrSchemeMismatch, noTLS, nil},
		{errors.New("malformed Canary"), "the host does not speak HTTP", nil},
		{fmt.Errorf("Canary: %w", io.EOF), "the connection ended: unexpected EOF", io.ErrUnexpectedEOF},
		{io.ErrUnexpectedEOF, "the connection ended: unexpected EOF", io.ErrUnexpectedEOF},
		{errors.New("Canary"), "the connection failed", nil},
	} {
		err := connectionError(t.Context(), c.err)
		require.EqualError(t, err, c.want)
		require.True(t, c.cause == nil || errors.Is(err, c.cause), c.want)
	}
}
