package mixpanel

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// converter makes events of records. One goroutine at a time uses it. Its raw values are parts of
// the record.
type converter struct {
	options    Options
	visitInner jsonb.Visitor // of the properties of the record, bound once

	fields

	record        record.Reader // Rest has the members outside the properties
	mapped, noted record.Fields // of the properties: sent under PostHog's names, and under their own
	props         record.Properties
}

// fields are the members of a record that are sent under other names, as raw JSON; nil where
// absent.
type fields struct {
	name, properties                                  []byte
	time, distinctID, userID, deviceID, insertID      []byte
	beforeIdentity, anonID, identifiedID              []byte
	city, region, country                             []byte
	path, host, title, library, alias                 []byte
	isDeleted, isImport, apiTimestamp, processingTime []byte
}

func newConverter(o Options) *converter {
	s := &converter{options: o, props: record.Properties{Policy: o.PersonProperties}}
	s.visitInner = s.property
	s.record.Fields = record.Fields{"event": &s.name, "properties": &s.properties}
	s.mapped = record.Fields{
		"time": &s.time, "distinct_id": &s.distinctID, "$user_id": &s.userID, "$device_id": &s.deviceID, "$city": &s.city,
		"$region": &s.region, "mp_country_code": &s.country, "current_url_path": &s.path, "current_domain": &s.host,
		"current_page_title": &s.title, "mp_lib": &s.library, aliasKey: &s.alias, "$insert_id": &s.insertID,
		"$mp_api_timestamp_ms": &s.apiTimestamp, "mp_processing_time_ms": &s.processingTime,
	}
	s.noted = record.Fields{
		"$is_deleted": &s.isDeleted, "$import": &s.isImport, "$distinct_id_before_identity": &s.beforeIdentity,
		"$anon_id": &s.anonID, "$identified_id": &s.identifiedID,
	}
	return s
}

// Begin forgets the record before.
func (s *converter) Begin() {
	s.fields = fields{}
	s.record.Begin()
	s.props.Begin()
}

// Read reads a record. It adds the properties that keep their names to props.
func (s *converter) Read(raw []byte) error {
	twice, err := jsonb.ObjectWithin(raw, s.record.Visit, "properties", s.visitInner)
	switch {
	case err != nil:
		return err
	case twice != nil:
		return fmt.Errorf("properties: %w", twice)
	}
	return nil
}

// property takes a property of the record. It keeps the ones that are not mapped under their own
// names.
func (s *converter) property(key, value []byte) {
	isMapped := s.mapped.Take(key, value)
	switch string(key) {
	case "$insert_id", "$mp_api_timestamp_ms", "mp_processing_time_ms", "$mp_api_endpoint", "$geo_source":
		s.drop(key, value)
	default:
		if !isMapped {
			s.keep(key, value)
		}
	}
}

// keep sends a property under its own name, unless PostHog acts on that.
func (s *converter) keep(key, value []byte) {
	s.noted.Take(key, value)
	switch string(key) {
	case "$browser", "$browser_version", "$os", "$os_version", "$device", "$device_type", "$current_url", "$referrer",
		"$referring_domain", "$geoip_city_name", "$geoip_subdivision_1_name", "$geoip_country_code", "$geoip_country_name":
		s.props.AddPerson(string(key), value)
	case "$initial_referrer", "$initial_referring_domain", "$initial_utm_source", "$initial_utm_medium",
		"$initial_utm_campaign", "$initial_utm_content", "$initial_utm_term":
		s.props.AddPersonOnce(string(key), value)
	}
	if record.IsReserved(key) {
		s.props.Keep(ownName(string(key)), value)
		return
	}
	s.props.AddBytes(key, value)
}

// drop leaves out a property that says nothing about the event.
func (s *converter) drop(key, value []byte) {
	if s.options.KeepAll {
		s.props.Keep(ownName(string(key)), value)
	}
}

// ownName is the name of a property that cannot keep its own.
func ownName(name string) string { return "$mixpanel_" + strings.TrimPrefix(name, "$") }

// Events makes the event of the record that was read.
func (s *converter) Events() ([]hogapi.Event, error) {
	if !record.IsObject(s.properties) {
		return nil, errors.New("properties: want an object: a line of Mixpanel's export has event and properties")
	}
	if len(s.name) < 3 || s.name[0] != '"' {
		return nil, errors.New("event: want a text that is not empty")
	}
	name := record.Text(s.name)
	if !s.options.KeepDeleted && (name == "$delete" || record.IsTrue(s.isDeleted)) {
		return nil, hogapi.Skip(SkipDeleted)
	}
	ids, err := s.ids()
	switch {
	case err != nil:
		return nil, err
	case ids.distinct == "":
		return nil, hogapi.Skip(SkipNoID)
	}
	at, err := s.when()
	if err != nil {
		return nil, err
	}
	if name == "$mp_web_page_view" {
		name = "$pageview"
	}
	return []hogapi.Event{{
		Name: name, DistinctID: ids.distinct, AnonymousID: ids.anonymous, Timestamp: at, UUID: s.ID(true),
		RawProperties: s.finish(name),
	}}, nil
}

// aliasKey is the property of an event $create_alias, on which PostHog acts. In an event $identify
// it would too.
const aliasKey = "alias"

// finish adds the mapped members, and makes the properties.
func (s *converter) finish(name string) []byte {
	switch {
	case s.alias == nil:
	case name == "$identify":
		s.props.Keep(ownName(aliasKey), s.alias)
	default:
		s.props.Add(aliasKey, s.alias)
	}
	for _, m := range []struct {
		value    []byte
		to, from string
	}{
		{s.path, "$pathname", "current_url_path"},
		{s.host, "$host", "current_domain"},
		{s.title, "title", "current_page_title"},
		{s.library, "$lib", "mp_lib"},
	} {
		s.move(m.value, m.to, m.from)
	}
	s.location()
	for _, m := range []struct {
		value []byte
		to    string
	}{{s.userID, "$mixpanel_user_id"}, {s.deviceID, "$mixpanel_device_id"}} {
		if !record.IsEmpty(m.value) {
			s.props.Keep(m.to, m.value)
		}
	}
	for _, m := range s.record.Rest {
		name := string(m.Name)
		if record.IsReserved(name) || name == aliasKey || !s.props.Add(name, m.Value) {
			s.props.Keep(ownName(name), m.Value)
		}
	}
	return s.props.Finish("mixpanel")
}

// move sends a property under PostHog's name, or under its own where the record has both.
func (s *converter) move(value []byte, to, from string) (isMoved bool) {
	if value == nil {
		return false
	}
	if isMoved = s.props.Add(to, value); !isMoved {
		s.props.Keep(from, value)
	}
	return isMoved
}

func (s *converter) location() {
	for _, m := range []struct {
		value    []byte
		to, from string
	}{
		{s.city, "$geoip_city_name", "$city"},
		{s.region, "$geoip_subdivision_1_name", "$region"},
		{s.country, "$geoip_country_code", "mp_country_code"},
	} {
		if s.move(m.value, m.to, m.from) {
			s.props.AddPerson(m.to, m.value)
		}
	}
	if len(s.country) != len(`"GB"`) {
		return
	}
	s.props.AddTextOfBoth("$geoip_country_name", record.CountryName(s.country[1:3]))
}
