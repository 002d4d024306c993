package cli

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	pages "github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/history"
)

type verify struct {
	*app

	project  project
	flags    *pflag.FlagSet
	state    string
	report   string
	resend   bool
	wait     bool
	every    bool
	patience time.Duration
	maxRead  progress.Limit
}

func newVerifyCommand(a *app) *cobra.Command {
	v := &verify{app: a}
	cmd := &cobra.Command{
		Use: "verify [PLAN or FILES...]", Short: "Compare an import with what the project shows",
		Long: `verify counts the events of an import in the project, by day and name, computes
digests of their uuids, and compares both with the receipt of the import. If
they differ it reads the files again and names the missing events. Historical
events can take minutes to hours to appear: run it again in a few hours if it
says that events are still arriving. verify calls an event missing only after
three checks over at least an hour, and not before one day after the end of the
import. Each verify is one check; --wait makes all of them.

The personal API key needs the scope query:read. Files need to be named only if
they were moved.

Exit codes: 0 complete, 6 events are missing, 7 not yet complete, not proved or
unknown, 5 the key or the project is wrong.`,
		Example: `  hogimport verify migration.yaml
  hogimport verify --report verify.html
  hogimport verify --wait
  hogimport verify --resend-missing`,
		RunE: func(cmd *cobra.Command, args []string) error {
			files, _, err := planned(args, cmd.Flags(), &v.state)
			if err != nil {
				return err
			}
			return v.run(cmd.Context(), files)
		},
	}
	v.project.bindKey(cmd)
	v.project.bindPersonal(cmd)
	v.project.bindMoved(cmd)
	f := cmd.Flags()
	v.flags = f
	f.StringVar(&v.state, "state", "", "the state `FOLDER` of the import; default: the only one below hogimport-state")
	f.StringVar(&v.report, "report", "", "write an HTML page to a `FILE`")
	f.BoolVar(&v.resend, "resend-missing", false, "send the missing events again, as they were")
	f.BoolVar(&v.wait, "wait", false, "check again until the import is complete or nothing more arrives")
	f.BoolVar(&v.every, "every-uuid", false, "compare the uuids of all events, even if their digests are equal")
	f.DurationVar(&v.patience, "patience", 24*time.Hour, "the `TIME` after the end of the import in which no event is called missing; 0: none")
	f.Var(&v.maxRead, "max-read", "stop before the queries have read more than this `SIZE`, such as 10GB; run it again to continue")
	return cmd
}

func (v *verify) run(ctx context.Context, files []string) error {
	s, err := v.openState(ctx, files)
	if err != nil {
		return err
	}
	if err := s.checkEnded(); err != nil {
		return err
	}
	if err := reportAt(v.report, "verify").Check(s.kept.Input.Files); err != nil {
		return err
	}
	receipt, found, err := s.receipt()
	switch {
	case err != nil:
		return err
	case !found:
		return &shell.Fault{Code: shell.CodeCannot, Text: "the import in " + s.dir + " has no result yet", Next: []shell.Step{{Text: "Run it to its end.", Command: s.rerun()}}}
	case receipt.Acknowledged+receipt.Unconfirmed == 0:
		last, _, _ := s.progress()
		return &shell.Fault{Code: shell.CodeCannot, Text: "the import in " + s.dir + " has sent nothing, so there is nothing to verify",
			Next: []shell.Step{{Text: meaningOf(hogapi.StopReason(last.Ended)).suspect.step, Command: s.rerun()}}}
	}
	client, here, err := v.clientOf(ctx, &v.project, s, v.resend)
	if err != nil {
		return err
	}
	source := v.source(ctx, s)
	result, err := v.look(ctx, client, s, receipt, source)
	if err != nil && result.State == "" {
		return v.failed(err)
	}
	if result.Seen > 0 || v.project.moved != "" {
		if err := s.keepTarget(here, result.Seen > 0); err != nil {
			return err
		}
	}
	if failed := v.write(ctx, s, receipt, result); failed != nil {
		return failed
	}
	if err != nil {
		return v.failed(err)
	}
	if v.resend && len(result.MissingIDs) > 0 {
		if err := s.checkMapping("the missing events"); err != nil {
			return err
		}
		return v.sendAgain(ctx, client, s, source, result)
	}
	return v.judge(s, result)
}

// checkEnded refuses an import that is under way, or was killed: the number of events sent is not
// known yet.
func (s *state) checkEnded() error {
	one, err := s.standing(time.Now())
	if err != nil {
		return err
	}
	sent := ""
	if p := one.Progress; p != nil && p.Acknowledged > 0 {
		sent = ". It has sent at least " + counted(p.Acknowledged, "event")
	}
	switch one.Is {
	case isRunning, isWaiting:
		return &shell.Fault{Code: shell.CodeCannot, Text: "the import in " + s.dir + " is under way" + sent, Todo: "wait for it, or stop it with Ctrl-C; hogimport status shows its progress"}
	case isKilled:
		return &shell.Fault{Code: shell.CodeCannot, Text: "the import in " + s.dir + " was killed" + sent, Next: []shell.Step{{Text: "Continue it, and verify it then.", Command: s.rerun()}}}
	}
	return nil
}

