// Package cli has the commands of hogimport, one in each file.
package cli

import (
	"context"
	"io"
	"iter"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/history"
)

const longHelp = `hogimport moves the history of another analytics tool to PostHog: it downloads
the history, checks the files, imports them resumably, and verifies that all
events have arrived.

Each flag has an environment variable, which is shown next to it. Give keys in
the environment: POSTHOG_PROJECT_API_KEY, POSTHOG_PERSONAL_API_KEY.`

const exitHelp = `Exit codes:
  0  complete; rejects below the limit are named on the last line
  1  another error
  2  wrong usage
  3  too many rejects
  4  stopped and resumable: run the same command again
  5  the key or the project is wrong
  6  events are missing
  7  not yet complete, or unknown`

const rootExample = `  hogimport check --format mixpanel export/*.jsonl --report report.html
  hogimport trial --format mixpanel export/*.jsonl   # with a test project's key
  hogimport run --host eu --format mixpanel export/*.jsonl
  hogimport verify                                   # again if it says so`

// app is the program.
type app struct{ *shell.App }

// Run is the whole program: it returns the exit code.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env func(string) string) int {
	shared, ctx := shell.New(ctx, "hogimport", stdin, stdout, stderr, env, faultOf)
	a := &app{shared}
	defer a.Signals.End()
	root := newRoot(a) //nolint:contextcheck // commands get theirs when they run
	root.SetArgs(args)
	if err := a.CheckKeys(args); err != nil {
		return a.End(err)
	}
	return a.End(root.ExecuteContext(ctx))
}

func newRoot(a *app) *cobra.Command {
	root := a.Root("Move the history of another analytics tool to PostHog", longHelp+"\n\n"+exitHelp, rootExample)
	root.AddCommand(newFetchCommand(a), newRunCommand(a), newStatusCommand(a), newFixCommand(a), newFormatsCommand(a),
		newCheckCommand(a), newPlanCommand(a), newVerifyCommand(a), newUndoCommand(a), newTrialCommand(a))
	shell.Complete(root, map[string][]string{
		"format": slices.Sorted(maps.Keys(vendors)), "set-policy": {"keep", "set-once", "strip"}, "protocol": {"auto", "v1", "batch"},
		"host": {"us", "eu"}, "rate": {"1000", "none"}, "max-rejects": {"1%", "none"},
	})
	return root
}

// stoppable is a source that ends with shell.ErrInterrupted on request: the import then settles the events that it
// has taken.
type stoppable struct {
	history.Source
	asked context.Context //nolint:containedctx // it stands for the wish to stop, not for a call
}

// Unwrap returns the source.
func (s stoppable) Unwrap() history.Source { return s.Source }

// Events implements history.Source.
func (s stoppable) Events(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
	return func(yield func(hogapi.Event, error) bool) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		defer context.AfterFunc(s.asked, func() { cancel(shell.ErrInterrupted) })() //nolint:contextcheck // another wish than ctx
		for ev, err := range s.Source.Events(ctx, after) {
			if s.asked.Err() != nil {
				break
			}
			if !yield(ev, err) {
				return
			}
		}
		if s.asked.Err() != nil {
			yield(hogapi.Event{}, shell.ErrInterrupted)
		}
	}
}
