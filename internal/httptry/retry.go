package httptry

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-retryablehttp"

	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
)

// Call is a request with the rules for its tries. It is sent once.
type Call struct {
	Plan   Plan
	Client *http.Client
	Policy Policy
	Tokens *Tokens

	Method, URL string
	Header      http.Header
	Body        []byte // nil for none

	ActsEachTime  bool     // the call acts again each time that it is carried out
	NoRetryIfSlow bool     // a try that took too long is not repeated
	TakesLocation bool     // a redirect is the wanted answer
	Keys          []string // no error and no kept body may show them
	Now           func() time.Time
	Mark          func(ctx context.Context, try int) context.Context // is Plan.Mark of each try
	Tried         func(context.Context, *Try)                        // is called after each try

	paid int // for the newest retry, in tokens
}

// Try is one try: its outcome and, in a call, the next step.
type Try struct {
	Status   int // 0: no answer
	Header   http.Header
	Body     []byte        // whole in a success, and cut in a failure
	Err      error         // why there is no usable answer
	Unsent   bool          // provably nothing of the request was written
	Stale    bool          // a connection that had been kept ended under the request
	Answered int           // status of a success with a body that could not be read, or 0
	Duration time.Duration // with the redirects that were followed

	// Of a call.
	Number             int           // from 1
	OK                 bool          // the answer is the wanted one
	Location           string        // of a wanted redirect
	Problem            ErrorBody     // of an answer that is no success, with masked keys
	RetryAfter         time.Duration // that the service asks for
	Canceled           bool          // the caller's context has ended
	EverSent           bool          // this or an earlier try may have reached the host
	MayHaveActedBefore bool          // an earlier try of the call may have taken effect
	Decision
}

// Decision is the next step after a try.
type Decision struct {
	Retry        bool
	Wait         time.Duration // before the next try
	TooLong      bool          // the wait would not end before the caller's deadline
	Starved      bool          // the retry budget is used up
	MayHaveActed bool          // the call may have taken effect although it failed
	TimedOut     bool          // no answer within the time for one try
}

// Send makes tries until one succeeds or no other may follow, and returns the last.
func (c *Call) Send(ctx context.Context) *Try {
	last := &Try{}
	var body any // for a nil slice, the request would have a body
	if c.Body != nil {
		body = c.Body
	}
	request, err := retryablehttp.NewRequestWithContext(context.WithValue(ctx, planKey{}, &c.Plan), c.Method, c.URL, body)
	if err != nil {
		return &Try{Err: NoURL(err), Unsent: true}
	}
	request.Header = c.Header
	c.Plan.Mark = func(ctx context.Context) context.Context { return c.Mark(ctx, last.Number+1) }
	client := retryablehttp.Client{ // a new one for each call: its functions cannot see the call that they decide about
		HTTPClient: c.Client,
		Logger:     nil, // the default logs whole URLs to stderr
		RetryMax:   MaxTries,
		CheckRetry: func(ctx context.Context, _ *http.Response, err error) (bool, error) {
			last = c.judge(ctx, last, err)
			return last.Retry && sleep(ctx, last.Wait), nil
		},
		Backoff:      func(_, _ time.Duration, _ int, _ *http.Response) time.Duration { return 0 }, // CheckRetry has waited
		ErrorHandler: func(resp *http.Response, err error, _ int) (*http.Response, error) { return resp, err },
	}
	resp, _ := client.Do(request) // last has the error
	if resp != nil {
		_ = resp.Body.Close() // empty: the body is in last
	}
	if last.Retry { // the context ended during the wait for the next try
		last.Canceled = true
		c.Tokens.give(c.paid)
	}
	return last
}

