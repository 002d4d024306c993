package jsonb

import (
	"math"
	"strconv"
)

// scanNumber checks the number at data[i]. It returns the offset after it, or of the fault.
func scanNumber(data []byte, i int) (end int, kind Kind) {
	start := i
	if data[i] == '-' {
		i++
	}
	whole := i
	i = digits(data, i)
	switch {
	case i == whole:
		return i, KindSyntax
	case i > whole+1 && data[whole] == '0':
		return whole + 1, KindSyntax
	}
	size := i - whole // the number is below 10^size
	if i < len(data) && data[i] == '.' {
		fraction := i + 1
		if i = digits(data, fraction); i == fraction {
			return i, KindSyntax
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		exponent := i
		if i = digits(data, i); i == exponent {
			return i, KindSyntax
		}
		if i > exponent+2 {
			size = math.MaxInt
		} else {
			size += 99
		}
	}
	const safe = 308 // 10^308 is below the largest float64
	if size > safe {
		if f, _ := strconv.ParseFloat(string(data[start:i]), 64); math.IsInf(f, 0) {
			return start, KindNumber
		}
	}
	return i, 0
}

func digits(data []byte, i int) int {
	for i < len(data) && data[i]-'0' <= 9 {
		i++
	}
	return i
}

// appendFloat appends f as encoding/json does: the shortest text that parses to f, with an exponent
// only for very large and very small numbers. It returns false for NaN and infinities.
func appendFloat(dst []byte, f float64, size int) ([]byte, bool) {
	abs := math.Abs(f)
	if !(abs <= math.MaxFloat64) {
		return dst, false
	}
	if size == 64 {
		if text, ok := appendShort(dst, f); ok {
			return text, true
		}
	}
	format := byte('f')
	if abs != 0 {
		if size == 64 && (abs < 1e-6 || abs >= 1e21) || size == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21) {
			format = 'e'
		}
	}
	dst = strconv.AppendFloat(dst, f, format, -1, size)
	if n := len(dst); format == 'e' && n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' {
		dst[n-2] = dst[n-1] // e-09 becomes e-9
		dst = dst[:n-1]
	}
	return dst, true
}

// appendShort appends f if it has few digits and at most six decimals, like most numbers in events.
// Of the decimals with at most 15 digits, only one parses to f, so it is the shortest.
func appendShort(dst []byte, f float64) ([]byte, bool) {
	const scale, limit = 1_000_000, 1e9
	if whole := int64(f); float64(whole) == f && math.Abs(f) < limit*scale && (whole != 0 || !math.Signbit(f)) {
		return strconv.AppendInt(dst, whole, 10), true
	}
	if !(math.Abs(f) < limit) {
		return dst, false
	}
	scaled := int64(math.Abs(f)*scale + 0.5)
	if scaled == 0 || float64(scaled)/scale != math.Abs(f) {
		return dst, false
	}
	if f < 0 {
		dst = append(dst, '-')
	}
	dst = strconv.AppendInt(dst, scaled/scale, 10)
	return appendFraction(dst, int(scaled%scale), scale/10), true
}
