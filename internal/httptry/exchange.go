package httptry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/hogapi/hogapi/internal/mask"
)

// MostTries is the most tries of a call.
const MostTries = 100

// Exchange is a call to be sent. go-retryablehttp's callbacks cannot see the request that they decide
// about, so each call has its own retrying client. The callbacks are methods of the call's [Result].
type Exchange struct {
	Plan    Plan
	Client  *http.Client
	Policy  Policy
	Account Account
	Once    bool     // the call acts again each time that it is carried out
	Keys    []string // no error and no kept body may show them
	Now     func() time.Time
	Mark    func(ctx context.Context, try int) context.Context // is Plan.Mark of each try; may be nil
	Tried   func(context.Context, *Result)                     // is called after each try

	Location       *string // takes the target of a redirect, where a redirect is the wanted answer
	TooMuchIsFinal bool    // a try that took too long is not repeated

	request *retryablehttp.Request
}

// Result is a call's outcome. It grows with each try.
type Result struct {
	Tries   int
	Facts   Facts   // of the newest try
	Last    Outcome // of the newest try
	Verdict Verdict
	Starved bool      // the retry budget is used up
	MayHave bool      // an earlier try of this call may have taken effect
	Sent    bool      // a try, not only the newest, may have reached the host
	Answer  *Received // of the newest try; nil: no answer
	Problem ErrorBody // of an answer that is no success

	call *Exchange
}

// Received is an answer. The answer of a failure is cut, and its keys are masked.
type Received struct {
	StatusCode int
	Header     http.Header
	Body       []byte
}

// Prepare makes the request and returns its header, for the caller to fill before Send. With a nil body,
// the request has no body.
func (x *Exchange) Prepare(ctx context.Context, method, target string, body []byte) (http.Header, error) {
	var err error
	if x.request, err = retryablehttp.NewRequestWithContext(x.Plan.In(ctx), method, target, rewindable(body)); err != nil {
		return nil, NoURL(err)
	}
	return x.request.Header, nil
}

// rewindable returns a body in the form that go-retryablehttp accepts.
func rewindable(body []byte) any {
	if body == nil {
		return nil
	}
	return body // a byte slice rewinds for free
}

// Send runs the tries and returns their outcome, instead of the retrying client's error.
func (x *Exchange) Send(ctx context.Context) *Result {
	r := &Result{call: x}
	if x.Mark != nil {
		x.Plan.Mark = func(ctx context.Context) context.Context { return x.Mark(ctx, r.Tries+1) }
	}
	client := retryablehttp.Client{
		HTTPClient:   x.Client,
		Logger:       nil, // the default logs whole URLs to stderr
		RetryMax:     MostTries,
		CheckRetry:   r.checkRetry,
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return r.Verdict.Wait },
		ErrorHandler: func(resp *http.Response, err error, _ int) (*http.Response, error) { return resp, err },
	}
	resp, err := client.Do(x.request)
	if ctx.Err() != nil && err != nil {
		r.Last.Canceled = true // during a try, or during the wait for the next one
		if r.Verdict.Retry {
			x.Account.Refund() // the retry never began
		}
	}
	if resp != nil {
		_ = resp.Body.Close() // in memory
	}
	return r
}

// checkRetry is called after every try; it records the outcome and decides.
func (r *Result) checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	r.MayHave = r.MayHave || r.Verdict.MayHave
	r.Last = r.outcome(ctx, resp, err)
	r.Sent = r.Sent || !r.Last.Unsent
	r.Verdict = r.call.Policy.Decide(r.Last)
	if r.call.TooMuchIsFinal && (TookTooMuch(r.Last.Status) || r.Verdict.Silent) {
		r.Verdict.Retry = false
	}
	r.settleBudget()
	r.call.Tried(ctx, r)
	return r.Verdict.Retry, nil
}

