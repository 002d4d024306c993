package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
)

// changes are the flags of a command that changes something.
type changes struct{ yes, dryRun bool }

func (c *changes) bind(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.yes, "yes", false, "do not ask")
	bindDryRun(cmd, &c.dryRun)
}

func bindDryRun(cmd *cobra.Command, isDry *bool) {
	cmd.Flags().BoolVar(isDry, "dry-run", false, "show the changes without making them")
}

// agreed asks for confirmation. With --dry-run it prints the action instead, and the answer is no.
func (a *app) agreed(ctx context.Context, c changes, deed string) (bool, error) {
	switch {
	case c.dryRun && a.JSON:
		a.Note("would " + deed + "; nothing was changed")
		return false, nil
	case c.dryRun:
		fmt.Fprintln(a.Out, term.Flow("would "+deed+"\nNothing was changed."))
		return false, nil
	case c.yes:
		return true, nil
	case !a.CanAnswer():
		return false, shell.UsageError("this is not a terminal, so nobody can confirm: "+deed, "give --yes, or --dry-run to see the changes; nothing was changed")
	}
	err := a.consent(ctx, strings.ToUpper(deed[:1])+deed[1:]+". Carry out?")
	return err == nil, err
}

// consent asks a question before something is changed. Ctrl-C is a no.
func (a *app) consent(ctx context.Context, question string) error {
	unchanged := &shell.Fault{Code: shell.CodeStopped, Text: "nothing was changed"}
	err := a.Consent(ctx, question, unchanged)
	if errors.Is(err, shell.ErrInterrupted) {
		return unchanged
	}
	return err
}

// fullName names an export in a text so that no other can be meant.
func fullName(e *hogapi.BatchExport) string { return term.Line(e.Name) + " " + traits(e) }

// inProject says in which project a command works.
func (a *app) inProject() string { return "in project " + cmp.Or(a.project(), "?") }
