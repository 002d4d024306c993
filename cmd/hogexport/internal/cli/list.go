package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/coverage"
)

type list struct {
	*app

	gaps  bool
	since string
	cache string
	flags *pflag.FlagSet
}

func newListCommand(a *app) *cobra.Command {
	l := &list{app: a}
	cmd := &cobra.Command{
		Use: "list", Short: "Show all exports of the project on one screen", Args: cobra.NoArgs,
		Long: `list shows all batch exports of the project: destination, schedule, state, the
end of the newest exported interval (UTC), and the number of failures left until
the service pauses the export. ID is the beginning of the id, which all commands
accept as the export. list makes one call for 100 exports, which returns the
newest 10 runs of each. The sign ≥ or ≤ marks a value that 10 runs do not prove:
list --gaps shows the exact value.

--gaps adds the number of intervals that are not exported. It reads the runs of
the last 30 days of each export the first time, and only new runs later.`,
		Example: "  hogexport list\n  hogexport list --gaps --since 7d\n  hogexport list --json",
		RunE:    func(cmd *cobra.Command, _ []string) error { return l.run(cmd.Context()) },
	}
	f := cmd.Flags()
	l.flags = f
	f.BoolVar(&l.gaps, "gaps", false, "count the intervals that are not exported")
	f.StringVar(&l.since, "since", "30d", "--gaps counts since this `TIME`:  30d, 36h, or a day")
	l.bindCache(cmd, &l.cache)
	return cmd
}

func (a *app) bindCache(cmd *cobra.Command, folder *string) {
	cmd.Flags().Var(&a.ageLine, "age-line", "the `AGE` up to which a backfill of events chooses rows by their arrival; default: 7d on PostHog Cloud, 5d elsewhere; 4d for daily and weekly exports of a server before September 2026")
	cmd.Flags().StringVar(folder, "cache", "", "the `FOLDER` for the cache; default: hogexport in the user's cache folder")
}

func (l *list) run(ctx context.Context) error {
	client, err := l.client()
	if err != nil {
		return err
	}
	now := time.Now().UTC()
	from, err := parseTime("--since", l.since, now)
	if err != nil {
		return err
	}
	exports, err := l.exports(ctx, client, nil)
	if err != nil {
		return err
	}
	found, store := make([]status, len(exports)), l.cacheOf(l.cache)
	for i := range exports {
		found[i] = statusOf(&exports[i], exports[i].LatestRuns, now)
		if !l.gaps {
			found[i].addKnown(store.load(&exports[i]), &exports[i])
		}
	}
	if l.gaps {
		if err := l.count(ctx, client, exports, found, from); err != nil {
			return err
		}
	}
	for i := range found {
		found[i].paused = found[i].pausedBy(&exports[i])
	}
	if l.JSON {
		return json.NewEncoder(l.Out).Encode(found)
	}
	l.table(found, shortIDs(exports), from, now)
	return l.verdict(found)
}

// count adds the gaps of each export.
func (l *list) count(ctx context.Context, client *hogapi.Client, exports []hogapi.BatchExport, found []status, from time.Time) error {
	meter := l.Meter()
	defer meter.End()
	store := l.cacheOf(l.cache)
	for i := range exports {
		meter.Phase(fmt.Sprintf("read the runs of export %d of %d", i+1, len(exports)))
		c, err := store.coverage(ctx, client, &exports[i], from)
		if err != nil {
			return err
		}
		found[i].addKnown(c, &exports[i])
		gaps, intervals := 0, 0
		for _, gap := range c.Gaps() {
			gaps, intervals = gaps+1, intervals+gap.Intervals
		}
		found[i].Gaps, found[i].Uncovered = &gaps, &intervals
		if since := underWaySince(c, func(s coverage.State) bool { return s == coverage.StateStuck }); !since.IsZero() && found[i].StuckSince == nil {
			found[i].isStuck(since, c)
		}
	}
	return nil
}

