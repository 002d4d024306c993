package hogapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/internal/httptry"
)

// hideLocation takes out of an answer, whatever its status, what can be the place that it leads to:
// a signed URL, which is a secret. Of the body only the service's own words remain.
func (x *exchange) hideLocation() {
	a := x.answer
	if _, leads := a.Header["Location"]; leads {
		a.Header = a.Header.Clone()
		a.Header.Set("Location", redacted)
	}
	hasFailed := !httptry.IsSuccess(a.StatusCode) && !x.isRedirected(a.StatusCode)
	if !hasFailed || !x.problem.IsOwn() || holdsURL(a.Body) {
		a.Body, x.problem = nil, httptry.ErrorBody{IsForeign: x.problem.IsForeign}
	}
}

// holdsURL reports JSON that can hold a URL, or the query of one.
func holdsURL(body []byte) bool {
	var value any
	if json.Unmarshal(body, &value) != nil {
		return true
	}
	plain, err := json.Marshal(value) // without escapes that hide something
	text := slices.Concat(body, plain)
	return err != nil || bytes.Contains(text, []byte("://")) || bytes.ContainsRune(text, '=')
}

// storageError is an error of the transport to the storage in words of our own: those of a transport
// can quote the signed URL, or what was sent. It wraps only causes that quote neither.
func storageError(ctx context.Context, err error) error {
	var (
		system  *os.SyscallError
		name    *net.DNSError
		badCert *tls.CertificateVerificationError
		notTLS  tls.RecordHeaderError
		timeout net.Error
	)
	switch {
	case ctx.Err() != nil:
		return httptry.Cause(ctx, httptry.ContextError(ctx))
	case errors.As(err, &name) && name.IsNotFound:
		return errors.New("the name of its host was not found")
	case errors.As(err, &name):
		return errors.New("the name of its host could not be looked up")
	case errors.As(err, &badCert):
		return errors.New("its certificate is not trusted, or is of another host")
	case errors.As(err, &notTLS), errors.Is(err, http.ErrSchemeMismatch):
		return errors.New("it does not speak TLS: is the scheme of its URL right?")
	case errors.As(err, &system): // its text is the system's own, such as "connection refused"
		return fmt.Errorf("the connection failed: %w", system)
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("it did not answer in time: %w", os.ErrDeadlineExceeded)
	case strings.Contains(err.Error(), "malformed"):
		return errors.New("it does not speak HTTP")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("the connection ended: %w", io.ErrUnexpectedEOF)
	case errors.Is(err, httptry.ErrNoAnswer):
		return httptry.ErrNoAnswer
	}
	return errors.New("the connection failed")
}
