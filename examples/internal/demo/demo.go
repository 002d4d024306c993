// Package demo is what the examples share: it finds the place to work at, the service or a fake of it, runs a program, and
// turns its error into advice.
package demo

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// The keys that an example may need.
const (
	PersonalKey = "POSTHOG_PERSONAL_API_KEY"
	ProjectKey  = "POSTHOG_PROJECT_API_KEY"
)

// Site is where an example works.
type Site struct {
	Client *hogapi.Client
	Fake   *hogapitest.Server // nil: it is the real service
}

// Connect goes to the service when the environment has a key, else it starts a fake of it on this machine. It says which.
func Connect(out io.Writer, needs ...string) (*Site, error) {
	if os.Getenv(PersonalKey) == "" && os.Getenv(ProjectKey) == "" {
		return fake(out)
	}
	for _, name := range needs {
		if os.Getenv(name) == "" {
			return nil, &hogapi.InputError{Field: name, Want: "a key: this example needs it"}
		}
	}
	client, err := hogapi.NewClient(hogapi.FromEnv(), hogapi.WithApplication("hogapi-examples", ""))
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "Keys found: working with the real service, %v.\n\n", client)
	return &Site{Client: client}, nil
}

func fake(out io.Writer) (*Site, error) {
	server := hogapitest.New(hogapitest.WithPolls(2))
	seed(server.Project(hogapitest.DefaultProject))
	client, err := hogapi.NewClient(
		hogapi.WithBaseURL(server.URL()),
		hogapi.WithProject(hogapitest.DefaultProject),
		hogapi.WithPersonalAPIKey(hogapitest.DefaultPersonalKey),
		hogapi.WithProjectAPIKey(hogapitest.DefaultProjectKey),
	)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(out, "No keys in the environment: working with a fake of the service on %s.\n\n", server.URL())
	return &Site{Client: client, Fake: server}, nil
}

// Close ends the fake.
func (s *Site) Close() {
	if s.Fake != nil {
		s.Fake.Close()
	}
}

// Watch says how often to look: at the service as it is used to, at the fake without much waiting.
func (s *Site) Watch() *hogapi.WatchOptions {
	if s.Fake == nil {
		return nil
	}
	return &hogapi.WatchOptions{Interval: 20 * time.Millisecond, MaxInterval: 20 * time.Millisecond}
}

// Rate is the pace of an import: the default for the service, none for the fake.
func (s *Site) Rate() int {
	if s.Fake == nil {
		return 0
	}
	return hogapi.Unpaced
}

// Main runs a program until it is done or interrupted. An error becomes advice and exit code 1. A second interrupt ends it at once.
func Main(run func(ctx context.Context, out io.Writer, args []string) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	err := run(ctx, os.Stdout, os.Args[1:])
	stop()
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return
	}
	fmt.Fprintln(os.Stderr, Explain(err))
	os.Exit(1)
}

// Table starts a table; its first row is the head.
func Table(out io.Writer, head ...any) *tabwriter.Writer {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	Row(w, head...)
	return w
}

// Row adds a row to a table.
func Row(w io.Writer, cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(w, "\t")
		}
		fmt.Fprint(w, strings.ReplaceAll(fmt.Sprint(cell), "\t", " "))
	}
	fmt.Fprintln(w)
}
