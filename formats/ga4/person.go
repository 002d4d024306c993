package ga4

import (
	"fmt"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// person gathers the properties of the visitor.
type person struct {
	initial, user, both record.Object
}

func (p *person) begin() {
	p.initial.Begin()
	p.user.Begin()
}

// first adds a property of the first visit.
func (p *person) first(key string, raw []byte) {
	if !isReal(raw) {
		return
	}
	p.initial.Add(key, raw)
	if host := record.Host(raw); key == "$initial_referrer" && host != "" {
		p.initial.AddText("$initial_referring_domain", host)
	}
}

// source adds where the visitor first came from.
func (p *person) source(raw []byte, c *columns) error {
	if !record.IsObject(raw) {
		return nil
	}
	c.left.Begin()
	err := c.noted.Object(raw, func(key, value []byte) {
		if row, isKnown := sourceTargets[string(key)]; isKnown && isReal(value) {
			p.initial.Add(row.To, value)
		} else if !isNothing(value) {
			c.left.Add(string(key), value)
		}
	})
	if c.left.Len() > 0 {
		c.out.Keep(prefix, "traffic_source", c.left.Raw())
	}
	return err
}

// properties adds the user properties, without the two by which Google counts sessions.
func (p *person) properties(read *params, raw []byte) error {
	err := read.read(raw, func(key string, value []byte) {
		if userTargets[key].Kind != record.Dropped && string(value) != "null" {
			p.user.Keep(prefix, key, value)
		}
	})
	if err != nil {
		return fmt.Errorf("user_properties: %w", err)
	}
	return nil
}

// add adds the visitor's properties to the event.
func (p *person) add(out *record.Object, as formats.PersonProperties) {
	if as == formats.PersonNone {
		return
	}
	once := &p.initial
	if as == formats.PersonSet {
		if p.user.Len() > 0 {
			out.Keep(prefix, "$set", p.user.Raw())
		}
	} else if p.user.Len() > 0 {
		once = &p.both
		once.Begin()
		for _, raw := range [][]byte{p.initial.Raw(), p.user.Raw()} {
			_ = jsonb.Object(raw, func(key, value []byte) { once.Keep(prefix, string(key), value) }) // valid: it was made here
		}
	}
	if once.Len() > 0 {
		out.Keep(prefix, "$set_once", once.Raw())
	}
}
