// Command smoke is a contract test: it shows in a few minutes whether this package and a real server understand each
// other. It reads the settings from the environment, as hogapi.FromEnv does, and changes nothing unless it is given
// -write. Its report names no key, no address and nothing of the project's content, so it can be pasted into an issue.
// Without keys it tests a fake of the service.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/demo"
	"github.com/hogapi/hogapi/hogapitest"
)

func main() { demo.Main(run) }

const usage = `Usage: .ci/smoke [-write]

Set POSTHOG_PROJECT_ID, POSTHOG_PERSONAL_API_KEY, POSTHOG_PROJECT_API_KEY, and POSTHOG_REGION (us, eu) or POSTHOG_HOST,
of a test project. Without -write nothing is changed.

`

func run(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("smoke", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() {
		fmt.Fprint(out, usage)
		flags.PrintDefaults()
	}
	writes := flags.Bool("write", false, "make and delete a paused export, and import 100 events, which stay")
	limit := flags.Duration("limit", 10*time.Minute, "the longest `TIME` for all checks")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return nil
	} else if err != nil {
		return err
	}
	client, fake, err := connect()
	if err != nil {
		return err
	}
	if fake != nil {
		defer fake.Close()
		fmt.Fprintln(out, "No keys in the environment: testing a fake of the service.")
	}
	ctx, cancel := context.WithTimeout(ctx, *limit)
	defer cancel()
	s := &smoke{client: client, out: out}
	for _, c := range s.reads() {
		s.check(ctx, c)
	}
	if *writes {
		for _, c := range s.writes() {
			s.check(ctx, c)
		}
	}
	s.report(*writes)
	if s.failed > 0 {
		return fmt.Errorf("%d of %d checks failed", s.failed, len(s.results))
	}
	return nil
}

// connect returns a client of the project in the environment, or of a fake.
func connect() (*hogapi.Client, *hogapitest.Server, error) {
	if os.Getenv("POSTHOG_PERSONAL_API_KEY") != "" {
		client, err := hogapi.NewClient(hogapi.FromEnv(), hogapi.WithApplication("hogapi-smoke", "1"))
		return client, nil, err
	}
	fake := hogapitest.New()
	project := fake.Project(hogapitest.DefaultProject)
	export := hogapitest.Export{Name: "events", DestinationType: "BigQuery", Config: map[string]any{}}
	project.RunSchedule(project.AddExport(export), nil)
	client, err := hogapi.NewClient(fake.ClientOptions(hogapitest.DefaultProject)...)
	return client, fake, err
}

// smoke is the state that the checks share.
type smoke struct {
	client  *hogapi.Client
	out     io.Writer
	export  *hogapi.BatchExport // one of the project, or nil
	made    *hogapi.BatchExport
	results []result
	failed  int
	notes   []string
}

// check is one thing that must hold. It returns a short result, which names nothing of the project.
type check struct {
	name string
	run  func(context.Context) (string, error)
}

type result struct {
	name, state, text string
	took              time.Duration
}

// errNotTried is the error of a check that this server, key or project has no room for.
var errNotTried = errors.New("not tried")

func notTried(why string) error { return fmt.Errorf("%w: %s", errNotTried, why) }

func (s *smoke) check(ctx context.Context, c check) {
	begun := time.Now()
	text, err := c.run(ctx)
	r := result{name: c.name, state: "ok", text: text, took: time.Since(begun)}
	switch {
	case err == nil:
	case errors.Is(err, errNotTried):
		r.state, r.text = "not tried", strings.TrimPrefix(err.Error(), errNotTried.Error()+": ")
	case errors.Is(err, hogapi.ErrUnsupported):
		r.state, r.text = "not tried", "this server does not have it"
	case errors.Is(err, hogapi.ErrForbidden):
		r.state, r.text = "not tried", "the key may not: "+plain(err)
	default:
		r.state, r.text = "FAILED", plain(err)
		s.failed++
	}
	s.results = append(s.results, r)
	fmt.Fprintf(s.out, "%-10s %s\n", r.state, c.name)
}

// plain returns the text of an error in one line. Errors of the package have no keys and no addresses.
func plain(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }

// report prints the report.
func (s *smoke) report(wrote bool) {
	server := "a server of one's own"
	if text := s.client.String(); strings.Contains(text, ".posthog.com") {
		server = "PostHog Cloud"
	}
	fmt.Fprintf(s.out, "\n--- report ---\n%s, %s, %s/%s, %s",
		time.Now().UTC().Format(time.DateOnly), runtime.Version(), runtime.GOOS, runtime.GOARCH, server)
	if wrote {
		fmt.Fprint(s.out, ", with -write")
	}
	fmt.Fprintln(s.out)
	t := tabwriter.NewWriter(s.out, 0, 0, 2, ' ', 0)
	for _, r := range s.results {
		fmt.Fprintf(t, "%s\t%s\t%d ms\t%s\n", r.state, r.name, r.took.Milliseconds(), r.text)
	}
	_ = t.Flush()
	for _, note := range s.notes {
		fmt.Fprintln(s.out, note)
	}
}
