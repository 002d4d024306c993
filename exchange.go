package hogapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/hogapi/hogapi/internal/mask"
)

// exchange is the state of one call over its tries. go-retryablehttp's callbacks cannot see the
// request that they decide about (T1), so each call has a retrying client of its own, whose
// callbacks are methods of this state.
type exchange struct {
	core    *core
	op      operation
	ids     int
	plan    tryPlan
	keys    []string // what no error and no kept body may show
	apiKeys []string // of them: the client's own, which no answer may show either
	started time.Time

	tries   int
	report  tryReport
	last    outcome // of the newest try
	verdict verdict
	paid    int       // budget tokens of the newest retry
	mayHave bool      // an earlier try of this call may have taken effect
	answer  *Reply    // of the newest try; nil where none came
	problem errorBody // what it says, where it is no success

	location *string // of the call's request
}

func newExchange(c *core, op operation, target *url.URL, ids int) *exchange {
	x := &exchange{core: c, op: op, ids: ids, started: time.Now(), report: tryReport{unsent: true}}
	if c.projectKey != nil {
		x.addKey(c.projectKey())
	}
	x.plan = tryPlan{
		origin: originOf(target),
		begin:  func() CallInfo { return x.info(x.tries + 1) },
		report: func(r tryReport) { x.report = r },
	}
	return x
}

// addKey notes one of the client's own keys.
func (x *exchange) addKey(key string) {
	x.keys, x.apiKeys = append(x.keys, key), append(x.apiKeys, key)
}

func (x *exchange) info(try int) CallInfo {
	return CallInfo{Op: x.op.name, Method: x.op.method, Route: x.op.path, Try: try}
}

// send runs the tries. The outcome is in the exchange, whatever the retrying client makes of it.
func (x *exchange) send(ctx context.Context, req *retryablehttp.Request) {
	client := retryablehttp.Client{
		HTTPClient:   x.core.http(),
		Logger:       nil, // the default logs whole URLs to stderr (T10)
		RetryMax:     mostTries,
		CheckRetry:   x.checkRetry,
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return x.verdict.wait },
		ErrorHandler: func(resp *http.Response, err error, _ int) (*http.Response, error) { return resp, err },
	}
	resp, err := client.Do(req)
	if ctx.Err() != nil && err != nil {
		x.last.canceled = true // during a try, or during the wait for the next one
		if x.verdict.retry {
			x.core.budget.give(x.paid) // for a retry that never began
		}
	}
	if resp != nil {
		_ = resp.Body.Close() // in memory
	}
}

// checkRetry is called after every try; it records the outcome and decides.
func (x *exchange) checkRetry(ctx context.Context, resp *http.Response, err error) (bool, error) {
	x.tries++
	o := outcome{
		try: x.tries, replay: x.op.replay, err: mask.Error(noURL(err), x.keys), unsent: x.report.unsent,
		answered: x.report.answered, canceled: ctx.Err() != nil, timeLeft: timeLeft(ctx), random: randomUnit(),
	}
	x.answer = nil
	if resp != nil && err == nil {
		body := bodyOf(resp)
		x.answer = &Reply{StatusCode: resp.StatusCode, Header: resp.Header, Body: body}
		o.status = resp.StatusCode
		if x.isRedirected(o.status) {
			x.takeLocation()
		} else if !isSuccess(o.status) {
			o.retryAfter = parseRetryAfter(resp.Header, x.core.now())
			x.answer.Header, x.answer.Body = mask.Header(resp.Header, x.keys), mask.Bytes(body, x.keys)
			x.problem = parseErrorBody(resp.Header.Get("Content-Type"), x.answer.Body)
			o.code, o.isOwn = x.problem.Code, x.problem.isOwn()
		}
	}
	x.mayHave = x.mayHave || x.last.try > 0 && x.verdict.mayHave
	x.last, x.verdict = o, x.core.retry.decide(o)
	x.settleBudget()
	x.observeTry(ctx)
	x.report = tryReport{unsent: true} // until the next try's transport says otherwise
	return x.verdict.retry, nil
}

// isRedirected reports whether a status is the redirect that the call wants.
func (x *exchange) isRedirected(status int) bool {
	return x.location != nil && status == http.StatusFound
}

// takeLocation moves the place that the answer leads to out of it: that place may be a secret.
func (x *exchange) takeLocation() {
	*x.location = x.answer.Header.Get("Location")
	header := x.answer.Header.Clone()
	header.Set("Location", redacted)
	x.answer.Header, x.answer.Body = header, nil
}

func (x *exchange) hasSucceeded() bool {
	return x.last.err == nil && (isSuccess(x.last.status) || x.isRedirected(x.last.status))
}

