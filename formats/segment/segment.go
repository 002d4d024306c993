package segment

import (
	"cmp"
	"strconv"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
)

// Reasons why calls are skipped.
const (
	SkipNoID   = "no id"      // neither userId nor anonymousId
	SkipNoTime = "no time"    // neither timestamp nor originalTimestamp nor sentAt
	SkipGroup  = "group call" // with Options.NoGroups
)

// Options control how calls become events. Nil stands for the defaults.
type Options struct {
	// GroupType is the type of the groups of group calls and of context.groupId, such as "company": Segment has no
	// group types, and PostHog needs one. A text in traits.groupType of a group call takes precedence. Without a
	// type, a group call is rejected, and context.groupId is kept in the property context.
	GroupType string
	// NoGroups skips group calls.
	NoGroups bool
	// PersonProperties says how the traits of identify calls are sent.
	PersonProperties formats.PersonProperties
	// UserAgent reads context.userAgent, for $browser, $browser_version, $os, $os_version and $device_type, where the
	// call does not have them itself. The module formats/useragent has such a function. Nil: the agent stays a text.
	UserAgent formats.AgentParser
	// NoVisitorProfiles sends track, page and screen calls without a userId with $process_person_profile: false, so
	// that no person is made for a visitor who has not logged in.
	NoVisitorProfiles bool
	// LookUpIP sends events with context.ip with $geoip_disable: false, so that PostHog looks up where the address
	// is today. By default, an import turns this off.
	LookUpIP bool
	// Mapping is the version of the mapping, as in an import that an earlier release began: see formats.MappingVersion.
	// The default is the newest.
	Mapping int
}

// Format reads the calls that Segment and RudderStack write to files: track, page, screen,
// identify, group and alias, one JSON object each.
func Format(options *Options) history.Format {
	o := record.Options(options)
	o.Mapping = record.Mapping(o.Mapping)
	o.PersonProperties = cmp.Or(o.PersonProperties, formats.PersonSetOnce)
	return record.Format("segment", o.Mapping, o.text(), o.PersonProperties.Check(), func() *converter { return newConverter(o) })
}

// text names the options that differ from the defaults.
func (o Options) text() string {
	return record.OptionsText(",", record.Flag("group="+strconv.QuoteToASCII(o.GroupType), o.GroupType != ""),
		record.Flag("groups=off", o.NoGroups), record.PersonText(o.PersonProperties),
		record.Flag("user agent", o.UserAgent != nil), record.Flag("no visitor profiles", o.NoVisitorProfiles),
		record.Flag("look up ip", o.LookUpIP))
}

// space is the namespace of message ids that are no UUIDs.
var space = uuid.MustParse("8c1f6b0e-2d47-5a39-9b6e-73a1d0c5e4f2")

func uuidOf(raw []byte) uuid.UUID { return record.UUID(space, record.Text(raw)) }
