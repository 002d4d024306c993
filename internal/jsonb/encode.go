package jsonb

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// Encoder writes Go values as JSON. It keeps scratch space between calls, so one goroutine at a time may use it.
// The zero value is ready.
type Encoder struct {
	members []entry // of the objects that are being written, outermost first
	order   []rank  // their order by key
	foreign bytes.Buffer
	marshal *json.Encoder // writes to foreign
}

type entry struct {
	key   string
	value any
}

// AppendValue appends v as encoding/json would write it without HTML escaping, with keys sorted. It refuses what
// encoding/json would change silently, such as bad UTF-8, and what the service would not read. json.Number and
// json.RawMessage keep every digit. On an error dst is returned as it was.
func (e *Encoder) AppendValue(dst []byte, v any) ([]byte, error) {
	out, err := e.value(dst, v, 0)
	return e.done(dst, out, err)
}

// AppendMembers appends the members of m in the order of their keys, without braces: "a":1,"b":2.
// An empty map appends nothing.
func (e *Encoder) AppendMembers(dst []byte, m map[string]any) ([]byte, error) {
	if len(m) == 0 {
		return dst, nil
	}
	out, err := e.object(dst, m, 1)
	return e.done(dst, out, err)
}

// done ends a call. Scratch space must not stay huge after one huge value, nor keep the caller's values alive.
func (e *Encoder) done(dst, out []byte, err error) ([]byte, error) {
	const keep = 1 << 12
	if cap(e.members) > keep {
		e.members, e.order = nil, nil
	}
	if err != nil {
		clear(e.members)
		e.members, e.order = e.members[:0], e.order[:0]
		return dst, err
	}
	return out, nil
}

// value appends v, which is inside depth arrays and objects.
func (e *Encoder) value(dst []byte, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case string:
		return AppendString(dst, v)
	case float64:
		return finite(appendFloat(dst, v, 64))
	case int:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case bool:
		return strconv.AppendBool(dst, v), nil
	case nil:
		return append(dst, "null"...), nil
	case int64:
		return strconv.AppendInt(dst, v, 10), nil
	case map[string]any:
		return e.anyMap(dst, v, depth)
	case []any:
		return e.anyList(dst, v, depth)
	case time.Time:
		return appendTime(dst, v, depth)
	case json.Number:
		return appendNumber(dst, v, depth)
	case json.RawMessage:
		return appendRaw(dst, v, depth)
	case []byte:
		return appendBytes(dst, v), nil
	}
	return e.rare(dst, v, depth)
}

// rare appends the values that are seen less often.
func (e *Encoder) rare(dst []byte, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case float32:
		return finite(appendFloat(dst, float64(v), 32))
	case int32:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int16:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case int8:
		return strconv.AppendInt(dst, int64(v), 10), nil
	case uint:
		return strconv.AppendUint(dst, uint64(v), 10), nil
	case uint64:
		return strconv.AppendUint(dst, v, 10), nil
	case uint32:
		return strconv.AppendUint(dst, uint64(v), 10), nil
	case uint16:
		return strconv.AppendUint(dst, uint64(v), 10), nil
	case uint8:
		return strconv.AppendUint(dst, uint64(v), 10), nil
	case uintptr:
		return strconv.AppendUint(dst, uint64(v), 10), nil
	case map[string]string:
		return mapped(e, dst, v, depth, appendString)
	case map[string]int:
		return mapped(e, dst, v, depth, appendInt)
	case map[string]int64:
		return mapped(e, dst, v, depth, appendInt)
	case map[string]float64:
		return mapped(e, dst, v, depth, appendFloat64)
	case map[string]bool:
		return mapped(e, dst, v, depth, appendBool)
	case []string:
		return list(dst, v, depth, appendString)
	case []int:
		return list(dst, v, depth, appendInt)
	case []int64:
		return list(dst, v, depth, appendInt)
	case []float64:
		return list(dst, v, depth, appendFloat64)
	case []bool:
		return list(dst, v, depth, appendBool)
	case []map[string]any:
		return list(dst, v, depth, e.anyMap)
	case *string:
		return pointed(dst, v, depth, appendString)
	case *bool:
		return pointed(dst, v, depth, appendBool)
	case *int:
		return pointed(dst, v, depth, appendInt)
	case *int64:
		return pointed(dst, v, depth, appendInt)
	case *float64:
		return pointed(dst, v, depth, appendFloat64)
	case *time.Time:
		return pointed(dst, v, depth, appendTime)
	case *json.Number:
		return pointed(dst, v, depth, appendNumber)
	case *json.RawMessage:
		return pointed(dst, v, depth, appendRaw)
	case *any:
		if depth++; depth > MaxDepth { // it may point to itself
			return dst, &Error{Kind: KindDepth}
		}
		return pointed(dst, v, depth, e.value)
	case *map[string]any:
		return pointed(dst, v, depth, e.anyMap)
	case *[]any:
		return pointed(dst, v, depth, e.anyList)
	}
	return e.other(dst, v, depth)
}

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

