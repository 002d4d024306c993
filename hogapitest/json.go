package hogapitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// This is the fake's own reading of JSON, as strict as the parser of the capture service: no broken UTF-8, no lone surrogates, no
// number beyond a float, no more than 128 levels; keys are told apart by case. Numbers keep their digits.

var errJSON = errors.New("not JSON")

const maxDepth = 128

// member is one key of an object with its value's own bytes.
type member struct {
	key   string
	value json.RawMessage
}

// members takes an object apart, in the order of its keys. Every value is checked to its end.
func members(raw []byte) ([]member, error) {
	s := &scanner{data: raw}
	var list []member
	err := s.document('{', func() error {
		key, err := s.key()
		if err != nil {
			return err
		}
		value, err := s.raw()
		list = append(list, member{key, value})
		return err
	})
	return list, err
}

// elements takes an array apart.
func elements(raw []byte) ([]json.RawMessage, error) {
	s := &scanner{data: raw}
	list := []json.RawMessage{}
	err := s.document('[', func() error {
		value, err := s.raw()
		list = append(list, value)
		return err
	})
	return list, err
}

// scanner walks over JSON text.
type scanner struct {
	data  []byte
	at    int
	depth int
}

func (s *scanner) document(open byte, item func() error) error {
	if err := s.container(open, item); err != nil {
		return err
	}
	if s.blanks(); s.at != len(s.data) {
		return errJSON
	}
	return nil
}

func (s *scanner) blanks() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// next skips blanks and returns the byte after them without taking it; 0 is the end.
func (s *scanner) next() byte {
	s.blanks()
	if s.at == len(s.data) {
		return 0
	}
	return s.data[s.at]
}

func (s *scanner) take(c byte) error {
	if s.next() != c {
		return errJSON
	}
	s.at++
	return nil
}

func (s *scanner) container(open byte, item func() error) error {
	if s.depth++; s.depth > maxDepth {
		return errJSON
	}
	defer func() { s.depth-- }()
	if err := s.take(open); err != nil {
		return err
	}
	end := open + 2 // as '{' and '}' and '[' and ']' stand in ASCII
	if s.next() == end {
		s.at++
		return nil
	}
	for {
		if err := item(); err != nil {
			return err
		}
		switch s.next() {
		case ',':
			s.at++
		case end:
			s.at++
			return nil
		default:
			return errJSON
		}
	}
}

func (s *scanner) key() (string, error) {
	raw, err := s.text()
	if err != nil {
		return "", err
	}
	return unquote(raw), s.take(':')
}

// raw takes one value and returns its bytes.
func (s *scanner) raw() (json.RawMessage, error) {
	s.blanks()
	from := s.at
	err := s.value()
	return s.data[from:s.at:s.at], err
}

func (s *scanner) value() error {
	switch c := s.next(); c {
	case '{':
		return s.container('{', func() error {
			if _, err := s.text(); err != nil {
				return err
			}
			if err := s.take(':'); err != nil {
				return err
			}
			return s.value()
		})
	case '[':
		return s.container('[', s.value)
	case '"':
		_, err := s.text()
		return err
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		return s.number()
	}
}

func (s *scanner) word(w string) error {
	if !bytes.HasPrefix(s.data[s.at:], []byte(w)) {
		return errJSON
	}
	s.at += len(w)
	return nil
}

func (s *scanner) number() error {
	from := s.at
	if s.peek() == '-' {
		s.at++
	}
	if s.peek() == '0' {
		s.at++
	} else if s.digits() == 0 {
		return errJSON
	}
	if s.peek() == '.' {
		s.at++
		if s.digits() == 0 {
			return errJSON
		}
	}
	if c := s.peek(); c == 'e' || c == 'E' {
		s.at++
		if c := s.peek(); c == '+' || c == '-' {
			s.at++
		}
		if s.digits() == 0 {
			return errJSON
		}
		if _, err := strconv.ParseFloat(string(s.data[from:s.at]), 64); err != nil {
			return errJSON
		}
	}
	if s.at-from > 300 { // only so long can digits alone pass the greatest float
		if _, err := strconv.ParseFloat(string(s.data[from:s.at]), 64); err != nil {
			return errJSON
		}
	}
	return nil
}

func (s *scanner) peek() byte {
	if s.at == len(s.data) {
		return 0
	}
	return s.data[s.at]
}

func (s *scanner) digits() (n int) {
	for c := s.peek(); c >= '0' && c <= '9'; c = s.peek() {
		s.at++
		n++
	}
	return n
}

// text takes a string and returns it with its quotes.
func (s *scanner) text() ([]byte, error) {
	if err := s.take('"'); err != nil {
		return nil, err
	}
	from := s.at - 1
	for s.at < len(s.data) {
		switch c := s.data[s.at]; {
		case c == '"':
			s.at++
			return s.data[from:s.at], nil
		case c == '\\':
			if err := s.escape(); err != nil {
				return nil, err
			}
		case c < ' ':
			return nil, errJSON
		case c < utf8.RuneSelf:
			s.at++
		default:
			r, size := utf8.DecodeRune(s.data[s.at:])
			if r == utf8.RuneError && size == 1 {
				return nil, errJSON
			}
			s.at += size
		}
	}
	return nil, errJSON
}

func (s *scanner) escape() error {
	s.at++
	c := s.peek()
	s.at++
	switch c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
	default:
		return errJSON
	}
	unit, err := s.hex()
	if err != nil || unit >= 0xdc00 && unit <= 0xdfff {
		return errJSON
	}
	if unit < 0xd800 || unit > 0xdbff {
		return nil
	}
	if !bytes.HasPrefix(s.data[min(s.at, len(s.data)):], []byte(`\u`)) {
		return errJSON
	}
	s.at += 2
	low, err := s.hex()
	if err != nil || low < 0xdc00 || low > 0xdfff {
		return errJSON
	}
	return nil
}

func (s *scanner) hex() (uint64, error) {
	if s.at+4 > len(s.data) {
		return 0, errJSON
	}
	unit, err := strconv.ParseUint(string(s.data[s.at:s.at+4]), 16, 16)
	s.at += 4
	return unit, err
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
		list, _ := members(raw)
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
		list, _ := elements(raw)
		b = append(b, '[')
		for _, item := range list {
			b = append(appendCanonical(b, item), ',')
		}
		return append(b, ']')
	case '"':
		return strconv.AppendQuote(b, unquote(raw))
	}
	return append(b, raw...)
}
