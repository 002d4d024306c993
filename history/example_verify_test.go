package history_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

// matomoVisits reads the answer of Matomo's Live.getLastVisitsDetails: an array of visits with their actions. The
// time of an action is the wall clock of the site. The time of the visit's last action is also there in UTC.
var matomoVisits = history.Format{Name: "matomo", Layout: history.LayoutJSON, Convert: func(record []byte) (events []event.Event, err error) {
	var visit struct {
		IDSite, IDVisit, UserID, VisitorID string
		LastActionTimestamp                int64
		ActionDetails                      []struct {
			Type, URL, PageTitle, PageID, EventAction string
			Timestamp                                 int64
		}
	}
	if err := json.Unmarshal(record, &visit); err != nil {
		return nil, err
	}
	zone := int64(-1 << 62)
	for _, action := range visit.ActionDetails {
		zone = max(zone, action.Timestamp-visit.LastActionTimestamp)
	}
	for _, action := range visit.ActionDetails {
		events = append(events, event.Event{
			Name:       map[string]string{"action": "$pageview", "event": action.EventAction}[action.Type],
			DistinctID: cmp.Or(visit.UserID, visit.VisitorID),
			Timestamp:  time.Unix(action.Timestamp-zone, 0),
			UUID:       uuid.NewSHA1(uuid.NameSpaceURL, []byte("matomo/"+visit.IDSite+"/"+visit.IDVisit+"/"+action.PageID)),
			Properties: map[string]any{"$current_url": action.URL, "title": action.PageTitle},
		})
	}
	return events, nil
}}

const matomoAnswer = `[
 {"idSite":"1","idVisit":"88231","visitorId":"9f2c1ab34de56078","userId":null,"lastActionTimestamp":1709251230,"actionDetails":[
  {"type":"action","url":"https://shop.example/","pageTitle":"Home","pageId":"501","timestamp":1709254798},
  {"type":"event","url":"https://shop.example/","eventAction":"play","pageId":"502","timestamp":1709254830}]}
]`

// A format of one's own is a function from a record to its events. This one reads visits of Matomo.
func ExampleFormat() {
	path := exampleLines("events.jsonl", matomoAnswer)
	client, server := importClient()
	source := history.Files(matomoVisits, path)
	if _, err := history.Import(context.Background(), client, source, &history.Options{ID: "matomo-2024"}); err != nil {
		log.Fatal(err)
	}
	for ev := range server.Ledger().Events() {
		fmt.Println(ev.Time.UTC().Format(time.DateTime), ev.Event, ev.DistinctID)
	}
	// Unordered output:
	// 2024-02-29 23:59:58 $pageview 9f2c1ab34de56078
	// 2024-03-01 00:00:30 play 9f2c1ab34de56078
}

// Some hours after an import, Verify says whether all of it is there. A program exits with 0 only for complete.
func ExampleVerify() {
	server := hogapitest.New() // your program: NewClient with the project key, and a personal key with the scope query:read
	client := clientOf(server, hogapitest.DefaultProject)
	ctx := context.Background()
	receipt, err := history.Import(ctx, client, testevents.Source(3), &history.Options{ID: "orders-1998"})
	if err != nil {
		log.Fatal(err)
	}
	v, err := history.Verify(ctx, client, receipt, &history.VerifyOptions{
		Source: testevents.Source(3), // to name the missing events, if there are any
		Wait:   true,                 // until it is complete or stands still
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(v)
	if !v.Complete() {
		os.Exit(1)
	}
	// Output:
	// import "orders-1998": complete
	// acknowledged 3, seen 3, after look 1
}

// The program sends the missing events again with their uuids.
func ExampleVerification_Missing() {
	now := time.Now()
	clock := hogapi.WithClock(func() time.Time { return now }) // your program needs no clock
	server := hogapitest.New()
	client, err := hogapi.NewClient(append(server.ClientOptions(hogapitest.DefaultProject), clock)...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	receipt, err := history.Import(ctx, client, testevents.Source(5), &history.Options{ID: "orders-1998"})
	if err != nil {
		log.Fatal(err)
	}
	server.Project(hogapitest.DefaultProject).LoseEvents("orders-1998", 2)
	dir, err := os.MkdirTemp("", "verify-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	options := &history.VerifyOptions{Source: testevents.Source(5), Dir: dir} // which remembers the looks of the hours before
	var v history.Verification
	for now = now.Add(24 * time.Hour); v.State == "" || v.State == history.VerificationStillArriving; now = now.Add(30 * time.Minute) {
		if v, err = history.Verify(ctx, client, receipt, options); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(v.State, v.MissingEvents, "after look", v.Looks)

	again, err := history.Import(ctx, client, v.Missing(testevents.Source(5)), &history.Options{ID: "orders-1998"}) // with a new checkpoint
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("sent again:", again.Acknowledged)
	if v, err = history.Verify(ctx, client, receipt, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(v.State)
	// Output:
	// missing 2 after look 3
	// sent again: 2
	// complete
}

// PostHog can delete the events of an import on an approved request, where that is enabled.
func ExampleDataDeletionsService_Create() {
	server := hogapitest.New(hogapitest.WithDataDeletions()) // your program: a personal key with the scope data_deletion:write
	client := clientOf(server, hogapitest.DefaultProject)
	ctx := context.Background()
	if _, err := history.Import(ctx, client, testevents.Source(3), &history.Options{ID: "orders-1998"}); err != nil {
		log.Fatal(err)
	}
	request := hogapi.DataDeletionRequest{ImportID: "orders-1998"}
	count, err := client.DataDeletions.Preview(ctx, request)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("would delete", count)
	deletion, err := client.DataDeletions.Create(ctx, request)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(deletion.Status)
	// Output:
	// would delete 3
	// pending
}

// The queries of a receipt compare the events that the service has taken with the events in the project.
func ExampleCountQueries() {
	server := hogapitest.New() // your program: NewClient with the project key, and a personal key with the scope query:read
	client := clientOf(server, hogapitest.DefaultProject)
	receipt, err := history.Import(context.Background(), client, testevents.Source(3), &history.Options{ID: "orders-1998"})
	if err != nil {
		log.Fatal(err)
	}
	for _, query := range history.CountQueries(receipt) { // some hours later
		var answer struct{ Results [][]any }
		err := client.Do(context.Background(), hogapi.Request{
			Method: http.MethodPost, Path: "/query/", Replay: hogapi.ReplaySafe,
			Body: map[string]any{"query": query, "refresh": "force_blocking", "name": "compare an import"},
		}, &answer)
		if err != nil {
			log.Fatal(err)
		}
		for _, row := range answer.Results {
			fmt.Println("day", row[0], "event", row[1], "uuids", row[3])
		}
	}
	fmt.Println("acknowledged", receipt.Acknowledged)
	// Output:
	// day 1998-01-01 event order placed uuids 3
	// acknowledged 3
}
