package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"go.temporal.io/sdk/client"

	"github.com/hogapi/hogapi/history"
	hogtemporal "github.com/hogapi/hogapi/temporal"
)

var errNotComplete = errors.New("the import is not complete")

func (t *tool) on(use, short string, do func(ctx context.Context, c client.Client, id string) error) *cobra.Command {
	return &cobra.Command{Use: use + " ID", Short: short, Args: cobra.ExactArgs(1), RunE: func(cmd *cobra.Command, args []string) error {
		return t.call(cmd, func(ctx context.Context, c client.Client) error { return do(ctx, c, args[0]) })
	}}
}

// ask returns a command that asks an import for something, and prints a text when it has.
func (t *tool) ask(use, short string, do func(context.Context, client.Client, string) error, text string) *cobra.Command {
	return t.on(use, short, func(ctx context.Context, c client.Client, id string) error { return t.said(do(ctx, c, id), text, id) })
}

func (t *tool) rate() *cobra.Command {
	return &cobra.Command{Use: "rate ID EVENTS-A-SECOND", Short: "Change the rate; -1 is no limit", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			rate, err := strconv.Atoi(args[1])
			if err != nil {
				return fmt.Errorf("want a number of events a second, not %q", args[1])
			}
			return t.call(cmd, func(ctx context.Context, c client.Client) error {
				return t.said(hogtemporal.SetRate(ctx, c, args[0], rate), "import %q: at most %d events a second from now on\n", args[0], rate)
			})
		}}
}

func (t *tool) said(err error, format string, args ...any) error {
	if err == nil {
		fmt.Fprintf(t.out, format, args...)
	}
	return err
}

func (t *tool) status() *cobra.Command {
	var asJSON, receipt bool
	cmd := t.on("status", "Show how far an import is", func(ctx context.Context, c client.Client, id string) error {
		if receipt {
			r, err := hogtemporal.GetReceipt(ctx, c, id)
			if err != nil {
				return err
			}
			return t.show(r, asJSON)
		}
		s, err := hogtemporal.GetStatus(ctx, c, id)
		if err != nil {
			return err
		}
		if err := t.show(s, asJSON); err != nil || s.Rejected == 0 || asJSON {
			return err
		}
		rejects, err := hogtemporal.GetRejects(ctx, c, id)
		if err == nil {
			fmt.Fprintf(t.out, "rejects: %s in the workers' store\n", rejects.Where)
		}
		return err
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "as JSON")
	cmd.Flags().BoolVar(&receipt, "receipt", false, "the receipt of the shards that are done")
	return cmd
}

func (t *tool) show(what fmt.Stringer, asJSON bool) error {
	if !asJSON {
		fmt.Fprintln(t.out, what)
		return nil
	}
	raw, err := json.MarshalIndent(what, "", "  ")
	if err == nil {
		fmt.Fprintf(t.out, "%s\n", raw)
	}
	return err
}

const followEvery = time.Second

func (t *tool) follow() *cobra.Command {
	return t.on("follow", "Show how far an import is until it ends; Ctrl-C stops following only", t.followImport)
}

func (t *tool) followImport(ctx context.Context, c client.Client, id string) error {
	last := ""
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		s, err := hogtemporal.GetStatus(ctx, c, id)
		switch {
		case ctx.Err() != nil:
			fmt.Fprintf(t.out, "no longer followed; the import itself continues. To end it: hogworker cancel %s\n", id)
			return nil
		case errors.Is(err, hogtemporal.ErrNotFound):
			return err
		case err != nil:
			last = t.news(last, err.Error())
		default:
			last = t.news(last, s.String())
			switch s.State {
			case hogtemporal.StateComplete:
				if s.Arrival != nil && s.Arrival.State != history.VerificationComplete {
					return fmt.Errorf("%w in the project: %s", errNotComplete, s.Arrival.State)
				}
				return nil
			case hogtemporal.StateCanceled, hogtemporal.StateEnded:
				return fmt.Errorf("%w: %s", errNotComplete, s.State)
			case hogtemporal.StateRunning, hogtemporal.StatePaused, hogtemporal.StateStopped:
			}
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

func (t *tool) news(last, text string) string {
	if text != last {
		fmt.Fprintf(t.out, "%s %s\n", time.Now().Format(time.TimeOnly), text)
	}
	return text
}
