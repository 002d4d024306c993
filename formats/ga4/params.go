package ga4

import (
	"errors"

	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// isReal reports whether a value is a text, and not one of Google's for no value, such as (not
// set).
func isReal(raw []byte) bool { return record.IsText(raw) && len(raw) > 2 && raw[1] != '(' }

// params reads arrays of keys and values. One goroutine at a time may use it.
type params struct {
	param, value jsonb.Visitor    // bound once
	element      func(raw []byte) // the same
	use          func(string, []byte)
	key, chosen  []byte
	hasKey       bool
	fault        error
}

var errParam = errors.New("want an array of objects, each with a text key and an object value")

func (p *params) bind() { p.param, p.value, p.element = p.visitParam, p.visitValue, p.visitElement }

// read gives the keys and values of an array of a row that was read, which may be absent: a text or a number each, or
// null.
func (p *params) read(raw []byte, use func(key string, value []byte)) error {
	if record.IsNone(raw) {
		return nil
	}
	if raw[0] != '[' {
		return errParam
	}
	p.use, p.fault = use, nil
	jsonb.Elements(raw[1:len(raw)-1], p.element)
	return p.fault
}

func (p *params) visitElement(raw []byte) {
	p.key, p.chosen, p.hasKey = nil, nil, false
	if within, err := jsonb.ObjectWithin(raw, p.param, "value", p.value); err != nil || within != nil || !p.hasKey {
		p.fault = errParam
		return
	}
	if p.chosen == nil {
		p.chosen = []byte("null")
	}
	p.use(record.Text(p.key), p.chosen)
}

func (p *params) visitParam(key, value []byte) {
	switch string(key) {
	case "key":
		p.key, p.hasKey = value, record.IsText(value)
	case "value":
		if !record.IsObject(value) && string(value) != "null" {
			p.fault = errParam
		}
	}
}

// visitValue takes the first value that is not null: only one is.
func (p *params) visitValue(key, value []byte) {
	if p.chosen != nil || string(value) == "null" {
		return
	}
	switch string(key) {
	case "string_value", "int_value", "float_value", "double_value":
		if value[0] == '{' || value[0] == '[' {
			p.fault = errParam
			return
		}
	}
	switch string(key) {
	case "string_value":
		p.chosen = record.Canonical(value)
	case "int_value", "float_value", "double_value":
		p.chosen = record.Number(value)
	}
}