// settleBudget takes the cost of a retry from the budget, or gives back for a success.
func (x *exchange) settleBudget() {
	if x.hasSucceeded() {
		x.core.budget.give(max(x.paid, 1))
		return
	}
	if !x.verdict.retry {
		return
	}
	x.paid = budgetRetry
	if x.verdict.silent {
		x.paid = budgetSilent
	}
	x.verdict.retry = x.core.budget.take(x.paid)
	x.verdict.starved = !x.verdict.retry
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
	if x.verdict.mayHave {
		err = x.unlessRepeatable(err, x.last.saysDone())
	}
	return err
}

// unlessRepeatable is the error of a call that may have taken effect: it must be noticed where the
// call may not be repeated.
func (x *exchange) unlessRepeatable(err error, done bool) error {
	if x.op.replay != ReplayNever {
		return err
	}
	return &OutcomeUnknownError{
		Op: x.op.name, Method: x.op.method, Route: x.op.path, Attempts: x.tries, Done: done, Err: err,
	}
}

// saysGone reports the service's own word that the thing does not exist. A proxy's 404, and one
// that lacks the project or the endpoint, say nothing about it.
func (x *exchange) saysGone() bool {
	said := x.problem
	return x.last.status == http.StatusNotFound && said.Code == "not_found" &&
		said.Detail != noEndpoint && said.Detail != noProject
}

// failure is the newest try's error, joined by why there is no further try where that is not the
// answer's own fault.
func (x *exchange) failure(ctx context.Context) error {
	var err error
	if x.last.status != 0 {
		err = x.apiError()
	} else {
		err = x.transportError(x.last.err, !x.last.unsent)
	}
	switch {
	case x.last.canceled:
		if !errors.Is(err, ctx.Err()) || !errors.Is(err, context.Cause(ctx)) {
			err = fmt.Errorf("%w (the call was ended: %w)", err, contextError(ctx))
		}
	case x.verdict.starved:
		err = fmt.Errorf("%w (not tried again: %w)", err, errStarved)
	case x.verdict.tooLong:
		wait := x.verdict.wait.Round(time.Millisecond)
		err = fmt.Errorf("%w (the next try would start in %v, after the deadline: %w)", err, wait, context.DeadlineExceeded)
	}
	return err
}

func (x *exchange) apiError() *APIError {
	a, text := x.answer, x.problem
	err := &APIError{
		Op: x.op.name, Method: x.op.method, Route: x.op.path, StatusCode: a.StatusCode,
		Type: text.Type, Code: text.Code, Detail: text.Detail, Attr: text.Attr,
		RequestID: requestID(a.Header), RetryAfter: x.last.retryAfter, Attempts: x.tries,
		scope: x.op.scope, ids: x.ids, isForeign: text.isForeign, body: a.Body,
	}
	if err.isUnsupported() {
		err.Alternative = alternatives[x.op.name]
	}
	return err
}

func (x *exchange) transportError(err error, sent bool) *TransportError {
	return &TransportError{
		Op: x.op.name, Method: x.op.method, Route: x.op.path, Attempts: x.tries, Sent: sent, Err: err,
	}
}

// read decodes a success into out. An answer that cannot be read leaves a call that may not be
// repeated of unknown outcome.
func (x *exchange) read(ctx context.Context, lenient bool, out any) error {
	body := bytes.TrimSpace(x.answer.Body)
	page := isPage(x.answer.Header.Get("Content-Type"), body)
	if out == nil && (x.op.name == OpDo || !page) {
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
		if x.op.name != OpDo { // whose answer is the caller's, as it came
			body = mask.Whole(body, x.apiKeys)
		}
		err = decodeAnswer(ctx, body, out)
	}
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		x.last.canceled = true
		err = fmt.Errorf("the answer was not read to its end: %w", contextError(ctx))
		return x.unlessRepeatable(x.transportError(err, true), !page)
	}
	if !errors.Is(err, errAnswerTooBig) { // which says nothing of the answer's own
		err = errors.New(mask.Clean(mask.Text(mask.Brief(err), x.keys)))
	}
	return x.unlessRepeatable(&DecodeError{
		Op: x.op.name, Method: x.op.method, Route: x.op.path, StatusCode: x.answer.StatusCode,
		Err: err, body: mask.Bytes(body[:min(len(body), maxErrorBody)], x.keys),
	}, false)
}

// cutJSON reports a JSON text that ends too early.
func cutJSON(body []byte) bool {
	body = bytes.TrimSpace(body)
	return len(body) > 0 && (body[0] == '{' || body[0] == '[') && !json.Valid(body)
}

func requestID(h http.Header) string {
	for _, name := range []string{"X-Request-Id", "X-Correlation-Id", "Cf-Ray"} {
		if id := h.Get(name); id != "" {
			return mask.Clean(id)
		}
	}
	return ""
}

// reply is the newest answer, or an empty one where none came.
func (x *exchange) reply() Reply {
	if x.answer == nil {
		return Reply{}
	}
	return *x.answer
}
