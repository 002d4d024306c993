package posthogexport

import (
	"bytes"

	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// unpacked is the value in a column of a table: itself, or the value in a text of JSON, also where that is in a text of
// JSON again.
func unpacked(raw []byte) []byte {
	for range 2 {
		text := []byte(record.Text(raw))
		if len(text) == 0 || bytes.IndexByte([]byte(`"{[n`), text[0]) < 0 || jsonb.Valid(text) != nil {
			break
		}
		raw = text
	}
	return raw
}

// A column has the value of a property that the server keeps apart from the others.
type column struct {
	name, property string
	opens          byte // of its value
	want           string
	values         [2][]byte // raw, as two destinations name it
	isSet          bool      // the properties have it
}

func newColumns() []column {
	return []column{
		{name: "set", property: "$set", opens: '{', want: "an object"}, {name: "set_once", property: "$set_once", opens: '{', want: "an object"},
		{name: "unset", property: "$unset", opens: '[', want: "a list"}, {name: "group_set", property: "$group_set", opens: '{', want: "an object"},
	}
}

// value is the value of the column in place of the property, or nil.
func (c *column) value() ([]byte, error) {
	for _, raw := range c.values {
		if raw = unpacked(raw); c.isSet || record.IsEmpty(raw) {
			continue
		}
		if raw[0] != c.opens {
			return nil, record.Want(c.name, c.want, raw)
		}
		return raw, nil
	}
	return nil, nil
}

// groups are the properties $group_0 to $group_4, in which the server has put the keys of $groups by the numbers that
// the types have in its project.
type groups struct {
	keys [5][]byte // raw
	of   []byte    // raw, $groups
}

// take notes a property, and reports whether it is such a key.
func (g *groups) take(name string, value []byte) bool {
	const key = "$group_"
	switch {
	case name == "$groups":
		g.of = value
	case len(name) == len(key)+1 && name[:len(key)] == key && name[len(key)] >= '0' && name[len(key)] < '5':
		g.keys[name[len(key)]-'0'] = value
		return true
	}
	return false
}

// others calls keep with each key that $groups does not have, such as one that a client has sent itself.
func (g *groups) others(keep func(name string, value []byte)) {
	known := map[string]bool{}
	for i, raw := range g.keys {
		if record.IsNone(raw) {
			continue
		}
		if len(known) == 0 && record.IsObject(g.of) {
			_ = jsonb.Object(g.of, func(_, value []byte) { // valid: it was read
				if id, err := record.ID("", value); err == nil {
					known[id] = true
				}
			})
		}
		if id, err := record.ID("", raw); err != nil || !known[id] {
			keep("group_"+string(rune('0'+i)), raw)
		}
	}
}
