package record

import (
	"errors"
	"math"
	"strconv"
	"time"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// largest is the last whole number up to which a float64 has them all: the service reads numbers as
// such.
const largest = 1<<53 - 1

// Number is a raw number that may be written as a text. A whole number that a float64 cannot hold
// is a text, so that no digit is lost. Any other value is returned unchanged.
func Number(raw []byte) []byte {
	digits := raw
	if IsText(raw) {
		digits = raw[1 : len(raw)-1]
	}
	if len(digits) == 0 || digits[0] <= ' ' || !isDigit(digits[len(digits)-1]) || jsonb.Valid(digits) != nil {
		return raw
	}
	for i, c := range digits {
		if !isDigit(c) && (i > 0 || c != '-') {
			return digits // a fraction or an exponent
		}
	}
	if n, err := strconv.ParseInt(string(digits), 10, 64); err == nil && -largest <= n && n <= largest {
		return digits
	}
	if IsText(raw) {
		return raw
	}
	return append(append([]byte{'"'}, digits...), '"')
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// Int is a whole number that may be written as a text, or with a fraction of zeros or an exponent.
func Int(raw []byte) (n int64, ok bool) {
	if IsText(raw) {
		raw = raw[1 : len(raw)-1]
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if n = int64(f); err != nil || float64(n) != f || f < -largest || f > largest {
		return 0, false
	}
	return n, true
}

var errUnix = errors.New("want seconds or milliseconds since 1970")

// fromMillis is the number above which a time is in milliseconds.
const fromMillis = 10_000_000_000

// UnixTime reads a raw number, or a text of one, that is a time since 1970: in milliseconds above
// 10,000,000,000, else in seconds. A fraction is read to the nanosecond.
func UnixTime(raw []byte) (time.Time, error) {
	if len(raw) > 2 && raw[0] == '"' {
		raw = raw[1 : len(raw)-1]
	}
	whole, nanos, ok := decimal(raw)
	if !ok {
		return time.Time{}, errUnix
	}
	if whole > fromMillis {
		return time.Unix(whole/1000, whole%1000*int64(time.Millisecond)+nanos/1000).UTC(), nil
	}
	return time.Unix(whole, nanos).UTC(), nil
}

// decimal reads a number as its whole part, rounded down, and billionths.
func decimal(raw []byte) (whole, billionths int64, ok bool) {
	digits := raw
	isNegative := len(raw) > 0 && raw[0] == '-'
	if isNegative {
		digits = raw[1:]
	}
	i := 0
	for ; i < len(digits) && isDigit(digits[i]) && whole < 1<<53; i++ {
		whole = whole*10 + int64(digits[i]-'0')
	}
	if i == 0 || whole >= 1<<53 {
		return 0, 0, false
	}
	if i < len(digits) && digits[i] == '.' {
		from, unit := i+1, int64(100_000_000)
		for i++; i < len(digits) && isDigit(digits[i]); i++ {
			billionths += int64(digits[i]-'0') * unit
			unit /= 10
		}
		if i == from {
			return 0, 0, false
		}
	}
	if i < len(digits) {
		if digits[i]|0x20 != 'e' {
			return 0, 0, false
		}
		return float(raw)
	}
	if isNegative {
		whole = -whole
		if billionths > 0 {
			whole, billionths = whole-1, 1_000_000_000-billionths
		}
	}
	return whole, billionths, true
}

// float is decimal for numbers with an exponent, to the millionth.
func float(raw []byte) (whole, billionths int64, ok bool) {
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || math.Abs(f) >= 1<<53 {
		return 0, 0, false
	}
	floor := math.Floor(f)
	millionths := math.Round((f - floor) * 1e6)
	return int64(floor) + int64(millionths)/1_000_000, int64(millionths) % 1_000_000 * 1000, true
}

// InZone is when the clocks of a zone show a time, which is given as one of UTC: first and last
// differ where the clocks are set back. Where they skip the time, ok is false.
func InZone(shown time.Time, zone *time.Location) (first, last time.Time, ok bool) {
	const aroundChange = 15 * time.Hour // the largest offset, and some
	first, last = shown.Add(-Offset(shown.Add(-aroundChange), zone)), shown.Add(-Offset(shown.Add(aroundChange), zone))
	shows := func(at time.Time) bool { return at.Add(Offset(at, zone)).Equal(shown) }
	switch isFirst, isLast := shows(first), shows(last); {
	case !isFirst && !isLast:
		return first, last, false
	case !isFirst:
		first = last
	case !isLast:
		last = first
	}
	return first.UTC(), last.UTC(), true
}

// Offset is how far the clocks of a zone are ahead of UTC.
func Offset(at time.Time, zone *time.Location) time.Duration {
	_, seconds := at.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}
