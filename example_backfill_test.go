package hogapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// firstFill is for exports that have exported nothing yet, so that no object is replaced and nothing comes twice.
var firstFill = &hogapi.BackfillOptions{AcceptRowsByTimestamp: true}

// A new export gets a month of history. The option says that these old events are chosen by their timestamp, as a first fill wants
// them. Without it, a backfill of days that are more than 5 days old is refused, and the error says what it would do.
func ExampleBatchExportsService_Backfill() {
	client, project := exampleClient(hogapitest.WithPolls(1))
	ctx := context.Background()
	export, err := client.BatchExports.Get(ctx, project.AddExport(hogapitest.Export{Interval: hogapi.IntervalDay}))
	if err != nil {
		log.Fatal(err)
	}
	january, err := export.BackfillRange(time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(2025, 2, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.BatchExports.Backfill(ctx, export.ID, january, nil)
	fmt.Println("without the option:", errors.Is(err, hogapi.ErrInvalid))

	ticket, err := client.BatchExports.Backfill(ctx, export.ID, january, &hogapi.BackfillOptions{AcceptRowsByTimestamp: true})
	if err != nil {
		log.Fatal(err)
	}
	state, err := client.Backfills.Wait(ctx, ticket, &hogapi.WatchOptions{Interval: time.Millisecond, MaxInterval: time.Millisecond})
	fmt.Println(state, err)
	// Output:
	// without the option: true
	// 100 %, 31 runs completed, 0 failed <nil>
}

// A daily export is backfilled for a month, an hourly one for a day; both are followed to their end.
func ExampleBackfillsService_Watch() {
	server := hogapitest.New(hogapitest.WithPolls(1))
	project := server.Project(hogapitest.DefaultProject)
	project.AddExport(hogapitest.Export{Name: "hourly", Interval: hogapi.IntervalHour})
	project.AddExport(hogapitest.Export{Name: "daily", Interval: hogapi.IntervalDay})
	client, err := hogapi.NewClient(server.ClientOptions(project.ID())...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	from := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	to := map[string]time.Time{"daily": from.AddDate(0, 1, 0), "hourly": from.AddDate(0, 0, 1)}

	for export, err := range client.BatchExports.All(ctx, nil) {
		if err != nil {
			log.Fatal(err)
		}
		span, err := export.BackfillRange(from, to[export.Name]) // dates or times, as the export needs them
		if err != nil {
			log.Fatal(err)
		}
		ticket, err := client.BatchExports.Backfill(ctx, export.ID, span, firstFill)
		if err != nil {
			log.Fatal(err)
		}
		var last *hogapi.BackfillState
		for state, err := range client.Backfills.Watch(ctx, ticket, &hogapi.WatchOptions{Interval: time.Millisecond}) {
			if err != nil {
				log.Fatal(err)
			}
			last = state // here a program would show state.Progress
		}
		fmt.Printf("%s, %s to %s: %d runs completed, %d failed\n", export.Name, span.Start, span.End, last.Completed, last.Failed)
	}
	// Output:
	// daily, 2024-05-01 to 2024-06-01: 31 runs completed, 0 failed
	// hourly, 2024-05-01T00:00:00Z to 2024-05-02T00:00:00Z: 24 runs completed, 0 failed
}

// Wait has an error unless all runs completed: the service itself calls such a backfill Completed.
func ExampleBackfillsService_Wait() {
	server := hogapitest.New(hogapitest.WithPolls(1))
	project := server.Project(hogapitest.DefaultProject)
	export := project.AddExport(hogapitest.Export{Interval: hogapi.IntervalDay})
	project.FailNextRuns(1, "the bucket is gone")
	client, err := hogapi.NewClient(server.ClientOptions(project.ID())...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	week := hogapi.BackfillRange{Start: hogapi.Date(2024, 5, 1), End: hogapi.Date(2024, 5, 8)}
	ticket, err := client.BatchExports.Backfill(ctx, export, week, firstFill)
	if err != nil {
		log.Fatal(err)
	}
	state, err := client.Backfills.Wait(ctx, ticket, &hogapi.WatchOptions{Interval: time.Millisecond})
	if failed, ok := errors.AsType[*hogapi.RunError](err); ok {
		fmt.Println("the day of", failed.Run.DataIntervalStart.Format(time.DateOnly), "has failed:", *failed.Run.LatestError)
	}
	fmt.Println(state.Completed, "of", len(state.Runs), "days are exported")
	// Output:
	// the day of 2024-05-01 has failed: the bucket is gone
	// 6 of 7 days are exported
}

// Watch shows a run as it goes on, until it is over.
func ExampleRunsService_Watch() {
	server := hogapitest.New()
	project := server.Project(hogapitest.DefaultProject)
	export := project.AddExport(hogapitest.Export{})
	run := project.AddRun(export, hogapitest.Run{Status: hogapi.RunStatusStarting})
	client, err := hogapi.NewClient(server.ClientOptions(project.ID())...)
	if err != nil {
		log.Fatal(err)
	}
	for run, err := range client.Runs.Watch(context.Background(), export, run, &hogapi.WatchOptions{Interval: time.Millisecond}) {
		if err != nil {
			log.Fatal(err)
		}
		if run.RecordsCompleted == nil {
			fmt.Println(run.Status)
			continue
		}
		fmt.Println(run.Status, *run.RecordsCompleted)
	}
	// Output:
	// Starting
	// Running 333
	// Running 666
	// Completed 1000
}
