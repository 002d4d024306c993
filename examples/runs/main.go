// Command runs finds the failed runs of all exports, retries them, waits for each and prints a table.
//
// With the real service it only lists them unless it is given -yes: a retry exports the data again. It
// does not retry runs of events that are too old to be exported again as they were, unless it is given
// -rows-by-timestamp too. Without keys it works with a fake of the service.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/demo"
	"github.com/hogapi/hogapi/hogapitest"
)

func main() { demo.Main(run) }

type failure struct {
	export  hogapi.BatchExport
	run     hogapi.Run
	result  string
	refusal error // why it was not retried
}

func run(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("runs", flag.ExitOnError)
	sure := flags.Bool("yes", false, "retry in the real service too")
	byTimestamp := flags.Bool("rows-by-timestamp", false, "retry old runs of events too, by other rows")
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

	failures, err := find(ctx, client)
	if err != nil {
		return err
	}
	act := *sure || fake != nil
	var open int
	for i := range failures {
		f := &failures[i]
		if !act {
			f.result = "not retried: say -yes"
			continue
		}
		fmt.Fprintf(out, "retrying %s of %s, %s\n", span(f.run), f.export.Name, f.run.ID)
		f.result, err = retry(ctx, client, f, &hogapi.BackfillOptions{AcceptRowsByTimestamp: *byTimestamp}, demo.Watch(fake))
		if _, refused := errors.AsType[*hogapi.InputError](err); refused {
			f.result, f.refusal = "left alone: see below", err
		} else if err != nil {
			open++
		}
		if ctx.Err() != nil {
			break
		}
	}

	fmt.Fprintln(out)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "EXPORT\tINTERVAL\tFAILED AS\tBECAUSE\tRETRY")
	for _, f := range failures {
		row := []string{f.export.Name, span(f.run), string(f.run.Status), because(f.run), cmp.Or(f.result, "not begun")}
		fmt.Fprintln(table, strings.Join(row, "\t"))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(out, "\n%d failed runs\n", len(failures))
	for _, f := range failures {
		if f.refusal != nil {
			fmt.Fprintf(out, "\nLeft alone without -rows-by-timestamp: %s of %s\n%v\n", span(f.run), f.export.Name, f.refusal)
		}
	}
	if open > 0 {
		return errors.Join(fmt.Errorf("%d of %d retries did not complete", open, len(failures)), context.Cause(ctx))
	}
	return nil
}

// find collects the failed runs that nobody has exported again since, however old. Intervals without a
// run, cancelled runs and runs that do not end are not among them.
func find(ctx context.Context, client *hogapi.Client) ([]failure, error) {
	var found []failure
	for export, err := range client.BatchExports.All(ctx, nil) {
		if err != nil {
			return nil, err
		}
		for run, err := range client.Runs.LatestFailed(ctx, export.ID, nil) {
			if err != nil {
				return nil, err
			}
			found = append(found, failure{export: export, run: run})
		}
	}
	return found, nil
}

// retry retries one run and waits. If a ticket comes with an error, the outcome of the call is unknown:
// waiting shows whether the retry began.
func retry(
	ctx context.Context, client *hogapi.Client, f *failure, o *hogapi.BackfillOptions, watch *hogapi.WatchOptions,
) (string, error) {
	ticket, err := client.Runs.Retry(ctx, f.export.ID, f.run.ID, o)
	if ticket == nil {
		return err.Error(), err
	}
	state, err := client.Backfills.Wait(ctx, ticket, watch)
	if err != nil {
		return err.Error(), err
	}
	var records int64
	for _, run := range state.Runs {
		if run.RecordsCompleted != nil {
			records += *run.RecordsCompleted
		}
	}
	return fmt.Sprintf("completed, %d records", records), nil
}

func span(r hogapi.Run) string {
	const minute = "2006-01-02 15:04"
	end := r.DataIntervalEnd.UTC()
	if r.DataIntervalStart == nil {
		return "all until " + end.Format(minute)
	}
	return fmt.Sprintf("%s, %g h", r.DataIntervalStart.UTC().Format(minute), end.Sub(*r.DataIntervalStart).Hours())
}

func because(r hogapi.Run) string {
	if r.LatestError == nil {
		return "-"
	}
	return *r.LatestError
}
