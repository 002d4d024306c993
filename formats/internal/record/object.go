// Package record reads the members of vendors' records, and builds the properties of events from them. All of
// it is the same for every vendor.
package record

import (
	"bytes"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// Object builds a raw JSON object. It has each name once. The zero value is empty and ready to use.
type Object struct {
	text  []byte // what stands between the braces
	marks [4]uint64
	names []span              // in text, with their quotes
	many  map[string]struct{} // the names, once there are many
}

type span struct{ from, to int }

// few is how many names are searched one by one.
const few = 64

// usual is how much room is kept.
const usual = 1 << 18

// Reset makes the object empty and keeps its room, unless that is unusually large.
func (o *Object) Reset() {
	if cap(o.text) > usual {
		*o = Object{}
	}
	o.text, o.names, o.marks, o.many = o.text[:0], o.names[:0], [4]uint64{}, nil
}

// IsEmpty reports whether the object has no members.
func (o *Object) IsEmpty() bool { return len(o.names) == 0 }

// Len is the number of bytes that Append appends.
func (o *Object) Len() int { return len(o.text) + len("{}") }

// Append appends the object.
func (o *Object) Append(dst []byte) []byte {
	return append(append(append(dst, '{'), o.text...), '}')
}

// Add adds a member, unless the object has its name or the name is not UTF-8. The value is raw JSON.
func (o *Object) Add(name string, value []byte) bool { return add(o, name, value) }

// AddBytes is Add.
func (o *Object) AddBytes(name, value []byte) bool { return add(o, name, value) }

// AddText adds a member that is a text.
func (o *Object) AddText(name, value string) bool {
	if !o.Add(name, nil) {
		return false
	}
	text, err := jsonb.AppendString(o.text, value)
	if err != nil {
		text = append(o.text, "null"...)
	}
	o.text = text
	return true
}

// Keep adds a member under its name or, where that is taken, under the name with as many "_" after it as
// it takes.
func (o *Object) Keep(name string, value []byte) {
	for !o.Add(name, value) {
		name += "_"
	}
}

func add[T string | []byte](o *Object, name T, value []byte) bool {
	before := len(o.text)
	if before > 0 {
		o.text = append(o.text, ',')
	}
	from := len(o.text)
	if isPlain(name) {
		o.text = append(append(append(o.text, '"'), name...), '"')
	} else if text, err := jsonb.AppendString(o.text, string(name)); err == nil {
		o.text = text
	}
	if s := (span{from, len(o.text)}); s.to == from || !o.note(s) {
		o.text = o.text[:before]
		return s.to == from // a name that is not UTF-8 is in no record that was read
	}
	o.text = append(append(o.text, ':'), value...)
	return true
}

// note notes a name, unless the object has it.
func (o *Object) note(s span) bool {
	name := o.text[s.from:s.to]
	n := uint(len(name))
	h := n + 3*uint(name[1]) + 5*uint(name[n/2]) + 17*uint(name[n-2])
	marks, mark := &o.marks[h/64%4], uint64(1)<<(h%64)
	isNew := *marks&mark == 0
	switch {
	case o.many != nil:
		if _, is := o.many[string(name)]; is {
			return false
		}
		o.many[string(name)] = struct{}{}
	case !isNew:
		for _, other := range o.names {
			if bytes.Equal(name, o.text[other.from:other.to]) {
				return false
			}
		}
	}
	*marks |= mark
	if o.names = append(o.names, s); len(o.names) == few {
		o.many = make(map[string]struct{}, 4*few)
		for _, other := range o.names {
			o.many[string(o.text[other.from:other.to])] = struct{}{}
		}
	}
	return true
}

// isPlain reports whether a name needs no escapes and is ASCII.
func isPlain[T string | []byte](name T) bool {
	for i := range len(name) {
		if c := name[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

// AppendMember appends an object as the last member of another one, unless it is empty.
func AppendMember(dst []byte, name string, o *Object) []byte {
	if o.IsEmpty() {
		return dst
	}
	dst = dst[:len(dst)-1]
	if dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(append(append(dst, '"'), name...), '"', ':')
	return append(o.Append(dst), '}')
}
