package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/page"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/internal/configs"
	ranges "github.com/hogapi/hogapi/internal/download"
	"github.com/hogapi/hogapi/reconcile"
)

type download struct {
	*app
	changes

	from, to, model, format, of string
	include, exclude            []string
	maxGiB                      float64
	byTimestamp                 bool
	every                       time.Duration
}

// models are the kinds of rows that a download can have.
var models = []string{string(hogapi.ModelEvents), string(hogapi.ModelPersons), string(hogapi.ModelSessions)}

func newDownloadCommand(a *app) *cobra.Command {
	d := &download{app: a}
	cmd := &cobra.Command{
		Use: "download FOLDER", Short: "Download the rows of any range of time", Args: cobra.ExactArgs(1),
		Long: `download writes the rows of a time range into a folder, in files of at most 7
days. It chooses events by their arrival, as the schedule of a batch export does,
so it also gets late rows that a backfill leaves out. With --by-timestamp, it
chooses events by their timestamp.

PostHog bills the rows like exported rows. So download first counts the events of
the range by their timestamp, with the scope query:read, and asks.

After a kill, the same command continues: complete files are kept.`,
		Example: "  hogexport download --from 2026-10-01 --to 2026-10-03 rows\n  hogexport download --of \"events to the lake\" --from 2026-10-01 --to 2026-10-03 rows",
		RunE:    func(cmd *cobra.Command, args []string) error { return d.run(cmd.Context(), args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&d.from, "from", "", "the first `TIME`: 2026-11-01, 2026-11-01T12:00 (UTC), or how long ago it is: 36h, 30d")
	f.StringVar(&d.to, "to", "", "the end `TIME` of the range, exclusive")
	shell.WithoutVariable(cmd, "from", "to")
	f.StringVar(&d.model, "model", "events", "the `KIND` of rows: events, persons or sessions")
	f.StringVar(&d.of, "of", "", "take kind and events from an `EXPORT`, by name or id")
	f.StringVar(&d.format, "format", "parquet", "the `FORMAT` of the files: parquet or jsonl")
	f.StringArrayVar(&d.include, "include", nil, "only events of this `NAME`; can be repeated")
	f.StringArrayVar(&d.exclude, "exclude", nil, "no events of this `NAME`; can be repeated")
	f.DurationVar(&d.every, "every", 0, "the `TIME` between two polls of a file download; default: 5s, growing to 30s")
	f.BoolVar(&d.byTimestamp, "by-timestamp", false, "choose events by timestamp instead of arrival; this exports a query, which not all projects may do")
	d.bind(cmd)
	const most = 256
	f.Float64Var(&d.maxGiB, "max-gib", most, "end after this `NUMBER` of GiB; the same command continues")
	return cmd
}

func (d *download) run(ctx context.Context, folder string) error {
	now := time.Now().UTC()
	if d.from == "" || d.to == "" {
		return shell.UsageError("want --from and --to", "give two times, such as --from 2026-10-01 --to 2026-10-03")
	}
	from, err := parseTime("--from", d.from, now)
	if err != nil {
		return err
	}
	to, err := parseTime("--to", d.to, now)
	if err != nil {
		return err
	}
	formats := map[string]hogapi.FileFormat{"parquet": hogapi.FileFormatParquet, "jsonl": hogapi.FileFormatJSONLines}
	if formats[d.format] == "" {
		return shell.UsageError(fmt.Sprintf("--format %q is not known", d.format), "give parquet or jsonl")
	}
	if !(d.maxGiB > 0) { // also what is not a number
		return shell.UsageError(fmt.Sprintf("--max-gib %v is not above 0", d.maxGiB), "give a number such as 100 or 0.5")
	}
	client, err := d.client()
	if err != nil {
		return err
	}
	const unbounded = 1 << 30 // GiB
	o := &coverage.RangeOptions{
		Folder: folder, Model: hogapi.Model(d.model), File: hogapi.FileOptions{Format: formats[d.format]}, Include: d.include, Exclude: d.exclude,
		ByTimestamp: d.byTimestamp, MaxBytes: max(1, int64(min(d.maxGiB, unbounded)*(1<<30))),
	}
	if err := d.like(ctx, client, o); err != nil {
		return err
	}
	switch {
	case !from.Before(to):
		return shell.UsageError("--to is not after --from", "give the start and the end, such as --from 2026-10-01 --to 2026-10-03")
	case d.byTimestamp && o.Model != hogapi.ModelEvents:
		return shell.UsageError("--by-timestamp: only events have a timestamp", "leave it out for "+string(o.Model))
	case !slices.Contains(models, string(o.Model)):
		return shell.UsageError(fmt.Sprintf("the model %q cannot be downloaded", o.Model), "give --model events, persons or sessions; a HogQL export has a query instead")
	}
	if err := checkOverlap(folder, from, to); err != nil {
		return err
	}
	steps := ranges.Range{Path: folder, Step: ranges.LongestStep, AvoidRecent: o.Model == hogapi.ModelEvents && !o.ByTimestamp}
	rest := steps.NotBegun(from.Truncate(time.Second), to.Truncate(time.Second)) // what was begun is billed already
	if isContinued := rest.After(from); !rest.IsZero() && !(isContinued && d.yes) {
		rows, err := d.rowsOf(ctx, client, rest, to, o)
		if err != nil {
			return err
		}
		if d.yes {
			d.Note(rows + ". PostHog bills them like exported rows")
		}
		deed := fmt.Sprintf("download the %s from %s to %s UTC %s into %s: %s. PostHog bills them like exported rows",
			o.Model, rest.Format(clock), to.Format(clock), d.inProject(), term.Line(folder), rows)
		if isAgreed, err := d.agreed(ctx, d.changes, deed); !isAgreed {
			return err
		}
	}
	return d.files(ctx, client, from, to, o)
}

// rowsOf says about how many rows come. The service can count events by their timestamp only.
func (d *download) rowsOf(ctx context.Context, client *hogapi.Client, from, to time.Time, o *coverage.RangeOptions) (string, error) {
	unknown := func(why string) (string, error) { return "the number of rows is unknown beforehand, since " + why, nil }
	if o.Model != hogapi.ModelEvents {
		return unknown("only events can be counted")
	}
	const enough = time.Minute
	counting, end := context.WithTimeout(ctx, enough)
	defer end()
	days, err := reconcile.PostHog(client, nil).Count(counting, reconcile.Selection{
		Parts: []reconcile.Part{{From: from, To: to}}, Exports: []reconcile.Export{{Include: o.Include, Exclude: o.Exclude}},
	})
	_, isUnreachable := errors.AsType[*hogapi.TransportError](err)
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case errors.Is(err, hogapi.ErrForbidden):
		return unknown("the key needs the scope query:read")
	case errors.Is(err, hogapi.ErrUnauthorized), errors.Is(err, hogapi.ErrNotFound), isUnreachable && counting.Err() == nil:
		return "", d.stopped(err) // as the download would be
	case err != nil:
		return unknown(term.Line(d.explain(err).Text))
	}
	var rows int64
	for _, day := range days {
		rows += day.Rows
	}
	if d.byTimestamp {
		return "about " + page.Plural(rows, "row", "rows"), nil
	}
	return "about " + page.Plural(rows, "row", "rows") + " (events with a timestamp in this range; the files have the events that arrived in it)", nil
}

// like takes model and events from an export.
func (d *download) like(ctx context.Context, client *hogapi.Client, o *coverage.RangeOptions) error {
	if d.of == "" {
		return nil
	}
	export, err := d.export(ctx, client, d.of)
	if err != nil {
		return err
	}
	o.Model = export.Model
	include, exclude, isAll := configs.Events(export.Destination.Config, export.Filters)
	o.Include, o.Exclude = append(o.Include, include...), append(o.Exclude, exclude...)
	if !isAll {
		d.Warn("a download cannot apply the filters or unreadable event names of the export: the files also have the rows that the export leaves out")
	}
	return nil
}

func (d *download) files(ctx context.Context, client *hogapi.Client, from, to time.Time, o *coverage.RangeOptions) error {
	meter := d.Meter()
	begun := from
	show := func(state string) {
		meter.Phase(fmt.Sprintf("download: %d%%, %s%s", percent(from, begun, to), begun.Format(clock), state))
	}
	o.Watch = &hogapi.WatchOptions{Interval: d.every, MaxInterval: d.every, OnLook: func(look hogapi.LookInfo) { show(": " + look.State) }}
	type file struct {
		Path  string    `json:"path"`
		Start time.Time `json:"start"`
		End   time.Time `json:"end"`
		Bytes int64     `json:"bytes"`
	}
	found, total := []file{}, int64(0)
	for part, err := range coverage.DownloadRange(ctx, client, from, to, o) {
		if err != nil {
			meter.End()
			return d.stopped(err)
		}
		size := int64(0)
		if info, err := os.Stat(part.Path); err == nil {
			size = info.Size()
		}
		found, total, begun = append(found, file{part.Path, part.Start, part.End, size}), total+size, part.End
		show("")
	}
	meter.End()
	if d.JSON {
		return json.NewEncoder(d.Out).Encode(found)
	}
	t := term.NewTable(d.Out).Narrow([]string{"BYTES"}, []string{"TO", "FROM (UTC)"})
	if len(found) > 0 {
		fmt.Fprintln(t, "FILE\tFROM (UTC)\tTO\tBYTES\t")
	}
	for _, f := range found {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t\n", term.Line(f.Path), f.Start.Format(clock), f.End.Format(clock), progress.Number(f.Bytes))
	}
	_ = t.Flush() // to a Screen
	fmt.Fprintf(d.Out, "%s, %s bytes; intervals without rows have no file\n", plural(len(found), "file"), progress.Number(total))
	return nil
}

// percent is how much of a range of any length is done.
func percent(from, done, to time.Time) int {
	return int(100 * done.Sub(from).Seconds() / max(to.Sub(from).Seconds(), 1))
}

func (d *download) stopped(err error) error {
	if unfit, ok := errors.AsType[*hogapi.InputError](err); ok && unfit.Field == "RangeOptions" {
		return shell.UsageError("the folder belongs to a download with other options", "repeat those options, or give another FOLDER")
	}
	f := *d.explain(err)
	if d.byTimestamp && errors.Is(err, hogapi.ErrForbidden) {
		f.Todo = "--by-timestamp exports a query, which this project or key may not do: leave the flag out"
	}
	if f.Code == shell.CodeOther || f.Code == shell.CodeStopped {
		f.Code, f.Todo = shell.CodeStopped, "complete files are kept: fix the cause, then run the same command again"
	}
	return &f
}
