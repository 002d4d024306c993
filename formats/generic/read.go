package generic

import (
	"errors"
	"fmt"

	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// node is a member of a record, or the record.
type node struct {
	members    map[string]*node
	uses       []*use // of the value itself
	peeks      []*use // that read the value and leave it where it is
	isText     bool   // a member of the JSON that is in a text here is mapped
	isDrop     bool
	dropsEmpty bool
	takes      bool // something within the value is mapped
	spread     *use // its members become properties; nil: they do not
	list       *use // its elements become events; nil: they do not
}

func (n *node) child(name string) *node {
	if n.members == nil {
		n.members = map[string]*node{}
	}
	if n.members[name] == nil {
		n.members[name] = &node{}
	}
	return n.members[name]
}

// isTaken reports whether the value, or a part of it, has another place by the map.
func (n *node) isTaken() bool {
	return n != nil && (len(n.uses) > 0 || n.isDrop || n.takes || n.spread != nil || n.list != nil)
}

// reading has the values of a record for the entries of the map.
type reading struct {
	*converter

	values [][]byte // by the order of the uses; empty ones are nil
	rest   []member // the members that are not mapped
	list   *member  // its elements are events; nil: the list is absent
	number int      // of the element
	inList bool     // an element is read
}

// member is a property, with the path that it comes from.
type member struct {
	name  string
	from  string
	value []byte
}

func (c *converter) read(record []byte) (*reading, error) {
	r := &reading{converter: c, values: make([][]byte, len(c.uses))}
	rest, err := r.object(record, &c.root, "")
	r.rest = append(r.rest, rest...)
	return r, err
}

// object walks over an object and returns the members that nothing takes.
func (r *reading) object(raw []byte, n *node, from string) (rest []member, err error) {
	var errs []error
	err = jsonb.Object(raw, func(key, value []byte) {
		name := string(key)
		own := member{name, joined(from, name), value}
		next := n.members[name]
		if next == nil {
			rest = append(rest, own)
			return
		}
		left, err := r.take(own, next)
		rest = append(rest, left...)
		errs = append(errs, err)
	})
	return rest, errors.Join(append(errs, err)...)
}

// take reads a member that the map has, and returns the part that nothing takes.
func (r *reading) take(m member, n *node) (rest []member, err error) {
	isNone := record.IsNone(m.value)
	if n.list != nil && !r.inList {
		if !isNone {
			r.list = &m
		}
		return nil, nil
	}
	if !isNone {
		for _, u := range n.uses {
			r.values[u.order] = m.value
		}
		for _, u := range n.peeks {
			r.values[u.order] = m.value
		}
	}
	rest, err = r.inside(m, n)
	if n.isDrop || len(n.uses) > 0 || n.dropsEmpty && isNone {
		return nil, err
	}
	return rest, err
}

// inside reads the mapped members of a value, and returns the others.
func (r *reading) inside(m member, n *node) (rest []member, err error) {
	isSpread := n.spread != nil
	if isSpread && record.IsNone(m.value) {
		return nil, nil
	}
	if len(n.members) == 0 && !isSpread {
		return []member{m}, nil
	}
	value := m.value
	if (n.isText || isSpread && n.spread.conversion == asJSON) && !record.IsNone(value) {
		if value, err = textAsJSON(value); err != nil {
			return nil, fmt.Errorf("%s: %w", m.from, err)
		}
	}
	isText := n.isText && !record.IsNone(value)
	if value[0] != '{' && (isSpread || isText) {
		return nil, fmt.Errorf("%s: want an object, not %s", m.from, shown(value))
	}
	if value[0] != '{' {
		return []member{m}, nil
	}
	rest, err = r.object(value, n, m.from)
	switch {
	case isSpread:
		r.rest = append(r.rest, rest...)
		return nil, err
	case !n.takes:
		return []member{m}, err
	case err != nil || len(rest) == 0:
		return nil, err
	}
	m.value = objectFrom(rest)
	return []member{m}, nil
}

func joined(from, name string) string {
	if from == "" {
		return name
	}
	return from + "." + name
}

func objectFrom(members []member) []byte {
	var object record.Object
	object.Begin()
	for _, m := range members {
		object.Add(m.name, m.value)
	}
	return object.Raw()
}
