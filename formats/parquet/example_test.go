package parquet_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/parquet"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/reconcile"
)

func ExampleFiles() {
	client, err := hogapi.NewClient(hogapitest.New().ClientOptions(hogapitest.DefaultProject)...) // yours: hogapi.NewClient(hogapi.FromEnv())
	if err != nil {
		panic(err)
	}

	options := &parquet.Options{Columns: posthogexport.Columns()}
	source := parquet.Files(posthogexport.Format(nil), options, "testdata/*.parquet")
	receipt, err := history.Import(context.Background(), client, source, &history.Options{ID: "us-to-eu"})
	if err != nil {
		panic(err)
	}
	fmt.Println(receipt.Acknowledged, "events")
	// Output:
	// 20 events
}

func ExampleRows() {
	folder := os.DirFS("testdata") // of a bucket: the file system of the module formats/s3files
	reader, err := parquet.Rows(folder, "*.parquet")
	if err != nil {
		panic(err)
	}
	dir, err := os.MkdirTemp("", "reconcile-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	side := reconcile.Files(reader, 1, dir) // for reconcile.Compare
	defer side.Close()
	year := reconcile.Part{From: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), To: time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)}
	days, err := side.Count(context.Background(), reconcile.Selection{Parts: []reconcile.Part{year}})
	if err != nil {
		panic(err)
	}
	for _, day := range days {
		fmt.Println(day.Day.Format(time.DateOnly), day.Rows)
	}
	// Output:
	// 2024-02-29 20
}

func ExampleCountRows() {
	rows, err := parquet.CountRows(os.DirFS("testdata"), "export.parquet")
	if err != nil {
		panic(err)
	}
	fmt.Println(rows, "rows")
	// Output:
	// 20 rows
}
