// Package httptry makes one try of an HTTP request: within one origin, bounded in time and size, with its
// answer read to the end, and with the known facts about a failure, above all whether anything was sent.
// From small values it also decides whether and when another try follows.
//
// The package knows no operation and no error type of the client: the caller makes its errors from the
// results.
package httptry

import (
	"context"
	"errors"
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

// Plan configures the tries of a call. It is for one try at a time.
type Plan struct {
	Origin    string        // of all requests: see [OriginOf]
	Timeout   time.Duration // of one try, with the redirects that it follows
	MostBytes int64         // of a success's body, which must then be whole; 0 where the status is enough

	// Mark adds values to a request's context for the caller's transport. It may be nil.
	Mark func(context.Context) context.Context

	spent time.Duration // of the timeout, by the requests before a redirect
	facts *Facts        // of the newest try so far; nil before its first answer or failure
}

// Facts are the results of a try in addition to its answer.
type Facts struct {
	Unsent   bool          // provably nothing of the request was written
	Stale    bool          // a connection that had been kept ended under the request
	Answered int           // status of a success with a body that could not be read, or 0
	Duration time.Duration // with the redirects that were followed
}

type planKey struct{}

// In returns the context of the requests of a plan.
func (p *Plan) In(ctx context.Context) context.Context { return context.WithValue(ctx, planKey{}, p) }

// TakeFacts returns the facts of the newest try, once. Without facts, nothing was sent.
func (p *Plan) TakeFacts() Facts {
	facts := p.facts
	p.facts = nil
	if facts == nil {
		return Facts{Unsent: true}
	}
	return *facts
}

// transport makes tries: it guards the origin, keeps the pace, sets the time limit, watches whether
// anything was written, and reads the whole answer. An answer that it returns holds no connection, so
// nothing can leak, trickle or be cut off later. It has no CloseIdleConnections, which the retrying client
// would call after each call that failed.
type transport struct {
	base     http.RoundTripper
	pace     *rate.Limiter
	dropKept func() // closes the connections that are kept
	answered atomic.Bool
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	plan, ok := ctx.Value(planKey{}).(*Plan)
	if !ok || OriginOf(req.URL) != plan.Origin {
		closeBody(req) // not reported: the tries before it were, and this one is unsent unless reported
		return nil, ErrForeignOrigin
	}
	if t.pace != nil {
		if err := t.pace.Wait(ctx); err != nil {
			closeBody(req)
			return nil, paceError(ctx)
		}
	}
	if req.Response == nil { // not a redirect
		plan.spent, plan.facts = 0, nil
	}
	if plan.spent >= plan.Timeout {
		closeBody(req)
		return nil, timeoutError{plan.Timeout}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, plan.Timeout-plan.spent, timeoutError{plan.Timeout})
	defer cancel()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	watch := writeWatch{replayed: func() { end(errReset) }}
	ctx = httptrace.WithClientTrace(ctx, watch.trace())
	if plan.Mark != nil {
		ctx = plan.Mark(ctx)
	}
	start := time.Now()
	resp, err := t.base.RoundTrip(watch.once(req.WithContext(ctx)))
	switch {
	case err == nil && resp == nil:
		err = ErrNoAnswer
	case isUnknownHost(err) && t.answered.Load():
		err = lostName{err}
	}
	answered := 0
	if err == nil {
		t.answered.Store(true)
		dropBadLocation(resp, req.URL)
		answered, err = readAnswer(cancel, resp, plan.MostBytes)
	}
	plan.spent += time.Since(start)
	plan.facts = &Facts{
		Unsent: err != nil && plan.facts == nil && watch.unsent(err), // a redirect was an answer to a request that was read
		Stale:  err != nil && ctx.Err() == nil && watch.reused.Load(), Answered: answered, Duration: plan.spent,
	}
	if err == nil {
		return resp, nil
	}
	err = Cause(ctx, err)
	if slow, ok := errors.AsType[net.Error](err); ok && slow.Timeout() {
		t.dropKept() // in a silence they are dead too, and the next try would wait for its limit
	}
	return nil, err
}

func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}

// writeWatch knows from the transport's trace whether a request can have reached the network. It also ends
// a try that the transport repeats by itself: net/http does so on another connection after a GOAWAY, a
// refused stream or a connection that was closed, even for a create, and without end. The replay class and
// the retry policy decide whether and when a request is repeated.
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

// once keeps the transport from writing a body a second time: after the header has been written, it returns
// no further copy of the body.
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

// unsent requires proof: the transport traces and never got a connection, or the error says that it could
// not dial. A transport that does not trace and fails otherwise may have sent the request.
func (w *writeWatch) unsent(err error) bool {
	if w.got.Load() {
		return false
	}
	var op *net.OpError
	return w.asked.Load() || errors.As(err, &op) && op.Op == "dial"
}

// MaxRedirects is how many redirects are followed in one try.
const MaxRedirects = 3

// OriginOf is scheme, host and port, normalised for comparison.
func OriginOf(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[strings.ToLower(u.Scheme)]
	}
	return strings.ToLower(u.Scheme) + "://" + net.JoinHostPort(strings.ToLower(u.Hostname()), port)
}

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

// dropBadLocation removes a Location that is not a URL: http.Client would return an error that quotes it.
func dropBadLocation(resp *http.Response, base *url.URL) {
	if _, err := base.Parse(resp.Header.Get("Location")); err != nil {
		resp.Header.Del("Location")
	}
}
