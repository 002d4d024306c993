package ga4

import (
	"cmp"
	"fmt"

	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// isNothing reports whether a value of a column says nothing.
func isNothing(raw []byte) bool { return record.IsNone(raw) || string(raw) == `"(not set)"` }

// columns makes properties of columns. Members without a property of their own stay in one that is
// named as its column. One goroutine at a time may use it.
type columns struct {
	noted       *record.Noted
	out         *record.Object
	left, inner record.Object // the members that stay: of a column, of an object in it
	to          *record.Object
	targets     targets
	device      device
	fields      record.Fields // of device, bound once
	visit       jsonb.Visitor // bound once
	fault       error
	clean       cleaner
}

func (c *columns) bind(noted *record.Noted, out *record.Object) {
	c.noted = noted
	c.out, c.visit, c.fields = out, c.member, c.device.fields()
	c.clean.bind()
}

// read adds all columns of a row but the params and the ones about the person.
func (c *columns) read(r *row) error {
	if items := c.clean.items(r.items); items != nil {
		c.out.Keep(prefix, "items", items)
	}
	for _, column := range r.Rest {
		if t := columnTargets[string(column.Name)]; t != nil && record.IsObject(column.Value) {
			if err := c.object(string(column.Name), t, column.Value); err != nil {
				return fmt.Errorf("%s: %w", column.Name, err)
			}
		} else {
			c.keepAs(string(column.Name), column.Value)
		}
	}
	return nil
}

// keepAs adds a column under its own name.
func (c *columns) keepAs(name string, raw []byte) {
	if value := c.clean.value(name, raw); value != nil {
		c.out.Keep(prefix, name, value)
	}
}

func (c *columns) object(name string, t targets, raw []byte) error {
	c.left.Begin()
	c.inner.Begin()
	c.targets, c.to = t, &c.left
	c.device, c.fault = device{}, nil
	if err := c.noted.Object(raw, c.visit); err != nil || c.fault != nil {
		return cmp.Or(err, c.fault)
	}
	if name == "device" {
		c.addDevice()
	}
	if c.inner.Len() > 0 {
		c.left.Add("web_info", c.inner.Raw())
	}
	if c.left.Len() > 0 {
		c.out.Keep(prefix, name, c.left.Raw())
	}
	return nil
}

// member adds a member of a column, or of the object web_info in one.
func (c *columns) member(key, value []byte) {
	if isNothing(value) {
		return
	}
	name := string(key)
	row, isKnown := c.targets[name]
	switch {
	case name == "web_info" && c.to == &c.left && record.IsObject(value):
		outer := c.targets
		c.targets, c.to = webTargets, &c.inner
		if err := jsonb.Object(value, c.visit); err != nil {
			c.fault = err
		}
		c.targets, c.to = outer, &c.left
	case isKnown && row.Kind == record.Code:
		if c.to == &c.inner {
			name = "web_info." + name
		}
		c.fields.Take([]byte(name), value)
	case isKnown && (row.To[0] == '$' || isReal(value)):
		c.add(row.To, name, value)
		if row.To == "$geoip_country_name" {
			c.out.AddGiven("$geoip_country_code", record.CountryCode(record.Text(value)))
		}
	default:
		c.keep(name, value)
	}
}

// add adds a property; where it is there with another value, the member stays where it was.
func (c *columns) add(target, name string, value []byte) {
	if !c.out.Add(target, value) && !c.out.Has(target, value) {
		c.keep(name, value)
	}
}

func (c *columns) keep(name string, value []byte) {
	if value = c.clean.value(name, value); value != nil {
		c.to.Add(name, value)
	}
}
