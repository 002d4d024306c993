package cli

import (
	"strings"
	"sync"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/ga4"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/formats/heap"
	"github.com/hogapi/hogapi/formats/matomo"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/formats/pendo"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/formats/segment"
	"github.com/hogapi/hogapi/formats/snowplow"
	"github.com/hogapi/hogapi/formats/umami"
	"github.com/hogapi/hogapi/formats/useragent"
	"github.com/hogapi/hogapi/formats/warehouse"
)

// vendor is a format that --format names.
type vendor struct {
	what        string // for people
	hasSessions bool   // its events have the $session_id of the vendor's own sessions
	sessionKey  string // the property with the vendor's own id of a session, of which --sessions makes sessions
	isOfPeople  bool   // its events are states of persons, and no visits
	isHistory   bool   // of several states of a person, only the newest is sent
	make        func(in *input, person formats.PersonProperties, zone *time.Location) (hogapi.Format, error)
}

// vendors has all formats by name. JSON lines have no Format.
var vendors = map[string]vendor{
	"jsonl": {what: "PostHog's own lines: event, distinct_id, timestamp, properties"},
	"posthog": {what: "files of PostHog's batch exports and file downloads; events stay as they are; use --sort", make: func(_ *input, person formats.PersonProperties, _ *time.Location) (hogapi.Format, error) {
		return posthogexport.Format(&posthogexport.Options{PersonProperties: person}), nil
	}},
	"mixpanel": {what: "Mixpanel's raw export; --zone for projects made before 2023", make: func(in *input, person formats.PersonProperties, zone *time.Location) (hogapi.Format, error) {
		return mixpanel.Format(&mixpanel.Options{
			Zone: zone, DevicePrefix: in.Devices, PersonProperties: person, Groups: in.groups(), NoVisitorProfiles: in.NoVisitor, LookUpIP: in.LookUpIP,
		}), nil
	}},
	"mixpanel-people": {what: "profiles of Mixpanel's people, as its Engage API has them; after the events", isOfPeople: true, make: func(_ *input, person formats.PersonProperties, zone *time.Location) (hogapi.Format, error) {
		if person == formats.PersonNone {
			return hogapi.Format{}, shell.UsageError("--set-policy strip leaves nothing of profiles", "leave it out")
		}
		return mixpanel.PeopleFormat(&mixpanel.PeopleOptions{Zone: zone, PersonProperties: person}), nil
	}},
	"amplitude": {what: "Amplitude's export, the zip files as they are; use --sort", hasSessions: true, make: func(_ *input, person formats.PersonProperties, _ *time.Location) (hogapi.Format, error) {
		return amplitude.Format(&amplitude.Options{PersonProperties: person}), nil
	}},
	"amplitude-people": {what: "the newest user properties of each person in Amplitude's export; after the events", isOfPeople: true, isHistory: true, make: func(_ *input, person formats.PersonProperties, _ *time.Location) (hogapi.Format, error) {
		o, err := amplitudePeople(person)
		return amplitude.PeopleFormat(o), err
	}},
	"segment":     {what: "Segment's raw calls; --group-type for group calls", make: segmentFormat},
	"rudderstack": {what: "RudderStack's raw calls, in the form of Segment", make: segmentFormat},
	"ga4": {what: "Google Analytics 4, rows of BigQuery's events_ tables as JSON", hasSessions: true, make: func(_ *input, person formats.PersonProperties, _ *time.Location) (hogapi.Format, error) {
		return ga4.Format(&ga4.Options{PersonProperties: person}), nil
	}},
	segmentWarehouse: {what: "Segment's or RudderStack's tables tracks, pages, identifies and others of a warehouse, as CSV", make: func(in *input, person formats.PersonProperties, _ *time.Location) (hogapi.Format, error) {
		return warehouse.Segment(segmentOptions(in, person), &warehouse.Options{Table: in.Table, Numbers: in.Numbers}), nil
	}},
	"amplitude-warehouse": {what: "Amplitude's events in a table of a warehouse, such as Fivetran's, as CSV", hasSessions: true, make: func(in *input, person formats.PersonProperties, _ *time.Location) (hogapi.Format, error) {
		return warehouse.Amplitude(&amplitude.Options{PersonProperties: person}, &warehouse.Options{Numbers: in.Numbers}), nil
	}},
	"amplitude-warehouse-people": {what: "the newest user properties of each person in such a table; after the events", isOfPeople: true, isHistory: true, make: func(in *input, person formats.PersonProperties, _ *time.Location) (hogapi.Format, error) {
		o, err := amplitudePeople(person)
		return warehouse.AmplitudePeople(o, &warehouse.Options{Numbers: in.Numbers}), err
	}},
	"ga4-warehouse": {what: "Google Analytics 4 in Fivetran's table event, as CSV", hasSessions: true, make: func(in *input, person formats.PersonProperties, _ *time.Location) (hogapi.Format, error) {
		return warehouse.GA4(&ga4.Options{PersonProperties: person}, &warehouse.Options{Numbers: in.Numbers}), nil
	}},
	"snowplow": {what: "Snowplow's enriched events, lines of 131 columns", sessionKey: snowplow.SessionKey, make: func(*input, formats.PersonProperties, *time.Location) (hogapi.Format, error) {
		return snowplow.Format(&snowplow.Options{UserAgent: agents()}), nil
	}},
	"umami": {what: "Umami's table website_event as CSV", sessionKey: umami.SessionKey, make: func(*input, formats.PersonProperties, *time.Location) (hogapi.Format, error) {
		return umami.Format(nil), nil
	}},
	"matomo": {what: "Matomo's visits (Live.getLastVisitsDetails) as JSON; --zone is that of the site", hasSessions: true, make: func(_ *input, _ formats.PersonProperties, zone *time.Location) (hogapi.Format, error) {
		return matomo.Format(&matomo.Options{Zone: zone}), nil
	}},
	"heap": {what: "Heap Connect's tables pageviews, users and user_migrations of a warehouse, as CSV", sessionKey: heap.SessionKey, make: func(in *input, person formats.PersonProperties, _ *time.Location) (hogapi.Format, error) {
		return heap.Format(&heap.Options{Event: in.Table, PersonProperties: person}), nil
	}},
	"pendo": {what: "Pendo's single events: guideEvents, pollEvents and Data Sync, as JSON or CSV; no totals", make: func(in *input, _ formats.PersonProperties, _ *time.Location) (hogapi.Format, error) {
		return pendo.Format(&pendo.Options{GroupType: in.GroupType, UserAgent: agents()}), nil
	}},
	"json":    {what: "any JSON, with --map", make: mappedFormat(hogapi.LayoutJSON)},
	"csv":     {what: "any table, with --map; --header where it has no header", make: mappedFormat(hogapi.LayoutCSV)},
	"generic": {what: "JSON or a table, as the file begins", make: mappedFormat(hogapi.LayoutAny)},
	"tsv":     {what: "a table divided by tabs, without quotes, with --map", make: mappedFormat(hogapi.LayoutTSV)},
}