// judge returns the newest try with the decision about another.
func (c *Call) judge(ctx context.Context, before *Try, err error) *Try {
	t := c.Plan.take(err, c.Keys)
	t.Number, t.Canceled = before.Number+1, ctx.Err() != nil
	t.MayHaveActedBefore = before.MayHaveActedBefore || before.MayHaveActed
	t.EverSent = before.EverSent || !t.Unsent
	switch {
	case err != nil:
	case IsSuccess(t.Status):
		t.OK = true
	case c.TakesLocation && t.Status == http.StatusFound:
		t.OK, t.Location = true, t.Header.Get("Location")
	default:
		t.RetryAfter = ParseRetryAfter(t.Header, c.Now())
		t.Header, t.Body = mask.Header(t.Header, c.Keys), mask.Bytes(t.Body, c.Keys)
		t.Problem = ParseErrorBody(t.Header.Get("Content-Type"), t.Body)
	}
	if c.TakesLocation && err == nil {
		t.hideLocation()
	}
	left := time.Duration(math.MaxInt64)
	if deadline, ok := ctx.Deadline(); ok {
		left = time.Until(deadline)
	}
	if !t.OK {
		t.Decision = c.Policy.Decide(&t, c.ActsEachTime, left, rand.Float64()) //nolint:gosec // jitter needs no secrecy
	}
	if c.NoRetryIfSlow && (TookTooMuch(t.Status) || t.TimedOut) {
		t.Retry = false
	}
	switch {
	case t.OK: // the cost of the retry that succeeded, or 1 where the first try did
		c.Tokens.give(max(c.paid, 1))
	case t.Retry:
		c.paid = CostOfRetry
		if t.TimedOut {
			c.paid = costTimedOut
		}
		t.Retry = c.Tokens.Take(c.paid)
		t.Starved = !t.Retry
	}
	c.Tried(ctx, &t)
	return &t
}

// sleep reports whether the context has lasted for a time.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// hideLocation masks the Location of an answer with any status: it can be a signed URL, which is a secret.
// It drops the body too, unless that is an error in the service's own words without a URL.
func (t *Try) hideLocation() {
	if _, leads := t.Header["Location"]; leads {
		t.Header = t.Header.Clone()
		t.Header.Set("Location", mask.Redacted)
	}
	if t.OK || !t.Problem.IsOwn() || mask.HoldsURL(t.Body) {
		t.Body, t.Problem = nil, ErrorBody{IsForeign: t.Problem.IsForeign}
	}
}

// MaxTries is the highest number of tries of a call.
const MaxTries = 100

// Policy bounds the tries of a call.
type Policy struct {
	MaxTries      int           // the first included
	BaseDelay     time.Duration // upper end of the first wait, doubled for each further one
	MaxDelay      time.Duration // upper end of any wait
	MaxRetryAfter time.Duration // a longer Retry-After ends the call at once
}

// WithDefaults fills the zero fields, and calls problem for each invalid field.
func (p Policy) WithDefaults(problem func(field, value, want string)) Policy {
	if p.MaxTries < 0 || p.MaxTries > MaxTries {
		problem("RetryPolicy.MaxTries", strconv.Itoa(p.MaxTries), "1 to 100, or 0 for the default")
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"BaseDelay", p.BaseDelay}, {"MaxDelay", p.MaxDelay}, {"MaxRetryAfter", p.MaxRetryAfter}} {
		if d.value == 0 {
			continue
		}
		if r := outgoing.Durations(map[string]time.Duration{"RetryPolicy." + d.field: d.value}); r != nil {
			problem(r.Field, r.Value, r.Want)
		}
	}
	p.MaxTries = cmp.Or(p.MaxTries, 4)
	p.BaseDelay = cmp.Or(p.BaseDelay, 250*time.Millisecond)
	p.MaxDelay = cmp.Or(p.MaxDelay, 30*time.Second)
	p.MaxRetryAfter = cmp.Or(p.MaxRetryAfter, time.Minute)
	return p
}

// Decide is the policy without NoRetryIfSlow and the retry budget, which judge adds, for a try of a call that acts once or may be repeated. left is the time until the caller's
// deadline, and random is in [0, 1).
func (p Policy) Decide(t *Try, once bool, left time.Duration, random float64) (d Decision) {
	d.MayHaveActed, d.TimedOut = t.mayHaveActed(), errors.Is(t.Err, ErrTimeout)
	wasThrottled := t.Status == http.StatusTooManyRequests && t.Problem.Code == codeThrottled // nothing was done
	isTransient := IsTransientStatus(t.Status) && !IsFull(t.Problem.Code)
	if t.Err != nil {
		isTransient = !IsPermanent(t.Err)
	}
	if t.Canceled || !isTransient || once && (d.MayHaveActed || t.Status != 0 && !wasThrottled) {
		return d
	}
	d.Wait = Jitter(p.BaseDelay, p.MaxDelay, t.Number, random)
	if t.RetryAfter > 0 {
		d.Wait = max(t.RetryAfter, MinDelay)
	}
	switch {
	case t.RetryAfter > p.MaxRetryAfter || t.Number >= p.MaxTries:
	case d.Wait >= left:
		d.TooLong = true
	default:
		d.Retry = true
	}
	return d
}

