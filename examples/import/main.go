// Command import checks files of past events and sends them to the service: a program to copy.
//
//	import -id shop -check 2023.jsonl.gz 2024.jsonl.gz    reads everything, sends nothing
//	import -id shop 2023.jsonl.gz 2024.jsonl.gz           checks the files, then imports them
//	import -id shop -resume 2023.jsonl.gz 2024.jsonl.gz   continues after a stop, a crash or a kill
//	import -id shop-rejects -rejected shop.rejects.jsonl  imports the rejects, once corrected
//	import -id shop -verify 2023.jsonl.gz 2024.jsonl.gz   hours later: waits until all events are there
//
// It keeps its position in shop.checkpoint, the rejects in shop.rejects.jsonl, the result in
// shop.receipt.json, and the results of -verify in shop.verify. The exit code is 0 only if everything
// was imported and not too much was rejected, and with -verify only if all events are there. Without
// keys it works with a fake of the service and keeps no checkpoint and no receipt. Without files it
// imports invented events.
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
	"github.com/hogapi/hogapi/examples/internal/demo"
	"github.com/hogapi/hogapi/history"
)

func main() { demo.Main(run) }

type settings struct {
	id                           string
	checkOnly, resume, verify    bool
	rate                         int
	maxRejectShare               float64
	rejected                     string // a reject file to import
	checkpoint, rejects, receipt string // files
	events                       []string
	total                        int64 // events, after the check
}

func parse(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("import", flag.ExitOnError)
	flags.StringVar(&s.id, "id", "", "the import's `name`, the same for every run: uuids are derived from it")
	flags.BoolVar(&s.checkOnly, "check", false, "read everything and send nothing")
	flags.BoolVar(&s.resume, "resume", false, "continue where an earlier run has ended")
	flags.BoolVar(&s.verify, "verify", false, "send nothing, and compare the receipt with the project")
	flags.IntVar(&s.rate, "rate", 0, "the most `events` per second; 0 is 1,000, and no limit for the fake; -1 is no limit")
	flags.Float64Var(&s.maxRejectShare, "max-reject-share", 0.01, "the largest `share` of rejects; -1 is no limit")
	flags.StringVar(&s.rejected, "rejected", "", "import the records of this reject `file`")
	if err := flags.Parse(args); err != nil {
		return s, err
	}
	s.events = flags.Args()
	switch {
	case s.rejected != "" && len(s.events) > 0:
		return s, errors.New("give -rejected or files of events, not both")
	case s.rejected == "" && len(s.events) == 0 && s.id != "":
		return s, errors.New("name the files of the import " + s.id)
	case s.rejected == "" && len(s.events) == 0:
		s.id = "invented" // invented events leave no files
	case s.id == "":
		return s, errors.New("give this import a name with -id, such as -id shop-2024")
	default:
		s.checkpoint, s.rejects, s.receipt = s.id+".checkpoint", s.id+".rejects.jsonl", s.id+".receipt.json"
	}
	return s, nil
}

func run(ctx context.Context, out io.Writer, args []string) error {
	s, err := parse(args)
	if err != nil {
		return err
	}
	source, done, err := s.source()
	if err != nil {
		return err
	}
	defer done()
	if s.checkOnly {
		_, err := s.check(ctx, out, source)
		return err
	}
	client, fake, err := demo.ConnectToImport(out)
	if err != nil {
		return err
	}
	switch {
	case s.verify && fake != nil:
		return errors.New("set the keys of the project that the events were imported into")
	case s.verify:
		return s.verifyKept(ctx, out, client, source)
	case fake != nil: // the fake is gone after this run: its events must not count as imported
		s.checkpoint, s.receipt, s.rate = "", "", cmp.Or(s.rate, hogapi.RateUnlimited)
	case s.rejected == "" && len(s.events) == 0:
		return errors.New("name the files to import: the invented events are for the fake only")
	}
	if _, err := os.Stat(s.checkpoint); err == nil && !s.resume {
		return fmt.Errorf("%s exists, so this import has begun before: add -resume to continue it", s.checkpoint)
	}
	report, err := s.check(ctx, out, source)
	if err != nil {
		return err
	}
	s.total = report.Read
	receipt, err := s.send(ctx, out, client, source)
	if err != nil {
		return err
	}
	if fake != nil {
		fmt.Fprintf(out, "\nThe fake holds %d events, and ends now: nothing was sent to PostHog.\n", fake.Ledger().Unique())
		v, err := history.Verify(ctx, client, receipt, &history.VerifyOptions{Source: source})
		return show(out, v, err)
	}
	if receipt.Acknowledged+receipt.Unconfirmed > 0 {
		const text = "\nIn some hours, the same command with -verify says whether all %d events are there.\n"
		fmt.Fprintf(out, text, receipt.Acknowledged+receipt.Unconfirmed)
	}
	return nil
}

