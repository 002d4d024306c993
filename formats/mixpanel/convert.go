package mixpanel

import (
	"errors"
	"fmt"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/internal/props"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// scratch reads one record at a time. Its raw values are parts of the record.
type scratch struct {
	options    Options
	visit      jsonb.Visitor // of the record, bound once
	visitInner jsonb.Visitor // of its properties, bound once

	fields

	props record.Properties
}

// fields are what a record has that is not sent under its own name, as raw JSON; nil where absent.
type fields struct {
	name, properties                                  []byte
	time, distinctID, userID, deviceID, insertID      []byte
	beforeIdentity, anonID, identifiedID              []byte
	city, region, country                             []byte
	path, host, title, library, alias                 []byte
	isDeleted, isImport, apiTimestamp, processingTime []byte

	outer []member // further members of the record, outside its properties
}

type member struct {
	name  string
	value []byte
}

func newScratch(o Options) *scratch {
	s := &scratch{options: o, props: record.Properties{Policy: o.PersonProperties}}
	s.visit, s.visitInner = s.member, s.property
	return s
}

// read reads a record. What it has under its own names is in props then.
func (s *scratch) read(raw []byte) error {
	s.fields = fields{outer: s.outer[:0]}
	s.props.Begin()
	twice, err := jsonb.ObjectWithin(raw, s.visit, "properties", s.visitInner)
	switch {
	case err != nil:
		return err
	case twice != nil:
		return fmt.Errorf("properties: %w", twice)
	}
	return nil
}

// member takes a member of the record.
func (s *scratch) member(key, value []byte) {
	switch string(key) {
	case "event":
		s.name = value
	case "properties":
		s.properties = value
	default:
		s.outer = append(s.outer, member{string(key), value})
	}
}

// property takes one of the record's properties. What is not mapped is kept under its own name.
func (s *scratch) property(key, value []byte) {
	switch string(key) {
	case "time":
		s.time = value
	case "distinct_id":
		s.distinctID = value
	case "$user_id":
		s.userID = value
	case "$device_id":
		s.deviceID = value
	case "$city":
		s.city = value
	case "$region":
		s.region = value
	case "mp_country_code":
		s.country = value
	case "current_url_path":
		s.path = value
	case "current_domain":
		s.host = value
	case "current_page_title":
		s.title = value
	case "mp_lib":
		s.library = value
	case aliasKey:
		s.alias = value
	case "$insert_id":
		s.insertID = value
		s.drop(key, value)
	case "$mp_api_timestamp_ms":
		s.apiTimestamp = value
		s.drop(key, value)
	case "mp_processing_time_ms":
		s.processingTime = value
		s.drop(key, value)
	case "$mp_api_endpoint", "$geo_source":
		s.drop(key, value)
	default:
		s.keep(key, value)
	}
}

// keep sends a property under its own name, unless PostHog acts on that.
func (s *scratch) keep(key, value []byte) {
	switch string(key) {
	case "$is_deleted":
		s.isDeleted = value
	case "$import":
		s.isImport = value
	case "$distinct_id_before_identity":
		s.beforeIdentity = value
	case "$anon_id":
		s.anonID = value
	case "$identified_id":
		s.identifiedID = value
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
func (s *scratch) drop(key, value []byte) {
	if s.options.KeepAll {
		s.props.Keep(ownName(string(key)), value)
	}
}

// ownName is the name of a property that cannot keep its own.
func ownName(name string) string { return "$mixpanel_" + strings.TrimPrefix(name, "$") }

// event makes the event of the record that was read.
func (s *scratch) event() ([]hogapi.Event, error) {
	if !props.IsObject(s.properties) {
		return nil, errors.New("properties: want an object: a line of Mixpanel's export has event and properties")
	}
	if len(s.name) < 3 || s.name[0] != '"' {
		return nil, errors.New("event: want a text that is not empty")
	}
	name, err := record.Text(s.name)
	if err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
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
		Name: name, DistinctID: ids.distinct, AnonymousID: ids.anonymous, Timestamp: at, UUID: s.uuid(),
		RawProperties: s.finish(name),
	}}, nil
}

// aliasKey is the property of an event $create_alias, on which PostHog acts. In an event $identify it would too.
const aliasKey = "alias"

// finish adds what is mapped, and makes the properties.
func (s *scratch) finish(name string) []byte {
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
	s.place()
	for _, m := range []struct {
		value []byte
		to    string
	}{{s.userID, "$mixpanel_user_id"}, {s.deviceID, "$mixpanel_device_id"}} {
		if !record.IsEmpty(m.value) {
			s.props.Keep(m.to, m.value)
		}
	}
	for _, m := range s.outer {
		if record.IsReserved(m.name) || m.name == aliasKey || !s.props.Add(m.name, m.value) {
			s.props.Keep(ownName(m.name), m.value)
		}
	}
	return s.props.Finish("mixpanel")
}

// move sends a property under PostHog's name, or under its own where the record has both.
func (s *scratch) move(value []byte, to, from string) (isMoved bool) {
	if value == nil {
		return false
	}
	if isMoved = s.props.Add(to, value); !isMoved {
		s.props.Keep(from, value)
	}
	return isMoved
}

// place sends where the event happened.
func (s *scratch) place() {
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
	const to = "$geoip_country_name"
	s.props.AddTextOfBoth(to, countryName(string(s.country[1:3])))
}
