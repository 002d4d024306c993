// Command quickstart does the whole job once: it creates a batch export, backfills it and follows
// the runs, lists what there is, pauses the export, imports 11,576 real events, and prints one
// table of what was done and what the service now holds.
//
// Without keys it works with a fake of the service. With keys it says what it would do, and does it
// only with -yes: this package cannot delete events, and exports cost money.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/commits"
	"github.com/hogapi/hogapi/examples/internal/demo"
)

func main() { demo.Main(run) }

func run(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("quickstart", flag.ContinueOnError)
	sure := flags.Bool("yes", false, "write to the real service too")
	bucket := flags.String("bucket", "quickstart", "the S3 bucket to export to")
	region := flags.String("region", "us-east-1", "the bucket's region")
	integration := flags.Int64("integration", 1, "the service's id of the AWS integration that may write to the bucket")
	if err := flags.Parse(args); err != nil {
		return err
	}
	site, err := demo.Connect(out, demo.PersonalKey, demo.ProjectKey)
	if err != nil {
		return err
	}
	defer site.Close()
	if site.Fake == nil && !*sure {
		fmt.Fprintf(out, plan, commits.Count)
		return nil
	}

	q := &quickstart{Site: site, out: out}
	destination := hogapi.Destination{
		Type:        hogapi.DestinationAwsS3,
		Integration: hogapi.Set(*integration),
		Config:      hogapi.S3Config{BucketName: hogapi.Set(*bucket), Region: hogapi.Set(*region), Prefix: hogapi.Set("quickstart/")},
	}
	if err := q.export(ctx, destination); err != nil {
		return err
	}
	if err := q.list(ctx); err != nil {
		return err
	}
	if err := q.pause(ctx); err != nil {
		return err
	}
	if err := q.importEvents(ctx); err != nil {
		return err
	}
	return q.report()
}

const plan = `This would, in that project:
  - create a batch export of events to the S3 bucket -bucket in -region, written by the AWS integration -integration,
  - backfill seven days of it, then pause it,
  - import %d past events, commits of public repositories, at 1,000 a second. This program cannot delete
    them, and PostHog does on an approved request only: take a project for tests.

Nothing has been done. Say -yes, and the three settings of the bucket, to do it.
`

// quickstart is what was done so far.
type quickstart struct {
	*demo.Site

	out     io.Writer
	step    int
	created *hogapi.BatchExport
	state   *hogapi.BackfillState
	exports int
	runs    int // of the new export, as listed
	receipt hogapi.Receipt
}

func (q *quickstart) say(format string, args ...any) { fmt.Fprintf(q.out, "   "+format+"\n", args...) }

func (q *quickstart) begin(title string) {
	q.step++
	fmt.Fprintf(q.out, "%d. %s\n", q.step, title)
}

// export creates an export, backfills a week of it and follows the runs.
func (q *quickstart) export(ctx context.Context, to hogapi.Destination) (err error) {
	q.begin("Create a daily export of events to S3")
	q.created, err = q.Client.BatchExports.Create(ctx, hogapi.BatchExportCreate{
		Name: "hogapi quickstart", Model: hogapi.ModelEvents, Interval: hogapi.IntervalDay, Destination: to,
	})
	if err != nil {
		return err
	}
	q.say("%s, %s", q.created.Name, q.created.ID)

	today := time.Now().UTC().Truncate(24 * time.Hour)
	week, err := q.created.BackfillRange(today.AddDate(0, 0, -7), today) // in dates or instants, as the export takes them
	if err != nil {
		return err
	}
	q.begin(fmt.Sprintf("Backfill it from %s up to %s", week.Start, week.End))
	ticket, err := q.Client.BatchExports.Backfill(ctx, q.created.ID, week)
	if err != nil {
		return err
	}
	for state, err := range q.Client.Backfills.Watch(ctx, ticket, q.Watch()) {
		if err != nil {
			return err
		}
		if q.state == nil || q.state.Completed != state.Completed || state.Failed > 0 {
			q.say("%3.0f %%, %d runs completed, %d failed", 100*state.Progress, state.Completed, state.Failed)
		}
		q.state = state
	}
	return nil
}

// list walks over all exports and their runs.
func (q *quickstart) list(ctx context.Context) error {
	q.begin("List the exports and their runs")
	for export, err := range q.Client.BatchExports.All(ctx, nil) {
		if err != nil {
			return err
		}
		q.exports++
		runs, failed := 0, 0
		for run, err := range q.Client.Runs.All(ctx, export.ID, nil) {
			if err != nil {
				return err
			}
			runs++
			if run.Status.IsFailure() {
				failed++
			}
		}
		if export.ID == q.created.ID {
			q.runs = runs
		}
		q.say("%-26s %-4s to %-8s %2d runs, %d of them failed", export.Name, export.Interval, export.Destination.Type, runs, failed)
	}
	return nil
}

func (q *quickstart) pause(ctx context.Context) error {
	q.begin("Pause the export, so that it costs nothing more")
	if err := q.Client.BatchExports.Pause(ctx, q.created.ID); err != nil {
		return err
	}
	export, err := q.Client.BatchExports.Get(ctx, q.created.ID)
	if err == nil {
		q.say("paused: %t", export.Paused)
	}
	return err
}

// importEvents checks the embedded events and sends them. Their uuids are fixed, so a second run
// sends the same events, not new ones.
func (q *quickstart) importEvents(ctx context.Context) (err error) {
	q.begin(fmt.Sprintf("Import %d past events", commits.Count))
	folder, err := os.MkdirTemp("", "quickstart-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file, err := commits.WriteFile(folder)
	if err != nil {
		return err
	}
	source := hogapi.JSONLinesFile(file)
	options := hogapi.ImportOptions{
		ID:         "hogapi-quickstart",
		Rate:       q.Rate(),
		Total:      commits.Count,
		OnProgress: func(s hogapi.Stats) { q.say("%v", s) },
	}
	report, err := hogapi.Check(ctx, source, options) // sends nothing; an error if too much would be rejected
	q.say("checked: %d good, %d would be refused", report.Good, report.Refused)
	if err != nil {
		return err
	}
	q.receipt, err = q.Client.Import(ctx, source, options)
	if err != nil {
		q.say("%v", q.receipt) // valid with an error too
	}
	return err
}
