package mixpanel_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats/mixpanel"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// Six lines import an export.
func ExampleFormat() {
	server := hogapitest.New()
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...) // yours: hogapi.NewClient(hogapi.FromEnv())
	if err != nil {
		log.Fatal(err)
	}
	source := history.Files(mixpanel.Format(nil), "testdata/orders.jsonl")
	receipt, err := history.Import(context.Background(), client, source, &history.Options{ID: "mixpanel-2024"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("read", receipt.Read, "acknowledged", receipt.Acknowledged, "skipped", receipt.Skips)
	for _, d := range receipt.Days {
		fmt.Println(d.Day, d.Event, d.Acknowledged)
	}
	fmt.Println("the service holds", server.Ledger().Unique())
	// Output:
	// read 4 acknowledged 4 skipped map[]
	// 2024-02-29 $pageview 1
	// 2024-03-01 Order Placed 1
	// 2024-03-01 Plan Upgraded 1
	// 2024-03-01 editor:save 1
	// the service holds 4
}

// The times of a project of before 2023 are mostly local ones. Its settings in Mixpanel show the
// time zone.
func ExampleCheckZone() {
	test, err := mixpanel.CheckZone(context.Background(), "testdata/local.jsonl")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(test)
	zone, err := time.LoadLocation("America/Los_Angeles")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.0f %% are times of %s\n", 100*test.Share(zone), zone)
	source := history.Files(mixpanel.Format(&mixpanel.Options{Zone: zone}), "testdata/local.jsonl")
	report, err := history.Check(context.Background(), source, &history.Options{ID: "mixpanel-2022"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("newest", report.Newest)
	// Output:
	// 2 of 2 records are live events. Their time is ahead of UTC by -8h0m0s (1), -7h0m0s (1). The export is in local time: set Options.Zone to the time zone of the project, which its settings in Mixpanel show, and check it with Share
	// 100 % are times of America/Los_Angeles
	// newest 2022-05-18 05:05:48 +0000 UTC
}

// Profiles become $set events. Import them after the events of the project.
func ExamplePeopleFormat() {
	events, err := mixpanel.PeopleFormat(nil).Convert([]byte(
		`{"$distinct_id":"u-1","$properties":{"$email":"ann@example.com","$last_seen":"2024-03-01T10:00:00"}}`))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(events[0].Name, events[0].DistinctID, string(events[0].RawProperties))
	// Output:
	// $set u-1 {"historical_migration":true,"analytics_source":"mixpanel","$set_once":{"email":"ann@example.com"}}
}
