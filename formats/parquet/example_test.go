package parquet_test

import (
	"context"
	"fmt"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/parquet"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/hogapitest"
)

func ExampleFileSource() {
	client, err := hogapi.NewClient(hogapitest.New().ClientOptions(hogapitest.DefaultProject)...) // yours: hogapi.NewClient(hogapi.FromEnv())
	if err != nil {
		panic(err)
	}

	options := &parquet.Options{Columns: posthogexport.Columns()}
	source := parquet.FileSource(posthogexport.Format(nil), options, "testdata/*.parquet")
	receipt, err := client.Import(context.Background(), source, &hogapi.ImportOptions{ID: "us-to-eu"})
	if err != nil {
		panic(err)
	}
	fmt.Println(receipt.Acknowledged, "events")
	// Output:
	// 20 events
}
