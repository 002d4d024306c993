package snowplow_test

import (
	"context"
	"fmt"

	"github.com/hogapi/hogapi/formats/snowplow"
	"github.com/hogapi/hogapi/history"
)

func ExampleFormat() {
	source := history.Files(snowplow.Format(nil), "testdata/enriched.tsv")
	report, err := history.Check(context.Background(), source, &history.Options{ID: "snowplow-2024", MaxRejectShare: -1})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Good, "events,", report.Rejected, "rejected, skipped:", report.Skips)
	// Output:
	// 4 events, 2 rejected, skipped: map[no id:1 page ping:1]
}
