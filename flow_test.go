package hogapi

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func testFlow(o DeliveryOptions) *flow {
	o.Lanes, o.MaxBatchEvents, o.MaxBatchBytes, o.NoProgress = 8, 1000, 4<<20, 15*time.Minute
	return newFlow(deliverySettings{DeliveryOptions: o})
}

// crowd lets eight lanes send for a while; each answer takes so long.
func crowd(t *testing.T, f *flow, latency, last time.Duration, verdict answerVerdict) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), last)
	defer cancel()
	done := make(chan struct{})
	for lane := range uint64(8) {
		go func() {
			defer func() { done <- struct{}{} }()
			for f.enter(ctx, nil, lane, 1) == nil {
				time.Sleep(latency)
				_, err := f.after(captureAnswer{verdict: verdict, duration: latency}, 1)
				assert.NoError(t, err)
			}
		}()
	}
	for range 8 {
		<-done
	}
}

// Permits follow the service: few while it is fast, all while it is slow, fewer when it fails, and back.
func TestPermitsRiseAndFall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testFlow(DeliveryOptions{})
		permits := func() int { n, _, _ := f.look(); return n }
		assert.Equal(t, firstPermits, permits())
		crowd(t, f, time.Millisecond, time.Second, answerSettled)
		assert.Equal(t, firstPermits, permits(), "fast: more hands gain nothing")
		crowd(t, f, 50*time.Millisecond, 5*time.Second, answerSettled)
		assert.Equal(t, 8, permits(), "slow: every lane sends")
		events, _ := f.batchLimits()
		assert.Greater(t, events, 1000, "and batches grow")
		crowd(t, f, 50*time.Millisecond, 2*time.Second, answerWait)
		assert.Less(t, permits(), 4, "failing: back off")
		crowd(t, f, 500*time.Millisecond, 30*time.Second, answerSettled)
		assert.Equal(t, 8, permits())
		crowd(t, f, time.Millisecond, 2*time.Second, answerSettled)
		assert.Equal(t, firstPermits, permits(), "fast again")
		events, _ = f.batchLimits()
		assert.Equal(t, 1000, events)
	})
}

// During an outage one lane looks whether it is over; the others wait for its word.
func TestOneProbeAtATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testFlow(DeliveryOptions{})
		for range outageAfter {
			require.NoError(t, f.enter(t.Context(), nil, 0, 1))
			_, err := f.after(captureAnswer{verdict: answerWait}, 1)
			require.NoError(t, err)
		}
		require.NoError(t, f.enter(t.Context(), nil, 0, 1), "the probe")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		require.ErrorIs(t, f.enter(ctx, nil, 1, 1), context.DeadlineExceeded, "a second one")
		_, err := f.after(captureAnswer{verdict: answerSettled}, 1)
		require.NoError(t, err)
		begin := time.Now()
		require.NoError(t, f.enter(t.Context(), nil, 0, 1))
		assert.Zero(t, time.Since(begin), "over: nobody waits any more")
	})
}

func TestFailuresHoldBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testFlow(DeliveryOptions{})
		enter := func() { require.NoError(t, f.enter(t.Context(), nil, 0, 1)) }
		enter()
		wait, err := f.after(captureAnswer{verdict: answerWait}, 1)
		require.NoError(t, err)
		assert.GreaterOrEqual(t, wait, minDelay)
		assert.LessOrEqual(t, wait, captureBase, "one failure holds back its own lane")
		begin := time.Now()
		enter()
		assert.Zero(t, time.Since(begin))
		_, err = f.after(captureAnswer{verdict: answerWait, status: http.StatusTooManyRequests, retryAfter: time.Minute}, 1)
		require.NoError(t, err)
		enter()
		assert.Equal(t, time.Minute, time.Since(begin), "the service's wish holds back all")
		_, throttled, since := f.look()
		assert.Equal(t, time.Minute, throttled)
		assert.Equal(t, begin, since)
		for try := 2; ; try++ {
			_, err = f.after(captureAnswer{verdict: answerWait}, try)
			if err != nil {
				break
			}
			enter()
		}
		var stop *StopError
		require.ErrorAs(t, err, &stop)
		assert.Equal(t, StopNoProgress, stop.Reason)
		assert.Equal(t, 15*time.Minute, time.Since(begin))
	})
}

// A probe that has waited for a silent network for ten seconds is followed by the next one at once: most of the time must not lie
// between the probes, where nobody would see the network come back.
func TestSilentProbeHasWaitedAlready(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testFlow(DeliveryOptions{})
		for try := 10; try < 30; try++ {
			begin := time.Now()
			require.NoError(t, f.enter(t.Context(), nil, 0, 1))
			assert.LessOrEqual(t, time.Since(begin), minDelay)
			wait, err := f.after(captureAnswer{verdict: answerWait, duration: 10 * time.Second}, try)
			require.NoError(t, err)
			assert.LessOrEqual(t, wait, minDelay)
		}
	})
}

func TestMaxTries(t *testing.T) {
	f := testFlow(DeliveryOptions{MaxTries: 4})
	for try := 1; try <= 4; try++ {
		f.inUse++
		_, err := f.after(captureAnswer{verdict: answerWait}, try)
		assert.Equal(t, try == 4, err != nil, try)
	}
}

// The lane with the oldest event is let in first, whatever the order of arrival.
func TestOldestGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := testFlow(DeliveryOptions{})
		f.set.Lanes, f.permits = 1, 1
		require.NoError(t, f.enter(t.Context(), nil, 100, 1))
		order := make(chan uint64, 5)
		for _, oldest := range []uint64{7, 3, 9, 1, 5} {
			go func() {
				assert.NoError(t, f.enter(t.Context(), nil, oldest, 1))
				order <- oldest
				time.Sleep(time.Second)
				_, err := f.after(captureAnswer{verdict: answerSettled}, 1)
				assert.NoError(t, err)
			}()
		}
		synctest.Wait()
		_, err := f.after(captureAnswer{verdict: answerSettled}, 1)
		require.NoError(t, err)
		for _, want := range []uint64{1, 3, 5, 7, 9} {
			assert.Equal(t, want, <-order)
		}
		time.Sleep(time.Second) // virtual: the last one ends
	})
}
