package snowplow_test

import (
	"context"
	"fmt"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/snowplow"
)

func ExampleFormat() {
	source := hogapi.FileSource(snowplow.Format(nil), "testdata/enriched.tsv")
	report, err := hogapi.Check(context.Background(), source, &hogapi.ImportOptions{ID: "snowplow-2024", MaxRejectShare: -1})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Good, "events,", report.Rejected, "rejected, skipped:", report.Skips)
	// Output:
	// 4 events, 2 rejected, skipped: map[no id:1 page ping:1]
}
