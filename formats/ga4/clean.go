package ga4

import (
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// numbers are the members that are numbers in BigQuery, and texts in some of its JSON.
var numbers = map[string]bool{
	"event_value_in_usd": true, "user_first_touch_timestamp": true, "time_zone_offset_seconds": true,
	"total_item_quantity": true, "unique_items": true, "purchase_revenue": true, "purchase_revenue_in_usd": true,
	"refund_value": true, "refund_value_in_usd": true, "shipping_value": true, "shipping_value_in_usd": true,
	"tax_value": true, "tax_value_in_usd": true, "revenue": true,
	"price": true, "price_in_usd": true, "quantity": true, "item_revenue": true, "item_revenue_in_usd": true,
	"item_refund": true, "item_refund_in_usd": true,
}

// cleaner makes the same values of all forms of a row: without nulls and empty objects, and with
// numbers that are numbers. One goroutine at a time may use it.
type cleaner struct {
	params params
	object record.Object // of the params of an item
	out    []byte
}

func (c *cleaner) bind() { c.params.bind() }

// value is a cleaned value, or nil where nothing is left of it. It is valid until the next call.
func (c *cleaner) value(name string, raw []byte) []byte {
	if len(raw) == 0 {
		return nil
	}
	switch {
	case isNothing(raw):
		return nil
	case raw[0] != '{' && raw[0] != '[':
		return scalar(name, raw)
	}
	c.out = c.append(c.out[:0], name, raw)
	if len(c.out) == 0 {
		return nil
	}
	return c.out
}

// items is the cleaned array of the items of a sale, with their item_params as objects, or nil.
func (c *cleaner) items(raw []byte) []byte {
	if record.IsNone(raw) {
		return nil
	}
	if raw[0] != '[' {
		return raw
	}
	return c.value("items", raw)
}

func scalar(name string, raw []byte) []byte {
	switch {
	case numbers[name]:
		return record.Number(raw)
	case name == "is_active_user" && (string(raw) == `"true"` || string(raw) == `"false"`):
		return raw[1 : len(raw)-1]
	}
	return raw
}

func (c *cleaner) append(dst []byte, name string, raw []byte) []byte {
	start := len(dst)
	switch {
	case isNothing(raw):
		return dst
	case raw[0] == '{':
		dst = append(dst, '{')
		err := jsonb.Object(raw, func(key, value []byte) {
			if string(key) == "item_params" && value[0] == '[' {
				dst = c.itemParams(dst, value)
				return
			}
			before := len(dst)
			dst = begin(dst, '{')
			dst, _ = jsonb.AppendString(dst, string(key))
			dst = append(dst, ':')
			from := len(dst)
			if dst = c.append(dst, string(key), value); len(dst) == from {
				dst = dst[:before]
			}
		})
		if err != nil { // a key that is there twice: as it is
			return append(dst[:start], raw...)
		}
		return end(dst, start, '}')
	case raw[0] == '[':
		dst = append(dst, '[')
		_ = jsonb.Array(raw, func(element []byte) {
			before := len(dst)
			dst = begin(dst, '[')
			from := len(dst)
			if dst = c.append(dst, name, element); len(dst) == from {
				dst = dst[:before]
			}
		})
		return end(dst, start, ']')
	}
	return append(dst, scalar(name, raw)...)
}

// itemParams appends the params of an item as one object.
func (c *cleaner) itemParams(dst []byte, raw []byte) []byte {
	c.object.Begin()
	err := c.params.read(raw, func(key string, value []byte) {
		if string(value) != "null" {
			c.object.Keep(prefix, key, value)
		}
	})
	if err == nil && c.object.Len() == 0 {
		return dst
	}
	dst = append(begin(dst, '{'), `"item_params":`...)
	if err != nil { // not params: as they are
		return append(dst, raw...)
	}
	return append(dst, c.object.Raw()...)
}

// begin appends the comma before a further element.
func begin(dst []byte, bracket byte) []byte {
	if dst[len(dst)-1] != bracket {
		dst = append(dst, ',')
	}
	return dst
}

// end closes an array or an object, or takes it away where it is empty.
func end(dst []byte, start int, bracket byte) []byte {
	if len(dst) == start+1 {
		return dst[:start]
	}
	return append(dst, bracket)
}
