// Package record reads the records of other vendors, and builds the properties of events from their
// raw values. All vendors' formats are made with it.
package record

import (
	"bytes"
	"strconv"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// Object is a JSON object that is built member by member from raw values. No key comes twice. It
// keeps its room from one record to the next, unless that is unusually large. Its zero value is
// empty.
type Object struct {
	buf     []byte
	members []member
	marks   [4]uint64 // a bit that is not set says that a key is new
	many    map[string]int
}

type member struct {
	key, colon, end int
	hash            uint // of the quoted key
}

const (
	few   = 48      // members that are compared one by one
	usual = 1 << 18 // bytes of room that are kept
)

// Begin empties the object.
func (o *Object) Begin() {
	if cap(o.buf) > usual {
		*o = Object{}
	}
	o.buf, o.members, o.marks, o.many = append(o.buf[:0], '{'), o.members[:0], [4]uint64{}, nil
}

// Len is the number of members.
func (o *Object) Len() int { return len(o.members) }

// IsEmpty reports whether there are no members.
func (o *Object) IsEmpty() bool { return len(o.members) == 0 }

// Size is the number of bytes that Append appends.
func (o *Object) Size() int { return max(len(o.buf), len("{")) + len("}") }

// Append appends the object.
func (o *Object) Append(dst []byte) []byte {
	if o.IsEmpty() {
		return append(dst, "{}"...)
	}
	return append(append(dst, o.buf...), '}')
}

// Add adds a member unless its key is there, and says whether it did. The value must be valid JSON.
func (o *Object) Add(key string, raw []byte) bool { return add(o, key, raw) }

// AddBytes is Add.
func (o *Object) AddBytes(key, raw []byte) bool { return add(o, key, raw) }

func add[T string | []byte](o *Object, key T, raw []byte) bool {
	at := o.next()
	o.buf = appendText(o.buf, key)
	return o.addValue(at, raw)
}

// addQuoted is Add with the JSON of the key.
func (o *Object) addQuoted(quoted, raw []byte) bool {
	at := o.next()
	o.buf = append(o.buf, quoted...)
	return o.addValue(at, raw)
}

// AddText is Add with a text as the value.
func (o *Object) AddText(key, text string) bool {
	at := o.next()
	o.buf = appendText(o.buf, key)
	if !o.isNew(&at) {
		return false
	}
	o.buf = appendText(o.buf, text)
	o.finish(at)
	return true
}

// AddGiven is AddText unless the text is empty.
func (o *Object) AddGiven(key, text string) bool { return text != "" && o.AddText(key, text) }

// Keep adds a member under its own name; where another value has that name, under prefix and its
// name, and a number where that is there too. An equal text or number is not kept twice. The name
// distinct_id is always taken, since the service would read it as the event's.
func (o *Object) Keep(prefix, key string, raw []byte) {
	if key != "distinct_id" && (o.Add(key, raw) || o.Has(key, raw)) {
		return
	}
	name := prefix + key
	for n := 2; !o.Add(name, raw) && !o.Has(name, raw); n++ {
		name = prefix + key + "_" + strconv.Itoa(n)
	}
}

// Has reports whether a member has a value that is neither an object nor an array.
func (o *Object) Has(key string, raw []byte) bool {
	return raw[0] != '{' && raw[0] != '[' && bytes.Equal(o.Get(key), raw)
}

// Get is the raw value of a key, or nil. It is valid until the next change.
func (o *Object) Get(key string) []byte {
	at := len(o.buf)
	o.buf = appendText(o.buf, key)
	i := o.find(o.buf[at:], hash(o.buf[at:]))
	o.buf = o.buf[:at]
	if i < 0 {
		return nil
	}
	return o.buf[o.members[i].colon+1 : o.members[i].end]
}

// Members is the JSON of the object without the closing brace. It is valid until the next change.
func (o *Object) Members() []byte { return o.buf }

// JSON is a copy of the object.
func (o *Object) JSON() []byte { return o.Append(make([]byte, 0, o.Size())) }

// Raw is the object itself, valid until the next Begin; nothing can be added after it.
func (o *Object) Raw() []byte {
	o.buf = append(o.buf, '}')
	return o.buf
}

// note makes a view that of raw, which begins with the members of the object.
func (o *Object) note(view *jsonb.View, raw []byte) {
	view.Begin(raw)
	isEscaped := bytes.IndexByte(o.buf, '\\') >= 0
	for _, m := range o.members {
		view.Add(m.key, m.colon, m.colon+1, m.end, isEscaped)
	}
}

// Each calls visit for each member.
func (o *Object) Each(visit jsonb.Visitor) {
	for _, m := range o.members {
		key := o.buf[m.key+1 : m.colon-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			key, _ = jsonb.AppendUnquoted(nil, o.buf[m.key:m.colon]) // it was made here
		}
		visit(key, o.buf[m.colon+1:m.end])
	}
}

// next returns where the key of the next member begins, which is to be appended.
func (o *Object) next() member {
	if len(o.buf) == 0 {
		o.buf = append(o.buf, '{')
	}
	if len(o.members) > 0 {
		o.buf = append(o.buf, ',')
	}
	return member{key: len(o.buf)}
}

// addValue adds the value of a member after its key was appended, which is taken back if it is there already.
func (o *Object) addValue(at member, raw []byte) bool {
	if !o.isNew(&at) {
		return false
	}
	o.buf = append(o.buf, raw...)
	o.finish(at)
	return true
}

func (o *Object) isNew(at *member) bool {
	quoted := o.buf[at.key:]
	if at.hash = hash(quoted); o.find(quoted, at.hash) >= 0 {
		o.buf = o.buf[:at.key-min(len(o.members), len(","))]
		return false
	}
	at.colon = len(o.buf)
	o.buf = append(o.buf, ':')
	return true
}

// finish enters a member after its value was added.
func (o *Object) finish(at member) {
	at.end = len(o.buf)
	quoted, h := o.buf[at.key:at.colon], at.hash
	o.marks[h/64%4] |= 1 << (h % 64)
	o.members = append(o.members, at)
	switch {
	case o.many != nil:
		o.many[string(quoted)] = len(o.members) - 1
	case len(o.members) > few:
		o.many = make(map[string]int, 4*few)
		for i, m := range o.members {
			o.many[string(o.buf[m.key:m.colon])] = i
		}
	}
}

// find is the number of the member with a quoted key, or -1.
func (o *Object) find(quoted []byte, h uint) int {
	if o.marks[h/64%4]&(1<<(h%64)) == 0 {
		return -1
	}
	if o.many != nil {
		if i, ok := o.many[string(quoted)]; ok {
			return i
		}
		return -1
	}
	for i := range o.members {
		if m := &o.members[i]; m.hash == h && bytes.Equal(o.buf[m.key:m.colon], quoted) {
			return i
		}
	}
	return -1
}

// hash need not be good: it only saves comparisons. The first and the last byte of a quoted key are quotes.
func hash[T string | []byte](quoted T) uint {
	n := uint(len(quoted))
	if n < 2 {
		return n
	}
	return n + 3*uint(quoted[1]) + 5*uint(quoted[n/2]) + 17*uint(quoted[n-2])
}

// appendText appends a text that was read from valid JSON.
func appendText[T string | []byte](dst []byte, text T) []byte {
	if isPlain(text) {
		return append(append(append(dst, '"'), text...), '"')
	}
	dst, err := jsonb.AppendString(dst, string(text))
	if err != nil { // a caller's constant that is not UTF-8
		panic(err)
	}
	return dst
}

func isPlain[T string | []byte](text T) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x80 {
			return false
		}
	}
	return true
}

// AddAll adds the members of some objects. Where a key is in several, the first value counts.
func (o *Object) AddAll(objects ...[]byte) error {
	for _, raw := range objects {
		if err := jsonb.Object(raw, func(key, value []byte) { o.AddBytes(key, value) }); err != nil {
			return err
		}
	}
	return nil
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
