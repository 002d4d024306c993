package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	pages "github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/internal/watch"
)

// trial is the command that sends a sample to a test project, and shows how the project has stored
// it.
type trial struct {
	*app

	in       input
	project  project
	state    string
	events   int64
	wait     time.Duration
	isAgreed bool
}

func newTrialCommand(a *app) *cobra.Command {
	t := &trial{app: a}
	cmd := &cobra.Command{
		Use: "trial PLAN or FILES...", Short: "Send 1,000 events to a test project, and compare them there",
		Long: `trial sends 1,000 events, spread over all days of the files, to a test project.
It looks for each of them by its uuid, and shows records next to the events that
the project has stored: is the time right, the person, the name? A wrong zone or
mapping costs a minute here, and a project later.

Give the key of the test project with --project-key or --project-key-file; that
of POSTHOG_PROJECT_API_KEY is not used, since it is the key of the import. To
look for the events it needs --project-id and a personal API key (scope
query:read) of the test project. The same command sends nothing twice: run it
again to check again.

Exit codes: 0 all events arrived unchanged, 7 not yet or unknown, 3 no
event was accepted, 5 the key or the project is wrong.`,
		Example: `  hogimport trial migration.yaml --project-key @test.key --project-id 4711
  hogimport trial export/*.jsonl.gz --format mixpanel \
      --project-key @test.key --project-id 4711
  hogimport trial events.jsonl \
      --project-key @test.key --project-id 4711 --wait 10m`,
		RunE: func(cmd *cobra.Command, files []string) error {
			t.in.Files = files
			plan, err := planOf(files, cmd.Flags())
			if err == nil && plan != nil {
				err = t.obeyTrial(cmd.Context(), plan)
			}
			if err != nil {
				return err
			}
			return t.run(cmd.Context())
		},
	}
	t.in.bind(cmd)
	t.in.bindHeader(cmd)
	t.in.bindUntil(cmd)
	t.in.bindUnused(cmd)
	t.project.bindKey(cmd)
	t.project.bindPersonal(cmd)
	f := cmd.Flags()
	const events = 1000
	f.Int64Var(&t.events, "events", events, "how many `EVENTS` are sent, at most 10000")
	f.DurationVar(&t.wait, "wait", time.Minute, "how much `TIME` to wait for the events")
	f.StringVar(&t.state, "state", "", "the `FOLDER` that keeps the trial's state; default: one below hogimport-state")
	f.BoolVar(&t.isAgreed, "yes", false, "accept the key of the import's own project too")
	return cmd
}

func (t *trial) run(ctx context.Context) error {
	const most = 10_000
	if t.events < 1 || t.events > most {
		return shell.UsageError(fmt.Sprintf("--events %d is not a size for a sample", t.events), "give a number from 1 to 10000")
	}
	t.in.unorder() // it is the same trial with them
	if err := t.in.check(ctx); err != nil {
		return err
	}
	if err := t.otherProject(ctx); err != nil {
		return err
	}
	client, err := t.client(&t.project, true, false, hogapi.WithLogger(t.Logger()))
	if err != nil {
		return err
	}
	s, err := t.openState()
	if err != nil {
		return err
	}
	lock, err := s.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	sample, err := t.read(ctx, s)
	if err != nil {
		return err
	}
	receipt, err := t.send(ctx, client, s, sample, history.Options{ID: s.kept.ID, Gate: t.in.gate(), MaxRejectShare: -1}, "")
	if err != nil {
		f := (&importError{err: err, state: s, receipt: receipt}).fault()
		if f.Code == shell.CodeProject {
			f.Todo = "check --project-key (phc_…) and --host, and run again"
		}
		return f
	}
	if receipt.Acknowledged == 0 {
		return &shell.Fault{Code: shell.CodeRejects, Text: fmt.Sprintf("none of the %d events was accepted: all were rejected, with their reasons in %s", receipt.Read, s.rejects()),
			Todo: "hogimport check shows the reasons with examples: correct " + t.in.readBy()}
	}
	return t.compare(ctx, client, s, sample, receipt)
}

