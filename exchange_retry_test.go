package hogapi

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/httptry"
)

// Go-retryablehttp repeats every method: one create became five.
func TestTrapT01CreateIsSentOnce(t *testing.T) {
	failures := map[string]step{"cut": fails(errCut), "silence": hangs}
	for _, status := range []int{408, 500, 502, 503, 504} {
		failures[http.StatusText(status)] = answers(status, "")
	}
	for name, call := range onceCalls() {
		for kind, failure := range failures {
			t.Run(name+"/"+kind, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newScript(failure)
					err := call(t.Context(), newFakeClient(t, s))
					require.ErrorIs(t, err, ErrOutcomeUnknown)
					require.EqualValues(t, 1, s.tries.Load())
				})
			})
		}
	}
}

// The service's own refusals of a call that must not be repeated are no unknown outcome, and only one of them is tried again.
func TestRefusedCreate(t *testing.T) {
	throttled := answers(429, `{"type":"throttled_error","code":"throttled","detail":"Request was throttled."}`, "Retry-After", "2")
	for name, tt := range map[string]struct {
		refusal step
		tries   int64
		is      error
	}{
		"throttled":          {throttled, 2, nil},
		"too many backfills": {answers(429, `{"code":"too_many_concurrent_backfills"}`, "Retry-After", "1"), 1, ErrTooManyBackfills},
		"invalid":            {answers(400, `{"code":"required"}`), 1, ErrInvalid},
		"invalid to a proxy": {answers(400, "<html>"), 1, ErrInvalid},
		"redirect":           {answers(307, "", "Location", "https://elsewhere.test/"), 1, nil},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(tt.refusal, answers(201, `{}`))
				err := create(t.Context(), newFakeClient(t, s))
				require.EqualValues(t, tt.tries, s.tries.Load())
				require.NotErrorIs(t, err, ErrOutcomeUnknown)
				if tt.is != nil {
					require.ErrorIs(t, err, tt.is)
				}
			})
		})
	}
}

// A Retry-After of an hour was slept through although the longest wait was set to 30 s.
func TestTrapT02RetryAfterOverTheCapIsAnErrorAtOnce(t *testing.T) {
	for _, value := range []string{"61", "3600", "Fri, 01 Jan 2100 00:00:00 GMT"} {
		t.Run(value, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, start := newScript(answers(429, "", "Retry-After", value)), time.Now()
				err := get(t.Context(), newFakeClient(t, s))
				var api *APIError
				require.ErrorAs(t, err, &api)
				require.Greater(t, api.RetryAfter, time.Minute)
				require.EqualValues(t, 1, s.tries.Load())
				require.Zero(t, time.Since(start))
			})
		})
	}
}

// Large values overflowed, to a negative wait or to a short one, and hammered the service.
func TestTrapT03RetryAfterDoesNotOverflow(t *testing.T) {
	for _, value := range []string{"9223372036", "9223372037", "18446744074", "9223372036854775807", "9223372036854775808", strings.Repeat("9", 400)} {
		t.Run(value[:min(len(value), 20)], func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newScript(answers(429, "", "Retry-After", value))
				err := get(t.Context(), newFakeClient(t, s))
				var api *APIError
				require.ErrorAs(t, err, &api)
				require.Greater(t, api.RetryAfter, 200*365*24*time.Hour)
				require.EqualValues(t, 1, s.tries.Load())
			})
		})
	}
}

