package jsonb

import (
	"encoding/base64"
	"encoding/json"
	"strconv"
	"time"
)

func appendString(dst []byte, v string, _ int) ([]byte, error) { return AppendString(dst, v) }

func appendBool(dst []byte, v bool, _ int) ([]byte, error) { return strconv.AppendBool(dst, v), nil }

func appendInt[T int | int64](dst []byte, v T, _ int) ([]byte, error) {
	return strconv.AppendInt(dst, int64(v), 10), nil
}

func appendFloat64(dst []byte, v float64, _ int) ([]byte, error) {
	return finite(appendFloat(dst, v, 64))
}

func appendNumber(dst []byte, v json.Number, _ int) ([]byte, error) {
	return finite(append(dst, v...), checkNumber(string(v)))
}

func finite(dst []byte, ok bool) ([]byte, error) {
	if !ok {
		return dst, &Error{Kind: KindNumber}
	}
	return dst, nil
}

func appendRaw(dst []byte, v json.RawMessage, depth int) ([]byte, error) {
	if v == nil {
		return append(dst, "null"...), nil
	}
	return compact(dst, v, depth)
}

// appendTime writes the offset of the zone, which RFC 3339 limits to minutes. Where a zone has
// seconds, as in the 19th century, it writes UTC, since a rounded offset would change the time.
func appendTime(dst []byte, v time.Time, _ int) ([]byte, error) {
	if _, offset := v.Zone(); offset%60 != 0 {
		v = v.UTC()
	}
	out, err := v.AppendText(append(dst, '"'))
	if err != nil {
		return dst, &Error{Kind: KindType, Err: err}
	}
	return append(out, '"'), nil
}

func appendBytes(dst, v []byte) []byte {
	if v == nil {
		return append(dst, "null"...)
	}
	dst = base64.StdEncoding.AppendEncode(append(dst, '"'), v)
	return append(dst, '"')
}
