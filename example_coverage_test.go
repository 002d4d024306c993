package hogapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

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
func ExampleBatchExportsService_Coverage() {
	client, export := exampleOutage()
	coverage, err := client.BatchExports.Coverage(context.Background(), export, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(coverage)
	for _, gap := range coverage.Gaps() {
		fmt.Println(gap.Start.Format(time.TimeOnly), gap.Intervals, gap.States)
	}
	// Output:
	// export warehouse: events to BigQuery, every hour, 2026-11-26 00:20 to 2026-11-26 12:20 UTC
	// from              to                intervals  state                    records
	// 2026-11-26 00:00  2026-11-26 05:00          5  completed                500
	// 2026-11-26 05:00  2026-11-26 07:00          2  never scheduled
	// 2026-11-26 07:00  2026-11-26 12:00          5  completed                500
	// note: This says which intervals were exported, not which rows: the filters of the past are not known.
	// NOT EXPORTED: 2 intervals in 1 gap, since 2026-11-26 05:00
	// 05:00:00 2 [never scheduled]
}

// A plan is read by a person before it is carried out.
func ExampleBatchExportsService_PlanRepair() {
	client, export := exampleOutage()
	ctx := context.Background()
	coverage, err := client.BatchExports.Coverage(ctx, export, nil)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := client.BatchExports.PlanRepair(ctx, coverage, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, step := range plan.Steps {
		fmt.Println(step.Action, step.Start.Format(time.TimeOnly), step.End.Format(time.TimeOnly), step.Rows, step.State)
	}
	// Output: backfill 05:00:00 07:00:00 as_scheduled planned
}

// The plan is saved after each step: a repair that was killed continues with it.
func ExampleBatchExportsService_Repair() {
	client, export := exampleOutage()
	ctx := context.Background()
	coverage, err := client.BatchExports.Coverage(ctx, export, nil)
	if err != nil {
		log.Fatal(err)
	}
	plan, err := client.BatchExports.PlanRepair(ctx, coverage, nil)
	if err != nil {
		log.Fatal(err)
	}
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	report, err := client.BatchExports.Repair(ctx, plan, &hogapi.RepairOptions{
		Save: func(plan *hogapi.RepairPlan) error {
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
func ExampleBatchExportsService_Repair_continued() {
	client, export := exampleOutage()
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	saved := filepath.Join(folder, export.String()+".json")

	night := func(ctx context.Context, killed func()) error {
		plan := &hogapi.RepairPlan{}
		text, err := os.ReadFile(saved)
		switch {
		case err == nil:
			err = json.Unmarshal(text, plan)
		case errors.Is(err, fs.ErrNotExist):
			var coverage *hogapi.Coverage
			if coverage, err = client.BatchExports.Coverage(ctx, export, nil); err == nil {
				plan, err = client.BatchExports.PlanRepair(ctx, coverage, nil)
			}
		}
		if err != nil {
			return err
		}
		_, err = client.BatchExports.Repair(ctx, plan, &hogapi.RepairOptions{
			Save: func(plan *hogapi.RepairPlan) error {
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

// A month of events, as they arrived. After a kill, the next call continues.
func ExampleFileDownloadsService_Range() {
	client, _ := exampleClient(hogapitest.WithPolls(1))
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	from := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	o := &hogapi.RangeOptions{
		Folder: folder, File: hogapi.FileOptions{Format: hogapi.FileFormatJSONLines},
		Watch: &hogapi.WatchOptions{Interval: time.Millisecond}, // nil: every 5 seconds
	}
	for file, err := range client.FileDownloads.Range(context.Background(), from, from.AddDate(0, 0, 10), o) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(filepath.Base(file.Path))
	}
	// Output:
	// 2025-01-01T000000Z-2025-01-08T000000Z-1.jsonl
	// 2025-01-08T000000Z-2025-01-11T000000Z-1.jsonl
}

// An export on demand, to files in a folder. If DownloadAll fails or the program dies, the next
// DownloadAll continues where it was.
func ExampleFileDownloadsService_DownloadAll() {
	client, _ := exampleClient()
	ctx := context.Background()
	yesterday := time.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, -1)
	request := hogapi.FileDownloadRequest{
		Model:             hogapi.ModelEvents,
		DataIntervalStart: yesterday, DataIntervalEnd: yesterday.AddDate(0, 0, 1),
		File: hogapi.FileOptions{Format: hogapi.FileFormatJSONLines, Compression: hogapi.FileCompressionGzip},
	}
	id, err := client.FileDownloads.Create(ctx, request)
	if err != nil {
		log.Fatal(err)
	}
	done, err := client.FileDownloads.Wait(ctx, id, &hogapi.WatchOptions{Interval: time.Millisecond}) // nil: every 5 seconds
	if err != nil {
		log.Fatal(err)
	}
	folder, _ := os.MkdirTemp("", "")
	defer os.RemoveAll(folder)
	paths, err := client.FileDownloads.DownloadAll(ctx, id, folder, &hogapi.FolderOptions{Extension: request.File.Extension()})
	if err != nil {
		log.Fatal(err)
	}
	name := strings.Replace(filepath.Base(paths[0]), done.Files[0].String(), "<file id>", 1)
	fmt.Println(*done.RecordsCompleted, "records in", len(paths), "file:", name)
	// Output: 1000 records in 1 file: <file id>.jsonl.gz
}

// A download to any writer. The error says how much of the file the writer has.
func ExampleFileDownloadsService_Download() {
	client, project := exampleClient()
	id := project.AddFileDownload(hogapitest.FileDownload{Files: []hogapitest.File{{Content: []byte(`{"event":"signed up"}`)}}})
	ctx := context.Background()
	download, err := client.FileDownloads.Get(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	var content strings.Builder
	size, err := client.FileDownloads.Download(ctx, id, download.Files[0], &content, nil)
	if failed, ok := errors.AsType[*hogapi.DownloadError](err); ok {
		log.Fatalf("resume with DownloadOptions{Offset: %d, Size: %d, ETag: %q}: %v", failed.Offset, failed.Size, failed.ETag, err)
	}
	fmt.Println(size, content.String())
	// Output: 21 {"event":"signed up"}
}

func ExampleFileDownloadsService_Create_unsupported() {
	client, _ := exampleClient(hogapitest.WithOldService())
	day := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	_, err := client.FileDownloads.Create(context.Background(), hogapi.FileDownloadRequest{
		Model: hogapi.ModelEvents, DataIntervalStart: day, DataIntervalEnd: day.AddDate(0, 0, 7),
	})
	if api, ok := errors.AsType[*hogapi.APIError](err); ok && errors.Is(err, hogapi.ErrUnsupported) {
		fmt.Println("use", api.Alternative)
	}
	// Output: use a batch export to a destination of your own, with BatchExports.Backfill for the range
}

func ExampleFileDownloadsService_CountRows() {
	client, _ := exampleClient(hogapitest.WithHogQLExports())
	n, err := client.FileDownloads.CountRows(context.Background(), hogapi.CountRowsRequest{HogQLQuery: "SELECT uuid, event FROM events"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n)
	// Output: 1000
}

func ExampleDashboardsService_Get() {
	client, project := exampleClient()
	id := project.AddDashboard(hogapitest.Dashboard{Name: "Growth", Tiles: []map[string]any{{"text": map[string]any{"body": "Welcome"}}}})
	dashboard, err := client.Dashboards.Get(context.Background(), int64(id))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(*dashboard.Name, string(dashboard.Tiles[0].Text))
	// Output: Growth {"body":"Welcome"}
}

// The service's warnings about the events of an import that began an hour ago.
func ExampleIngestionWarningsService_List() {
	client, project := exampleClient()
	project.AddWarning(hogapitest.Warning{Type: "distinct_id_too_large", Category: "event", Severity: "error"})
	warnings, err := client.IngestionWarnings.List(context.Background(), &hogapi.IngestionWarningListOptions{Since: time.Now().Add(-time.Hour)})
	if err != nil {
		log.Fatal(err)
	}
	for _, w := range warnings {
		fmt.Println(w.Severity, w.Type, len(w.Samples))
	}
	// Output: error distinct_id_too_large 1
}

func ExampleDashboardsService_All() {
	client, project := exampleClient()
	project.AddDashboard(hogapitest.Dashboard{Name: "Growth", Pinned: true, Tags: []string{"board"}})
	project.AddDashboard(hogapitest.Dashboard{Name: "Scratch"})

	for dashboard, err := range client.Dashboards.All(context.Background(), &hogapi.DashboardListOptions{Tags: []string{"board"}}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(*dashboard.Name, dashboard.EffectivePrivilegeLevel == hogapi.PrivilegeCanEdit)
	}
	// Output: Growth true
}

// On older servers the id of a batch export gives the counts of its runs.
func ExampleAppMetricsService_Get() {
	client, project := exampleClient(hogapitest.WithOldService())
	export := project.AddExport(hogapitest.Export{})
	project.AddRun(export, hogapitest.Run{})
	project.AddRun(export, hogapitest.Run{Status: hogapi.RunStatusFailed})

	metrics, err := client.AppMetrics.Get(context.Background(), export.String(), nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(metrics.Metrics.Totals.Successes, "runs went well,", metrics.Metrics.Totals.Failures, "failed")
	// Output: 1 runs went well, 1 failed
}
