package httptry

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// ParseRetryAfter reads the header: seconds, with a fraction too, or any HTTP date, measured against the
// answer's own Date so that a wrong clock here does not matter. It never returns a negative wait or one
// that has overflowed; 0 means that the header asks for no wait.
func ParseRetryAfter(h http.Header, now time.Time) time.Duration {
	var longest time.Duration
	for _, value := range h.Values("Retry-After") {
		longest = max(longest, parseOne(strings.TrimSpace(value), h, now))
	}
	return longest
}

func parseOne(value string, h http.Header, now time.Time) time.Duration {
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
	return max(at.Sub(DateOr(h, now)), 0)
}

// DateOr returns the time of an answer by the server's clock, in whole seconds, or another time if the answer lacks it.
func DateOr(h http.Header, other time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date.UTC()
	}
	return other.UTC()
}
