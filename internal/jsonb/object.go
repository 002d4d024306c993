package jsonb

import "bytes"

// Visitor receives the text of a member's key and the raw value. Both are valid only during the
// call.
type Visitor func(key, value []byte)

// Object is Valid for a value that must be an object, and refuses duplicate keys in the object
// itself, but not in nested objects. It calls visit, which may be nil, for each member in order,
// also for the members before a fault.
func Object(raw []byte, visit Visitor) error {
	_, err := ObjectWithin(raw, visit, "", nil)
	return err
}

// ObjectWithin is Object, and calls inner for each member of the object in the member named key, if
// there is one. If err is nil, within is the result of Object for that inner object.
func ObjectWithin(raw []byte, visit Visitor, key string, inner Visitor) (within, err error) {
	return ObjectInto(nil, raw, visit, key, inner)
}

// ObjectInto is ObjectWithin, and without an error makes view the View of the object.
func ObjectInto(view *View, raw []byte, visit Visitor, key string, inner Visitor) (within, err error) {
	w := walker{scanner: scanner{data: raw}, key: key, view: view}
	if view.Begin(nil); view != nil {
		defer func() {
			if err == nil {
				view.text = raw
			}
		}()
	}
	i := w.space(0)
	if i >= len(raw) || raw[i] != '{' {
		return nil, &Error{Kind: KindSyntax, Offset: i}
	}
	i, kind, twice := w.walk(i, 1, visit, inner)
	if twice != nil {
		return nil, twice
	}
	if kind == 0 {
		i, kind = w.end(i)
	}
	if kind != 0 {
		return nil, faultIn(raw, i, kind)
	}
	if w.twice != nil {
		within = w.twice
	}
	return within, nil
}

// walker visits the members of an object and of one nested object.
type walker struct {
	scanner

	key   string // of the member with the inner object
	twice *Error // a duplicate key of the inner object
	view  *View  // nil: none
}

// walk checks the object at i, at a depth, and calls visit for the members before the first
// duplicate key, and inner for those of the inner object. Both may be nil.
func (w *walker) walk(i, depth int, visit, inner Visitor) (end int, kind Kind, twice *Error) {
	var seen keys
	i, more := w.open(i, '}')
	for more {
		m, kind := w.name(i)
		if kind != 0 {
			return m.end, kind, twice
		}
		key := w.data[i+1 : m.keyEnd-1]
		if m.escaped {
			key = appendUnescaped(nil, w.data[i:m.keyEnd])
		}
		noted, isEscaped := -1, false
		if w.view != nil {
			noted = len(w.view.spans)
			w.view.Add(i, m.keyEnd, m.value, m.value, false)
		}
		if m.value < len(w.data) && w.data[m.value] == '"' { // most values are strings: this saves them two calls
			m.end, isEscaped, kind = scanString(w.data, m.value)
		} else {
			m.end, kind = w.member(key, m.value, depth, inner)
		}
		if kind != 0 {
			return m.end, kind, twice
		}
		if twice == nil && !seen.add(w.data, key, i+1, m.escaped) {
			twice = &Error{Kind: KindDuplicate, Path: keyStep(string(key)), Offset: i}
		}
		if noted >= 0 {
			s := &w.view.spans[noted]
			if m.escaped {
				s.escapes = inKey
			}
			if isEscaped {
				s.escapes |= inValue
			}
			s.end, s.inner, s.isInner, s.isAfter = uint32(m.end), uint32(len(w.view.spans)-noted-1), depth > 1, twice != nil
		}
		if twice == nil && visit != nil {
			visit(key, w.data[m.value:m.end])
		}
		if i, more, kind = w.next(m.end, '}'); kind != 0 {
			return i, kind, twice
		}
	}
	return i, 0, twice
}

// member checks a member's value, and walks the inner object, or all objects for a view.
func (w *walker) member(key []byte, i, depth int, inner Visitor) (end int, kind Kind) {
	isAsked := depth == 1 && inner != nil && string(key) == w.key
	if i >= len(w.data) || w.data[i] != '{' || depth > 1 || w.view == nil && !isAsked {
		return w.value(i, depth)
	}
	if !isAsked {
		end, kind, _ = w.walk(i, depth+1, nil, nil)
		return end, kind
	}
	if end, kind, w.twice = w.walk(i, depth+1, inner, nil); w.twice != nil {
		w.twice.Offset -= i
	}
	return end, kind
}

