package hogapi

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// flow decides when a request may go out: it keeps the pace, hands out permits, and holds everybody back during an outage.
type flow struct {
	set deliverySettings

	// Read for every event, so not under the lock.
	events atomic.Int64 // of a batch, at most
	bytes  atomic.Int64 // of a batch, at most: less once the service has called one too large

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when a waiting lane should look again
	permits float64
	inUse   int
	waiting []uint64 // for a permit: the oldest event of each lane that does
	clean   int      // answers since the permits last changed
	latency float64  // seconds, smoothed

	failures  int       // in a row, of all lanes
	since     time.Time // of the first of them
	notBefore time.Time // no request before that
	probing   bool      // a lane has gone to see whether the outage is over
	throttled time.Duration
}

const (
	firstPermits  = 2
	fewestPermits = 1
	backoffFactor = 0.7
	captureBase   = 250 * time.Millisecond
	mostBetween   = 5 * time.Second // between two probes of an outage
	outageAfter   = 3               // failures in a row
	slowAnswer    = 0.010           // seconds: below, more than two senders gain nothing
	slowBatch     = 5000            // events a batch over a slow line, when unpaced
	paceHolds     = time.Second     // how long a lane that has kept the pace may wait for its permit
)

var errStopped = errors.New("stopped")

func newFlow(set deliverySettings) *flow {
	f := &flow{set: set, changed: make(chan struct{}), permits: float64(min(firstPermits, set.Lanes))}
	f.events.Store(int64(set.MaxBatchEvents))
	f.bytes.Store(int64(set.MaxBatchBytes))
	return f
}

// batchLimits is how many events and bytes a batch may hold now.
func (f *flow) batchLimits() (events, bytes int) {
	return int(f.events.Load()), int(f.bytes.Load())
}

// look is for Stats.
func (f *flow) look() (permits int, throttled time.Duration, failingSince time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return int(f.permits), f.throttled, f.since
}

// enter waits until a request of so many events may go out, and takes a permit. after gives it back. Of the lanes that
// wait, the one with the oldest event goes first: it is what holds up the low watermark.
func (f *flow) enter(ctx context.Context, stopped <-chan struct{}, oldest uint64, events int) error {
	for {
		if err := f.keepPace(ctx, stopped, events); err != nil {
			return err
		}
		entered, err := f.takePermit(ctx, stopped, oldest)
		if entered || err != nil {
			return err
		}
	}
}

// takePermit waits for a permit and takes it, unless that has lasted so long that the pace has to be kept anew: what lanes have saved
// up during an outage must not go out at once.
func (f *flow) takePermit(ctx context.Context, stopped <-chan struct{}, oldest uint64) (taken bool, err error) {
	paced := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.waiting = append(f.waiting, oldest)
	defer func() {
		f.waiting = slices.DeleteFunc(f.waiting, func(seq uint64) bool { return seq == oldest })
		if len(f.waiting) > 0 {
			f.wake() // there may be a permit for the next one
		}
	}()
	for {
		if err := ended(ctx, stopped); err != nil {
			return false, err
		}
		wait, ok := f.admits(oldest)
		if ok && f.set.pace != nil && time.Since(paced) > paceHolds {
			return false, nil
		}
		if ok {
			f.inUse++
			f.probing = f.failures >= outageAfter
			return true, nil
		}
		changed := f.changed
		f.mu.Unlock()
		err := pause(ctx, stopped, changed, wait)
		f.mu.Lock()
		if err != nil {
			return false, err
		}
	}
}

// admits reports whether a request may go out now, or how long it must wait at the most.
func (f *flow) admits(oldest uint64) (wait time.Duration, ok bool) {
	if wait = time.Until(f.notBefore); wait > 0 {
		return wait, false
	}
	if f.inUse >= int(f.permits) || slices.Min(f.waiting) < oldest {
		return time.Hour, false
	}
	if f.failures >= outageAfter && f.probing {
		return time.Hour, false
	}
	return 0, true
}

