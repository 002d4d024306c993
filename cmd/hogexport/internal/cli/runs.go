package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
)

const fewRuns = 50 // that are shown by default

type runs struct {
	*app

	since  string
	limit  int
	failed bool
}

func newRunsCommand(a *app) *cobra.Command {
	r := &runs{app: a}
	cmd := &cobra.Command{
		Use: "runs EXPORT", Short: "Show the runs of an export, the newest first", Args: cobra.ExactArgs(1),
		Long: `runs shows the runs of an export, the newest first: their interval, how they
ended, and the errors of those that failed. ID is the beginning of the run's id,
which names it in hogexport logs --run and hogexport cancel.`,
		Example: "  hogexport runs \"events to the warehouse\"\n  hogexport runs 0190f3c0 --failed --since 30d",
		RunE:    func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&r.since, "since", "7d", "only runs since this `TIME`:  30d, 36h, or a day")
	f.IntVar(&r.limit, "limit", fewRuns, "show at most this `NUMBER` of runs")
	f.BoolVar(&r.failed, "failed", false, "only runs that have failed")
	return cmd
}

func (r *runs) run(ctx context.Context, name string) error {
	client, export, from, err := r.newestOf(ctx, name, r.since, r.limit, fewRuns)
	if err != nil {
		return err
	}
	found, isMore := []hogapi.Run{}, false
	for run, err := range client.Runs.All(ctx, export.ID, &hogapi.RunListOptions{After: from}) {
		if err != nil {
			return err
		}
		if r.failed && !run.Status.IsFailure() {
			continue
		}
		if isMore = len(found) == r.limit; isMore {
			break
		}
		found = append(found, run)
	}
	if r.JSON {
		return json.NewEncoder(r.Out).Encode(found)
	}
	if len(found) == 0 {
		fmt.Fprintln(r.Out, term.Flow(fullName(export)+": no such run has begun since "+from.Format(clock)+" UTC"))
		return nil
	}
	ids := printRuns(r.Out, found)
	if isMore {
		fmt.Fprintln(r.Out, term.Flow(fmt.Sprintf("There are older runs than these %d: give --limit.", r.limit)))
	}
	for _, text := range errorsOf(found, ids) {
		fmt.Fprintln(r.Out, term.Flow(text))
	}
	return nil
}

// newestOf returns an export of which a command shows the newest entries since a time, at most a number of them.
func (a *app) newestOf(ctx context.Context, name, since string, limit, few int) (client *hogapi.Client, e *hogapi.BatchExport, from time.Time, err error) {
	if from, err = parseTime("--since", since, time.Now().UTC()); err != nil {
		return nil, nil, from, err
	}
	if limit <= 0 {
		return nil, nil, from, shell.UsageError(fmt.Sprintf("--limit %d is not above 0", limit), fmt.Sprintf("give a number such as %d", few))
	}
	if client, err = a.client(); err != nil {
		return nil, nil, from, err
	}
	e, err = a.export(ctx, client, name)
	return client, e, from, err
}

// printRuns writes a table of runs, and returns the beginnings of their ids.
func printRuns(w *term.Screen, found []hogapi.Run) map[uuid.UUID]string {
	ids := beginnings(found, func(run *hogapi.Run) uuid.UUID { return run.ID })
	const short = "01-02 15:04"
	t := term.NewTable(w).Narrow([]string{"STATUS"}, []string{"BEGAN", "BY", "TOOK"})
	fmt.Fprintln(t, "ID\tFROM (UTC)\tTO\tSTATUS\tBEGAN\tTOOK\tROWS\tBY\t")
	for i := range found {
		run := &found[i]
		took, rows, by := "", "", "schedule"
		switch {
		case run.FinishedAt != nil:
			took = span(run.FinishedAt.Sub(run.CreatedAt))
		case !run.Status.IsTerminal():
			took = span(time.Since(run.CreatedAt)) + " so far"
		}
		if run.RecordsCompleted != nil {
			rows = progress.Number(*run.RecordsCompleted)
		}
		if run.Backfill != nil {
			by = "backfill " + run.Backfill.String()[:minID]
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", ids[run.ID], from(run.DataIntervalStart), run.DataIntervalEnd.UTC().Format(short), term.Line(run.Status), run.CreatedAt.UTC().Format(short), took, rows, by)
	}
	_ = t.Flush() // to a Screen
	return ids
}

// errorsOf returns each error of some runs once, with the newest run that has it.
func errorsOf(found []hogapi.Run, ids map[uuid.UUID]string) (texts []string) {
	type same struct {
		newest uuid.UUID
		runs   int
	}
	var order []string
	all := map[string]same{}
	for i := range found {
		run := &found[i]
		if run.LatestError == nil || *run.LatestError == "" || run.Status == hogapi.RunStatusCompleted {
			continue
		}
		s, isKnown := all[*run.LatestError]
		if !isKnown {
			order, s.newest = append(order, *run.LatestError), run.ID
		}
		s.runs++
		all[*run.LatestError] = s
	}
	for _, text := range order {
		s := all[text]
		head := ids[s.newest]
		if s.runs > 1 {
			head += fmt.Sprintf(" and %d more", s.runs-1)
		}
		texts = append(texts, head+": "+term.Line(text))
	}
	return texts
}

// newestRuns is how many runs are searched for the beginning of an id.
const newestRuns = 1000

// runOf returns the run of an id, or of the beginning of one.
func (a *app) runOf(ctx context.Context, client *hogapi.Client, e *hogapi.BatchExport, id string) (*hogapi.Run, error) {
	found, err := a.runsOf(ctx, client, e, id)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, noSuchRun(e, len(found), id)
	}
	return &found[0], nil
}

