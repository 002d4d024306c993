package hogapi

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// RetryPolicy says how management calls are retried. Zero fields take the default.
// Which failures are retried is not a setting: it follows from the operation. A connection that the
// server closes while it takes a request costs a try too, so without retries a read can fail there.
type RetryPolicy struct {
	MaxTries      int           // the first included; default 4, at most 100; 1 turns retries off
	BaseDelay     time.Duration // upper end of the first wait, doubled for each further one; default 250 ms
	MaxDelay      time.Duration // upper end of any wait; default 30 s
	MaxRetryAfter time.Duration // a longer Retry-After is an error at once; default 60 s
}

const (
	minDelay     = 100 * time.Millisecond // the floor of every wait
	mostTries    = 100
	budgetSize   = 500
	budgetRetry  = 5
	budgetSilent = 10 // a retry after a timeout costs more: it takes the caller longer
)

func (p RetryPolicy) withDefaults(c *config) RetryPolicy {
	if p.MaxTries < 0 || p.MaxTries > mostTries {
		c.problem("RetryPolicy.MaxTries", strconv.Itoa(p.MaxTries), "1 to 100, or 0 for the default")
	}
	for _, d := range []struct {
		field string
		value time.Duration
	}{{"BaseDelay", p.BaseDelay}, {"MaxDelay", p.MaxDelay}, {"MaxRetryAfter", p.MaxRetryAfter}} {
		if d.value < 0 {
			c.problem("RetryPolicy."+d.field, d.value.String(), "a positive duration, or 0 for the default")
		}
	}
	if p.MaxTries == 0 {
		p.MaxTries = 4
	}
	if p.BaseDelay == 0 {
		p.BaseDelay = 250 * time.Millisecond
	}
	if p.MaxDelay == 0 {
		p.MaxDelay = 30 * time.Second
	}
	if p.MaxRetryAfter == 0 {
		p.MaxRetryAfter = time.Minute
	}
	return p
}

// outcome is what one try has shown: all that the decision needs, and no I/O.
type outcome struct {
	try        int    // from 1
	replay     Replay // class of the call
	status     int    // 0: no answer
	isOwn      bool   // the answer is an error in the management API's own JSON
	code       string // the service's error code
	err        error  // why there is no usable answer
	answered   int    // status of a success whose body could not be read; 0 for none
	unsent     bool   // provably nothing of the request was written
	retryAfter time.Duration
	timeLeft   time.Duration // until the caller's deadline
	canceled   bool          // the caller's context has ended
	random     float64       // in [0, 1)
}

// verdict is what follows from an outcome.
type verdict struct {
	retry   bool
	wait    time.Duration // before the next try
	tooLong bool          // the wait would not end before the caller's deadline
	overCap bool          // the service asks for a longer wait than the policy allows
	starved bool          // the retry budget is used up
	mayHave bool          // the call may have taken effect although it failed
	silent  bool          // no answer within the time for one try
}

// decide is the whole policy.
func (p RetryPolicy) decide(o outcome) verdict {
	v := verdict{mayHave: o.mayHaveActed(), silent: errors.Is(o.err, errTryTimeout)}
	if o.err == nil && isSuccess(o.status) || o.canceled || !o.isTransient() {
		return v
	}
	if o.replay == ReplayNever && v.mayHave {
		return v
	}
	if o.replay == ReplayNever && o.status != 0 && !o.wasThrottled() {
		return v
	}
	v.wait = p.delay(o)
	switch {
	case o.retryAfter > p.MaxRetryAfter:
		v.overCap = true
	case o.try >= p.MaxTries:
	case v.wait >= o.timeLeft:
		v.tooLong = true
	default:
		v.retry = true
	}
	return v
}

// mayHaveActed reports whether the service may have carried out the call although it failed. A 303
// says that it did, and a proxy can answer any status after the service has acted, unless the
// status says otherwise: 307, 308 and a 4xx do, except 408, and 429 where it is not the service's
// own.
func (o outcome) mayHaveActed() bool {
	switch s := o.status; {
	case o.err != nil:
		return !o.unsent
	case s == http.StatusTooManyRequests:
		return !o.isOwn
	case s >= 300 && s < 400:
		return s != http.StatusTemporaryRedirect && s != http.StatusPermanentRedirect
	default:
		return s == http.StatusRequestTimeout || s >= 500
	}
}

