package httptry

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var defaults = Policy{
	MaxTries: 4, BaseDelay: 250 * time.Millisecond, MaxDelay: 30 * time.Second, MaxRetryAfter: time.Minute,
}

// The decision, for a call that may be repeated and for one that may not.
func TestDecide(t *testing.T) {
	cut := errors.New("the connection was cut")
	type want struct {
		retry, once bool // without and with once
		mayHave     bool
	}
	for name, tt := range map[string]struct {
		seen Try
		want want
	}{
		"success":                     {Try{Status: 204, OK: true}, want{}},
		"cut off":                     {Try{Err: cut}, want{retry: true, mayHave: true}},
		"cut off, unsent":             {Try{Err: cut, Unsent: true}, want{retry: true, once: true}},
		"success that was cut":        {Try{Err: cut, Answered: 201}, want{retry: true, mayHave: true}},
		"silent":                      {Try{Err: timeoutError{}}, want{retry: true, mayHave: true}},
		"too big":                     {Try{Err: ErrTooBig, Answered: 200}, want{mayHave: true}},
		"another origin":              {Try{Err: ErrForeignOrigin, Unsent: true}, want{}},
		"throttled":                   {Try{Status: 429, Problem: ErrorBody{Code: "throttled"}}, want{retry: true, once: true}},
		"too many backfills":          {Try{Status: 429, Problem: ErrorBody{Code: CodeTooManyBackfills}}, want{}},
		"too many file downloads":     {Try{Status: 429, Problem: ErrorBody{Code: CodeTooManyFileDownloads}}, want{}},
		"429 of its own, other words": {Try{Status: 429, Problem: ErrorBody{Code: "x"}}, want{retry: true}},
		"429 of a proxy":              {Try{Status: 429}, want{retry: true, mayHave: true}},
		"invalid":                     {Try{Status: 400, Problem: ErrorBody{Code: "invalid"}}, want{}},
		"not found":                   {Try{Status: 404}, want{}},
		"request timeout":             {Try{Status: 408}, want{retry: true, mayHave: true}},
		"too early":                   {Try{Status: 425}, want{retry: true}},
		"Cloudflare":                  {Try{Status: 520}, want{retry: true, mayHave: true}},
		"failed":                      {Try{Status: 500}, want{retry: true, mayHave: true}},
		"not implemented":             {Try{Status: 501}, want{mayHave: true}},
		"unavailable":                 {Try{Status: 503, RetryAfter: time.Minute}, want{retry: true, mayHave: true}},
		"unavailable for long":        {Try{Status: 503, RetryAfter: time.Minute + 1}, want{mayHave: true}},
		"elsewhere":                   {Try{Status: 302}, want{mayHave: true}},
		"done, see other":             {Try{Status: 303}, want{mayHave: true}},
		"elsewhere, unchanged":        {Try{Status: 307}, want{}},
		"cancelled":                   {Try{Status: 503, Canceled: true}, want{mayHave: true}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, once := range []bool{false, true} {
				o := tt.seen
				o.Number = 1
				wanted := tt.want.retry && (!once || tt.want.once)
				v := defaults.Decide(&o, once, math.MaxInt64, 0.5)
				require.Equal(t, wanted, v.Retry, "once: %v", once)
				require.Equal(t, tt.want.mayHave, v.MayHaveActed)
				require.Equal(t, errors.Is(o.Err, ErrTimeout), v.TimedOut)
				if !wanted {
					continue
				}
				require.GreaterOrEqual(t, v.Wait, max(MinDelay, o.RetryAfter))
				o.Number = defaults.MaxTries
				require.False(t, defaults.Decide(&o, once, math.MaxInt64, 0.5).Retry, "tries")
				o.Number = 1
				v = defaults.Decide(&o, once, v.Wait, 0.5)
				require.True(t, v.TooLong)
				require.False(t, v.Retry, "deadline")
			}
		})
	}
}

// Which statuses are worth another try.
func TestStatusesThatAreTriedAgain(t *testing.T) {
	again := []int{408, 425, 429}
	for status := 300; status < 600; status++ {
		v := defaults.Decide(&Try{Status: status, Number: 1}, false, math.MaxInt64, 0)
		require.Equal(t, slices.Contains(again, status) || status >= 500 && status != 501 && status != 505, v.Retry, status)
	}
}

// The jitter functions of go-retryablehttp went over the longest wait that was set.
func TestWaitsStayBetweenFloorAndCap(t *testing.T) {
	policy := Policy{BaseDelay: time.Second, MaxDelay: 30 * time.Second}
	for try := 1; try <= 200; try++ {
		for _, random := range []float64{0, 0.25, 0.5, 0.75, math.Nextafter(1, 0)} {
			wait := Jitter(policy.BaseDelay, policy.MaxDelay, try, random)
			require.GreaterOrEqual(t, wait, MinDelay)
			require.LessOrEqual(t, wait, min(policy.BaseDelay<<min(try-1, 10), policy.MaxDelay))
		}
	}
	for _, random := range []float64{0, 0.5, math.Nextafter(1, 0)} {
		for _, longest := range []time.Duration{1, time.Millisecond, MinDelay, 150 * time.Millisecond} {
			require.LessOrEqual(t, Jitter(longest, longest, 3, random), longest, "the policy is obeyed")
			require.LessOrEqual(t, Jitter(longest, time.Second, 1, random), longest, "the first wait")
		}
	}
}

// The waits of many clients must not meet. Without jitter all of them would fall into one window.
func TestJitterSpreadsTheFirstRetry(t *testing.T) {
	const clients, width = 1000, 10 * time.Millisecond
	busiest := func(random func() float64) float64 {
		windows := map[time.Duration]int{}
		for range clients {
			windows[Jitter(defaults.BaseDelay, defaults.MaxDelay, 1, random())/width]++
		}
		most := 0
		for _, n := range windows {
			most = max(most, n)
		}
		mean := clients / (float64(defaults.BaseDelay-MinDelay) / float64(width))
		return float64(most) / mean
	}
	require.LessOrEqual(t, busiest(Random), 3.0)
	require.Greater(t, busiest(func() float64 { return 0.5 }), 3.0, "the measure sees a lack of jitter")
}

func TestIsPermanent(t *testing.T) {
	for _, err := range []error{
		ErrForeignOrigin, ErrTooBig, errPace,
		&net.DNSError{Err: "no such host", IsNotFound: true},
		&tls.CertificateVerificationError{Err: errors.New("expired")},
		x509.HostnameError{Certificate: &x509.Certificate{}, Host: "host"}, x509.UnknownAuthorityError{},
	} {
		require.True(t, IsPermanent(fmt.Errorf("wrapped: %w", err)), err)
	}
	for _, err := range []error{
		errors.New("connection reset"), &net.DNSError{Err: "timeout", IsTimeout: true}, timeoutError{}, errReset,
	} {
		require.False(t, IsPermanent(err), err)
	}
}
