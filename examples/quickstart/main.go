// Command quickstart shows the whole package once, in about 15 seconds: it creates a batch export and
// backfills it, lists all exports, and imports 11,576 past events. The import is a process of its own,
// which is killed half way and started again. Then the stored events are compared with the file: no
// event is lost, and no event is there twice.
//
// Without keys it works with a fake of the service. With keys it prints its plan, and carries it out
// only with -yes: this package cannot delete events, and exports cost money.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/examples/internal/demo"
	"github.com/hogapi/hogapi/hogapitest"
)

func main() {
	demo.Main(func(ctx context.Context, out io.Writer, args []string) error {
		if len(args) > 0 && args[0] == importCommand {
			return importFile(ctx, out, args[1:])
		}
		return run(ctx, out, args)
	})
}

// quickstart is the state that the steps share.
type quickstart struct {
	screen

	client *hogapi.Client
	fake   *hogapitest.Server // nil for the real service
	export *hogapi.BatchExport
}

func run(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("quickstart", flag.ExitOnError)
	sure := flags.Bool("yes", false, "write to the real service too")
	bucket := flags.String("bucket", "quickstart", "the S3 bucket to export to")
	region := flags.String("region", "us-east-1", "the bucket's region")
	integration := flags.Int64("integration", 1, "the service's id of the AWS integration that may write to the bucket")
	if err := flags.Parse(args); err != nil {
		return err
	}
	q := &quickstart{screen: screen{out: out}}
	var err error
	switch q.client, q.fake, err = demo.Connect(out, hogapitest.WithPolls(2)); {
	case err != nil:
		return err
	case q.fake != nil:
		defer q.fake.Close()
		seed(q.fake.Project(hogapitest.DefaultProject))
	case !*sure:
		fmt.Fprint(out, plan)
		return nil
	}
	destination := hogapi.Destination{
		Type:        destination.TypeAwsS3,
		Integration: hogapi.Set(*integration),
		Config: destination.S3{
			BucketName: hogapi.Set(*bucket), Region: hogapi.Set(*region), Prefix: hogapi.Set("quickstart/"),
		},
	}
	if err := q.createAndBackfill(ctx, destination); err != nil {
		return err
	}
	if err := q.list(ctx); err != nil {
		return err
	}
	return q.importPastEvents(ctx)
}

const plan = `This would, in that project:
  - create a batch export of events to the S3 bucket -bucket in -region, written by the AWS integration -integration,
  - backfill seven days of it, then pause it,
  - import 11,576 past events, commits of public repositories, at 1,000 a second. This program cannot delete
    them, and PostHog does on an approved request only: take a project for tests.

Nothing has been done. Say -yes, and the three settings of the bucket, to do it.
`

func seed(project *hogapitest.Project) {
	lake := project.AddExport(hogapitest.Export{Name: "events to the lake"})
	project.AddRun(lake, hogapitest.Run{Status: hogapi.RunStatusCompleted})
	project.AddRun(lake, hogapitest.Run{Status: hogapi.RunStatusFailed})
	project.AddExport(hogapitest.Export{
		Name: "events to the archive", Interval: hogapi.IntervalWeek, DestinationType: "Postgres", Integration: 2,
	})
}

// createAndBackfill creates an export, backfills a week of it, follows the runs, and pauses it.
func (q *quickstart) createAndBackfill(ctx context.Context, to hogapi.Destination) (err error) {
	q.begin("Create a daily batch export of events to S3, and backfill seven days")
	q.export, err = q.client.BatchExports.Create(ctx, hogapi.BatchExportRequest{
		Name: "hogapi quickstart", Model: hogapi.ModelEvents, Interval: hogapi.IntervalDay, Destination: to,
	})
	if err != nil {
		return err
	}
	q.done("created %s", q.export.ID)

	today := time.Now().UTC().Truncate(24 * time.Hour)
	week, err := q.export.BackfillRange(today.AddDate(0, 0, -7), today) // in dates or instants, as the export takes them
	if err != nil {
		return err
	}
	// The export is new, so its first days may be chosen by their timestamp: there is nothing that they would replace.
	firstFill := &hogapi.BackfillOptions{AcceptRowsByTimestamp: true}
	ticket, err := q.client.BatchExports.Backfill(ctx, q.export.ID, week, firstFill)
	if err != nil {
		return err
	}
	var last *hogapi.BackfillState
	for state, err := range q.client.Backfills.Watch(ctx, ticket, demo.Watch(q.fake)) {
		if err != nil {
			return err
		}
		q.part(state.Progress, fmt.Sprintf("%d runs completed", state.Completed))
		last = state
	}
	q.done("backfilled %s to %s: %d runs completed, %d failed", week.Start, week.End, last.Completed, last.Failed)

	if err := q.client.BatchExports.Pause(ctx, q.export.ID); err != nil {
		return err
	}
	q.done("paused, so that it costs nothing more")
	return nil
}

// list walks over all exports and their runs.
func (q *quickstart) list(ctx context.Context) error {
	q.begin("List all batch exports and their runs")
	for export, err := range q.client.BatchExports.All(ctx, nil) {
		if err != nil {
			return err
		}
		runs, failed := 0, 0
		for run, err := range q.client.Runs.All(ctx, export.ID, nil) {
			if err != nil {
				return err
			}
			runs++
			if run.Status.IsFailure() {
				failed++
			}
		}
		kind := export.Destination.Type
		q.done("%-22s every %-4s to %-8s  %d runs, %d failed", export.Name, export.Interval, kind, runs, failed)
	}
	return nil
}
