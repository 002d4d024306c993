package pendo_test

import (
	"context"
	"fmt"

	"github.com/hogapi/hogapi/formats/pendo"
	"github.com/hogapi/hogapi/history"
)

func ExampleFormat() {
	source := history.Files(pendo.Format(nil), "testdata/guide_event.csv")
	report, err := history.Check(context.Background(), source, &history.Options{ID: "pendo-2024", MaxRejectShare: -1})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Good, "events,", report.Rejected, "rejected, skipped:", report.Skips)
	// Output:
	// 2 events, 1 rejected, skipped: map[no id:1]
}
