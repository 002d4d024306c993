package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"

	"github.com/spf13/cobra"
)

func newFormatsCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "formats", Short: "List the formats of files that can be read", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			names := slices.Sorted(maps.Keys(vendors))
			if a.json {
				return json.NewEncoder(a.stdout).Encode(names)
			}
			table := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
			for _, name := range names {
				fmt.Fprintf(table, "%s\t%s\n", name, vendors[name].what)
			}
			return table.Flush()
		},
	}
}
