package delivery

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// throttle decides when a request may go out: it keeps the pace, grants permits, and holds back all
// lanes during an outage.
type throttle struct {
	limits  Limits
	results Results // of its sender

	rushed chan struct{} // closed when the pace ends, also for the lanes that wait for it
	rush   sync.Once

	// Atomic, since they are read for every item.
	items atomic.Int64 // most items of a batch
	bytes atomic.Int64 // most bytes of a batch; lowered when the service calls one too large

	mu      sync.Mutex
	paid    time.Time     // the pace has granted items up to this time
	changed chan struct{} // closed and replaced to wake waiting lanes
	permits float64
	inUse   int
	waiting []uint64 // for a permit: the oldest item of each waiting lane
	clean   int      // answers since the last change of permits
	latency float64  // seconds, smoothed

	taking    bool      // the newest answer accepted items
	failures  int       // consecutive, over all lanes
	failure   Failure   // set while failures > 0
	notBefore time.Time // no request before this time
	probing   bool      // one lane tests whether the outage is over
	probed    uint64    // the oldest item of the lane that sent last
	throttled time.Duration
}

// Failure is the reason why nothing gets through at the moment.
type Failure struct {
	Since time.Time // first of the consecutive failures; zero without a failure
	Err   error     // of the newest failure
}

const (
	firstPermits  = 2
	fewestPermits = 1
	backoffFactor = 0.7
	minWait       = 100 * time.Millisecond // least wait
	baseWait      = 250 * time.Millisecond
	maxWait       = 5 * time.Second // between two probes of an outage
	maxWish       = time.Hour       // longest Retry-After that a sender without GiveUpAfter obeys
	outageAfter   = 3               // consecutive failures
	slowAnswer    = 0.010           // seconds: with faster answers, more than two senders gain nothing
	paceHolds     = time.Second     // how long a lane may wait for its permit after the pace let it through
	smoothing     = 0.2             // weight of the newest latency
	headroom      = 1.25            // batch size relative to the pace's need at this latency
)

func newThrottle(l Limits, results Results) *throttle {
	t := &throttle{limits: l, results: results, changed: make(chan struct{}), rushed: make(chan struct{}), permits: float64(min(firstPermits, l.Lanes))}
	t.items.Store(int64(l.BatchItems))
	t.bytes.Store(int64(l.BatchBytes))
	return t
}

func (t *throttle) batchLimits() (items, bytes int) {
	return int(t.items.Load()), int(t.bytes.Load())
}

// State is the current state of a throttle.
type State struct {
	Permits   int // most requests at the same time
	Throttled time.Duration
	Failure   Failure
}

func (t *throttle) state() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	return State{int(t.permits), t.throttled, t.failure}
}

// enter waits until a request with this many items may go out, and takes a permit, which after
// returns. The waiting lane with the oldest item goes first, since it holds up the low watermark.
func (t *throttle) enter(ctx context.Context, oldest uint64, items int) error {
	for {
		if err := t.keepPace(ctx, items); err != nil {
			return err
		}
		entered, err := t.takePermit(ctx, oldest)
		if entered || err != nil {
			return err
		}
	}
}

// takePermit waits for a permit and takes it. After a long wait it returns without a permit, and the lane
// must keep the pace again: the lanes must not send at once everything they saved up during an outage.
func (t *throttle) takePermit(ctx context.Context, oldest uint64) (taken bool, err error) {
	paced := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = append(t.waiting, oldest)
	defer func() {
		t.waiting = slices.DeleteFunc(t.waiting, func(seq uint64) bool { return seq == oldest })
		if len(t.waiting) > 0 {
			t.wake() // another lane may get a permit
		}
	}()
	for {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		wait, ok := t.admits(oldest)
		if ok && t.limits.Rate > 0 && time.Since(paced) > paceHolds {
			return false, nil
		}
		if ok {
			t.inUse++
			t.probing, t.probed = t.failures >= outageAfter, oldest
			return true, nil
		}
		changed := t.changed
		t.mu.Unlock()
		err := pause(ctx, changed, wait)
		t.mu.Lock()
		if err != nil {
			return false, err
		}
	}
}

// admits reports whether a request may go out now, or else the longest wait until the next check.
func (t *throttle) admits(oldest uint64) (wait time.Duration, ok bool) {
	if wait = time.Until(t.notBefore); wait > 0 {
		return wait, false
	}
	if t.inUse >= int(t.permits) || slices.MinFunc(t.waiting, t.turns) != oldest {
		return time.Hour, false
	}
	if t.failures >= outageAfter && t.probing {
		return time.Hour, false
	}
	return 0, true
}

// turns compares two waiting lanes by their oldest items. In an outage the lane of the newest probe comes last: its
// request may be the cause.
func (t *throttle) turns(a, b uint64) int {
	last := func(seq uint64) int {
		if seq == t.probed && t.failures >= outageAfter {
			return 1
		}
		return 0
	}
	return cmp.Or(last(a)-last(b), cmp.Compare(a, b))
}

