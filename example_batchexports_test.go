package hogapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/integration"
)

// exampleClient is a client of a fake service with one project; your program makes its client with NewClient and its own key.
func exampleClient(options ...hogapitest.Option) (*hogapi.Client, *hogapitest.Project) {
	server := hogapitest.New(options...)
	return clientOf(server, hogapitest.DefaultProject), server.Project(hogapitest.DefaultProject)
}

func ExampleBatchExportsService_Create() {
	client, project := exampleClient()
	project.AddIntegration(hogapitest.Integration{ID: 4}) // see ExampleIntegrationsService_Create
	export, err := client.BatchExports.Create(context.Background(), hogapi.BatchExportRequest{
		Name:     "events to the lake",
		Model:    hogapi.ModelEvents,
		Interval: hogapi.IntervalDay,
		Timezone: "Europe/Berlin",
		Destination: hogapi.Destination{
			Type:        destination.TypeAwsS3,
			Integration: hogapi.Set[int64](4), // holds the credentials
			Config: destination.S3{
				BucketName: hogapi.Set("lake"),
				Region:     hogapi.Set("eu-central-1"),
				Prefix:     hogapi.Set("events/"),
				FileFormat: hogapi.Set(destination.FormatParquet),
			},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(export.Name, export.Interval, export.Timezone, export.Paused)
	// Output: events to the lake day Europe/Berlin false
}

// A secret is in the request and prints nowhere.
func ExampleNewSecret() {
	client, _ := exampleClient(hogapitest.WithOldService())
	create := hogapi.BatchExportRequest{
		Name: "events to the warehouse", Model: hogapi.ModelEvents, Interval: hogapi.IntervalHour,
		Destination: hogapi.Destination{Type: destination.TypePostgres, Config: destination.Postgres{
			Host: hogapi.Set("db.example"), Port: hogapi.Set(5432), Database: hogapi.Set("posthog"),
			User: hogapi.Set("exporter"), Password: hogapi.Set(hogapi.NewSecret("hunter2")),
		}},
	}
	fmt.Println(create.Destination.Config.(destination.Postgres).Password)

	export, err := client.BatchExports.Create(context.Background(), create)
	if err != nil {
		log.Fatal(err)
	}
	config := export.Destination.Config.(destination.Postgres)
	fmt.Println("port:", config.Port, "password:", config.Password) // the service returns no credentials
	// Output:
	// [redacted]
	// port: 5432 password: absent
}

// An update sends only the fields that are set: here it unpauses, clears the end and changes the prefix.
func ExampleBatchExportsService_Update() {
	client, project := exampleClient()
	ctx := context.Background()
	id := project.AddExport(hogapitest.Export{Paused: true, EndAt: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)})
	export, err := client.BatchExports.Get(ctx, id)
	if err != nil {
		log.Fatal(err)
	}

	updated, err := client.BatchExports.Update(ctx, id, hogapi.BatchExportUpdateRequest{
		Paused:      hogapi.Set(false),
		EndAt:       hogapi.Null[time.Time](),
		Destination: hogapi.Set(export.Destination.With(destination.S3{Prefix: hogapi.Set("new/")})),
	})
	if err != nil {
		log.Fatal(err)
	}
	config := updated.Destination.Config.(destination.S3)
	fmt.Println(updated.Paused, updated.EndAt, config.Prefix, config.BucketName)
	// Output: false <nil> new/ bucket
}

func ExampleBatchExportsService_All() {
	client, project := exampleClient()
	for _, name := range []string{"first", "second", "third"} {
		project.AddExport(hogapitest.Export{Name: name})
	}
	for export, err := range client.BatchExports.All(context.Background(), &hogapi.ListOptions{Limit: 2}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(export.Name, export.Destination.Type)
	}
	// Unordered output:
	// first AwsS3
	// second AwsS3
	// third AwsS3
}

func ExampleBatchExportsService_Unpause() {
	client, project := exampleClient()
	ctx := context.Background()
	id := project.AddExport(hogapitest.Export{Paused: true, LastPaused: time.Now().Add(-3 * time.Hour)})

	ticket, err := client.BatchExports.Unpause(ctx, id, &hogapi.UnpauseOptions{Backfill: true}) // also exports the missed intervals
	if err != nil && !errors.Is(err, hogapi.ErrOutcomeUnknown) {
		log.Fatal(err)
	}
	state, err := client.Backfills.Wait(ctx, ticket, &hogapi.WatchOptions{Interval: time.Millisecond})
	fmt.Println(state, err, project.Exports()[0].Paused)
	// Output: 100 %, 3 runs completed, 0 failed <nil> false
}

func ExampleBatchExportsService_AllLogs() {
	client, project := exampleClient()
	id := project.AddExport(hogapitest.Export{})
	at := time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)
	project.AddLog(id, hogapitest.LogEntry{Time: at, Message: "started"})
	project.AddLog(id, hogapitest.LogEntry{Time: at.Add(time.Minute), Level: "ERROR", Message: "no such bucket"})

	o := &hogapi.LogOptions{Levels: []hogapi.LogLevel{hogapi.LogLevelError}}
	for entry, err := range client.BatchExports.AllLogs(context.Background(), id, o) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(entry.Timestamp.Format(time.TimeOnly), entry.Level, entry.Message)
	}
	// Output: 12:01:00 ERROR no such bucket
}

