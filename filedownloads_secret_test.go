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
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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
