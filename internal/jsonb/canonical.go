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
	out, i, kind := s.canonical(dst, s.space(0), 0)
	if kind == 0 {
		i, kind = s.end(i)
	}
	if kind != 0 {
		return dst, faultIn(raw, i, kind)
	}
	return out, nil
}

// canonical appends the value that starts at i, and returns the offset after it.
func (s *scanner) canonical(dst []byte, i, depth int) (out []byte, end int, kind Kind) {
	if i >= len(s.data) {
		return dst, len(s.data), KindSyntax
	}
	switch s.data[i] {
	case '"':
		end, escaped, kind := scanString(s.data, i)
		if kind != 0 {
			return dst, end, kind
		}
		return appendText(dst, s.data[i:end], escaped), end, 0
	case '{':
		return s.sortedMembers(dst, i, depth+1)
	case '[':
		return s.canonicalElements(dst, i, depth+1)
	}
	if end, kind = s.value(i, depth); kind != 0 {
		return dst, end, kind
	}
	return append(dst, s.data[i:end]...), end, 0
}

func (s *scanner) canonicalElements(dst []byte, i, depth int) (out []byte, end int, kind Kind) {
	if depth > MaxDepth {
		return dst, i, KindDepth
	}
	dst = append(dst, '[')
	i, more := s.open(i, ']')
	for more {
		if dst, i, kind = s.canonical(dst, i, depth); kind != 0 {
			return dst, i, kind
		}
		if i, more, kind = s.next(i, ']'); kind != 0 {
			return dst, i, kind
		}
		if more {
			dst = append(dst, ',')
		}
	}
	return append(dst, ']'), i, 0
}

// sortedMembers appends the members of the object at i. Members with equal keys keep their order.
func (s *scanner) sortedMembers(dst []byte, i, depth int) (out []byte, end int, kind Kind) {
	if depth > MaxDepth {
		return dst, i, KindDepth
	}
	var room [32]stretch
	members, sorted := room[:0], true
	dst = append(dst, '{')
	first := len(dst)
	i, more := s.open(i, '}')
	for more {
		m, kind := s.name(i)
		if kind != 0 {
			return dst, m.end, kind
		}
		key := stretch{from: len(dst)}
		dst = appendText(dst, s.data[i:m.keyEnd], m.escaped)
		key.keyTo = len(dst)
		dst = append(dst, ':')
		if dst, i, kind = s.canonical(dst, m.value, depth); kind != 0 {
			return dst, i, kind
		}
		key.to = len(dst)
		dst = append(dst, ',')
		if n := len(members); n > 0 && bytes.Compare(members[n-1].key(dst), key.key(dst)) > 0 {
			sorted = false
		}
		members = append(members, key)
		if i, more, kind = s.next(i, '}'); kind != 0 {
			return dst, i, kind
		}
	}
	return closed(dst, first, members, sorted), i, 0
}

// closed ends the object with the members from first on.
func closed(dst []byte, first int, members []stretch, sorted bool) []byte {
	if len(members) == 0 {
		return append(dst, '}')
	}
	if !sorted {
		dst = reordered(dst, first, members)
	}
	dst[len(dst)-1] = '}'
	return dst
}

// reordered sorts the members, which are the text from first on.
func reordered(dst []byte, first int, members []stretch) []byte {
	const few = 48
	if len(members) > few {
		slices.SortStableFunc(members, func(a, b stretch) int { return bytes.Compare(a.key(dst), b.key(dst)) })
	} else {
		for n, m := range members { // mostly, few members are out of order
			for n > 0 && bytes.Compare(members[n-1].key(dst), m.key(dst)) > 0 {
				members[n] = members[n-1]
				n--
			}
			members[n] = m
		}
	}
	to := len(dst)
	for _, m := range members {
		dst = append(append(dst, dst[m.from:m.to]...), ',')
	}
	copy(dst[first:], dst[to:])
	return dst[:to]
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