// Daily exports take dates, hourly ones instants; both without a rest, which the service would drop silently.
func ExampleBatchExport_BackfillRange() {
	march, april := time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2024, 4, 1, 0, 0, 0, 0, time.UTC)

	daily := hogapi.BatchExport{Interval: hogapi.IntervalDay, Timezone: "UTC"}
	month, err := daily.BackfillRange(march, april)
	fmt.Println(month.Start, month.End, err)

	hourly := hogapi.BatchExport{Interval: hogapi.IntervalHour}
	day, err := hourly.BackfillRange(march, march.Add(24*time.Hour))
	fmt.Println(day.Start, day.End, err)

	_, err = hourly.BackfillRange(march, march.Add(90*time.Minute))
	fmt.Println(err)
	// Output:
	// 2024-03-01 2024-04-01 <nil>
	// 2024-03-01T00:00:00Z 2024-03-02T00:00:00Z <nil>
	// hogapi: to "2024-03-01T01:30:00Z": want a whole number of intervals of 1h0m0s after from, such as 2024-03-01T01:00:00Z or 2024-03-01T02:00:00Z: the service drops a shorter rest
}

func ExampleInputError() {
	client, _ := exampleClient()
	_, err := client.BatchExports.Update(context.Background(), uuid.New(), hogapi.BatchExportUpdateRequest{Interval: hogapi.Set(hogapi.Interval("Hour"))})
	fmt.Println(err)
	fmt.Println(errors.Is(err, hogapi.ErrInvalid))
	// Output:
	// hogapi: batch_exports.update: Interval "Hour": want "hour", or another of: hour, day, week, every 5 minutes, every 15 minutes
	// true
}

// firstFill is for exports that have exported nothing yet, so that no object is replaced and nothing comes twice.
var firstFill = &hogapi.BackfillOptions{AcceptRowsByTimestamp: true}

// A new export gets a month of history. The option says that the export chooses these old events by their
// timestamp, as a first fill needs. Without it, a backfill of days that are more than 5 days old is refused, and
// the error says how it would change the destination.
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
	client := clientOf(server, project.ID())
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
	client := clientOf(server, project.ID())
	ctx := context.Background()
	week := hogapi.BackfillRange{Start: hogapi.AtDate(2024, 5, 1), End: hogapi.AtDate(2024, 5, 8)}
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

