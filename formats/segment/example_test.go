package segment_test

import (
	"context"
	"fmt"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/segment"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

func ExampleFormat() {
	client, err := hogapi.NewClient(hogapitest.New().ClientOptions(hogapitest.DefaultProject)...) // yours: hogapi.NewClient(hogapi.FromEnv())
	if err != nil {
		panic(err)
	}

	source := history.Files(segment.Format(&segment.Options{GroupType: "company"}), "testdata/export.jsonl")
	receipt, err := history.Import(context.Background(), client, source, &history.Options{ID: "segment-2024"})
	if err != nil {
		panic(err)
	}
	fmt.Println(receipt.Acknowledged, "events, skipped:", receipt.Skips)
	// Output:
	// 6 events, skipped: map[no time:1]
}
