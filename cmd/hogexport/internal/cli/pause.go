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
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	intervals "github.com/hogapi/hogapi/internal/coverage"
)

// pausing pauses exports, or unpauses them.
type pausing struct {
	*app
	changes

	pause bool
}

func newPauseCommand(a *app, pause bool) *cobra.Command {
	p := &pausing{app: a, pause: pause}
	cmd := &cobra.Command{
		Use: "pause EXPORT…", Short: "Stop the schedule of exports",
		Long: `pause stops the schedule of exports. A run under way continues. The intervals of
the pause are not exported: after hogexport unpause, hogexport repair exports
them.`,
		Example: "  hogexport pause \"events to the warehouse\"",
		Args:    cobra.MinimumNArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return p.run(cmd.Context(), args) },
	}
	if !pause {
		cmd.Use, cmd.Short, cmd.Example = "unpause EXPORT…", "Start the schedule of exports again, without a backfill", "  hogexport unpause \"events to the warehouse\" && hogexport repair \"events to the warehouse\""
		cmd.Long = `unpause starts the schedule of exports again, from now on. It never begins a
backfill: the service's own may begin with the whole history, or export rows
again. hogexport repair exports the intervals of the pause.`
	}
	p.bind(cmd)
	return cmd
}

// toggled is the result for an export.
type toggled struct {
	ID      uuid.UUID `json:"id"`
	Name    string    `json:"name"`
	Paused  bool      `json:"paused"`
	Changed bool      `json:"changed"`
}

func (p *pausing) run(ctx context.Context, names []string) error {
	client, err := p.client()
	if err != nil {
		return err
	}
	exports, err := p.exports(ctx, client, names)
	if err != nil {
		return err
	}
	verb, effect, past := "unpause", "the schedule continues from now, and nothing is exported again", "unpaused "
	if p.pause {
		verb, effect, past = "pause", "no interval is exported until unpause; a run under way continues", "paused "
	}
	all, open, texts := []toggled{}, []int{}, []string{}
	for i := range exports {
		e := &exports[i]
		all = append(all, toggled{e.ID, e.Name, e.Paused, false})
		if e.Paused == p.pause {
			p.Note(fullName(e) + " is " + map[bool]string{true: "paused", false: "not paused"}[p.pause] + " already")
			continue
		}
		open, texts = append(open, i), append(texts, fullName(e))
		if text := willPauseAgain(e); text != "" && !p.pause {
			p.Warn(fullName(e) + ": " + text)
		}
	}
	if len(open) > 0 {
		isAgreed, err := p.agreed(ctx, p.changes, fmt.Sprintf("%s %s %s: %s", verb, strings.Join(texts, ", "), p.inProject(), effect))
		if !isAgreed {
			return err
		}
	}
	for _, i := range open {
		e := &exports[i]
		if p.pause {
			err = client.BatchExports.Pause(ctx, e.ID)
		} else {
			_, err = client.BatchExports.Unpause(ctx, e.ID, nil)
		}
		if err != nil {
			break
		}
		all[i].Paused, all[i].Changed = p.pause, true
		if p.JSON {
			continue
		}
		text := past + fullName(&exports[i])
		if !p.pause {
			text = past + term.Line(e.Name) + "; the intervals of the pause are not exported"
			if e.LastPausedAt != nil {
				text += ", since " + e.LastPausedAt.UTC().Format(clock) + " UTC"
			}
			text += ":\n  hogexport repair " + shell.Quoted(handles(exports, names)[i])
		}
		fmt.Fprintln(p.Out, text)
	}
	if p.JSON { // also what was changed before an error
		return errors.Join(err, json.NewEncoder(p.Out).Encode(all))
	}
	return err
}

// willPauseAgain says that the service is about to pause an export again: it counts failed runs of before the pause.
func willPauseAgain(e *hogapi.BatchExport) string {
	s := statusOf(e, e.LatestRuns, time.Now())
	if s.FailuresLeft > 1 || s.Failures == 0 {
		return ""
	}
	text := fmt.Sprintf("%d of the newest %d runs have failed, so the service pauses the export again at the next failure", s.Failures, min(len(e.LatestRuns), intervals.PauseWindow(s.Interval)))
	if s.LastError != "" {
		text += "; last error: " + term.Line(s.LastError)
	}
	return text
}
