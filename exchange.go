package hogapi

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/ops"
)

// exchange is the state of one call over its tries. go-retryablehttp's callbacks cannot see the
// request that they decide about (T1), so each call has a retrying client of its own, whose
// callbacks are methods of this state.
type exchange struct {
	core    *core
	op      operation
	ids     int
	plan    httptry.Plan
	account httptry.Account
	keys    []string // what no error and no kept body may show
	apiKeys []string // of them: the client's own, which no answer may show either
	started time.Time

	tries   int
	facts   httptry.Facts   // of the newest try
	last    httptry.Outcome // of the newest try
	verdict httptry.Verdict
	starved bool              // the retry budget is used up
	mayHave bool              // an earlier try of this call may have taken effect
	answer  *Reply            // of the newest try; nil where none came
	problem httptry.ErrorBody // what it says, where it is no success

	location       *string // of the call's request
	tooMuchIsFinal bool    // of the call's request
}

func newExchange(c *core, op operation, target *url.URL, ids int) *exchange {
	x := &exchange{core: c, op: op, ids: ids, started: time.Now(), account: httptry.Account{Tokens: c.tokens}}
	if c.projectKey != nil {
		x.addKey(c.projectKey())
	}
	x.plan = httptry.Plan{
		Origin: httptry.OriginOf(target),
		Mark:   func(ctx context.Context) context.Context { return x.op.info(x.tries + 1).in(ctx) },
	}
	return x
}

// addKey notes one of the client's own keys.
func (x *exchange) addKey(key string) {
	x.keys, x.apiKeys = append(x.keys, key), append(x.apiKeys, key)
}

// send runs the tries. The outcome is in the exchange, whatever the retrying client makes of it.
func (x *exchange) send(ctx context.Context, req *retryablehttp.Request) {
	client := retryablehttp.Client{
		HTTPClient:   x.core.clients.API(),
		Logger:       nil, // the default logs whole URLs to stderr (T10)
		RetryMax:     mostTries,
		CheckRetry:   x.checkRetry,
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return x.verdict.Wait },
		ErrorHandler: func(resp *http.Response, err error, _ int) (*http.Response, error) { return resp, err },
	}
	resp, err := client.Do(req)
	if ctx.Err() != nil && err != nil {
		x.last.Canceled = true // during a try, or during the wait for the next one
		if x.verdict.Retry {
			x.account.Refund() // the retry never began
		}
	}
	if resp != nil {
		_ = resp.Body.Close() // in memory
	}
}

// checkRetry is called after every try; it records the outcome and decides.
func (x *exchange) checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	x.mayHave = x.mayHave || x.verdict.MayHave
	x.last = x.outcome(ctx, resp, err)
	x.verdict = x.core.retry.Decide(x.last)
	if x.tooMuchIsFinal && (x.last.Status == http.StatusGatewayTimeout || x.verdict.Silent) {
		x.verdict.Retry = false
	}
	x.settleBudget()
	x.observeTry(ctx)
	return x.verdict.Retry, nil
}

// outcome is what a try has shown. It keeps the answer, of a failure without the keys.
func (x *exchange) outcome(ctx context.Context, resp *http.Response, err error) httptry.Outcome {
	x.tries++
	x.facts = x.plan.TakeFacts()
	o := httptry.Outcome{
		Try: x.tries, Once: x.op.replay == ReplayNever, Err: mask.Error(httptry.NoURL(err), x.keys), Unsent: x.facts.Unsent,
		Answered: x.facts.Answered, Canceled: ctx.Err() != nil, TimeLeft: timeLeft(ctx), Random: httptry.Random(),
	}
	x.answer = nil
	if resp == nil || err != nil {
		return o
	}
	x.answer = &Reply{StatusCode: resp.StatusCode, Header: resp.Header, Body: httptry.BodyOf(resp)}
	o.Status = resp.StatusCode
	switch {
	case x.isRedirected(o.Status):
		*x.location = resp.Header.Get("Location")
	case !httptry.IsSuccess(o.Status):
		o.RetryAfter = httptry.ParseRetryAfter(resp.Header, x.core.now())
		x.readProblem()
		o.Code, o.IsOwn = x.problem.Code, x.problem.IsOwn()
	}
	if x.location != nil {
		x.hideLocation()
	}
	return o
}

// readProblem reads what an answer says that is no success, and keeps the keys out of it.
func (x *exchange) readProblem() {
	header, body := x.answer.Header, x.answer.Body
	x.answer.Header, x.answer.Body = mask.Header(header, x.keys), mask.Bytes(body, x.keys)
	x.problem = httptry.ParseErrorBody(header.Get("Content-Type"), x.answer.Body)
}

// hideLocation takes out of an answer, whatever its status, what can be the place that it leads to:
// a signed URL, which is a secret. Of the body only the service's own words remain.
func (x *exchange) hideLocation() {
	a := x.answer
	if _, leads := a.Header["Location"]; leads {
		a.Header = a.Header.Clone()
		a.Header.Set("Location", redacted)
	}
	hasFailed := !httptry.IsSuccess(a.StatusCode) && !x.isRedirected(a.StatusCode)
	if !hasFailed || !x.problem.IsOwn() || mask.HoldsURL(a.Body) {
		a.Body, x.problem = nil, httptry.ErrorBody{IsForeign: x.problem.IsForeign}
	}
}

