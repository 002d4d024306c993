package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/page"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/progress"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/term"
	"github.com/hogapi/hogapi/formats/generic"
)

type code int

const (
	codeDone    code = 0 // complete; rejects below the limit
	codeOther   code = 1 // another error
	codeUsage   code = 2 // flags or arguments
	codeRejects code = 3 // too many rejects
	codeStopped code = 4 // stopped and resumable
	codeProject code = 5 // the key or the project
	codeMissing code = 6 // events are missing
	codeCannot  code = 7 // not yet, or cannot tell
)

// fault is an error in the form that the user sees, with advice.
type fault struct {
	code  code
	text  string      // the problem and its place
	more  []string    // further texts
	lines []string    // that belong to the text and are shown as they are
	todo  string      // advice; empty if the text has it
	next  []page.Step // the same in steps
	err   error       // that it was made of; may be nil
}

// paragraph joins the lines of a text, such as a list of errors.
func paragraph(text string) string { return strings.ReplaceAll(text, "\n", "; ") }

// Error implements error.
func (f *fault) Error() string {
	return strings.TrimSpace(strings.Join(append([]string{f.text}, f.more...), "; ") + "\n  " + f.todo)
}

func (f *fault) advice() string {
	text := f.todo
	for _, step := range f.next {
		text = strings.TrimSpace(text + " " + step.Text + " " + step.Command)
	}
	return text
}

// Unwrap returns the error that the fault was made of.
func (f *fault) Unwrap() error { return f.err }

func usageError(text, todo string) error { return &fault{code: codeUsage, text: text, todo: todo} }

// exit prints an error, if there is one, and returns the exit code.
func (a *app) exit(err error) int {
	if err == nil {
		return int(codeDone)
	}
	f := faultOf(err)
	if a.log == "json" {
		a.logger().Error(strings.Join(append([]string{f.text}, f.more...), "; "), "todo", f.advice(), "exit", int(f.code))
		return int(f.code)
	}
	name := term.Problem("hogimport")
	for _, text := range append([]string{f.text}, f.more...) {
		fmt.Fprintln(a.stderr, term.Flow(name+": "+paragraph(text)))
		name = "hogimport"
	}
	for _, line := range f.lines {
		fmt.Fprintln(a.stderr, paragraph(line))
	}
	if f.todo != "" {
		fmt.Fprintln(a.stderr, term.Flow("  "+paragraph(f.todo)))
	}
	for _, step := range f.next {
		if step.Text != "" {
			fmt.Fprintln(a.stderr, term.Flow("  "+paragraph(step.Text)))
		}
		if step.Command != "" {
			fmt.Fprintln(a.stderr, term.Command("    "+step.Command))
		}
	}
	return int(f.code)
}

