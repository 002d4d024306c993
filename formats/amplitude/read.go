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
	options   Options
	visit     jsonb.Visitor // of the row, bound once
	visitOwn  jsonb.Visitor // of its event_properties, bound once
	visitUser jsonb.Visitor // of its user_properties, bound once

	fields

	known, knownOwn record.Fields // of the row, and of its event_properties
	props           record.Properties
}

// fields are the members of a row that are sent under other names, as raw JSON; nil where absent.
type fields struct {
	name, uuid, insertID, userID, deviceID, eventID, sessionID []byte
	eventTime, clientTime, receivedTime                        []byte
	own, user, groups, groupProperties, merged                 []byte
	country, city, region, latitude, longitude, ip             []byte
	os, osVersion, deviceType, platform                        []byte
	manufacturer, model, version                               []byte

	url, host, path, title, height, width, referrer, referringDomain, text, alias []byte // of event_properties
}

func newConverter(o Options) *converter {
	s := &converter{options: o, props: record.Properties{Policy: o.PersonProperties}}
	s.visit, s.visitOwn, s.visitUser = s.field, s.property, s.userProperty
	s.known = record.Fields{
		"event_type": &s.name, "event_properties": &s.own, "user_properties": &s.user, "groups": &s.groups,
		"group_properties": &s.groupProperties, "merged_amplitude_id": &s.merged, "user_id": &s.userID, "device_id": &s.deviceID,
		"event_id": &s.eventID, "session_id": &s.sessionID, "event_time": &s.eventTime, "client_event_time": &s.clientTime,
		"server_received_time": &s.receivedTime, "country": &s.country, "city": &s.city, "region": &s.region,
		"location_lat": &s.latitude, "location_lng": &s.longitude, "ip_address": &s.ip, "os_name": &s.os,
		"os_version": &s.osVersion, "device_type": &s.deviceType, "platform": &s.platform,
		"device_manufacturer": &s.manufacturer, "device_model": &s.model, "version_name": &s.version, "uuid": &s.uuid,
		"$insert_id": &s.insertID,
	}
	s.knownOwn = record.Fields{
		"[Amplitude] Page URL": &s.url, "[Amplitude] Page Domain": &s.host, "[Amplitude] Page Path": &s.path,
		"[Amplitude] Page Title": &s.title, "[Amplitude] Viewport Height": &s.height, "[Amplitude] Viewport Width": &s.width,
		"[Amplitude] Element Text": &s.text, "referrer": &s.referrer, "referring_domain": &s.referringDomain, "alias": &s.alias,
	}
	return s
}

// Begin forgets the row before.
func (s *converter) Begin() {
	s.fields = fields{}
	s.props.Begin()
}

// Read reads a row. It adds the members that keep their names to props.
func (s *converter) Read(raw []byte) error {
	twice, err := jsonb.ObjectWithin(raw, s.visit, "event_properties", s.visitOwn)
	switch {
	case err != nil:
		return err
	case twice != nil:
		return fmt.Errorf("event_properties: %w", twice)
	case record.IsObject(s.own) || record.IsEmpty(s.own):
		return nil
	}
	own, isObject := object(s.own)
	if !isObject {
		s.extra("event_properties", s.own)
		return nil
	}
	s.own = own
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
	isKnown := s.known.Take(key, value)
	switch string(key) {
	case "user_properties", "server_received_time", "uuid", "$schema", "$insert_key", "data", "data_type",
		"client_upload_time", "server_upload_time", "processed_time":
		s.drop(key, value)
	case "merged_amplitude_id", "device_type", "platform", "$insert_id":
		s.extra(string(key), value)
	default:
		if !isKnown {
			s.extra(string(key), value)
		}
	}
}

// property takes one of the record's event properties, which are kept under their own names, unless
// PostHog acts on that.
func (s *converter) property(key, value []byte) {
	switch s.knownOwn.Take(key, value); {
	case string(key) == "alias":
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
	switch name {
	case "referrer", "referring_domain", "utm_source", "utm_medium", "utm_campaign", "utm_content", "utm_term",
		"gclid", "gad_source", "gclsrc", "dclid", "gbraid", "wbraid", "fbclid", "msclkid", "twclid", "li_fat_id",
		"mc_cid", "igshid", "ttclid", "rdt_cid", "epik", "qclid", "sccid", "irclid":
		return true
	}
	return false
}

// extra sends a field that is not mapped, unless it is empty. Its name is that of the field after
// $amplitude_, since event properties can have any name.
func (s *converter) extra(name string, value []byte) {
	if !record.IsEmpty(value) {
		s.props.Keep(ownName(name), value)
	}
}

// drop leaves out a field that says nothing about the event.
func (s *converter) drop(key, value []byte) {
	if s.options.KeepAll {
		s.extra(string(key), value)
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
