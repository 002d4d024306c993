package httptry

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/hogapi/hogapi/internal/outgoing"
)

// Policy bounds the tries of a call.
type Policy struct {
	MaxTries      int           // the first included
	BaseDelay     time.Duration // upper end of the first wait, doubled for each further one
	MaxDelay      time.Duration // upper end of any wait
	MaxRetryAfter time.Duration // a longer Retry-After ends the call at once
}

// WithDefaults fills the zero fields, and calls problem for each invalid field.
func (p Policy) WithDefaults(problem func(field, value, want string)) Policy {
	if p.MaxTries < 0 || p.MaxTries > MostTries {
		problem("RetryPolicy.MaxTries", strconv.Itoa(p.MaxTries), "1 to 100, or 0 for the default")
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"BaseDelay", p.BaseDelay}, {"MaxDelay", p.MaxDelay}, {"MaxRetryAfter", p.MaxRetryAfter}} {
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

// MinDelay is the floor of a wait, unless the policy asks for shorter ones.
const MinDelay = 100 * time.Millisecond

// Outcome is the result of one try: all that the decision needs, and no I/O.
type Outcome struct {
	Try        int           // from 1
	Once       bool          // the call acts again each time that it is carried out
	Status     int           // 0: no answer
	IsOwn      bool          // the answer is an error in the management API's own JSON
	Code       string        // the service's error code
	Err        error         // why there is no usable answer
	Answered   int           // status of a success with a body that could not be read, or 0
	Unsent     bool          // provably nothing of the request was written
	RetryAfter time.Duration // that the service asks for
	TimeLeft   time.Duration // until the caller's deadline
	Canceled   bool          // the caller's context has ended
	Random     float64       // in [0, 1)
}

// Verdict is the decision about an Outcome.
type Verdict struct {
	Retry   bool
	Wait    time.Duration // before the next try
	TooLong bool          // the wait would not end before the caller's deadline
	MayHave bool          // the call may have taken effect although it failed
	Silent  bool          // no answer within the time for one try
}

// Decide is the whole policy.
func (p Policy) Decide(o Outcome) Verdict {
	v := Verdict{MayHave: o.mayHaveActed(), Silent: errors.Is(o.Err, ErrTimeout)}
	if o.Err == nil && IsSuccess(o.Status) || o.Canceled || !o.isTransient() {
		return v
	}
	if o.Once && v.MayHave {
		return v
	}
	if o.Once && o.Status != 0 && !o.wasThrottled() {
		return v
	}
	v.Wait = p.delay(o)
	switch {
	case o.RetryAfter > p.MaxRetryAfter:
	case o.Try >= p.MaxTries:
	case v.Wait >= o.TimeLeft:
		v.TooLong = true
	default:
		v.Retry = true
	}
	return v
}

// mayHaveActed reports whether the service may have carried out the call although it failed. A 303 says
// that it did. A proxy can answer with any status after the service has acted, but some statuses rule that
// out: 307, 308 and a 4xx, except 408, and except a 429 that is not the service's own.
func (o Outcome) mayHaveActed() bool {
	switch s := o.Status; {
	case o.Err != nil:
		return !o.Unsent
	case s == http.StatusTooManyRequests:
		return !o.IsOwn
	case s >= 300 && s < 400:
		return s != http.StatusTemporaryRedirect && s != http.StatusPermanentRedirect
	default:
		return s == http.StatusRequestTimeout || s >= 500
	}
}

// SaysDone reports whether the service said that it carried out the call, although its answer
// cannot be read.
func (o Outcome) SaysDone() bool { return o.Answered != 0 || o.Status == http.StatusSeeOther }

// wasThrottled reports the one refusal that proves that nothing was done and that the same call may
// be sent again.
func (o Outcome) wasThrottled() bool {
	return o.Status == http.StatusTooManyRequests && o.Code == codeThrottled
}

func (o Outcome) isTransient() bool {
	if o.Err != nil {
		return !IsPermanent(o.Err)
	}
	return IsTransientStatus(o.Status) && !IsFull(o.Code)
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

// delay is the wait before the next try: the service's Retry-After, or else full jitter above the floor.
func (p Policy) delay(o Outcome) time.Duration {
	if o.RetryAfter > 0 {
		return max(o.RetryAfter, MinDelay)
	}
	return Jitter(p.BaseDelay, p.MaxDelay, o.Try, o.Random)
}

// Jitter spreads the n-th wait evenly below base doubled n-1 times, at most limit, and above the floor.
func Jitter(base, limit time.Duration, n int, random float64) time.Duration {
	step := limit
	if shift := n - 1; shift < 62 && base <= limit>>shift {
		step = base << shift
	}
	floor := min(MinDelay, step/2)
	return floor + time.Duration(random*float64(step-floor))
}

// Random returns a new value for [Outcome.Random].
func Random() float64 { return rand.Float64() } //nolint:gosec // jitter needs no secrecy

// The retry budget of a client, in tokens.
const (
	MostTokens  = 500 // tokens of a client
	CostOfRetry = 5
	costSilent  = 10 // of a retry after a timeout: it takes the caller longer
)

// Tokens keep a total outage from multiplying the load: a retry takes tokens, a success
// gives some back.
type Tokens struct {
	mu     sync.Mutex
	tokens int
}

// NewTokens returns a full budget.
func NewTokens() *Tokens { return &Tokens{tokens: MostTokens} }

// Take pays for one retry, or reports that there is nothing left.
func (t *Tokens) Take(cost int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tokens < cost {
		return false
	}
	t.tokens -= cost
	return true
}

// give returns tokens: the cost of a retry that succeeded, or 1 for a first try that did.
func (t *Tokens) give(tokens int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tokens = min(t.tokens+tokens, MostTokens)
}

// Account pays for the retries of one call with Tokens.
type Account struct {
	Tokens *Tokens

	paid int // for the newest retry
}

// Pay pays for the retry that a verdict grants, or reports that the budget is used up.
func (a *Account) Pay(v Verdict) bool {
	a.paid = CostOfRetry
	if v.Silent {
		a.paid = costSilent
	}
	return a.Tokens.Take(a.paid)
}

// Refund returns the cost of a retry that never began.
func (a *Account) Refund() { a.Tokens.give(a.paid) }

// Succeed returns the cost of the retry that succeeded, or 1 where the first try did.
func (a *Account) Succeed() { a.Tokens.give(max(a.paid, 1)) }
