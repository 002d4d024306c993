package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/term"
)

const formatsHelp = `List the formats of files that can be read, and how to read others.

Files may be packed with gzip, zstd or zip. To read a table or JSON of any other
tool, say what each column or member is, with --map TARGET=SOURCE. If a table
has no header, --header names its columns.

TARGET is one of:

  event person time     required; a time without an offset is in --zone, and
                        refused if there is no --zone
  uuid anonymous        an id of the event; another id of the person
  $set.NAME             a person property; also $set_once.NAME
  NAME                  a property; in quotes ("time") if it is another target
  *                     all members of an object become properties
  drop                  left out

SOURCE is a column, a path such as properties.time, or const:TEXT. Quote a name
with dots or bars ("a.b"). A column or path can be followed by how it is read:

  |unix |unixms |unixus       the time in units since 1970
  |layout:02.01.2006 15:04    the time as 2 January 2006, 15:04:05 is written
  |number                     a text that is a number
  |json                       a text that is JSON

If a target has several sources, the first one that is not empty counts. Columns
without --map become properties with their own names; the columns event,
distinct_id, timestamp, uuid and anonymous_id need no --map.

A record is rejected if its time cannot be read to the end, or if the clocks of
the zone skip it. If the clocks show a time twice, the first one counts.`

const formatsExample = `  hogimport run --format csv actions.csv --map event=action \
      --map person=user --map person=device --map 'time=when|unix'
  hogimport run --format csv visits.csv --header event,distinct_id,timestamp
  hogimport run --format json app.log.gz --map event=const:visit \
      --map 'person=user.id' --map 'time=at' --map '*=data' --zone UTC`

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

// guess returns the format of the first record of a file, for advice, or "" if it is not known.
func guess(ctx context.Context, path string) string {
	var record []byte
	var columns []string // of a table
	probe := hogapi.Format{
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
	first := func(layout hogapi.Layout) {
		probe.Layout = layout
		hogapi.FileSource(probe, path).Events(ctx, hogapi.Position{})(func(hogapi.Event, error) bool { return false })
	}
	first(hogapi.LayoutJSON)
	if record == nil {
		first(hogapi.LayoutCSV)
	}
	switch {
	case len(columns) > 1:
		return "csv"
	case len(columns) == 1 && strings.Contains(columns[0], "\t"):
		return "tsv"
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(record, &members) != nil {
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
