package warehouse

import (
	"strings"

	"github.com/hogapi/hogapi/internal/jsonb"
)

// tree is a JSON object that is built of paths, or one of its members.
type tree struct {
	name  string
	value []byte // raw; nil for an object
	inner []*tree
}

// put adds a value at a path such as context.page.url. It reports whether there was room for it: the first value
// stays.
func (t *tree) put(path string, value []byte) bool {
	name, rest, isDeep := strings.Cut(path, ".")
	if isDeep {
		next := t.member(name)
		if next == nil {
			next = &tree{name: name}
			t.inner = append(t.inner, next)
		}
		return next.value == nil && next.put(rest, value)
	}
	return t.putName(name, value)
}

// putName is put for a name, which may have dots.
func (t *tree) putName(name string, value []byte) bool {
	if t.member(name) != nil {
		return false
	}
	t.inner = append(t.inner, &tree{name: name, value: value})
	return true
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
