package httptry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/mask"
)

// Request is a request that is written once. The caller decides whether and when to send it again.
type Request struct {
	Plan

	Method string
	URL    *url.URL
	Header http.Header
	Open   func() io.ReadCloser // the body, from its beginning
	Size   int64                // of the body
	Keys   []string             // neither the answer nor an error may show them
}

// Once makes one try of a request.
func Once(ctx context.Context, client *http.Client, r Request) Try {
	r.Origin = OriginOf(r.URL)
	req, err := http.NewRequestWithContext(r.In(ctx), r.Method, r.URL.String(), r.Open())
	if err != nil {
		return r.take(err, r.Keys)
	}
	req.Header, req.ContentLength = r.Header, r.Size
	req.GetBody = func() (io.ReadCloser, error) { return r.Open(), nil }
	resp, err := client.Do(req)
	if err = NoURL(err); errors.Is(err, io.EOF) {
		err = fmt.Errorf("the connection was closed without an answer: %w", err)
	}
	if err == nil {
		_ = resp.Body.Close() // empty: the body is in the try
	}
	t := r.take(err, r.Keys)
	t.Body = mask.Bytes(t.Body, r.Keys)
	return t
}

// Reasons why a try has no usable answer.
var (
	ErrForeignOrigin = errors.New("refused: the request would leave the origin that its key belongs to")
	ErrNoAnswer      = errors.New("the HTTP client's transport returned neither an answer nor an error")
	ErrTooBig        = errors.New("the answer is too large")
	ErrTimeout       = errors.New("the time limit of a try is over")

	errPace     = errors.New("the pace set by WithPace does not allow a call before the deadline")
	errReset    = errors.New("the connection ended after the request was written, without an answer")
	errNotFinal = errors.New("the answer has a status below 200, which is not final")
)

// IsPermanent reports transport errors that a repetition does not change. A name that was found before may only be lost
// for a moment.
func IsPermanent(err error) bool {
	var (
		lost      lostName
		badCert   *tls.CertificateVerificationError
		badName   x509.HostnameError
		badIssuer x509.UnknownAuthorityError
	)
	return errors.Is(err, ErrForeignOrigin) || errors.Is(err, ErrTooBig) || errors.Is(err, errPace) ||
		isUnknownHost(err) && !errors.As(err, &lost) ||
		errors.As(err, &badCert) || errors.As(err, &badName) || errors.As(err, &badIssuer)
}

// Cause returns the reason why a try ended. The try's own time limit, which net/http reports as a plain
// deadline, stays a timeout by net.Error. It is not a context.DeadlineExceeded, because the caller's
// deadline has not passed.
func Cause(ctx context.Context, err error) error {
	cause := context.Cause(ctx)
	if slow, ok := errors.AsType[timeoutError](cause); ok {
		return slow
	}
	if errors.Is(cause, errReset) {
		return errReset
	}
	return err
}

type timeoutError struct{ limit time.Duration }

func (e timeoutError) Error() string {
	return fmt.Sprintf("the time limit of a try, %v, is over (see WithTryTimeout)", e.limit)
}
func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }
func (timeoutError) Unwrap() error   { return ErrTimeout }

func isUnknownHost(err error) bool {
	name, ok := errors.AsType[*net.DNSError](err)
	return ok && name.IsNotFound
}

// lostName is the error of an unknown host that has answered before.
type lostName struct{ error }

func (e lostName) Unwrap() error { return e.error }

// paceError turns the limiter's refusal of a wait beyond the deadline into a deadline error.
func paceError(ctx context.Context) error {
	if ctx.Err() != nil {
		return ContextError(ctx)
	}
	return fmt.Errorf("%w: %w", errPace, context.DeadlineExceeded)
}

// ContextError returns the error of an ended context, and its cause if it has one.
func ContextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// NoURL removes the URL from an error of net/http.
func NoURL(err error) error {
	var u *url.Error
	for errors.As(err, &u) {
		err = u.Err
	}
	return err
}

// ParseRetryAfter reads the header: seconds, with a fraction too, or any HTTP date, measured against the
// answer's own Date so that a wrong clock here does not matter. It never returns a negative wait or one
// that has overflowed; 0 means that the header asks for no wait.
func ParseRetryAfter(h http.Header, now time.Time) time.Duration {
	var longest time.Duration
	for _, value := range h.Values("Retry-After") {
		longest = max(longest, parseOne(strings.TrimSpace(value), h, now))
	}
	return longest
}

func parseOne(value string, h http.Header, now time.Time) time.Duration {
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789.") == "" {
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0
		}
		if seconds >= math.MaxInt64/float64(time.Second) {
			return math.MaxInt64
		}
		return time.Duration(math.Round(seconds * float64(time.Second)))
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	return max(at.Sub(DateOr(h, now)), 0)
}

// DateOr returns the time of an answer by the server's clock, in whole seconds, or another time if the answer lacks it.
func DateOr(h http.Header, other time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date.UTC()
	}
	return other.UTC()
}
