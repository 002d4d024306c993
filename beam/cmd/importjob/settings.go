package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"strings"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/options/jobopts"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/beam"
)

type settings struct {
	runner           string
	options          hogbeam.Options
	cloud            string
	rejects, receipt string // files
	check, verbose   bool
	provision        string
	globs            []string
	fake             *fake // nil: a service
}

// runners are Beam's names for ours.
var runners = map[string]string{"local": "prism", "flink": "flink", "spark": "spark", "dataflow": "dataflow"}

func define(flags *flag.FlagSet) *settings {
	s := &settings{}
	o := &s.options
	flags.BoolVar(&s.check, "check", false, "look at all events, say what an import would send and refuse, and send nothing; files of this machine")
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
	flags.BoolVar(&s.verbose, "verbose", false, "show what the local runner tells, and its plan where a job fails")
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

// checkFlags refuses what would not do what it says.
func (s *settings) checkFlags() error {
	_, known := runners[s.runner]
	here, key := s.runner == "local", s.options.Service.ProjectKey
	switch {
	case !known:
		return fmt.Errorf("unknown runner %q: want local, flink, spark or dataflow", s.runner)
	case isDryRun() && s.runner != "dataflow":
		return fmt.Errorf("-dry_run is of dataflow, and the runner %s would send all events: -check sends nothing", s.runner)
	case *jobopts.Async && here:
		return errors.New("-async: the local runner ends with this program")
	case s.check && (s.options.ID == "" || len(s.globs) == 0):
		return errors.New("-check: say -import and a name, and name the files")
	case s.isFake() && !s.check && !here:
		return errors.New("say -cloud or -host: a fake of the service can only be used by the local runner")
	case !here && !s.check && (s.rejects == "" || s.receipt == ""):
		return errors.New("say -rejects and -receipt, files that outlast the workers, such as gs://bucket/rejects.jsonl: they write them")
	case s.isFake() && !s.check && key.Env+key.File != "":
		return errors.New("-key-env and -key-file are for -cloud and -host: the fake has a key of its own")
	case strings.ContainsAny(s.options.ID, `/\`) && (s.rejects == "" || s.receipt == ""):
		return errors.New("say -rejects and -receipt: a name with slashes names no file")
	}
	for _, glob := range s.globs {
		if strings.HasPrefix(glob, "-") {
			return fmt.Errorf("flags come before the files: %s", glob)
		}
		if err := checkScheme(glob); err != nil {
			return err
		}
	}
	if len(s.globs) > 0 {
		return hogbeam.CheckGlobs(s.globs...)
	}
	return nil
}

// isDryRun says that Dataflow's flag for that is set.
func isDryRun() bool { return flag.Lookup("dry_run").Value.String() == "true" }

// complete fills in what the flags leave open.
func (s *settings) complete() error {
	o := &s.options
	o.Service.Region = hogapi.Region(s.cloud)
	o.Delivery.Preflight = hogapi.PreflightOn // a service takes events with a key that it does not know, and drops them
	if key := &o.Service.ProjectKey; key.File == "" {
		key.Env = cmp.Or(key.Env, "POSTHOG_PROJECT_API_KEY")
	}
	switch {
	case o.ID == "":
		return errors.New("say -import and a name for this import, such as -import mixpanel-2024")
	case len(s.globs) == 0:
		return errors.New("name the files to import: the events that come with this program are for the fake only")
	}
	s.rejects = cmp.Or(s.rejects, o.ID+".rejects.jsonl")
	s.receipt = cmp.Or(s.receipt, o.ID+".receipt.json")
	err := o.Check()
	if err != nil && strings.Contains(err.Error(), "Unpaced") {
		err = fmt.Errorf("%w; Unpaced is -rate -1", err)
	}
	return err
}

// isFake says that no service was named.
func (s *settings) isFake() bool { return s.cloud == "" && s.options.Service.BaseURL == "" }
