package umami_test

import (
	"context"
	"fmt"

	"github.com/hogapi/hogapi/formats/umami"
	"github.com/hogapi/hogapi/history"
)

func ExampleFormat() {
	source := history.Files(umami.Format(nil), "testdata/website_event.csv")
	report, err := history.Check(context.Background(), source, &history.Options{ID: "umami-2024", MaxRejectShare: -1})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Good, "events,", report.Rejected, "rejected, skipped:", report.Skips)
	// Output:
	// 4 events, 2 rejected, skipped: map[no id:1 performance:1]
}
