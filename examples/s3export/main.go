// Command s3export makes an hourly export of events to S3 in a new project and shows that it works: it
// stores the credentials in an integration, tests the bucket, creates the export, backfills the last
// hours and waits for their runs. A second run uses the integration and the export of the first.
//
// Without keys it works with a fake of the service. With keys it prints its plan, and carries it out
// only with -yes.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/examples/internal/demo"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/integration"
)

func main() { demo.Main(run) }

const plan = `This would, in that project:
  - store an AWS integration named %q, with the role -role or the keys in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY,
  - test that it can write to the bucket %q in %s,
  - create an hourly batch export of events to it, unless there is one of this name,
  - backfill its last %d hours and wait for them.
Nothing has been done. Say -yes to do it. The personal API key needs integration:write and batch_export:write.
`

type setup struct {
	client                       *hogapi.Client
	watch                        *hogapi.WatchOptions // nil: the intervals for the real service
	out                          io.Writer
	name, bucket, region, prefix string
	role                         string // that PostHog may assume; without one it gets this key:
	accessKeyID, secretAccessKey string
	hours                        int
}

func run(ctx context.Context, out io.Writer, args []string) error {
	s := &setup{out: out, accessKeyID: os.Getenv("AWS_ACCESS_KEY_ID"), secretAccessKey: os.Getenv("AWS_SECRET_ACCESS_KEY")}
	flags := flag.NewFlagSet("s3export", flag.ExitOnError)
	sure := flags.Bool("yes", false, "write to the real service too")
	flags.StringVar(&s.name, "name", "hogapi s3export", "the name of the integration and of the export")
	flags.StringVar(&s.role, "role", "", "the ARN of a role that PostHog may assume; without it the keys are stored")
	flags.StringVar(&s.bucket, "bucket", "posthog-events", "the S3 bucket")
	flags.StringVar(&s.region, "region", "us-east-1", "the bucket's region")
	flags.StringVar(&s.prefix, "prefix", "events/", "what the names of the files begin with")
	flags.IntVar(&s.hours, "hours", 3, "hours to backfill, within the last 5 days")
	if err := flags.Parse(args); err != nil {
		return err
	}
	client, fake, err := demo.Connect(out, hogapitest.WithPolls(2))
	if err != nil {
		return err
	}
	switch s.client, s.watch = client, demo.Watch(fake); {
	case fake != nil:
		s.role = cmp.Or(s.role, "arn:aws:iam::123456789012:role/posthog-export")
	case !*sure:
		fmt.Fprintf(out, plan, s.name, s.bucket, s.region, s.hours)
		return nil
	}
	return s.work(ctx)
}

func (s *setup) work(ctx context.Context) error {
	integration, err := s.integration(ctx)
	if err != nil {
		return err
	}
	create := hogapi.BatchExportRequest{
		Name: s.name, Model: hogapi.ModelEvents, Interval: hogapi.IntervalHour,
		Destination: hogapi.Destination{
			Type: destination.TypeAwsS3, Integration: hogapi.Set(integration.ID),
			Config: destination.S3{
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
	found, err := s.client.Integrations.ByName(ctx, integration.KindAwsS3, s.name)
	if err == nil {
		fmt.Fprintf(s.out, "   found %q, id %d\n", s.name, found.ID)
		return found, nil
	}
	if !errors.Is(err, hogapi.ErrNotFound) {
		return nil, err
	}
	request := integration.AwsS3{Name: s.name, AWSRoleARN: s.role}
	if id, key := s.accessKeyID, s.secretAccessKey; s.role == "" {
		request.AWSAccessKeyID, request.AWSSecretAccessKey = hogapi.NewSecret(id), hogapi.NewSecret(key)
	}
	made, err := s.client.Integrations.Create(ctx, request)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(s.out, "   made %q, id %d\n", s.name, made.ID)
	return made, nil
}

// test runs the service's own steps. If the server cannot test, the program continues.
func (s *setup) test(ctx context.Context, create hogapi.BatchExportRequest) error {
	fmt.Fprintln(s.out, "2. Test the destination")
	test, err := s.client.BatchExports.TestDestination(ctx, create)
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
		fmt.Fprintf(s.out, "   %-22s  %s", step.Name, step.Result.Status)
		if step.Result.Message != nil {
			fmt.Fprintf(s.out, ": %s", *step.Result.Message)
		}
		fmt.Fprintln(s.out)
	}
	if !test.Passed() {
		return errors.New("the destination does not work yet: nothing has been exported; correct it and start this again")
	}
	return nil
}

// export finds the export of this name, or creates it.
func (s *setup) export(ctx context.Context, create hogapi.BatchExportRequest) (*hogapi.BatchExport, error) {
	fmt.Fprintln(s.out, "3. Create the hourly export")
	found, err := s.client.BatchExports.ByName(ctx, s.name)
	if err == nil {
		config, _ := found.Destination.Config.(destination.S3)
		bucket, _ := config.BucketName.Get()
		if bucket != s.bucket || found.Interval != create.Interval || found.Paused {
			return nil, fmt.Errorf("the export %q is another one (bucket %q, every %s, paused: %t): choose a -name",
				s.name, bucket, found.Interval, found.Paused)
		}
		fmt.Fprintf(s.out, "   found %s\n", found.ID)
		return found, nil
	}
	if !errors.Is(err, hogapi.ErrNotFound) {
		return nil, err
	}
	made, err := s.client.BatchExports.Create(ctx, create)
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
	ticket, err := s.client.BatchExports.Backfill(ctx, export.ID, covers, nil)
	if err != nil {
		return err
	}
	state, err := s.client.Backfills.Wait(ctx, ticket, s.watch)
	if errors.Is(err, hogapi.ErrNoRuns) {
		fmt.Fprintln(s.out, "   there were no events in these hours")
		return nil
	}
	if err == nil {
		fmt.Fprintf(s.out, "   %d runs completed, %d failed\n", state.Completed, state.Failed)
	}
	return err
}