// Fractions, blanks and two of the three HTTP dates were ignored.
func TestTrapT04EveryFormOfRetryAfterIsObeyed(t *testing.T) {
	const date = "Sat, 01 Jan 2000 00:00:00 GMT" // when virtual time begins
	for value, want := range map[string]time.Duration{
		"7":                                7 * time.Second,
		" 7 ":                              7 * time.Second,
		"007":                              7 * time.Second,
		"1.5":                              1500 * time.Millisecond,
		"0.25":                             250 * time.Millisecond,
		".5":                               500 * time.Millisecond,
		"60":                               time.Minute,
		"Sat, 01 Jan 2000 00:00:09 GMT":    9 * time.Second, // RFC 1123
		"Saturday, 01-Jan-00 00:00:09 GMT": 9 * time.Second, // RFC 850
		"Sat Jan  1 00:00:09 2000":         9 * time.Second, // asctime
		" Sat, 01 Jan 2000 00:00:09 GMT":   9 * time.Second,
	} {
		for _, skew := range []time.Duration{0, 24 * time.Hour, -24 * time.Hour} {
			for _, status := range []int{408, 429, 500, 502, 503, 504} {
				t.Run(fmt.Sprintf("%q, clock off by %v, %d", value, skew, status), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						s := newScript(answers(status, "", "Retry-After", value, "Date", date), answers(200, `{}`))
						clock := func() time.Time { return time.Now().Add(skew) }
						require.NoError(t, get(t.Context(), newFakeClient(t, s, WithClock(clock))))
						require.Len(t, s.waits(), 1)
						require.InDelta(t, want, s.waits()[0], float64(time.Millisecond))
					})
				})
			}
		}
	}
}

// The jitter functions of go-retryablehttp went over the longest wait that was set.
func TestTrapT05WaitsStayBetweenFloorAndCap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(answers(503, ""))
		require.Error(t, get(t.Context(), newFakeClient(t, s, WithRetryPolicy(RetryPolicy{MaxTries: 100, BaseDelay: time.Hour, MaxDelay: 2 * time.Second}))))
		require.EqualValues(t, 100, s.tries.Load())
		require.LessOrEqual(t, slices.Max(s.waits()), 2*time.Second)
		require.GreaterOrEqual(t, slices.Min(s.waits()), httptry.MinDelay)
	})
}

// A wait that could not end before the deadline was slept through, and the error said only "deadline exceeded".
func TestTrapT06HopelessWaitIsNotStarted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
		defer cancel()
		s, start := newScript(answers(429, `{"code":"throttled"}`, "Retry-After", "30")), time.Now()
		err := get(ctx, newFakeClient(t, s))
		require.Less(t, time.Since(start), 10*time.Millisecond)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, ErrRateLimited)
		var api *APIError
		require.ErrorAs(t, err, &api)
		require.Equal(t, 30*time.Second, api.RetryAfter)
		require.NoError(t, ctx.Err(), "the deadline is still to come")
	})
}

// A total outage multiplied the load by the number of tries.
func TestTrapT14OutageDoesNotMultiplyTheLoad(t *testing.T) {
	t.Parallel()
	for kind, failure := range map[string]step{"503": answers(503, ""), "cut": fails(errCut)} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const calls = 10_000
				s := newScript(failure)
				client := newFakeClient(t, s)
				for range calls {
					require.Error(t, get(t.Context(), client))
				}
				requests := float64(s.tries.Load()) / calls
				t.Logf("%.4f requests a call", requests)
				require.LessOrEqual(t, requests, 1.05)

				s.steps = []step{answers(200, `{}`)}
				for range 500 {
					require.NoError(t, get(t.Context(), client))
				}
				require.Equal(t, httptry.MostTokens, tokens(client), "full capacity is back")
			})
		})
	}
}

// tokens takes all that the retry budget of a client holds.
func tokens(client *Client) (n int) {
	for client.core.tokens.Take(1) {
		n++
	}
	return n
}

func TestRetryPolicyOptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(answers(503, ""))
		require.Error(t, get(t.Context(), newFakeClient(t, s, WithRetryPolicy(RetryPolicy{MaxTries: 1}))))
		require.EqualValues(t, 1, s.tries.Load())

		s = newScript(answers(503, "", "Retry-After", "300"), answers(200, `{}`))
		require.NoError(t, get(t.Context(), newFakeClient(t, s, WithRetryPolicy(RetryPolicy{MaxRetryAfter: time.Hour}))))
		require.Equal(t, []time.Duration{5 * time.Minute}, s.waits())
	})
	_, err := NewClient(WithRegion(RegionUS), WithoutProject(), WithPersonalAPIKey(testPersonalKey),
		WithRetryPolicy(RetryPolicy{MaxTries: 101, BaseDelay: -1, MaxDelay: -1, MaxRetryAfter: -1}))
	for _, field := range []string{"MaxTries", "BaseDelay", "MaxDelay", "MaxRetryAfter"} {
		assert.ErrorContains(t, err, "RetryPolicy."+field)
	}
}
