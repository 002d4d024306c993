// Package jsonb reads and writes JSON for the import pipeline; it decides each byte of an event. It
// encodes Go values and checks raw JSON, and refuses values that the service could store changed:
// bad UTF-8, lone surrogates, numbers that are not finite, and deep nesting.
package jsonb

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxDepth is the limit for nested arrays and objects in one value. The service's parser stops at
// 128, and the event itself adds a few levels.
const MaxDepth = 100

// Kind is a kind of fault in a value.
type Kind uint8

// Kinds of faults.
const (
	KindUTF8      Kind = iota + 1 // text that is not valid UTF-8
	KindNumber                    // NaN, an infinity, not a JSON number, or beyond the range of a float64
	KindSurrogate                 // an escape such as \ud800 without its other half
	KindDepth                     // nested deeper than MaxDepth, or a cycle
	KindSyntax                    // not JSON, more than one value, or not the required kind of value
	KindType                      // a Go value that cannot be marshalled
	KindDuplicate                 // a key that occurs twice in an object
)

var kindTexts = [...]string{
	KindUTF8: "bad UTF-8", KindNumber: "not a finite JSON number", KindSurrogate: "lone surrogate", KindDepth: "nested too deep",
	KindSyntax: "bad JSON", KindType: "cannot be marshalled", KindDuplicate: "duplicate key",
}

// String returns a short text such as "bad UTF-8".
func (k Kind) String() string {
	if k == 0 || int(k) >= len(kindTexts) {
		return "kind " + strconv.Itoa(int(k))
	}
	return kindTexts[k]
}

// Error describes a fault and its position in a value. Its text names keys, never values.
type Error struct {
	Kind   Kind
	Path   string // where in the value, such as `a.b[3]`; empty for the value itself
	Offset int    // byte offset of the fault in the raw JSON, or in the string at Path
	Err    error  // the cause, for KindType
}

// Error returns a text such as "bad UTF-8 in a.b[3] (byte 17)".
func (e *Error) Error() string {
	text := e.Kind.String()
	if e.Path != "" {
		text += " in " + e.Path
	}
	if e.Offset > 0 {
		text += " (byte " + strconv.Itoa(e.Offset) + ")"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// within prepends a step such as `a` or `[3]` to the path of err.
func within(step string, err error) error {
	fault, ok := err.(*Error) //nolint:errorlint // only this package's own errors pass here, unwrapped
	if !ok {
		return err
	}
	if fault.Path != "" && fault.Path[0] != '[' {
		step += "."
	}
	fault.Path = step + fault.Path
	return fault
}

// keyStep returns the path step for a key. It shortens and quotes keys that are hard to read.
func keyStep(key string) string {
	const longest = 64
	plain := func(r rune) bool {
		return r != ' ' && r != utf8.RuneError && unicode.IsPrint(r) && !strings.ContainsRune(`.[]"\`, r)
	}
	if key != "" && len(key) <= longest && strings.IndexFunc(key, func(r rune) bool { return !plain(r) }) < 0 {
		return key
	}
	if len(key) > longest {
		key = key[:longest] + "…"
	}
	return "[" + strconv.Quote(key) + "]"
}

func indexStep(i int) string { return "[" + strconv.Itoa(i) + "]" }

// faultIn returns the error for a fault at offset; raw must be valid before the offset.
func faultIn(raw []byte, offset int, kind Kind) error {
	return &Error{Kind: kind, Path: pathAt(raw, offset), Offset: offset}
}

// pathAt returns the path of the value at offset; raw must be valid before the offset.
func pathAt(raw []byte, offset int) string {
	type level struct {
		key   string
		index int // -1 in an object
	}
	var levels []level
	expectKey := false
	for i := 0; i < offset && i < len(raw); i++ {
		switch raw[i] {
		case '{':
			levels = append(levels, level{index: -1})
			expectKey = true
		case '[':
			levels = append(levels, level{})
			expectKey = false
		case '}', ']':
			levels = levels[:max(len(levels)-1, 0)]
		case ',':
			if len(levels) == 0 {
				break
			}
			top := &levels[len(levels)-1]
			if expectKey = top.index < 0; expectKey {
				top.key = ""
			} else {
				top.index++
			}
		case '"':
			end, _, kind := scanString(raw, i)
			if kind == 0 && end <= offset && expectKey && len(levels) > 0 {
				levels[len(levels)-1].key = keyStep(text(raw[i:end]))
				expectKey = false
			}
			i = end - 1
		}
	}
	var path strings.Builder
	for _, l := range levels {
		step := l.key
		if l.index >= 0 {
			step = indexStep(l.index)
		}
		if path.Len() > 0 && step != "" && step[0] != '[' {
			path.WriteByte('.')
		}
		path.WriteString(step)
	}
	return path.String()
}
