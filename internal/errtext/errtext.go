// Package errtext composes texts of several parts, and of errors with causes.
package errtext

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// WithoutPrefix returns an error without the module's prefix, for use within another error.
func WithoutPrefix(err error) error {
	if err == nil || !strings.HasPrefix(err.Error(), prefix) {
		return err
	}
	return cut{strings.TrimPrefix(err.Error(), prefix), err}
}

type cut struct {
	text string
	err  error
}

func (e cut) Error() string { return e.text }
func (e cut) Unwrap() error { return e.err }

// WithoutOp returns an error for use inside another one of the same operation, without the operation's name.
func WithoutOp[S ~string](op S, err error) error {
	return cut{strings.TrimPrefix(strings.TrimPrefix(err.Error(), prefix), string(op)+": "), err}
}

// Pathless returns a file error without its path.
func Pathless(err error) error {
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		return of.Err
	}
	if of, ok := errors.AsType[*os.LinkError](err); ok {
		return of.Err
	}
	return err
}

const prefix = "hogapi: "

// Sentinels of package hogapi, which has them under the same names, that errors of package event match too.
var (
	ErrInvalid      = errors.New("hogapi: invalid request")
	ErrUnauthorized = errors.New("hogapi: key missing, malformed or revoked")
	ErrForbidden    = errors.New("hogapi: key lacks a scope or access to the project")
	ErrNotFound     = errors.New("hogapi: not found")
	ErrQuota        = errors.New("hogapi: the plan's limit is reached")
)

// Text is built of several parts.
type Text struct{ strings.Builder }

// Add adds a part.
func (t *Text) Add(format string, args ...any) { _, _ = fmt.Fprintf(t, format, args...) }

// AddLine adds a line of a table, without blanks at its end.
func (t *Text) AddLine(format string, args ...any) {
	t.Add("%s\n", strings.TrimRight(fmt.Sprintf(format, args...), " "))
}

// AddIf adds a part that not every text has.
func (t *Text) AddIf(has bool, format string, args ...any) {
	if has {
		t.Add(format, args...)
	}
}

// worded is an error with exactly one prefix, even if its causes have prefixes.
type worded struct {
	text   string
	causes []error
}

func (e *worded) Error() string   { return e.text }
func (e *worded) Unwrap() []error { return e.causes }

// Errorf is fmt.Errorf with the module's prefix, once. It wraps every error among args.
func Errorf(format string, args ...any) error {
	e := &worded{}
	for i, arg := range args {
		if err, ok := arg.(error); ok {
			e.causes = append(e.causes, err)
			args[i] = strings.TrimPrefix(err.Error(), prefix)
		}
	}
	e.text = prefix + fmt.Sprintf(format, args...)
	return e
}
