package httptry

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"time"
)

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
