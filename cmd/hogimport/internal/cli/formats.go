package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi/cmd/hogimport/internal/term"
)

const formatsHelp = `List the formats of files that can be read, and how to read others.

Files may be packed with gzip, zstd or zip. Of files of an unknown form, --map
says what their columns or members are, TARGET=SOURCE; --header names the
columns of a table that has no header:

  event person time     what every event needs; time without an offset is in
                        --zone, and refused without one
  uuid anonymous        an id of the event; another id of the person
  $set.NAME             a person property; also $set_once.NAME
  NAME                  a property; in quotes ("time") if it is such a word
  *                     all members of an object become properties
  drop                  left out

The source is a column, or a path such as properties.time; names with dots or
bars are quoted ("a.b"). It can be followed by how it is read:

  |unix |unixms |unixus       the time in units since 1970
  |layout:02.01.2006 15:04    the time as 2 January 2006, 15:04:05 is written
  |number                     a text that is a number
  |json                       a text that is JSON

or is const:TEXT. Of several sources for one target the first that is not empty
counts. What is not mapped stays a property of its own name; the columns event,
distinct_id, timestamp, uuid and anonymous_id need no mapping.

A time is read whole, or its record is rejected. A time that the clocks of the
zone skip is rejected; of one that they show twice the first counts.`

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
			if a.json {
				return json.NewEncoder(a.stdout).Encode(names)
			}
			table := term.NewTable(a.stdout)
			for _, name := range names {
				fmt.Fprintf(table, "%s\t%s\n", name, vendors[name].what)
			}
			return table.Flush()
		},
	}
}