// mayHaveActed reports whether the service may have carried out the call although it failed. A 303 says
// that it did. A proxy can answer with any status after the service has acted, but some statuses rule that
// out: 307, 308 and a 4xx, except 408, and except a 429 that is not the service's own.
func (t *Try) mayHaveActed() bool {
	switch s := t.Status; {
	case t.Err != nil:
		return !t.Unsent
	case s == http.StatusTooManyRequests:
		return !t.Problem.IsOwn()
	case s >= 300 && s < 400:
		return s != http.StatusTemporaryRedirect && s != http.StatusPermanentRedirect
	default:
		return s == http.StatusRequestTimeout || s >= 500
	}
}

// SaysDone reports whether the service said that it carried out the call, although its answer cannot be read.
func (t *Try) SaysDone() bool { return t.Answered != 0 || t.Status == http.StatusSeeOther }

// SaysGone reports whether the service itself says that the object does not exist. A proxy's 404, or a 404
// for a missing project or endpoint, says nothing about the object.
func (t *Try) SaysGone() bool {
	return t.Status == http.StatusNotFound && t.Problem.Code == "not_found" &&
		t.Problem.Detail != NoEndpoint && t.Problem.Detail != NoProject
}

// errStarved is the reason for no further try after the retry budget is used up.
var errStarved = errors.New("this client's retry budget is used up, since too many of its calls have failed lately")

// Explain adds to the error of the last try the reason why there is no further try, unless the answer itself is the
// reason.
func (t *Try) Explain(ctx context.Context, err error) error {
	switch {
	case t.Canceled && !(errors.Is(err, ctx.Err()) && errors.Is(err, context.Cause(ctx))):
		return fmt.Errorf("%w (the call was ended: %w)", err, ContextError(ctx))
	case t.Canceled:
		return err
	case t.Starved:
		return fmt.Errorf("%w (not tried again: %w)", err, errStarved)
	case t.TooLong:
		wait := t.Wait.Round(time.Millisecond)
		return fmt.Errorf("%w (the next try would start in %v, after the deadline: %w)", err, wait, context.DeadlineExceeded)
	}
	return err
}

// IsTransientStatus reports whether the same call may get another status later. Proxies have statuses of their own above
// 511, such as Cloudflare's 520 to 530.
func IsTransientStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return true
	}
	return status >= 500 && status != http.StatusNotImplemented && status != http.StatusHTTPVersionNotSupported
}

// Statuses of calls that took too much: PostHog refuses a query with 512 that it expects to be slow, answers 513 to one that
// ran out of memory, and Cloudflare answers 524 in place of a service that is slow.
const (
	statusTooSlow = 512
	statusMemory  = 513
	statusNoReply = 524
)

// TookTooMuch reports whether a status says that the call takes too much time or memory.
func TookTooMuch(status int) bool {
	return status == http.StatusGatewayTimeout || status == statusTooSlow || status == statusMemory || status == statusNoReply
}

// MinDelay is the floor of a wait, unless the policy asks for shorter ones.
const MinDelay = 100 * time.Millisecond

// Jitter spreads the n-th wait evenly below base doubled n-1 times, at most limit, and above the floor.
func Jitter(base, limit time.Duration, n int, random float64) time.Duration {
	step := limit
	if shift := n - 1; shift < 62 && base <= limit>>shift {
		step = base << shift
	}
	floor := min(MinDelay, step/2)
	return floor + time.Duration(random*float64(step-floor))
}

// Random returns a new value for [Policy.Decide].
func Random() float64 { return rand.Float64() } //nolint:gosec // jitter needs no secrecy

// The retry budget of a client, in tokens.
const (
	MaxTokens    = 500 // tokens of a client
	CostOfRetry  = 5
	costTimedOut = 10 // of a retry after a timeout: it takes the caller longer
)

// Tokens keep a total outage from multiplying the load: a retry takes tokens, a success
// gives some back. The zero value is a full budget.
type Tokens struct {
	mu    sync.Mutex
	spent int
}

// Take pays for one retry, or reports that there is nothing left.
func (t *Tokens) Take(cost int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.spent+cost > MaxTokens {
		return false
	}
	t.spent += cost
	return true
}

// give returns tokens.
func (t *Tokens) give(tokens int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spent = max(t.spent-tokens, 0)
}