// ended reports whether no further request shall begin.
func ended(ctx context.Context, stopped <-chan struct{}) error {
	select {
	case <-stopped:
		return errStopped
	default:
		return ctx.Err()
	}
}

// pause waits for a change, or for a time to pass.
func pause(ctx context.Context, stopped, changed <-chan struct{}, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-stopped:
		return errStopped
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

func (f *flow) keepPace(ctx context.Context, stopped <-chan struct{}, events int) error {
	if f.set.pace == nil {
		return nil
	}
	r := f.set.pace.ReserveN(time.Now(), events)
	if wait := r.Delay(); wait > 0 {
		if err := pause(ctx, stopped, nil, wait); err != nil {
			r.Cancel()
			return err
		}
	}
	return nil
}

// after gives the permit back and learns from the answer. After a failure that may pass, it says how long the lane shall
// wait before its next try; an error says that the failures have lasted too long.
func (f *flow) after(a captureAnswer, try int) (wait time.Duration, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer f.wake()
	f.inUse--
	f.probing = false
	if a.verdict == answerWait {
		f.shrink()
		return f.failed(a, try)
	}
	f.latency += (a.duration.Seconds() - f.latency) * 0.2
	f.failures, f.since = 0, time.Time{}
	f.grow()
	return 0, nil
}

// grow adds a permit for each round of clean answers while lanes wait for one and the service, not this machine, takes the
// time. A fast service needs few.
func (f *flow) grow() {
	f.clean++
	if f.clean < int(f.permits) {
		return
	}
	f.clean = 0
	slow := f.latency > slowAnswer
	switch {
	case len(f.waiting) > 0 && (slow || f.permits < firstPermits):
		f.permits = min(f.permits+1, float64(f.set.Lanes))
		if slow && f.set.pace == nil && int(f.permits) == f.set.Lanes {
			f.events.Store(min(f.events.Load()*2, int64(max(slowBatch, f.set.MaxBatchEvents))))
		}
	case !slow && f.permits > firstPermits:
		f.permits--
		f.events.Store(max(f.events.Load()/2, int64(f.set.MaxBatchEvents)))
	}
}

// shrink takes permits away, once for the requests that were under way at the same time.
func (f *flow) shrink() {
	if f.clean < 0 {
		f.clean++
		return
	}
	f.clean = -f.inUse
	f.permits = max(f.permits*backoffFactor, fewestPermits)
}

// failed counts a failure. A single one holds back its own lane only; an outage, or the service's wish, holds back all.
func (f *flow) failed(a captureAnswer, try int) (time.Duration, error) {
	now := time.Now()
	f.failures++
	if f.since.IsZero() {
		f.since = now
	}
	left := f.set.NoProgress - now.Sub(f.since)
	if left <= 0 || a.retryAfter > left || f.set.MaxTries > 0 && try >= f.set.MaxTries {
		return 0, &StopError{Reason: StopNoProgress, Status: a.status, RetryAfter: a.retryAfter, Err: a.cause()}
	}
	delay := jitter(captureBase, mostBetween, max(try, f.failures-f.set.Lanes), randomUnit())
	delay = max(delay-a.duration, minDelay) // counted from its begin: one that nobody has answered has waited already
	delay = min(max(delay, a.retryAfter), left)
	if a.retryAfter == 0 && f.failures < outageAfter {
		return delay, nil
	}
	if until := now.Add(delay); until.After(f.notBefore) {
		f.throttled += until.Sub(later(now, f.notBefore))
		f.notBefore = until
	}
	return 0, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// tooLarge remembers the size of a request that the service called too large: later ones stay below.
func (f *flow) tooLarge(size int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.bytes.Store(int64(max(min(int(f.bytes.Load()), size/2), maxEventBytes)))
}

func (f *flow) wake() {
	close(f.changed)
	f.changed = make(chan struct{})
}
