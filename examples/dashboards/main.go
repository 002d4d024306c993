// Command dashboards prints the dashboards of a project as a table. It only reads.
package main

import (
	"cmp"
	"context"
	"io"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/demo"
)

func main() { demo.Main(run) }

func run(ctx context.Context, out io.Writer, _ []string) error {
	site, err := demo.Connect(out, demo.PersonalKey)
	if err != nil {
		return err
	}
	defer site.Close()

	table := demo.Table(out, "ID", "NAME", "TAGS", "PINNED", "SHARED", "MAY EDIT", "CREATED")
	for d, err := range site.Client.Dashboards.All(ctx, nil) {
		if err != nil {
			return err
		}
		name := "(no name)"
		if d.Name != nil {
			name = cmp.Or(*d.Name, name)
		}
		mayEdit := d.EffectivePrivilegeLevel == hogapi.CanEdit
		demo.Row(table, d.ID, name, strings.Join(d.Tags, ", "), yes(d.Pinned), yes(d.IsShared), yes(mayEdit), d.CreatedAt.Format(time.DateOnly))
	}
	return table.Flush()
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "-"
}
