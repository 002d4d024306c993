package snowplow

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// selfDescribing is JSON with the schema of it.
type selfDescribing struct {
	name string // of the schema
	data []byte
}

var errDescribed = errors.New(`want self-describing JSON, with the members "schema" and "data"`)

// nameOf is the name in a schema such as iglu:com.snowplowanalytics.snowplow/link_click/jsonschema/1-0-1.
func nameOf(schema string) string {
	_, rest, _ := strings.Cut(strings.TrimPrefix(schema, "iglu:"), "/")
	name, _, _ := strings.Cut(rest, "/")
	return name
}

// readDescribed reads self-describing JSON. Its name is the one of the schema.
func readDescribed(raw []byte) (d selfDescribing, err error) {
	hasSchema := false
	err = jsonb.Object(raw, func(key, value []byte) {
		switch string(key) {
		case "schema":
			hasSchema = record.IsText(value) && len(value) > len(`""`)
			d.name = nameOf(record.Text(value))
		case "data":
			d.data = value
		}
	})
	if err != nil || !hasSchema || d.data == nil {
		return d, errDescribed
	}
	return d, nil
}

func readUnstruct(raw []byte) (selfDescribing, error) {
	outer, err := readDescribed(record.Inner(raw))
	if err != nil {
		return selfDescribing{}, fmt.Errorf("unstruct_event: %w", err)
	}
	inner, err := readDescribed(outer.data)
	if err != nil {
		return selfDescribing{}, fmt.Errorf("unstruct_event: data: %w", err)
	}
	return inner, nil
}

// contexts are the facts that trackers and enrichments add to an event.
type contexts struct {
	all []selfDescribing
	out record.Object
}

// read reads columns with lists of contexts.
func (c *contexts) read(columns ...[]byte) error {
	clear(c.all)
	c.all = c.all[:0]
	for _, raw := range columns {
		if record.IsNone(raw) {
			continue
		}
		outer, err := readDescribed(record.Inner(raw))
		if err != nil || outer.data[0] != '[' {
			return fmt.Errorf("contexts: %w", errDescribed)
		}
		var fault error
		err = jsonb.Array(outer.data, func(one []byte) {
			d, err := readDescribed(one)
			fault = cmp.Or(fault, err)
			c.all = append(c.all, d)
		})
		if err = cmp.Or(err, fault); err != nil {
			return fmt.Errorf("contexts: data: %w", err)
		}
	}
	return nil
}

// members is an object, as raw JSON.
type members []byte

// get is the raw value of a member, or nil.
func (m members) get(name string) (found []byte) {
	_ = jsonb.Object(m, func(key, value []byte) { // valid: it was read
		if string(key) == name {
			found = value
		}
	})
	return found
}

func (m members) text(name string) string { return record.Text(m.get(name)) }

// of returns the members of the first context of a name.
func (c *contexts) of(name string) (m members, isThere bool) {
	for _, one := range c.all {
		if one.name == name {
			return one.data, record.IsObject(one.data)
		}
	}
	return nil, false
}

// addTo adds all contexts as one property: the data of each by the name of its schema, or a list where there are
// several.
func (c *contexts) addTo(out *record.Object) {
	if len(c.all) == 0 {
		return
	}
	found := &c.out
	found.Begin()
	for i, one := range c.all {
		if found.Get(one.name) != nil {
			continue
		}
		isOne := func(other selfDescribing) bool { return other.name == one.name }
		if !slices.ContainsFunc(c.all[i+1:], isOne) {
			found.Add(one.name, one.data)
			continue
		}
		list := []byte{'['}
		n := 0
		for _, other := range c.all[i:] {
			if other.name == one.name {
				if n++; n > 1 {
					list = append(list, ',')
				}
				list = append(list, other.data...)
			}
		}
		found.Add(one.name, append(list, ']'))
	}
	out.Keep("", "snowplow_contexts", found.Raw())
}
