package heap_test

import (
	"context"
	"fmt"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/heap"
)

func ExampleFormat() {
	source := hogapi.FileSource(heap.Format(nil), "testdata/pageviews.csv")
	report, err := hogapi.Check(context.Background(), source, &hogapi.ImportOptions{ID: "heap-2024", MaxRejectShare: -1})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Good, "events,", report.Rejected, "rejected, skipped:", report.Skips)
	// Output:
	// 2 events, 1 rejected, skipped: map[no id:1]
}
