package coverage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/hogapitest"
)

// exampleClient is a client of a fake service; your program makes its client with hogapi.NewClient and its own key.
func exampleClient(options ...hogapitest.Option) (*hogapi.Client, *hogapitest.Project) {
	server := hogapitest.New(options...)
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		log.Fatal(err)
	}
	return client, server.Project(hogapitest.DefaultProject)
}

// exampleOutage has an hourly export whose schedule missed the hours from 5:00 to 7:00.
func exampleOutage() (client *hogapi.Client, export uuid.UUID) {
	now := time.Date(2026, 11, 26, 12, 20, 0, 0, time.UTC)
	client, project := exampleClient(hogapitest.WithTime(now), hogapitest.WithPolls(1))
	export = project.AddExport(hogapitest.Export{Name: "warehouse", DestinationType: "BigQuery", Config: map[string]any{}, Created: now.Add(-12 * time.Hour)})
	for hour := range 12 {
		if end := now.Truncate(time.Hour).Add(-time.Duration(hour) * time.Hour); hour != 5 && hour != 6 {
			project.AddRun(export, hogapitest.Run{End: end, Created: end.Add(time.Minute), Records: 100})
		}
	}
	return client, export
}

// The table is for people, Gaps for programs.
func ExampleOf() {
	client, export := exampleOutage()
	covered, err := coverage.Of(context.Background(), client, export, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(covered)
	for _, gap := range covered.Gaps() {
		fmt.Println(gap.Start.Format(time.TimeOnly), gap.Intervals, gap.States)
	}
	// Output:
	// export warehouse: events to BigQuery, every hour, 2026-11-26 00:20 to 2026-11-26 12:20 UTC
	// from              to                intervals  state                    records
	// 2026-11-26 00:00  2026-11-26 05:00          5  completed                500
	// 2026-11-26 05:00  2026-11-26 07:00          2  never scheduled
	// 2026-11-26 07:00  2026-11-26 12:00          5  completed                500
	// note: This shows the exported intervals, not the rows: past filters are unknown.
	// NOT EXPORTED: 2 intervals in 1 gap, since 2026-11-26 05:00
	// 05:00:00 2 [never scheduled]
}

// A plan is read by a person before it is carried out.
func ExampleMakePlan() {
	client, export := exampleOutage()
	ctx := context.Background()
	covered, err := coverage.Of(ctx, client, export, nil)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := coverage.MakePlan(ctx, client, covered, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range plan.Steps {
		fmt.Println(step.Action, step.Start.Format(time.TimeOnly), step.End.Format(time.TimeOnly), step.Rows, step.State)
	}
	// Output: backfill 05:00:00 07:00:00 as_scheduled planned
}

// The plan is saved after each step: a repair that was killed continues with it.
func ExampleRepair() {
	client, export := exampleOutage()
	ctx := context.Background()
	covered, err := coverage.Of(ctx, client, export, nil)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := coverage.MakePlan(ctx, client, covered, nil)
	if err != nil {
		log.Fatal(err)
	}
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	report, err := coverage.Repair(ctx, client, plan, &coverage.RepairOptions{
		Save: func(plan *coverage.Plan) error {
			text, err := json.Marshal(plan)
			if err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(folder, "plan.json"), text, 0o600)
		},
		Watch: &hogapi.WatchOptions{Interval: time.Millisecond}, // nil: every 5 seconds
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Plan.Steps[0].State, len(report.After.Gaps()))
	// Output: done 0
}

// A nightly job that is killed in the middle of a repair continues with the saved plan in the next night, and deletes the
// plan when it is done. A plan that is refused as too old is deleted too: the next night plans again.
func ExampleRepair_continued() {
	client, export := exampleOutage()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	saved := filepath.Join(folder, export.String()+".json")

	night := func(ctx context.Context, killed func()) error {
		plan := &coverage.Plan{}
		text, err := os.ReadFile(saved)
		switch {
		case err == nil:
			err = json.Unmarshal(text, plan)
		case errors.Is(err, fs.ErrNotExist):
			var covered *coverage.Coverage
			if covered, err = coverage.Of(ctx, client, export, nil); err == nil {
				plan, err = coverage.MakePlan(ctx, client, covered, nil)
			}
		}
		if err != nil {
			return err
		}
		_, err = coverage.Repair(ctx, client, plan, &coverage.RepairOptions{
			Save: func(plan *coverage.Plan) error {
				text, err := json.Marshal(plan)
				if err != nil {
					return err
				}
				if err := os.WriteFile(saved+".new", text, 0o600); err != nil {
					return err
				}
				killed()
				return os.Rename(saved+".new", saved) // so that a kill leaves the old plan or the new one
			},
			Watch: &hogapi.WatchOptions{Interval: time.Millisecond},
		})
		if _, isRefused := errors.AsType[*hogapi.InputError](err); err == nil || isRefused {
			return errors.Join(err, os.RemoveAll(saved))
		}
		return err
	}
	ctx, kill := context.WithCancel(context.Background())
	fmt.Println("first night:", errors.Is(night(ctx, kill), context.Canceled))
	fmt.Println("second night:", night(context.Background(), func() {}))
	for backfill, err := range client.Backfills.All(context.Background(), export, nil) {
		fmt.Println(backfill.Status, err)
	}
	// Output:
	// first night: true
	// second night: <nil>
	// Completed <nil>
}

// The rows of a query as files, with a proof: the service counts them before, and Download counts them in the files.
func ExampleDownload() {
	client, project := exampleClient(hogapitest.WithPolls(1), hogapitest.WithHogQLExports())
	for _, who := range []string{"ann", "ben", "cleo"} {
		project.AddEvent(hogapitest.StoredEvent{Event: "paid", DistinctID: who, Time: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)})
	}
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	done, err := coverage.Download(context.Background(), client, time.Time{}, time.Time{}, &coverage.RangeOptions{ // no from and to: the query names none
		Folder: folder, HogQLQuery: "SELECT uuid, distinct_id, timestamp FROM events WHERE event = 'paid'",
		File:  hogapi.FileOptions{Format: hogapi.FileFormatJSONLines, Compression: hogapi.FileCompressionGzip},
		Watch: &hogapi.WatchOptions{Interval: time.Millisecond}, // nil: every 5 seconds
	})
	if err != nil { // some rows are not here, or nothing shows that all are: another call continues
		log.Fatal(err)
	}
	fmt.Printf("%d of %d rows, counted %d before: %s\n", done.Written, done.Expected, *done.CountedBefore, filepath.Base(done.Files[0].Path))
	// Output:
	// 3 of 3 rows, counted 3 before: query-1.jsonl.gz
}

// A month of events, as they arrived. After a kill, the next call continues.
func ExampleDownloadRange() {
	client, _ := exampleClient(hogapitest.WithPolls(1))
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	from := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	o := &coverage.RangeOptions{
		Folder: folder, File: hogapi.FileOptions{Format: hogapi.FileFormatJSONLines},
		Watch: &hogapi.WatchOptions{Interval: time.Millisecond}, // nil: every 5 seconds
	}
	for file, err := range coverage.DownloadRange(context.Background(), client, from, from.AddDate(0, 0, 10), o) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(filepath.Base(file.Path))
	}
	// Output:
	// 2025-01-01T000000Z-2025-01-08T000000Z-1.jsonl
	// 2025-01-08T000000Z-2025-01-11T000000Z-1.jsonl
}