// keys is the set of an object's keys: a list for a few keys, a map for more.
type keys struct {
	marks [8]uint64 // a key is new if its bit is not set
	n     int
	few   [64]place
	odd   []byte // keys that had escapes
	many  map[string]struct{}
}

// place is where a key is: in the object, or else in odd.
type place struct {
	from, to uint32
	isOdd    bool
}

func (k *keys) text(data []byte, p place) []byte {
	if p.isOdd {
		data = k.odd
	}
	return data[p.from:p.to]
}

// add returns false if the set already has the key, which is at an offset of the data unless it had escapes.
func (k *keys) add(data, key []byte, at int, isOdd bool) bool {
	if k.many != nil {
		before := len(k.many)
		k.many[string(key)] = struct{}{}
		return len(k.many) > before
	}
	h := hash(key)
	marks, mark := &k.marks[h/64%8], uint64(1)<<(h%64)
	if *marks&mark != 0 {
		for _, other := range k.few[:k.n] {
			if int(other.to-other.from) == len(key) && bytes.Equal(key, k.text(data, other)) {
				return false
			}
		}
	}
	if k.n == len(k.few) {
		k.many = make(map[string]struct{}, 2*len(k.few))
		for _, other := range k.few {
			k.many[string(k.text(data, other))] = struct{}{}
		}
		return k.add(data, key, at, isOdd)
	}
	*marks |= mark
	if isOdd {
		at = len(k.odd)
		k.odd = append(k.odd, key...)
	}
	k.few[k.n] = place{uint32(at), uint32(at + len(key)), isOdd}
	k.n++
	return true
}

// hash only saves comparisons, so a weak one is enough.
func hash(key []byte) uint {
	n := uint(len(key))
	if n == 0 {
		return 0
	}
	return n + 3*uint(key[0]) + 5*uint(key[n/2]) + 17*uint(key[n-1])
}

// Members calls visit for each member of a valid object, given the text between its braces. It
// passes the text of the key, the value, and the member from its key to the end of its value. It
// checks nothing, which takes a fraction of the time of [Object].
func Members(members []byte, visit func(key, value, member []byte)) {
	for i := 0; i < len(members); {
		if c := members[i]; c != '"' { // whitespace, or the comma before the member
			i++
			continue
		}
		end := textEnd(members, i)
		key := members[i+1 : end-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			key = appendUnescaped(nil, members[i:end])
		}
		from := end + bytes.IndexByte(members[end:], ':') + 1
		for isBlank(members[from]) {
			from++
		}
		to := valueEnd(members, from)
		visit(key, members[from:to], members[i:to])
		i = to
	}
}

// Elements calls visit for each element of a valid array, given the text between its brackets. It checks nothing, as [Members].
func Elements(elements []byte, visit func(element []byte)) {
	for i := 0; i < len(elements); {
		if c := elements[i]; c == ',' || isBlank(c) {
			i++
			continue
		}
		to := valueEnd(elements, i)
		visit(elements[i:to])
		i = to
	}
}

func isBlank(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func textEnd(data []byte, i int) int {
	for i++; ; i++ {
		i += bytes.IndexByte(data[i:], '"')
		slashes := 0
		for data[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
}

func valueEnd(data []byte, i int) int {
	switch data[i] {
	case '"':
		return textEnd(data, i)
	case '{', '[':
		for depth := 0; ; {
			switch data[i] {
			case '"':
				i = textEnd(data, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			if i++; depth == 0 {
				return i
			}
		}
	}
	for i < len(data) && data[i] != ',' && !isBlank(data[i]) {
		i++
	}
	return i
}

// Array is Valid for a value that must be an array. It calls visit for each element in order, also
// for the elements before a fault. The raw element is valid only during the call.
func Array(raw []byte, visit func(element []byte)) error {
	s := scanner{data: raw}
	i := s.space(0)
	if i >= len(raw) || raw[i] != '[' {
		return &Error{Kind: KindSyntax, Offset: i}
	}
	i, kind := s.array(i, 1, visit)
	if kind == 0 {
		i, kind = s.end(i)
	}
	if kind != 0 {
		return faultIn(raw, i, kind)
	}
	return nil
}
