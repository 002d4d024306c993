// Package errtext words errors that have other errors as causes.
package errtext

import (
	"fmt"
	"strings"
)

const prefix = "hogapi: "

// worded is an error with one prefix, whatever its causes begin with.
type worded struct {
	text   string
	causes []error
}

func (e *worded) Error() string   { return e.text }
func (e *worded) Unwrap() []error { return e.causes }

// Errorf is fmt.Errorf with the prefix of the module, once. It wraps every error among args.
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
