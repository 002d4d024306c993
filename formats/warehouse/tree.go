package warehouse

import (
	"strings"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// builder builds a JSON object of a row. It keeps its room from one row to the next.
type builder struct {
	row   []column
	names map[string]string // of columns, in small letters
	nodes []*tree
	used  int
	made  []byte
}

const (
	maxNames = 4096    // of columns that are kept
	usual    = 1 << 18 // bytes of room that are kept
)

// name is the name of a column in small letters.
func (b *builder) name(key []byte) string {
	if name, isKnown := b.names[string(key)]; isKnown {
		return name
	}
	name := strings.ToLower(string(key))
	if len(b.names) < maxNames {
		b.names[string(key)] = name
	}
	return name
}

// node returns an empty member.
func (b *builder) node(name string, value []byte) *tree {
	if b.used == len(b.nodes) {
		b.nodes = append(b.nodes, &tree{})
	}
	t := b.nodes[b.used]
	b.used++
	*t = tree{of: b, name: name, value: value, inner: t.inner[:0]}
	return t
}

// tree is a JSON object that is built of paths, or one of its members.
type tree struct {
	of    *builder
	name  string
	value []byte // raw; nil for an object
	inner []*tree
}

// put adds a value at a path such as context.page.url. It reports whether there was room for it: the first value
// stays.
func (t *tree) put(path string, value []byte) bool {
	name, rest, isDeep := strings.Cut(path, ".")
	if isDeep {
		next := t.object(name)
		return next.value == nil && next.put(rest, value)
	}
	return t.putName(name, value)
}

// putName is put for a name, which may have dots.
func (t *tree) putName(name string, value []byte) bool {
	if t.member(name) != nil {
		return false
	}
	t.add(name, value)
	return true
}

// object is the member of a name, which is added as an object if it is not there.
func (t *tree) object(name string) *tree {
	if m := t.member(name); m != nil {
		return m
	}
	return t.add(name, nil)
}

func (t *tree) add(name string, value []byte) *tree {
	next := t.of.node(name, value)
	t.inner = append(t.inner, next)
	return next
}

func (t *tree) member(name string) *tree {
	for _, m := range t.inner {
		if m.name == name {
			return m
		}
	}
	return nil
}

// append appends the tree as JSON.
func (t *tree) append(dst []byte) []byte {
	if t.value != nil {
		return append(dst, t.value...)
	}
	dst = append(dst, '{')
	for i, m := range t.inner {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst, _ = jsonb.AppendString(dst, m.name) // it was read, so it is valid
		dst = m.append(append(dst, ':'))
	}
	return append(dst, '}')
}
