package mixpanel

import (
	"bytes"
	"cmp"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
)

// Options control how an export is read. Nil stands for the defaults.
type Options struct {
	// Zone is the project's time zone, if the project exports local time, which [CheckZone] finds out. The default
	// is UTC. Use a zone from time.LoadLocation, which knows when its clocks change.
	Zone *time.Location

	// DevicePrefix puts "$device:" before the ids of devices in [hogapi.Event.AnonymousID]. Projects with
	// simplified ID merge write the distinct_id of a visitor before the login in this form. By default it is the
	// id alone, as in older projects and in PostHog's own importer.
	DevicePrefix bool

	// PersonProperties says how the properties that describe the person are sent.
	PersonProperties formats.PersonProperties

	// KeepDeleted imports the events that are marked as deleted, and the marks.
	KeepDeleted bool

	// KeepAll keeps the properties that are dropped otherwise, with the prefix $mixpanel_: see the table in the
	// package documentation.
	KeepAll bool

	// WholeKey derives uuids from all four parts of Mixpanel's own key: name, distinct_id, time and $insert_id.
	// Use it if Check warns of different events with one uuid. The uuids then differ from the uuids of PostHog's
	// own importer, and of an export with other times.
	WholeKey bool

	// Groups are the properties with the keys of groups, and the types of the groups, such as company_id and
	// "company": Mixpanel has them as plain properties. They get into $groups, and stay as properties too. Of a list,
	// the first key counts.
	Groups map[string]string

	// NoID is the distinct id of events that do not name a person, such as events of servers: they become events of one
	// person. By default, they are skipped: see [SkipNoID].
	NoID string

	// NoVisitorProfiles sends the events of visitors who have not logged in with $process_person_profile: false, so that
	// no person is made for them: such events have the id of a device and no $user_id.
	NoVisitorProfiles bool

	// LookUpIP sends events with an $ip and without a country with $geoip_disable: false, so that PostHog looks up where
	// the address is today. By default, an import turns this off.
	LookUpIP bool
	// Mapping is the version of the mapping, as in an import that an earlier release began: see formats.MappingVersion.
	// The default is the newest.
	Mapping int
}

// Why records are skipped.
const (
	SkipNoID    = "no id"               // neither distinct_id nor $user_id nor $device_id
	SkipDeleted = "deleted in Mixpanel" // $is_deleted, or an event $delete: see Options.KeepDeleted
)

// Format reads the lines of Mixpanel's raw export.
func Format(options *Options) history.Format {
	o := record.Options(options)
	o.Mapping = record.Mapping(o.Mapping)
	o.PersonProperties = cmp.Or(o.PersonProperties, formats.PersonSetOnce)
	return record.Format("mixpanel", o.Mapping, o.text(), o.fault(), func() *converter { return newConverter(o) })
}

// fault is the error of the options, with which no record is converted.
func (o Options) fault() error {
	if o.Zone == time.Local {
		return fmt.Errorf("%s: want the project's time zone by its name, not time.Local, "+
			"which is another one on every machine", "Zone")
	}
	return o.PersonProperties.Check()
}

// text names the options that differ from the defaults. A zone has its offsets, since two can have
// one name.
func (o Options) text() string {
	zone := ""
	if o.Zone != nil && o.Zone != time.UTC {
		_, winter := time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC).In(o.Zone).Zone()
		_, summer := time.Date(2020, 7, 1, 0, 0, 0, 0, time.UTC).In(o.Zone).Zone()
		zone = fmt.Sprintf("zone=%s %ds/%ds", o.Zone, winter, summer)
	}
	noID := ""
	if o.NoID != "" {
		noID = fmt.Sprintf("no id=%q", o.NoID)
	}
	return record.OptionsText(", ", zone, record.PersonText(o.PersonProperties), record.Flag("device prefix", o.DevicePrefix),
		record.Flag("keep deleted", o.KeepDeleted), record.Flag("keep all", o.KeepAll), record.Flag("whole key", o.WholeKey),
		record.GroupsText(o.Groups), noID, record.Flag("no visitor profiles", o.NoVisitorProfiles), record.Flag("look up ip", o.LookUpIP))
}

// namespace is that of PostHog's own importer, so that both give a record the same uuid.
var namespace = uuid.UUID([]byte("posthog_mixpanel"))

var wholeNamespace = uuid.MustParse("6d1f8f0c-2a51-5b0a-9a3e-0f2f7f1a9c44")

// ID returns a uuid that is derived from $insert_id, or zero without one.
func (s *converter) ID(isWhole bool) uuid.UUID {
	if !isWhole {
		return uuid.Nil
	}
	insert, err := record.ID("$insert_id", s.get("$insert_id"))
	if err != nil || insert == "" {
		return uuid.Nil
	}
	if !s.options.WholeKey {
		return record.Derived(namespace, insert)
	}
	key := bytes.Join([][]byte{s.name, s.get("distinct_id"), s.get("time"), s.get("$insert_id")}, []byte{'\n'})
	return record.Derived(wholeNamespace, key)
}
