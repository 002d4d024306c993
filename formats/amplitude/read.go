package amplitude

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/hogapi/hogapi/formats/internal/props"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// scratch reads one record at a time. Its raw values are parts of the record.
type scratch struct {
	options   Options
	visit     jsonb.Visitor // of the record, bound once
	visitOwn  jsonb.Visitor // of its event_properties, bound once
	visitUser jsonb.Visitor // of its user_properties, bound once

	fields

	props record.Properties
}

// fields are what a record has that is not sent under its own name, as raw JSON; nil where absent.
type fields struct {
	name, uuid, insertID, userID, deviceID, eventID, sessionID []byte
	eventTime, clientTime, receivedTime                        []byte
	own, user, groups, groupProperties, merged                 []byte
	country, city, region, latitude, longitude, ip             []byte
	os, osVersion, deviceType, platform                        []byte
	manufacturer, brand, model, version                        []byte

	url, host, path, title, height, width, referrer, referringDomain, text, alias []byte // of event_properties
}

func newScratch(o Options) *scratch {
	s := &scratch{options: o, props: record.Properties{Policy: o.PersonProperties}}
	s.visit, s.visitOwn, s.visitUser = s.field, s.property, s.userProperty
	return s
}

// read reads a record. What it has under its own names is in props then.
func (s *scratch) read(raw []byte) error {
	s.fields = fields{}
	s.props.Begin()
	twice, err := jsonb.ObjectWithin(raw, s.visit, "event_properties", s.visitOwn)
	switch {
	case err != nil:
		return err
	case twice != nil:
		return fmt.Errorf("event_properties: %w", twice)
	case props.IsObject(s.own) || record.IsEmpty(s.own):
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
	return raw, props.IsObject(raw)
}

// field takes a member of the record.
func (s *scratch) field(key, value []byte) {
	switch string(key) {
	case "event_type":
		s.name = value
	case "event_properties":
		s.own = value
	case "user_properties":
		s.user = value
		s.drop(key, value)
	case "groups":
		s.groups = value
	case "group_properties":
		s.groupProperties = value
	case "merged_amplitude_id":
		s.merged = value
		s.extra(string(key), value)
	case "user_id":
		s.userID = value
	case "device_id":
		s.deviceID = value
	case "event_id":
		s.eventID = value
	case "session_id":
		s.sessionID = value
	case "event_time":
		s.eventTime = value
	case "client_event_time":
		s.clientTime = value
	case "server_received_time":
		s.receivedTime = value
		s.drop(key, value)
	case "country":
		s.country = value
	case "city":
		s.city = value
	case "region":
		s.region = value
	case "location_lat":
		s.latitude = value
	case "location_lng":
		s.longitude = value
	case "ip_address":
		s.ip = value
	default:
		s.device(key, value)
	}
}

// device takes a member of the record that says what the event came from, or nothing of it.
func (s *scratch) device(key, value []byte) {
	switch string(key) {
	case "os_name":
		s.os = value
		return
	case "os_version":
		s.osVersion = value
		return
	case "device_type":
		s.deviceType = value
	case "platform":
		s.platform = value
	case "device_manufacturer":
		s.manufacturer = value
		return
	case "device_brand":
		s.brand = value
	case "device_model":
		s.model = value
		return
	case "version_name":
		s.version = value
		return
	case "uuid":
		s.uuid = value
		s.drop(key, value)
		return
	case "$insert_id":
		s.insertID = value
	case "$schema", "$insert_key", "data", "data_type", "client_upload_time", "server_upload_time", "processed_time":
		s.drop(key, value)
		return
	}
	s.extra(string(key), value)
}

// property takes one of the record's event properties, which are kept under their own names, unless
// PostHog acts on that.
func (s *scratch) property(key, value []byte) {
	switch string(key) {
	case "[Amplitude] Page URL":
		s.url = value
	case "[Amplitude] Page Domain":
		s.host = value
	case "[Amplitude] Page Path":
		s.path = value
	case "[Amplitude] Page Title":
		s.title = value
	case "[Amplitude] Viewport Height":
		s.height = value
	case "[Amplitude] Viewport Width":
		s.width = value
	case "[Amplitude] Element Text":
		s.text = value
	case "referrer":
		s.referrer = value
	case "referring_domain":
		s.referringDomain = value
	case "alias":
		s.alias = value
		return
	}
	if record.IsReserved(key) {
		s.props.Keep(ownName(string(key)), value)
		return
	}
	s.props.AddBytes(key, value)
}

const emptyText = `"EMPTY"` // stands for no value in properties initial_…

// userProperty takes one of the record's user properties.
func (s *scratch) userProperty(key, value []byte) {
	const initial = "initial_"
	if record.IsNull(value) {
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

// extra sends a field that is not mapped, unless it is empty. Its name is that of the field after $amplitude_,
// since event properties can have any name.
func (s *scratch) extra(name string, value []byte) {
	if !record.IsEmpty(value) {
		s.props.Keep(ownName(name), value)
	}
}

// drop leaves out a field that says nothing about the event.
func (s *scratch) drop(key, value []byte) {
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
