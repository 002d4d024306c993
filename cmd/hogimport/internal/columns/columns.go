// Package columns is the little language in which users say what the columns of a table, or the members of JSON objects,
// are:
//
//	time=properties.time|unix    the time is in properties.time, in seconds since 1970
//	person=user_id               the person is in user_id
//	person=device_id             and where that is empty, in device_id
//	event=const:purchase         all events have one name
//	uuid=id                      the id, so that an event is one event wherever it is
//	$set.plan=account.plan       a person property
//	amount=total|number          a property of another name, and a number
//	*=properties                 all members of properties become properties
//	drop=internal.debug          left out
//
// What is not mapped stays a property of its own name.
package columns

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// Targets that are not names of properties.
const (
	targetEvent     = "event"
	targetPerson    = "person"
	targetAnonymous = "anonymous"
	targetTime      = "time"
	targetUUID      = "uuid"
	targetDrop      = "drop"
	targetAll       = "*"
)

// aliases are other names of targets, and the columns that are taken for them where no mapping says otherwise.
var aliases = map[string]string{
	targetEvent: targetEvent, targetUUID: targetUUID,
	"distinct_id": targetPerson, "timestamp": targetTime, "anonymous_id": targetAnonymous,
}

// Options set up a format.
type Options struct {
	Name   string         // of the format
	Layout hogapi.Layout  // how records are divided
	Zone   *time.Location // of times without an offset; nil: they are refused
}

// Format is the format of mappings. An error is a *Error.
func Format(mappings []string, o Options) (hogapi.Format, error) {
	c := &converter{zone: o.Zone, ids: generic.Format(&generic.Options{Name: o.Name}).ID}
	var text []string
	for _, mapping := range mappings {
		u, err := parse(mapping)
		if err != nil {
			return hogapi.Format{}, err
		}
		if u.conversion == asLayout && o.Zone == nil && !hasOffset(u.layout) {
			at := strings.LastIndex(mapping, u.layout)
			return hogapi.Format{}, &Error{mapping, columnAt(mapping, at), "times of this layout have no offset: give --zone, such as UTC"}
		}
		if err := c.add(u); err != nil {
			return hogapi.Format{}, err
		}
		text = append(text, mapping)
	}
	c.addDefaults()
	zone := "none"
	if o.Zone != nil {
		zone = o.Zone.String()
	}
	f := hogapi.Format{
		Name: o.Name, Options: strings.Join(append(text, "zone "+zone), ", "), Layout: o.Layout, CheckColumns: c.check, Convert: c.convert, ID: c.id,
	}
	return f, nil
}

// use is one mapping.
type use struct {
	text       string // as it was given
	order      int    // of several for one target, the first that is not empty counts
	target     string
	isProperty bool // the target is the name of a property
	path       []string
	constant   string
	isConstant bool
	conversion conversion
	layout     string // of asLayout
}

// node is a place in a record.
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

// converter makes events of records. It is not changed once it is made.
type converter struct {
	root      node
	uses      []*use
	constants []*use
	zone      *time.Location
	ids       func(record []byte) uuid.UUID // of a record {"uuid":…}, as package generic makes it
}

func (c *converter) add(u *use) error {
	u.order = len(c.uses)
	c.uses = append(c.uses, u)
	if u.isConstant {
		c.constants = append(c.constants, u)
		return nil
	}
	n := &c.root
	for _, name := range u.path {
		n = n.child(name)
	}
	isDropped := n.isDrop || u.target == targetDrop && !u.isProperty && len(n.uses) > 0
	switch {
	case isDropped:
		return &Error{u.text, 1, "this is dropped and used: leave one of the two out"}
	case u.isProperty:
		n.uses = append(n.uses, u)
	case u.target == targetDrop:
		n.isDrop = true
	case u.target == targetAll:
		n.spread = u
	default:
		n.uses = append(n.uses, u)
	}
	return nil
}

// addDefaults takes columns of the usual names for what no mapping is for.
func (c *converter) addDefaults() {
	for name, target := range aliases {
		isMapped := slices.ContainsFunc(c.uses, func(u *use) bool { return u.target == target && !u.isProperty })
		if !isMapped && c.root.members[name] == nil {
			c.root.child(name).uses = []*use{{text: target + "=" + name, order: len(c.uses), target: target, path: []string{name}}}
		}
	}
}

// check refuses the columns of a table that is another one.
func (c *converter) check(columns []string) error {
	for _, u := range c.uses {
		if !u.isConstant && u.target != targetDrop && !slices.Contains(columns, u.path[0]) {
			return fmt.Errorf("the table has no column %q, which --map '%s' names: it has %s", u.path[0], u.text, list(columns))
		}
	}
	for _, target := range []string{targetEvent, targetPerson, targetTime} {
		if !c.has(target, columns) {
			return fmt.Errorf("nothing says which column is the %s: add --map '%s=COLUMN'; the table has %s", target, target, list(columns))
		}
	}
	return nil
}

// has reports whether a mapping, or a column of a usual name, is for a target.
func (c *converter) has(target string, columns []string) bool {
	if slices.ContainsFunc(c.uses, func(u *use) bool { return u.target == target && !u.isProperty }) {
		return true
	}
	return slices.ContainsFunc(columns, func(name string) bool { return aliases[name] == target })
}

// list names columns, the first of many.
func list(columns []string) string {
	const most = 20
	shown := strings.Join(columns[:min(len(columns), most)], ", ")
	if len(columns) > most {
		shown += ", …"
	}
	return shown
}

// id is the uuid of a record that has an id.
func (c *converter) id(record []byte) uuid.UUID {
	r := reading{converter: c}
	if r.read(record) != nil {
		return uuid.Nil
	}
	return r.id()
}

// objectOf is {"uuid":value}.
func objectOf(value []byte) []byte {
	return append(append([]byte(`{"`+generic.UUID+`":`), value...), '}')
}

// isEmpty reports whether a value says nothing.
func isEmpty(value []byte) bool {
	return len(value) == 0 || string(value) == "null" || string(value) == `""`
}

// textOf is a text, or a number as its digits.
func textOf(value []byte) (string, error) {
	switch first := value[0]; {
	case first == '"':
		return jsonb.Unquote(value)
	case first == '-' || '0' <= first && first <= '9':
		return string(value), nil
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
