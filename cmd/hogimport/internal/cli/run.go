package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/history"
)

// runFlags are the settings of a run, from flags or a plan.
type runFlags struct {
	input    input
	limits   history.PlanLimits // but for the memory, which the input has
	project  project
	state    string
	importID string
	plan     *planFile // nil: without one
	metrics  string
	isAgreed bool // --yes
	flags    *pflag.FlagSet
}

const runHelp = `Import files: check the first records, ask once, and send them.

It keeps its position in a state folder, ./hogimport-state/NAME. After Ctrl-C, a
crash or a kill, the same command continues; no event is lost, and an event that
is sent twice is stored once. After Ctrl-C it finishes the requests under way;
press it again to stop at once.

It asks before it sends, on a terminal. Without one, --yes is required.

With a PLAN of hogimport plan it does what the plan says, and refuses it if it
no longer fits the files, the project or the import.`

const runExample = `  export POSTHOG_PROJECT_API_KEY=phc_…
  hogimport run migration.yaml
  hogimport run --host eu --format mixpanel export/*.jsonl.gz
  hogimport run --host us --format amplitude --sort --links export.zip
  hogimport run --host us events.jsonl --max-rejects 5% --yes
  hogimport run --host eu --format csv actions.csv \
      --map event=action --map person=user --map 'time=when|unix'`

func newRunCommand(a *app) *cobra.Command {
	r := &runFlags{}
	cmd := &cobra.Command{
		Use: "run PLAN or FILES…", Short: "Import files, resumably", Long: runHelp, Example: runExample,
		RunE: func(cmd *cobra.Command, args []string) error {
			r.input.Files = args
			plan, err := planOf(args, cmd.Flags())
			if err != nil {
				return err
			}
			if plan == nil {
				return a.run(cmd.Context(), r)
			}
			r.follow(plan)
			if err := a.obey(cmd.Context(), r); err != nil {
				return err
			}
			return withKeys(a.run(cmd.Context(), r))
		},
	}
	r.bind(cmd)
	r.input.bind(cmd)
	r.input.bindHeader(cmd)
	r.input.bindUntil(cmd)
	r.input.bindOrder(cmd)
	r.project.bindKey(cmd)
	r.project.bindMoved(cmd)
	return cmd
}

// bind adds the flags of the import itself.
func (r *runFlags) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	r.flags = f
	r.bindLimits(cmd)
	f.StringVar(&r.metrics, "metrics", "", "serve metrics of the run for Prometheus at this `ADDRESS`, such as :9464; only this machine can reach it")
	f.BoolVar(&r.isAgreed, "yes", false, "start without a question; required without a terminal.\nLocal times of Mixpanel then need --zone")
}

// bindLimits adds the flags that a plan keeps.
func (r *runFlags) bindLimits(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&r.state, "state", "", "the `FOLDER` that keeps the import's position and rejects; default: hogimport-state/NAME, named after the files")
	f.StringVar(&r.importID, "import-id", "", "the import's `NAME` in the project ($import_job_id); default: derived from the files")
	f.StringVar(&r.limits.MaxRejects, "max-rejects", "1%", "stop when more is rejected: a `NUMBER`, a share such as 5%, or none for no limit; records that are left out do not count")
	f.StringVar(&r.limits.Rate, "rate", "1000", "at most this number of `EVENTS` per second, or none for no limit")
	f.StringVar(&r.limits.Protocol, "protocol", "auto", "how events are sent, a `PROTOCOL`: auto, v1 or batch")
	f.StringVar(&r.limits.MaxOutage, "max-outage", "15m", "stop when requests have failed for this `TIME`")
}

// rerun returns the flags with which a run continues, after the flags of the state. It never returns a key.
func (r *runFlags) rerun() string {
	names := []string{"host", "capture-host", "project-key-file", "max-rejects", "rate", "protocol", "max-outage", "metrics", "yes"}
	if strings.HasPrefix(r.project.key, "@") {
		names = append(names, "project-key")
	}
	return shell.Given(r.flags, names...)
}

func (r *runFlags) options(id string) (history.Options, error) {
	o, err := history.Plan{ID: id, Limits: r.limits}.Options()
	if wrong, ok := errors.AsType[*hogapi.InputError](err); ok {
		err = shell.UsageError(fmt.Sprintf("--%s %q is not allowed", wrong.Field, wrong.Value), "give "+wrong.Want)
	}
	o.Gate = r.input.gate()
	return *o, err
}

