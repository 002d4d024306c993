package amplitude

import (
	"cmp"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
)

// Options control how an export is read. Nil stands for the defaults.
type Options struct {
	// KeepSessions imports the session_start events, which have no meaning to PostHog.
	KeepSessions bool

	// Groups makes $groupidentify events of the group properties of a record: see the section on groups in the
	// package documentation. By default they become the property $amplitude_group_properties.
	Groups bool

	// PersonProperties says how user properties, and the fields that describe the person, are sent.
	PersonProperties formats.PersonProperties

	// KeepAll keeps the fields that are dropped otherwise, with the prefix $amplitude_, and user_properties as
	// they were at each event.
	KeepAll bool

	// NoVisitorProfiles sends $process_person_profile false with the events that have no user_id, and no person
	// properties: these visitors get no person profile. By default each device gets one.
	NoVisitorProfiles bool

	// LookUpIP sends $geoip_disable false with the events that have an ip_address, so that PostHog looks the address up.
	// It replaces Amplitude's places by today's. By default nothing is looked up.
	LookUpIP bool
	// Mapping is the version of the mapping, as in an import that an earlier release began: see formats.MappingVersion.
	// The default is the newest.
	Mapping int
}

// Why records are skipped.
const (
	SkipNoID         = "no id"         // neither user_id nor device_id
	SkipNoEventType  = "no event_type" // the name of the event is missing
	SkipSessionStart = "session_start" // see Options.KeepSessions
	SkipMergedUsers  = "merged users"  // a row of the table of merged Amplitude IDs, which no event of PostHog has
	SkipNoGroup      = "no group"      // an event $groupidentify without a group
)

// Format reads the rows of Amplitude's export.
func Format(options *Options) history.Format {
	o := record.Options(options)
	o.Mapping = record.Mapping(o.Mapping)
	o.PersonProperties = cmp.Or(o.PersonProperties, formats.PersonSetOnce)
	text := record.OptionsText(", ", record.PersonText(o.PersonProperties), record.Flag("keep sessions", o.KeepSessions),
		record.Flag("groups", o.Groups), record.Flag("keep all", o.KeepAll), record.Flag("no visitor profiles", o.NoVisitorProfiles),
		record.Flag("look up ip", o.LookUpIP))
	return record.Format("amplitude", o.Mapping, text, o.PersonProperties.Check(), func() *converter { return newConverter(o) })
}

// namespace is that of all uuids that are derived here.
var namespace = uuid.MustParse("b3c0a5de-6f0b-5d3e-8a55-9d7c1c1f2a60")

// ID returns the record's uuid, or a uuid that is derived from its $insert_id, which is unique for a device. It
// returns zero if the record has neither.
func (s *converter) ID(isWhole bool) uuid.UUID {
	if !isWhole {
		return uuid.Nil
	}
	if own, err := record.ID("uuid", s.row.Get("uuid")); err == nil && own != "" {
		if id, ok := record.OwnUUID(own); ok {
			return id
		}
		return derived("uuid", own)
	}
	insert, err := record.ID("$insert_id", s.row.Get("$insert_id"))
	if err != nil || insert == "" {
		return uuid.Nil
	}
	device, err := record.ID("device_id", s.row.Get("device_id"))
	if err != nil || device == "" {
		user, _ := record.ID("user_id", s.row.Get("user_id"))
		return derived("user insert", user, insert)
	}
	return derived("insert", device, insert)
}

// derived is a uuid of a kind and of texts.
func derived(kind string, texts ...string) uuid.UUID {
	return record.Derived(namespace, kind+"\x00"+strings.Join(texts, "\x00"))
}
