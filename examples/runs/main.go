// Command runs says which intervals of each batch export are not exported, and repairs them: a nightly job. It
// ends with an error if anything is still not exported.
//
// With the real service it only shows the plan of the repair unless it is given -yes. Without keys it works with
// a fake.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/examples/internal/demo"
	"github.com/hogapi/hogapi/hogapitest"
)

func main() { demo.Main(run) }

func run(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("runs", flag.ExitOnError)
	sure := flags.Bool("yes", false, "repair in the real service too")
	if err := flags.Parse(args); err != nil {
		return err
	}
	client, fake, err := demo.Connect(out, hogapitest.WithPolls(2))
	if err != nil {
		return err
	}
	if fake != nil {
		seed(fake.Project(hogapitest.DefaultProject))
	}
	var open []error
	for export, err := range client.BatchExports.All(ctx, nil) {
		if err != nil {
			return err
		}
		covered, err := coverage.Of(ctx, client, export.ID, nil)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s\n\n", covered)
		plan, err := coverage.MakePlan(ctx, client, covered, nil)
		if err == nil && len(plan.Steps) > 0 && (*sure || fake != nil) {
			var report *coverage.Report
			report, err = coverage.Repair(ctx, client, plan, &coverage.RepairOptions{Watch: demo.Watch(fake)})
			if report != nil && report.After != nil {
				covered = report.After
			}
		}
		if fmt.Fprintf(out, "%s\n\n", plan); err != nil || len(covered.Gaps()) > 0 {
			open = append(open, fmt.Errorf("%s: gaps that are not exported: %d", export.Name, len(covered.Gaps())), err)
		}
	}
	return errors.Join(open...)
}
