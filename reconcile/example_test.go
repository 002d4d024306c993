package reconcile_test

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"testing/fstest"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/opt"
	"github.com/hogapi/hogapi/reconcile"
)

// warehouse is a side of one's own: here a list of rows. A real one asks a database.
type warehouse struct{ rows []reconcile.Row }

func (w *warehouse) Name() string { return "warehouse" }

func (w *warehouse) Count(_ context.Context, s reconcile.Selection) ([]reconcile.DayCount, error) {
	counts := map[time.Time]int64{}
	for _, r := range w.selected(s) {
		counts[r.Hour.Truncate(24*time.Hour)] += r.Rows
	}
	var days []reconcile.DayCount
	for day, n := range counts {
		days = append(days, reconcile.DayCount{Day: day, Rows: n})
	}
	return days, nil
}

func (w *warehouse) Digest(_ context.Context, s reconcile.Selection, by reconcile.Bucket) ([]reconcile.Digest, error) {
	digests := map[time.Time]reconcile.Digest{}
	for _, r := range w.selected(s) {
		d := digests[r.Hour.Truncate(by.Unit())]
		d.At = r.Hour.Truncate(by.Unit())
		d.Add(r.UUID, r.Event, r.DistinctID, r.Rows)
		digests[d.At] = d
	}
	var all []reconcile.Digest
	for _, d := range digests {
		all = append(all, d)
	}
	return all, nil
}

func (w *warehouse) List(_ context.Context, s reconcile.Selection, _ int) ([]reconcile.Row, error) {
	return w.selected(s), nil
}

func (w *warehouse) selected(s reconcile.Selection) (rows []reconcile.Row) {
	wanted := map[uuid.UUID]bool{}
	for _, id := range s.UUIDs {
		wanted[id] = true
	}
	for _, r := range w.rows {
		for _, p := range s.Parts {
			if p.Has(r.Hour, r.UUID) && (len(wanted) == 0 || wanted[r.UUID]) && (!s.Doubled || r.Rows > 1) {
				rows = append(rows, r)
			}
		}
	}
	return rows
}

func Example() {
	// A project with three events, of which the warehouse lacks one.
	server := hogapitest.New()
	project := server.Project(hogapitest.DefaultProject)
	there := &warehouse{}
	from := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	for i := range 3 {
		at := from.Add(time.Duration(10+i) * time.Hour)
		id := uuid.MustParse(fmt.Sprintf("0190f3c0-0000-7000-8000-00000000000%d", i))
		project.AddEvent(hogapitest.StoredEvent{UUID: id, Event: "signed up", DistinctID: "ada", Time: at, CreatedAt: at})
		if i != 1 {
			there.rows = append(there.rows, reconcile.Row{UUID: id, Event: "signed up", DistinctID: "ada", Hour: at, Rows: 1})
		}
	}
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		panic(err)
	}

	ctx := context.Background()
	options := &reconcile.Options{From: from, To: from.AddDate(0, 1, 0)}
	report, err := reconcile.Compare(ctx, reconcile.PostHog(client, nil), there, options)
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Summary())
	for _, f := range report.Findings {
		fmt.Println(f.Class, f.UUID, f.Event, f.Day.Format(time.DateOnly))
	}
	fmt.Println(report.Repair(there))
	// Output:
	// INCOMPLETE: 2 rows delivered, 1 missing
	// missing 0190f3c0-0000-7000-8000-000000000001 signed up 2026-11-01
	// missing rows arrived 2026-11-01 11:00 to 2026-11-01 12:00 UTC
	// 2026-11-01: 1 row is missing
	// Either export these intervals again: MakePlan, with the coverage that Mark returns.
	// Or download the time of arrival with coverage.DownloadRange, and load only the rows with the uuids of missing.uuids.
}

func ExamplePlanFor() {
	server := hogapitest.New()
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		panic(err)
	}
	from := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	plan, err := reconcile.PlanFor(context.Background(), reconcile.PostHog(client, nil), &warehouse{}, &reconcile.Options{From: from, To: from.AddDate(0, 1, 0)})
	if err != nil {
		panic(err)
	}
	fmt.Println(plan)
	// Output:
	// 2026-11-01 00:00 to 2026-12-01 00:00 UTC: 0 rows in the service, 0 in the destination; about 7 queries to each side, 0 rows to scan, 28s
}

