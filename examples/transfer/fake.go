package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/demo"
	"github.com/hogapi/hogapi/hogapitest"
)

// connect makes a client for each of the two projects with the keys of the environment. Without keys
// they are fakes of the service, the first one with some events of these days.
func connect(ctx context.Context, out io.Writer, begin, end time.Time) (
	from, to *hogapi.Client, isFake bool, err error,
) {
	if os.Getenv("POSTHOG_FROM_PERSONAL_API_KEY") != "" || os.Getenv("POSTHOG_TO_PERSONAL_API_KEY") != "" {
		from, errFrom := fromEnv("POSTHOG_FROM_")
		to, errTo := fromEnv("POSTHOG_TO_")
		if err := errors.Join(errFrom, errTo); err != nil {
			return nil, nil, false, err
		}
		if os.Getenv("POSTHOG_TO_PROJECT_API_KEY") == "" {
			return nil, nil, false, errors.New("set POSTHOG_TO_PROJECT_API_KEY (phc_…): an import sends its events with it")
		}
		if from.String() == to.String() {
			return nil, nil, false, fmt.Errorf("both projects are %v: set POSTHOG_TO_… to those of another project", from)
		}
		fmt.Fprintf(out, "Keys found: from %v\n              to %v.\n\n", from, to)
		return from, to, false, nil
	}
	fmt.Fprint(out, "No keys in the environment: working with two fakes of the service.\n\n")
	first, second := hogapitest.New(hogapitest.WithPolls(2), hogapitest.WithParquet(demo.Parquet)), hogapitest.New()
	if from, err = hogapi.NewClient(first.ClientOptions(hogapitest.DefaultProject)...); err != nil {
		return nil, nil, true, err
	}
	if to, err = hogapi.NewClient(second.ClientOptions(hogapitest.DefaultProject)...); err != nil {
		return nil, nil, true, err
	}
	return from, to, true, fill(ctx, from, begin, end)
}

// fromEnv returns a client for the project that variables with a prefix name.
func fromEnv(prefix string) (*hogapi.Client, error) {
	options := []hogapi.Option{
		hogapi.WithProject(os.Getenv(prefix + "PROJECT_ID")),
		hogapi.WithPersonalAPIKey(os.Getenv(prefix + "PERSONAL_API_KEY")),
	}
	if key := os.Getenv(prefix + "PROJECT_API_KEY"); key != "" {
		options = append(options, hogapi.WithProjectAPIKey(key))
	}
	if host := os.Getenv(prefix + "HOST"); host != "" {
		options = append(options, hogapi.WithBaseURL(host))
	} else {
		options = append(options, hogapi.WithRegion(hogapi.Region(os.Getenv(prefix+"REGION"))))
	}
	client, err := hogapi.NewClient(options...)
	if err != nil {
		return nil, fmt.Errorf("variables %s…: %w", prefix, err)
	}
	return client, nil
}

func fill(ctx context.Context, client *hogapi.Client, begin, end time.Time) error {
	const events = 3000
	read := func(_ context.Context, page hogapi.Position) ([]hogapi.Event, hogapi.Position, error) {
		var list []hogapi.Event
		for i := page.Offset; i < min(page.Offset+500, events); i++ {
			list = append(list, hogapi.Event{
				Name: []string{"$pageview", "order placed"}[i%2], DistinctID: fmt.Sprintf("person-%d", i%50),
				Timestamp:  begin.Add(end.Sub(begin) / events * time.Duration(i)),
				Properties: map[string]any{"n": i}, Position: hogapi.Position{Key: "invented", Offset: i + 1},
			})
		}
		return list, hogapi.Position{Key: "invented", Offset: page.Offset + int64(len(list))}, nil
	}
	options := &hogapi.ImportOptions{ID: "invented", Rate: hogapi.Unpaced}
	_, err := client.Import(ctx, hogapi.PagedSource("invented", read), options)
	return err
}
