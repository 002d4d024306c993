// Command benchmarks sends the same events by several clients, each in a process of its own, to one sink on this machine, in turns, and
// compares their cost. See RESULTS.md. It fails if an event was lost or changed, and in runs of at least 400,000 events also if a target
// is missed.
//
//	go run -C test ./bench [-rounds 5] [-n 1000000] [-latency 0s] [-only NAME,…] [-profile FOLDER]
//	go run -C test ./bench -files [-rounds 5] [-n 1000000] [-only FORMAT,…] [-growth 200000,5000000] [-run]
//
// With -files it measures hogimport on files of some tools, and compares it with a script in Python that parses and writes the lines.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// role is the variable that turns a process of this program into the sink or a client.
const role = "HOGAPI_BENCHMARK"

func main() {
	if err := run(os.Stdout, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "benchmarks:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, args []string) error {
	if task := os.Getenv(role); task != "" {
		return runTask(task)
	}
	var p plan
	flags := flag.NewFlagSet("benchmarks", flag.ContinueOnError)
	flags.IntVar(&p.rounds, "rounds", 5, "how often each client runs, in turns")
	flags.IntVar(&p.events, "n", 1_000_000, "events a run")
	flags.DurationVar(&p.latency, "latency", 0, "how long the sink waits before it answers")
	only := flags.String("only", "", "names of clients, joined by commas; default all")
	ofFiles := flags.Bool("files", false, "measure hogimport on files of the formats that -only names, instead of clients")
	growth := flags.String("growth", "", "with -files: numbers of records, joined by commas, to see what a record costs in larger files")
	sends := flags.Bool("run", false, "with -files: imports into the sink too")
	flags.StringVar(&p.profiles, "profile", "", "a folder for CPU profiles, one for each client")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *only != "" {
		p.only = strings.Split(*only, ",")
	}
	if *ofFiles {
		f := files{records: p.events, rounds: p.rounds, formats: p.only, sends: *sends}
		if f.formats == nil {
			f.formats = []string{"posthog", "mixpanel", "amplitude", "segment", "ga4"}
		}
		for field := range strings.SplitSeq(*growth, ",") {
			if n, err := strconv.Atoi(field); err == nil {
				f.growth = append(f.growth, n)
			}
		}
		return f.run(out)
	}
	return p.run(out)
}

type job struct {
	Client  string
	URL     string
	Events  int
	File    string // of the events, for an import
	Folder  string // for files that a client writes
	Profile string
}

const sinkTask = "sink"

func runTask(task string) error {
	if task == sinkTask {
		return serveSink()
	}
	var j job
	if err := json.Unmarshal([]byte(task), &j); err != nil {
		return err
	}
	c, err := findClient(j.Client)
	if err != nil {
		return err
	}
	m, err := measure(c, j)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(m)
}
