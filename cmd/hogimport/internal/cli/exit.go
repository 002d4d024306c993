package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/hogapi/hogapi"
)

// code is an exit code.
type code int

const (
	codeDone     code = 0 // complete; rejects below the limit
	codeOther    code = 1 // another error
	codeUsage    code = 2 // flags or arguments
	codeRejects  code = 3 // too many rejects
	codeStopped  code = 4 // stopped and resumable
	codeProject  code = 5 // the key or the project
	codeMissing  code = 6 // events are missing
	codeCannot   code = 7 // not yet, or cannot tell
	stopSameText      = "run the same command again: it continues where it stopped"
)

// fault is an error as the user sees it: what is wrong, and what to do next.
type fault struct {
	code code
	text string // what is wrong, and where
	todo string // what to do next; empty: the text says it
	err  error  // that it was made of; may be nil
}

// Error implements error.
func (f *fault) Error() string {
	if f.todo == "" {
		return f.text
	}
	return f.text + "\n  " + f.todo
}

// Unwrap returns the error that the fault was made of.
func (f *fault) Unwrap() error { return f.err }

// usageError is wrong flags or arguments.
func usageError(text, todo string) error { return &fault{code: codeUsage, text: text, todo: todo} }

// exit prints an error, if there is one, and returns the exit code.
func (a *app) exit(err error) int {
	if err == nil {
		return int(codeDone)
	}
	f := faultOf(err)
	if a.log == "json" {
		line, _ := json.Marshal(map[string]any{"level": "ERROR", "msg": f.text, "todo": f.todo, "exit": f.code})
		fmt.Fprintf(a.stderr, "%s\n", line)
		return int(f.code)
	}
	fmt.Fprintln(a.stderr, wrapped("hogimport: "+f.text))
	if f.todo != "" {
		fmt.Fprintln(a.stderr, wrapped("  "+f.todo))
	}
	return int(f.code)
}

// faultOf is what an error means for the user. It is the only place that knows.
func faultOf(err error) *fault {
	if f, ok := errors.AsType[*fault](err); ok {
		return f
	}
	text := strings.TrimPrefix(err.Error(), "hogapi: ")
	if stop, ok := errors.AsType[*hogapi.StopError](err); ok {
		return faultOfStop(stop, err)
	}
	switch {
	case errors.Is(err, errInterrupted), errors.Is(err, context.Canceled):
		return &fault{code: codeStopped, text: "interrupted", todo: stopSameText, err: err}
	case errors.Is(err, hogapi.ErrHeld):
		return &fault{code: codeOther, text: "another run uses this state folder", todo: "let it end, or end it; then run this command again", err: err}
	case errors.Is(err, hogapi.ErrUnauthorized), errors.Is(err, hogapi.ErrForbidden), errors.Is(err, hogapi.ErrNotFound):
		return &fault{code: codeProject, text: text, todo: "check --project-id, the keys and their scopes, and --host", err: err}
	case errors.Is(err, hogapi.ErrInvalid):
		return &fault{code: codeUsage, text: text, err: err}
	case strings.HasPrefix(text, "unknown command"), strings.HasPrefix(text, "accepts "), strings.HasPrefix(text, "requires "):
		return &fault{code: codeUsage, text: text, todo: "see hogimport --help", err: err}
	}
	return &fault{code: codeOther, text: text, err: err}
}

// faultOfStop is why an import has stopped.
func faultOfStop(stop *hogapi.StopError, err error) *fault {
	f := &fault{code: codeStopped, text: strings.TrimPrefix(err.Error(), "hogapi: "), todo: stopSameText, err: err}
	switch stop.Reason {
	case hogapi.StopTooManyRejects:
		f.code, f.todo = codeRejects, ""
	case hogapi.StopUnauthorized, hogapi.StopWrongKey, hogapi.StopForbidden:
		f.code, f.todo = codeProject, ""
	}
	return f
}

// wrapped breaks lines that are wider than help texts at blanks, and indents what follows as the line is.
func wrapped(text string) string {
	var out []string
	for line := range strings.SplitSeq(text, "\n") {
		indent := line[:len(line)-len(strings.TrimLeft(line, " "))]
		for len(line) > helpWidth {
			at := strings.LastIndexByte(line[:helpWidth+1], ' ')
			if at <= len(indent) {
				if at = strings.IndexByte(line[helpWidth:], ' '); at < 0 {
					break
				}
				at += helpWidth
			}
			out = append(out, strings.TrimRight(line[:at], " "))
			line = indent + strings.TrimLeft(line[at:], " ")
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}
