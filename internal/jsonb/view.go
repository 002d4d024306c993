package jsonb

import "bytes"

// View has the places of the members of an object, and of the members of the objects in it, so that an object that was read
// once is not read again. It keeps its room from one object to the next. A nil View notes nothing and has no text.
type View struct {
	text  []byte // nil: no object
	spans []span // each member, followed by those of the object that it is
}

// span is the place of a member.
type span struct {
	key, keyEnd, value, end uint32 // the key without its quotes

	inner   uint32 // how many of the following ones are in it
	isInner bool   // it is in another one
	escapes uint8  // which of its parts have escapes
	isAfter bool   // a key of its object was there twice before
}

// Escapes in a span.
const (
	inKey = 1 << iota
	inValue
)

// Begin makes it the view of a text, without members. [View.Add] adds them.
func (v *View) Begin(text []byte) {
	if v != nil {
		v.text, v.spans = text, v.spans[:0]
	}
}

// Add notes a member of the object by the offsets of its quoted key, its value, and their ends, and whether there may be escapes
// in it. No key is there twice.
func (v *View) Add(key, keyEnd, value, end int, isEscaped bool) {
	s := span{key: uint32(key) + 1, keyEnd: uint32(keyEnd) - 1, value: uint32(value), end: uint32(end)}
	if isEscaped {
		s.escapes = inKey | inValue
	}
	v.spans = append(v.spans, s)
}

// IsOf reports whether it is the view of these very bytes.
func (v *View) IsOf(text []byte) bool {
	return v != nil && len(text) > 0 && len(v.text) == len(text) && &v.text[0] == &text[0]
}

// CopyTo copies it to another one. A nil View makes it empty.
func (v *View) CopyTo(to *View) {
	if to.Begin(nil); v != nil {
		to.text, to.spans = v.text, append(to.spans, v.spans...)
	}
}

// IsEmpty reports whether it has no text.
func (v *View) IsEmpty() bool { return v == nil || v.text == nil }

// Move makes it the view of a copy of its text.
func (v *View) Move(text []byte) { v.text = text }

// Each calls visit for the members of the object and, after each one, for the members of the object that it is: of these as
// [Object] does, up to a key that is there twice.
func (v *View) Each(visit func(key, value []byte, isInner bool)) {
	for i := range v.spans {
		if s := &v.spans[i]; !s.isAfter {
			visit(v.key(s), v.text[s.value:s.end], s.isInner)
		}
	}
}

// Object is [Object] for the text, which is not read again: a view has no key twice. It returns false, and calls nothing, if
// there is no text, or one that may be nested too deeply.
func (v *View) Object(visit Visitor) bool {
	if v.IsEmpty() || bytes.Count(v.text, []byte{'{'})+bytes.Count(v.text, []byte{'['}) > MaxDepth {
		return false
	}
	for i := range v.spans {
		if s := &v.spans[i]; !s.isInner {
			visit(v.key(s), v.text[s.value:s.end])
		}
	}
	return true
}

// Has reports whether the object has a member of a name.
func (v *View) Has(name string) bool {
	for i := range v.spans {
		s := &v.spans[i]
		if size := int(s.keyEnd - s.key); size < len(name) || s.isInner || size > len(name) && s.escapes&inKey == 0 {
			continue
		}
		if string(v.key(s)) == name {
			return true
		}
	}
	return false
}

// Within calls visit for the members of an object that is a value of a member. It returns false, and calls nothing, if the
// value is none, or has a key twice.
func (v *View) Within(value []byte, visit Visitor) bool {
	if v.IsEmpty() || len(value) == 0 {
		return false
	}
	for i := 0; i < len(v.spans); i++ {
		s := &v.spans[i]
		inner := v.spans[i+1 : i+1+int(s.inner)]
		if i += int(s.inner); &v.text[s.value] != &value[0] {
			continue
		}
		if value[0] != '{' || len(inner) > 0 && inner[len(inner)-1].isAfter {
			return false
		}
		for j := range inner {
			visit(v.key(&inner[j]), v.text[inner[j].value:inner[j].end])
		}
		return true
	}
	return false
}

func (v *View) key(s *span) []byte {
	key := v.text[s.key:s.keyEnd]
	if s.escapes&inKey != 0 {
		key = appendUnescaped(nil, v.text[s.key-1:s.keyEnd+1])
	}
	return key
}

// AppendCanonical is [Canonical] of the text.
func (v *View) AppendCanonical(dst []byte) []byte { return v.canonical(dst, v.spans) }

func (v *View) canonical(dst []byte, spans []span) []byte {
	var room [32]stretch
	members, sorted := room[:0], true
	dst = append(dst, '{')
	first := len(dst)
	for i := 0; i < len(spans); i++ {
		s := &spans[i]
		m := stretch{from: len(dst)}
		dst = appendText(dst, v.text[s.key-1:s.keyEnd+1], s.escapes&inKey != 0)
		m.keyTo = len(dst)
		dst = append(dst, ':')
		switch c := v.text[s.value]; {
		case c == '"':
			dst = appendText(dst, v.text[s.value:s.end], s.escapes&inValue != 0)
		case s.inner > 0:
			dst = v.canonical(dst, spans[i+1:i+1+int(s.inner)])
			i += int(s.inner)
		case c == '{' || c == '[':
			nested := scanner{data: v.text}
			dst, _, _ = nested.canonical(dst, int(s.value), 0)
		default:
			dst = append(dst, v.text[s.value:s.end]...)
		}
		m.to = len(dst)
		dst = append(dst, ',')
		if n := len(members); n > 0 && bytes.Compare(members[n-1].key(dst), m.key(dst)) > 0 {
			sorted = false
		}
		members = append(members, m)
	}
	return closed(dst, first, members, sorted)
}
