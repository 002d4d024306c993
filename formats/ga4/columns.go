package ga4

import (
	"cmp"
	"fmt"

	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// columnNames are the properties that members of the columns become.
var columnNames = map[string]map[string]string{
	"device": {
		"category": "$device_type", "mobile_brand_name": "$device_manufacturer", "mobile_model_name": "$device_model",
		"mobile_marketing_name": "$device_name", "operating_system": "$os", "operating_system_version": "$os_version",
		"language": "$browser_language", "browser": "$browser", "browser_version": "$browser_version",
	},
	"geo": {
		"city": "$geoip_city_name", "country": "$geoip_country_name", "continent": "$geoip_continent_name",
		"region": "$geoip_subdivision_1_name",
	},
	"event_dimensions": {"hostname": "$host"},
	"app_info":         {"id": "$app_namespace", "version": "$app_version"},
	"collected_traffic_source": {
		"manual_source": "utm_source", "manual_medium": "utm_medium", "manual_campaign_name": "utm_campaign",
		"manual_term": "utm_term", "manual_content": "utm_content", "gclid": "gclid", "dclid": "dclid",
	},
}

// webNames are the names of the object web_info in the column device.
var webNames = map[string]string{"browser": "$browser", "browser_version": "$browser_version", "hostname": "$host"}

// isNothing reports whether a value of a column says nothing.
func isNothing(raw []byte) bool { return record.IsNone(raw) || string(raw) == `"(not set)"` }

// columns makes properties of columns. Members without a property of their own stay in one that is
// named as its column. One goroutine at a time may use it.
type columns struct {
	out         *record.Object
	left, inner record.Object // the members that stay: of a column, of an object in it
	to          *record.Object
	names       map[string]string
	visit       jsonb.Visitor // bound once
	fault       error
	clean       cleaner
}

func (c *columns) bind(out *record.Object) {
	c.out, c.visit = out, c.member
	c.clean.bind()
}

// read adds all columns of a row but the params and the ones about the person.
func (c *columns) read(r *row) error {
	if items := c.clean.items(r.items); items != nil {
		c.out.Keep(prefix, "items", items)
	}
	for _, column := range r.Rest {
		if names := columnNames[string(column.Name)]; names != nil && record.IsObject(column.Value) {
			if err := c.object(string(column.Name), names, column.Value); err != nil {
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

func (c *columns) object(name string, names map[string]string, raw []byte) error {
	c.left.Begin()
	c.names, c.to = names, &c.left
	c.fault = nil
	if err := jsonb.Object(raw, c.visit); err != nil || c.fault != nil {
		return cmp.Or(err, c.fault)
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
	target := c.names[name]
	switch {
	case name == "web_info" && c.to == &c.left && record.IsObject(value):
		c.web(value)
	case target == "$device_type":
		if device := deviceTypes[record.Text(value)]; device != "" {
			value = []byte(device)
		}
		c.add(target, name, value)
	case target != "" && (target[0] == '$' || isReal(value)):
		c.add(target, name, value)
	default:
		c.keep(name, value)
	}
}

var deviceTypes = map[string]string{"desktop": `"Desktop"`, "mobile": `"Mobile"`, "tablet": `"Tablet"`}

func (c *columns) web(raw []byte) {
	outer := c.names
	c.inner.Begin()
	c.names, c.to = webNames, &c.inner
	if err := jsonb.Object(raw, c.visit); err != nil {
		c.fault = err
	}
	c.names, c.to = outer, &c.left
	if c.inner.Len() > 0 {
		c.left.Add("web_info", c.inner.Raw())
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
