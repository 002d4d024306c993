package record

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/engine"
	"github.com/hogapi/hogapi/internal/inside"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// Converter makes events of records. One goroutine at a time uses it.
type Converter interface {
	Read(raw []byte) error
	Events() ([]hogapi.Event, error) // of the record that was read
	ID(isWhole bool) uuid.UUID       // of that record; Read has failed if it is not whole
	Begin()                          // forgets the record
}

// Format is the format of a vendor. It uses each converter for many records. With a fault of the
// options it refuses every record. The version of the mapping is among the options.
func Format[C Converter](name string, mapping int, options string, fault error, newConverter func() C) history.Format {
	f := AsIs(name, engine.WithMapping(options, mapping), cmp.Or(fault, CheckMapping(mapping)), newConverter)
	f.KeepNulls = KeepNulls(mapping)
	return f
}

// Mapping returns the version of the mapping that an option asks for.
func Mapping(asked int) int { return cmp.Or(asked, formats.MappingVersion) }

// CheckMapping refuses a version that this release does not have.
func CheckMapping(mapping int) error {
	if mapping < formats.OldestMapping || mapping > formats.MappingVersion {
		return fmt.Errorf("Mapping: want a version from %d to %d, not %d", formats.OldestMapping, formats.MappingVersion, mapping)
	}
	return nil
}

// KeepNulls reports whether the words for NULL in tables are texts in a version.
func KeepNulls(mapping int) bool { return mapping < 4 }

// AsIs is Format for records that need no mapping to be PostHog's.
func AsIs[C Converter](name, options string, fault error, newConverter func() C) history.Format {
	if fault != nil {
		fault = fmt.Errorf("%s: options: %w", name, fault)
	}
	pool := sync.Pool{New: func() any { return newConverter() }}
	free := func(c C) {
		c.Begin() // it holds no part of the record
		pool.Put(c)
	}
	return history.Format{
		Name: name, Options: options, Layout: history.LayoutJSON,
		Convert: func(raw []byte) ([]hogapi.Event, error) {
			if fault != nil {
				return nil, fault
			}
			c, _ := pool.Get().(C)
			defer free(c)
			if n, notes := any(c).(noting); notes {
				return n.noted().convert(c, raw)
			}
			if err := c.Read(raw); err != nil {
				return nil, err
			}
			return c.Events()
		},
		ID: func(raw []byte) uuid.UUID {
			c, _ := pool.Get().(C)
			defer free(c)
			return c.ID(c.Read(raw) == nil)
		},
	}
}

// Noted is a part of converters that note where the members of a record and of its properties are, for those who look at both
// later.
type Noted struct{ parts *inside.Parts } // nil: nobody asks

type noting interface{ noted() *Noted }

func (n *Noted) noted() *Noted { return n }

func (n *Noted) convert(c Converter, raw []byte) (events []hogapi.Event, err error) {
	n.parts = inside.NewParts()
	defer func() {
		if n.parts != nil {
			n.parts.Free()
			n.parts = nil
		}
	}()
	if err := c.Read(raw); err != nil {
		return nil, err
	}
	if events, err = c.Events(); err == nil && len(events) > 0 {
		events[0].Inside(inside.Key{}).Parts, n.parts = n.parts, nil
	}
	return events, err
}

// ReadObject is jsonb.ObjectWithin for the record.
func (n *Noted) ReadObject(raw []byte, visit jsonb.Visitor, key string, inner jsonb.Visitor) (within, err error) {
	if n.parts == nil {
		return jsonb.ObjectWithin(raw, visit, key, inner)
	}
	return jsonb.ObjectInto(&n.parts.Record, raw, visit, key, inner)
}

// Object is jsonb.Object for an object in the record.
func (n *Noted) Object(raw []byte, visit jsonb.Visitor) error {
	if n.parts != nil && n.parts.Record.Within(raw, visit) {
		return nil
	}
	return jsonb.Object(raw, visit)
}

// JSON is a copy of the properties of the first event.
func (n *Noted) JSON(o *Object) []byte {
	raw := o.JSON()
	if n.parts != nil {
		o.note(&n.parts.Properties, raw)
	}
	return raw
}

// Finish is Properties.Finish for the first event.
func (n *Noted) Finish(p *Properties, vendor string) []byte {
	raw := p.Finish(vendor)
	if n.parts != nil {
		p.note(&n.parts.Properties, raw)
		for _, place := range p.placed {
			n.parts.Properties.Add(place.key, place.colon, place.colon+1, place.end, false)
		}
	}
	return raw
}

// Options returns the options of the caller, or the zero value for nil.
func Options[T any](given *T) (o T) {
	if given != nil {
		o = *given
	}
	return o
}

// Flag is the name of an option that is on, or "".
func Flag(name string, isOn bool) string {
	if isOn {
		return name
	}
	return ""
}

// PersonText names a policy other than PersonSetOnce among the options of a format.
func PersonText(policy formats.PersonProperties) string {
	return Flag("person="+string(policy), policy != formats.PersonSetOnce)
}

// OptionsText joins the parts that are not empty.
func OptionsText(separator string, parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), separator)
}

// Fields are the variables for the members of a record that a converter knows, by their names. The
// raw value of a member is a part of the record. A nil variable drops the member.
type Fields map[string]*[]byte

// Take notes a member, and reports whether it is known.
func (f Fields) Take(key, value []byte) (isKnown bool) {
	to, isKnown := f[string(key)]
	if to != nil {
		*to = value
	}
	return isKnown
}

// Drop has the members of some names left out.
func (f Fields) Drop(names ...string) Fields {
	for _, name := range names {
		f[name] = nil
	}
	return f
}

// Reader notes the members of a record: the known ones in Fields, the others in Rest, in their
// order.
type Reader struct {
	Fields Fields // set before the first Begin
	Rest   []Member

	values []*[]byte // of Fields
}

// Member is a member of an object. Both parts are valid as long as the record is.
type Member struct{ Name, Value []byte }

// Begin forgets the record before.
func (r *Reader) Begin() {
	if r.values == nil {
		r.values = slices.DeleteFunc(slices.Collect(maps.Values(r.Fields)), func(to *[]byte) bool { return to == nil })
	}
	for _, to := range r.values {
		*to = nil
	}
	clear(r.Rest)
	r.Rest = r.Rest[:0]
}

// Visit notes a member.
func (r *Reader) Visit(key, value []byte) {
	if !r.Fields.Take(key, value) {
		r.Rest = append(r.Rest, Member{key, value})
	}
}

// Get is the value of a member in Rest, or nil.
func (r *Reader) Get(name string) []byte {
	for _, m := range r.Rest {
		if string(m.Name) == name {
			return m.Value
		}
	}
	return nil
}

// Identify sets the person of an event: the user, or else the visitor, who is the anonymous id
// where the record has both. A user without a visitor is one of the UserIDs, so that it is known for no visitor. Identify reports
// whether the record has one of both.
func Identify(ev *hogapi.Event, userField string, userRaw []byte, visitorField string, visitorRaw []byte) (hasID bool, err error) {
	user, err := ID(userField, userRaw)
	if err != nil {
		return false, err
	}
	visitor, err := ID(visitorField, visitorRaw)
	switch {
	case err != nil:
		return false, err
	case user == "":
		ev.DistinctID = visitor
	default:
		ev.DistinctID = user
		if visitor != user {
			ev.AnonymousID = visitor
		}
		if visitor == "" {
			ev.UserIDs = []string{user}
		}
	}
	return ev.DistinctID != "", nil
}
