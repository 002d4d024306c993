// Package httptry makes the tries of an HTTP request and decides, after each, whether and when there is another.
// retry.go has the loop and the decision. transport.go makes one try: within one origin, bounded in time and size, with
// its answer read to the end, and with the known facts about a failure, above all whether anything was sent.
//
// The package knows no operation and no error type of the client, which makes its errors from a [Try].
package httptry

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/hogapi/hogapi/internal/mask"
)

// Plan bounds the tries of a call, one at a time, and brings each from the transport to the loop: it travels in the context of
// the requests.
type Plan struct {
	Origin   string        // of all requests: see [OriginOf]
	Timeout  time.Duration // of one try, with the redirects that it follows
	MaxBytes int64         // of a success's body, which must then be whole; 0 where the status is enough

	// Mark adds values to the context of a try's requests for the caller's transport. It may be nil.
	Mark func(context.Context) context.Context

	spent time.Duration // of the timeout, by the requests before a redirect
	try   *Try          // the newest; nil before its first answer or failure
}

type planKey struct{}

// In returns the context of the requests of a plan.
func (p *Plan) In(ctx context.Context) context.Context { return context.WithValue(ctx, planKey{}, p) }

// take returns the newest try, once, with the error of the client, which masks keys. Without a try, nothing was sent.
func (p *Plan) take(err error, keys []string) Try {
	t := p.try
	p.try = nil
	if t == nil {
		t = &Try{Unsent: true}
	}
	if err != nil { // after a redirect was followed, too
		t.Err, t.Status, t.Header, t.Body = mask.Error(NoURL(err), keys), 0, nil, nil
	}
	return *t
}

// transport makes tries. An answer that it returns has been read and holds no connection, so nothing can leak, trickle
// or be cut off later. It has no CloseIdleConnections, which the retrying client would call after each call that failed.
type transport struct {
	base     http.RoundTripper
	pace     *rate.Limiter
	dropKept func() // closes the connections that are kept
	answered atomic.Bool
}

// RoundTrip stores its try in the plan of the request, the body of the answer too.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	plan, ok := ctx.Value(planKey{}).(*Plan)
	if !ok || OriginOf(req.URL) != plan.Origin {
		return refuse(req, ErrForeignOrigin) // without a Try in the plan: take reports Unsent, unless a redirect led here
	}
	if t.pace != nil {
		if err := t.pace.Wait(ctx); err != nil {
			return refuse(req, paceError(ctx))
		}
	}
	if req.Response == nil { // not a redirect
		plan.spent, plan.try = 0, nil
	}
	if plan.spent >= plan.Timeout {
		return refuse(req, timeoutError{plan.Timeout})
	}
	ctx, cancel := context.WithTimeoutCause(ctx, plan.Timeout-plan.spent, timeoutError{plan.Timeout})
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	if plan.Mark != nil {
		ctx = plan.Mark(ctx)
	}
	var watch writeWatch
	start := time.Now()
	resp, err := t.base.RoundTrip(watch.over(ctx, req, end))
	switch {
	case err == nil && resp == nil:
		err = ErrNoAnswer
	case err != nil && isUnknownHost(err) && t.answered.Load():
		err = lostName{err}
	}
	var try Try
	if err == nil {
		t.answered.Store(true)
		if _, bad := req.URL.Parse(resp.Header.Get("Location")); bad != nil {
			resp.Header.Del("Location") // http.Client would return an error that quotes it
		}
		try.Status, try.Header = resp.StatusCode, resp.Header
		try.Body, try.Answered, err = readAnswer(cancel, resp, plan.MaxBytes)
		resp.Body = http.NoBody
	}
	plan.spent += time.Since(start)
	try.Duration = plan.spent
	if err == nil {
		plan.try = &try
		return resp, nil
	}
	plan.try = &Try{
		Unsent: plan.try == nil && watch.unsent(err), // a redirect was an answer to a request that was read
		Stale:  ctx.Err() == nil && watch.reused.Load(), Answered: try.Answered, Duration: plan.spent,
	}
	err = Cause(ctx, err)
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		t.dropKept() // in a silence they are dead too, and the next try would wait for its limit
	}
	return nil, err
}

