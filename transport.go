package hogapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

const (
	maxAnswer      = 32 << 20    // bytes of a decompressed answer
	maxErrorBody   = 64 << 10    // bytes of an error answer that are kept
	maxWord        = 64 << 10    // bytes of a capture answer, which is a word; each lane may hold one
	errorBodyTime  = time.Second // for reading an error answer (T9)
	defaultTry     = 30 * time.Second
	defaultCapture = 60 * time.Second
	maxRedirects   = 3
)

var (
	errForeignOrigin = errors.New("refused: the request would leave the origin that its key belongs to")
	errPace          = errors.New("the pace set by WithPace does not allow a call before the deadline")
	errNoAnswer      = errors.New("the HTTP client's transport returned neither an answer nor an error")
	errReset         = errors.New("the connection ended after the request was written, without an answer")
	errNotFinal      = errors.New("the answer has a status below 200, which is not final")
	errAnswerTooBig  = errors.New("the answer is too large")
)

// tryLimits are the time limits of one try (T8).
type tryLimits struct{ api, capture time.Duration }

func newTryLimits(c *config) tryLimits {
	limits := tryLimits{api: defaultTry, capture: defaultCapture}
	if c.tryTimeout > 0 {
		limits = tryLimits{api: c.tryTimeout, capture: c.tryTimeout}
	}
	if c.httpClient != nil && c.httpClient.Timeout > 0 {
		limits.api = min(limits.api, c.httpClient.Timeout)
		limits.capture = min(limits.capture, c.httpClient.Timeout)
	}
	return limits
}

// newHTTPClients makes the clients for the API and for capture from a copy of the user's. They are
// behind functions: a transport's buffers hold keys, and tools that print a structure by reflection
// cannot look into a function.
func newHTTPClients(c *config) (api, capture func() *http.Client) {
	var base http.Client
	if c.httpClient != nil {
		base = *c.httpClient
	}
	if base.Transport == nil {
		base.Transport = defaultTransport()
	}
	base.Timeout = 0 // each try has a limit of its own; a timeout here would span the wait for the pace
	apiClient, captureClient := base, base
	apiClient.Transport = &tryTransport{base: base.Transport, pace: c.pace}
	apiClient.CheckRedirect = followSameOrigin
	captureClient.Transport = &tryTransport{base: base.Transport}
	captureClient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return func() *http.Client { return &apiClient }, func() *http.Client { return &captureClient }
}

func defaultTransport() *http.Transport {
	// A connection that died in an outage must not take requests, which would wait for their time
	// limit. TCP probes idle connections. HTTP/2 sends pings, since a timeout does not end its
	// connection.
	dialer := &net.Dialer{
		Timeout:         10 * time.Second,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3},
	}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           100,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second},
	}
}

// followSameOrigin follows only what keeps method, body and origin: some servers once answered 307
// for the older prefix.
func followSameOrigin(next *http.Request, via []*http.Request) error {
	status := next.Response.StatusCode
	sameWay := status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
	if sameWay && len(via) <= maxRedirects && originOf(next.URL) == originOf(via[0].URL) && next.URL.User == nil {
		next.URL.Host = via[0].URL.Host // for another spelling net/http drops the key
		key := via[0].Header.Get("Authorization")
		next.Header.Set("Authorization", key) //nolint:gosec // the same origin, checked above
		return nil
	}
	return http.ErrUseLastResponse
}

// originOf is scheme, host and port, normalised for comparison.
func originOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// tryTransport is one try: it guards the origin, keeps the pace, sets the time limit, watches
// whether anything was written, and reads the whole answer. What it returns holds no connection, so
// nothing can leak, trickle or be cut off later (T8, T9, T11, T13). It has no CloseIdleConnections
// on purpose (T7).
type tryTransport struct {
	base http.RoundTripper
	pace *rate.Limiter
}

// tryPlan is what a call tells the transport about its tries.
type tryPlan struct {
	origin    string
	timeout   time.Duration // of one try, with the redirects that it follows
	spent     time.Duration // of the timeout, by the requests before a redirect
	mostBytes int64         // of a success's body, which must then be whole; 0 where the status is enough
	begin     func() CallInfo
	report    func(tryReport)
}