func appendTime(dst []byte, v time.Time, _ int) ([]byte, error) {
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

type appender[T any] func(dst []byte, v T, depth int) ([]byte, error)

func pointed[T any](dst []byte, v *T, depth int, value appender[T]) ([]byte, error) {
	if v == nil {
		return append(dst, "null"...), nil
	}
	return value(dst, *v, depth)
}

func (e *Encoder) anyMap(dst []byte, m map[string]any, depth int) ([]byte, error) {
	if m == nil {
		return append(dst, "null"...), nil
	}
	if depth++; depth > MaxDepth {
		return dst, &Error{Kind: KindDepth}
	}
	dst, err := e.object(append(dst, '{'), m, depth)
	return append(dst, '}'), err
}

func (e *Encoder) anyList(dst []byte, items []any, depth int) ([]byte, error) {
	return list(dst, items, depth, e.value)
}

// list appends an array.
func list[T any](dst []byte, items []T, depth int, value appender[T]) ([]byte, error) {
	if items == nil {
		return append(dst, "null"...), nil
	}
	if depth++; depth > MaxDepth {
		return dst, &Error{Kind: KindDepth}
	}
	dst = append(dst, '[')
	for i, item := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = value(dst, item, depth); err != nil {
			return dst, within(indexStep(i), err)
		}
	}
	return append(dst, ']'), nil
}

// mapped appends an object of values of one type.
func mapped[T any](e *Encoder, dst []byte, m map[string]T, depth int, value appender[T]) ([]byte, error) {
	if m == nil {
		return append(dst, "null"...), nil
	}
	if depth++; depth > MaxDepth {
		return dst, &Error{Kind: KindDepth}
	}
	first, start := len(e.members), len(e.order)
	for key := range m {
		e.add(key, nil)
	}
	dst = append(dst, '{')
	for i, r := range e.sorted(first, start) {
		key := e.members[first+int(r.index)].key
		var err error
		if dst, err = appendKey(dst, key, i > 0); err != nil {
			return dst, within(keyStep(key), err)
		}
		if dst, err = value(dst, m[key], depth); err != nil {
			return dst, within(keyStep(key), err)
		}
	}
	e.drop(first, start)
	return append(dst, '}'), nil
}

// object appends the members of m, whose values are inside depth arrays and objects.
func (e *Encoder) object(dst []byte, m map[string]any, depth int) ([]byte, error) {
	first, start := len(e.members), len(e.order)
	for key, value := range m {
		e.add(key, value)
	}
	for i, r := range e.sorted(first, start) {
		next := e.members[first+int(r.index)]
		var err error
		if dst, err = appendKey(dst, next.key, i > 0); err != nil {
			return dst, within(keyStep(next.key), err)
		}
		if dst, err = e.value(dst, next.value, depth); err != nil {
			return dst, within(keyStep(next.key), err)
		}
	}
	e.drop(first, start)
	return dst, nil
}

func appendKey(dst []byte, key string, more bool) ([]byte, error) {
	if more {
		dst = append(dst, ',')
	}
	dst, err := AppendString(dst, key)
	return append(dst, ':'), err
}

// rank is the place of a member: the first bytes of its key, which mostly decide, and its index.
type rank struct {
	prefix uint64
	index  uint
}

func (e *Encoder) add(key string, value any) {
	e.members = append(e.members, entry{key, value})
}

// sorted returns the order of the members from first on.
func (e *Encoder) sorted(first, start int) []rank {
	members := e.members[first:]
	for i := range members {
		e.order = append(e.order, rank{prefix(members[i].key), uint(i)})
	}
	order := e.order[start:]
	slices.SortFunc(order, func(a, b rank) int {
		if a.prefix != b.prefix {
			return cmp.Compare(a.prefix, b.prefix)
		}
		return cmp.Compare(members[a.index].key, members[b.index].key)
	})
	return order
}

// drop forgets the members from first on.
func (e *Encoder) drop(first, start int) {
	clear(e.members[first:])
	e.members, e.order = e.members[:first], e.order[:start]
}

// prefix is the first eight bytes of key as a number that sorts as they do.
func prefix(key string) uint64 {
	if len(key) >= 8 {
		return uint64(key[7]) | uint64(key[6])<<8 | uint64(key[5])<<16 | uint64(key[4])<<24 |
			uint64(key[3])<<32 | uint64(key[2])<<40 | uint64(key[1])<<48 | uint64(key[0])<<56
	}
	var p uint64
	for i := range 8 {
		p <<= 8
		if i < len(key) {
			p |= uint64(key[i])
		}
	}
	return p
}
