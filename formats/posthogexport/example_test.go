package posthogexport_test

import (
	"context"
	"fmt"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/posthogexport"
	"github.com/hogapi/hogapi/hogapitest"
)

func ExampleFormat() {
	client, err := hogapi.NewClient(hogapitest.New().ClientOptions(hogapitest.DefaultProject)...) // yours: hogapi.NewClient(hogapi.FromEnv())
	if err != nil {
		panic(err)
	}

	source := hogapi.FileSource(posthogexport.Format(nil), "testdata/export.jsonl")
	receipt, err := client.Import(context.Background(), source, &hogapi.ImportOptions{ID: "posthogexport-2024"})
	if err != nil {
		panic(err)
	}
	fmt.Println(receipt.Acknowledged, "events, skipped:", receipt.Skips)
	// Output:
	// 4 events, skipped: map[]
}
