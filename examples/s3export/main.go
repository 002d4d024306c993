// Command s3export makes an hourly export of events to S3 in a fresh project and shows that it works: it stores the
// credentials in an integration, tests the bucket, creates the export, backfills the last hours and waits for their
// runs. A second run uses the integration and the export of the first.
//
// Without keys it works with a fake of the service. With keys it says what it would do, and does it only with -yes.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/demo"
)

func main() { demo.Main(run) }

const plan = `This would, in that project:
  - store an AWS integration named %q, with the role -role, or with the key of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,
  - test that it can write to the bucket %q in %s,
  - create an hourly batch export of events to it, unless there is one of this name,
  - backfill its last %d hours and wait for them.

Nothing has been done. Say -yes to do it. The personal API key needs the scopes integration:write and batch_export:write.
`

// setup is what the program is told.
type setup struct {
	*demo.Site

	out                          io.Writer
	name, role                   string
	bucket, region, prefix       string
	accessKeyID, secretAccessKey string
	hours                        int
}

func run(ctx context.Context, out io.Writer, args []string) error {
	s := &setup{out: out, accessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), secretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY")}
	flags := flag.NewFlagSet("s3export", flag.ContinueOnError)
	sure := flags.Bool("yes", false, "write to the real service too")
	flags.StringVar(&s.name, "name", "hogapi s3export", "the name of the integration and of the export")
	flags.StringVar(&s.role, "role", "", "the ARN of a role that PostHog may assume; without it the key of the environment is stored")
	flags.StringVar(&s.bucket, "bucket", "posthog-events", "the S3 bucket")
	flags.StringVar(&s.region, "region", "us-east-1", "the bucket's region")
	flags.StringVar(&s.prefix, "prefix", "events/", "what the names of the files begin with")
	flags.IntVar(&s.hours, "hours", 3, "hours to backfill")
	if err := flags.Parse(args); err != nil {
		return err
	}
	site, err := demo.Connect(out, demo.PersonalKey)
	if err != nil {
		return err
	}
	defer site.Close()
	s.Site = site
	if site.Fake == nil && !*sure {
		fmt.Fprintf(out, plan, s.name, s.bucket, s.region, s.hours)
		return nil
	}
	if site.Fake != nil && s.role == "" && s.accessKeyID == "" {
		s.role = "arn:aws:iam::123456789012:role/posthog-export"
	}
	return s.work(ctx)
}

func (s *setup) work(ctx context.Context) error {
	integration, err := s.integration(ctx)
	if err != nil {
		return err
	}
	create := hogapi.BatchExportCreate{
		Name: s.name, Model: hogapi.ModelEvents, Interval: hogapi.IntervalHour,
		Destination: hogapi.Destination{
			Type:        hogapi.DestinationAwsS3,
			Integration: hogapi.Set(integration.ID),
			Config: hogapi.S3Config{
				BucketName: hogapi.Set(s.bucket), Region: hogapi.Set(s.region), Prefix: hogapi.Set(s.prefix),
				FileFormat: hogapi.Set("Parquet"), Compression: hogapi.Set("zstd"),
			},
		},
	}
	if err := s.test(ctx, create); err != nil {
		return err
	}
	export, err := s.export(ctx, create)
	if err != nil {
		return err
	}
	return s.backfill(ctx, export)
}

// integration finds the integration of this name, or stores the credentials in a new one.
func (s *setup) integration(ctx context.Context) (*hogapi.Integration, error) {
	fmt.Fprintln(s.out, "1. Store the credentials in an integration")
	kind := &hogapi.IntegrationListOptions{Kind: hogapi.IntegrationKindAwsS3}
	for found, err := range s.Client.Integrations.All(ctx, kind) {
		if err != nil {
			return nil, err
		}
		var config struct{ Name string }
		if json.Unmarshal(found.Config, &config) == nil && config.Name == s.name {
			fmt.Fprintf(s.out, "   found %q, id %d\n", s.name, found.ID)
			return &found, nil
		}
	}
	request := hogapi.AwsS3IntegrationRequest{Name: s.name, AWSRoleARN: s.role}
	if s.role == "" {
		request.AWSAccessKeyID, request.AWSSecretAccessKey = hogapi.NewSecret(s.accessKeyID), hogapi.NewSecret(s.secretAccessKey)
	}
	made, err := s.Client.Integrations.Create(ctx, request)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(s.out, "   made %q, id %d\n", s.name, made.ID)
	return made, nil
}

// test runs the service's own steps. A server that cannot test is no reason to stop.
func (s *setup) test(ctx context.Context, create hogapi.BatchExportCreate) error {
	fmt.Fprintln(s.out, "2. Test the destination")
	test, err := s.Client.BatchExports.TestDestination(ctx, create)
	switch {
	case errors.Is(err, hogapi.ErrNoDestinationTest), errors.Is(err, hogapi.ErrUnsupported):
		fmt.Fprintf(s.out, "   not tested: %v\n", err)
		return nil
	case err != nil:
		return err
	}
	for _, step := range test.Steps {
		if step.Result == nil {
			continue
		}
		message := ""
		if step.Result.Message != nil {
			message = ": " + *step.Result.Message
		}
		fmt.Fprintf(s.out, "   %-14s %s%s\n", step.Name, step.Result.Status, message)
	}
	if !test.Passed() {
		return errors.New("the destination does not work yet: nothing has been exported; correct it and start this again")
	}
	return nil
}

// export finds the export of this name, or creates it.
func (s *setup) export(ctx context.Context, create hogapi.BatchExportCreate) (*hogapi.BatchExport, error) {
	fmt.Fprintln(s.out, "3. Create the hourly export")
	for found, err := range s.Client.BatchExports.All(ctx, nil) {
		if err != nil {
			return nil, err
		}
		if found.Name == s.name {
			fmt.Fprintf(s.out, "   found %s\n", found.ID)
			return &found, nil
		}
	}
	made, err := s.Client.BatchExports.Create(ctx, create)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(s.out, "   made %s, every %s to %s\n", made.ID, made.Interval, made.Destination.Type)
	return made, nil
}

// backfill exports the last whole hours, waits for their runs and counts them.
func (s *setup) backfill(ctx context.Context, export *hogapi.BatchExport) error {
	end := time.Now().UTC().Truncate(time.Hour)
	covers, err := export.BackfillRange(end.Add(-time.Duration(s.hours)*time.Hour), end)
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "4. Backfill it from %s up to %s, and wait\n", covers.Start, covers.End)
	ticket, err := s.Client.BatchExports.Backfill(ctx, export.ID, covers)
	if err != nil {
		return err
	}
	state, err := s.Client.Backfills.Wait(ctx, ticket, s.Watch())
	if errors.Is(err, hogapi.ErrNoRuns) {
		fmt.Fprintln(s.out, "   there were no events in these hours")
		return nil
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(s.out, "   %d runs completed, %d failed\n", state.Completed, state.Failed)
	counts, err := s.Client.Runs.Counts(ctx, export.ID, nil)
	if err != nil {
		return err
	}
	for _, day := range counts {
		fmt.Fprintf(s.out, "   runs made on %s: %d completed, %d failed\n", day.Day.Format(time.DateOnly), day.Completed(), day.Failed())
	}
	return nil
}
