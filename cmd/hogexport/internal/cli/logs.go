package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
)

const fewEntries = 100 // that are shown by default

type logs struct {
	*app

	ofRun, since, search string
	limit                int
	problems             bool
}

func newLogsCommand(a *app) *cobra.Command {
	l := &logs{app: a}
	cmd := &cobra.Command{
		Use: "logs EXPORT", Short: "Show the log of an export, or of one run", Args: cobra.ExactArgs(1),
		Long: `logs shows the newest entries of the log of an export, newest last. The service
keeps the log for 90 days. With --run, logs shows the log of one run. It has the
cause of a stuck run, which has no error while the service retries it.`,
		Example: "  hogexport logs \"events to the warehouse\" --problems\n  hogexport logs \"events to the warehouse\" --run 0190f3c0",
		RunE:    func(cmd *cobra.Command, args []string) error { return l.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&l.ofRun, "run", "", "only the log of a `RUN`, by the beginning of its id: see hogexport runs")
	f.StringVar(&l.since, "since", "7d", "show entries since this `TIME`: 30d, 36h, or a day; with --run, all are shown")
	f.StringVar(&l.search, "search", "", "only entries that contain a `TEXT`")
	f.BoolVar(&l.problems, "problems", false, "only warnings and errors")
	f.IntVar(&l.limit, "limit", fewEntries, "show at most this `NUMBER` of entries, the newest")
	return cmd
}

func (l *logs) run(ctx context.Context, name string) error {
	client, export, from, err := l.newestOf(ctx, name, l.since, l.limit, fewEntries)
	if err != nil {
		return err
	}
	o := &hogapi.LogOptions{After: from, Search: l.search}
	if l.problems {
		o.Levels = []hogapi.LogLevel{hogapi.LogLevelWarning, hogapi.LogLevelError}
	}
	var found []hogapi.LogEntry
	if l.ofRun == "" {
		found, err = l.newest(ctx, client, export, o)
	} else {
		found, err = l.logOfRun(ctx, client, export, o)
	}
	switch {
	case errors.Is(err, hogapi.ErrUnsupported):
		return &shell.Fault{Code: shell.CodeCannot, Text: "this server does not let personal API keys read logs", Todo: "see the log on the export's page in PostHog", Err: err}
	case err != nil:
		return err
	}
	slices.Reverse(found)
	if l.JSON {
		return json.NewEncoder(l.Out).Encode(append([]hogapi.LogEntry{}, found...))
	}
	for _, entry := range found {
		level := term.Line(entry.Level)
		switch entry.Level {
		case hogapi.LogLevelError:
			level = term.Problem(level)
		case hogapi.LogLevelWarning:
			level = term.Warning(level)
		default:
		}
		fmt.Fprintf(l.Out, "%s  %s  %s\n", entry.Timestamp.UTC().Format("2006-01-02 15:04:05"), level, term.Line(entry.Message))
	}
	if len(found) == 0 && !o.After.IsZero() {
		fmt.Fprintln(l.Out, term.Flow(fullName(export)+": no such entry since "+o.After.Format(clock)+" UTC"))
	}
	return nil
}

// newest returns the newest entries of the log of an export, the newest first.
func (l *logs) newest(ctx context.Context, client *hogapi.Client, e *hogapi.BatchExport, o *hogapi.LogOptions) (found []hogapi.LogEntry, err error) {
	for entry, err := range client.BatchExports.AllLogs(ctx, e.ID, o) {
		if err != nil {
			return nil, err
		}
		if found = append(found, entry); len(found) == l.limit {
			l.Note(fmt.Sprintf("the newest %d entries; there may be older ones: give --limit", l.limit))
			break
		}
	}
	return found, nil
}

// logOfRun returns the log of a run, the newest entry first. Where the service fails to give it, these are the entries of
// the export in the time of the run.
func (l *logs) logOfRun(ctx context.Context, client *hogapi.Client, e *hogapi.BatchExport, o *hogapi.LogOptions) ([]hogapi.LogEntry, error) {
	run, err := l.runOf(ctx, client, e, l.ofRun)
	if err != nil {
		return nil, err
	}
	const most, slack = 500, time.Minute
	ofRun := *o
	ofRun.After, ofRun.Limit = time.Time{}, min(l.limit, most)
	page, err := client.Runs.Logs(ctx, e.ID, run.ID, &ofRun)
	if err == nil {
		return page.Results, nil
	}
	if api, ok := errors.AsType[*hogapi.APIError](err); !ok || api.StatusCode < http.StatusInternalServerError {
		return nil, err
	}
	l.Note("the service cannot give the log of a run: these are all entries of the export in the time of the run")
	o.After = run.CreatedAt.Add(-slack)
	if run.FinishedAt != nil {
		o.Before = run.FinishedAt.Add(slack)
	}
	return l.newest(ctx, client, e, o)
}
