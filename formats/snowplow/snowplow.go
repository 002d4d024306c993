package snowplow

import (
	"slices"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
)

// Reasons why events are skipped.
const (
	SkipNoID     = "no id"     // user_id, domain_userid and network_userid are empty
	SkipPagePing = "page ping" // without Options.KeepPagePings
)

// SessionKey is the property with the id of a session, for formats.SessionOptions.Key.
const SessionKey = "snowplow_session_id"

// Options control how events are read. Nil stands for the defaults.
type Options struct {
	// HasNames reads tables with a header or JSON objects, such as rows of the table atomic.events. By default, a
	// line has the values of the 131 columns of an enriched event, divided by tabs.
	HasNames bool
	// KeepPagePings keeps events page_ping, by which trackers measure the time on a page.
	KeepPagePings bool
	// Fingerprints makes the uuid of event_id and event_fingerprint. Bots send different events with one event_id, of
	// which otherwise one is left. Uuids are others than with the default, which is the event_id itself.
	Fingerprints bool
	// UserAgent reads the column useragent, for $browser, $browser_version, $os, $os_version and $device_type. The
	// module formats/useragent has such a function. Nil: only derived contexts and older columns tell them.
	UserAgent formats.AgentParser
	// LookUpIP sends events with an address and without a country with $geoip_disable: false, so that PostHog looks
	// up where the address is today. By default, an import turns this off.
	LookUpIP bool
	// Mapping is the version of the mapping, as in an import that an earlier release began: see formats.MappingVersion.
	// The default is the newest.
	Mapping int
}

// Format reads enriched events of Snowplow.
func Format(options *Options) history.Format {
	o := record.Options(options)
	o.Mapping = record.Mapping(o.Mapping)
	text := record.OptionsText(", ", record.Flag("names", o.HasNames), record.Flag("page pings", o.KeepPagePings),
		record.Flag("fingerprints", o.Fingerprints), record.Flag("user agent", o.UserAgent != nil), record.Flag("look up ip", o.LookUpIP))
	f := record.Format("snowplow", o.Mapping, text, nil, func() *converter { return newConverter(o) })
	f.Layout = history.LayoutAny
	if !o.HasNames {
		f.Layout, f.Columns = history.LayoutTSV, slices.Clone(columns)
	}
	return f
}

// space is the namespace of ids that are no UUIDs.
var space = uuid.MustParse("7d9a3f52-8c1e-5b06-9f47-51c2e0b8d3a6")