func (l *list) table(found []status, ids map[uuid.UUID]string, from, now time.Time) {
	if len(found) == 0 {
		fmt.Fprintln(l.Out, "the project has no batch exports")
		return
	}
	t := term.NewTable(l.Out).Narrow([]string{"EXPORT", "TO"}, []string{"AGO", "EVERY", "ID"})
	fmt.Fprint(t, "ID\tEXPORT\tTO\tEVERY\tSTATE\tNEWEST EXPORTED\tAGO\tFAILURES LEFT\t")
	if l.gaps {
		fmt.Fprintf(t, "NOT EXPORTED IN %s\t", strings.ToUpper(span(now.Sub(from))))
	}
	fmt.Fprintln(t)
	for i := range found {
		s := &found[i]
		to, ago := s.exported(now)
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t", ids[s.ID], term.Line(s.Name), term.Line(s.target), every(s.Interval), s.state(now), to, ago, s.left())
		if l.gaps {
			fmt.Fprintf(t, "%s\t", s.uncovered())
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // to a Screen
	fmt.Fprintln(l.Out)
	isBound, isLater := false, false
	for i := range found {
		if text := found[i].note(); text != "" {
			fmt.Fprintln(l.Out, term.Flow(ids[found[i].ID]+" "+term.Line(found[i].Name)+": "+text))
		}
		isBound = isBound || found[i].IsAtLeast && found[i].State != statePaused
		isLater = isLater || found[i].MayBeLater
	}
	switch {
	case isLater && l.gaps:
		fmt.Fprintln(l.Out, term.Flow("≥ or unknown: no interval since --since is exported, or a run was still under way. An older run may have exported a newer interval"))
	case isLater:
		fmt.Fprintln(l.Out, term.Flow("≥ or unknown: list reads the newest 10 runs, and none of them is a completed run of the schedule. An older run may have exported a newer interval. With --gaps, list reads all runs since --since"))
	}
	if isBound {
		fmt.Fprintln(l.Out, term.Flow("≤: the service counts more runs than the 10 that list reads, such as 24 of an hourly export. With --gaps, list reads all"))
	}
}

// isStuck notes a stuck run that is older than the runs in the list of exports.
func (s *status) isStuck(since time.Time, c *coverage.Coverage) {
	s.StuckSince = new(since.UTC())
	for _, x := range c.Intervals {
		if x.State == coverage.StateStuck {
			s.StuckFrom, s.StuckTo, s.StuckRun = new(x.Start.UTC()), new(x.End.UTC()), stuckRun(x)
			break
		}
	}
	if s.State == stateActive {
		s.State = stateStuck
	}
}

// stuckRun returns the id of the run of an interval that is stuck.
func stuckRun(x coverage.Interval) *uuid.UUID {
	for i := range x.Runs {
		if !x.Runs[i].Status.IsTerminal() {
			return &x.Runs[i].ID
		}
	}
	return nil
}

// note adds the details that do not fit in the table.
func (s *status) note() string {
	failed := ""
	if s.LastError != "" {
		failed = "; last error: " + term.Line(s.LastError)
	}
	switch {
	case s.paused != "":
		return s.paused + failed
	case s.StuckSince != nil:
		return fmt.Sprintf("the run of %s to %s is under way since %s UTC; newer runs go on. Why: hogexport logs %s --run %s", s.StuckFrom.Format(clock), s.StuckTo.Format(clock), s.StuckSince.Format(clock), s.ID.String()[:minID], s.StuckRun)
	case s.State == stateFailing:
		return "the newest run has failed" + failed
	}
	return ""
}

// exported returns up to when the export has exported, and how long ago that is.
func (s *status) exported(now time.Time) (to, ago string) {
	switch {
	case s.ExportedTo == nil && s.MayBeLater:
		return "unknown", "-"
	case s.ExportedTo == nil:
		return "nothing yet", "-"
	}
	const short, year = "01-02 15:04", 330 * 24 * time.Hour
	to, ago = s.ExportedTo.Format(short), span(now.Sub(*s.ExportedTo))
	if now.Sub(*s.ExportedTo) > year {
		to = s.ExportedTo.Format(time.DateOnly)
	}
	if s.MayBeLater {
		to, ago = "≥ "+to, "≤ "+ago
	}
	return to, ago
}

func every(interval string) string { return strings.TrimPrefix(interval, "every ") }

// state returns the state in a few words.
func (s *status) state(now time.Time) string {
	switch {
	case s.State == statePaused && s.PausedSince != nil:
		return "paused " + span(now.Sub(*s.PausedSince))
	case s.StuckSince != nil:
		return "stuck " + span(now.Sub(*s.StuckSince))
	}
	if s.State == stateBehind {
		return "behind " + span(now.Sub(*s.ExportedTo))
	}
	return s.State
}

// left returns how many failures are left until the service pauses the export.
func (s *status) left() string {
	switch {
	case s.State == statePaused:
		return "-"
	case s.IsAtLeast && s.FailuresLeft > 0:
		return "≤ " + strconv.Itoa(s.FailuresLeft) // the list of exports has fewer runs than count
	}
	return strconv.Itoa(s.FailuresLeft)
}

func (s *status) uncovered() string {
	if *s.Gaps == 0 {
		return "0"
	}
	return fmt.Sprintf("%d in %s", *s.Uncovered, plural(*s.Gaps, "gap"))
}

func plural(n int, noun string) string { return page.Plural(int64(n), noun, noun+"s") }

// verdict returns an error if --gaps has found some.
func (l *list) verdict(found []status) error {
	open := 0
	for i := range found {
		if found[i].Gaps != nil && *found[i].Gaps > 0 {
			open++
		}
	}
	if open == 0 {
		return nil
	}
	return &shell.Fault{
		Code: shell.CodeMissing, Text: plural(open, "export") + " with intervals that are not exported", Next: []shell.Step{{Command: "hogexport gaps EXPORT" + shell.Given(l.flags, same...)}},
	}
}