// pause waits for a change or a timeout. The error is the cause of the context's end.
func pause(ctx context.Context, changed <-chan struct{}, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// keepPace waits until the pace allows this many items. The lanes may save up one batch: a single lane that could save
// up less while it waits for an answer would fall behind the pace.
func (t *throttle) keepPace(ctx context.Context, items int) error {
	if t.limits.Rate == 0 {
		return nil
	}
	span := func(items int) time.Duration {
		return time.Second * time.Duration(items) / time.Duration(t.limits.Rate)
	}
	t.mu.Lock()
	if saved := time.Now().Add(-span(int(t.items.Load()))); t.paid.Before(saved) {
		t.paid = saved
	}
	t.paid = t.paid.Add(span(items))
	wait := time.Until(t.paid)
	t.mu.Unlock()
	if wait <= 0 {
		return nil
	}
	return pause(ctx, t.rushed, wait)
}

// after returns the permit and learns from the answer. After a failure that may pass, it returns
// the lane's wait before its next try. An error ends the sending: the failures have lasted too
// long.
func (t *throttle) after(a Answer, try int) (wait time.Duration, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	defer t.wake()
	t.inUse--
	t.probing = false
	t.taking = a.Verdict == Settled || a.Verdict == Each
	if a.Verdict == Wait && a.Stale && try == 1 {
		return 0, nil // says nothing about the service: another connection may work
	}
	if a.Verdict == Wait {
		t.shrink()
		return t.failed(a, try)
	}
	if t.latency == 0 {
		t.latency = a.Duration.Seconds()
	}
	t.latency += (a.Duration.Seconds() - t.latency) * smoothing
	t.failures, t.failure = 0, Failure{}
	t.grow()
	return 0, nil
}

// isTaking reports whether the newest answer accepted items.
func (t *throttle) isTaking() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.taking
}

// grow adds a permit for each round of good answers, if lanes wait for permits and the service
// rather than this machine is slow. A fast service needs few. Batches grow with the latency too.
func (t *throttle) grow() {
	if t.limits.Rate > 0 {
		needed := min(headroom*t.latency*float64(t.limits.Rate), float64(t.limits.MostBatchItems))
		t.items.Store(int64(max(int(needed), t.limits.BatchItems)))
	}
	t.clean++
	if t.clean < int(t.permits) {
		return
	}
	t.clean = 0
	slow := t.latency > slowAnswer
	switch {
	case len(t.waiting) > 0 && (slow || t.permits < firstPermits):
		t.permits = min(t.permits+1, float64(t.limits.Lanes))
		if slow && t.limits.Rate == 0 && int(t.permits) == t.limits.Lanes {
			t.items.Store(min(t.items.Load()*2, int64(t.limits.MostBatchItems)))
		}
	case !slow && t.permits > firstPermits:
		t.permits--
		if t.limits.Rate == 0 {
			t.items.Store(max(t.items.Load()/2, int64(t.limits.BatchItems)))
		}
	}
}

// shrink removes permits, once for all requests that were under way together.
func (t *throttle) shrink() {
	if t.clean < 0 {
		t.clean++
		return
	}
	t.clean = -t.inUse
	t.permits = max(t.permits*backoffFactor, fewestPermits)
}

// failed counts a failure. A single failure delays its own lane; an outage or a Retry-After delays
// all.
func (t *throttle) failed(a Answer, try int) (time.Duration, error) {
	now := time.Now()
	t.failures++
	if t.limits.Rate > 0 {
		t.items.Store(int64(t.limits.BatchItems))
	}
	t.note(now, a.Err)
	limit := t.limits.GiveUpAfter
	if first := t.limits.UnreachableAfter; a.Unreached && first > 0 && (limit == 0 || first < limit) {
		limit = first
	}
	left := limit - now.Sub(t.failure.Since)
	if limit == 0 {
		left, a.RetryAfter = maxWish, min(a.RetryAfter, maxWish)
	}
	if left <= 0 || a.RetryAfter > left || t.limits.MaxTries > 0 && try >= t.limits.MaxTries {
		return 0, t.results.GaveUp(a, t.failure.Since)
	}
	delay := jitter(max(try, t.failures-t.limits.Lanes))
	delay = max(delay-a.Duration, minWait) // from the start of the try: waiting for an answer counts as waiting
	delay = min(max(delay, a.RetryAfter), left)
	if a.RetryAfter == 0 && t.failures < outageAfter {
		return delay, nil
	}
	if until := now.Add(delay); until.After(t.notBefore) {
		from := now
		if t.notBefore.After(now) {
			from = t.notBefore
		}
		t.throttled += until.Sub(from)
		t.notBefore = until
	}
	return 0, nil
}

// note records the failure. The caller holds the lock.
func (t *throttle) note(now time.Time, err error) {
	if t.failure.Since.IsZero() {
		t.failure.Since = now
	}
	t.failure.Err = err
}

// jitter returns a random n-th wait between minWait and the base doubled n-1 times, at most
// maxWait.
func jitter(n int) time.Duration {
	step := maxWait
	if shift := n - 1; shift < 16 && baseWait<<shift < maxWait {
		step = baseWait << shift
	}
	return minWait + time.Duration(rand.Float64()*float64(step-minWait)) //nolint:gosec // needs no secrecy
}

// tooLarge notes the size of a request that the service called too large: later ones stay below.
func (t *throttle) tooLarge(size int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes.Store(int64(max(min(int(t.bytes.Load()), size/2), t.limits.LeastBatchBytes)))
}

func (t *throttle) wake() {
	close(t.changed)
	t.changed = make(chan struct{})
}
