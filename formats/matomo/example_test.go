package matomo_test

import (
	"context"
	"fmt"
	"time"

	"github.com/hogapi/hogapi/formats/matomo"
	"github.com/hogapi/hogapi/history"
)

func ExampleFormat() {
	zone, err := time.LoadLocation("Europe/Paris") // of the site
	if err != nil {
		panic(err)
	}
	source := history.Files(matomo.Format(&matomo.Options{Zone: zone}), "testdata/visits.jsonl")
	report, err := history.Check(context.Background(), source, &history.Options{ID: "matomo-2024", MaxRejectShare: -1})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Good, "events,", report.Rejected, "rejected, skipped:", report.Skips)
	// Output:
	// 11 events, 2 rejected, skipped: map[an action that is listed twice:1 no id:2]
}
