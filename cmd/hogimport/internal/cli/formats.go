package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/formats/ga4"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/formats/heap"
	"github.com/hogapi/hogapi/formats/matomo"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/formats/parquet"
	"github.com/hogapi/hogapi/formats/pendo"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/formats/segment"
	"github.com/hogapi/hogapi/formats/snowplow"
	"github.com/hogapi/hogapi/formats/umami"
	"github.com/hogapi/hogapi/formats/useragent"
	"github.com/hogapi/hogapi/formats/warehouse"
	"github.com/hogapi/hogapi/history"
)

const formatsHelp = `List the formats of files that can be read, and how to read others.

Files may be packed with gzip, zstd or zip. To read a table or JSON of any other
tool, say what each column or member is, with --map TARGET=SOURCE. If a table
has no header, --header names its columns.

TARGET is one of:

  event person time     required; a time without an offset is in --zone, and
                        refused if there is no --zone
  uuid anonymous        an id of the event; another id of the person
  session               the id of a session, of which --sessions makes sessions
  $set.NAME             a person property; also $set_once.NAME
  NAME                  a property; in quotes ("time") if it is another target
  *                     all members of an object become properties
  []                    each element of a list becomes an event
  drop                  the column is left out
  skip                  the record is left out if a condition holds

SOURCE is a column, a path such as properties.time, or const:TEXT. Quote a name
with dots or bars ("a.b"). A column or path can be followed by steps:

  |unix |unixms |unixus |unixns  the time in units since 1970
  |layout:02.01.2006 15:04       the time as 2 January 2006, 15:04:05 is
                                 written; the last step
  |zone:COLUMN                   the column that names the zone of the time,
                                 such as Europe/Berlin or +02:00
  |number                        a text that is a number
  |number:1.234,5                a number, as 1234.5 is written: also 1234,5
  |text                          a number as a text of the same digits
  |bool                          true, yes, 1 or false, no, 0
  |json                          a text that is JSON
  |json.PATH                     a member of the JSON in a text
  |prefix:TEXT                   a text before the id of a person, where ids of
                                 two columns can be equal
  |table:page_view=$pageview,login=signed in,*=*
                                 other texts for some values: *=* keeps the
                                 rest, which is refused if there is no *

and, for skip and drop:

  skip=COLUMN|is:TEXT,TEXT       one of the texts; |not:… any other, or empty
  skip=COLUMN|empty              also |filled
  drop=*|empty                   columns are left out where they are empty

If a target has several sources, the first one that is not empty counts. One
column can be the source of several targets. Columns without --map become
properties with their own names; the columns event, distinct_id, timestamp, uuid
and anonymous_id need no --map. With '[]=hits', the other entries name members
of an element as hits.NAME, and '*=hits' makes all of them properties.

A record is rejected if a value cannot be read to the end as its step says, or
if the clocks of the zone skip its time. If they show a time twice, the first
one counts. A record with a bad element in its list is rejected as a whole.`

const formatsExample = `  hogimport run --format csv actions.csv --map event=action \
      --map person=user --map person=device --map 'time=when|unix'
  hogimport run --format csv visits.csv --header event,distinct_id,timestamp
  hogimport run --format json app.log.gz --map event=const:visit \
      --map 'person=user.id' --map 'time=at' --map '*=data' --zone UTC
  hogimport run --format json visits.json --map '[]=hits' --map '*=hits' \
      --map 'event=hits.type|table:page=$pageview,*=*' \
      --map 'time=hits.at|unixms' --map person=visitor --map 'skip=bot|is:true'`

func newFormatsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "formats", Short: "List the formats of files, and how --map reads others",
		Long: formatsHelp, Example: formatsExample, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			names := slices.Sorted(maps.Keys(vendors))
			if a.JSON {
				return json.NewEncoder(a.Out).Encode(names)
			}
			table := term.NewTable(a.Out)
			for _, name := range names {
				fmt.Fprintf(table, "%s\t%s\n", name, vendors[name].what)
			}
			return table.Flush()
		},
	}
}

// formatByName returns the format that the name of a file stands for, packed or not, or "".
func formatByName(path string) string {
	for _, packed := range []string{".gz", ".zst"} {
		path = strings.TrimSuffix(path, packed)
	}
	for end, format := range map[string]string{".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".tsv": "tsv"} {
		if strings.HasSuffix(path, end) {
			return format
		}
	}
	return ""
}