// saysDone reports whether the service said that it carried out the call, although its answer
// cannot be read.
func (o outcome) saysDone() bool { return o.answered != 0 || o.status == http.StatusSeeOther }

// wasThrottled reports the one refusal that proves that nothing was done and that the same call may
// be sent again.
func (o outcome) wasThrottled() bool {
	return o.status == http.StatusTooManyRequests && o.code == codeThrottled
}

// isTransient reports whether the same call may succeed later.
func (o outcome) isTransient() bool {
	if o.err != nil {
		return !isPermanent(o.err)
	}
	return isTransientStatus(o.status) && !isFull(o.code)
}

func isTransientStatus(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusInternalServerError,
		http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// isPermanent reports transport errors that a repetition does not change.
func isPermanent(err error) bool {
	var (
		unknownHost *net.DNSError
		badCert     *tls.CertificateVerificationError
		badName     x509.HostnameError
		badIssuer   x509.UnknownAuthorityError
	)
	return errors.Is(err, errForeignOrigin) || errors.Is(err, errAnswerTooBig) || errors.Is(err, errPace) ||
		errors.As(err, &unknownHost) && unknownHost.IsNotFound ||
		errors.As(err, &badCert) || errors.As(err, &badName) || errors.As(err, &badIssuer)
}

// delay is the wait before the next try: what the service asks for, else full jitter above the
// floor (T2, T3, T5).
func (p RetryPolicy) delay(o outcome) time.Duration {
	if o.retryAfter > 0 {
		return max(o.retryAfter, minDelay)
	}
	return jitter(p.BaseDelay, p.MaxDelay, o.try, o.random)
}

// jitter spreads the n-th wait evenly between the floor and base doubled n-1 times, at most limit.
func jitter(base, limit time.Duration, n int, random float64) time.Duration {
	step := limit
	if shift := n - 1; shift < 62 && base <= limit>>shift {
		step = base << shift
	}
	step = max(step, minDelay)
	return minDelay + time.Duration(random*float64(step-minDelay))
}

// parseRetryAfter reads the header: seconds, with a fraction too, or any HTTP date, measured
// against the answer's own Date so that a wrong clock here does not matter (T3, T4). It never
// returns a negative wait or one that has overflowed; 0 means none.
func parseRetryAfter(h http.Header, now time.Time) time.Duration {
	var longest time.Duration
	for _, value := range h.Values("Retry-After") {
		longest = max(longest, parseOneRetryAfter(strings.TrimSpace(value), h, now))
	}
	return longest
}

func parseOneRetryAfter(value string, h http.Header, now time.Time) time.Duration {
	if value == "" {
		return 0
	}
	if strings.Trim(value, "0123456789.") == "" {
		seconds, err := strconv.ParseFloat(value, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0
		}
		if seconds >= math.MaxInt64/float64(time.Second) {
			return math.MaxInt64
		}
		return time.Duration(math.Round(seconds * float64(time.Second)))
	}
	at, err := http.ParseTime(value)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		now = date
	}
	return max(at.Sub(now), 0)
}

// retryBudget keeps a total outage from multiplying the load (T14): a retry takes tokens, a success
// gives some back.
type retryBudget struct {
	mu     sync.Mutex
	tokens int
}

func newRetryBudget() *retryBudget { return &retryBudget{tokens: budgetSize} }

// take pays for one retry, or reports that there is nothing left.
func (b *retryBudget) take(cost int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tokens < cost {
		return false
	}
	b.tokens -= cost
	return true
}

// give returns tokens: the cost of a retry that succeeded, or 1 for a first try that did.
func (b *retryBudget) give(tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.tokens = min(b.tokens+tokens, budgetSize)
}

func randomUnit() float64 { return rand.Float64() } //nolint:gosec // jitter needs no secrecy