func noSuchRun(e *hogapi.BatchExport, n int, id string) error {
	return shell.UsageError(fmt.Sprintf("%s: %s an id that begins with %q", fullName(e), haveOrHas(n, "run"), id), "see hogexport runs; nothing was changed")
}

// runsOf returns the run of an id, or the runs of the beginning of one, among the newest.
func (a *app) runsOf(ctx context.Context, client *hogapi.Client, e *hogapi.BatchExport, id string) (found []hogapi.Run, err error) {
	if whole, err := uuid.Parse(id); err == nil {
		run, err := client.Runs.Get(ctx, e.ID, whole)
		switch {
		case errors.Is(err, hogapi.ErrNotFound):
			return nil, nil
		case err != nil:
			return nil, err
		}
		return []hogapi.Run{*run}, nil
	}
	if !isBeginning.MatchString(id) {
		return nil, nil
	}
	n := 0
	for run, err := range client.Runs.All(ctx, e.ID, nil) {
		if err != nil {
			return nil, err
		}
		if strings.HasPrefix(run.ID.String(), strings.ToLower(id)) {
			found = append(found, run)
		}
		if n++; n == newestRuns {
			break
		}
	}
	return found, nil
}

// backfillOf returns the backfill of an id, or of the beginning of one; nil if there is no such backfill.
func (a *app) backfillOf(ctx context.Context, client *hogapi.Client, e *hogapi.BatchExport, id string) (*hogapi.Backfill, error) {
	if whole, err := uuid.Parse(id); err == nil {
		b, err := client.Backfills.Get(ctx, e.ID, whole)
		if errors.Is(err, hogapi.ErrNotFound) {
			return nil, nil //nolint:nilnil // the id may be one of a run
		}
		return b, err
	}
	all, err := a.backfills(ctx, client, e, func(b *hogapi.Backfill) bool {
		return isBeginning.MatchString(id) && strings.HasPrefix(b.ID.String(), strings.ToLower(id))
	})
	if len(all) != 1 {
		return nil, err
	}
	return &all[0], err
}

// backfills returns backfills of an export. Older servers keep no records of them.
func (a *app) backfills(ctx context.Context, client *hogapi.Client, e *hogapi.BatchExport, isWanted func(*hogapi.Backfill) bool) (found []hogapi.Backfill, err error) {
	for b, err := range client.Backfills.All(ctx, e.ID, nil) {
		switch {
		case errors.Is(err, hogapi.ErrUnsupported), errors.Is(err, hogapi.ErrNotFound):
			return nil, nil
		case err != nil:
			return nil, err
		case isWanted(&b):
			found = append(found, b)
		}
	}
	return found, nil
}

func haveOrHas(n int, noun string) string {
	if n == 1 {
		return "1 " + noun + " has"
	}
	return fmt.Sprintf("%d %ss have", n, noun)
}

// underWay returns the runs of an export that are under way.
func underWay(ctx context.Context, client *hogapi.Client, e *hogapi.BatchExport) (found []hogapi.Run, err error) {
	open := []hogapi.RunStatus{hogapi.RunStatusStarting, hogapi.RunStatusRunning, hogapi.RunStatusContinuedAsNew}
	for run, err := range client.Runs.All(ctx, e.ID, &hogapi.RunListOptions{Statuses: open}) {
		if err != nil {
			return nil, err
		}
		found = append(found, run)
	}
	return found, nil
}