// head returns the first record of a file, or the columns of a table, with tabs between them or not.
func head(ctx context.Context, path string) (columns []string, isTabs bool, record []byte) {
	probe := history.Format{
		Name: "probe",
		Convert: func(raw []byte) ([]hogapi.Event, error) {
			if record == nil {
				record = slices.Clone(raw)
			}
			return nil, errors.New("a probe")
		},
		CheckColumns: func(names []string) error {
			columns = names
			return errors.New("a probe")
		},
	}
	first := func(layout history.Layout) {
		probe.Layout = layout
		source := history.Files(probe, path)
		if isParquet(path) {
			source = parquet.Files(probe, nil, path)
		}
		source.Events(ctx, hogapi.Position{})(func(hogapi.Event, error) bool { return false })
	}
	first(history.LayoutJSON)
	if record == nil {
		first(history.LayoutCSV)
	}
	if record == nil && columns == nil { // JSON in a line has quotes that CSV does not take
		first(history.LayoutTSV)
	}
	if len(columns) == 1 && strings.Contains(columns[0], "\t") {
		columns, isTabs = strings.Split(columns[0], "\t"), true
	}
	return columns, isTabs, record
}

// guess returns the format of the first record of a file, for advice, or "" if it is not known.
func guess(ctx context.Context, path string) string {
	columns, isTabs, record := head(ctx, path)
	switch {
	case len(columns) == snowplowColumns:
		return "snowplow"
	case len(columns) > 1:
		found := guessTable(columns)
		if found == "csv" && isTabs {
			return "tsv"
		}
		return found
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(inner(record), &members) != nil {
		return ""
	}
	has := func(in map[string]json.RawMessage, names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool { return in[name] == nil })
	}
	var properties map[string]json.RawMessage
	_ = json.Unmarshal(members["properties"], &properties)
	switch {
	case has(members, "event_type") && (has(members, "device_id") || has(members, "user_id")):
		return "amplitude"
	case has(members, "idVisit", "actionDetails"):
		return "matomo"
	case has(members, "visitorId") && (has(members, "browserTimestamp") || has(members, "guideId")):
		return "pendo"
	case has(members, "event_name", "event_timestamp"):
		return "ga4"
	case has(members, "messageId") && (has(members, "type") || has(members, "event")):
		return "segment"
	case has(members, "event", "properties") && has(properties, "distinct_id") && !has(members, "timestamp"):
		return "mixpanel"
	case has(members, "uuid", "event", "distinct_id", "timestamp", "created_at"):
		return "posthog"
	case has(members, "event", "timestamp") && (has(members, "distinct_id") || has(properties, "distinct_id")):
		return "jsonl"
	}
	return ""
}

// snowplowColumns is the number of values in a line of Snowplow's enriched events.
const snowplowColumns = 131

// guessTable returns the format of a CSV file by its columns.
func guessTable(columns []string) string {
	has := func(names ...string) bool {
		return !slices.ContainsFunc(names, func(name string) bool {
			return !slices.ContainsFunc(columns, func(column string) bool { return strings.EqualFold(column, name) })
		})
	}
	switch {
	case has("event_id", "collector_tstamp"):
		return "snowplow"
	case has("id", "anonymous_id", "received_at", "timestamp"):
		return "segment-warehouse"
	case has("event_type", "event_time", "device_id", "user_id"):
		return "amplitude-warehouse"
	case has("name", "timestamp", "user_pseudo_id"):
		return "ga4-warehouse"
	case has("event_id", "session_id", "visit_id", "website_id"):
		return "umami"
	case has("event_id", "user_id", "session_id", "landing_page"):
		return "heap"
	case has("visitor_id", "type", "guide_id"):
		return "pendo"
	}
	return "csv"
}

// otherFormat returns the format that the files look like, if it is not the given one.
func (in *input) otherFormat(ctx context.Context) string {
	paths := in.paths()
	if len(paths) == 0 {
		return ""
	}
	found := guess(ctx, paths[0])
	isSame := found == in.Format || in.Format == "generic" && isMapped(found) || in.Format == "rudderstack" && found == "segment"
	if isSame || isMapped(in.Format) && len(in.Map) > 0 && !isMapped(found) { // the map decides about the records
		return ""
	}
	return found
}

func (in *input) looksLike(ctx context.Context) string {
	if found := in.otherFormat(ctx); found != "" {
		return "The files look like --format " + found + ". "
	}
	return ""
}