func (a *app) run(ctx context.Context, r *runFlags) error {
	memory := r.input.memory
	s, isNew, err := a.openRun(ctx, r)
	if err != nil {
		return err
	}
	s.kept.Memory = cmp.Or(memory, s.kept.Memory)
	options, client, err := a.prepare(r, s, isNew)
	if err != nil {
		return err
	}
	lock, err := s.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	if !isNew {
		a.Note(fmt.Sprintf("Continuing the import %s, whose state is in %s.", s.kept.ID, s.dir))
	}
	if isNew || len(s.more) > 0 {
		if err := a.agree(ctx, r, s, client, options); err != nil {
			return err
		}
	}
	s.kept.More, s.kept.Plan = r.rerun(), ""
	if r.plan != nil {
		s.kept.Plan = absolute(r.plan.path)
	}
	read, err := s.keepFiles(ctx)
	if err != nil {
		return err
	}
	receipt, err := a.send(ctx, client, s, s.source(), options, r.metrics)
	if err == nil {
		err = read()
	}
	return a.report(ctx, s, receipt, err)
}

// prepare makes the options and the client of an import, and refuses a new one where nobody can agree to it.
func (a *app) prepare(r *runFlags, s *state, isNew bool) (history.Options, *hogapi.Client, error) {
	options, err := r.options(s.kept.ID)
	if err != nil {
		return options, nil, err
	}
	client, err := a.client(&r.project, true, false, hogapi.WithLogger(a.Logger()))
	if err == nil && !isNew {
		err = s.check(a.targetOf(client, &r.project), &r.project)
	}
	if err == nil && (isNew || len(s.more) > 0) && !r.isAgreed && !a.CanAnswer() {
		err = shell.UsageError("this is not a terminal, so nobody can confirm the import", "add --yes to start without a question; hogimport check sends nothing")
	}
	return options, client, err
}

// openRun returns the state folder of a run, and reports whether its import is new.
func (a *app) openRun(ctx context.Context, r *runFlags) (s *state, isNew bool, err error) {
	if len(r.input.Files) == 0 && r.state != "" && isStarted(r.state) {
		s, err := openState(ctx, r.state)
		if err != nil {
			return s, false, err
		}
		r.input = s.kept.Input
		if _, isOther := s.hasOtherMapping(); isOther && s.hasSentNothing() {
			s.isChanged = true
			return s, true, nil
		}
		return s, false, s.checkMapping(theRest)
	}
	if err := r.input.check(ctx); err != nil {
		return nil, false, err
	}
	if r.input.joinsByDefault() && !r.isGiven("links") {
		r.input.Links = true
	}
	if r.input.sortsByDefault() && !r.isGiven("sort") {
		r.input.Sort = true
	}
	asked := r.input
	asked.Files = r.input.paths()
	dir, more, err := a.choose(ctx, r, &asked)
	if err != nil {
		return nil, false, err
	}
	paths := asked.Files
	for i, path := range paths {
		asked.Files[i] = absolute(path)
	}
	if !isStarted(dir) {
		s = &state{dir: dir, kept: kept{ID: r.importID, Input: asked}}
		if s.kept.ID == "" {
			id := importIDOf(paths, &asked)
			if s.kept.ID = numbered(id, hasImport); s.kept.ID != id {
				a.Warn("there is an import " + id + " of such files already. This one is " + s.kept.ID + ": events without a uuid and without an id of the vendor get other uuids, so one project would have them twice. For the same uuids, give --import-id " + id)
			}
		}
		return s, true, s.checkEmpty()
	}
	s = &state{dir: dir, more: more}
	if _, err := s.read("import.json", &s.kept); err != nil {
		return nil, false, err
	}
	if asked.sortsByDefault() && !r.isGiven("sort") && !s.hasSentNothing() {
		asked.Sort = s.kept.Input.Sort // of an earlier release, or with --sort=false
	}
	names := s.kept.Input.differences(&asked)
	s.isChanged = names != "" || !slices.Equal(s.kept.Input.Files, asked.Files)
	if s.hasSentNothing() && !s.isChanged {
		_, s.isChanged = s.hasOtherMapping()
	}
	isAnotherID := r.importID != "" && r.importID != s.kept.ID
	last, _, _ := s.progress()
	if s.hasSentNothing() && (s.isChanged || isAnotherID || last.Ended != isInterrupted) { // so all may be corrected
		s.kept.Input = asked
		if r.importID != "" {
			s.kept.ID = r.importID
		}
		return s, true, nil
	}
	if isAnotherID {
		return nil, false, shell.UsageError(fmt.Sprintf("%s has the import %s, not %s", dir, s.kept.ID, r.importID), "leave out --import-id to continue it, or give another folder with --state DIR")
	}
	if names != "" {
		return nil, false, shell.UsageError(fmt.Sprintf("the import in %s began with another %s", dir, names), s.another(names))
	}
	s.kept.Input.Files = asked.Files
	return s, false, s.checkMapping(theRest)
}

