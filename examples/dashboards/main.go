// Command dashboards prints the dashboards of a project as a table. It only reads.
//
// Without keys it works with a fake of the service.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/demo"
	"github.com/hogapi/hogapi/hogapitest"
)

func main() { demo.Main(run) }

func run(ctx context.Context, out io.Writer, _ []string) error {
	client, fake, err := demo.Connect(out)
	if err != nil {
		return err
	}
	if fake != nil {
		seed(fake.Project(hogapitest.DefaultProject))
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tNAME\tTAGS\tPINNED\tSHARED\tMAY EDIT\tCREATED")
	for d, err := range client.Dashboards.All(ctx, nil) {
		if err != nil {
			return err
		}
		name := "(no name)"
		if d.Name != nil {
			name = cmp.Or(*d.Name, name)
		}
		mayEdit := d.EffectivePrivilegeLevel == hogapi.PrivilegeCanEdit
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\t%s\t%s\t%s\n", d.ID, name, strings.Join(d.Tags, ", "),
			yes(d.Pinned), yes(d.IsShared), yes(mayEdit), d.CreatedAt.Format(time.DateOnly))
	}
	return table.Flush()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "-"
}