// source returns the files, a reject file, or invented events.
func (s settings) source() (history.Source, func(), error) {
	switch {
	case s.rejected != "":
		return history.Rejected(s.rejected, nil), func() {}, nil // instead of nil: your own corrected parser
	case len(s.events) > 0:
		return history.JSONLines(s.events...), func() {}, nil
	}
	path, err := invent(10_000)
	return history.JSONLines(path), func() { _ = os.Remove(path) }, err
}

// check reads everything and sends nothing. The error names the faults to correct before an import.
func (s settings) check(ctx context.Context, out io.Writer, source history.Source) (history.CheckReport, error) {
	report, err := history.Check(ctx, source, &history.Options{ID: s.id, MaxRejectShare: s.maxRejectShare})
	if report.Read > 0 {
		fmt.Fprintf(out, "Checked: %v\n\n", report)
	}
	if stop, ok := errors.AsType[*hogapi.StopError](err); ok && stop.Reason == hogapi.StopTooManyRejects {
		err = fmt.Errorf("%w\n\nNothing was sent", err)
		if report.Good > 0 {
			err = fmt.Errorf("%w. To import the good records all the same, add -max-reject-share 1", err)
		}
	}
	return report, err
}

func (s settings) send(ctx context.Context, out io.Writer, c *hogapi.Client, in history.Source) (hogapi.Receipt, error) {
	options := history.Options{
		ID: s.id, Rate: s.rate, MaxRejectShare: s.maxRejectShare, Total: s.total, OnProgress: demo.EachSecond(out),
	}
	if s.checkpoint != "" {
		options.Checkpoint = history.CheckpointFile(s.checkpoint)
	}
	if s.rejects != "" {
		options.Rejects = history.RejectFile(s.rejects)
	}
	receipt, err := history.Import(ctx, c, in, &options)
	if receipt.Source != "" { // otherwise it did not begin, and an earlier receipt stays
		fmt.Fprintf(out, "\n%v\n", receipt)
		err = errors.Join(err, s.keep(receipt))
	}
	if stop, _ := errors.AsType[*hogapi.StopError](err); receipt.Rejected+receipt.Unconfirmed > 0 && s.rejects != "" &&
		(err == nil || stop != nil && stop.Reason == hogapi.StopTooManyRejects) {
		if receipt.Rejected > 0 {
			fmt.Fprintf(out, rejectsAre, s.rejects, s.id, s.rejects)
		} else {
			fmt.Fprintf(out, unconfirmedAre, receipt.Unconfirmed, s.rejects, s.id, s.rejects)
		}
	}
	if _, missing := os.Stat(s.checkpoint); ctx.Err() != nil && missing == nil {
		err = fmt.Errorf("stopped; the same command with -resume continues at the place in %s: %w", s.checkpoint, err)
	}
	return receipt, err
}

const rejectsAre = `
The rejects are in %s, each with its reason. They keep their uuids, so correct them there: edit a line and remove
"$reject" from it, or correct the parser that is given to history.Rejected. Then import them:

	import -id %s-rejects -rejected %s
`

const unconfirmedAre = `
%d events are unconfirmed: no answer says whether the service has them. They are in %s as they were sent. There is
nothing to correct, and to send them again is safe, since they keep their uuids:

	import -id %s-rejects -rejected %s
`

// keep writes the receipt, which is valid with an error too.
func (s settings) keep(receipt hogapi.Receipt) error {
	raw, err := json.MarshalIndent(receipt, "", "  ")
	if s.receipt == "" || err != nil {
		return err
	}
	if err := os.WriteFile(s.receipt+".tmp", append(raw, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(s.receipt+".tmp", s.receipt) // so that a full disk does not cost the earlier receipt
}