// vendor is a format that --format names.
type vendor struct {
	what        string // for people
	hasSessions bool   // its events have the $session_id of the vendor's own sessions
	sessionKey  string // the property with the vendor's own id of a session, of which --sessions makes sessions
	isOfPeople  bool   // its events are states of persons, and no visits
	isHistory   bool   // of several states of a person, only the newest is sent
	make        func(in *input, person formats.PersonProperties, zone *time.Location) (history.Format, error)
}

// vendors has all formats by name. JSON lines have no Format.
var vendors = map[string]vendor{
	"jsonl": {what: "PostHog's own lines: event, distinct_id, timestamp, properties"},
	"posthog": {what: "files of PostHog's batch exports and file downloads, Parquet or JSON lines; sorted unless --sort=false", make: func(_ *input, person formats.PersonProperties, _ *time.Location) (history.Format, error) {
		return posthogexport.Format(&posthogexport.Options{PersonProperties: person}), nil
	}},
	"mixpanel": {what: "Mixpanel's raw export; --zone for projects made before 2023", make: func(in *input, person formats.PersonProperties, zone *time.Location) (history.Format, error) {
		return mixpanel.Format(&mixpanel.Options{
			Mapping: in.mapping, WholeKey: in.WholeKey, NoID: in.NoID, Zone: zone, DevicePrefix: in.DevicePrefix, PersonProperties: person, Groups: in.groups(), NoVisitorProfiles: in.NoVisitorProfiles, LookUpIP: in.LookUpIP,
		}), nil
	}},
	"mixpanel-people": {what: "profiles of Mixpanel's people, as its Engage API has them; after the events", isOfPeople: true, make: func(in *input, person formats.PersonProperties, zone *time.Location) (history.Format, error) {
		if person == formats.PersonNone {
			return history.Format{}, shell.UsageError("--set-policy strip leaves nothing of profiles", "leave it out")
		}
		return mixpanel.PeopleFormat(&mixpanel.PeopleOptions{Mapping: in.mapping, Zone: zone, PersonProperties: person}), nil
	}},
	"amplitude": {what: "Amplitude's export, the zip files as they are; use --sort", hasSessions: true, make: func(in *input, person formats.PersonProperties, _ *time.Location) (history.Format, error) {
		return amplitude.Format(&amplitude.Options{Mapping: in.mapping, PersonProperties: person}), nil
	}},
	"amplitude-people": {what: "the newest user properties of each person in Amplitude's export; after the events", isOfPeople: true, isHistory: true, make: func(in *input, person formats.PersonProperties, _ *time.Location) (history.Format, error) {
		o, err := in.amplitudePeople(person)
		return amplitude.PeopleFormat(o), err
	}},
	"segment":     {what: "Segment's raw calls; --group-type for group calls", make: segmentFormat},
	"rudderstack": {what: "RudderStack's raw calls, in the form of Segment", make: segmentFormat},
	"ga4": {what: "Google Analytics 4, rows of BigQuery's events_ tables as JSON", hasSessions: true, make: func(in *input, person formats.PersonProperties, _ *time.Location) (history.Format, error) {
		return ga4.Format(&ga4.Options{Mapping: in.mapping, PersonProperties: person}), nil
	}},
	segmentWarehouse: {what: "Segment's or RudderStack's tables tracks, pages, identifies and others of a warehouse, as CSV", make: func(in *input, person formats.PersonProperties, _ *time.Location) (history.Format, error) {
		return warehouse.Segment(segmentOptions(in, person), &warehouse.Options{Table: in.Table, Numbers: in.Numbers}), nil
	}},
	"amplitude-warehouse": {what: "Amplitude's events in a table of a warehouse, such as Fivetran's, as CSV", hasSessions: true, make: func(in *input, person formats.PersonProperties, _ *time.Location) (history.Format, error) {
		return warehouse.Amplitude(&amplitude.Options{PersonProperties: person, Mapping: in.mapping}, &warehouse.Options{Numbers: in.Numbers}), nil
	}},
	"amplitude-warehouse-people": {what: "the newest user properties of each person in such a table; after the events", isOfPeople: true, isHistory: true, make: func(in *input, person formats.PersonProperties, _ *time.Location) (history.Format, error) {
		o, err := in.amplitudePeople(person)
		return warehouse.AmplitudePeople(o, &warehouse.Options{Numbers: in.Numbers}), err
	}},
	"ga4-warehouse": {what: "Google Analytics 4 in Fivetran's table event, as CSV", hasSessions: true, make: func(in *input, person formats.PersonProperties, _ *time.Location) (history.Format, error) {
		return warehouse.GA4(&ga4.Options{PersonProperties: person, Mapping: in.mapping}, &warehouse.Options{Numbers: in.Numbers}), nil
	}},
	"snowplow": {what: "Snowplow's enriched events, lines of 131 columns", sessionKey: snowplow.SessionKey, make: func(in *input, _ formats.PersonProperties, _ *time.Location) (history.Format, error) {
		return snowplow.Format(&snowplow.Options{Mapping: in.mapping, HasNames: in.NamedColumns, Fingerprints: in.Fingerprints, UserAgent: agents()}), nil
	}},
	"umami": {what: "Umami's table website_event as CSV", sessionKey: umami.SessionKey, make: func(in *input, _ formats.PersonProperties, _ *time.Location) (history.Format, error) {
		return umami.Format(&umami.Options{Mapping: in.mapping}), nil
	}},
	"matomo": {what: "Matomo's visits (Live.getLastVisitsDetails) as JSON; --zone is that of the site", hasSessions: true, make: func(in *input, _ formats.PersonProperties, zone *time.Location) (history.Format, error) {
		return matomo.Format(&matomo.Options{Mapping: in.mapping, Zone: zone, NoGoals: in.NoGoals}), nil
	}},
	"heap": {what: "Heap Connect's tables pageviews, users and user_migrations of a warehouse, as CSV", sessionKey: heap.SessionKey, make: func(in *input, person formats.PersonProperties, _ *time.Location) (history.Format, error) {
		return heap.Format(&heap.Options{Mapping: in.mapping, Event: in.Table, PersonProperties: person}), nil
	}},
	"pendo": {what: "Pendo's single events: guideEvents, pollEvents and Data Sync, as JSON or CSV; no totals", make: func(in *input, _ formats.PersonProperties, _ *time.Location) (history.Format, error) {
		return pendo.Format(&pendo.Options{Mapping: in.mapping, GroupType: in.GroupType, UserAgent: agents()}), nil
	}},
	"json":    {what: "any JSON, with --map", make: mappedFormat(history.LayoutJSON)},
	"csv":     {what: "any table, with --map; --header where it has no header", make: mappedFormat(history.LayoutCSV)},
	"generic": {what: "JSON or a table, as the file begins", make: mappedFormat(history.LayoutAny)},
	"tsv":     {what: "a table divided by tabs, without quotes, with --map", make: mappedFormat(history.LayoutTSV)},
}

