// Package cli has the commands of hogexport, one in each file.
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
)

// app is the program.
type app struct {
	*shell.App

	host, projectID, keyFile string

	ageLine length // --age-line
}

const longHelp = `hogexport manages the batch exports of a PostHog project: it lists them, finds
and repairs intervals that were not exported, pauses exports and cancels runs,
serves metrics for Prometheus, and downloads rows.

Every flag also has an environment variable, shown next to it. Set the personal
API key in the environment: POSTHOG_PERSONAL_API_KEY. The scope
batch_export:read is enough for commands that only read. Commands that change
something need batch_export:write, ask first, and take --dry-run.`

const exitHelp = `Exit codes:
  0  every interval is exported; the work is done, or the plan was written
  1  another error
  2  wrong usage
  3  the plan exports more rows than --max-rows; nothing was changed
  4  stopped, or not confirmed: run the same command again
  5  the key or the project is wrong
  6  some intervals are not exported, or were left to you by a repair
  7  cannot tell`

const rootExample = `  hogexport list
  hogexport gaps "events to the warehouse" --since 30d
  hogexport repair "events to the warehouse"        # shows the plan, and asks
  hogexport watch --metrics :9464                   # for Prometheus`

// Run is the whole program: it returns the exit code.
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, env func(string) string) int {
	a := &app{}
	a.App, ctx = shell.New(ctx, "hogexport", stdin, stdout, stderr, env, a.explain)
	defer a.Signals.End()
	root := newRoot(a) //nolint:contextcheck // commands get theirs when they run
	root.SetArgs(args)
	if err := cmp.Or(a.CheckKeys(args), checkPasswords(args)); err != nil {
		return a.End(err)
	}
	return a.End(root.ExecuteContext(ctx))
}

// checkPasswords refuses URLs with passwords among the arguments, which all users of the machine can see.
func checkPasswords(args []string) error {
	for _, arg := range args {
		if _, rest, ok := strings.Cut(arg, "://"); ok {
			user, _, hasUser := strings.Cut(strings.SplitN(rest, "/", 2)[0], "@")
			if _, password, _ := strings.Cut(user, ":"); hasUser && password != "" {
				return shell.UsageError("a password is among the arguments, where every user of this machine can see it", "put the URL into the variable HOGEXPORT_TO")
			}
		}
	}
	return nil
}

func newRoot(a *app) *cobra.Command {
	root := a.Root("Manage PostHog's batch exports", longHelp+"\n\n"+exitHelp, rootExample)
	f := root.PersistentFlags()
	f.StringVar(&a.host, "host", "", "us, eu, or the `URL` of a server of your own; or POSTHOG_HOST, POSTHOG_REGION")
	f.StringVar(&a.projectID, "project-id", "", "the `NUMBER` of the project; or POSTHOG_PROJECT_ID")
	f.StringVar(&a.keyFile, "personal-key-file", "", "a `FILE` with the personal API key (phx_…); better in the environment: POSTHOG_PERSONAL_API_KEY")
	root.AddCommand(newListCommand(a), newGapsCommand(a), newRepairCommand(a), newWatchCommand(a), newDownloadCommand(a), newPullCommand(a), newCreateCommand(a),
		newReconcileCommand(a), newRunsCommand(a), newLogsCommand(a), newPauseCommand(a, true), newPauseCommand(a, false), newCancelCommand(a))
	a.completeNames(root)
	shell.Complete(root, map[string][]string{"host": {"us", "eu"}, "model": models, "format": {"parquet", "jsonl"}})
	return root
}

// client returns a client of the project.
func (a *app) client(more ...hogapi.Option) (*hogapi.Client, error) {
	where, err := a.Hosts(a.host, "")
	if err != nil {
		return nil, err
	}
	key, err := a.Secret("--personal-key-file", "", a.keyFile, "POSTHOG_PERSONAL_API_KEY")
	if err != nil {
		return nil, err
	}
	id := a.project()
	switch {
	case key == "":
		return nil, shell.UsageError("the personal API key is missing", "set POSTHOG_PERSONAL_API_KEY to a phx_… key with the scope batch_export:read, or give --personal-key-file FILE")
	case id == "":
		return nil, shell.UsageError("the project's id is missing", "give --project-id NUMBER: it is in the project's settings and in the address of its pages")
	}
	options := append([]hogapi.Option{hogapi.WithApplication("hogexport", shell.Version()), hogapi.WithPersonalAPIKey(key), hogapi.WithProject(id)}, where...)
	client, err := hogapi.NewClient(append(options, more...)...)
	if err != nil {
		return nil, &shell.Fault{Code: shell.CodeUsage, Text: err.Error(), Err: err}
	}
	return client, nil
}

func (a *app) project() string { return cmp.Or(a.projectID, a.Env("POSTHOG_PROJECT_ID")) }

// only returns a usage error unless a command has exactly one export.
func only(names []string, command string) error {
	if len(names) == 1 {
		return nil
	}
	return shell.UsageError(fmt.Sprintf("want one export, not %d", len(names)), "give its name or id, such as hogexport "+command+` "events to the warehouse"; names with blanks need quotes`)
}

const clock = "2006-01-02 15:04"

// parseTime reads a time that a person gives: a day of UTC, a time, or how long ago it is, such as 36h or 30d.
func parseTime(flag, text string, now time.Time) (time.Time, error) {
	var ago length
	if ago.Set(text) == nil {
		return now.Add(-time.Duration(ago)), nil
	}
	for _, layout := range []string{time.DateOnly, clock, "2006-01-02T15:04", time.RFC3339} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, shell.UsageError(fmt.Sprintf("%s %q is not a time", flag, text), "give a day of UTC such as 2026-11-01, a time such as 2026-11-01T12:00:00Z, or how long ago it is: 36h, 30d")
}

// length is a length of time as a person gives it: 36h, or 30d.
type length time.Duration

// Set implements [pflag.Value].
func (l *length) Set(text string) error {
	const day, century = 24 * time.Hour, 36525
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.Atoi(days); err == nil && n >= 0 && n <= century {
			*l = length(time.Duration(n) * day)
			return nil
		}
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return errors.New("write a duration such as 36h or 30d")
	}
	*l = length(d)
	return nil
}

// String implements [pflag.Value].
func (l *length) String() string {
	if *l == 0 {
		return ""
	}
	return time.Duration(*l).String()
}

// Type implements [pflag.Value].
func (l *length) Type() string { return "length" }

// span returns a duration in one unit, such as "3 h".
func span(d time.Duration) string {
	switch {
	case d < 0:
		return "0 min"
	case d < 2*time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + " days"
}
