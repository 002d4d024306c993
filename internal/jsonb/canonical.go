package jsonb

import (
	"bytes"
	"slices"
)

// Canonical appends raw, which must be Valid, in a form that all JSON texts of the same value
// share: no whitespace between tokens, object members sorted by key, and strings with the fewest
// escapes. Numbers keep their digits.
func Canonical(dst, raw []byte) ([]byte, error) {
	s := scanner{data: raw}
	start, _, err := s.one(0)
	if err != nil {
		return dst, err
	}
	dst, _ = s.canonical(dst, start)
	return dst, nil
}

// canonical appends the value that starts at i, and returns the offset after it.
func (s *scanner) canonical(dst []byte, i int) (out []byte, end int) {
	switch s.data[i] {
	case '"':
		end, escaped, _ := scanString(s.data, i)
		return appendText(dst, s.data[i:end], escaped), end
	case '{':
		return s.sortedMembers(dst, i)
	case '[':
		dst = append(dst, '[')
		i, more := s.open(i, ']')
		for more {
			dst, i = s.canonical(dst, i)
			if i, more, _ = s.next(i, ']'); more {
				dst = append(dst, ',')
			}
		}
		return append(dst, ']'), i
	}
	end, _ = s.value(i, 0)
	return append(dst, s.data[i:end]...), end
}

// sortedMembers appends the members of the object at i. Members with equal keys keep their order.
func (s *scanner) sortedMembers(dst []byte, i int) (out []byte, end int) {
	var room [32]stretch
	members, sorted := room[:0], true
	dst = append(dst, '{')
	first := len(dst)
	i, more := s.open(i, '}')
	for more {
		m, _ := s.name(i)
		key := stretch{from: len(dst)}
		dst = appendText(dst, s.data[i:m.keyEnd], m.escaped)
		key.keyTo = len(dst)
		dst = append(dst, ':')
		dst, i = s.canonical(dst, m.value)
		key.to = len(dst)
		dst = append(dst, ',')
		if n := len(members); n > 0 && bytes.Compare(members[n-1].key(dst), key.key(dst)) > 0 {
			sorted = false
		}
		members = append(members, key)
		i, more, _ = s.next(i, '}')
	}
	if len(members) == 0 {
		return append(dst, '}'), i
	}
	if !sorted {
		slices.SortStableFunc(members, func(a, b stretch) int { return bytes.Compare(a.key(dst), b.key(dst)) })
		text := bytes.Clone(dst[first:])
		dst = dst[:first]
		for _, m := range members {
			dst = append(append(dst, text[m.from-first:m.to-first]...), ',')
		}
	}
	dst[len(dst)-1] = '}'
	return dst, i
}

// stretch is the position of a member in a text.
type stretch struct{ from, keyTo, to int }

func (m stretch) key(text []byte) []byte { return text[m.from:m.keyTo] }

// appendText appends a valid JSON string with the fewest escapes.
func appendText(dst, text []byte, escaped bool) []byte {
	if !escaped {
		return append(dst, text...)
	}
	dst, _ = AppendString(dst, string(appendUnescaped(nil, text)))
	return dst
}
