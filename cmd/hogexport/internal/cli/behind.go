package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/coverage"
	intervals "github.com/hogapi/hogapi/internal/coverage"
)

// lateAfter is how long after the end of the newest exported interval the next one is late: its length, the longest delay
// of the schedule, and the time of a run.
func lateAfter(interval string) time.Duration {
	const run = 20 * time.Minute
	step, _ := intervals.Step(interval)
	return step + intervals.LongestDelay(interval) + run
}

// behindBy returns the bound of --max-behind for an interval. An interval that is longer than the bound is waited for first.
func (g *gaps) behindBy(interval string) time.Duration {
	if step, _ := intervals.Step(interval); step > g.maxBehind {
		return step + g.maxBehind
	}
	return g.maxBehind
}

// lagging is an export that is behind.
type lagging struct {
	status

	Behind string `json:"behind"` // in words
}

// behind judges the newest exported interval of each export that is not paused. It is silent if all is well.
func (g *gaps) behind(ctx context.Context, client *hogapi.Client, names []string, known []acceptance) error {
	exports, err := g.exports(ctx, client, names)
	if err != nil {
		if f := *g.explain(err); f.Code == shell.CodeOther { // the service cannot be reached, or has a fault
			f.Code = shell.CodeCannot
			return &f
		}
		return err
	}
	late, ids, cannot := []lagging{}, shortIDs(exports), &shell.Fault{Code: shell.CodeCannot}
	for i := range exports {
		if exports[i].Paused {
			continue
		}
		text, s, err := g.lag(ctx, client, &exports[i], known)
		name := ids[exports[i].ID] + " " + term.Line(exports[i].Name)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case err != nil:
			cannot.More = append(cannot.More, name+": "+g.explain(err).Text)
		case text != "":
			late = append(late, lagging{s, text})
			cannot.More = append(cannot.More, name+" "+traits(&exports[i])+": "+text)
		}
	}
	if g.JSON {
		if err := json.NewEncoder(g.Out).Encode(late); err != nil {
			return err
		}
	}
	switch n := len(cannot.More) - len(late); {
	case n > 0:
		cannot.Text = fmt.Sprintf("cannot tell whether %s behind", isOrAre(n))
	case len(late) > 0:
		cannot.Code, cannot.Text = shell.CodeMissing, isOrAre(len(late))+" behind"
		cannot.Next = []shell.Step{{Command: "hogexport list"}}
	default:
		return nil
	}
	return cannot
}

func isOrAre(n int) string {
	if n == 1 {
		return "1 export is"
	}
	return plural(n, "export") + " are"
}

// lag says how far an export is behind, or nothing.
func (g *gaps) lag(ctx context.Context, client *hogapi.Client, e *hogapi.BatchExport, known []acceptance) (text string, s status, err error) {
	now := time.Now().UTC()
	s = statusOf(e, e.LatestRuns, now)
	bound := g.behindBy(s.Interval)
	isIn := func() bool { return s.ExportedTo != nil && now.Sub(*s.ExportedTo) <= bound }
	if isIn() {
		return "", s, nil
	}
	if s.MayBeLater {
		c, err := g.cacheOf(g.cache).coverage(ctx, client, e, now.AddDate(0, 0, -watchedDays))
		if err != nil {
			return "", s, err
		}
		if to, _ := newestExported(c); !to.IsZero() {
			s.exportedTo(to)
		}
		s.MayBeLater = false
	}
	from := e.CreatedAt.UTC()
	if e.StartAt != nil && e.StartAt.After(from) {
		from = e.StartAt.UTC()
	}
	text = fmt.Sprintf("nothing exported since it began at %s UTC", from.Format(clock))
	if s.ExportedTo != nil {
		from = *s.ExportedTo
		text = fmt.Sprintf("the newest exported interval ended at %s UTC, %s ago", from.Format(clock), span(now.Sub(from)))
	}
	isOver := e.EndAt != nil && !from.Before(*e.EndAt)
	isKnown := acceptedBy(known, &coverage.Coverage{ExportID: e.ID, Name: e.Name}, coverage.Gap{Start: from, End: now}) != nil
	if isIn() || isOver || isKnown || now.Sub(from) <= bound {
		return "", s, nil
	}
	return text, s, nil
}
