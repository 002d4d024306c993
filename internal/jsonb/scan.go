package jsonb

// Valid checks that raw is exactly one JSON value with optional whitespace around it. It checks the
// grammar, UTF-8, surrogates, numbers and depth, but not duplicate keys.
func Valid(raw []byte) error {
	s := scanner{data: raw}
	_, _, err := s.one(0)
	return err
}

// Compact appends raw, which must be Valid, without whitespace between tokens. Numbers and strings
// stay unchanged.
func Compact(dst, raw []byte) ([]byte, error) {
	return compact(dst, raw, 0)
}

func compact(dst, raw []byte, depth int) ([]byte, error) {
	s := scanner{data: raw}
	start, end, err := s.one(depth)
	if err != nil {
		return dst, err
	}
	if !s.spaced {
		return append(dst, raw[start:end]...), nil
	}
	for i := start; i < end; {
		switch c := raw[i]; {
		case c == '"':
			next, _, _ := scanString(raw, i)
			dst = append(dst, raw[i:next]...)
			i = next
		case c <= ' ':
			i++
		default:
			dst = append(dst, c)
			i++
		}
	}
	return dst, nil
}

// scanner is a recursive descent parser. Its methods take an offset and return the offset after the
// checked part or, with a Kind, the offset of the fault.
type scanner struct {
	data   []byte
	spaced bool // the value contains whitespace
}

// one checks that the data is one value, nested depth levels deep, and returns its bounds.
func (s *scanner) one(depth int) (start, end int, err error) {
	start = s.space(0)
	s.spaced = false
	end, kind := s.value(start, depth)
	if kind == 0 {
		end, kind = s.end(end)
	}
	if kind != 0 {
		return start, end, faultIn(s.data, end, kind)
	}
	return start, end, nil
}

// end checks that only whitespace follows the value that ends at i, and returns i.
func (s *scanner) end(i int) (int, Kind) {
	spaced := s.spaced
	if after := s.space(i); after != len(s.data) {
		return after, KindSyntax
	}
	s.spaced = spaced
	return i, 0
}

func (s *scanner) value(i, depth int) (int, Kind) {
	if i >= len(s.data) {
		return len(s.data), KindSyntax
	}
	switch s.data[i] {
	case '"':
		end, _, kind := scanString(s.data, i)
		return end, kind
	case '{':
		return s.object(i, depth+1)
	case '[':
		return s.array(i, depth+1, nil)
	case 't':
		return s.literal(i, "true")
	case 'f':
		return s.literal(i, "false")
	case 'n':
		return s.literal(i, "null")
	case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return scanNumber(s.data, i)
	default:
		return i, KindSyntax
	}
}

func (s *scanner) object(i, depth int) (int, Kind) {
	if depth > MaxDepth {
		return i, KindDepth
	}
	i, more := s.open(i, '}')
	for more {
		m, kind := s.name(i)
		if kind == 0 {
			m.end, kind = s.value(m.value, depth)
		}
		if kind != 0 {
			return m.end, kind
		}
		if i, more, kind = s.next(m.end, '}'); kind != 0 {
			return i, kind
		}
	}
	return i, 0
}

// array calls visit, which may be nil, for each element.
func (s *scanner) array(i, depth int, visit func(element []byte)) (int, Kind) {
	if depth > MaxDepth {
		return i, KindDepth
	}
	i, more := s.open(i, ']')
	for more {
		end, kind := s.value(i, depth)
		if kind != 0 {
			return end, kind
		}
		if visit != nil {
			visit(s.data[i:end])
		}
		if i, more, kind = s.next(end, ']'); kind != 0 {
			return i, kind
		}
	}
	return i, 0
}

// open steps over the bracket at i; more is false if the closing bracket follows.
func (s *scanner) open(i int, closing byte) (after int, more bool) {
	if i = s.space(i + 1); i < len(s.data) && s.data[i] == closing {
		return i + 1, false
	}
	return i, true
}

func (s *scanner) next(i int, closing byte) (after int, more bool, kind Kind) {
	if i = s.space(i); i >= len(s.data) {
		return i, false, KindSyntax
	}
	switch s.data[i] {
	case ',':
		return s.space(i + 1), true, 0
	case closing:
		return i + 1, false, 0
	default:
		return i, false, KindSyntax
	}
}

// member holds the offsets of a member's parts; with a fault, end is the fault's offset.
type member struct {
	keyEnd, value, end int
	escaped            bool // the key has escapes
}

// name checks the key that starts at i, and finds its value.
func (s *scanner) name(i int) (m member, kind Kind) {
	if i >= len(s.data) || s.data[i] != '"' {
		return member{end: i}, KindSyntax
	}
	if m.keyEnd, m.escaped, kind = scanString(s.data, i); kind != 0 {
		return member{end: m.keyEnd}, kind
	}
	colon := s.space(m.keyEnd)
	if colon >= len(s.data) || s.data[colon] != ':' {
		return member{end: colon}, KindSyntax
	}
	m.value = s.space(colon + 1)
	return m, 0
}

func (s *scanner) literal(i int, word string) (int, Kind) {
	end := i + len(word)
	if end > len(s.data) || string(s.data[i:end]) != word {
		return i, KindSyntax
	}
	return end, 0
}

func (s *scanner) space(i int) int {
	if i < len(s.data) && s.data[i] > ' ' {
		return i
	}
	return s.skipSpace(i)
}

func (s *scanner) skipSpace(i int) int {
	for i < len(s.data) {
		if c := s.data[i]; c != ' ' && c != '\n' && c != '\t' && c != '\r' {
			break
		}
		s.spaced = true
		i++
	}
	return i
}
