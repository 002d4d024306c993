// Command importjob imports files of JSON lines as an Apache Beam job: a program to run and to copy.
//
//	importjob                                                          real events into a fake of the service, on this machine
//	importjob -cloud us -import mixpanel-2024 'history/*.jsonl.gz'      files into a project, on this machine
//	importjob -check -import mixpanel-2024 'history/*.jsonl.gz'         says what that would send and refuse, and sends nothing
//	importjob -runner flink -endpoint host:8099 -cloud us …             the same on a cluster: see docs/scale.md
//
// Flags of Beam and of its runners are flags of this program too. The key is looked up on the workers, by the name of a variable or of a
// file. What was refused is written to -rejects and the result to -receipt; both may be on any of Beam's filesystems. A second run of the
// same command sends the same events, which the service takes once. Both files take their names when the job has ended well, and replace
// only those of the same import of the same files.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
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

	"github.com/hogapi/hogapi/beam"
)

func main() {
	own := flag.NewFlagSet("importjob", flag.ExitOnError)
	s := define(own)
	own.VisitAll(func(f *flag.Flag) { flag.Var(f.Value, f.Name, f.Usage) })
	flag.StringVar(&s.provision, "provision_endpoint", "", "set by the local runner when it starts this program as its worker process")
	flag.Usage = func() { usage(flag.CommandLine.Output(), own) }
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

// usage shows this program's own flags before those of Beam.
func usage(out io.Writer, own *flag.FlagSet) {
	fmt.Fprint(out, `Usage: importjob [flags] FILES

FILES are names or globs of JSON lines, plain or gzip. Quote a glob and choose it once: positions, and so the uuids of events, are names
below the folder where it begins. Written in another way, or spread out by the shell, it is another import of the same events.

The program ends with 0 when all events are settled, also where some were rejected; with 1 when the job has failed or was interrupted;
with 2 where flags are unknown.

`)
	own.SetOutput(out)
	own.PrintDefaults()
	fmt.Fprint(out, "\nFlags of Beam and its runners:\n\n")
	others := flag.NewFlagSet("", flag.ExitOnError)
	others.SetOutput(out)
	flag.VisitAll(func(f *flag.Flag) {
		if own.Lookup(f.Name) == nil {
			others.Var(f.Value, f.Name, f.Usage)
		}
	})
	others.PrintDefaults()
}

func fail(err error) {
	fmt.Fprintf(os.Stderr, "importjob: %v\n", err)
	os.Exit(1)
}

func run(ctx context.Context, out io.Writer, s *settings) error {
	if err := s.checkFlags(); err != nil {
		return err
	}
	if s.check {
		return s.checkFiles(ctx, out)
	}
	if s.isFake() {
		fake, err := s.startFake(out)
		if err != nil {
			return err
		}
		s.fake = fake
		defer fake.end(out)
	}
	if err := s.complete(); err != nil { //nolint:contextcheck // it sends nothing
		return err
	}
	if err := s.checkOutputs(ctx); err != nil {
		return err
	}
	if s.runner == "local" {
		if err := s.tryHere(ctx, out); err != nil {
			return err
		}
	}
	return s.runJob(ctx, out)
}

func (s *settings) runJob(ctx context.Context, out io.Writer) error {
	p, root := beam.NewPipelineWithRoot()
	written := hogbeam.WriteHistorical(root, s.options, hogbeam.ReadJSONLines(root, s.globs...)) //nolint:contextcheck // it sends nothing
	s.write(root, written)
	if _, err := beam.Run(ctx, runners[s.runner], p); err != nil {
		if s.verbose {
			fmt.Fprintln(os.Stderr, err)
		}
		s.discard(context.WithoutCancel(ctx))
		return failed(ctx, err)
	}
	if isDryRun() {
		fmt.Fprintln(out, "Nothing was sent.")
		return nil
	}
	if *jobopts.Async {
		fmt.Fprintf(out, "The job was submitted. When it has ended well its receipt is in %s.\n", s.receipt)
		return nil
	}
	if s.runner == "local" {
		if err := place(ctx, s.receipt, s.rejects); err != nil {
			return fmt.Errorf("the job has ended well, but its outputs cannot be given their names: %w", err)
		}
	}
	return s.printResult(ctx, out)
}
