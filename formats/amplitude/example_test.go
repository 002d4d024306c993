package amplitude_test

import (
	"context"
	"fmt"
	"log"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/amplitude"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// Six lines import an export: the zip file as it was downloaded, or the files in it.
func ExampleFormat() {
	server := hogapitest.New()
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...) // yours: hogapi.NewClient(hogapi.FromEnv())
	if err != nil {
		log.Fatal(err)
	}
	source := history.Files(amplitude.Format(nil), "testdata/all.jsonl")
	receipt, err := history.Import(context.Background(), client, source, &history.Options{ID: "amplitude-2024"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("read", receipt.Read, "acknowledged", receipt.Acknowledged, "skipped", receipt.Skips)
	for _, d := range receipt.Days {
		fmt.Println(d.Day, d.Event, d.Acknowledged)
	}
	fmt.Println("the service holds", server.Ledger().Unique())
	// Output:
	// read 3 acknowledged 2 skipped map[session_start:1]
	// 2024-02-29 $pageview 1
	// 2024-07-01 Screen: Login 1
	// the service holds 2
}

// The newest user properties of each person are a source of their own. Import it after the events of the project, which
// were imported with formats.PersonNone.
func ExamplePeopleFormat() {
	people := formats.Newest(history.Files(amplitude.PeopleFormat(nil), "testdata/all.jsonl"))
	for ev, err := range people.Events(context.Background(), hogapi.Position{}) {
		if err != nil {
			log.Fatal(err)
		}
		if ev.DistinctID != "" {
			fmt.Println(ev.Name, ev.DistinctID, ev.Timestamp.Format("2006-01-02"))
		}
	}
	// Output:
	// $set u-4711 2024-02-29
}