// faultOf explains an error to the user. No other function does.
func faultOf(err error) *fault {
	if ended, ok := errors.AsType[*importError](err); ok {
		return ended.fault()
	}
	if f, ok := errors.AsType[*fault](err); ok {
		return f
	}
	text := inFlags(err)
	if stop, ok := errors.AsType[*hogapi.StopError](err); ok && !errors.Is(err, errInterrupted) {
		return faultOfStop(stop, false)
	}
	switch {
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return &fault{code: codeStopped, text: "interrupted", todo: resume, err: err}
	case errors.Is(err, hogapi.ErrHeld):
		return &fault{code: codeOther, text: "another run uses this state folder", todo: "let it end, or end it; then run this command again", err: err}
	case errors.Is(err, hogapi.ErrUnauthorized):
		return &fault{code: codeProject, text: text, todo: "check POSTHOG_PERSONAL_API_KEY (phx_…) and that --host is the project's region", err: err}
	case errors.Is(err, hogapi.ErrForbidden), errors.Is(err, hogapi.ErrNotFound):
		return &fault{code: codeProject, text: text, todo: "check --project-id, the keys and their scopes, and --host", err: err}
	case errors.Is(err, hogapi.ErrInvalid):
		return &fault{code: codeUsage, text: text, err: err}
	case strings.HasPrefix(text, "unknown command"):
		text, similar, _ := strings.Cut(text, "\n")
		if _, names, ok := strings.Cut(similar, "this?"); ok {
			similar = "did you mean " + strings.Join(strings.Fields(names), " or ") + "? Or "
		}
		return &fault{code: codeUsage, text: text, todo: similar + "see hogimport --help", err: err}
	case strings.HasPrefix(text, "accepts "), strings.HasPrefix(text, "requires "):
		return &fault{code: codeUsage, text: text, todo: "see hogimport --help", err: err}
	}
	return &fault{code: codeOther, text: text, err: err}
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

func (e *importError) fault() *fault {
	f := *e.explained()
	if strings.Contains(f.todo, "same command") && isStarted(e.state.dir) && !strings.HasPrefix(e.state.kept.ID, trialPrefix) {
		f.next = append(slices.Clone(f.next), page.Step{Command: e.state.again()})
	}
	return &f
}

func (e *importError) explained() *fault {
	begun := e.receipt.Acknowledged+e.receipt.Unconfirmed > 0
	stop, ok := errors.AsType[*hogapi.StopError](e.err)
	switch {
	case errors.Is(e.err, errInterrupted):
		return &fault{code: codeStopped, text: "interrupted: " + e.soFar(), todo: resume, err: e.err}
	case ok:
		f := faultOfStop(stop, begun)
		if f.code == codeRejects {
			f.todo = "Nothing was sent: correct " + e.state.kept.Input.readBy() + " and run again"
			if begun {
				f.todo = fmt.Sprintf("The rejects are in %s, each with its reason. If the rest is right, run the same command with a higher --max-rejects, then "+
					"hogimport fix --state %s. If the sent events are wrong too, see hogimport undo", e.state.rejects(), quoted(e.state.dir))
			}
		}
		if f.code == codeStopped || begun {
			f.more = append(f.more, e.soFar())
		}
		return f
	case errors.Is(e.err, hogapi.ErrHeld):
		return &fault{code: codeOther, text: "another run uses the state folder " + e.state.dir, todo: "let it end, or end it; then run this command again", err: e.err}
	}
	if unfit, ok := errors.AsType[*hogapi.InputError](e.err); ok {
		return e.unfit(unfit)
	}
	return faultOf(e.err)
}

// unfit explains a state folder that does not belong to the files or flags.
func (e *importError) unfit(unfit *hogapi.InputError) *fault {
	f := &fault{code: codeUsage, text: inFlags(unfit), err: e.err}
	another := "give other files or another project a state folder of their own, with --state DIR"
	switch {
	case strings.Contains(unfit.Field, "begun with the source"):
		f.text = fmt.Sprintf("the import in %s began with other files, or with other content: %s", e.state.dir, unfit.Value)
		f.todo = "give the files that it began with, unchanged and in the same order; " + another
	case strings.Contains(unfit.Field, "begun with the project"):
		f.code = codeProject
		f.text = fmt.Sprintf("the import in %s began with another project API key, or at another host", e.state.dir)
		f.todo = "give the key and the --host that it began with. For another project give --state DIR: it sends all events there, with the same uuids"
	case strings.Contains(unfit.Field, "begun by"), strings.Contains(unfit.Field, "target"), strings.Contains(unfit.Field, "project"):
		f.todo = another
	case strings.HasPrefix(unfit.Field, "checkpoint"):
		f.code = codeOther
		f.text = e.state.checkpoint() + " is torn, empty or changed: it is not as hogimport saved it"
		f.todo = "put a copy back. Without one, import again from the start: give a new folder with --state DIR, and --import-id " +
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
	if unsettled, ok := errors.AsType[*hogapi.UnsettledError](e.err); ok && unsettled.Count > 0 {
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
	code       code
	text, todo string
	suspect    suspect
}

var stops = map[hogapi.StopReason]meaning{
	hogapi.StopUnauthorized: {codeProject, "the service refuses the project API key", "check POSTHOG_PROJECT_API_KEY (phc_…) and --host, and run again", theKey},
	hogapi.StopWrongKey: {codeProject, "no project has this project API key; nothing was sent",
		"copy the key (phc_…) from the settings of the right project, check that --host is its region, and run again", theKey},
	hogapi.StopForbidden:      {codeProject, "the service forbids it", "check POSTHOG_PROJECT_API_KEY (phc_…), --host, and proxies, and run again", theKey},
	hogapi.StopTooManyRejects: {codeRejects, "too much was rejected", "", nothing},
	hogapi.StopQuota: {codeStopped, "the plan's limit is reached, and events of the last answers may have been dropped",
		"raise the limit, run the same command again, and then hogimport verify", nothing},
	hogapi.StopNoProgress:  {codeStopped, "nothing gets through to the service", "when it answers again, " + resume, nothing},
	hogapi.StopHandler:     {codeStopped, "the reject file cannot be written", "make room on the disk, and " + resume, nothing},
	hogapi.StopCheckpoint:  {codeStopped, "the state folder cannot be written", "make room on the disk, and " + resume, nothing},
	hogapi.StopSource:      {codeOther, "the files cannot be read further", "correct the files, and " + resume, nothing},
	hogapi.StopCanceled:    {codeStopped, "interrupted", resume, nothing},
	hogapi.StopUnreachable: {codeOther, "the service cannot be reached; nothing was sent by this run", "check --host, the network and the name server, and run again", theHost},
	hogapi.StopCertificate: {codeOther, "the server's certificate is not valid; nothing was sent by this run",
		"check --host, the clock of this machine and its root certificates, and run again", theHost},
	hogapi.StopWrongScheme: {codeOther, "the server does not speak TLS; nothing was sent by this run", "check the URL of --host, and run again", theHost},
	hogapi.StopTLS:         {codeOther, "the server has no TLS 1.2 or newer; nothing was sent by this run", "check --host and proxies, and run again", theHost},
	hogapi.StopNotFound:    {codeOther, "the server has no capture endpoint there", "check --host and --capture-host, and run again", theHost},
	hogapi.StopRedirect:    {codeOther, "the server redirects, and keys are not sent elsewhere", "check --host and --capture-host, and run again", theHost},
	hogapi.StopRefused:     {codeOther, "the server refuses the requests", "check --host, --capture-host and proxies, and run again", theHost},
	hogapi.StopNotService:  {codeOther, "something other than PostHog answers", "check --host, --capture-host and proxies, and run again", theHost},
	hogapi.StopInternal:    {codeOther, "a fault of this program", "run again, and report it with this text", nothing},
}

// meaningOf returns the meaning of an end. Its reason may be one that this release does not know.
func meaningOf(ended hogapi.StopReason) meaning {
	if m, ok := stops[ended]; ok {
		return m
	}
	return meaning{codeOther, "stopped: " + string(ended), resume, nothing}
}

// faultOfStop explains why an import has stopped. An import that has begun can always be resumed.
func faultOfStop(stop *hogapi.StopError, begun bool) *fault {
	m := meaningOf(stop.Reason)
	f := &fault{code: m.code, text: m.text, todo: m.todo, err: stop}
	if f.code == codeOther && begun {
		f.code = codeStopped
	}
	if isDiskFull(stop) {
		f.code, f.todo = codeStopped, "make room on the disk, and "+resume
	}
	if stop.Reason == hogapi.StopWrongKey { // the text says it all
		return f
	}
	if stop.Status != 0 {
		f.text += fmt.Sprintf(" (status %d)", stop.Status)
	}
	for _, err := range []error{stop.Err, stop.Failure} {
		if err != nil {
			f.text += ": " + strings.TrimSuffix(inFlags(err), ".")
			break
		}
	}
	if !stop.FailingSince.IsZero() {
		f.text += ", failing since " + stop.FailingSince.UTC().Format(time.DateTime+" UTC")
	}
	if stop.RetryAfter > 0 {
		f.text += "; the service asks to wait " + progress.Words(stop.RetryAfter)
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
	var flags []string
	for _, target := range table.Unmapped {
		flags = append(flags, "--map "+target+"=COLUMN")
	}
	return "add " + strings.Join(flags, " ") + " with the names of the columns; see hogimport formats --help"
}

// checkFault explains why files could not be checked.
func checkFault(err error) error {
	if errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled) {
		return &fault{code: codeStopped, text: "interrupted: nothing was written", todo: "run the same command again", err: err}
	}
	if input, ok := errors.AsType[*hogapi.InputError](err); ok {
		return &fault{code: codeUsage, text: inFlags(input), err: err}
	}
	text := strings.TrimPrefix(strings.TrimPrefix(inFlags(err), "check: "), "the source failed: ")
	if table, ok := errors.AsType[*generic.ColumnsError](err); ok {
		return &fault{code: codeUsage, text: text, todo: tableTodo(table), err: err}
	}
	return &fault{code: codeOther, text: text, todo: "nothing was written; correct the file, or leave it out, and check again", err: err}
}

// filesFault explains why the first records of files could not be checked.
func filesFault(err error) error {
	if _, ok := errors.AsType[*generic.ColumnsError](err); ok {
		return checkFault(err)
	}
	f := faultOf(err)
	if f.code != codeOther || f.todo != "" {
		return err
	}
	return &fault{code: codeOther, text: strings.TrimPrefix(f.text, "check: the source failed: "), err: err, todo: "correct the files or the flags, and run again; nothing was sent"}
}