// openState opens the state of the import. Its files may be gone; the user can name files that were
// moved.
func (v *verify) openState(ctx context.Context, files []string) (*state, error) {
	s, err := findState(ctx, v.state, files)
	if s == nil {
		return nil, err
	}
	if len(files) == 0 {
		return s, nil
	}
	s.kept.Input.Files = files
	return s, s.kept.Input.check(ctx)
}

// source is the source of the import, or nil if its files are gone.
func (v *verify) source(ctx context.Context, s *state) history.Source {
	if err := s.kept.Input.check(ctx); err != nil {
		v.Warn("the files of the import cannot be read, so missing events can be counted but not named: " + faultOf(err).Text)
		return nil
	}
	if _, isOther := s.hasOtherMapping(); isOther { // the sorted events are as the other release made them, with the same uuids
		in := s.kept.Input
		in.Sort, in.memory = false, s.kept.Memory
		return in.source(s.dir)
	}
	return s.source()
}

func (v *verify) look(ctx context.Context, client *hogapi.Client, s *state, receipt hogapi.Receipt, source history.Source) (history.Verification, error) {
	meter := v.Meter()
	defer meter.End()
	step, isSaid := "", false
	options := &history.VerifyOptions{
		MaxBytesRead: int64(v.maxRead),
		Gate:         s.kept.Input.gate(), Dir: s.file("verify"), Wait: v.wait, Patience: cmp.Or(v.patience, time.Millisecond), EveryUUID: v.every && source != nil,
		OnProgress: func(p history.VerifyProgress) {
			show := meter.Phase
			if p.Step != step || p.Done == p.Total {
				show = meter.Step
			}
			step = p.Step
			if !isSaid && p.BytesRead > 0 && p.BytesRead+p.BytesToDo > muchToRead {
				isSaid = true
				v.Warn("this check reads about " + progress.Bytes(p.BytesRead+p.BytesToDo) + " of the project's hourly budget for queries")
			}
			show(lookText(p))
		},
	}
	if source != nil {
		options.Source = source
	}
	if _, err := os.Stat(s.rejects()); err == nil {
		options.Rejects = []string{s.rejects()}
	}
	return history.Verify(ctx, client, receipt, options)
}

// muchToRead is how many bytes of a check are said before it reads them.
const muchToRead = 1_000_000_000

var steps = map[string]string{
	"count": "counting", "read the source": "reading the files", "compare uuids": "comparing uuids", "look elsewhere": "looking under other days and names",
}

func lookText(p history.VerifyProgress) string {
	text := fmt.Sprintf("check %d: %s", p.Look, cmp.Or(steps[p.Step], p.Step))
	switch {
	case p.Step == "wait for the read budget":
		text = "waiting until " + p.NextLook.UTC().Format("15:04 UTC") + ": the project's hourly budget for queries, which all its keys share, has no room"
	case p.Step == "wait" && !p.NextLook.IsZero():
		text = "waiting for the next check at " + p.NextLook.UTC().Format("15:04 UTC")
	case p.Step != "count" && p.Total > 0:
		return text + fmt.Sprintf(", %s of %s", progress.Number(p.Done), progress.Number(p.Total))
	}
	if p.Step == "count" && p.Proven > 0 && p.Proven < p.Cells { // of the days and names
		text = fmt.Sprintf("check %d: %s of %s proven", p.Look, progress.Number(int64(p.Proven)), progress.Number(int64(p.Cells)))
	}
	return text + fmt.Sprintf("; found %s of %s", progress.Number(p.Seen), progress.Number(p.Acked))
}

// verifyJSON is a verification as JSON, with the data that the import did not carry over.
type verifyJSON struct {
	history.Verification

	Rejects map[hogapi.Reason]int64 `json:"rejects,omitempty"`
	Rows    *posthogexport.RowTest  `json:"rows,omitempty"` // of PostHog's own export
}

func (v *verify) write(ctx context.Context, s *state, receipt hogapi.Receipt, result history.Verification) error {
	p := page.Verify{
		Verification: &result, Receipt: receipt, Project: v.projectID(&v.project),
		At: time.Now(), Version: shell.Version(), Next: v.next(s, result),
	}
	p.HasLinks, p.LinksRead, p.Links = s.links(receipt)
	if rows := v.tested(ctx, s, receipt); rows != nil {
		p.Rows = &rows.RowTest
	}
	return v.writeReport(reportAt(v.report, "verify"), s.kept.Input.Files, p.Write, verifyJSON{result, receipt.Rejects, p.Rows}, func(w io.Writer) { verifyTable(w, &p) })
}

