package props

import (
	"strconv"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// largest is the last whole number up to which a float64 has them all: the service reads numbers as such.
const largest = 1<<53 - 1

// Number is a raw number that may be written as a text. A whole number that a float64 cannot hold is a
// text, so that no digit is lost. What is not a number stays as it is.
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
