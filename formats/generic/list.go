package generic

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// A record with a list becomes that many events, of that many bytes of properties, at most.
const (
	maxElements = 50_000
	maxBytes    = 64 << 20
)

// elements returns the elements of the list of a record. It returns nil if the list is absent.
func (r *reading) elements() (elements [][]byte, err error) {
	if r.list == nil {
		return nil, nil
	}
	m := r.list
	value := m.value
	if r.converter.list.conversion == asJSON {
		if value, err = textAsJSON(value); err != nil {
			return nil, fmt.Errorf("%s: %w", m.from, err)
		}
	}
	if value[0] != '[' {
		return nil, fmt.Errorf("%s: want a list, not %s", m.from, shown(value))
	}
	err = jsonb.Array(value, func(element []byte) {
		if len(elements) <= maxElements {
			elements = append(elements, element)
		}
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", m.from, err)
	case len(elements) > maxElements:
		return nil, fmt.Errorf("%s: want at most %d elements: divide the record", m.from, maxElements)
	}
	return elements, nil
}

// element returns the record with an element in the place of the list.
func (r *reading) element(number int, value []byte) (*reading, error) {
	one := &reading{converter: r.converter, values: slices.Clone(r.values), rest: slices.Clone(r.rest), number: number, inList: true}
	path := r.converter.list.path
	rest, err := one.take(member{path[len(path)-1], r.list.from, value}, r.converter.listNode)
	one.rest = append(one.rest, rest...)
	return one, err
}

// events returns the events of all elements, or an error.
func (r *reading) events() ([]hogapi.Event, error) {
	whole := r.skip() // of all elements
	if _, isSkip := errors.AsType[*event.SkipError](whole); whole != nil && !isSkip {
		return nil, whole
	}
	elements, err := r.elements()
	switch {
	case whole != nil && (err != nil || len(elements) < 2):
		return nil, whole
	case err != nil:
		return nil, err
	}
	if len(elements) == 0 {
		return nil, history.Skip("no element in the list " + r.converter.list.from())
	}
	var events []hogapi.Event
	size := 0
	for i, value := range elements {
		var ev hogapi.Event
		one, err := r.element(i, value)
		switch {
		case whole != nil:
			err = whole
		case err == nil:
			ev, err = one.event()
		}
		if skip, isSkip := errors.AsType[*event.SkipError](err); isSkip {
			ev, err = event.Skip(hogapi.Position{}, skip.Reason), nil // which keeps the numbers of the others
		}
		if err != nil {
			return nil, fmt.Errorf("element %d of %s: %w", i+1, r.list.from, err)
		}
		if size += len(ev.RawProperties); size > maxBytes {
			return nil, fmt.Errorf("%s: want at most %d MiB of properties in the events of one record: divide it, or drop columns", r.list.from, maxBytes>>20)
		}
		events = append(events, ev)
	}
	return events, nil
}

// id returns the uuid of a record or an element that has an id. The elements of a record that has one id for all of
// them have uuids of it and of their numbers, and the first one has that of the id.
func (r *reading) id() uuid.UUID {
	u, s, err := r.text(targetUUID)
	if err != nil || s == "" {
		return uuid.Nil
	}
	const canonical = 36 // bytes; in 32 it can be any digest
	id, err := uuid.Parse(s)
	if err != nil || len(s) != canonical {
		id = record.Derived(r.space, s)
	}
	if r.number > 0 && !u.inList {
		id = record.Derived(id, strconv.Itoa(r.number))
	}
	return id
}

// idOf returns the uuid of a record that has an id: that of its first event.
func (c *converter) idOf(raw []byte) uuid.UUID {
	r, _ := c.read(raw) // another fault of it does not change its id
	if c.list == nil {
		return r.id()
	}
	elements, err := r.elements()
	if err != nil || len(elements) == 0 || record.IsNone(elements[0]) {
		return r.id()
	}
	first, _ := r.element(0, elements[0])
	return first.id()
}
