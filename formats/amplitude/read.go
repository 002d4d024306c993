package amplitude

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// converter makes events of rows. One goroutine at a time uses it. Its raw values are parts of the
// row.
type converter struct {
	record.Noted

	options   Options
	visit     jsonb.Visitor // of the row, bound once
	visitOwn  jsonb.Visitor // of its event_properties, bound once
	visitUser jsonb.Visitor // of its user_properties, bound once

	row, own *record.Values  // the fields of the row, and of its event_properties
	alias    []byte          // of event_properties
	campaign []record.Member // of user_properties
	referrer []byte          // of user_properties
	props    record.Properties
}

func newConverter(o Options) *converter {
	s := &converter{options: o, row: table.Within("").Values(), own: table.Within("event_properties").Values()}
	s.visit, s.visitOwn, s.visitUser = s.field, s.property, s.userProperty
	return s
}

// Begin forgets the row before.
func (s *converter) Begin() {
	s.row.Begin()
	s.own.Begin()
	s.alias, s.referrer, s.campaign = nil, nil, s.campaign[:0]
	s.props.Begin()
}

// Read reads a row. It adds the members that keep their names to props.
func (s *converter) Read(raw []byte) error {
	twice, err := s.ReadObject(raw, s.visit, "event_properties", s.visitOwn)
	switch {
	case err != nil:
		return err
	case twice != nil:
		return fmt.Errorf("event_properties: %w", twice)
	}
	given := s.row.Get("event_properties")
	if record.IsObject(given) || record.IsEmpty(given) {
		return nil
	}
	own, isObject := object(given)
	if !isObject {
		s.extra("event_properties", given)
		return nil
	}
	if err := jsonb.Object(own, s.visitOwn); err != nil {
		return fmt.Errorf("event_properties: %w", err)
	}
	return nil
}

// object is a value that is an object, or a text of one, as tables have it.
func object(raw []byte) (inner []byte, isObject bool) {
	if len(raw) > 0 && raw[0] == '"' {
		raw, _ = jsonb.AppendUnquoted(nil, raw) // it was read, so it is valid
	}
	raw = bytes.TrimSpace(raw)
	return raw, record.IsObject(raw)
}

func (s *converter) field(key, value []byte) {
	if !s.row.Take(key, value) || s.options.KeepAll && isDropped[string(key)] {
		s.extra(string(key), value)
	}
}

// property takes one of the record's event properties, which are kept under their own names, unless
// PostHog acts on that.
func (s *converter) property(key, value []byte) {
	switch s.own.Take(key, value); {
	case string(key) == "alias":
		s.alias = value
	case record.IsReserved(key):
		s.props.Keep(ownName(string(key)), value)
	default:
		s.props.AddBytes(key, value)
	}
}

const emptyText = `"EMPTY"` // stands for no value in properties initial_…

func (s *converter) userProperty(key, value []byte) {
	const initial = "initial_"
	if string(value) == "null" {
		return
	}
	if !bytes.HasPrefix(key, []byte(initial)) {
		s.props.AddPerson(string(key), value)
		switch name := string(key); {
		case record.IsCampaign(name) && record.IsText(value) && !record.IsEmpty(value) && string(value) != emptyText:
			s.campaign = append(s.campaign, record.Member{Name: key, Value: value})
		case name == "referrer" && record.Host(value) != "":
			s.referrer = value
		}
		return
	}
	if string(value) == emptyText {
		return
	}
	name := string(key)
	if isFirstTouch(name[len(initial):]) {
		name = "$" + name
	}
	s.props.AddPersonOnce(name, value)
}

// isFirstTouch reports whether PostHog has a person property $initial_ of the name.
func isFirstTouch(name string) bool {
	return name == "referrer" || name == "referring_domain" || record.IsCampaign(name)
}

// extra sends a field that is not mapped, unless it is empty. Its name is that of the field after
// $amplitude_, since event properties can have any name.
func (s *converter) extra(name string, value []byte) {
	if !record.IsEmpty(value) {
		s.props.Keep(ownName(name), value)
	}
}

// ownName is the name of a property that cannot keep its own.
func ownName(name string) string {
	name = strings.TrimPrefix(name, "$")
	if strings.HasPrefix(name, "amplitude_") {
		return "$" + name
	}
	return "$amplitude_" + name
}
