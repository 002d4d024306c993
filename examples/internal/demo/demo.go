// Package demo holds the parts that the examples share. A copy of an example does without it: it has the content of
// [Main] as its own main, and hogapi.NewClient(hogapi.FromEnv()) in place of [Connect].
package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

const (
	personalKey = "POSTHOG_PERSONAL_API_KEY"
	projectKey  = "POSTHOG_PROJECT_API_KEY"
)

// Main runs an example until it ends or somebody interrupts it.
func Main(run func(ctx context.Context, out io.Writer, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it at once
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Connect makes a client with the keys of the environment. Without keys it makes a client of a fake of the service, and
// returns the fake too.
func Connect(out io.Writer, options ...hogapitest.Option) (*hogapi.Client, *hogapitest.Server, error) {
	if cmp.Or(os.Getenv(personalKey), os.Getenv(projectKey)) != "" {
		client, err := hogapi.NewClient(hogapi.FromEnv())
		if err == nil {
			fmt.Fprintf(out, "Keys found: working with %v.\n\n", client)
		}
		return client, nil, err
	}
	fake := hogapitest.New(options...)
	fmt.Fprintf(out, "No keys in the environment: working with a fake of the service on %s.\n\n", fake.URL())
	client, err := hogapi.NewClient(fake.ClientOptions(hogapitest.DefaultProject)...)
	return client, fake, err
}

// ConnectToImport is Connect for a program that sends events.
func ConnectToImport(out io.Writer) (*hogapi.Client, *hogapitest.Server, error) {
	if os.Getenv(personalKey) != "" && os.Getenv(projectKey) == "" {
		return nil, nil, errors.New("set POSTHOG_PROJECT_API_KEY (phc_…): an import sends its events with it")
	}
	return Connect(out)
}

// Watch returns short intervals between looks for a fake, and nil, which is the default, for the real service.
func Watch(fake *hogapitest.Server) *hogapi.WatchOptions {
	if fake == nil {
		return nil
	}
	return &hogapi.WatchOptions{Interval: 20 * time.Millisecond, MaxInterval: 20 * time.Millisecond}
}

// EachSecond returns a function for OnProgress. It prints the state of an import about once a second, with the last
// error while sending fails.
func EachSecond(out io.Writer) func(hogapi.Stats) {
	var printed time.Time
	return func(s hogapi.Stats) {
		if time.Since(printed) > 900*time.Millisecond {
			fmt.Fprintln(out, s)
			printed = time.Now()
		}
	}
}
