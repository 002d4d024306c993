package mixpanel

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// converter makes events of records. One goroutine at a time uses it. Its raw values are parts of
// the record.
type converter struct {
	record.Noted

	options    Options
	visitInner jsonb.Visitor                // of the properties of the record, bound once
	keepBoth   func(field string, v []byte) // bound once

	name, properties []byte
	record           record.Reader // Rest has the members outside the properties
	values           *record.Values
	groups           record.Object
	props            record.Properties
}

func newConverter(o Options) *converter {
	s := &converter{options: o, props: record.Properties{Policy: o.PersonProperties}, values: table.Values()}
	s.visitInner = s.property
	s.keepBoth = func(field string, value []byte) { s.props.Keep(field, value) }
	s.record.Fields = record.Fields{"event": &s.name, "properties": &s.properties}
	return s
}

// Begin forgets the record before.
func (s *converter) Begin() {
	s.record.Begin()
	s.values.Begin()
	s.groups.Begin()
	s.props.Begin()
}

// Read reads a record. It adds the properties that the table does not know to props.
func (s *converter) Read(raw []byte) error {
	twice, err := s.ReadObject(raw, s.record.Visit, "properties", s.visitInner)
	switch {
	case err != nil:
		return err
	case twice != nil:
		return fmt.Errorf("properties: %w", twice)
	}
	return nil
}

// property takes a property of the record. One that the table does not know keeps its name, unless PostHog acts on
// that.
func (s *converter) property(key, value []byte) {
	if s.values.Take(key, value) {
		return
	}
	if groupType := s.options.Groups[string(key)]; groupType != "" {
		s.group(groupType, value)
	}
	if record.IsReserved(key) {
		s.props.Keep(ownName(string(key)), value)
		return
	}
	s.props.AddBytes(key, value)
}

// group adds a group by its key. Of several, PostHog takes one.
func (s *converter) group(groupType string, value []byte) {
	if len(value) > 0 && value[0] == '[' {
		var keys []json.RawMessage
		if json.Unmarshal(value, &keys) != nil || len(keys) == 0 {
			return
		}
		value = keys[0]
	}
	if key, err := record.ID("", value); err == nil && key != "" {
		s.groups.AddText(groupType, key)
	}
}

func (s *converter) get(field string) []byte { return s.values.Get(field) }

// ownName is the name of a property that cannot keep its own.
func ownName(name string) string { return "$mixpanel_" + strings.TrimPrefix(name, "$") }

// names are the events that PostHog has too.
var names = map[string]string{"$mp_web_page_view": "$pageview", "$mp_page_leave": "$pageleave", "$mp_click": "$autocapture"}

// Events makes the event of the record that was read.
func (s *converter) Events() ([]hogapi.Event, error) {
	if !record.IsObject(s.properties) {
		return nil, errors.New("properties: want an object: a line of Mixpanel's export has event and properties")
	}
	if len(s.name) < 3 || s.name[0] != '"' {
		return nil, errors.New("event: want a text that is not empty")
	}
	name := record.Text(s.name)
	if !s.options.KeepDeleted && (name == "$delete" || record.IsTrue(s.get("$is_deleted"))) {
		return nil, history.Skip(SkipDeleted)
	}
	ids, err := s.identify(name)
	switch {
	case err != nil:
		return nil, err
	case ids.distinct == "":
		return nil, history.Skip(SkipNoID)
	}
	at, err := s.when()
	if err != nil {
		return nil, err
	}
	own := name
	if known := names[name]; known != "" {
		name = known
	}
	return []hogapi.Event{{
		Name: name, DistinctID: ids.distinct, AnonymousID: ids.anonymous, UserIDs: ids.others, Timestamp: at, UUID: s.ID(true),
		RawProperties: s.finish(own, ids.isVisitor),
	}}, nil
}

// finish adds the properties of the table and properties that follow from them, and makes all properties.
func (s *converter) finish(name string, isVisitor bool) []byte {
	s.system()
	s.values.Add(&s.props, s.keepBoth)
	switch alias := s.get("alias"); {
	case alias == nil:
	case name == "$identify": // in which PostHog would act on it
		s.props.Keep(ownName("alias"), alias)
	default:
		s.props.Add("alias", alias)
	}
	if name == "$mp_click" {
		s.props.AddText("$event_type", "click")
	}
	s.props.AddPage(s.get("$current_url"))
	if name == "$mp_web_page_view" && s.props.Get("$current_url") != nil && s.props.Get("$referring_domain") == nil {
		s.props.AddText("$referrer", "$direct") // unless it has one
	}
	s.props.AddReferrer(s.props.Get("$referrer"))
	if country := s.get("mp_country_code"); len(country) == len(`"GB"`) {
		s.props.AddTextOfBoth("$geoip_country_name", record.CountryName(country[1:3]))
	}
	if !s.groups.IsEmpty() {
		s.props.Add("$groups", s.groups.Raw())
	}
	if s.options.NoVisitorProfiles && isVisitor {
		s.props.Add("$process_person_profile", []byte("false"))
	}
	if s.options.LookUpIP {
		s.props.AddLookUp()
	}
	for _, m := range s.record.Rest {
		name := string(m.Name)
		if record.IsReserved(name) || name == "alias" || !s.props.Add(name, m.Value) {
			s.props.Keep(ownName(name), m.Value)
		}
	}
	if s.options.KeepAll {
		for _, field := range [...]string{"$insert_id", "$mp_api_timestamp_ms", "mp_processing_time_ms", "$mp_api_endpoint", "$geo_source"} {
			if raw := s.get(field); raw != nil {
				s.props.Keep(ownName(field), raw)
			}
		}
	}
	return s.Finish(&s.props, "mixpanel")
}

// system puts the operating system into PostHog's words, and adds the type of the device.
func (s *converter) system() {
	if given := s.get("$browser_version"); record.IsText(given) {
		if version, isWhole := record.Version(given); version != nil {
			s.values.Take([]byte("$browser_version"), version)
			if !isWhole {
				s.props.Keep(ownName("$browser_version"), given)
			}
		}
	}
	name, version := s.get("$os"), s.get("$os_version")
	if !record.IsText(name) {
		return
	}
	written := record.Text(name)
	live, liveVersion := record.OS(written, record.Text(version))
	if live != written {
		s.values.Take([]byte("$os"), record.Quoted(live))
	}
	if record.IsText(version) && liveVersion != record.Text(version) {
		s.values.Take([]byte("$os_version"), record.Quoted(liveVersion))
	}
	if record.IsNone(s.get("$device_type")) {
		model := cmp.Or(record.Text(s.get("$model")), record.Text(s.get("$device")))
		if kind := record.DeviceType(written, model); kind != "" {
			s.values.Take([]byte("$device_type"), record.Quoted(kind))
		}
	}
}
