package generic

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// converter makes events of records. It is not changed once it is made.
type converter struct {
	root   node
	uses   []*use
	given  int               // how many of the uses the map has
	fields map[string][]*use // by target that is no property, constants last
	names  []string          // of properties, in the order of the map
	props  map[string][]*use // by name, constants last
	zone   *time.Location
	space  uuid.UUID // of uuids made of ids
}

// node is a member of a record, or the record.
type node struct {
	members map[string]*node
	uses    []*use // of the value itself
	isDrop  bool
	spread  *use // its members become properties; nil: they do not
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

func (c *converter) add(u *use) error {
	u.order = len(c.uses)
	c.uses = append(c.uses, u)
	n := &c.root
	for _, name := range u.path {
		n = n.child(name)
	}
	isDrop := u.target == targetDrop && !u.isProperty
	switch {
	case u.constant == nil && (n.isDrop || isDrop && len(n.uses) > 0):
		return mapError(u.text, 0, "this is dropped and used: leave one of the two out")
	case isDrop:
		n.isDrop = true
		return nil
	case u.target == targetAll && !u.isProperty:
		n.spread = u
		return nil
	case u.constant == nil:
		n.uses = append(n.uses, u)
	}
	of := &c.fields
	if u.isProperty {
		of = &c.props
		if c.props[u.target] == nil {
			c.names = append(c.names, u.target)
		}
	}
	list := (*of)[u.target]
	at := len(list)
	if constant := slices.IndexFunc(list, func(u *use) bool { return u.constant != nil }); constant >= 0 && u.constant == nil {
		at = constant
	}
	(*of)[u.target] = slices.Insert(list, at, u)
	return nil
}

// addDefaults maps columns of the usual names to the targets that have no entry.
func (c *converter) addDefaults() {
	c.given = len(c.uses)
	for name, target := range aliases {
		if c.fields[target] == nil && c.root.members[name] == nil {
			_ = c.add(&use{text: target + "=" + name, target: target, path: []string{name}}) // of a member that nothing uses
		}
	}
}

// check refuses the columns of a table that is another one.
func (c *converter) check(columns []string) error {
	e := &ColumnsError{Columns: columns}
	isThere := func(u *use) bool { return u.constant != nil || slices.Contains(columns, u.path[0]) }
	for _, u := range c.uses[:c.given] {
		if isDrop := u.target == targetDrop && !u.isProperty; !isDrop && !isThere(u) {
			e.Absent = append(e.Absent, u.text)
		}
	}
	for _, target := range []string{targetEvent, targetPerson, targetTime} {
		isSaid := func(u *use) bool { return u.order < c.given || isThere(u) } // one that is said and absent is named above
		if !slices.ContainsFunc(c.fields[target], isSaid) {
			e.Unmapped = append(e.Unmapped, target)
		}
	}
	if len(e.Absent)+len(e.Unmapped) > 0 {
		return e
	}
	return nil
}

type reading struct {
	*converter

	values [][]byte // by the order of the uses; empty ones are nil
	rest   []member // the members that are not mapped
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
		next := n.members[string(key)]
		name := string(key)
		own := member{name, joined(from, name), value}
		if next == nil {
			rest = append(rest, own)
			return
		}
		if !record.IsNone(value) {
			for _, u := range next.uses {
				r.values[u.order] = value
			}
		}
		left, err := r.inside(own, next)
		errs = append(errs, err)
		if !next.isDrop && len(next.uses) == 0 {
			rest = append(rest, left...)
		}
	})
	return rest, errors.Join(append(errs, err)...)
}

