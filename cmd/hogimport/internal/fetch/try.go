package fetch

import (
	"archive/zip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/internal/httptry"
)

// refusal is an answer without an export.
type refusal struct {
	status int
	wait   time.Duration // that the service asks for; 0: it does not say
}

func (r *refusal) Error() string { return fmt.Sprintf("status %d", r.status) }

// unreachable is a request without an answer. Its text has no URL.
type unreachable struct {
	err  error
	late bool // there was a connection, but no answer in time
}

func (u *unreachable) Error() string { return reason(u.err) }

func unanswered(err error) error {
	operation, _ := errors.AsType[*net.OpError](err)
	isDial := operation != nil && operation.Op == "dial"
	return &unreachable{httptry.NoURL(err), !isDial && isTimeout(err)}
}

// reason says why a request had no answer, in words of our own if possible: errors of a transport can quote a
// proxy's address and its password.
func reason(err error) string {
	var operation *net.OpError
	switch {
	case errors.Is(err, errIdle):
		return errIdle.Error()
	case errors.As(err, new(*net.DNSError)):
		return "the host name has no address"
	case errors.As(err, new(*tls.CertificateVerificationError)):
		return "the certificate cannot be verified"
	case isTimeout(err):
		return "no answer in time"
	case errors.As(err, &operation):
		return operation.Op + ": " + operation.Err.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended"
	}
	return "the request failed"
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// diskError marks a failed write, as opposed to a failed read.
type diskError struct{ err error }

func (d *diskError) Error() string { return d.err.Error() }

type diskWriter struct {
	file durable.File
	room *durable.Room
}

func (w diskWriter) Write(b []byte) (n int, err error) {
	if err = w.room.Take(int64(len(b))); err == nil {
		n, err = w.file.Write(b)
	}
	if err != nil {
		err = &diskError{err}
	}
	return n, err
}

var errIdle = errors.New("nothing has arrived for 5 minutes")

const (
	idleAfter   = 5 * time.Minute
	headerAfter = 15 * time.Minute // both services make an export before they answer

	connectAfter = 15 * time.Second
)

// body reports the bytes that arrive, and ends the request when no more arrive.
type body struct {
	io.ReadCloser

	run  *run
	idle *time.Timer
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if n > 0 {
		b.idle.Reset(idleAfter)
		b.run.steps.Bytes += int64(n)
		b.run.doing(b.run.steps.Doing)
	}
	return n, err
}

// try makes one request, and puts a whole answer into its place.
func (r *run) try(ctx context.Context, s span) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, err := r.export.request(ctx, s)
	if err != nil {
		return optionsProblem(r.export.vendor+": no request can be made of these options", "check "+r.export.where+" and the keys")
	}
	asked := time.Now()
	answer, err := r.client.Do(request)
	r.pace.made(time.Now()) // when it has certainly reached the service, which counts from there
	if err != nil {
		return unanswered(err)
	}
	defer answer.Body.Close()
	r.reached = true
	isEmpty := answer.StatusCode == http.StatusNotFound && r.export.emptyIs404
	if answer.StatusCode != http.StatusOK && !isEmpty {
		return &refusal{answer.StatusCode, httptry.ParseRetryAfter(answer.Header, time.Now())}
	}
	file, err := r.folder.temp()
	if err != nil {
		return r.folder.problem("be written", err)
	}
	defer file.Close()
	if isEmpty {
		err = zip.NewWriter(diskWriter{file, &r.room}).Close()
	} else {
		idle := time.AfterFunc(idleAfter, func() { cancel(errIdle) })
		defer idle.Stop()
		answer.Body = &body{answer.Body, r, idle}
		err = r.export.receive(diskWriter{file, &r.room}, answer)
		idle.Stop() // the check takes as long as it takes
	}
	var disk *diskError
	switch isOfDisk := errors.As(err, &disk); {
	case err == nil:
		err = r.folder.keep(ctx, s, file, asked)
	case isOfDisk && errors.Is(disk.err, durable.ErrLimit):
		err = &Problem{Text: fmt.Sprintf("%s sends %s of one run", r.export.vendor, disk.Error()), Cause: err,
			Todo: "run the same command again to get the rest, or allow more with --max-gib"}
	case isOfDisk:
		err = r.folder.problem("be written", disk.err)
	case errors.Is(err, errNotWhole):
	case errors.Is(context.Cause(ctx), errIdle):
		err = notWhole(errIdle.Error())
	default:
		err = notWhole("the answer was cut off: " + reason(httptry.NoURL(err)))
	}
	if err != nil {
		_ = file.Close() // since not all systems remove open files
		_ = r.folder.fs.Remove(r.folder.own(tempName))
	}
	return err
}

// newClient returns a client that follows no redirects, so that a key reaches one host only.
func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: connectAfter}).DialContext,
			TLSHandshakeTimeout:   connectAfter,
			ForceAttemptHTTP2:     true,
			ResponseHeaderTimeout: headerAfter,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
