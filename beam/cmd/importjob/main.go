// Command importjob imports files of JSON lines as an Apache Beam job: a program to run and to copy.
//
//	importjob                                                          real events into a fake of the service, on this machine
//	importjob -cloud us -import mixpanel-2024 'history/*.jsonl.gz'      files into a project, on this machine
//	importjob -runner flink -endpoint host:8099 -cloud us …             the same on a cluster: see docs/scale.md
//
// Flags of Beam and of its runners are flags of this program too. The key is looked up on the workers, by the name of a variable or of a
// file. What was refused is written to -rejects and the result to -receipt; both may be on any of Beam's filesystems. A second run of the
// same command sends the same events, which the service takes once.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/gcs"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/local"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/io/filesystem/s3"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/dataflow"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/flink"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	_ "github.com/apache/beam/sdks/v2/go/pkg/beam/runners/spark"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/beam"
)

func main() {
	s := define(flag.CommandLine)
	flag.Parse()
	s.globs = flag.Args()
	if err := s.beWorker(); err != nil {
		fail(err)
	}
	beam.Init() // does not return in a worker
	if program, err := os.Executable(); err == nil && s.runner == "local" && *jobopts.WorkerBinary == "" {
		*jobopts.WorkerBinary = program // the runner would compile the program anew
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	if !s.verbose {
		slog.SetDefault(slog.New(slog.DiscardHandler)) // what the local runner tells; the job's error tells it again
	}
	if err := withTemp(func() error { return run(ctx, os.Stdout, s) }); err != nil {
		fail(err)
	}
}

// withTemp gives f a folder for temporary files that ends with it: Beam leaves a file there for each job.
func withTemp(f func() error) error {
	folder, err := os.MkdirTemp("", "importjob-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if err := os.Setenv("TMPDIR", folder); err != nil {
		return err
	}
	return f()
}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "importjob: %v\n", err)
	os.Exit(1)
}

type settings struct {
	runner           string
	options          hogbeam.Options
	cloud            string
	rejects, receipt string // files
	verbose          bool
	provision        string
	globs            []string
}

// runners are Beam's names for ours.
var runners = map[string]string{"local": "prism", "flink": "flink", "spark": "spark", "dataflow": "dataflow"}

func define(flags *flag.FlagSet) *settings {
	s := &settings{}
	o := &s.options
	flags.StringVar(&s.runner, "runner", "local", "local, flink, spark or dataflow")
	flags.StringVar(&o.ID, "import", "", "the import's `name`, the same for every run: the identity of events is derived from it")
	flags.StringVar(&s.cloud, "cloud", "", "us or eu; without -cloud and -host it is a fake of the service")
	flags.StringVar(&o.Service.BaseURL, "host", "", "the `URL` of a server of your own")
	flags.StringVar(&o.Service.ProjectKey.Env, "key-env", "", "the `variable` that holds the project API key on the workers (default POSTHOG_PROJECT_API_KEY)")
	flags.StringVar(&o.Service.ProjectKey.File, "key-file", "", "the `file` that holds it, in place of a variable")
	flags.IntVar(&o.Lanes, "lanes", 0, "the most writers of the whole job (default 8)")
	flags.IntVar(&o.Rate, "rate", 0, "the most `events` per second of the whole job; 0 is 1,000, and no limit for the fake; -1 is no limit")
	flags.StringVar(&o.Sort.Folder, "sort-folder", "", "the workers' `folder` for sorting (default: their folder for temporary files)")
	flags.StringVar(&s.rejects, "rejects", "", "the `file` for what is refused (default: the name and .rejects.jsonl)")
	flags.StringVar(&s.receipt, "receipt", "", "the `file` for the result (default: the name and .receipt.json)")
	flags.BoolVar(&s.verbose, "verbose", false, "show what the local runner tells")
	flags.StringVar(&s.provision, "provision_endpoint", "", "set by the local runner when it starts this program as its worker process")
	return s
}

// beWorker makes this process a worker where the local runner has started it as one. The runner passes an address, and an id in quotes.
func (s *settings) beWorker() error {
	if s.provision == "" {
		return nil
	}
	id := flag.Lookup("id").Value.String()
	return errors.Join(
		flag.Set("worker", "true"), flag.Set("id", strings.Trim(id, "'")),
		flag.Set("control_endpoint", s.provision), flag.Set("logging_endpoint", s.provision))
}

// complete fills in what the flags leave open.
func (s *settings) complete() error {
	if _, known := runners[s.runner]; !known {
		return fmt.Errorf("unknown runner %q: want local, flink, spark or dataflow", s.runner)
	}
	s.options.Service.Region = hogapi.Region(s.cloud)
	s.options.Delivery.Preflight = hogapi.PreflightOn // a service takes events with a key that it does not know, and drops them
	key := &s.options.Service.ProjectKey
	if key.File == "" {
		key.Env = cmp.Or(key.Env, "POSTHOG_PROJECT_API_KEY")
	}
	switch {
	case s.isDemo() && s.runner != "local":
		return errors.New("say -cloud or -host: a fake of the service can only be used by the local runner")
	case s.options.ID == "":
		return errors.New("say -import and a name for this import, such as -import mixpanel-2024")
	case len(s.globs) == 0:
		return errors.New("name the files to import: the events that come with this program are for the fake only")
	}
	s.rejects = cmp.Or(s.rejects, s.options.ID+".rejects.jsonl")
	s.receipt = cmp.Or(s.receipt, s.options.ID+".receipt.json")
	return nil
}

// isDemo says that no service was named.
func (s *settings) isDemo() bool { return s.cloud == "" && s.options.Service.BaseURL == "" }

func run(ctx context.Context, out io.Writer, s *settings) error {
	if s.isDemo() && s.runner == "local" {
		fake, err := s.startFake(out)
		if err != nil {
			return err
		}
		defer fake.end(out)
	}
	if err := s.complete(); err != nil {
		return err
	}
	if err := s.options.Check(); err != nil { //nolint:contextcheck // it sends nothing
		return err
	}
	p, root := beam.NewPipelineWithRoot()
	written := hogbeam.WriteHistorical(root, s.options, hogbeam.ReadJSONLines(root, s.globs...)) //nolint:contextcheck // the same
	s.write(root, written)
	result, err := beam.Run(ctx, runners[s.runner], p)
	if err != nil {
		return fmt.Errorf("the job has failed, and a part of the events may have been sent: run the same command again, it sends the same events: %w", err)
	}
	printCounters(out, result)
	return s.printReceipt(ctx, out)
}

// printCounters shows what the job has counted.
func printCounters(out io.Writer, result beam.PipelineResult) {
	counters := result.Metrics().AllMetrics().Counters()
	sums := map[string]int64{}
	var names []string
	for _, c := range counters {
		if c.Key.Namespace != "hogbeam" {
			continue
		}
		if !slices.Contains(names, c.Key.Name) {
			names = append(names, c.Key.Name)
		}
		sums[c.Key.Name] += max(c.Committed, c.Attempted)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(out, "%s %d\n", name, sums[name])
	}
}
