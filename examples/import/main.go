// Command import sends past events from files to the service: a program to copy.
//
//	import -id mixpanel-2024 -check 2023.jsonl.gz 2024.jsonl.gz     reads everything, sends nothing
//	import -id mixpanel-2024 2023.jsonl.gz 2024.jsonl.gz            imports the files, in this order
//	import -id mixpanel-2024 -resume 2023.jsonl.gz 2024.jsonl.gz    goes on after a stop, a crash or a kill
//
// It keeps its place in mixpanel-2024.checkpoint, what was refused in mixpanel-2024.rejects.jsonl, and the result in
// mixpanel-2024.receipt.json. Without keys it works with a fake of the service, and without files it imports real events that
// come with the examples.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/examples/internal/commits"
	"github.com/hogapi/hogapi/examples/internal/demo"
)

func main() { demo.Main(run) }

type settings struct {
	id                           string
	checkOnly, resume            bool
	rate                         int
	checkpoint, rejects, receipt string // files
	events                       []string
}

func parse(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("import", flag.ContinueOnError)
	flags.StringVar(&s.id, "id", "", "the import's `name`, the same for every run: the identity of events is derived from it")
	flags.BoolVar(&s.checkOnly, "check", false, "read everything and send nothing")
	flags.BoolVar(&s.resume, "resume", false, "go on where an earlier run has ended")
	flags.IntVar(&s.rate, "rate", 0, "the most `events` per second; 0 is 1,000, and no limit for the fake; -1 is no limit")
	flags.StringVar(&s.checkpoint, "checkpoint", "", "the `file` that keeps the place (default: the id and .checkpoint)")
	flags.StringVar(&s.rejects, "rejects", "", "the `file` for what is refused (default: the id and .rejects.jsonl)")
	flags.StringVar(&s.receipt, "receipt", "", "the `file` for the result (default: the id and .receipt.json)")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	s.events = flags.Args()
	switch {
	case len(s.events) == 0:
		s.id = cmp.Or(s.id, "commits") // the events of the examples: files only where they are asked for
	case s.id == "":
		return s, errors.New("say -id and a name for this import, such as -id mixpanel-2024")
	default:
		s.checkpoint = cmp.Or(s.checkpoint, s.id+".checkpoint")
		s.rejects = cmp.Or(s.rejects, s.id+".rejects.jsonl")
		s.receipt = cmp.Or(s.receipt, s.id+".receipt.json")
	}
	return s, nil
}

func run(ctx context.Context, out io.Writer, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	if s.checkOnly {
		_, err := s.check(ctx, out)
		return err
	}
	site, err := demo.Connect(out, demo.ProjectKey)
	if err != nil {
		return err
	}
	defer site.Close()
	if site.Fake == nil && len(s.events) == 0 {
		return errors.New("name the files to import: the events of the examples are for the fake only")
	}
	if s.rate == 0 {
		s.rate = site.Rate()
	}
	receipt, err := s.send(ctx, out, site.Client)
	if err != nil {
		return err
	}
	if site.Fake != nil {
		fmt.Fprintf(out, "\nThe fake holds %d events.\n", site.Fake.Ledger().Unique())
	} else {
		fmt.Fprintf(out, "\nThe service shows events some minutes after it has taken them. Compare then, with this query:\n\n%s\n", receipt.HogQL())
	}
	return nil
}

// source is the files, or the events of the examples.
func (s settings) source() (hogapi.Source, func(), error) {
	if len(s.events) > 0 {
		return hogapi.JSONLinesFile(s.events...), func() {}, nil
	}
	folder, err := os.MkdirTemp("", "import-")
	if err != nil {
		return nil, nil, err
	}
	path, err := commits.WriteFile(folder)
	return hogapi.JSONLinesFile(path), func() { _ = os.RemoveAll(folder) }, err
}

// check reads everything and sends nothing.
func (s settings) check(ctx context.Context, out io.Writer) (hogapi.CheckReport, error) {
	source, done, err := s.source()
	if err != nil {
		return hogapi.CheckReport{}, err
	}
	defer done()
	report, err := hogapi.Check(ctx, source, hogapi.ImportOptions{ID: s.id})
	fmt.Fprintf(out, "Checked: %v\n\n", report)
	return report, err
}

// send checks all events and imports them.
func (s settings) send(ctx context.Context, out io.Writer, client *hogapi.Client) (hogapi.Receipt, error) {
	if _, err := os.Stat(s.checkpoint); err == nil && !s.resume {
		return hogapi.Receipt{}, fmt.Errorf("%s is there: this import has begun; say -resume to go on", s.checkpoint)
	}
	report, err := s.check(ctx, out)
	if err != nil {
		return hogapi.Receipt{}, err
	}
	source, done, err := s.source()
	if err != nil {
		return hogapi.Receipt{}, err
	}
	defer done()
	progress := newProgress(out, report.Read)
	options := hogapi.ImportOptions{ID: s.id, Rate: s.rate, Total: report.Read, OnProgress: progress.show}
	if s.checkpoint != "" {
		options.Checkpoint = hogapi.FileCheckpoint(s.checkpoint)
	}
	if s.rejects != "" {
		options.Rejects = hogapi.RejectFile(s.rejects)
	}
	receipt, err := client.Import(ctx, source, options)
	progress.end()
	fmt.Fprintf(out, "\n%v\n", receipt)
	if receipt.Source != "" { // else it never began, and an earlier receipt stays
		err = errors.Join(err, s.keep(receipt))
	}
	if ctx.Err() != nil && s.checkpoint != "" {
		err = fmt.Errorf("stopped, with its place kept in %s: the same command with -resume goes on there: %w", s.checkpoint, err)
	}
	return receipt, err
}

// keep writes the receipt, which is valid beside an error too.
func (s settings) keep(receipt hogapi.Receipt) error {
	if s.receipt == "" {
		return nil
	}
	raw, err := json.MarshalIndent(receipt, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(s.receipt, append(raw, '\n'), 0o600)
}
