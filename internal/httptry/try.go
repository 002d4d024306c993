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
	"net"
	"net/http"
	"net/http/httptrace"
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
		return nil, timeoutError{}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, plan.Timeout-plan.spent, ErrTimeout)
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
	if err == nil && resp == nil {
		err = ErrNoAnswer
	}
	answered := 0
	if err == nil {
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