func refuse(req *http.Request, err error) (*http.Response, error) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
	return nil, err
}

// writeWatch knows from the transport's trace whether a request can have reached the network.
type writeWatch struct {
	asked, got, wrote atomic.Bool
	reused            atomic.Bool // the connection had served another request before
}

// over watches a request. It also ends one that the transport repeats by itself, and gives no second copy of a body that
// was written: net/http repeats on another connection after a GOAWAY, a refused stream or a connection that was closed,
// even a create, and without end. The replay class and the retry policy decide whether and when a request is repeated.
func (w *writeWatch) over(ctx context.Context, req *http.Request, end context.CancelCauseFunc) *http.Request {
	req = req.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { w.asked.Store(true) },
		GotConn: func(c httptrace.GotConnInfo) {
			if w.wrote.Load() {
				end(errReset)
			}
			w.got.Store(true)
			w.reused.Store(c.Reused)
		},
		WroteHeaders: func() { w.wrote.Store(true) },
	}))
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

// unsent requires proof: the transport traces and never got a connection, or the error says that it could
// not dial. A transport that does not trace and fails otherwise may have sent the request.
func (w *writeWatch) unsent(err error) bool {
	if w.got.Load() {
		return false
	}
	var op *net.OpError
	return w.asked.Load() || errors.As(err, &op) && op.Op == "dial"
}

// Limits of an answer.
const (
	MaxAnswer     = 32 << 20    // bytes of a decompressed answer
	MaxErrorBody  = 64 << 10    // bytes of an error answer
	ErrorBodyTime = time.Second // for reading an error answer
)

// readAnswer returns the body, bounded in size and time. If it cannot read the body of a success, it returns the status
// too, unless the body begins as an HTML page, which is not from the service.
func readAnswer(cancel context.CancelFunc, resp *http.Response, limit int64) (body []byte, answered int, err error) {
	if resp.Body == nil { // as transports for tests leave it
		resp.Body = http.NoBody
	}
	defer resp.Body.Close()
	if resp.StatusCode < http.StatusOK {
		return nil, 0, errNotFinal
	}
	isNeeded := limit > 0 && IsSuccess(resp.StatusCode)
	if !isNeeded {
		limit = MaxErrorBody
		timer := time.AfterFunc(ErrorBodyTime, cancel)
		defer timer.Stop()
	}
	body, err = readBounded(resp.Body, limit, resp.ContentLength)
	body = bytes.TrimPrefix(body, []byte("\ufeff")) // some proxies write a byte order mark
	tooBig := int64(len(body)) > limit
	if tooBig {
		body = body[:limit]
	}
	if !isNeeded {
		return body, 0, nil // the status is known, and the caller needs no more
	}
	if !IsPage(resp.Header.Get("Content-Type"), bytes.TrimSpace(body)) {
		answered = resp.StatusCode
	}
	endsAtClose := resp.ContentLength < 0 && len(resp.TransferEncoding) == 0 && resp.ProtoMajor == 1 && !resp.Uncompressed // as a cut does
	switch {
	case err != nil:
		return nil, answered, fmt.Errorf("the answer was cut off after %d bytes: %w", len(body), NoURL(err))
	case tooBig:
		return nil, answered, fmt.Errorf("%w: over %d KiB", ErrTooBig, limit>>10)
	case endsAtClose && IsCut(body):
		return nil, answered, fmt.Errorf("the answer was cut off after %d bytes: %w", len(body), io.ErrUnexpectedEOF)
	}
	return body, 0, nil
}

// IsSuccess reports a 2xx.
func IsSuccess(status int) bool { return status >= 200 && status < 300 }

// readBounded reads up to limit+1 bytes into a buffer that doubles.
func readBounded(r io.Reader, limit, expected int64) ([]byte, error) {
	size, last := limit+1, limit+1
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
		case err != nil || int64(len(body)) == last:
			return body, err
		case len(body) == cap(body):
			body = append(make([]byte, 0, min(2*int64(cap(body)), last)), body...)
		}
	}
}

