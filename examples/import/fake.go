package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// connect makes a client with the keys of the environment, or a client of a fake of the service if
// there are no keys. A copy of this program only needs hogapi.NewClient(hogapi.FromEnv()).
func connect(out io.Writer) (*hogapi.Client, *hogapitest.Server, error) {
	if cmp.Or(os.Getenv("POSTHOG_PERSONAL_API_KEY"), os.Getenv("POSTHOG_PROJECT_API_KEY")) != "" {
		if os.Getenv("POSTHOG_PROJECT_API_KEY") == "" {
			return nil, nil, errors.New("set POSTHOG_PROJECT_API_KEY (phc_…): an import sends its events with it")
		}
		client, err := hogapi.NewClient(hogapi.FromEnv())
		if err == nil {
			fmt.Fprintf(out, "Keys found: working with %v.\n\n", client)
		}
		return client, nil, err
	}
	fmt.Fprint(out, "No keys in the environment: working with a fake of the service.\n\n")
	fake := hogapitest.New()
	client, err := hogapi.NewClient(fake.ClientOptions(hogapitest.DefaultProject)...)
	return client, fake, err
}

// invent writes a file of invented events, such as another product could export.
func invent(events int) (path string, err error) {
	file, err := os.CreateTemp("", "events-*.jsonl")
	if err != nil {
		return "", err
	}
	defer file.Close()
	begin := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range events {
		at := begin.Add(time.Duration(i) * 5 * time.Second).Format(time.RFC3339)
		const line = `{"event":"order placed","distinct_id":"person-%d","timestamp":"%s","properties":{"order":%d}}` + "\n"
		if _, err := fmt.Fprintf(file, line, i%500, at, i); err != nil {
			return file.Name(), err
		}
	}
	return file.Name(), file.Close()
}
