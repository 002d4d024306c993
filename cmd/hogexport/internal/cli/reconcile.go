package cli

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "github.com/ClickHouse/clickhouse-go/v2" // the drivers of --to
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/spf13/cobra"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/progress"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/cmd/internal/term"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/formats/s3files"
	"github.com/hogapi/hogapi/internal/durable"
	"github.com/hogapi/hogapi/reconcile"
)

type reconciling struct {
	*app

	to, table, since, until, report, cache, endpoint string

	maxQueries int
	maxRead    progress.Limit
	yes        bool
	dryRun     bool
}

func newReconcileCommand(a *app) *cobra.Command {
	r := &reconciling{app: a}
	cmd := &cobra.Command{
		Use: "reconcile EXPORT…", Short: "Compare the events of PostHog with the destination, row by row",
		Long: `reconcile compares the events of the project with the table or the files that
exports write into, by key and without copying the data. It lists each row that
is missing, duplicated, altered, or only in the destination. It changes neither
side, but prints the statements that would repair a difference.

Name all exports that write into the destination: a row may come from any of
them. The destination is one of:

  postgres://user@host:5432/database
  clickhouse://user@host:9000/database
  s3://bucket/prefix, with the files of a batch export
  a folder with such files: Parquet, and JSON lines, also as .gz, .br and .zst

Other users can see arguments, so do not pass a password there: put the whole URL
into HOGEXPORT_TO, or use PGPASSWORD. The user needs only read access.

For a bucket, keys and region are set as for the AWS tools: AWS_ACCESS_KEY_ID,
AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_PROFILE and their files. Another S3 service
needs --s3-endpoint, or AWS_ENDPOINT_URL_S3. All files below the prefix are read
once; of Parquet files, only the compared columns. The permission s3:GetObject is
enough if one export writes into the bucket; s3:ListBucket also finds files that
no run names.

After a kill, the same command continues within a day. Exit code 6: rows are
missing; 7: some rows could not be compared.`,
		Example: "  HOGEXPORT_TO=postgres://reader:…@db/posthog hogexport reconcile \"events to the warehouse\" --table events --since 30d --report result",
		RunE:    func(cmd *cobra.Command, args []string) error { return r.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.StringVar(&r.to, "to", "", "the destination `PLACE`: a URL or a folder; set a URL with a password in the variable instead")
	f.StringVar(&r.table, "table", "events", "the `TABLE`, such as analytics.events")
	f.StringVar(&r.endpoint, "s3-endpoint", "", "the `URL` of an S3-compatible service; or AWS_ENDPOINT_URL_S3")
	f.StringVar(&r.since, "since", "30d", "the first `TIME` of events: 30d, 36h, or a day")
	f.StringVar(&r.until, "until", "", "the end `TIME` of the range; default: an hour ago")
	f.StringVar(&r.report, "report", "", "a `FOLDER` for the report: page, JSON, text, and the uuids of each class")
	f.IntVar(&r.maxQueries, "max-queries", 0, "the largest `NUMBER` of queries to each side; default: 10,000, and 1,200 an hour to PostHog")
	f.Var(&r.maxRead, "max-read", "stop before the queries have read more than this `SIZE` of the project, such as 10GB; run it again to continue")
	f.BoolVar(&r.yes, "yes", false, "do not ask for confirmation before the queries (on a terminal)")
	bindDryRun(cmd, &r.dryRun)
	r.bindCache(cmd, &r.cache)
	return cmd
}

func (r *reconciling) run(ctx context.Context, names []string) error {
	if len(names) == 0 {
		return shell.UsageError("want one export or more", `give all exports that write into the place, such as hogexport reconcile "events to the warehouse"`)
	}
	now := time.Now().UTC()
	from, err := parseTime("--since", r.since, now)
	if err != nil {
		return err
	}
	o := &reconcile.Options{From: from.Truncate(time.Hour), MaxQueries: r.maxQueries, MaxBytesRead: int64(r.maxRead)}
	if r.until != "" {
		if o.To, err = parseTime("--until", r.until, now); err != nil {
			return err
		}
		o.To = o.To.Truncate(time.Hour)
	}
	client, err := r.client()
	if err != nil {
		return err
	}
	exports, err := r.exports(ctx, client, names)
	if err != nil {
		return err
	}
	store := r.cacheOf(r.cache)
	covered := make([]*coverage.Coverage, len(exports))
	for i := range exports {
		const ahead = 24 * time.Hour // a timestamp may be so much later than the arrival, and so than the run
		if covered[i], err = store.coverage(ctx, client, &exports[i], from.Add(-ahead)); err != nil {
			return err
		}
		o.Exports = append(o.Exports, reconcile.ExportOf(&exports[i], covered[i]))
	}
	o.Dir = filepath.Join(store.folder, "reconcile-"+exports[0].ID.String())
	place, err := r.open(ctx, exports, covered, o.Dir)
	if err != nil {
		return err
	}
	defer place.end()
	if r.dryRun {
		plan, err := reconcile.PlanFor(ctx, reconcile.PostHog(client, nil), place.side, o)
		switch {
		case err == nil && r.JSON:
			return json.NewEncoder(r.Out).Encode(plan)
		case err == nil:
			fmt.Fprintln(r.Out, plan.String()+"\nNothing was compared.")
		}
		return err
	}
	command := strings.Join(append(names, r.since, r.until, place.side.Name()), "\x00")
	report, err := r.compare(ctx, client, place.side, o, command)
	if err != nil {
		return r.explained(err)
	}
	report.Notes = append(report.Notes, place.notes...)
	return r.finish(report, place.side)
}

// stopped is an unfinished comparison. The default range and exports move with the clock, so the same command reuses
// the ones it began with.
type stopped struct {
	Command string             `json:"command"`
	At      time.Time          `json:"at"`
	From    time.Time          `json:"from"`
	Exports []reconcile.Export `json:"exports"`
}

// resume continues where the same command stopped, for up to a day, as Compare does. A different command starts from
// the beginning.
func (r *reconciling) resume(path, command string, o *reconcile.Options) error {
	const fresh = 24 * time.Hour
	var was stopped
	text, err := durable.Read(durable.OS{}, path)
	if err != nil || json.Unmarshal(text, &was) != nil || time.Since(was.At) > fresh {
		was = stopped{}
	}
	if was.Command == command {
		o.From, o.Exports = was.From, was.Exports
		r.Note("this continues the comparison of " + was.At.Format(clock) + " UTC")
		return nil
	}
	if was.Command != "" {
		journal := filepath.Join(o.Dir, "reconcile.jsonl")
		lock, err := durable.OS{}.Lock(journal + ".lock")
		if err != nil {
			return err
		}
		defer lock.Close()
		if err := os.Remove(journal); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		r.Note("the comparison of " + was.At.Format(clock) + " UTC, which was not finished, had another range or other files: starting from the beginning")
	}
	text, err = json.Marshal(stopped{command, time.Now().UTC(), o.From, o.Exports})
	if err != nil {
		return err
	}
	return durable.Replace(durable.OS{}, path, text)
}

// compare shows the cost of the comparison, asks, and compares.
func (r *reconciling) compare(ctx context.Context, client *hogapi.Client, side reconcile.Side, o *reconcile.Options, command string) (*reconcile.Report, error) {
	service, path := reconcile.PostHog(client, nil), filepath.Join(o.Dir, "command.json")
	if err := makeFolder(o.Dir); err != nil {
		return nil, cacheFault(err)
	}
	if err := r.resume(path, command, o); err != nil {
		return nil, cacheFault(err)
	}
	plan, err := reconcile.PlanFor(ctx, service, side, o)
	if err != nil {
		return nil, err
	}
	r.Note(plan.String())
	if !r.yes && r.CanAnswer() {
		no := &shell.Fault{Code: shell.CodeStopped, Text: "nothing was compared"}
		if err := r.Consent(ctx, "Begin?", no); err != nil {
			return nil, err
		}
	}
	meter := r.Meter()
	defer meter.End()
	o.OnProgress = func(p reconcile.Progress) { meter.Phase(p.String()) }
	report, err := reconcile.Compare(ctx, service, side, o)
	if err == nil {
		_ = os.Remove(path) // it only says how to continue
	}
	return report, err
}

// finish prints the result, and writes its files.
func (r *reconciling) finish(report *reconcile.Report, side reconcile.Side) error {
	repair := report.Repair(side)
	if r.JSON {
		if err := json.NewEncoder(r.Out).Encode(report); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(r.Out, report)
		if report.Verdict != reconcile.Complete {
			fmt.Fprintln(r.Out, inFlags(repair.String()))
		}
		if read := progress.Read(report.BytesRead, report.BudgetLeft); read != "" {
			fmt.Fprintln(r.Out, read)
		}
	}
	if r.report != "" {
		if err := report.WriteFiles(r.report); err != nil {
			return &shell.Fault{Code: shell.CodeOther, Text: "--report: " + err.Error(), Todo: "give another FOLDER, or free some space", Err: err}
		}
		r.Note("the report is in " + filepath.Join(r.report, "report.html"))
	}
	switch report.Verdict {
	case reconcile.Complete, reconcile.CompleteWithDifferences:
	case reconcile.Incomplete:
		return &shell.Fault{Code: shell.CodeMissing, Text: report.Summary(), Todo: "see the report for the rows, and hogexport download for a way to get them"}
	case reconcile.Undecided:
		return &shell.Fault{Code: shell.CodeCannot, Text: report.Summary(), Todo: "the report says why"}
	}
	return nil
}

// place is the destination that --to names.
type place struct {
	side  reconcile.Side
	notes []string // for the report
	end   func()
}

// open opens the place of --to.
func (r *reconciling) open(ctx context.Context, exports []hogapi.BatchExport, covered []*coverage.Coverage, dir string) (*place, error) {
	if r.to == "" {
		return nil, shell.UsageError("the destination to compare with is missing", "set HOGEXPORT_TO to the URL of the database, or give --to FOLDER")
	}
	switch kind, rest, isURL := strings.Cut(r.to, "://"); {
	case !isURL:
		return r.folder(exports, covered, dir)
	case kind == "s3":
		return r.bucket(ctx, rest, exports, covered, dir)
	default:
		return r.database(ctx, kind, exports[0].TeamID)
	}
}

// database opens a table of a database.
func (r *reconciling) database(ctx context.Context, kind string, team int64) (*place, error) {
	at, err := url.Parse(r.to)
	if err != nil {
		return nil, shell.UsageError("--to is not a URL that can be read", "write it as postgres://user@host:5432/database; characters such as / in the password need %2F")
	}
	drivers := map[string]struct {
		name    string
		dialect reconcile.Dialect
	}{"postgres": {"pgx", reconcile.Postgres}, "postgresql": {"pgx", reconcile.Postgres}, "clickhouse": {"clickhouse", reconcile.ClickHouse}}
	driver, ok := drivers[kind]
	if !ok {
		return nil, shell.UsageError(fmt.Sprintf("--to: unsupported kind of destination %q", kind), "give postgres://…, clickhouse://…, s3://…, or a folder; for other databases use the package reconcile")
	}
	db, err := sql.Open(driver.name, r.to)
	if err != nil {
		return nil, shell.UsageError("--to: "+hidden(err, at), "see hogexport reconcile --help")
	}
	if err := db.PingContext(ctx); err != nil {
		_ = db.Close()
		return nil, &shell.Fault{Code: shell.CodeProject, Text: "the database does not answer: " + hidden(err, at), Todo: "check host, user, password and network", Err: err}
	}
	table := reconcile.Table{Name: r.table, TeamID: team}
	return &place{side: reconcile.SQL(db, driver.dialect, table), end: func() { _ = db.Close() }}, nil
}

// hidden returns the text of an error of a driver without the password.
func hidden(err error, at *url.URL) string {
	text := err.Error()
	if password, ok := at.User.Password(); ok && password != "" {
		text = strings.NewReplacer(password, "…", url.QueryEscape(password), "…", url.PathEscape(password), "…").Replace(text)
	}
	return strings.Join(strings.Fields(text), " ")
}

func cacheFault(err error) error {
	return &shell.Fault{Code: shell.CodeOther, Text: "the cache cannot be written: " + shell.Cause(err).Error(), Todo: "give another folder with --cache", Err: err}
}

// explained returns an error of a comparison, with the advice to continue.
func (r *reconciling) explained(err error) error {
	if errors.Is(err, s3files.ErrReplaced) {
		return &shell.Fault{Code: shell.CodeStopped, Text: "a file in the bucket was replaced during the comparison", Todo: "run the same command again", Err: err}
	}
	f := *r.explain(err)
	if f.Code == shell.CodeOther || f.Code == shell.CodeStopped {
		f.Text = strings.Join(strings.Fields(term.Line(f.Text)), " ")
		f.Todo = strings.TrimSpace(f.Todo + " Fix the cause; the same command continues.")
	}
	return &f
}
