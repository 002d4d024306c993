package pendo

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/internal/record"
	"github.com/hogapi/hogapi/history"
)

// SkipNoID is why events are skipped that have no visitorId.
const SkipNoID = "no id"

// Options control how events are read. Nil stands for the defaults.
type Options struct {
	// GroupType is the type of the groups of accountId. The default is account.
	GroupType string
	// UserAgent reads userAgent, for $browser, $browser_version, $os, $os_version and $device_type. The module
	// formats/useragent has such a function. Nil: the agent stays a text.
	UserAgent formats.AgentParser
	// LookUpIP sends events with an address and without a country with $geoip_disable: false, so that PostHog looks
	// up where the address is today. By default, an import turns this off.
	LookUpIP bool
	// Mapping is the version of the mapping, as in an import that an earlier release began: see formats.MappingVersion.
	// The default is the newest.
	Mapping int
}

// Format reads single events of Pendo: events of guides and polls from its API or a loader, and events of Data Sync.
func Format(options *Options) history.Format {
	o := record.Options(options)
	o.Mapping = record.Mapping(o.Mapping)
	o.GroupType = cmp.Or(o.GroupType, "account")
	text := record.OptionsText(", ", record.Flag("group="+strconv.QuoteToASCII(o.GroupType), o.GroupType != "account"),
		record.Flag("user agent", o.UserAgent != nil), record.Flag("look up ip", o.LookUpIP))
	f := record.Format("pendo", o.Mapping, text, nil, func() *converter {
		return &converter{options: o, row: record.NewRows(table, prefix)}
	})
	f.Layout, f.CheckColumns = history.LayoutAny, checkColumns
	return f
}

// space is the namespace of ids that are no UUIDs.
var space = uuid.MustParse("5be0a7c3-94d1-5e26-a3f8-17c46d9b0e82")

// errTotals refuses the rows of the API's sources events, pageEvents and featureEvents.
var errTotals = errors.New("this is a total of an hour (numEvents, numMinutes) and no event: " +
	"how many events of which kind, and when in the hour, is lost. Use the events of Pendo's Data Sync, or the sources guideEvents and pollEvents of its API")

// checkColumns refuses tables with totals, and tables of other vendors.
func checkColumns(columns []string) error {
	has := func(name string) bool {
		return slices.ContainsFunc(columns, func(column string) bool { return camel(column) == name })
	}
	switch {
	case has("numEvents") || has("numMinutes"):
		return errTotals
	case !has("visitorId"), !has("type") && !has("eventType"), !has("timestamp") && !has("browserTimestamp"):
		return errors.New("this is not a table of Pendo's events, which has columns visitor_id, type and timestamp")
	}
	return nil
}

// camel is a name as Pendo writes it, of one as a loader does: visitor_id is visitorId.
func camel(name string) string {
	switch {
	case !strings.Contains(name, "_") && name == strings.ToUpper(name):
		return strings.ToLower(name)
	case strings.HasPrefix(name, "_") || !strings.Contains(name, "_"):
		return name
	}
	parts := strings.Split(strings.ToLower(name), "_")
	for i, part := range parts[1:] {
		if part != "" {
			parts[i+1] = strings.ToUpper(part[:1]) + part[1:]
		}
	}
	return strings.Join(parts, "")
}
