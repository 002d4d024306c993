package jsonb

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strconv"
	"time"
)

// Encoder writes Go values as JSON. The zero value is ready. It reuses scratch space, so only one
// goroutine at a time may use it.
type Encoder struct {
	members []entry // of the objects being written, outermost first
	order   []rank  // their order by key
	plans   [32]plan
	foreign *bytes.Buffer
	marshal *json.Encoder // writes to foreign

	date     []byte // text of the last time's date, with its T; see AppendTime
	midnight int64  // the start of that date, in Unix seconds
}

// AppendValue appends v as encoding/json would write it without HTML escaping, with sorted keys. It
// refuses values that encoding/json would change silently, such as bad UTF-8, and values that the
// service cannot read. json.Number and json.RawMessage keep every digit. On an error it returns dst
// unchanged.
func (e *Encoder) AppendValue(dst []byte, v any) ([]byte, error) {
	out, err := e.value(dst, v, 0)
	return e.done(dst, out, err)
}

// AppendMembers appends the members of m in the order of their keys, without braces: "a":1,"b":2.
// An empty map appends nothing.
func (e *Encoder) AppendMembers(dst []byte, m map[string]any) ([]byte, error) {
	return e.AppendVisited(dst, m, nil)
}

// AppendVisited is AppendMembers, and calls visit with the encoding of each member of m itself. The
// value is valid only during the call.
func (e *Encoder) AppendVisited(dst []byte, m map[string]any, visit func(key string, value []byte)) ([]byte, error) {
	if len(m) == 0 {
		return dst, nil
	}
	out, err := e.object(dst, m, 1, visit)
	return e.done(dst, out, err)
}

// done ends a call. It frees scratch space that one huge value needed, and drops references to the
// caller's values.
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

// value appends v, which is nested depth levels deep.
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

func (e *Encoder) rare(dst []byte, v any, depth int) ([]byte, error) {
	switch v := v.(type) {
	case float32:
		return finite(appendFloat(dst, float64(v), 32))
	case int32, int16, int8:
		return strconv.AppendInt(dst, reflect.ValueOf(v).Int(), 10), nil
	case uint, uint64, uint32, uint16, uint8, uintptr:
		return strconv.AppendUint(dst, reflect.ValueOf(v).Uint(), 10), nil
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
	case []time.Time:
		return list(dst, v, depth, appendTime)
	case map[string]time.Time:
		return mapped(e, dst, v, depth, appendTime)
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
		if depth++; depth > MaxDepth { // v may be a cycle
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

// appender appends a value that is nested depth levels deep.
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
	dst, err := e.object(append(dst, '{'), m, depth, nil)
	return append(dst, '}'), err
}

func (e *Encoder) anyList(dst []byte, items []any, depth int) ([]byte, error) {
	return list(dst, items, depth, e.value)
}

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

// object appends m as an object; its values are nested depth levels deep. visit may be nil.
func (e *Encoder) object(dst []byte, m map[string]any, depth int, visit func(key string, value []byte)) ([]byte, error) {
	first, start := len(e.members), len(e.order)
	p := e.plan(len(m))
	if p != nil && e.fetch(p, m) {
		for i, text := range p.texts {
			member := e.members[first+i] // not by its key in p: a nested map may overwrite p
			dst = append(dst, text...)
			before := len(dst)
			var err error
			if dst, err = e.value(dst, member.value, depth); err != nil {
				return dst, within(keyStep(member.key), err)
			}
			if visit != nil {
				visit(member.key, dst[before:])
			}
		}
		e.drop(first, start)
		return dst, nil
	}
	for key, value := range m {
		e.add(key, value)
	}
	var next plan
	const patience = 64 // maps with other keys before another plan replaces p
	learn := p != nil && (p.keys == nil || p.misses > patience)
	for i, r := range e.sorted(first, start) {
		member := e.members[first+int(r.index)]
		var err error
		before := len(dst)
		if dst, err = appendKey(dst, member.key, i > 0); err != nil {
			return dst, within(keyStep(member.key), err)
		}
		if learn = learn && len(member.key) <= longestKey; learn {
			next.note(member.key, dst[before:])
		}
		before = len(dst)
		if dst, err = e.value(dst, member.value, depth); err != nil {
			return dst, within(keyStep(member.key), err)
		}
		if visit != nil {
			visit(member.key, dst[before:])
		}
	}
	if learn {
		*p = next
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

func appendString(dst []byte, v string, _ int) ([]byte, error) { return AppendString(dst, v) }

func appendBool(dst []byte, v bool, _ int) ([]byte, error) { return strconv.AppendBool(dst, v), nil }

func appendInt[T int | int64](dst []byte, v T, _ int) ([]byte, error) {
	return strconv.AppendInt(dst, int64(v), 10), nil
}

func appendFloat64(dst []byte, v float64, _ int) ([]byte, error) {
	return finite(appendFloat(dst, v, 64))
}

func appendNumber(dst []byte, v json.Number, _ int) ([]byte, error) {
	if v == "" {
		return finite(dst, false)
	}
	end, kind := scanNumber([]byte(v), 0)
	return finite(append(dst, v...), kind == 0 && end == len(v))
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