// otherProject refuses the project of the import itself.
func (t *trial) otherProject(ctx context.Context) error {
	if t.project.key == "" && t.project.keyFile == "" {
		return shell.UsageError("the key of a test project is missing", "give --project-key @FILE with the phc_… key of a project for tests; POSTHOG_PROJECT_API_KEY is the key of the import itself")
	}
	key, err := t.Secret("--project-key", t.project.key, t.project.keyFile, "")
	if err != nil {
		return err
	}
	if key != t.Env("POSTHOG_PROJECT_API_KEY") || key == "" || t.isAgreed {
		return nil
	}
	own := shell.UsageError("this is the project of the import itself: POSTHOG_PROJECT_API_KEY has the same key",
		"give the key of a test project, or --yes to send the trial's events to this one")
	if !t.CanAnswer() {
		return own
	}
	return t.Consent(ctx, "The trial's events would stay in the project of the import itself. Send them there all the same?", own)
}

const trialPrefix = "trial-"

// openState opens the folder of this trial. Other files or another mapping make other events, and
// have another folder.
func (t *trial) openState() (*state, error) {
	paths := t.in.paths()
	for i, path := range t.in.Files {
		t.in.Files[i] = absolute(path)
	}
	text, _ := json.Marshal(t.in) //nolint:errchkjson // it has texts only
	if version := t.in.version(); version != 0 {
		text = fmt.Append(text, "mapping ", version)
	}
	name := fmt.Sprintf(trialPrefix+"%s-%x", importID(paths), sha256.Sum256(fmt.Append(text, t.events)))
	const digits = 8
	name = name[:len(name)-2*sha256.Size+digits]
	dir := cmp.Or(t.state, filepath.Join(stateRoot, name))
	s := &state{dir: dir, kept: kept{ID: name, Input: t.in, Begun: time.Now().UTC()}}
	if isStarted(dir) {
		return nil, shell.UsageError(dir+" has the state of an import", "give a new folder with --state DIR")
	}
	r, found, err := s.receipt()
	if _, failed := os.Lstat(s.checkpoint()); err == nil && (r.ID == name || !found && failed == nil) {
		return s, nil // a trial that was killed has no receipt, and the import refuses the checkpoint of others
	}
	return s, s.checkEmpty()
}

func (t *trial) read(ctx context.Context, s *state) (*spread, error) {
	meter := t.Meter()
	defer meter.End()
	sample, err := newSpread(ctx, &t.in, s.kept.ID, t.events, func(n int64) { meter.Phase("reading: " + progress.Number(n) + " events") })
	switch {
	case err != nil:
		return nil, checkFault(err)
	case sample.total == 0:
		return nil, &shell.Fault{Code: shell.CodeRejects, Text: "the files have no event with a time", Todo: "hogimport check shows why: usually the files are of another format"}
	}
	s.kept.Total = sample.size()
	return sample, nil
}

func (t *trial) compare(ctx context.Context, client *hogapi.Client, s *state, sample *spread, receipt hogapi.Receipt) error {
	if !t.canAsk(&t.project) {
		return &shell.Fault{Code: shell.CodeCannot, Text: pages.Count(receipt.Acknowledged) + " events were sent; it was not checked whether they arrived",
			Todo: "give --project-id of the test project, and POSTHOG_PERSONAL_API_KEY (scope query:read): the same command looks for them and sends nothing twice. Or look at the project in the browser"}
	}
	result, err := t.look(ctx, client, s, sample, receipt)
	if err != nil {
		v := verify{app: t.app}
		return v.failed(err)
	}
	rows, err := t.stored(ctx, client, s.kept.ID, chosen(sample.sample()))
	if err = errors.Join(err, markRejected(rows, s.rejects())); err != nil {
		t.Warn("the stored events could not be read: " + faultOf(err).Text)
	}
	if err := t.write(result, receipt, rows); err != nil {
		return err
	}
	return t.judge(s, result, receipt, rows)
}

// look compares all uuids, until they are there or the time is over.
func (t *trial) look(ctx context.Context, client *hogapi.Client, s *state, sample *spread, receipt hogapi.Receipt) (history.Verification, error) {
	meter := t.Meter()
	defer meter.End()
	options := &history.VerifyOptions{Source: sample, Gate: t.in.gate(), Rejects: []string{s.rejects()}, EveryUUID: true, Dir: s.file("verify")}
	const longestPause = 15 * time.Second
	pause, until := time.Second, time.Now().Add(t.wait)
	for {
		result, err := history.Verify(ctx, client, receipt, options)
		if err != nil || result.Complete() || time.Now().Add(pause).After(until) {
			return result, err
		}
		meter.Phase(fmt.Sprintf("waiting for the events: %s of %s are there", progress.Number(result.Seen), progress.Number(result.Acknowledged)))
		if !watch.Sleep(ctx, pause) {
			return history.Verification{}, context.Cause(ctx)
		}
		pause = min(2*pause, longestPause)
	}
}

