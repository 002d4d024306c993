package hogapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

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

// A download to any writer. The state says how much of the file the writer has.
func ExampleFileDownloadsService_Download() {
	client, project := exampleClient()
	id := project.AddFileDownload(hogapitest.FileDownload{Files: []hogapitest.File{{Content: []byte(`{"event":"signed up"}`)}}})
	ctx := context.Background()
	download, err := client.FileDownloads.Get(ctx, id)
	if err != nil {
		log.Fatal(err)
	}
	var content strings.Builder
	var state hogapi.DownloadState // of the writer: another call with it resumes
	size, err := client.FileDownloads.Download(ctx, id, download.Files[0], &content, &state)
	if err != nil {
		log.Fatalf("%v; resume with %+v", err, state)
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
