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
	"github.com/hogapi/hogapi/history"
)

// converter makes events of records. It is not changed once it is made.
type converter struct {
	root       node
	uses       []*use
	given      int               // how many of the uses the map has
	fields     map[string][]*use // by target that is no property, constants last
	names      []string          // of properties, in the order of the map
	props      map[string][]*use // by name, constants last
	skips      []*use
	list       *use // its elements become events; nil: a record is one event
	listNode   *node
	dropsEmpty bool
	zone       *time.Location
	space      uuid.UUID // of uuids made of ids
}

// enter numbers a use and returns the node of its path. With takes, a part of the record gets another place.
func (c *converter) enter(u *use, takes bool) *node {
	u.order = len(c.uses)
	c.uses = append(c.uses, u)
	n := &c.root
	for i, name := range u.path {
		n.takes = n.takes || takes
		n.isText = n.isText || slices.Contains(u.texts, i-1)
		n = n.child(name)
	}
	return n
}

func (c *converter) add(u *use) error {
	isDrop := u.is(targetDrop)
	if u.zone != nil {
		of := c.enter(u.zone, false)
		of.peeks = append(of.peeks, u.zone)
	}
	if u.isAll {
		c.dropsEmpty = true
		return nil
	}
	n := c.enter(u, !u.is(targetSkip))
	switch {
	case u.is(targetSkip):
		c.skips = append(c.skips, u)
		n.peeks = append(n.peeks, u)
		return nil
	case isDrop && u.conversion == whenEmpty:
		n.dropsEmpty = true
		return nil
	case u.constant == nil && (n.isDrop || isDrop && len(n.uses) > 0):
		return mapError(u.text, 0, "this is dropped and used: leave one of the two out")
	case isDrop:
		n.isDrop = true
		return nil
	case u.is(targetAll):
		n.spread = u
		return nil
	case u.is(targetEach) && c.list != nil:
		return mapError(u.text, 0, "the elements of one list can become events: "+c.list.text+" names another one")
	case u.is(targetEach):
		c.list, c.listNode, n.list = u, n, u
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

// finish maps columns of the usual names to the targets that have no entry.
func (c *converter) finish() {
	c.given = len(c.uses)
	for name, target := range aliases {
		if c.fields[target] == nil && !c.root.members[name].isTaken() {
			_ = c.add(&use{text: target + "=" + name, target: target, path: []string{name}}) // of a member that nothing uses
		}
	}
	for _, u := range c.uses {
		u.inList = c.list != nil && len(u.path) >= len(c.list.path) && slices.Equal(u.path[:len(c.list.path)], c.list.path)
	}
}

// check refuses the columns of a table that is another one.
func (c *converter) check(columns []string) error {
	isPerson := func(u *use) bool { return u.constant == nil && slices.Contains(columns, u.path[0]) }
	if err := totals(columns); err != nil && !slices.ContainsFunc(c.fields[targetPerson], isPerson) {
		return err
	}
	e := &ColumnsError{Columns: columns}
	isThere := func(u *use) bool { return u.constant != nil || slices.Contains(columns, u.path[0]) }
	for _, u := range c.uses[:c.given] {
		if !u.is(targetDrop) && !isThere(u) && !slices.Contains(e.Absent, u.text) {
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

// first is the first of some entries that has a value.
func (r *reading) first(uses []*use) (u *use, value []byte, err error) {
	for _, u := range uses {
		value := r.values[u.order]
		if value != nil && u.table != nil {
			if value, err = u.table.of(value); err != nil {
				return u, nil, fmt.Errorf("%s: %w", u.from(), err)
			}
		}
		if value != nil {
			return u, value, nil
		}
		if u.constant != nil {
			return u, u.constant, nil
		}
	}
	return nil, nil, nil
}

func (r *reading) text(target string) (u *use, s string, err error) {
	u, value, err := r.first(r.fields[target])
	if u == nil || err != nil {
		return u, "", err
	}
	if s, err = textOf(value); err != nil {
		return u, "", fmt.Errorf("%s: %w", u.from(), err)
	}
	if s != "" {
		s = u.prefix + s
	}
	return u, s, nil
}

func (c *converter) convert(record []byte) ([]hogapi.Event, error) {
	r, err := c.read(record)
	if err != nil {
		return nil, err
	}
	if c.list != nil {
		return r.events()
	}
	ev, err := r.event()
	if err != nil {
		return nil, err
	}
	return []hogapi.Event{ev}, nil
}

// skip returns an error if a condition holds for the record, or for the element.
func (r *reading) skip() error {
	for _, u := range r.skips {
		if u.inList != r.inList {
			continue
		}
		holds, err := u.holds(r.values[u.order])
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", u.from(), err)
		case holds:
			return history.Skip(u.text)
		}
	}
	return nil
}

// event returns the event of a record or an element, or the error with which it is left out.
func (r *reading) event() (ev hogapi.Event, err error) {
	if err = r.skip(); err != nil {
		return ev, err
	}
	var errs []error
	ev.UUID = r.id()
	put := func(field *string, target string) {
		_, *field, err = r.text(target)
		errs = append(errs, err)
	}
	put(&ev.Name, targetEvent)
	put(&ev.DistinctID, targetPerson)
	put(&ev.AnonymousID, targetAnonymous)
	ev.Timestamp, err = r.time()
	errs = append(errs, err)
	ev.RawProperties, err = r.properties()
	return ev, errors.Join(append(errs, err)...)
}

func (r *reading) time() (at time.Time, err error) {
	u, value, err := r.first(r.fields[targetTime])
	if u == nil || err != nil {
		return at, err
	}
	zone := r.zone
	if u.zone != nil && r.values[u.zone.order] != nil {
		if zone, err = zoneOf(r.values[u.zone.order]); err != nil {
			return at, fmt.Errorf("%s: %w", u.zone.from(), err)
		}
	}
	if at, err = u.time(value, zone); err != nil {
		return at, fmt.Errorf("%s: %w", u.from(), err)
	}
	return at, nil
}

// properties are the mapped ones, and all members that are not mapped.
func (r *reading) properties() ([]byte, error) {
	all := r.rest
	if r.dropsEmpty {
		all = slices.DeleteFunc(slices.Clone(all), func(m member) bool { return record.IsNone(m.value) })
	}
	var persons [2][]member // $set, $set_once
	var errs []error
	for _, name := range r.names {
		u, value, err := r.first(r.props[name])
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if u == nil {
			continue
		}
		if value, err = u.property(value); err != nil {
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