func (t *trial) judge(s *state, result history.Verification, receipt hogapi.Receipt, rows []storedRow) error {
	again := "run the same command again later: it sends nothing twice"
	switch {
	case result.Complete() && slices.ContainsFunc(rows, func(r storedRow) bool { return r.Stored != nil && !r.isAsSent() }):
		return &shell.Fault{Code: shell.CodeCannot, Text: "the events have arrived, but some were changed: see the lines marked with !",
			Todo: "look for transformations in the settings of the test project"}
	case result.Complete():
		text := fmt.Sprintf("OK: all %s arrived unchanged.", counted(receipt.Acknowledged, "event"))
		if receipt.Rejected > 0 {
			text += fmt.Sprintf(" Rejected: %s of the sample, with their reasons in %s", pages.Count(receipt.Rejected), term.Line(s.rejects()))
		}
		if !t.JSON {
			fmt.Fprintln(t.Out, term.Flow(text))
		}
		return nil
	case result.Seen == 0:
		return &shell.Fault{Code: shell.CodeCannot, Text: "no event has arrived yet",
			Todo: "historical events can take minutes to hours to appear; " + again + ". If nothing arrives, check that --project-id is the id of the test project"}
	case result.State == history.VerificationMoved:
		return &shell.Fault{Code: shell.CodeCannot, Text: "events are there under another day or name", Todo: "look for transformations in the settings of the test project"}
	}
	return &shell.Fault{Code: shell.CodeCannot, Text: fmt.Sprintf("%s of %s events are there: %s", pages.Count(result.Seen), pages.Count(result.Acknowledged), result.State), Todo: again}
}

func (t *trial) write(result history.Verification, receipt hogapi.Receipt, rows []storedRow) error {
	if t.JSON {
		return json.NewEncoder(t.Out).Encode(map[string]any{"verification": result, "receipt": receipt, "rows": rows})
	}
	fmt.Fprintf(t.Out, "%-16s  %s\n%-16s  %s\n%-16s  %s\n", "sent", pages.Count(receipt.Acknowledged), "found by uuid", pages.Count(result.Seen),
		"rejected", pages.Count(receipt.Rejected))
	for i := range rows {
		r := &rows[i]
		fmt.Fprintf(t.Out, "\n%s\n", term.Cut(fmt.Sprintf("%d. %s", i+1, pages.Shown(r.Place)), t.Out.Width()))
		line := func(mark, name, text string) {
			fmt.Fprintln(t.Out, term.Cut(fmt.Sprintf(" %1s %-8s %s", mark, name, text), t.Out.Width()))
		}
		if r.Record != "" {
			line("", "record", pages.Shown(r.Record))
		}
		line("", "sent", r.Sent.String())
		switch {
		case r.Rejected != "":
			line("!", "rejected", pages.Shown(r.Rejected))
		case r.Stored == nil:
			line("!", "stored", "not there yet")
		case r.isAsSent():
			line("", "stored", r.Stored.String())
		default:
			line("!", "stored", r.Stored.String())
		}
		if names := propertyNames(r.Properties); len(names) > 0 {
			line("", "", fmt.Sprintf("%d properties: %s", len(names), pages.Shown(strings.Join(names, ", "))))
		}
	}
	if len(rows) > 0 {
		fmt.Fprintf(t.Out, "\n%s\n\n", term.Flow("Compare: is the time right in UTC, is it the right person, and does PostHog's page of the event show what you expect?"))
	}
	return nil
}

// propertyNames returns the names of the properties that the import has not added.
func propertyNames(raw json.RawMessage) []string {
	var properties map[string]json.RawMessage
	if json.Unmarshal(raw, &properties) != nil {
		return nil
	}
	names := slices.Sorted(maps.Keys(properties))
	return slices.DeleteFunc(names, func(name string) bool {
		return slices.Contains([]string{"$import_job_id", "$lib_version", "$geoip_disable", "distinct_id", "historical_migration", "analytics_source"}, name)
	})
}
