package delivery

import (
	"context"
	"errors"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var errGaveUp = errors.New("gave up")

func testThrottle(l Limits) *throttle {
	l.Lanes, l.BatchItems, l.MostBatchItems, l.BatchBytes, l.GiveUpAfter, l.UnreachableAfter = 8, 1000, 5000, 4<<20, 15*time.Minute, 30*time.Second
	return newThrottle(l, newLedger())
}

// crowd lets eight lanes send for a while, with a fixed latency and verdict.
func crowd(t *testing.T, f *throttle, latency, last time.Duration, verdict Verdict) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), last)
	defer cancel()
	done := make(chan struct{})
	for lane := range uint64(8) {
		go func() {
			defer func() { done <- struct{}{} }()
			for f.enter(ctx, lane, 1) == nil {
				time.Sleep(latency)
				_, err := f.after(Answer{Verdict: verdict, Duration: latency}, 1)
				assert.NoError(t, err)
			}
		}()
	}
	for range 8 {
		<-done
	}
}

// The service decides the number of permits: few while it is fast, all while it is slow, fewer
// after a failure.
func TestPermitsRiseAndFall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testThrottle(Limits{})
		permits := func() int { return f.state().Permits }
		assert.Equal(t, firstPermits, permits())
		crowd(t, f, time.Millisecond, time.Second, Settled)
		assert.Equal(t, firstPermits, permits(), "fast: more hands gain nothing")
		crowd(t, f, 50*time.Millisecond, 5*time.Second, Settled)
		assert.Equal(t, 8, permits(), "slow: every lane sends")
		events, _ := f.batchLimits()
		assert.Greater(t, events, 1000, "and batches grow")
		crowd(t, f, 50*time.Millisecond, 2*time.Second, Wait)
		assert.Less(t, permits(), 4, "failing: back off")
		crowd(t, f, 500*time.Millisecond, 30*time.Second, Settled)
		assert.Equal(t, 8, permits())
		crowd(t, f, time.Millisecond, 2*time.Second, Settled)
		assert.Equal(t, firstPermits, permits(), "fast again")
		events, _ = f.batchLimits()
		assert.Equal(t, 1000, events)
	})
}

// During an outage one lane tests whether it is over; the others wait for the result.
func TestOneProbeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testThrottle(Limits{})
		for range outageAfter {
			require.NoError(t, f.enter(t.Context(), 0, 1))
			_, err := f.after(Answer{Verdict: Wait}, 1)
			require.NoError(t, err)
		}
		require.NoError(t, f.enter(t.Context(), 0, 1), "the probe")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, f.enter(ctx, 1, 1), context.DeadlineExceeded, "a second one")
		_, err := f.after(Answer{Verdict: Settled}, 1)
		require.NoError(t, err)
		begin := time.Now()
		require.NoError(t, f.enter(t.Context(), 0, 1))
		assert.Zero(t, time.Since(begin), "over: nobody waits any more")
	})
}

func TestFailuresHoldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testThrottle(Limits{})
		enter := func() { require.NoError(t, f.enter(t.Context(), 0, 1)) }
		enter()
		wait, err := f.after(Answer{Verdict: Wait}, 1)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, wait, minWait)
		assert.LessOrEqual(t, wait, baseWait, "one failure holds back its own lane")
		begin := time.Now()
		enter()
		assert.Zero(t, time.Since(begin))
		_, err = f.after(Answer{Verdict: Wait, Status: http.StatusTooManyRequests, RetryAfter: time.Minute}, 1)
		require.NoError(t, err)
		enter()
		assert.Equal(t, time.Minute, time.Since(begin), "the service's wish holds back all")
		assert.Equal(t, time.Minute, f.state().Throttled)
		assert.Equal(t, begin, f.state().Failure.Since)
		for try := 2; ; try++ {
			_, err = f.after(Answer{Verdict: Wait}, try)
			if err != nil {
				break
			}
			enter()
		}
		require.ErrorIs(t, err, errGaveUp)
		assert.Equal(t, 15*time.Minute, time.Since(begin))
	})
}

// A probe that waited ten seconds for a silent network is followed at once by the next: long pauses
// between probes would miss the network's return.
func TestSilentProbeHasWaitedAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testThrottle(Limits{})
		for try := 10; try < 30; try++ {
			begin := time.Now()
			require.NoError(t, f.enter(t.Context(), 0, 1))
			assert.LessOrEqual(t, time.Since(begin), minWait)
			wait, err := f.after(Answer{Verdict: Wait, Duration: 10 * time.Second}, try)
			require.NoError(t, err)
			assert.LessOrEqual(t, wait, minWait)
		}
	})
}

func TestMaxTries(t *testing.T) {
	f := testThrottle(Limits{MaxTries: 4})
	for try := 1; try <= 4; try++ {
		f.inUse++
		_, err := f.after(Answer{Verdict: Wait}, try)
		assert.Equal(t, try == 4, err != nil, try)
	}
}

