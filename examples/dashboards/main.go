// Command dashboards prints the dashboards of a project as a table. It only reads.
//
// Without keys it works with a fake of the service.
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/hogapi/hogapi"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, _ []string) error {
	client, err := connect(out)
	if err != nil {
		return err
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
