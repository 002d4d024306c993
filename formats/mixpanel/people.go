package mixpanel

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/jsonb"
)

// PeopleOptions control how profiles become events. Nil stands for the defaults.
type PeopleOptions struct {
	// At is the time of a profile without $last_seen. By default, such a profile is skipped.
	At time.Time
	// Zone is the zone of times without an offset. The default is UTC.
	Zone *time.Location
	// PersonProperties says how the properties are sent. The default is formats.PersonSetOnce, which only adds
	// properties that today's person lacks; formats.PersonSet replaces it. formats.PersonNone is an error here.
	PersonProperties formats.PersonProperties
	// Mapping is the version of the mapping, as in an import that an earlier release began: see formats.MappingVersion.
	// The default is the newest.
	Mapping int
}

// SkipNoLastSeen is the reason why a profile is skipped: see PeopleOptions.At.
const SkipNoLastSeen = "no $last_seen"

// people maps the properties of a profile. All others keep their names.
var people = record.Table{
	{From: "$email", To: "email", Kind: record.Person},
	{From: "$name", To: "name", Kind: record.Person},
	{From: "$first_name", To: "first_name", Kind: record.Person},
	{From: "$last_name", To: "last_name", Kind: record.Person},
	{From: "$phone", To: "phone", Kind: record.Person},
	{From: "$avatar", To: "avatar", Kind: record.Person},
	{From: "$created", To: "created_at", Kind: record.Person},
	{From: "$city", To: "$geoip_city_name", Kind: record.Person},
	{From: "$region", To: "$geoip_subdivision_1_name", Kind: record.Person},
	{From: "$country_code", To: "$geoip_country_code", Kind: record.Person},
	{From: "$timezone", To: "$geoip_time_zone", Kind: record.Person},
	{From: "$last_seen", To: "timestamp", Kind: record.Code},
}

// PeopleFormat reads the profiles of Mixpanel's people, as the answers of its Engage API
// (https://mixpanel.com/api/query/engage) have them: pages with results, or one profile a line. A profile has
// $distinct_id and $properties, and becomes an event $set at the time of its $last_seen. Import the events of the
// project first. $email, $name and other names of Mixpanel become the names in PostHog's own examples, such as email
// and name; the other properties keep their names.
//
// The uuid of an event is derived from the distinct id and the time, so a later export of the same profile is another
// event, and the same export is not.
func PeopleFormat(options *PeopleOptions) history.Format {
	o := record.Options(options)
	o.Mapping = record.Mapping(o.Mapping)
	o.PersonProperties = cmp.Or(o.PersonProperties, formats.PersonSetOnce)
	fault := o.PersonProperties.Check()
	if o.PersonProperties == formats.PersonNone {
		fault = errors.New("PersonProperties: want PersonSetOnce or PersonSet: a profile has nothing else")
	}
	at := ""
	if !o.At.IsZero() {
		at = "at=" + o.At.UTC().Format(time.RFC3339Nano)
	}
	zone := ""
	if o.Zone != nil && o.Zone != time.UTC {
		zone = "zone=" + o.Zone.String()
	}
	return record.Format("mixpanel people", o.Mapping, record.OptionsText(", ", at, zone, record.PersonText(o.PersonProperties)), fault,
		func() *profiles { return &profiles{options: o} })
}

// profiles makes events of the profiles of a record.
type profiles struct {
	options PeopleOptions
	list    []json.RawMessage
}

// Begin forgets the record before.
func (p *profiles) Begin() { p.list = nil }

// Read reads a page or a profile.
func (p *profiles) Read(raw []byte) error {
	var results []byte
	if err := jsonb.Object(raw, func(key, value []byte) {
		if string(key) == "results" {
			results = value
		}
	}); err != nil {
		return err
	}
	if results == nil {
		p.list = []json.RawMessage{raw}
		return nil
	}
	if err := json.Unmarshal(results, &p.list); err != nil {
		return fmt.Errorf("results: %w", err)
	}
	return nil
}

// ID returns no uuid: a page has several events.
func (p *profiles) ID(bool) uuid.UUID { return uuid.Nil }

// Events makes the events of the record that was read.
func (p *profiles) Events() (events []hogapi.Event, err error) {
	if len(p.list) == 0 {
		return nil, history.Skip("an empty page")
	}
	isFound := false
	for i, raw := range p.list {
		ev, isKnown, err := p.event(raw)
		if err != nil {
			return nil, fmt.Errorf("profile %d of %d: %w", i+1, len(p.list), err)
		}
		if isFound = isFound || isKnown; !isKnown {
			ev = event.Skip(hogapi.Position{}, SkipNoLastSeen)
		}
		events = append(events, ev)
	}
	if !isFound && len(events) == 1 {
		return nil, history.Skip(SkipNoLastSeen)
	}
	return events, nil
}

var peopleSpace = uuid.MustParse("2f0c8b1e-6d0a-5f0e-9c57-1b7f4a6d3e21")

// event makes the event of a profile. It reports whether its time is known.
func (p *profiles) event(raw []byte) (ev hogapi.Event, isKnown bool, err error) {
	var id, properties []byte
	if err := jsonb.Object(raw, func(key, value []byte) {
		switch string(key) {
		case "$distinct_id":
			id = value
		case "$properties":
			properties = value
		}
	}); err != nil {
		return ev, false, err
	}
	if ev.DistinctID, err = record.ID("$distinct_id", id); err != nil || ev.DistinctID == "" {
		return ev, false, errors.Join(err, errors.New("$distinct_id: a profile needs one"))
	}
	if !record.IsObject(properties) {
		return ev, false, record.Want("$properties", "an object", properties)
	}
	values := people.Values()
	out := record.Properties{Policy: p.options.PersonProperties}
	out.Begin()
	if err := jsonb.Object(properties, func(key, value []byte) {
		if !values.Take(key, value) && !record.IsEmpty(value) {
			name := string(key)
			if record.IsReserved(key) {
				name = ownName(name)
			}
			out.AddPerson(name, value)
		}
	}); err != nil {
		return ev, false, fmt.Errorf("$properties: %w", err)
	}
	values.Add(&out, func(string, []byte) {})
	ev.Timestamp = p.options.At
	if seen := values.Get("$last_seen"); !record.IsNone(seen) {
		if ev.Timestamp, err = p.time(seen); err != nil {
			return ev, false, fmt.Errorf("$last_seen: %w", err)
		}
	}
	if ev.Timestamp.IsZero() {
		return ev, false, nil
	}
	ev.Name, ev.Timestamp = "$set", ev.Timestamp.UTC()
	ev.UUID = record.Derived(peopleSpace, ev.Timestamp.Format(time.RFC3339Nano)+" "+ev.DistinctID)
	ev.RawProperties = out.Finish("mixpanel")
	return ev, true, nil
}

// time reads a time, which is in the zone unless it has an offset.
func (p *profiles) time(raw []byte) (time.Time, error) {
	at, err := record.Time(raw)
	text := record.Text(raw)
	const zoneless = len("2006-01-02T15:04:05")
	if err != nil || p.options.Zone == nil || len(text) != zoneless {
		return at, err
	}
	first, _, ok := record.InZone(at, p.options.Zone)
	if !ok {
		return at, fmt.Errorf("the clocks of %s skip %s", p.options.Zone, text)
	}
	return first, nil
}