// outcome returns the Outcome of a try, and keeps its answer. It masks the keys in the answer of a failure.
func (r *Result) outcome(ctx context.Context, resp *http.Response, err error) Outcome {
	r.Tries++
	r.Facts = r.call.Plan.TakeFacts()
	o := Outcome{
		Try: r.Tries, Once: r.call.Once, Err: mask.Error(NoURL(err), r.call.Keys), Unsent: r.Facts.Unsent,
		Answered: r.Facts.Answered, Canceled: ctx.Err() != nil, TimeLeft: timeLeft(ctx), Random: Random(),
	}
	r.Answer, r.Problem = nil, ErrorBody{}
	if resp == nil || err != nil {
		return o
	}
	r.Answer = &Received{StatusCode: resp.StatusCode, Header: resp.Header, Body: BodyOf(resp)}
	o.Status = resp.StatusCode
	switch {
	case r.isRedirected(o.Status):
		*r.call.Location = resp.Header.Get("Location")
	case !IsSuccess(o.Status):
		o.RetryAfter = ParseRetryAfter(resp.Header, r.call.Now())
		r.readProblem()
		o.Code, o.IsOwn = r.Problem.Code, r.Problem.IsOwn()
	}
	if r.call.Location != nil {
		r.hideLocation()
	}
	return o
}

func (r *Result) readProblem() {
	header, body := r.Answer.Header, r.Answer.Body
	r.Answer.Header, r.Answer.Body = mask.Header(header, r.call.Keys), mask.Bytes(body, r.call.Keys)
	r.Problem = ParseErrorBody(header.Get("Content-Type"), r.Answer.Body)
}

// hideLocation masks the Location of an answer with any status: it can be a signed URL, which is a secret.
// It drops the body too, unless that is an error in the service's own words without a URL.
func (r *Result) hideLocation() {
	a := r.Answer
	if _, leads := a.Header["Location"]; leads {
		a.Header = a.Header.Clone()
		a.Header.Set("Location", mask.Redacted)
	}
	hasFailed := !IsSuccess(a.StatusCode) && !r.isRedirected(a.StatusCode)
	if !hasFailed || !r.Problem.IsOwn() || mask.HoldsURL(a.Body) {
		a.Body, r.Problem = nil, ErrorBody{IsForeign: r.Problem.IsForeign}
	}
}

// isRedirected reports whether a status is the redirect that the call wants.
func (r *Result) isRedirected(status int) bool {
	return r.call.Location != nil && status == http.StatusFound
}

// HasSucceeded reports whether the newest try has the answer that was wanted.
func (r *Result) HasSucceeded() bool {
	return r.Last.Err == nil && (IsSuccess(r.Last.Status) || r.isRedirected(r.Last.Status))
}

// settleBudget takes the cost of a retry from the budget, or returns tokens after a success.
func (r *Result) settleBudget() {
	switch {
	case r.HasSucceeded():
		r.call.Account.Succeed()
	case r.Verdict.Retry && !r.call.Account.Pay(r.Verdict):
		r.Verdict.Retry, r.Starved = false, true
	}
}

func timeLeft(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return time.Until(deadline)
	}
	return 1<<63 - 1
}

// errStarved is the reason for no further try after the retry budget is used up.
var errStarved = errors.New("this client's retry budget is used up, since too many of its calls have failed lately")

// Explain adds to the error of the newest try the reason why there is no further try, unless the answer
// itself is the reason.
func (r *Result) Explain(ctx context.Context, err error) error {
	switch {
	case r.Last.Canceled && !(errors.Is(err, ctx.Err()) && errors.Is(err, context.Cause(ctx))):
		return fmt.Errorf("%w (the call was ended: %w)", err, ContextError(ctx))
	case r.Last.Canceled:
		return err
	case r.Starved:
		return fmt.Errorf("%w (not tried again: %w)", err, errStarved)
	case r.Verdict.TooLong:
		wait := r.Verdict.Wait.Round(time.Millisecond)
		return fmt.Errorf("%w (the next try would start in %v, after the deadline: %w)", err, wait, context.DeadlineExceeded)
	}
	return err
}

// SaysGone reports whether the service itself says that the object does not exist. A proxy's 404, or a 404
// for a missing project or endpoint, says nothing about the object.
func (r *Result) SaysGone() bool {
	said := r.Problem
	return r.Last.Status == http.StatusNotFound && said.Code == "not_found" &&
		said.Detail != NoEndpoint && said.Detail != NoProject
}