// IsCut reports a JSON text that ends too early.
func IsCut(body []byte) bool {
	body = bytes.TrimSpace(body)
	return len(body) > 0 && (body[0] == '{' || body[0] == '[') && !json.Valid(body)
}

// IsPage reports whether a body is a page for people, which comes from a proxy or a portal and
// never from the service's API. The content type counts only where the body is not JSON: servers
// send an empty answer, and JSON too, under a type of HTML.
func IsPage(contentType string, trimmed []byte) bool {
	if len(trimmed) == 0 || trimmed[0] == '{' || trimmed[0] == '[' {
		return false
	}
	return trimmed[0] == '<' || strings.Contains(contentType, "html") && !json.Valid(trimmed)
}

// OriginOf is scheme, host and port, normalised for comparison.
func OriginOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

// MaxRedirects is how many redirects are followed in one try.
const MaxRedirects = 3

// followSameOrigin follows only redirects that keep method, body and origin: some servers once answered 307
// for the older prefix.
func followSameOrigin(next *http.Request, via []*http.Request) error {
	status := next.Response.StatusCode
	sameWay := status == http.StatusTemporaryRedirect || status == http.StatusPermanentRedirect
	if sameWay && len(via) <= MaxRedirects && OriginOf(next.URL) == OriginOf(via[0].URL) && next.URL.User == nil {
		next.URL.Host = via[0].URL.Host // for another spelling net/http drops the key
		key := via[0].Header.Get("Authorization")
		next.Header.Set("Authorization", key) //nolint:gosec // the same origin, checked above
		return nil
	}
	return http.ErrUseLastResponse
}

// Time limits of one try, unless the caller sets others.
const (
	DefaultAPI     = 30 * time.Second
	DefaultCapture = 60 * time.Second
)

// Clients are the HTTP clients of the two origins. They are functions: a transport's buffers hold
// keys, and tools that print a structure by reflection cannot look into a function.
type Clients struct {
	API     func() *http.Client
	Capture func() *http.Client      // without the pace and without redirects
	Base    func() http.RoundTripper // the caller's transport, as it is

	TryAPI, TryCapture time.Duration // time limits of one try

	CloseIdle func() // closes the connections that are kept, except those of the caller's transport
}

// NewClients makes clients from a copy of the caller's own client, which may be nil. try is the caller's time limit of a
// try, or 0; the timeout of the own client is a limit too. The pace, which may be nil, is for the API only. panicked makes the error of a try in which the caller's transport has panicked.
func NewClients(own *http.Client, try time.Duration, pace *rate.Limiter, panicked func(value any) error) Clients {
	var base http.Client
	if own != nil {
		base = *own
	}
	dropKept := func() {} // the caller's own connections are the caller's
	if base.Transport == nil {
		t := DefaultTransport()
		base.Transport, dropKept = t, t.CloseIdleConnections
	} else if _, isPlain := base.Transport.(*http.Transport); !isPlain {
		base.Transport = guarded{base.Transport, panicked}
	}
	limit := cmp.Or(base.Timeout, math.MaxInt64)
	tryAPI, tryCapture := min(limit, cmp.Or(try, DefaultAPI)), min(limit, cmp.Or(try, DefaultCapture))
	base.Timeout = 0 // each try has a limit of its own; a timeout here would span the wait for the pace
	api, capture := base, base
	api.Transport = &transport{base: base.Transport, pace: pace, dropKept: dropKept}
	api.CheckRedirect = followSameOrigin
	capture.Transport = &transport{base: base.Transport, dropKept: dropKept}
	capture.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return Clients{
		API:     func() *http.Client { return &api },
		Capture: func() *http.Client { return &capture },
		Base:    func() http.RoundTripper { return base.Transport },

		TryAPI: tryAPI, TryCapture: tryCapture, CloseIdle: dropKept,
	}
}

// DefaultTransport returns the transport for a caller that sets no transport.
func DefaultTransport() *http.Transport {
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
