package hogapi_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
)

// matomoVisits reads the answer of Matomo's Live.getLastVisitsDetails: an array of visits with their actions. The
// time of an action is the wall clock of the site. The time of the visit's last action is also there in UTC.
var matomoVisits = hogapi.Format{Name: "matomo", Layout: hogapi.LayoutJSON, Convert: func(record []byte) (events []hogapi.Event, err error) {
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
		events = append(events, hogapi.Event{
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
	source := hogapi.FileSource(matomoVisits, path)
	if _, err := client.Import(context.Background(), source, &hogapi.ImportOptions{ID: "matomo-2024"}); err != nil {
		log.Fatal(err)
	}
	for ev := range server.Ledger().Events() {
		fmt.Println(ev.Time.UTC().Format(time.DateTime), ev.Event, ev.DistinctID)
	}
	// Unordered output:
	// 2024-02-29 23:59:58 $pageview 9f2c1ab34de56078
	// 2024-03-01 00:00:30 play 9f2c1ab34de56078
}
