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

// Exchange is one call over its tries. go-retryablehttp's callbacks cannot see the request that they
// decide about, so each call has a retrying client of its own, whose callbacks are methods of the
// call's state.
type Exchange struct {
	Plan    Plan
	Client  *http.Client
	Policy  Policy
	Account Account
	Once    bool     // the call acts again each time that it is carried out
	Keys    []string // what no error and no kept body may show
	Now     func() time.Time
	Tried   func(context.Context) // is called after each try

	Location       *string // where a redirect is the answer that is wanted: takes the place it leads to
	TooMuchIsFinal bool    // a try that took too long is not repeated

	Tries   int
	Facts   Facts   // of the newest try
	Last    Outcome // of the newest try
	Verdict Verdict
	Starved bool      // the retry budget is used up
	MayHave bool      // an earlier try of this call may have taken effect
	Sent    bool      // a try, not only the newest, may have reached the host
	Answer  *Received // of the newest try; nil where none came
	Problem ErrorBody // what it says, where it is no success

	request *retryablehttp.Request
}

// Received is an answer as it came; of a failure it is cut, and without keys.
type Received struct {
	StatusCode int
	Header     http.Header
	Body       []byte
}

// Prepare makes the request, and returns its header, which is to be filled before Send. A nil body sends
// none.
func (x *Exchange) Prepare(ctx context.Context, method, target string, body []byte) (http.Header, error) {
	var err error
	if x.request, err = retryablehttp.NewRequestWithContext(x.Plan.In(ctx), method, target, rewindable(body)); err != nil {
		return nil, NoURL(err)
	}
	return x.request.Header, nil
}

// rewindable is a body as go-retryablehttp takes it.
func rewindable(body []byte) any {
	if body == nil {
		return nil
	}
	return body // a byte slice rewinds for free
}

// Send runs the tries. The outcome is in the exchange, whatever the retrying client makes of it.
func (x *Exchange) Send(ctx context.Context) {
	client := retryablehttp.Client{
		HTTPClient:   x.Client,
		Logger:       nil, // the default logs whole URLs to stderr
		RetryMax:     MostTries,
		CheckRetry:   x.checkRetry,
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return x.Verdict.Wait },
		ErrorHandler: func(resp *http.Response, err error, _ int) (*http.Response, error) { return resp, err },
	}
	resp, err := client.Do(x.request)
	if ctx.Err() != nil && err != nil {
		x.Last.Canceled = true // during a try, or during the wait for the next one
		if x.Verdict.Retry {
			x.Account.Refund() // the retry never began
		}
	}
	if resp != nil {
		_ = resp.Body.Close() // in memory
	}
}

// checkRetry is called after every try; it records the outcome and decides.
func (x *Exchange) checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	x.MayHave = x.MayHave || x.Verdict.MayHave
	x.Last = x.outcome(ctx, resp, err)
	x.Sent = x.Sent || !x.Last.Unsent
	x.Verdict = x.Policy.Decide(x.Last)
	if x.TooMuchIsFinal && (x.Last.Status == http.StatusGatewayTimeout || x.Verdict.Silent) {
		x.Verdict.Retry = false
	}
	x.settleBudget()
	x.Tried(ctx)
	return x.Verdict.Retry, nil
}

// outcome is what a try has shown. It keeps the answer, of a failure without the keys.
func (x *Exchange) outcome(ctx context.Context, resp *http.Response, err error) Outcome {
	x.Tries++
	x.Facts = x.Plan.TakeFacts()
	o := Outcome{
		Try: x.Tries, Once: x.Once, Err: mask.Error(NoURL(err), x.Keys), Unsent: x.Facts.Unsent,
		Answered: x.Facts.Answered, Canceled: ctx.Err() != nil, TimeLeft: timeLeft(ctx), Random: Random(),
	}
	x.Answer, x.Problem = nil, ErrorBody{}
	if resp == nil || err != nil {
		return o
	}
	x.Answer = &Received{StatusCode: resp.StatusCode, Header: resp.Header, Body: BodyOf(resp)}
	o.Status = resp.StatusCode
	switch {
	case x.isRedirected(o.Status):
		*x.Location = resp.Header.Get("Location")
	case !IsSuccess(o.Status):
		o.RetryAfter = ParseRetryAfter(resp.Header, x.Now())
		x.readProblem()
		o.Code, o.IsOwn = x.Problem.Code, x.Problem.IsOwn()
	}
	if x.Location != nil {
		x.hideLocation()
	}
	return o
}