func ExampleSQL() {
	// db, err := sql.Open("pgx", os.Getenv("WAREHOUSE_URL")), with any driver
	side := reconcile.SQL(nil, reconcile.Postgres, reconcile.Table{Name: "analytics.events", TeamID: 1})
	fmt.Println(side.Name())
	fmt.Println(side.Dedupe())
	// Output:
	// Postgres table analytics.events, team 1
	// DELETE FROM analytics.events WHERE (tableoid, ctid) IN (SELECT tableoid, ctid FROM (
	//   SELECT tableoid, ctid, row_number() OVER (PARTITION BY replace(replace(lower(CAST(uuid AS text)), '-', ''), '\x', ''),
	//     event, distinct_id, CAST(timestamp AT TIME ZONE 'UTC' AS date)) AS number
	//   FROM analytics.events WHERE team_id = 1 AND uuid IS NOT NULL AND event IS NOT NULL AND distinct_id IS NOT NULL AND timestamp IS NOT NULL) numbered WHERE number > 1);
}

func ExampleFiles() {
	dir, err := os.MkdirTemp("", "reconcile-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	row := `{"uuid":"0190f3c0-0000-7000-8000-000000000001","event":"e","distinct_id":"ada","timestamp":"2026-11-01T10:00:00Z"}` + "\n"
	if err := os.WriteFile(dir+"/events.jsonl", []byte(row), 0o600); err != nil {
		panic(err)
	}
	reader, err := reconcile.JSONLines(os.DirFS(dir), "*.jsonl")
	if err != nil {
		panic(err)
	}
	side := reconcile.Files(reader, 1, dir)
	defer side.Close()
	from := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	days, err := side.Count(context.Background(), reconcile.Selection{Parts: []reconcile.Part{{From: from, To: from.AddDate(0, 0, 1)}}})
	if err != nil {
		panic(err)
	}
	fmt.Println(side.Name(), "have", days[0].Rows, "row on", days[0].Day.Format(time.DateOnly))
	// Output: files events.jsonl have 1 row on 2026-11-01
}

func ExampleCheckObjects() {
	// coverage.Of returns the runs, and the file system of the module formats/s3files the bucket.
	records := int64(3)
	at := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	run := coverage.Run{Status: hogapi.RunStatusCompleted, Start: at, End: at.Add(time.Hour), CreatedAt: at.Add(61 * time.Minute), Records: &records}
	covered := &coverage.Coverage{Intervals: []coverage.Interval{{Start: run.Start, End: run.End, Runs: []coverage.Run{run}}}}
	name := "2026-11-25T10:00:00+00:00-2026-11-25T11:00:00+00:00.parquet"
	bucket := fstest.MapFS{name: {Data: []byte("PAR1 …"), ModTime: at.Add(62 * time.Minute)}}
	countRows := func(fs.FS, string) (int64, error) { return 2, nil } // parquet.CountRows of the module formats/parquet

	objects := reconcile.CheckObjects(bucket, []string{name}, countRows, covered)
	for _, note := range objects.Notes() {
		fmt.Println(note)
	}
	// Output:
	// objects: the rows of 0 of 1 intervals agree with the runs, by footers alone
	// objects: 2026-11-25 10:00 to 2026-11-25 11:00: 2 rows in the objects, and the run says 3
}

func ExampleNamedObjects() {
	at := time.Date(2026, 11, 25, 10, 0, 0, 0, time.UTC)
	run := coverage.Run{Status: hogapi.RunStatusCompleted, Start: at, End: at.Add(time.Hour)}
	covered := &coverage.Coverage{Intervals: []coverage.Interval{{Start: run.Start, End: run.End, Runs: []coverage.Run{run}}}}
	export := &hogapi.BatchExport{Destination: hogapi.Destination{Config: &destination.S3{Prefix: opt.Set("events/{year}"), Compression: opt.Set(destination.CompressionGzip)}}}
	names, err := reconcile.NamedObjects(fstest.MapFS{}, "events", export, covered)
	if err != nil {
		panic(err)
	}
	fmt.Println(names[0]) // for JSONLines
	// Output:
	// 2026/2026-11-25T10:00:00+00:00-2026-11-25T11:00:00+00:00.jsonl.gz
}
