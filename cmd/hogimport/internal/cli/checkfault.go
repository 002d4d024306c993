package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/hogimport/internal/term"
	"github.com/hogapi/hogapi/formats/generic"
)

// warn writes a text that the user should read, although nothing failed.
func (a *app) warn(text string) {
	if a.log == "json" {
		a.logger().Warn(text)
		return
	}
	fmt.Fprintln(a.stderr, term.Flow("hogimport: "+term.Warning("warning")+": "+paragraph(text)))
}

// tableTodo is the advice about a table that the flags do not fit.
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