// readProblem reads what an answer says that is no success, and keeps the keys out of it.
func (x *Exchange) readProblem() {
	header, body := x.Answer.Header, x.Answer.Body
	x.Answer.Header, x.Answer.Body = mask.Header(header, x.Keys), mask.Bytes(body, x.Keys)
	x.Problem = ParseErrorBody(header.Get("Content-Type"), x.Answer.Body)
}

// hideLocation takes out of an answer, whatever its status, what can be the place that it leads to:
// a signed URL, which is a secret. Of the body only the service's own words remain.
func (x *Exchange) hideLocation() {
	a := x.Answer
	if _, leads := a.Header["Location"]; leads {
		a.Header = a.Header.Clone()
		a.Header.Set("Location", mask.Redacted)
	}
	hasFailed := !IsSuccess(a.StatusCode) && !x.isRedirected(a.StatusCode)
	if !hasFailed || !x.Problem.IsOwn() || mask.HoldsURL(a.Body) {
		a.Body, x.Problem = nil, ErrorBody{IsForeign: x.Problem.IsForeign}
	}
}

// isRedirected reports whether a status is the redirect that the call wants.
func (x *Exchange) isRedirected(status int) bool {
	return x.Location != nil && status == http.StatusFound
}

// HasSucceeded reports whether the newest try has the answer that was wanted.
func (x *Exchange) HasSucceeded() bool {
	return x.Last.Err == nil && (IsSuccess(x.Last.Status) || x.isRedirected(x.Last.Status))
}

// settleBudget takes the cost of a retry from the budget, or gives back for a success.
func (x *Exchange) settleBudget() {
	switch {
	case x.HasSucceeded():
		x.Account.Succeed()
	case x.Verdict.Retry && !x.Account.Pay(x.Verdict):
		x.Verdict.Retry, x.Starved = false, true
	}
}

func timeLeft(ctx context.Context) time.Duration {
	if deadline, ok := ctx.Deadline(); ok {
		return time.Until(deadline)
	}
	return 1<<63 - 1
}

// errStarved is why a call is not tried again.
var errStarved = errors.New("this client's retry budget is used up, since too many of its calls have failed lately")

// Explain joins an error of the newest try by why there is no further try, where that is not the
// answer's own fault.
func (x *Exchange) Explain(ctx context.Context, err error) error {
	switch {
	case x.Last.Canceled && !(errors.Is(err, ctx.Err()) && errors.Is(err, context.Cause(ctx))):
		return fmt.Errorf("%w (the call was ended: %w)", err, ContextError(ctx))
	case x.Last.Canceled:
		return err
	case x.Starved:
		return fmt.Errorf("%w (not tried again: %w)", err, errStarved)
	case x.Verdict.TooLong:
		wait := x.Verdict.Wait.Round(time.Millisecond)
		return fmt.Errorf("%w (the next try would start in %v, after the deadline: %w)", err, wait, context.DeadlineExceeded)
	}
	return err
}

// SaysGone reports the service's own word that the thing does not exist. A proxy's 404, and one
// that lacks the project or the endpoint, say nothing about it.
func (x *Exchange) SaysGone() bool {
	said := x.Problem
	return x.Last.Status == http.StatusNotFound && said.Code == "not_found" &&
		said.Detail != NoEndpoint && said.Detail != NoProject
}
