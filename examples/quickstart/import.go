package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

//go:embed commits.jsonl.gz
var events []byte // commits.md says where they come from

const (
	importCommand = "import" // quickstart import FOLDER RATE
	importID      = "hogapi-quickstart"
	eventsFile    = "commits.jsonl.gz"
)

// progress is one line of the import process's output, as JSON. The last one has the receipt.
type progress struct {
	Acknowledged int64
	Receipt      *hogapi.Receipt
}

// importFile is the import process: an ordinary import with a checkpoint, which does not know that it
// will be killed.
func importFile(ctx context.Context, out io.Writer, args []string) error {
	folder := args[0]
	rate, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	client, err := hogapi.NewClient(hogapi.FromEnv())
	if err != nil {
		return err
	}
	lines := json.NewEncoder(out)
	receipt, err := history.Import(ctx, client, history.JSONLines(filepath.Join(folder, eventsFile)), &history.Options{
		ID:         importID,
		Checkpoint: history.CheckpointFile(filepath.Join(folder, "import.checkpoint")),
		Rejects:    history.RejectFile(filepath.Join(folder, "import.rejects.jsonl")),
		Rate:       rate,
		OnProgress: func(s hogapi.Stats) { _ = lines.Encode(progress{Acknowledged: s.Acknowledged}) },
	})
	return errors.Join(err, lines.Encode(progress{Acknowledged: receipt.Acknowledged, Receipt: &receipt}))
}

var errKilled = errors.New("the import process was killed")

// importProcess runs importFile in a process of its own and shows its progress. Once killAt events are
// acknowledged it kills the process, which then can neither save nor report anything; -1 lets it end.
func (q *quickstart) importProcess(ctx context.Context, folder string, total, killAt int64) (last progress, err error) {
	program, err := os.Executable()
	if err != nil {
		return last, err
	}
	rate := 0 // the default, 1,000 events per second
	cmd := exec.CommandContext(ctx, program)
	if cmd.Env = os.Environ(); q.fake != nil {
		rate = 2000
		cmd.Env = append(cmd.Env, "POSTHOG_HOST="+q.fake.URL(), "POSTHOG_REGION=",
			"POSTHOG_PROJECT_ID="+hogapitest.DefaultProject, "POSTHOG_PROJECT_API_KEY="+hogapitest.DefaultProjectKey)
	}
	cmd.Args = []string{program, importCommand, folder, strconv.Itoa(rate)}
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return last, err
	}
	if err := cmd.Start(); err != nil {
		return last, err
	}
	killed := false
	for lines := json.NewDecoder(pipe); lines.Decode(&last) == nil; {
		part := float64(last.Acknowledged) / float64(total)
		q.part(part, fmt.Sprintf("%s of %s events", count(last.Acknowledged), count(total)))
		if killAt >= 0 && last.Acknowledged >= killAt && !killed {
			killed = cmd.Process.Kill() == nil
		}
	}
	err = cmd.Wait()
	switch {
	case killed && err != nil:
		return last, errKilled
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case err == nil && last.Receipt == nil:
		err = errors.New("no receipt")
	case err != nil:
		err = fmt.Errorf("the import process: %w", err)
	}
	return last, err
}

// importPastEvents checks the events, imports them with a kill in the middle, and compares.
func (q *quickstart) importPastEvents(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "quickstart-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	file := filepath.Join(folder, eventsFile)
	if err := os.WriteFile(file, events, 0o600); err != nil {
		return err
	}

	q.begin("Check a file of past events, without sending any")
	report, err := history.Check(ctx, history.JSONLines(file), &history.Options{ID: importID})
	if err != nil {
		return fmt.Errorf("%w\n%v", err, report)
	}
	from, to := report.Oldest.Year(), report.Newest.Year()
	q.done("%s: %s events from %d to %d, all good", eventsFile, count(report.Good), from, to)

	q.begin("Import it in a process of its own, and kill that process half way")
	before, err := q.importProcess(ctx, folder, report.Good, report.Good/2)
	if err == nil {
		err = errors.New("the import ended before it was killed")
	}
	if !errors.Is(err, errKilled) {
		return err
	}
	q.failed("killed (SIGKILL) after %s of %s events were acknowledged", count(before.Acknowledged), count(report.Good))

	q.begin("Start the same command again")
	after, err := q.importProcess(ctx, folder, report.Good, -1)
	if err != nil {
		return err
	}
	receipt := *after.Receipt // of both runs
	q.done("resumed at the checkpoint: %s acknowledged, %s rejected", count(receipt.Acknowledged), count(receipt.Rejected))
	if err := q.compare(ctx, history.JSONLines(file), receipt); err != nil {
		return err
	}
	return q.verify(ctx, history.JSONLines(file), receipt)
}

// compare shows that the fake has stored each event of the file once. It can look into the fake; the
// real service shows only the project's counts.
func (q *quickstart) compare(ctx context.Context, source history.Source, receipt hogapi.Receipt) error {
	if q.fake == nil {
		return nil
	}
	q.begin("Compare the file with what the fake has stored")
	var inFile []uuid.UUID
	for event, err := range source.Events(ctx, hogapi.Position{}) {
		if err != nil {
			return err
		}
		inFile = append(inFile, event.UUID)
	}
	ledger, want := q.fake.Ledger(), len(inFile)
	held, missing, altered := ledger.Unique(), len(ledger.Missing(inFile)), len(ledger.Changed())
	if missing > 0 || altered > 0 || held != want || receipt.Acknowledged != int64(want) {
		return fmt.Errorf("the service holds %d events, %d are missing and %d were altered; the receipt says %d of %d",
			held, missing, altered, receipt.Acknowledged, want)
	}
	sent := receipt.Acknowledged
	q.done("none lost: %s events in the file, %s acknowledged, %s held", count(want), count(sent), count(held))
	q.done("none doubled: %s were sent again after the kill, with the same uuid, and merged", count(ledger.Duplicates()))
	return nil
}

// verify counts the events in the project. The real service shows them after minutes or hours, and
// verify waits for it.
func (q *quickstart) verify(ctx context.Context, source history.Source, receipt hogapi.Receipt) error {
	q.begin("Verify: count the events in the project")
	v, err := history.Verify(ctx, q.client, receipt, &history.VerifyOptions{
		Source: source, Wait: q.fake == nil, OnProgress: q.counted,
	})
	if err != nil {
		return err
	}
	if !v.Complete() {
		return fmt.Errorf("the import is not complete:\n%v", v)
	}
	q.done("%s: %s events of %d days and names are there", v.State, count(v.Seen), len(v.Cells))
	return nil
}

func (q *quickstart) counted(p history.VerifyProgress) {
	q.part(float64(p.Seen)/float64(max(p.Acked, 1)), p.String())
}
