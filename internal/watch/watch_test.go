package watch

import (
	"context"
	"errors"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	errPasses = errors.New("hogapi: busy")
	errStays  = errors.New("hogapi: gone")
)

type waits struct{ time.Duration }

func (w waits) Error() string { return "hogapi: wait " + w.String() }

// walk looks at the given numbers and errors, once a second at first.
func walk(ctx context.Context, o Pace, looks ...any) (seen []int, waited []time.Duration, err error) {
	o.Interval, o.MaxInterval = time.Second, 3*time.Second
	o.Judge = func(err error) Failure {
		wait, ok := errors.AsType[waits](err)
		return Failure{Answered: ok, CanPass: ok || errors.Is(err, errPasses), Wait: wait.Duration}
	}
	var times []time.Time
	get := func(context.Context) (*int, error) {
		times = append(times, time.Now())
		look := looks[min(len(times), len(looks))-1]
		if err, ok := look.(error); ok {
			return nil, err
		}
		return new(look.(int)), nil
	}
	const done = 9
	judge := func(n *int) (string, Mark, bool) { return strconv.Itoa(*n), NewMark("", new(int64(*n))), *n == done }
	for n, failed := range Changes(ctx, o, "it", get, judge) {
		if err = failed; n != nil {
			seen = append(seen, *n)
		}
	}
	for i := range times[1:] {
		waited = append(waited, times[i+1].Sub(times[i]))
	}
	return seen, waited, err
}

func seconds(list ...int) (d []time.Duration) {
	for _, n := range list {
		d = append(d, time.Duration(n)*time.Second)
	}
	return d
}

func TestChangesAreYielded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen, waited, err := walk(t.Context(), Pace{MaxFailures: 3}, 1, 1, 1, 1, 2, errPasses, waits{time.Hour}, 2, errPasses, errPasses, 9)
		require.NoError(t, err, "failures count in a row")
		assert.Equal(t, []int{1, 2, 9}, seen)
		assert.Equal(t, seconds(1, 2, 3, 3, 1, 2, 3600, 3, 3, 3), waited)
	})
}

func TestAWalkEndsWithItsLastState(t *testing.T) {
	for name, tc := range map[string]struct {
		looks []any
		text  string
	}{
		"cannot pass":   {[]any{1, errStays}, "hogapi: gone (watching it, last seen as 1)"},
		"too often":     {[]any{1, errPasses}, "hogapi: busy (watching it, last seen as 1)"},
		"too long":      {[]any{1, waits{2 * time.Hour}}, "hogapi: stopped watching it, last seen as 1: the service asks to wait 2h0m0s, more than the limit of 1h0m0s: watch again later (wait 2h0m0s)"},
		"the deadline":  {[]any{1}, "hogapi: stopped watching it, last seen as 1: context deadline exceeded"},
		"and a failure": {[]any{1, 1, waits{50 * time.Minute}}, "hogapi: stopped watching it, last seen as 1: context deadline exceeded (the last look failed: wait 50m0s)"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
				defer cancel()
				seen, _, err := walk(ctx, Pace{MaxFailures: 2}, tc.looks...)
				require.EqualError(t, err, tc.text)
				assert.Equal(t, []int{1, 1}, seen, "it comes once more, with the error")
			})
		})
	}
}

// The limit bounds all looks, and OnLook is called for each of them.
func TestTheLimitOfAWalk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told []Info
		o := Pace{MaxFailures: 2, Limit: 10 * time.Second, OnLook: func(i Info) { told = append(told, i) }}
		_, _, err := walk(t.Context(), o, 1, errPasses, 1)
		require.EqualError(t, err, "hogapi: stopped watching it, last seen as 1: context deadline exceeded: WatchOptions.Timeout of 10s is over")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.Equal(t, []Info{{"it", "1", nil, time.Second}, {"it", "1", errPasses, 2 * time.Second}, {"it", "1", nil, 3 * time.Second}}, told[:3])

		told = nil
		_, _, err = walk(t.Context(), o, errStays)
		require.EqualError(t, err, "hogapi: gone", "it was never seen")
		_, _, err = walk(t.Context(), o, 9)
		require.NoError(t, err)
		assert.Equal(t, []Info{{"it", "", errStays, 0}, {"it", "9", nil, 0}}, told)
	})
}

func TestTheCauseOfACancellationIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errStays)
		_, _, err := walk(ctx, Pace{MaxFailures: 2}, 1)
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errStays)
		_, _, err = walk(ctx, Pace{MaxFailures: 2}, errStays)
		require.NotContains(t, err.Error(), "last look", "a look that ended with the context has not failed")
	})
}

// The interval doubles while nothing changes; it must not overflow into no wait at all.
// MaxFailures failures in a row end a walk, and one that asks for an hour is not too long.
func TestMaxFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen, _, err := walk(t.Context(), Pace{MaxFailures: 3}, 1, errPasses, errPasses, errPasses, 9)
		require.ErrorIs(t, err, errPasses)
		assert.NotContains(t, seen, 9)
		_, _, err = walk(t.Context(), Pace{MaxFailures: 1}, 1, waits{time.Hour}, 9)
		require.EqualError(t, err, "hogapi: wait 1h0m0s (watching it, last seen as 1)")
	})
}

func TestWatchIntervalDoesNotOverflow(t *testing.T) {
	p := pacer{Pace: Pace{Interval: math.MaxInt64/2 + 1, MaxInterval: math.MaxInt64}}
	require.Positive(t, p.next(true, nil))
	for range 3 {
		require.Positive(t, p.next(false, nil))
	}
}

func TestMarks(t *testing.T) {
	assert.Equal(t, NewMark("a", new(int64(1)), nil), NewMark("a", new(int64(1)), nil))
	assert.NotEqual(t, NewMark("a", nil), NewMark("a", new(int64(0))), "not known is not zero")
	assert.NotEqual(t, NewMark("a", nil), NewMark("a", new(int64(1))))
	assert.NotEqual(t, NewMark("a"), NewMark("b"))
}

func TestValues(t *testing.T) {
	states := func(yield func(*int, error) bool) { _ = yield(new(7), nil) && yield(nil, errStays) }
	for n, err := range Values(states) {
		assert.Equal(t, err == nil, n == 7)
	}
	for range Values(states) {
		break
	}
}