// The lane with the oldest event is admitted first, regardless of the order of arrival.
func TestOldestGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testThrottle(Limits{})
		f.limits.Lanes, f.permits = 1, 1
		require.NoError(t, f.enter(t.Context(), 100, 1))
		order := make(chan uint64, 5)
		for _, oldest := range []uint64{7, 3, 9, 1, 5} {
			go func() {
				assert.NoError(t, f.enter(t.Context(), oldest, 1))
				order <- oldest
				time.Sleep(time.Second)
				_, err := f.after(Answer{Verdict: Settled}, 1)
				assert.NoError(t, err)
			}()
		}
		synctest.Wait()
		_, err := f.after(Answer{Verdict: Settled}, 1)
		require.NoError(t, err)
		for _, want := range []uint64{1, 3, 5, 7, 9} {
			assert.Equal(t, want, <-order)
		}
		time.Sleep(time.Second) // virtual: the last one ends
	})
}

// A host that was never reached is given up early. After one answer, the same failure is an outage.
func TestFirstAnswer(t *testing.T) {
	for _, answered := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			f := testThrottle(Limits{})
			begin := time.Now()
			refused := errors.New("connection refused")
			for try := 1; ; try++ {
				require.NoError(t, f.enter(t.Context(), 0, 1))
				wait, err := f.after(Answer{Verdict: Wait, Unsent: true, Unreached: !answered, Err: refused}, try)
				if err != nil {
					break
				}
				require.Equal(t, Failure{begin, refused}, f.state().Failure)
				time.Sleep(wait)
			}
			want := 30 * time.Second
			if answered {
				want = 15 * time.Minute
			}
			assert.Equal(t, want, time.Since(begin))
		})
	}
}

// After an outage the lanes do not send at once everything that the pace allowed during it.
func TestPaceAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testThrottle(Limits{Rate: 1000})
		over := time.Now().Add(10 * time.Minute)
		var sent atomic.Int64
		ctx, cancel := context.WithDeadline(t.Context(), over.Add(15*time.Second))
		defer cancel()
		var lanes sync.WaitGroup
		for lane := range uint64(8) {
			lanes.Go(func() {
				for f.enter(ctx, lane, 1000) == nil {
					a := Answer{Verdict: Wait, Status: 503}
					if time.Now().After(over) {
						a.Verdict = Settled
						sent.Add(1000)
					}
					time.Sleep(time.Millisecond)
					wait, err := f.after(a, 1)
					assert.NoError(t, err)
					time.Sleep(wait)
				}
			})
		}
		lanes.Wait()
		assert.LessOrEqual(t, sent.Load(), int64(16_000), "15 seconds, and a batch at once")
		assert.Greater(t, sent.Load(), int64(9_000))
	})
}

// A burst that shrinks while lanes keep the pace does not block a lane: one that asked for more than a burst at once
// would wait for 292 years.
// Only the real clock and many lanes meet that moment.
func TestPaceWhileTheBurstShrinks(t *testing.T) {
	t.Parallel()
	last := 300 * time.Millisecond
	if level := os.Getenv("HOGAPI_TEST"); level == "nightly" || level == "deep" {
		last = time.Minute
	}
	f := testThrottle(Limits{Rate: 1_000_000_000})
	ctx, cancel := context.WithTimeout(t.Context(), last+time.Minute)
	defer cancel()
	var lanes sync.WaitGroup
	begin := time.Now()
	for range 8 {
		lanes.Go(func() {
			for time.Since(begin) < last {
				if !assert.NoError(t, f.keepPace(ctx, 5000), "a lane still waits") {
					return
				}
			}
		})
	}
	for n := 1; time.Since(begin) < last; n++ {
		f.items.Store([]int64{5000, 1000}[n%2])
	}
	lanes.Wait()
}

// A single lane keeps the pace with slow answers, because its batches grow.
func TestOneLaneKeepsThePace(t *testing.T) {
	for _, latency := range []time.Duration{time.Millisecond, time.Second, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			f := newThrottle(Limits{Lanes: 8, Rate: 1000, BatchItems: 250, MostBatchItems: 10_000, BatchBytes: 4 << 20}, nil)
			sent, begin := 0, time.Now()
			for time.Since(begin) < 5*time.Minute {
				n, _ := f.batchLimits()
				require.NoError(t, f.enter(t.Context(), 0, n))
				time.Sleep(latency)
				_, err := f.after(Answer{Verdict: Settled, Status: 200, Duration: latency}, 1)
				require.NoError(t, err)
				sent += n
			}
			rate := float64(sent) / time.Since(begin).Seconds()
			assert.InDelta(t, 1000, rate, 50, latency)
		})
	}
}

// A batch that was too large sets a limit that a later answer only lowers: the batch of another lane may be an older,
// larger one.
func TestTooLargeOnlyLowersTheLimit(t *testing.T) {
	t.Parallel()
	th := newThrottle(Limits{Lanes: 2, BatchItems: 10, BatchBytes: 10_000, LeastBatchBytes: 300}, nil)
	for _, step := range []struct{ size, want int }{{4000, 2000}, {9000, 2000}, {1000, 500}, {400, 300}} {
		th.tooLarge(step.size)
		_, bytes := th.batchLimits()
		assert.Equal(t, step.want, bytes, step.size)
	}
}