// inside reads the mapped members of a value, and returns the others.
func (r *reading) inside(m member, n *node) ([]member, error) {
	value := m.value
	if n.spread != nil {
		if record.IsNone(value) {
			return nil, nil
		}
		var err error
		if value, err = n.spread.json(value); err != nil {
			return nil, fmt.Errorf("%s: %w", m.from, err)
		}
		if value[0] != '{' {
			return nil, fmt.Errorf("%s: want an object, not %s", m.from, shown(value))
		}
	}
	if len(n.members) == 0 && n.spread == nil || value[0] != '{' {
		return []member{m}, nil
	}
	rest, err := r.object(value, n, m.from)
	if n.spread != nil {
		r.rest = append(r.rest, rest...)
		return nil, err
	}
	if err != nil || len(rest) == 0 {
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

// first is the first of some entries that has a value.
func (r *reading) first(uses []*use) (*use, []byte) {
	for _, u := range uses {
		if value := r.values[u.order]; value != nil {
			return u, value
		}
		if u.constant != nil {
			return u, u.constant
		}
	}
	return nil, nil
}

func (r *reading) text(target string) (string, error) {
	u, value := r.first(r.fields[target])
	if u == nil {
		return "", nil
	}
	s, err := textOf(value)
	if err != nil {
		return "", fmt.Errorf("%s: %w", u.from(), err)
	}
	return s, nil
}

// id is the uuid of a record that has an id.
func (c *converter) id(record []byte) uuid.UUID {
	r, _ := c.read(record) // another fault of it does not change its id
	return r.id()
}

func (r *reading) id() uuid.UUID {
	s, err := r.text(targetUUID)
	if err != nil || s == "" {
		return uuid.Nil
	}
	const canonical = 36 // bytes; in 32 it can be any digest
	if id, err := uuid.Parse(s); err == nil && len(s) == canonical {
		return id
	}
	return uuid.NewSHA1(r.space, []byte(s))
}

func (c *converter) convert(record []byte) ([]hogapi.Event, error) {
	r, err := c.read(record)
	errs := []error{err}
	ev := hogapi.Event{UUID: r.id()}
	put := func(field *string, target string) {
		*field, err = r.text(target)
		errs = append(errs, err)
	}
	put(&ev.Name, targetEvent)
	put(&ev.DistinctID, targetPerson)
	put(&ev.AnonymousID, targetAnonymous)
	if u, value := r.first(r.fields[targetTime]); u != nil {
		if ev.Timestamp, err = u.time(value, c.zone); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", u.from(), err))
		}
	}
	ev.RawProperties, err = r.properties()
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	return []hogapi.Event{ev}, nil
}

// properties are the mapped ones, and all members that are not mapped.
func (r *reading) properties() ([]byte, error) {
	all := r.rest
	var persons [2][]member // $set, $set_once
	var errs []error
	for _, name := range r.names {
		u, value := r.first(r.props[name])
		if u == nil {
			continue
		}
		value, err := u.property(value)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", u.from(), err))
			continue
		}
		m := member{name, u.from(), value}
		of := &all
		for i, prefix := range []string{setPrefix, setOncePrefix} {
			if short, ok := strings.CutPrefix(name, prefix); ok {
				m.name, of = short, &persons[i]
			}
		}
		*of = append(*of, m)
	}
	for i, name := range []string{"$set", "$set_once"} {
		if len(persons[i]) > 0 {
			all = append(all, member{name, "the map", objectFrom(persons[i])})
		}
	}
	if err := errors.Join(append(errs, twice(all))...); err != nil {
		return nil, err
	}
	return objectFrom(all), nil
}

// twice names the first property that comes from two paths.
func twice(all []member) error {
	paths := make(map[string]string, len(all))
	for _, m := range all {
		if from, ok := paths[m.name]; ok {
			return fmt.Errorf("the property %s would come from %s and %s: drop one of them, or map it to another name", m.name, from, m.from)
		}
		paths[m.name] = m.from
	}
	return nil
}

func (u *use) property(value []byte) ([]byte, error) {
	switch u.conversion { //nolint:exhaustive // others are for times
	case asJSON:
		return u.json(value)
	case asNumber:
		s, err := textOf(value)
		if err == nil && (s == "" || s[0] != '-' && (s[0] < '0' || s[0] > '9') || jsonb.Valid([]byte(s)) != nil) {
			err = fmt.Errorf("want a number, not %s", shown(value))
		}
		return []byte(s), err
	}
	return value, nil
}

// json is a value, or the JSON in it where it is a text that is to be read as such.
func (u *use) json(value []byte) ([]byte, error) {
	if u.conversion != asJSON || value[0] != '"' {
		return value, nil
	}
	s, err := jsonb.Unquote(value)
	if err != nil {
		return nil, err
	}
	s = strings.TrimSpace(s)
	if err := jsonb.Valid([]byte(s)); err != nil {
		return nil, fmt.Errorf("want JSON, not %s", shown(value))
	}
	return []byte(s), nil
}

// textOf is a text, or a number as its digits.
func textOf(value []byte) (string, error) {
	switch first := value[0]; {
	case first == '"':
		return jsonb.Unquote(value)
	case first == '-' || '0' <= first && first <= '9':
		return string(value), nil
	case first == '[':
		return "", fmt.Errorf("want a text or a number, not a list: %s", shown(value))
	case first == '{':
		return "", fmt.Errorf("want a text or a number, not an object, of which a member can be named (a.b): %s", shown(value))
	}
	return "", fmt.Errorf("want a text or a number, not %s", shown(value))
}

// shown is the beginning of a value, for an error.
func shown(value []byte) string {
	const most = 40
	if len(value) > most {
		return strings.ToValidUTF8(string(value[:most]), "") + "…"
	}
	return string(value)
}