// Watch shows a run in progress, until it is over.
func ExampleRunsService_Watch() {
	server := hogapitest.New()
	project := server.Project(hogapitest.DefaultProject)
	export := project.AddExport(hogapitest.Export{})
	run := project.AddRun(export, hogapitest.Run{Status: hogapi.RunStatusStarting})
	client := clientOf(server, project.ID())
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

// A new export to S3 needs an integration, which holds the credentials.
func ExampleIntegrationsService_Create() {
	client, _ := exampleClient()
	ctx := context.Background()
	access, err := client.Integrations.Create(ctx, integration.AwsS3{
		Name:               "lake",
		AWSAccessKeyID:     hogapi.NewSecret("AKIA…"),
		AWSSecretAccessKey: hogapi.NewSecret("…"),
	})
	if err != nil {
		log.Fatal(err)
	}
	export, err := client.BatchExports.Create(ctx, hogapi.BatchExportRequest{
		Name: "events to the lake", Model: hogapi.ModelEvents, Interval: hogapi.IntervalHour,
		Destination: hogapi.Destination{
			Type:        destination.TypeAwsS3,
			Integration: hogapi.Set(access.ID),
			Config:      destination.S3{BucketName: hogapi.Set("lake"), Region: hogapi.Set("eu-central-1"), Prefix: hogapi.Set("events/")},
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(access.Kind, export.Destination.Integration)
	// Output: aws-s3 1
}

func ExampleIntegrationsService_All() {
	client, project := exampleClient()
	project.AddIntegration(hogapitest.Integration{Config: map[string]any{"name": "lake", "aws_role_arn": "arn:aws:iam::1:role/posthog"}})
	project.AddIntegration(hogapitest.Integration{Kind: "slack"})

	only := &hogapi.IntegrationListOptions{Kind: integration.KindAwsS3}
	for access, err := range client.Integrations.All(context.Background(), only) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(access.DisplayName, access.Config)
	}
	// Output: lake {"aws_role_arn":"arn:aws:iam::1:role/posthog","name":"lake"}
}

// The service keeps an integration that an export uses.
func ExampleIntegrationsService_Delete() {
	client, project := exampleClient()
	id := int64(project.AddIntegration(hogapitest.Integration{Config: map[string]any{"name": "lake"}}))
	project.AddExport(hogapitest.Export{Name: "hourly", DestinationType: "AwsS3", Integration: int(id)})

	err := client.Integrations.Delete(context.Background(), id)
	fmt.Println(errors.Is(err, hogapi.ErrInvalid))
	access, err := client.Integrations.Get(context.Background(), id)
	fmt.Println(access.ID, err)
	// Output:
	// true
	// 1 <nil>
}

// Testing a destination before the export is created finds the faults that its first run would have.
func ExampleBatchExportsService_TestDestination() {
	client, project := exampleClient()
	id := project.AddIntegration(hogapitest.Integration{Config: map[string]any{"name": "lake", "aws_role_arn": "arn:aws:iam::1:role/posthog"}})
	project.FailTestStep("Check S3 bucket exists", "no bucket of this name")

	test, err := client.BatchExports.TestDestination(context.Background(), hogapi.BatchExportRequest{
		Name: "events to the lake", Model: hogapi.ModelEvents, Interval: hogapi.IntervalHour,
		Destination: hogapi.Destination{
			Type:        destination.TypeAwsS3,
			Integration: hogapi.Set(int64(id)),
			Config:      destination.S3{BucketName: hogapi.Set("lack"), Region: hogapi.Set("eu-central-1"), Prefix: hogapi.Set("events/")},
		},
	})
	switch {
	case errors.Is(err, hogapi.ErrUnsupported):
		fmt.Println("not tested:", err)
	case err != nil:
		log.Fatal(err)
	}
	for _, step := range test.Steps {
		fmt.Println(step.Name, step.Result.Status)
	}
	fmt.Println("ready:", test.Passed())
	// Output:
	// Ensure we can assume provided AWS role Passed
	// Check S3 bucket exists Failed
	// ready: false
}

// Counts of an export's runs work on every server.
func ExampleRunsService_Counts() {
	client, project := exampleClient()
	export := project.AddExport(hogapitest.Export{})
	project.AddRun(export, hogapitest.Run{})
	project.AddRun(export, hogapitest.Run{Status: hogapi.RunStatusFailed})

	days, err := client.Runs.Counts(context.Background(), export, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, day := range days {
		fmt.Println(day.Total(), "runs:", day.Completed(), "completed,", day.Failed(), "failed")
	}
	// Output: 2 runs: 1 completed, 1 failed
}

// Servers differ by age: an error that matches ErrUnsupported names an alternative.
func ExampleAPIError_alternative() {
	client, project := exampleClient()
	export := project.AddExport(hogapitest.Export{})
	_, err := client.AppMetrics.Get(context.Background(), export.String(), nil)
	if unsupported, ok := errors.AsType[*hogapi.APIError](err); ok && errors.Is(err, hogapi.ErrUnsupported) {
		fmt.Println(unsupported.Op)
		fmt.Println(unsupported.Alternative[:len("Runs.Counts counts the runs of a batch export")])
	}
	// Output:
	// app_metrics.get
	// Runs.Counts counts the runs of a batch export
}
