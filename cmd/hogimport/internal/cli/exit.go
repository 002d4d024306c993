package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/formats/generic"
)

// faultOf explains an error to the user. No other function does.
func faultOf(err error) *shell.Fault {
	if ended, ok := errors.AsType[*importError](err); ok {
		return ended.fault()
	}
	if f, ok := errors.AsType[*shell.Fault](err); ok {
		return f
	}
	if f := shell.UnknownCommand("hogimport", err); f != nil {
		return f
	}
	text := inFlags(err)
	if stop, ok := errors.AsType[*hogapi.StopError](err); ok && !errors.Is(err, shell.ErrInterrupted) {
		return faultOfStop(stop, false)
	}
	switch {
	case errors.Is(err, shell.ErrInterrupted), errors.Is(err, context.Canceled):
		return &shell.Fault{Code: shell.CodeStopped, Text: "interrupted", Todo: resume, Err: err}
	case errors.Is(err, hogapi.ErrHeld):
		return &shell.Fault{Code: shell.CodeOther, Text: "another run uses this state folder", Todo: "wait for it, or stop it; then run this command again", Err: err}
	case errors.Is(err, hogapi.ErrUnauthorized):
		return &shell.Fault{Code: shell.CodeProject, Text: text, Todo: "check POSTHOG_PERSONAL_API_KEY (phx_…) and that --host is the project's region", Err: err}
	case errors.Is(err, hogapi.ErrForbidden), errors.Is(err, hogapi.ErrNotFound):
		return &shell.Fault{Code: shell.CodeProject, Text: text, Todo: "check --project-id, the keys and their scopes, and --host", Err: err}
	case errors.Is(err, hogapi.ErrInvalid):
		return &shell.Fault{Code: shell.CodeUsage, Text: text, Err: err}
	}
	return &shell.Fault{Code: shell.CodeOther, Text: text, Err: err}
}

// importError is the error that ended an import, with its result so far.
type importError struct {
	err     error
	state   *state
	receipt hogapi.Receipt
}

// Error implements error.
func (e *importError) Error() string { return e.err.Error() }

// Unwrap returns the error of the import.
func (e *importError) Unwrap() error { return e.err }

func (e *importError) fault() *shell.Fault {
	f := *e.explained()
	if e.state.kept.Plan != "" {
		f.Todo = keyed(f.Todo)
	}
	if strings.Contains(f.Todo, "same command") && isStarted(e.state.dir) && !strings.HasPrefix(e.state.kept.ID, trialPrefix) {
		f.Next = append(slices.Clone(f.Next), shell.Step{Command: e.state.rerun()})
	}
	return &f
}

func (e *importError) explained() *shell.Fault {
	begun := e.receipt.Acknowledged+e.receipt.Unconfirmed > 0
	stop, ok := errors.AsType[*hogapi.StopError](e.err)
	switch {
	case errors.Is(e.err, shell.ErrInterrupted):
		return &shell.Fault{Code: shell.CodeStopped, Text: "interrupted: " + e.soFar(), Todo: resume, Err: e.err}
	case ok:
		f := faultOfStop(stop, begun)
		if f.Code == shell.CodeRejects {
			f.Todo = "Nothing was sent: correct " + e.state.kept.Input.readBy() + " and run again"
			if begun {
				f.Todo = fmt.Sprintf("The rejects are in %s, each with its reason. If the rest is right, run the same command with a higher --max-rejects, then "+
					"hogimport fix %s. If the sent events are wrong too, see hogimport undo", e.state.rejects(), e.state.named())
			}
		}
		if f.Code == shell.CodeStopped || begun {
			f.More = append(f.More, e.soFar())
		}
		return f
	case errors.Is(e.err, hogapi.ErrHeld):
		return &shell.Fault{Code: shell.CodeOther, Text: "another run uses the state folder " + e.state.dir, Todo: "wait for it, or stop it; then run this command again", Err: e.err}
	}
	if unfit, ok := errors.AsType[*hogapi.InputError](e.err); ok {
		return e.unfit(unfit)
	}
	return faultOf(e.err)
}