// tryReport is what a try has seen in addition to its answer.
type tryReport struct {
	unsent   bool // provably nothing of the request was written
	stale    bool // a connection that had been kept ended under the request
	answered int  // status of a success whose body could not be read; 0 for none
	duration time.Duration
}

type tryPlanKey struct{}

func (t *tryTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	plan, ok := ctx.Value(tryPlanKey{}).(*tryPlan)
	if !ok || originOf(req.URL) != plan.origin {
		closeBody(req) // not reported: the tries before it were, and this one is unsent unless reported
		return nil, errForeignOrigin
	}
	if t.pace != nil {
		if err := t.pace.Wait(ctx); err != nil {
			closeBody(req)
			return nil, paceError(ctx)
		}
	}
	if req.Response == nil { // not a redirect
		plan.spent = 0
	}
	if plan.spent >= plan.timeout {
		closeBody(req)
		return nil, tryTimeoutError{}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, plan.timeout-plan.spent, errTryTimeout)
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	watch := writeWatch{replayed: func() { end(errReset) }}
	ctx = httptrace.WithClientTrace(ctx, watch.trace())
	ctx = context.WithValue(ctx, callInfoKey{}, plan.begin())
	start := time.Now()
	resp, err := t.base.RoundTrip(watch.once(req.WithContext(ctx)))
	if err == nil && resp == nil {
		err = errNoAnswer
	}
	answered := 0
	if err == nil {
		dropBadLocation(resp, req.URL)
		answered, err = readAnswer(cancel, resp, plan.mostBytes)
	}
	took := time.Since(start)
	plan.spent += took
	plan.report(tryReport{
		unsent: err != nil && watch.unsent(err), stale: err != nil && ctx.Err() == nil && watch.reused.Load(),
		answered: answered, duration: took,
	})
	if err != nil {
		return nil, tryError(ctx, err)
	}
	return resp, nil
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// paceError makes the limiter's refusal of a hopeless wait a deadline error.
func paceError(ctx context.Context) error {
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	return fmt.Errorf("%w: %w", errPace, context.DeadlineExceeded)
}

// contextError says why a context has ended: its error, and the cause where one was given.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)
	if errors.Is(cause, err) {
		return cause
	}
	return fmt.Errorf("%w: %w", err, cause)
}

// dropBadLocation takes away a Location that is no URL: http.Client would make an error of it that
// quotes the header.
func dropBadLocation(resp *http.Response, base *url.URL) {
	if _, err := base.Parse(resp.Header.Get("Location")); err != nil {
		resp.Header.Del("Location")
	}
}

// tryError names what ended a try. Its own time limit, which net/http reports as a plain deadline,
// stays a timeout by net.Error. It is not a context.DeadlineExceeded: the caller's deadline has not
// passed.
func tryError(ctx context.Context, err error) error {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errTryTimeout):
		return tryTimeoutError{}
	case errors.Is(cause, errReset):
		return errReset
	}
	return err
}

type tryTimeoutError struct{}

func (tryTimeoutError) Error() string   { return errTryTimeout.Error() }
func (tryTimeoutError) Timeout() bool   { return true }
func (tryTimeoutError) Temporary() bool { return true }
func (tryTimeoutError) Unwrap() error   { return errTryTimeout }

