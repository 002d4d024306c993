package hogapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/integration"
)

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
	project.FailTestStep("Bucket exists", "no bucket of this name")

	test, err := client.BatchExports.TestDestination(context.Background(), hogapi.BatchExportRequest{
		Name: "events to the lake", Model: hogapi.ModelEvents, Interval: hogapi.IntervalHour,
		Destination: hogapi.Destination{
			Type:        destination.TypeAwsS3,
			Integration: hogapi.Set(int64(id)),
			Config:      destination.S3{BucketName: hogapi.Set("lack"), Region: hogapi.Set("eu-central-1"), Prefix: hogapi.Set("events/")},
		},
	})
	switch {
	case errors.Is(err, hogapi.ErrNoDestinationTest), errors.Is(err, hogapi.ErrUnsupported):
		fmt.Println("not tested:", err)
	case err != nil:
		log.Fatal(err)
	}
	for _, step := range test.Steps {
		fmt.Println(step.Name, step.Result.Status)
	}
	fmt.Println("ready:", test.Passed())
	// Output:
	// Assume role Passed
	// Bucket exists Failed
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
