package shell

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/hogapi/hogapi/cmd/internal/term"
)

// Code is the exit code of a program.
type Code int

// Exit codes. A program may have a narrower meaning for some of them: see its help.
const (
	CodeDone    Code = 0 // all is well
	CodeOther   Code = 1 // another error
	CodeUsage   Code = 2 // flags or arguments
	CodeRejects Code = 3 // too many rejects
	CodeStopped Code = 4 // stopped and resumable
	CodeProject Code = 5 // the key or the project
	CodeMissing Code = 6 // something is missing
	CodeCannot  Code = 7 // not yet, or cannot tell
)

// Step is something to do, with the command that does it.
type Step struct {
	Text    string
	Command string // may be empty
}

// Fault is an error in the form that the user sees, with advice.
type Fault struct {
	Code  Code
	Text  string   // the problem and its place
	More  []string // further texts
	Lines []string // that belong to the text and are shown as they are
	Todo  string   // advice; empty if the text has it
	Next  []Step   // the same in steps
	Err   error    // that it was made of; may be nil
}

// Error implements error.
func (f *Fault) Error() string {
	return strings.TrimSpace(strings.Join(append([]string{f.Text}, f.More...), "; ") + "\n  " + f.Todo)
}

// Unwrap returns the error that the fault was made of.
func (f *Fault) Unwrap() error { return f.Err }

// Advice returns the advice and the steps in one line.
func (f *Fault) Advice() string {
	text := f.Todo
	for _, step := range f.Next {
		text = strings.TrimSpace(text + " " + step.Text + " " + step.Command)
	}
	return text
}

// UsageError is the error of wrong flags or arguments, with advice.
func UsageError(text, todo string) error { return &Fault{Code: CodeUsage, Text: text, Todo: todo} }

// UnknownCommand returns the fault of an error of cobra about commands and arguments, or nil.
func UnknownCommand(program string, err error) *Fault {
	text := err.Error()
	switch {
	case strings.HasPrefix(text, "unknown command"):
		text, similar, _ := strings.Cut(text, "\n")
		if _, names, ok := strings.Cut(similar, "this?"); ok {
			similar = "did you mean " + strings.Join(strings.Fields(names), " or ") + "? Or "
		}
		return &Fault{Code: CodeUsage, Text: text, Todo: similar + "see " + program + " --help", Err: err}
	case strings.HasPrefix(text, "accepts "), strings.HasPrefix(text, "requires "), strings.HasPrefix(text, "required flag"), strings.HasPrefix(text, "if any flags in the group"):
		return &Fault{Code: CodeUsage, Text: text, Todo: "see " + program + " --help", Err: err}
	}
	return nil
}

// End prints the errors of a command and of its output. It returns the exit code, which is the command's own if
// the command failed.
func (a *App) End(err error) int {
	code := a.exit(err)
	failed := a.Out.Failed()
	if failed == nil {
		return code
	}
	return cmp.Or(code, a.exit(&Fault{
		Code: CodeOther, Text: "the result cannot be written to the standard output: " + Cause(failed).Error(), Err: failed,
		Todo: "free some space or redirect the output, then run the same command again: completed work is kept",
	}))
}

// Paragraph joins the lines of a text, such as a list of errors.
func Paragraph(text string) string { return strings.ReplaceAll(text, "\n", "; ") }

// exit prints an error, if there is one, and returns the exit code.
func (a *App) exit(err error) int {
	if err == nil {
		return int(CodeDone)
	}
	f := a.Explain(err)
	if a.Log == "json" {
		a.Logger().Error(strings.Join(append([]string{f.Text}, f.More...), "; "), "todo", f.Advice(), "exit", int(f.Code))
		return int(f.Code)
	}
	name := term.Problem(a.Name)
	for _, text := range append([]string{f.Text}, f.More...) {
		fmt.Fprintln(a.Err, term.Flow(name+": "+Paragraph(text)))
		name = a.Name
	}
	for _, line := range f.Lines {
		fmt.Fprintln(a.Err, Paragraph(line))
	}
	if f.Todo != "" {
		fmt.Fprintln(a.Err, term.Flow("  "+Paragraph(f.Todo)))
	}
	for _, step := range f.Next {
		if step.Text != "" {
			fmt.Fprintln(a.Err, term.Flow("  "+Paragraph(step.Text)))
		}
		if step.Command != "" {
			fmt.Fprintln(a.Err, term.Command("    "+step.Command))
		}
	}
	return int(f.Code)
}