// isRedirected reports whether a status is the redirect that the call wants.
func (x *exchange) isRedirected(status int) bool {
	return x.location != nil && status == http.StatusFound
}

func (x *exchange) hasSucceeded() bool {
	return x.last.Err == nil && (httptry.IsSuccess(x.last.Status) || x.isRedirected(x.last.Status))
}

// settleBudget takes the cost of a retry from the budget, or gives back for a success.
func (x *exchange) settleBudget() {
	switch {
	case x.hasSucceeded():
		x.account.Succeed()
	case x.verdict.Retry && !x.account.Pay(x.verdict):
		x.verdict.Retry, x.starved = false, true
	}
}

func timeLeft(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return time.Until(deadline)
	}
	return 1<<63 - 1
}

// finish turns the last outcome into a result or one typed error.
func (x *exchange) finish(ctx context.Context, lenient bool, out any) error {
	if x.hasSucceeded() {
		return x.read(ctx, lenient, out)
	}
	if x.op.method == http.MethodDelete && x.mayHave && x.saysGone() {
		return nil // an earlier try, whose answer was lost, has deleted it
	}
	err := x.failure(ctx)
	if x.verdict.MayHave {
		err = x.unlessRepeatable(err, x.last.SaysDone())
	}
	return err
}

// unlessRepeatable is the error of a call that may have taken effect: it must be noticed where the
// call may not be repeated.
func (x *exchange) unlessRepeatable(err error, done bool) error {
	if x.op.replay != ReplayNever {
		return err
	}
	return &OutcomeUnknownError{CallInfo: x.op.info(x.tries), Done: done, Err: err}
}

// saysGone reports the service's own word that the thing does not exist. A proxy's 404, and one
// that lacks the project or the endpoint, say nothing about it.
func (x *exchange) saysGone() bool {
	said := x.problem
	return x.last.Status == http.StatusNotFound && said.Code == "not_found" &&
		said.Detail != httptry.NoEndpoint && said.Detail != httptry.NoProject
}

// failure is the newest try's error, joined by why there is no further try where that is not the
// answer's own fault.
func (x *exchange) failure(ctx context.Context) error {
	var err error
	if x.last.Status != 0 {
		err = x.apiError()
	} else {
		err = x.transportError(x.last.Err, !x.last.Unsent)
	}
	switch {
	case x.last.Canceled:
		if !errors.Is(err, ctx.Err()) || !errors.Is(err, context.Cause(ctx)) {
			err = fmt.Errorf("%w (the call was ended: %w)", err, httptry.ContextError(ctx))
		}
	case x.starved:
		err = fmt.Errorf("%w (not tried again: %w)", err, errStarved)
	case x.verdict.TooLong:
		wait := x.verdict.Wait.Round(time.Millisecond)
		err = fmt.Errorf("%w (the next try would start in %v, after the deadline: %w)", err, wait, context.DeadlineExceeded)
	}
	return err
}

func (x *exchange) apiError() *APIError {
	a, text := x.answer, x.problem
	err := &APIError{
		CallInfo: x.op.info(x.tries), StatusCode: a.StatusCode,
		Type: text.Type, Code: text.Code, Detail: text.Detail, Attr: text.Attr,
		RequestID: httptry.RequestID(a.Header), RetryAfter: x.last.RetryAfter,
		scope: x.op.scope, ids: x.ids, isForeign: text.IsForeign, body: a.Body,
	}
	if err.isUnsupported() {
		err.Alternative = alternatives[x.op.name]
	}
	return err
}

func (x *exchange) transportError(err error, sent bool) *TransportError {
	return &TransportError{CallInfo: x.op.info(x.tries), Sent: sent, Err: err}
}

// read decodes a success into out. An answer that cannot be read leaves a call that may not be
// repeated of unknown outcome.
func (x *exchange) read(ctx context.Context, lenient bool, out any) error {
	body := bytes.TrimSpace(x.answer.Body)
	page := httptry.IsPage(x.answer.Header.Get("Content-Type"), body)
	if out == nil && (x.op.name == ops.Do || !page) {
		return nil
	}
	if len(body) == 0 && lenient {
		return nil
	}
	err := errors.New("it is empty")
	switch {
	case out == nil:
		err = errors.New("it is a page for people")
	case len(body) > 0:
		if x.op.name != ops.Do { // whose answer is the caller's, as it came
			body = mask.Whole(body, x.apiKeys)
		}
		err = decodeAnswer(ctx, body, out)
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		x.last.Canceled = true
		err = fmt.Errorf("the answer was not read to its end: %w", httptry.ContextError(ctx))
		return x.unlessRepeatable(x.transportError(err, true), !page)
	}
	if !errors.Is(err, httptry.ErrTooBig) { // which says nothing of the answer's own
		err = errors.New(mask.Clean(mask.Text(mask.Brief(err), x.keys)))
	}
	return x.unlessRepeatable(&DecodeError{
		CallInfo: x.op.info(x.tries), StatusCode: x.answer.StatusCode,
		Err: err, body: mask.Bytes(body[:min(len(body), httptry.MaxErrorBody)], x.keys),
	}, false)
}

// reply is the newest answer, or an empty one where none came.
func (x *exchange) reply() Reply {
	if x.answer == nil {
		return Reply{}
	}
	return *x.answer
}
