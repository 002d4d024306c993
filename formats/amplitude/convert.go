package amplitude

import (
	"fmt"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// Names of events on which PostHog acts.
const (
	identify      = "$identify"
	groupIdentify = "$groupidentify"
)

// Events makes the events of the record that was read. The first is the record's own.
func (s *converter) Events() ([]hogapi.Event, error) {
	name, err := s.eventType()
	if err != nil {
		return nil, err
	}
	user, err := record.ShortID("user_id", s.userID)
	if err != nil {
		return nil, err
	}
	device, err := record.ShortID("device_id", s.deviceID)
	if err != nil {
		return nil, err
	}
	groups, err := s.readGroups()
	if err != nil {
		return nil, err
	}
	person := user
	if person == "" {
		person = device
	}
	if person == "" && name != groupIdentify {
		return nil, hogapi.Skip(SkipNoID)
	}
	at, err := s.when()
	if err != nil {
		return nil, err
	}
	if name == groupIdentify {
		return s.groupRow(groups, at)
	}
	if err := s.readUser(); err != nil {
		return nil, err
	}
	ev := hogapi.Event{Name: s.renamed(name), DistinctID: person, Timestamp: at, UUID: s.ID(true)}
	if user != "" && device != "" && user != device {
		ev.AnonymousID = device
	}
	generated := s.addGroups(groups, at)
	ev.RawProperties = s.finish(name, device)
	return append([]hogapi.Event{ev}, generated...), nil
}

// eventType is the name of the event. The error says why the record is skipped or rejected.
func (s *converter) eventType() (string, error) {
	name, err := record.ShortID("event_type", s.name)
	switch {
	case err != nil:
		return "", err
	case name == "" && s.merged != nil:
		return "", hogapi.Skip(SkipMergedUsers)
	case name == "":
		return "", hogapi.Skip(SkipNoEventType)
	case name == "session_start" && !s.options.KeepSessions:
		return "", hogapi.Skip(SkipSessionStart)
	}
	return name, nil
}

// renamed is PostHog's name of an event.
func (s *converter) renamed(name string) string {
	switch name {
	case "[Amplitude] Page Viewed":
		return "$pageview"
	case "[Amplitude] Element Clicked":
		s.props.AddText("$event_type", "click")
		return "$autocapture"
	case "[Amplitude] Element Changed":
		s.props.AddText("$event_type", "change")
		return "$autocapture"
	}
	return name
}

// when is the first of the record's times that can be read.
func (s *converter) when() (time.Time, error) {
	var first error
	for _, raw := range [][]byte{s.eventTime, s.clientTime, s.receivedTime} {
		at, err := record.Time(raw)
		if err == nil {
			if first != nil {
				s.extra("event_time", s.eventTime)
			}
			return at, nil
		}
		if first == nil {
			first = err
		}
	}
	return time.Time{}, fmt.Errorf("event_time, client_event_time, server_received_time: %w", first)
}

func (s *converter) readUser() error {
	if s.options.PersonProperties == formats.PersonNone {
		return nil
	}
	properties, isObject := object(s.user)
	if !isObject {
		if !record.IsEmpty(s.user) && !s.options.KeepAll {
			s.extra("user_properties", s.user)
		}
		return nil
	}
	if err := jsonb.Object(properties, s.visitUser); err != nil {
		return fmt.Errorf("user_properties: %w", err)
	}
	return nil
}

// finish adds the mapped fields, and makes the properties.
func (s *converter) finish(name, device string) []byte {
	if s.alias != nil {
		if name == identify { // PostHog would act on it
			s.props.Keep(ownName("alias"), s.alias)
		} else {
			s.props.Add("alias", s.alias)
		}
	}
	s.ids(device)
	s.page()
	s.location()
	s.system()
	if string(s.clientTime) != string(s.eventTime) {
		s.extra("client_event_time", s.clientTime)
	}
	return s.props.Finish("amplitude")
}

func (s *converter) ids(device string) {
	s.extra("user_id", s.userID)
	s.extra("device_id", s.deviceID)
	if device != "" {
		s.props.Add("$device_id", s.deviceID)
	}
	if string(s.eventID) != "0" {
		s.extra("event_id", s.eventID)
	}
	if string(s.sessionID) != "0" {
		s.extra("session_id", s.sessionID)
	}
}

// page sends the event properties of the page under PostHog's names too.
func (s *converter) page() {
	for _, m := range []struct {
		value    []byte
		to       string
		isPerson bool
	}{
		{s.url, "$current_url", true},
		{s.host, "$host", false},
		{s.path, "$pathname", true},
		{s.title, "title", false},
		{s.height, "$viewport_height", false},
		{s.width, "$viewport_width", false},
		{s.text, "$el_text", false},
		{s.referrer, "$referrer", true},
		{s.referringDomain, "$referring_domain", true},
	} {
		if !record.IsEmpty(m.value) && s.props.Add(m.to, m.value) && m.isPerson {
			s.props.AddPerson(m.to, m.value)
		}
	}
}

func (s *converter) location() {
	for _, m := range []struct {
		value    []byte
		to, from string
		isPerson bool
	}{
		{s.country, "$geoip_country_name", "country", true},
		{s.city, "$geoip_city_name", "city", true},
		{s.region, "$geoip_subdivision_1_name", "region", true},
		{s.latitude, "$geoip_latitude", "location_lat", false},
		{s.longitude, "$geoip_longitude", "location_lng", false},
		{s.ip, "$ip", "ip_address", false},
	} {
		if m.isPerson {
			s.movePerson(m.value, m.to, m.from)
		} else {
			s.move(m.value, m.to, m.from)
		}
	}
}

// move sends a field under PostHog's name, or as one that is not mapped where an event property has
// that name.
func (s *converter) move(value []byte, to, from string) (isMoved bool) {
	if record.IsEmpty(value) {
		return false
	}
	if isMoved = s.props.Add(to, value); !isMoved {
		s.extra(from, value)
	}
	return isMoved
}
