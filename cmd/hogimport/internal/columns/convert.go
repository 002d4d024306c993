package columns

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/internal/jsonb"
)

const (
	setPrefix     = "$set."
	setOncePrefix = "$set_once."
)

// reading is a record while it is read.
type reading struct {
	*converter
	taken []taken
	rest  []member // what is not mapped
}

// taken is a value with the mapping that takes it.
type taken struct {
	use   *use
	value []byte
}

// member is a property, with the place that it comes from.
type member struct {
	name  string
	place string
	value []byte
}

// read walks over a record.
func (r *reading) read(record []byte) error {
	rest, err := r.object(record, &r.root, "")
	r.rest = append(r.rest, rest...)
	slices.SortStableFunc(r.taken, func(a, b taken) int { return cmp.Compare(a.use.order, b.use.order) })
	return err
}

// object walks over an object and returns the members that nothing takes.
func (r *reading) object(raw []byte, n *node, place string) (rest []member, err error) {
	var errs []error
	err = jsonb.Object(raw, func(key, value []byte) {
		name := string(key)
		own := member{name, joined(place, name), value}
		next := n.members[name]
		if next == nil {
			rest = append(rest, own)
			return
		}
		for _, u := range next.uses {
			if !isEmpty(value) {
				r.taken = append(r.taken, taken{u, value})
			}
		}
		left, err := r.inside(own, next)
		errs = append(errs, err)
		if !next.isDrop && len(next.uses) == 0 {
			rest = append(rest, left...)
		}
	})
	return rest, errors.Join(err, errors.Join(errs...))
}

// inside walks over a value whose members are mapped, and returns what is left of it.
func (r *reading) inside(m member, n *node) ([]member, error) {
	value := m.value
	if n.spread != nil {
		if isEmpty(value) {
			return nil, nil
		}
		var err error
		if value, err = n.spread.json(value); err != nil {
			return nil, fmt.Errorf("%s: %w", m.place, err)
		}
		if value[0] != '{' {
			return nil, fmt.Errorf("%s: want an object, not %s", m.place, shown(value))
		}
	}
	if len(n.members) == 0 && n.spread == nil || value[0] != '{' {
		return []member{m}, nil
	}
	rest, err := r.object(value, n, m.place)
	if n.spread != nil {
		r.rest = append(r.rest, rest...)
		return nil, err
	}
	if err != nil || len(rest) == 0 {
		return nil, err
	}
	m.value, err = objectFrom(rest)
	return []member{m}, err
}

func joined(place, name string) string {
	if place == "" {
		return name
	}
	return place + "." + name
}

// objectFrom is the JSON of members.
func objectFrom(members []member) (object []byte, err error) {
	object = []byte{'{'}
	for i, m := range members {
		if i > 0 {
			object = append(object, ',')
		}
		if object, err = jsonb.AppendString(object, m.name); err != nil {
			return nil, err
		}
		object = append(append(object, ':'), m.value...)
	}
	return append(object, '}'), nil
}

// first is the value of a target that is not a property.
func (r *reading) first(target string) (taken, bool) {
	i := slices.IndexFunc(r.taken, func(t taken) bool { return t.use.target == target && !t.use.isProperty })
	if i < 0 {
		return taken{}, false
	}
	return r.taken[i], true
}

func (r *reading) id() uuid.UUID {
	if t, ok := r.first(targetUUID); ok {
		return r.ids(objectOf(t.value))
	}
	return uuid.Nil
}

// text is the value of a target, or its constant.
func (r *reading) text(target string) (string, error) {
	if t, ok := r.first(target); ok {
		s, err := textOf(t.value)
		if err != nil {
			return "", fmt.Errorf("%s: %w", strings.Join(t.use.path, "."), err)
		}
		return s, nil
	}
	for _, u := range r.constants {
		if u.target == target && !u.isProperty {
			return u.constant, nil
		}
	}
	return "", nil
}

// convert makes the event of a record.
func (c *converter) convert(record []byte) ([]hogapi.Event, error) {
	r := reading{converter: c}
	ev := hogapi.Event{}
	errs := []error{r.read(record)}
	put := func(field *string, target string) {
		var err error
		*field, err = r.text(target)
		errs = append(errs, err)
	}
	put(&ev.Name, targetEvent)
	put(&ev.DistinctID, targetPerson)
	put(&ev.AnonymousID, targetAnonymous)
	if t, ok := r.first(targetTime); ok {
		at, err := t.use.time(t.value, c.zone)
		if err != nil {
			err = fmt.Errorf("%s: %w", strings.Join(t.use.path, "."), err)
		}
		ev.Timestamp = at
		errs = append(errs, err)
	}
	ev.UUID = r.id()
	properties, err := r.properties()
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	ev.RawProperties = properties
	return []hogapi.Event{ev}, nil
}

// properties are what is mapped to properties, and what is not mapped.
func (r *reading) properties() ([]byte, error) {
	var set, once []member
	all := r.rest
	seen := map[string]string{} // place by property
	for _, m := range all {
		seen[m.name] = m.place
	}
	if len(seen) < len(all) {
		return nil, twice(all)
	}
	mapped := map[string]bool{}
	add := func(u *use, value []byte) error {
		name := u.target
		if mapped[name] {
			return nil // one that goes before it was not empty
		}
		mapped[name] = true
		m := member{name, strings.Join(u.path, "."), value}
		switch {
		case strings.HasPrefix(name, setPrefix):
			m.name = name[len(setPrefix):]
			set = append(set, m)
		case strings.HasPrefix(name, setOncePrefix):
			m.name = name[len(setOncePrefix):]
			once = append(once, m)
		case seen[name] != "":
			return fmt.Errorf("the property %s would come from %s and %s: drop one of them, or map it to another name", name, m.place, seen[name])
		default:
			all = append(all, m)
		}
		return nil
	}
	var errs []error
	for _, t := range r.taken {
		if !t.use.isProperty {
			continue
		}
		value, err := t.use.property(t.value)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", strings.Join(t.use.path, "."), err))
			continue
		}
		errs = append(errs, add(t.use, value))
	}
	for _, u := range r.constants {
		if u.isProperty {
			value, err := jsonb.AppendString(nil, u.constant)
			errs = append(errs, err, add(u, value))
		}
	}
	for name, members := range map[string][]member{"$set": set, "$set_once": once} {
		if len(members) == 0 {
			continue
		}
		if seen[name] != "" {
			errs = append(errs, fmt.Errorf("%s comes from --map and from %s: drop one of them", name, seen[name]))
		}
		value, err := objectFrom(members)
		errs = append(errs, err)
		all = append(all, member{name, "--map", value})
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return objectFrom(all)
}

// twice names a property that comes from two places.
func twice(all []member) error {
	places := map[string]string{}
	for _, m := range all {
		if place := places[m.name]; place != "" {
			return fmt.Errorf("the property %s would come from %s and %s: drop one of them, or map it to another name", m.name, place, m.place)
		}
		places[m.name] = m.place
	}
	return nil
}

// property is a value as a property.
func (u *use) property(value []byte) ([]byte, error) {
	switch u.conversion { //nolint:exhaustive // others are for times
	case asJSON:
		return u.json(value)
	case asNumber:
		s, err := textOf(value)
		if err == nil && (!json.Valid([]byte(s)) || s[0] != '-' && (s[0] < '0' || s[0] > '9')) {
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
