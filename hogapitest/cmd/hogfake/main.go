// Command hogfake runs the fake of PostHog's API on its own, with some data, for programs that are
// tried by hand. It prints its address and its keys, and serves a page with its data at that address.
//
//	go run github.com/hogapi/hogapi/hogapitest/cmd/hogfake@latest
//
// It keeps everything in memory. Its keys are no secrets: do not give it real data.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/hogapi/hogapi/hogapitest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout, os.Args[1:]); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "hogfake:", err)
		os.Exit(1) //nolint:gocritic // nothing is left to stop
	}
}

// ages are the ages of the service, by the name that -age takes.
var ages = map[string]hogapitest.Era{"E1": hogapitest.E1, "E4": hogapitest.E4}

// run serves until ctx ends.
func run(ctx context.Context, out io.Writer, args []string) error {
	flags := flag.NewFlagSet("hogfake", flag.ContinueOnError)
	flags.SetOutput(out)
	addr := flags.String("addr", "127.0.0.1:8010", "the address to listen on; port 0 takes a free one")
	age := flags.String("age", "E4", "the age of the service: E1 (early 2025) or E4 (late 2026)")
	noV1 := flags.Bool("no-v1", false, "leave out capture v1, as on a self-hosted server: events come by /batch/ only")
	compact := flags.Bool("compact", false, "keep of an event what counts need, and no other properties: for imports of a million events")
	deletions := flags.Bool("deletions", false, "take requests to delete events, such as those of hogimport undo, which most projects refuse")
	empty := flags.Bool("empty", false, "begin without data")
	story := flags.String("story", "", "tell a story: \"broken\" has exports with outages, failures, pauses and stuck runs")
	version := flags.Bool("version", false, "print the version, and end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *version {
		info, _ := debug.ReadBuildInfo()
		_, err := fmt.Fprintln(out, "hogfake", info.Main.Version)
		return err
	}
	era, ok := ages[strings.ToUpper(*age)]
	if !ok || flags.NArg() > 0 {
		return fmt.Errorf("want -age E1 or E4 (not %q), and no other arguments (not %q)", *age, flags.Args())
	}
	options := []hogapitest.Option{hogapitest.WithEra(era)}
	if *noV1 {
		options = append(options, hogapitest.WithoutV1())
	}
	if *deletions {
		options = append(options, hogapitest.WithDataDeletions())
	}
	if *compact {
		options = append(options, hogapitest.WithCompactLedger())
	}
	fake := hogapitest.New(options...)
	project := fake.Project(hogapitest.DefaultProject)
	switch {
	case *story == "broken":
		breakExports(project)
	case *story != "":
		return fmt.Errorf("want -story broken, or none (not %q)", *story)
	case !*empty:
		seed(project, era)
	}
	socket, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *addr)
	if err != nil {
		return fmt.Errorf("cannot listen on %s (-addr chooses another address): %w", *addr, err)
	}
	url := "http://" + socket.Addr().String()
	server := &http.Server{Handler: handler(fake, url, era), ReadHeaderTimeout: time.Minute}
	fmt.Fprintf(out, greeting, era, url, hogapitest.DefaultProject, hogapitest.DefaultPersonalKey, hogapitest.DefaultProjectKey)

	served := make(chan error, 1)
	go func() { served <- server.Serve(socket) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
		_ = server.Close()
		<-served //nolint:errcheck // it says that the server was closed
		fmt.Fprintln(out, "\nhogfake: ended")
		return nil
	}
}

const greeting = `hogfake: a fake of PostHog's API, of the age %s, on %[2]s
Open that address in a browser to see its data. Ctrl-C ends it, and it forgets everything.

For programs that take their settings from the environment, as hogapi.FromEnv does:

export POSTHOG_HOST=%[2]s
export POSTHOG_PROJECT_ID=%[3]s
export POSTHOG_PERSONAL_API_KEY=%[4]s
export POSTHOG_PROJECT_API_KEY=%[5]s
`

// handler serves the page at the root, and the fake everywhere else.
func handler(fake *hogapitest.Server, url string, era hogapitest.Era) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /{$}", page{fake, url, era})
	mux.Handle("/", fake)
	return mux
}
