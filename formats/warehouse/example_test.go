package warehouse_test

import (
	"context"
	"fmt"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/segment"
	"github.com/hogapi/hogapi/formats/warehouse"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

func ExampleSegment() {
	client, err := hogapi.NewClient(hogapitest.New().ClientOptions(hogapitest.DefaultProject)...) // yours: hogapi.NewClient(hogapi.FromEnv())
	if err != nil {
		panic(err)
	}

	format := warehouse.Segment(&segment.Options{GroupType: "company"}, &warehouse.Options{Numbers: []string{"price", "seats"}})
	source := history.Files(format, "testdata/pages.csv", "testdata/identifies.csv")
	receipt, err := history.Import(context.Background(), client, source, &history.Options{ID: "warehouse-2024"})
	if err != nil {
		panic(err)
	}
	fmt.Println(receipt.Acknowledged, "events, skipped:", receipt.Skips)
	// Output:
	// 4 events, skipped: map[deleted row:1]
}

func ExampleAmplitude() {
	source := history.Files(warehouse.Amplitude(nil, nil), "testdata/amplitude.csv")
	report, err := history.Check(context.Background(), source, &history.Options{ID: "warehouse-2024", MaxRejectShare: -1})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Good, "events,", report.Rejected, "rejected, skipped:", report.Skips)
	// Output:
	// 2 events, 1 rejected, skipped: map[deleted row:1 no id:1]
}

func ExampleAmplitudePeople() {
	people := formats.Newest(history.Files(warehouse.AmplitudePeople(nil, nil), "testdata/amplitude.csv"))
	report, err := history.Check(context.Background(), people, &history.Options{ID: "people-2024", MaxRejectShare: -1})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Good, "person, skipped:", report.Skips)
	// Output:
	// 1 person, skipped: map[deleted row:1 no id:1 no user_properties:1]
}

func ExampleGA4() {
	source := history.Files(warehouse.GA4(nil, nil), "testdata/ga4.csv")
	report, err := history.Check(context.Background(), source, &history.Options{ID: "warehouse-2024", MaxRejectShare: -1})
	if err != nil {
		panic(err)
	}
	fmt.Println(report.Good, "events,", report.Rejected, "rejected, skipped:", report.Skips)
	// Output:
	// 2 events, 1 rejected, skipped: map[no id:1]
}