// unfit explains a state folder that does not belong to the files or flags.
func (e *importError) unfit(unfit *hogapi.InputError) *shell.Fault {
	f := &shell.Fault{Code: shell.CodeUsage, Text: inFlags(unfit), Err: e.err}
	another := "give other files or another project a state folder of their own, with --state DIR"
	switch {
	case strings.Contains(unfit.Field, "begun with the source"):
		f.Text = fmt.Sprintf("the import in %s began with other files, or with other content: %s", e.state.dir, unfit.Value)
		f.Todo = "give the same files, unchanged and in the same order; " + another
	case strings.Contains(unfit.Field, "begun with the mapping"):
		was, _ := strconv.Atoi(unfit.Value)
		return mappingFault(e.state.dir, was)
	case strings.Contains(unfit.Field, "begun with the project"):
		f.Code = shell.CodeProject
		f.Text = fmt.Sprintf("the import in %s began with another project API key, or at another host", e.state.dir)
		f.Todo = "give the same key and --host. For another project, give --state DIR, which sends all events there"
	case strings.Contains(unfit.Field, "begun by"), strings.Contains(unfit.Field, "target"), strings.Contains(unfit.Field, "project"):
		f.Todo = another
	case strings.HasPrefix(unfit.Field, "checkpoint"):
		f.Code = shell.CodeOther
		f.Text = e.state.checkpoint() + " is torn, empty or changed since hogimport saved it"
		f.Todo = "restore a backup. Without one, import again from the start: give a new folder with --state DIR, and --import-id " +
			e.state.kept.ID + ", so that events keep their uuids"
	}
	return f
}

func (e *importError) soFar() string {
	r := e.receipt
	settled := r.Acknowledged + r.Rejected + r.Unconfirmed + r.Skipped
	text := progress.Number(settled) + " records are processed"
	if total := e.state.kept.total(); total > settled {
		about := "about "
		if e.state.kept.isExact() {
			about = ""
		}
		text = fmt.Sprintf("%s of %s%s records are processed", progress.Number(settled), about, progress.Number(total))
	}
	if unsettled, ok := errors.AsType[*event.UnsettledError](e.err); ok && unsettled.Count > 0 {
		text += fmt.Sprintf(", and %s under way will be sent again", progress.Number(int64(unsettled.Count)))
	}
	return text + "; the position is in " + e.state.dir
}

const resume = "run the same command again: it continues where it stopped"

// A suspect is a setting to check before a stopped import is run again: the words before its command, and a
// next step.
type suspect struct{ before, step string }

var (
	nothing = suspect{"", "Run it first."}
	theKey  = suspect{"with the right project key: ", "Run it first, with the right project key."}
	theHost = suspect{"check --host, then: ", "Check --host, and run it first."}
)

// A meaning explains the end of an import to its user.
type meaning struct {
	code       shell.Code
	text, todo string
	suspect    suspect
}

var stops = map[hogapi.StopReason]meaning{
	hogapi.StopUnauthorized: {shell.CodeProject, "the service refuses the project API key", "check POSTHOG_PROJECT_API_KEY (phc_…) and --host, and run again", theKey},
	hogapi.StopWrongKey: {shell.CodeProject, "this project API key belongs to no project; nothing was sent",
		"copy the key (phc_…) from the settings of the right project, check that --host is its region, and run again", theKey},
	hogapi.StopForbidden:      {shell.CodeProject, "the service forbids it", "check POSTHOG_PROJECT_API_KEY (phc_…), --host, and proxies, and run again", theKey},
	hogapi.StopTooManyRejects: {shell.CodeRejects, "too much was rejected", "", nothing},
	hogapi.StopQuota: {shell.CodeStopped, "the plan's limit is reached, and events of the last answers may have been dropped",
		"raise the limit, run the same command again, and then hogimport verify", nothing},
	hogapi.StopNoProgress:  {shell.CodeStopped, "the service does not answer", "when it answers again, " + resume, nothing},
	hogapi.StopHandler:     {shell.CodeStopped, "the reject file cannot be written", "free some disk space, and " + resume, nothing},
	hogapi.StopCheckpoint:  {shell.CodeStopped, "the state folder cannot be written", "free some disk space, and " + resume, nothing},
	hogapi.StopSource:      {shell.CodeOther, "the files cannot be read further", "correct the files, and " + resume, nothing},
	hogapi.StopCanceled:    {shell.CodeStopped, "interrupted", resume, nothing},
	hogapi.StopUnreachable: {shell.CodeOther, "the service cannot be reached; nothing was sent by this run", "check --host, the network and the name server, and run again", theHost},
	hogapi.StopCertificate: {shell.CodeOther, "the server's certificate is not valid; nothing was sent by this run",
		"check --host, the clock of this machine and its root certificates, and run again", theHost},
	hogapi.StopWrongScheme: {shell.CodeOther, "the server does not speak TLS; nothing was sent by this run", "check the URL of --host, and run again", theHost},
	hogapi.StopTLS:         {shell.CodeOther, "the server does not support TLS 1.2 or newer; nothing was sent by this run", "check --host and proxies, and run again", theHost},
	hogapi.StopNotFound:    {shell.CodeOther, "the server has no capture endpoint there", "check --host and --capture-host, and run again", theHost},
	hogapi.StopRedirect:    {shell.CodeOther, "the server redirects to another place, and keys are not sent there", "check --host and --capture-host, and run again", theHost},
	hogapi.StopRefused:     {shell.CodeOther, "the server refuses the requests", "check --host, --capture-host and proxies, and run again", theHost},
	hogapi.StopNotService:  {shell.CodeOther, "something other than PostHog answers", "check --host, --capture-host and proxies, and run again", theHost},
	hogapi.StopInternal:    {shell.CodeOther, "a bug in hogimport", "run again, and report this text as a bug", nothing},
}

