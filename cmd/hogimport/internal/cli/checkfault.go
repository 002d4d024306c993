package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hogapi/hogapi"
)

// warn writes what a user should know, and what is no error.
func (a *app) warn(text string) {
	if a.log == "json" {
		a.logger().Warn(text)
		return
	}
	fmt.Fprintln(a.stderr, wrapped("hogimport: warning: "+text))
}

// checkFault is why files could not be read to their end.
func checkFault(err error) error {
	if errors.Is(err, errInterrupted) || errors.Is(err, context.Canceled) {
		return &fault{code: codeStopped, text: "interrupted: nothing was written", todo: "run the same command again", err: err}
	}
	if input, ok := errors.AsType[*hogapi.InputError](err); ok {
		return &fault{code: codeUsage, text: inFlags(input), err: err}
	}
	text := strings.TrimPrefix(strings.TrimPrefix(inFlags(err), "check: "), "the source failed: ")
	return &fault{code: codeOther, text: text, todo: "nothing was written; correct the file, or leave it out, and check again", err: err}
}