const segmentWarehouse = "segment-warehouse"

func segmentFormat(in *input, person formats.PersonProperties, _ *time.Location) (history.Format, error) {
	return segment.Format(segmentOptions(in, person)), nil
}

func (in *input) amplitudePeople(person formats.PersonProperties) (*amplitude.PeopleOptions, error) {
	if person == formats.PersonNone {
		return nil, shell.UsageError("--set-policy strip leaves nothing of user properties", "leave it out")
	}
	return &amplitude.PeopleOptions{PersonProperties: person, Mapping: in.mapping}, nil
}

func segmentOptions(in *input, person formats.PersonProperties) *segment.Options {
	return &segment.Options{
		Mapping: in.mapping, GroupType: in.GroupType, NoGroups: in.GroupType == "", PersonProperties: person, UserAgent: agents(),
		NoVisitorProfiles: in.NoVisitorProfiles, LookUpIP: in.LookUpIP,
	}
}

// agents parses user agents, and remembers the newest ones.
var agents = sync.OnceValue(func() formats.AgentParser {
	const remembered = 10_000
	return useragent.Cached(remembered)
})

func mappedFormat(layout history.Layout) func(*input, formats.PersonProperties, *time.Location) (history.Format, error) {
	return func(in *input, _ formats.PersonProperties, zone *time.Location) (history.Format, error) {
		format, err := generic.Format(&generic.Options{Mapping: in.mapping, Name: in.Format, Layout: layout, Header: in.Header, Map: in.Map, Zone: zone})
		if err != nil {
			lines := strings.Split(page.InFlags(err.Error()), "\n") // where in the text of --map a mistake is
			return format, &shell.Fault{Code: shell.CodeUsage, Text: lines[0], Lines: lines[1:], Todo: "see hogimport formats --help"}
		}
		return worded(format), nil
	}
}