// meaningOf returns the meaning of an end. Its reason may be one that this release does not know.
func meaningOf(ended hogapi.StopReason) meaning {
	if m, ok := stops[ended]; ok {
		return m
	}
	return meaning{shell.CodeOther, "stopped: " + string(ended), resume, nothing}
}

// faultOfStop explains why an import has stopped. An import that has begun can always be resumed.
func faultOfStop(stop *hogapi.StopError, begun bool) *shell.Fault {
	m := meaningOf(stop.Reason)
	f := &shell.Fault{Code: m.code, Text: m.text, Todo: m.todo, Err: stop}
	if f.Code == shell.CodeOther && begun {
		f.Code = shell.CodeStopped
	}
	if isDiskFull(stop) {
		f.Code, f.Todo = shell.CodeStopped, "free some disk space, and "+resume
	}
	if stop.Reason == hogapi.StopWrongKey { // the text says it all
		return f
	}
	if stop.Status != 0 {
		f.Text += fmt.Sprintf(" (status %d)", stop.Status)
	}
	for _, err := range []error{stop.Err, stop.Failure} {
		if err != nil {
			f.Text += ": " + strings.TrimSuffix(inFlags(err), ".")
			break
		}
	}
	if !stop.FailingSince.IsZero() {
		f.Text += ", failing since " + stop.FailingSince.UTC().Format(time.DateTime+" UTC")
	}
	if stop.RetryAfter > 0 {
		f.Text += "; the service asks to wait " + progress.Words(stop.RetryAfter)
	}
	return f
}

func isDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG)
}

// tableTodo returns the advice about a table that does not fit the flags.
func tableTodo(table *generic.ColumnsError) string {
	if table.IsData() {
		return "name the columns in their order, such as --header event,distinct_id,timestamp; or give the table a header"
	}
	if len(table.Unmapped) == 0 {
		return "correct --map, or name the right files; see hogimport formats --help"
	}
	if slices.Contains(table.Columns, airbyteData) {
		return airbyteMap
	}
	var flags []string
	for _, target := range table.Unmapped {
		flags = append(flags, "--map "+target+"=COLUMN")
	}
	return "add " + strings.Join(flags, " ") + " with the names of the columns; see hogimport formats --help"
}

// checkFault explains why files could not be checked.
func checkFault(err error) error {
	if errors.Is(err, shell.ErrInterrupted) || errors.Is(err, context.Canceled) {
		return &shell.Fault{Code: shell.CodeStopped, Text: "interrupted: nothing was written", Todo: "run the same command again", Err: err}
	}
	if input, ok := errors.AsType[*hogapi.InputError](err); ok {
		return &shell.Fault{Code: shell.CodeUsage, Text: inFlags(input), Err: err}
	}
	text := strings.TrimPrefix(strings.TrimPrefix(inFlags(err), "check: "), "the source failed: ")
	if table, ok := errors.AsType[*generic.ColumnsError](err); ok {
		return &shell.Fault{Code: shell.CodeUsage, Text: text, Todo: tableTodo(table), Err: err}
	}
	return &shell.Fault{Code: shell.CodeOther, Text: text, Todo: "nothing was written; correct the file, or leave it out, and check again", Err: err}
}

// filesFault explains why the first records of files could not be checked.
func filesFault(err error) error {
	if _, ok := errors.AsType[*generic.ColumnsError](err); ok {
		return checkFault(err)
	}
	f := faultOf(err)
	if f.Code != shell.CodeOther || f.Todo != "" {
		return err
	}
	return &shell.Fault{Code: shell.CodeOther, Text: strings.TrimPrefix(f.Text, "check: the source failed: "), Err: err, Todo: "correct the files or the flags, and run again; nothing was sent"}
}