// of returns the flags of a further command for the import.
func (v *verify) of(s *state) string {
	return " " + s.named() + shell.Given(v.flags, "host", "project-id", "personal-key-file")
}

func (v *verify) next(s *state, result history.Verification) []shell.Step {
	undo := "hogimport undo" + v.of(s)
	of := v.of(s) + shell.Given(v.flags, "report")
	again := shell.Step{Text: "Check again in an hour or more.", Command: "hogimport verify" + of}
	switch {
	case result.Complete():
		if _, err := os.Stat(s.file("sorted")); err == nil {
			return []shell.Step{{Text: "Remove " + s.file("sorted") + ", which holds the sorted events: the import is verified. Another verify may make it again."}}
		}
		return nil
	case result.Unfinished:
		return []shell.Step{{Text: "Run the import to its end.", Command: "hogimport run " + s.named() + shell.Given(v.flags, "host")}, again}
	case result.State == history.VerificationMissing && len(result.MissingIDs) > 0:
		return []shell.Step{
			{Text: "Look for the cause first: a filter, a transformation, a limit on the age of events, or a schema in the project's settings."},
			{Text: "Then send the missing events again. They keep their uuids.", Command: "hogimport verify" + of + " --resend-missing"},
		}
	case result.State == history.VerificationMissing:
		return []shell.Step{{Text: "Verify with the source files, which show what is missing.", Command: "hogimport verify --state " + shell.Quoted(s.dir) + of[len(s.named())+1:] + " FILES..."}}
	case result.State == history.VerificationCompleteByCounts:
		return []shell.Step{{Text: "Verify with the source files, to compare their uuids.", Command: "hogimport verify --state " + shell.Quoted(s.dir) + of[len(s.named())+1:] + " FILES..."}}
	case result.State == history.VerificationMoved:
		return []shell.Step{{Text: "Look for a transformation in the project's settings, and compare one of the events that have moved with its record."}}
	case result.State == history.VerificationTooMany:
		return []shell.Step{{Text: "Compare the uuids that are not of this import with other imports. PostHog deletes the events of an import on request.", Command: undo}}
	}
	return []shell.Step{again}
}

func (v *verify) judge(s *state, result history.Verification) error {
	if result.Complete() {
		receipt, _, err := s.receipt()
		if err != nil {
			return err
		}
		return s.saveVerified(receipt)
	}
	f := &shell.Fault{Code: shell.CodeCannot, Text: "not complete: " + page.Verify{Verification: &result}.Verdict().Title, Next: v.next(s, result)}
	if result.State == history.VerificationMissing {
		f.Code = shell.CodeMissing
	}
	return f
}

func (v *verify) failed(err error) error {
	f := *faultOf(err)
	f.Text = strings.TrimPrefix(f.Text, "verify: ")
	if f.Code == shell.CodeProject {
		f.Todo = "check --project-id, --host, and that POSTHOG_PERSONAL_API_KEY has the scope query:read"
		if errors.Is(err, hogapi.ErrUnauthorized) { // the service does not know the key, in any project
			f.Todo = "check POSTHOG_PERSONAL_API_KEY (phx_…, with the scope query:read) and --host"
		}
	}
	if f.Code == shell.CodeOther {
		f.Code = shell.CodeCannot
		f.Todo = cmp.Or(f.Todo, "run the same command again: it remembers its checks")
	}
	return &f
}

// sendAgain sends the missing events, with a state of its own below that of the import. The
// import's receipt stays as it is.
func (v *verify) sendAgain(ctx context.Context, client *hogapi.Client, s *state, source history.Source, result history.Verification) error {
	missing := result.Missing(source)
	again := &state{dir: s.file("missing-" + digest(result)), kept: kept{ID: s.kept.ID, Input: s.kept.Input, Total: result.MissingEvents, Begun: time.Now().UTC()}}
	lock, err := again.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	receipt, err := v.send(ctx, client, again, missing, history.Options{ID: s.kept.ID, Gate: s.kept.Input.gate(), MaxRejectShare: -1}, "")
	if err != nil {
		return &importError{err: err, state: again, receipt: receipt}
	}
	return &shell.Fault{Code: shell.CodeCannot, Text: pages.Count(receipt.Acknowledged) + " missing events were sent again; it is not checked yet whether they have arrived",
		Todo: "In a few hours: hogimport verify" + v.of(s) + shell.Given(v.flags, "report")}
}

func digest(v history.Verification) string {
	hash := sha256.New()
	for _, id := range v.MissingIDs { // sorted
		hash.Write(id[:])
	}
	return hex.EncodeToString(hash.Sum(nil)[:4])
}