// readAnswer replaces the body by its bytes, bounded in size and time. Where the body of a success
// cannot be read, it returns the status too, unless the body begins as a page of something else.
func readAnswer(cancel context.CancelFunc, resp *http.Response, limit int64) (answered int, err error) {
	if resp.Body == nil { // as transports for tests leave it
		resp.Body = http.NoBody
	}
	defer resp.Body.Close()
	if resp.StatusCode < http.StatusOK {
		return 0, errNotFinal
	}
	isNeeded := limit > 0 && isSuccess(resp.StatusCode)
	if !isNeeded {
		limit = maxErrorBody
		timer := time.AfterFunc(errorBodyTime, cancel)
		defer timer.Stop()
	}
	body, err := readBounded(resp.Body, limit, resp.ContentLength)
	tooBig := int64(len(body)) > limit
	if tooBig {
		body = body[:limit]
	}
	resp.Body = &readBody{*bytes.NewReader(body), body}
	if !isNeeded {
		return 0, nil // the status is known, and it is what counts
	}
	if !isPage(resp.Header.Get("Content-Type"), bytes.TrimSpace(body)) {
		answered = resp.StatusCode
	}
	switch {
	case err != nil:
		return answered, fmt.Errorf("the answer was cut off after %d bytes: %w", len(body), noURL(err))
	case tooBig:
		return answered, fmt.Errorf("%w: over %d KiB", errAnswerTooBig, limit>>10)
	case endsAtClose(resp) && cutJSON(body):
		return answered, fmt.Errorf("the answer was cut off after %d bytes: %w", len(body), io.ErrUnexpectedEOF)
	}
	return 0, nil
}

// readBody is the body of an answer, read already.
type readBody struct {
	bytes.Reader

	whole []byte
}

func (*readBody) Close() error { return nil }

// bodyOf returns the bytes of an answer that a tryTransport has read.
func bodyOf(resp *http.Response) []byte { return resp.Body.(*readBody).whole }

func isSuccess(status int) bool { return status >= 200 && status < 300 }

// readBounded reads up to limit+1 bytes into a buffer that doubles.
func readBounded(r io.Reader, limit, expected int64) ([]byte, error) {
	most := limit + 1
	size := most
	for size > 2*min(max(expected, 2<<10), 512<<10) {
		size = (size + 1) / 2
	}
	body := make([]byte, 0, size)
	for {
		n, err := r.Read(body[len(body):cap(body)])
		body = body[:len(body)+n]
		switch {
		case errors.Is(err, io.EOF):
			return body, nil
		case err != nil || int64(len(body)) == most:
			return body, err
		case len(body) == cap(body):
			body = append(make([]byte, 0, min(2*int64(cap(body)), most)), body...)
		}
	}
}

// endsAtClose reports whether only the end of the connection ends the body, so that a cut looks
// like the end.
func endsAtClose(resp *http.Response) bool {
	return resp.ContentLength < 0 && len(resp.TransferEncoding) == 0 && resp.ProtoMajor == 1 && !resp.Uncompressed
}

// writeWatch knows from the transport's trace whether a request can have reached the network. It
// also ends a try that the transport repeats by itself: net/http does so on another connection
// after a GOAWAY, a refused stream or a connection that was closed, even for a create, and without
// end. Whether and when a request is repeated is for the replay class and the retry policy to say.
type writeWatch struct {
	asked, got, wrote atomic.Bool
	reused            atomic.Bool // the connection had served another request before
	replayed          func()
}

func (w *writeWatch) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { w.asked.Store(true) },
		GotConn: func(c httptrace.GotConnInfo) {
			if w.wrote.Load() {
				w.replayed()
			}
			w.got.Store(true)
			w.reused.Store(c.Reused)
		},
		WroteHeaders: func() { w.wrote.Store(true) },
	}
}

// once keeps the transport from writing a body a second time: once the header has been written
// there is no other copy of it.
func (w *writeWatch) once(req *http.Request) *http.Request {
	if open := req.GetBody; open != nil {
		req.GetBody = func() (io.ReadCloser, error) {
			if w.wrote.Load() {
				return nil, errReset
			}
			return open()
		}
	}
	return req
}

// unsent demands a positive proof: the transport traces and never got a connection, or says that it
// could not dial. A transport that does not trace and fails otherwise may have sent anything.
func (w *writeWatch) unsent(err error) bool {
	if w.got.Load() {
		return false
	}
	var op *net.OpError
	return w.asked.Load() || errors.As(err, &op) && op.Op == "dial"
}

// noURL takes the URL out of an error of net/http (T10).
func noURL(err error) error {
	var u *url.Error
	for errors.As(err, &u) {
		err = u.Err
	}
	return err
}