const segmentWarehouse = "segment-warehouse"

func segmentFormat(in *input, person formats.PersonProperties, _ *time.Location) (hogapi.Format, error) {
	return segment.Format(segmentOptions(in, person)), nil
}

func amplitudePeople(person formats.PersonProperties) (*amplitude.PeopleOptions, error) {
	if person == formats.PersonNone {
		return nil, shell.UsageError("--set-policy strip leaves nothing of user properties", "leave it out")
	}
	return &amplitude.PeopleOptions{PersonProperties: person}, nil
}

func segmentOptions(in *input, person formats.PersonProperties) *segment.Options {
	return &segment.Options{
		GroupType: in.GroupType, NoGroups: in.GroupType == "", PersonProperties: person, UserAgent: agents(),
		NoVisitorProfiles: in.NoVisitor, LookUpIP: in.LookUpIP,
	}
}

// agents parses user agents, and remembers the newest ones.
var agents = sync.OnceValue(func() formats.AgentParser {
	const remembered = 10_000
	return useragent.Cached(remembered)
})

func mappedFormat(layout hogapi.Layout) func(*input, formats.PersonProperties, *time.Location) (hogapi.Format, error) {
	return func(in *input, _ formats.PersonProperties, zone *time.Location) (hogapi.Format, error) {
		format, err := generic.Format(&generic.Options{Name: in.Format, Layout: layout, Header: in.Header, Map: in.Map, Zone: zone})
		if err != nil {
			lines := strings.Split(page.InFlags(err.Error()), "\n") // where in the text of --map a mistake is
			return format, &shell.Fault{Code: shell.CodeUsage, Text: lines[0], Lines: lines[1:], Todo: "see hogimport formats --help"}
		}
		return worded(format), nil
	}
}
