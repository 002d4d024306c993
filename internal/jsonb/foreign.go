package jsonb

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"unicode/utf8"
)

// other appends a value of any other type with encoding/json, and checks the output: encoding/json
// silently replaces bad UTF-8 with U+FFFD, and only checks the grammar of MarshalJSON's output.
func (e *Encoder) other(dst []byte, v any, depth int) (out []byte, err error) {
	if e.foreign == nil {
		e.foreign = new(bytes.Buffer)
		e.marshal = json.NewEncoder(e.foreign)
		e.marshal.SetEscapeHTML(false)
	}
	e.foreign.Reset()
	defer func() {
		if r := recover(); r != nil {
			cause := fmt.Errorf("panic while marshalling %T", v)
			if bug, ok := r.(runtime.Error); ok {
				cause = fmt.Errorf("%w: %w", cause, bug)
			}
			out, err = dst, &Error{Kind: KindType, Err: cause}
		}
		const keep = 1 << 20
		if e.foreign.Cap() > keep {
			e.foreign = nil
		}
	}()
	if err := e.marshal.Encode(v); err != nil {
		return dst, marshalFault(err)
	}
	raw := bytes.TrimSuffix(e.foreign.Bytes(), []byte{'\n'})
	if mangled(raw, v) {
		return dst, &Error{Kind: KindUTF8}
	}
	return compact(dst, raw, depth)
}

// marshalFault converts an error of encoding/json. It drops the text where the kind suffices, since
// the text may contain the value.
func marshalFault(err error) error {
	has := func(part string) bool { return strings.Contains(err.Error(), part) }
	unsupported := errors.As(err, new(*json.UnsupportedValueError))
	switch {
	case unsupported && has("cycle"):
		return &Error{Kind: KindDepth}
	case unsupported && (has("NaN") || has("Inf")), has("number literal"), has("json.Number"):
		return &Error{Kind: KindNumber}
	default:
		return &Error{Kind: KindType, Err: err}
	}
}

// mangled reports whether encoding/json replaced bad UTF-8 when it wrote v as raw. It then writes
// the escape \ufffd, which it never writes for a real U+FFFD; a MarshalJSON method may write it on
// purpose, which looks the same. In a field with the option "string" the escape has a second
// backslash, as has the harmless text `\ufffd`, and encoding/json/v2 writes no escape: in these
// cases mangled searches v itself.
func mangled(raw []byte, v any) bool {
	doubtful := bytes.Contains(raw, []byte("\ufffd"))
	for {
		i := bytes.Index(raw, []byte(`\ufffd`))
		if i < 0 {
			steps := 100_000
			return doubtful && hasBadText(reflect.ValueOf(v), &steps)
		}
		backslashes := 1
		for i >= backslashes && raw[i-backslashes] == '\\' {
			backslashes++
		}
		if backslashes%2 == 1 {
			return true
		}
		doubtful = true
		raw = raw[i+len(`\ufffd`):]
	}
}

// hasBadText reports whether v contains bad UTF-8. It visits a bounded number of values, and
// reports true if they are not enough to decide.
func hasBadText(v reflect.Value, steps *int) bool {
	if *steps--; *steps < 0 {
		return true
	}
	if v.IsValid() && v.CanInterface() && v.Kind() != reflect.Interface && (v.Kind() != reflect.Pointer || !v.IsNil()) {
		if m, ok := reflect.TypeAssert[encoding.TextMarshaler](v); ok {
			text, err := m.MarshalText()
			return err != nil || !utf8.Valid(text)
		}
	}
	switch v.Kind() {
	case reflect.String:
		return !utf8.ValidString(v.String())
	case reflect.Pointer, reflect.Interface:
		return !v.IsNil() && hasBadText(v.Elem(), steps)
	case reflect.Struct:
		for i := range v.NumField() {
			if field := v.Type().Field(i); (field.IsExported() || field.Anonymous) && hasBadText(v.Field(i), steps) {
				return true
			}
		}
	case reflect.Slice, reflect.Array:
		if v.Type().Elem() == reflect.TypeFor[byte]() {
			return false // become base64 or numbers
		}
		for i := range v.Len() {
			if hasBadText(v.Index(i), steps) {
				return true
			}
		}
	case reflect.Map:
		for entries := v.MapRange(); entries.Next(); {
			if hasBadText(entries.Key(), steps) || hasBadText(entries.Value(), steps) {
				return true
			}
		}
	default:
	}
	return false
}
