package amplitude

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
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
	user, device, err := s.ids()
	if err != nil {
		return nil, err
	}
	groups, err := s.readGroups()
	if err != nil {
		return nil, err
	}
	person := cmp.Or(user, device)
	if person == "" && name != groupIdentify {
		return nil, history.Skip(SkipNoID)
	}
	at, err := s.when()
	if err != nil {
		return nil, err
	}
	if name == groupIdentify {
		return s.groupRow(groups, at)
	}
	s.props.Policy = s.options.PersonProperties
	hasNoProfile := user == "" && s.options.NoVisitorProfiles && name != identify
	if hasNoProfile {
		s.props.Policy = formats.PersonNone
	}
	if err := s.readUser(hasNoProfile); err != nil {
		return nil, err
	}
	ev := hogapi.Event{Name: s.renamed(name), DistinctID: person, Timestamp: at, UUID: s.ID(true)}
	switch {
	case user == "":
	case device == "" || device == user:
		ev.UserIDs = []string{user} // so that formats.Links knows it as the id of a user
	default:
		ev.AnonymousID = device
	}
	generated := s.addGroups(groups, at)
	s.finish(&ev, name, device)
	if hasNoProfile {
		s.props.Add("$process_person_profile", []byte("false"))
	}
	ev.RawProperties = s.Finish(&s.props, "amplitude")
	return append([]hogapi.Event{ev}, generated...), nil
}

// ids returns the ids of the user and of the device.
func (s *converter) ids() (user, device string, err error) {
	if user, err = record.ShortID("user_id", s.row.Get("user_id")); err == nil {
		device, err = record.ShortID("device_id", s.row.Get("device_id"))
	}
	return user, device, err
}

// eventType is the name of the event. The error says why the record is skipped or rejected.
func (s *converter) eventType() (string, error) {
	name, err := record.ShortID("event_type", s.row.Get("event_type"))
	switch {
	case err != nil:
		return "", err
	case name == "" && s.row.Get("merged_amplitude_id") != nil:
		return "", history.Skip(SkipMergedUsers)
	case name == "":
		return "", history.Skip(SkipNoEventType)
	case name == "session_start" && !s.options.KeepSessions:
		return "", history.Skip(SkipSessionStart)
	}
	return name, nil
}

// renamed is PostHog's name of an event.
func (s *converter) renamed(name string) string {
	switch name {
	case "[Amplitude] Page Viewed":
		return "$pageview"
	case "[Amplitude] Screen Viewed":
		return "$screen"
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
	for _, field := range [...]string{"event_time", "client_event_time", "server_received_time"} {
		at, err := record.Time(s.row.Get(field))
		if err == nil {
			if first != nil {
				s.extra("event_time", s.row.Get("event_time"))
			}
			return at, nil
		}
		first = cmp.Or(first, err)
	}
	return time.Time{}, fmt.Errorf("event_time, client_event_time, server_received_time: %w", first)
}

// readUser reads the properties of the user. They are kept as they are too where the event makes no profile.
func (s *converter) readUser(isKept bool) error {
	raw := s.row.Get("user_properties")
	properties, isObject := object(raw)
	if (!isObject || isKept) && !record.IsEmpty(raw) && !s.options.KeepAll && s.options.PersonProperties != formats.PersonNone {
		s.extra("user_properties", raw)
	}
	if !isObject {
		return nil
	}
	if err := s.Object(properties, s.visitUser); err != nil {
		return fmt.Errorf("user_properties: %w", err)
	}
	return nil
}

// finish adds the fields with names of PostHog.
func (s *converter) finish(ev *hogapi.Event, name, device string) {
	if s.alias != nil {
		if name == identify { // PostHog would act on it
			s.props.Keep(ownName("alias"), s.alias)
		} else {
			s.props.Add("alias", s.alias)
		}
	}
	for _, field := range [...]string{"event_id", "session_id"} {
		if raw := s.row.Get(field); string(raw) != "0" {
			s.extra(field, raw)
		}
	}
	if device != "" {
		s.props.Add("$device_id", s.row.Get("device_id"))
	}
	s.own.Add(&s.props, func(string, []byte) {}) // which keep their own names anyway
	s.row.Add(&s.props, s.extra)
	s.system()
	s.page(ev.Name)
	if client := s.row.Get("client_event_time"); string(client) != string(s.row.Get("event_time")) {
		s.extra("client_event_time", client)
	}
	if country := record.CountryCode(record.Text(s.row.Get("country"))); country != "" {
		s.props.AddTextOfBoth("$geoip_country_code", country)
	}
	if s.options.LookUpIP && s.props.Get("$ip") != nil {
		s.props.Add("$geoip_disable", []byte("false"))
	}
	s.session(ev, device)
}

// page adds the properties of a URL and of a referrer. If the event has no campaign or no referrer, the user's is used:
// Amplitude's SDKs keep the newest there.
func (s *converter) page(event string) {
	s.props.AddPage(s.props.Get("$current_url"))
	if len(s.campaign) > 0 && !s.props.HasCampaign() {
		for _, m := range s.campaign {
			s.props.AddBytes(m.Name, m.Value)
		}
	}
	if s.props.Get("$referring_domain") == nil {
		if s.referrer != nil {
			s.props.Add("$referrer", s.referrer)
		} else if event == "$pageview" && s.props.Get("$current_url") != nil {
			s.props.AddText("$referrer", "$direct")
		}
	}
	s.props.AddReferrer(s.props.Get("$referrer"))
}

// isServer reports whether a row was sent by a server, through an API that is made for servers. A program on a
// device that uses this API says on which platform it is.
func (s *converter) isServer() bool {
	library := record.Text(s.row.Get("library"))
	return (strings.HasPrefix(library, "http/") || strings.HasPrefix(library, "batch/")) && record.IsEmpty(s.row.Get("platform"))
}

// session adds the session of an event. Its id carries the start in milliseconds, by the clock of the device. Amplitude
// corrects the times of events where that clock is wrong by a minute or more, but not the id. Where the clock was ahead,
// the start is corrected here by as much. Since the correction is not the same for all events of a session, the start
// is then rounded down to an hour.
func (s *converter) session(ev *hogapi.Event, device string) {
	id, isNumber := record.Int(s.row.Get("session_id"))
	if !isNumber || id <= 0 || s.isServer() {
		return
	}
	start := time.UnixMilli(id)
	if clock, err := record.Time(s.row.Get("client_event_time")); err == nil {
		if ahead := clock.Sub(ev.Timestamp); ahead >= time.Minute {
			start = start.Add(-ahead).Truncate(time.Hour)
		}
	}
	s.props.AddSession(start, cmp.Or(device, ev.DistinctID), strconv.FormatInt(id, 10), ev.Timestamp)
}
