package download

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/hogapi/hogapi/internal/httptry"
)

var errNoURL = errors.New("the answer leads to something that is not a URL of a file")

// Location parses the URL in an answer from a service with the given scheme.
func Location(text, scheme string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case text == "":
		return nil, errors.New("the answer does not lead to a file; is the base URL the service's?")
	case err != nil || u.Host == "" || u.User != nil || u.Scheme != "http" && u.Scheme != "https":
		return nil, errNoURL
	case u.Scheme == "http" && scheme == "https":
		return nil, errors.New("refused: the answer leads from https to a URL that is not encrypted")
	}
	return u, nil
}

// connectionError replaces a transport error, since its text may quote the signed URL or the
// request. It wraps only causes that quote neither.
func connectionError(ctx context.Context, err error) error {
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
		return errors.New("the host name was not found")
	case errors.As(err, &name):
		return errors.New("the host name could not be looked up")
	case errors.As(err, &badCert):
		return errors.New("the certificate is not trusted, or belongs to another host")
	case errors.As(err, &notTLS), errors.Is(err, http.ErrSchemeMismatch):
		return errors.New("the host does not speak TLS: is the scheme of the URL right?")
	case errors.As(err, &system): // the system's own text, such as "connection refused"
		return fmt.Errorf("the connection failed: %w", system)
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("no answer in time: %w", os.ErrDeadlineExceeded)
	case strings.Contains(err.Error(), "malformed"):
		return errors.New("the host does not speak HTTP")
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("the connection ended: %w", io.ErrUnexpectedEOF)
	case errors.Is(err, httptry.ErrNoAnswer):
		return httptry.ErrNoAnswer
	}
	return errors.New("the connection failed")
}

// isEncoded reports whether a body is an encoding of the file's bytes. A file stored as gzip may be
// marked as gzip; its bytes are still the file's own.
func isEncoded(h http.Header, noGzip bool) bool {
	values := h.Values("Content-Encoding")
	if len(values) == 1 && strings.EqualFold(values[0], "gzip") {
		return noGzip
	}
	return slices.ContainsFunc(values, func(encoding string) bool {
		return encoding != "" && !strings.EqualFold(encoding, "identity")
	})
}

// statusError returns the error for a storage that sends no file. Expired signatures give 403.
func statusError(status int) error {
	err := fmt.Errorf("the storage answered %d %s", status, http.StatusText(status))
	if httptry.IsTransientStatus(status) || status == http.StatusForbidden {
		return passing{err}
	}
	return err
}

// parseContentRange reads "bytes 5-9/10" as the part from 5 up to 10 of 10 bytes.
func parseContentRange(text string) (from, end, size int64, ok bool) {
	text, hasUnit := strings.CutPrefix(text, "bytes ")
	part, total, hasTotal := strings.Cut(text, "/")
	first, last, hasLast := strings.Cut(part, "-")
	from, ok1 := parseCount(first)
	end, ok2 := parseCount(last)
	size, ok3 := parseCount(total)
	ok = hasUnit && hasTotal && hasLast && ok1 && ok2 && ok3 && from <= end && end < size
	return from, end + 1, size, ok
}

// parseUnsatisfied reads "bytes */10".
func parseUnsatisfied(text string) (size int64, ok bool) {
	total, ok := strings.CutPrefix(text, "bytes */")
	if !ok {
		return 0, false
	}
	return parseCount(total)
}

func parseCount(text string) (int64, bool) {
	n, err := strconv.ParseUint(text, 10, 62)
	return int64(n), err == nil
}
