package hogapitest

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const maxDepth = 128

// escapes are the escapes of a text. A surrogate that it leaves has no partner.
var escapes = regexp.MustCompile(`(?i)\\u(d[89ab]..\\ud[c-f]..|[0-9a-ce-f]...|d[0-7]..)|\\[^u]`)

// strictJSON reports whether the parser of the capture service takes a text: no broken UTF-8, no lone surrogates, no number
// beyond a float, no more than 128 levels.
func strictJSON(raw []byte) bool {
	if !json.Valid(raw) || !utf8.Valid(raw) {
		return false
	}
	has := func(text string) bool { return bytes.Contains(raw, []byte(text)) }
	if (has(`\ud`) || has(`\uD`)) && bytes.Contains(escapes.ReplaceAll(raw, []byte(" ")), []byte(`\u`)) {
		return false
	}
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case c == '"':
			i = endOfText(raw, i)
		case c == '{', c == '[':
			if depth++; depth > maxDepth {
				return false
			}
		case c == '}', c == ']':
			depth--
		case c == '-', c >= '0' && c <= '9':
			from := i
			for i+1 < len(raw) && strings.IndexByte("0123456789+-.eE", raw[i+1]) >= 0 {
				i++
			}
			if _, err := strconv.ParseFloat(string(raw[from:i+1]), 64); err != nil {
				return false
			}
		}
	}
	return true
}

// endOfText is the index of the quote that ends a text.
func endOfText(raw []byte, at int) int {
	for at++; at < len(raw) && raw[at] != '"'; at++ {
		if raw[at] == '\\' {
			at++
		}
	}
	return at
}

// elements are the values of an array, or the keys and values of an object, with their own bytes.
func elements(raw json.RawMessage) (list []json.RawMessage) {
	depth, from := 0, 1
	for i := 1; i < len(raw); i++ {
		switch c := raw[i]; c {
		case '"':
			i = endOfText(raw, i)
		case '{', '[':
			depth++
		case '}', ']', ',', ':':
			if depth > 0 {
				if c == '}' || c == ']' {
					depth--
				}
				continue
			}
			if item := bytes.TrimSpace(raw[from:i]); len(item) > 0 {
				list = append(list, item)
			}
			from = i + 1
		}
	}
	return list
}

// member is one key of an object with its value's own bytes.
type member struct {
	key   string
	value json.RawMessage
}

// members returns the members of an object, in the order of its keys, case-sensitive; or nil for other values.
func members(raw json.RawMessage) []member {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	list := elements(raw)
	pairs := make([]member, len(list)/2)
	for i := range pairs {
		pairs[i] = member{unquote(list[2*i]), list[2*i+1]}
	}
	return pairs
}

// unquote decodes a string that has been scanned.
func unquote(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}

// asString decodes a JSON string; ok is false for every other type.
func asString(raw json.RawMessage) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return unquote(raw), true
}

// canonical is the form of an object that equal objects share. An absent object counts as empty.
func canonical(raw json.RawMessage) []byte {
	if len(raw) == 0 {
		return []byte("{}")
	}
	return appendCanonical(nil, raw)
}

// appendCanonical writes a valid value so that equal values have equal bytes: keys sorted, the last of equal keys, no blanks,
// strings in one spelling, numbers digit for digit.
func appendCanonical(b []byte, raw json.RawMessage) []byte {
	raw = bytes.TrimSpace(raw)
	switch raw[0] {
	case '{':
		list := members(raw)
		slices.SortStableFunc(list, func(x, y member) int { return strings.Compare(x.key, y.key) })
		b = append(b, '{')
		for i, m := range list {
			if i+1 < len(list) && list[i+1].key == m.key {
				continue
			}
			b = append(strconv.AppendQuote(b, m.key), ':')
			b = append(appendCanonical(b, m.value), ',')
		}
		return append(b, '}')
	case '[':
		b = append(b, '[')
		for _, item := range elements(raw) {
			b = append(appendCanonical(b, item), ',')
		}
		return append(b, ']')
	case '"':
		return strconv.AppendQuote(b, unquote(raw))
	}
	return append(b, raw...)
}