// agree checks a sample, shows it and asks whether to begin.
func (a *app) agree(ctx context.Context, r *runFlags, s *state, client *hogapi.Client, options history.Options) error {
	in := s.kept.Input
	if len(s.more) > 0 {
		in.Files = s.more
	}
	found, err := takeSample(ctx, &in, options)
	if ctx.Err() != nil {
		return interruptedBefore(err)
	}
	a.show(found)
	if in.keepsSet() && !in.Sort {
		a.Warn("$set of these events stays $set, and rows of an export are not in order of time: without --sort persons can end with old values")
	}
	// Where all records are left out, the import would be complete at once.
	isNothing := found.report.Skipped > 0 && found.report.Good+found.report.Rejected == 0 && (found.isAll || in.otherFormat(ctx) != "")
	switch {
	case isTooMuch(err), err == nil && len(s.more) == 0 && isNothing:
		return found.tooMuch(ctx, &in, err)
	case err != nil:
		return filesFault(err)
	}
	return a.confirm(ctx, r, s, client, found)
}

// interruptedBefore is the fault of a run that was interrupted before it had begun.
func interruptedBefore(err error) error {
	return &shell.Fault{Code: shell.CodeStopped, Text: "interrupted; nothing was sent", Todo: "run the same command again", Err: err}
}

// confirm asks whether to begin, unless the user has agreed already. Then it saves the import in the state
// folder.
func (a *app) confirm(ctx context.Context, r *runFlags, s *state, client *hogapi.Client, found sample) error {
	to := a.targetOf(client, &r.project)
	files := s.kept.Input.Files
	if len(s.more) > 0 {
		files = s.more
	}
	what := "the records of " + counted(int64(len(files)), "file")
	if found.isAll { // a number is given only where each record was read
		what = counted(found.total, "record")
	}
	if s.kept.Input.Links {
		what += ", and an event for each pair of ids that --links joins,"
	}
	warning := zoneWarning(found.zone, s.kept.Input.Zone)
	if !r.isAgreed {
		question := fmt.Sprintf("Send %s to %s as the import %s? Sent events stay there.", what, to.words(), term.Line(s.kept.ID))
		if warning != "" {
			question = fmt.Sprintf("Warning: %s\nSend %s to %s as the import %s all the same? Sent events stay there.", warning, what, to.words(), term.Line(s.kept.ID))
		}
		switch yes, err := a.Ask(ctx, question); {
		case err != nil:
			return interruptedBefore(err)
		case !yes:
			return &shell.Fault{Code: shell.CodeOther, Text: "cancelled; nothing was sent", Todo: "run the same command again, or hogimport trial first, with the key of a test project"}
		}
	} else {
		if err := zoneFault(found.zone, s.kept.Input.Zone); err != nil {
			return err
		}
		if warning != "" {
			a.Warn(warning)
		}
		a.Note(fmt.Sprintf("Sending %s to %s as the import %s.", what, to.words(), s.kept.ID))
	}
	if len(s.more) > 0 {
		return s.grow(found)
	}
	s.kept.Skipped = found.places()
	s.kept.Links, s.kept.IsExact, s.kept.Mapping = 0, found.isAll, s.kept.Input.version()
	s.kept.Total, s.kept.target, s.kept.Begun, s.kept.Files = found.total, to, time.Now().UTC(), nil
	kept, err := s.reset()
	if err != nil {
		return err
	}
	if kept != "" {
		a.Note("The rejects of the run before, which sent nothing, are kept in " + kept + ".")
	}
	return s.save()
}

// grow notes that files are added. From then on the import is not complete.
func (s *state) grow(found sample) error {
	p, _, err := s.progress()
	if err != nil {
		return err
	}
	s.kept.IsExact = found.isAll
	s.kept.Total = 0
	if found.total > 0 {
		s.kept.Total = p.Read + found.total
	}
	places := found.places()
	maps.Copy(places, s.kept.Skipped)
	s.kept.Skipped = places
	p.Ended, p.At = isStopped, time.Now().UTC()
	return s.saveProgress(p)
}

func (a *app) report(ctx context.Context, s *state, receipt hogapi.Receipt, err error) error {
	result := map[string]any{"state": s.dir, "rejects": s.rejects(), "receipt": receipt}
	if err != nil {
		ended := &importError{err: err, state: s, receipt: receipt}
		if a.JSON {
			f := faultOf(ended)
			result["error"], result["todo"], result["exit"] = f.Text, f.Advice(), f.Code
			_ = json.NewEncoder(a.Out).Encode(result) //nolint:errchkjson // the error of the import matters more
		}
		return ended
	}
	if rows := a.tested(ctx, s, receipt); rows != nil {
		s.kept.Rows = rows
		result["rows"] = rows.RowTest
		_ = s.save() // verify counts them otherwise
	}
	if a.JSON {
		return json.NewEncoder(a.Out).Encode(result)
	}
	fmt.Fprint(a.Out, resultText(s, receipt))
	return nil
}
