package httptry

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Without a Date of the service, dates are measured by the caller's clock.
func TestRetryAfterDateWithoutDate(t *testing.T) {
	now := time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)
	h := http.Header{"Retry-After": {"Mon, 04 May 2026 03:02:31 GMT"}}
	require.Equal(t, 30*time.Second, ParseRetryAfter(h, now))
	require.Zero(t, ParseRetryAfter(h, now.Add(time.Hour)))
}

// The longest of several values counts.
func TestRetryAfterTwice(t *testing.T) {
	h := http.Header{"Retry-After": {"1", "x", "3", "2"}}
	require.Equal(t, 3*time.Second, ParseRetryAfter(h, time.Now()))
}

// hostileRetryAfter are values that no service should send.
var hostileRetryAfter = []string{
	"", " ", "\t", "-1", "-0", "-0.5", "+5", "+0", "0", "00", "0.0", "0.", ".0", ".", "..", "1.2.3", "1,5",
	"1;2", "1 2", "5 seconds", "5s", "1m", "PT5S", "0x10", "0b1", "1e3", "1E3", "1e-3", "1e400", "1_000",
	"inf", "Inf", "+Inf", "-Inf", "Infinity", "nan", "NaN", "-NaN", "null", "true", "{}", "[5]", `"5"`, "٣",
	"５", "1\x00", "\x005", "5\r\n", "0.0000000001", "0.000000001", "0.9999999999", "59.9999999999",
	"60.0000001", "9223372036", "9223372036.854775807", "9223372037", "18446744074", "18446744073.709551616",
	"9223372036854775807", "18446744073709551616", strings.Repeat("9", 400),
	"0." + strings.Repeat("0", 400) + "1", strings.Repeat("0", 400) + "5", strings.Repeat(".", 400),
	"Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 GMT", "Fri, 31 Dec 10000 23:59:59 GMT",
	"Mon, 01 Jan 0001 00:00:00 GMT", "Sat, 01 Jan 2000 00:00:09", "Sat, 01 Jan 2000 00:00:09 PST",
	"Sat, 32 Jan 2000 00:00:09 GMT", "Sat, 01 Jan 2000 24:00:00 GMT", "2000-01-01T00:00:09Z",
	"Saturday, 01-Jan-69 00:00:09 GMT", "946684809", "1e1 GMT", "tomorrow",
}

// For every value of the header, a wait stays between the floor and the cap, and the tries end.
func TestHostileRetryAfter(t *testing.T) {
	require.GreaterOrEqual(t, len(hostileRetryAfter), 60)
	now := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, value := range hostileRetryAfter {
		asked := ParseRetryAfter(http.Header{"Retry-After": {value}, "Date": {"Sat, 01 Jan 2000 00:00:00 GMT"}}, now)
		for try := 1; ; try++ {
			v := defaults.Decide(&Try{Number: try, Status: 503, RetryAfter: asked}, false, math.MaxInt64, 0.5)
			if !v.Retry {
				break
			}
			require.Less(t, try, defaults.MaxTries, "%.30q", value)
			require.GreaterOrEqual(t, v.Wait, MinDelay, "%.30q", value)
			require.LessOrEqual(t, v.Wait, time.Minute, "%.30q", value)
		}
	}
}

// FuzzRetryAfter compares with a slower reading of the header that cannot overflow.
func FuzzRetryAfter(f *testing.F) {
	for _, value := range hostileRetryAfter {
		f.Add(value, "Sat, 01 Jan 2000 00:00:00 GMT", int64(0), 0.5)
		f.Add(value, value, int64(24*time.Hour), 0.0)
	}
	f.Fuzz(func(t *testing.T, value, date string, skew int64, random float64) {
		now := time.Unix(946684800, 0).Add(time.Duration(skew))
		h := http.Header{"Retry-After": {value}, "Date": {date}}
		got := ParseRetryAfter(h, now)
		require.GreaterOrEqual(t, got, time.Duration(0))
		require.InDelta(t, oracleRetryAfter(value, date, now), got.Seconds(), 1e-6+1e-12*got.Seconds())
		if !(random >= 0 && random < 1) {
			random = 0.25
		}
		v := defaults.Decide(&Try{Number: 1, Status: 429, RetryAfter: got}, false, math.MaxInt64, random)
		require.Equal(t, got <= defaults.MaxRetryAfter, v.Retry)
		if v.Retry {
			require.GreaterOrEqual(t, v.Wait, max(got, MinDelay))
			require.LessOrEqual(t, v.Wait, defaults.MaxRetryAfter)
		}
	})
}

// oracleRetryAfter reads seconds digit by digit and dates as whole seconds, and saturates.
func oracleRetryAfter(value, date string, now time.Time) float64 {
	value = strings.TrimSpace(value)
	whole, fraction, _ := strings.Cut(value, ".")
	isNumber := len(whole)+len(fraction) > 0
	seconds, unit := 0.0, 0.1
	for _, r := range whole {
		isNumber = isNumber && '0' <= r && r <= '9'
		seconds = seconds*10 + float64(r-'0')
	}
	for _, r := range fraction {
		isNumber = isNumber && '0' <= r && r <= '9'
		seconds += unit * float64(r-'0')
		unit /= 10
	}
	if !isNumber {
		at, err := http.ParseTime(value)
		if err != nil {
			return 0
		}
		if d, err := http.ParseTime(date); err == nil {
			now = d
		}
		seconds = float64(at.Unix()-now.Unix()) - float64(now.Nanosecond())/1e9
	}
	return min(max(seconds, 0), float64(math.MaxInt64)/1e9)
}
