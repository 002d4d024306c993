package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/internal/configs"
)

type cancel struct {
	*app
	changes
}

func newCancelCommand(a *app) *cobra.Command {
	c := &cancel{app: a}
	cmd := &cobra.Command{
		Use: "cancel EXPORT [ID]", Short: "End a run or a backfill that is under way",
		Long: `cancel ends a run or a backfill that is under way, and waits up to two minutes
until it is over. ID is the beginning of its id. Without an ID, cancel lists the
runs and backfills under way. The interval of a cancelled run is not exported:
hogexport repair exports it again.`,
		Example: "  hogexport cancel \"events to the warehouse\"\n  hogexport cancel \"events to the warehouse\" 0190f3c0",
		Args:    cobra.RangeArgs(1, 2), //nolint:mnd // the export and the run
		RunE:    func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args) },
	}
	c.bind(cmd)
	return cmd
}

func (c *cancel) run(ctx context.Context, args []string) error {
	client, err := c.client()
	if err != nil {
		return err
	}
	export, err := c.export(ctx, client, args[0])
	if err != nil {
		return err
	}
	if len(args) == 1 {
		return c.choices(ctx, client, export)
	}
	run, b, err := c.find(ctx, client, export, args[1])
	if err != nil {
		return err
	}
	if b != nil {
		until := "now"
		if b.EndAt != nil {
			until = b.EndAt.UTC().Format(clock)
		}
		what := fmt.Sprintf("backfill %s of %s to %s", b.ID, from(b.StartAt), until)
		return c.end(ctx, export, b.ID, what, b.Status, b.Status.IsTerminal(), func() error { return client.Backfills.Cancel(ctx, export.ID, b.ID) })
	}
	what := fmt.Sprintf("run %s of %s to %s", run.ID, from(run.DataIntervalStart), run.DataIntervalEnd.UTC().Format(clock))
	if run.Status == hogapi.RunStatusCancelled && run.FinishedAt == nil {
		what += ", which is not over yet"
	}
	return c.end(ctx, export, run.ID, what, run.Status, run.Status.IsTerminal(), func() error { return client.Runs.Cancel(ctx, export.ID, run.ID) })
}

// find returns the run or the backfill of an id, or of the beginning of one that no other has.
func (c *cancel) find(ctx context.Context, client *hogapi.Client, e *hogapi.BatchExport, id string) (*hogapi.Run, *hogapi.Backfill, error) {
	b, err := c.backfillOf(ctx, client, e, id)
	if err != nil {
		return nil, nil, err
	}
	if b != nil && uuid.Validate(id) == nil {
		return nil, b, nil
	}
	runs, err := c.runsOf(ctx, client, e, id)
	switch {
	case err != nil:
		return nil, nil, err
	case b != nil && len(runs) == 0:
		return nil, b, nil
	case b == nil && len(runs) == 1:
		return &runs[0], nil, nil
	case b != nil:
		return nil, nil, shell.UsageError(fmt.Sprintf("%s: a backfill and %s an id that begins with %q", fullName(e), haveOrHas(len(runs), "run"), id), "give more of the id; nothing was changed")
	}
	return nil, nil, noSuchRun(e, len(runs), id)
}

func from(t *time.Time) string {
	if t == nil {
		return "the beginning"
	}
	return t.UTC().Format(clock)
}

// end cancels a run or a backfill, unless it is over.
func (c *cancel) end(ctx context.Context, e *hogapi.BatchExport, id uuid.UUID, what string, status hogapi.RunStatus, isOver bool, cancel func() error) error {
	if isOver && status != hogapi.RunStatusCancelled {
		return shell.UsageError(fmt.Sprintf("%s: %s is over: %s", fullName(e), what, term.Line(status)), "see hogexport cancel EXPORT for what is under way; nothing was changed")
	}
	if !isOver {
		effect := "intervals that it has not exported are gaps"
		if configs.WritesInParts(string(e.Destination.Type), e.Destination.Config) {
			effect += ", and the rows it has written stay in the table"
		}
		isAgreed, err := c.agreed(ctx, c.changes, fmt.Sprintf("cancel %s of %s %s: %s", what, fullName(e), c.inProject(), effect))
		if !isAgreed {
			return err
		}
		if err := cancel(); err != nil {
			return err
		}
	}
	if c.JSON {
		return json.NewEncoder(c.Out).Encode(map[string]any{"id": id, "status": hogapi.RunStatusCancelled, "changed": !isOver})
	}
	fmt.Fprintln(c.Out, term.Flow(map[bool]string{true: "cancelled already: ", false: "cancelled "}[isOver]+what))
	return nil
}

// choices lists the runs and backfills under way.
func (c *cancel) choices(ctx context.Context, client *hogapi.Client, e *hogapi.BatchExport) error {
	found, err := underWay(ctx, client, e)
	if err != nil {
		return err
	}
	open, err := c.backfills(ctx, client, e, func(b *hogapi.Backfill) bool { return !b.Status.IsTerminal() })
	if err != nil {
		return err
	}
	if len(found)+len(open) == 0 {
		fmt.Fprintln(c.Out, term.Flow(fullName(e)+": nothing is under way"))
		return nil
	}
	f := &shell.Fault{Code: shell.CodeUsage, Text: fullName(e) + ": the id of a run or backfill is missing", Todo: "give the beginning of its id; nothing was changed"}
	for i := range open {
		f.Lines = append(f.Lines, fmt.Sprintf("  backfill %s, %s, since %s UTC", open[i].ID, term.Line(open[i].Status), open[i].CreatedAt.UTC().Format(clock)))
	}
	for i := range found {
		f.Lines = append(f.Lines, fmt.Sprintf("  run %s of %s to %s, %s, since %s UTC", found[i].ID, from(found[i].DataIntervalStart), found[i].DataIntervalEnd.UTC().Format(clock), term.Line(found[i].Status), found[i].CreatedAt.UTC().Format(clock)))
	}
	return f
}
