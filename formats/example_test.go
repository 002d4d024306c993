package formats_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/formats/generic"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// The library in an event tells whether a visitor's browser or a server has sent it.
func ExampleIsOfServer() {
	for _, lib := range []string{"analytics.js", "analytics-python"} {
		fmt.Println(lib, formats.IsOfServer(hogapi.Event{Name: "visit", Properties: map[string]any{"$lib": lib}}))
	}
	// Output:
	// analytics.js false
	// analytics-python true
}

// Files that are not in the order of their events are sorted, and the ids of a person are joined
// before their events come.
func Example() {
	folder, err := os.MkdirTemp("", "hogapi-")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "clicks.jsonl")
	content := `{"user":"ann","device":"d1","at":"2024-05-01T12:00:02Z"}` + "\n" + `{"user":"","device":"d1","at":"2024-05-01T12:00:01Z"}` + "\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		log.Fatal(err)
	}
	clicks := history.Format{Name: "clicks", Convert: func(record []byte) ([]hogapi.Event, error) {
		var c struct {
			User, Device string
			At           time.Time
		}
		err := json.Unmarshal(record, &c)
		ev := hogapi.Event{Name: "click", DistinctID: c.User, AnonymousID: c.Device, Timestamp: c.At}
		if c.User == "" {
			ev.DistinctID = c.Device
		}
		return []hogapi.Event{ev}, err
	}}

	source := formats.Sorted(history.Files(clicks, path), filepath.Join(folder, "sorted"))
	server := hogapitest.New()
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		log.Fatal(err)
	}
	receipt, err := history.Import(context.Background(), client, history.Concat(formats.Links(source), source), &history.Options{ID: "clicks"})
	if err != nil {
		log.Fatal(err)
	}
	for _, day := range receipt.Days {
		fmt.Println(day.Day, day.Event, day.Acknowledged)
	}
	// Output:
	// 2024-05-01 $identify 1
	// 2024-05-01 click 2
}

// A check reads the files as an import would, and sends nothing.
func ExampleCheck() {
	folder, err := os.MkdirTemp("", "hogapi-")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "clicks.csv")
	content := "event,distinct_id,timestamp,uuid,plan\n" +
		"click,ann@example.com,2024-05-01T12:00:00Z,a1,team\nclick,4711,2024-05-02T12:00:00Z,a1,free\nclick,4711,2024-05-02T12:00:01Z,,\n"
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		log.Fatal(err)
	}
	format, err := generic.Format(nil)
	if err != nil {
		log.Fatal(err)
	}
	report, err := formats.Check(context.Background(), format, nil, path)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Good, "events, from", report.OldestLocal.Format(time.DateOnly), "to", report.NewestLocal.Format(time.DateOnly))
	fmt.Println("distinct ids:", report.IDs)
	fmt.Println("uuids:", report.UUIDs, "double:", report.DoubleIDs)
	fmt.Println("kept:", report.Kept)
	// Output:
	// 3 events, from 2024-05-01 to 2024-05-02
	// distinct ids: map[e-mail:1 number:2]
	// uuids: map[content:1 id:2] double: 1
	// kept: map[plan:3]
}

// Events of a vendor without sessions get them: half an hour of silence ends one.
func ExampleSessions() {
	start := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	rows := func(_ context.Context, after hogapi.Position) (events []hogapi.Event, upTo hogapi.Position, err error) {
		for i, minute := range []int{0, 29, 60} { // in the order of time
			if place := int64(i + 1); place > after.Offset {
				at := start.Add(time.Duration(minute) * time.Minute)
				events = append(events, hogapi.Event{Name: "$pageview", DistinctID: "ann", Timestamp: at, Position: hogapi.Position{Key: "visits", Offset: place}})
			}
		}
		return events, hogapi.Position{Key: "visits", Offset: 3}, nil
	}
	source := formats.Sessions(history.Paged("visits", rows), &formats.SessionOptions{
		OnEnd: func(c formats.SessionCounts) { fmt.Println(c.Sessions, "sessions of", c.Events, "events") },
	})
	for ev, err := range source.Events(context.Background(), hogapi.Position{}) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(ev.Timestamp.Format(time.TimeOnly), string(ev.RawProperties))
	}
	// Output:
	// 12:00:00 {"$session_id":"018f3406-9e00-7df3-bc24-ca6e1a7c2d4b"}
	// 12:29:00 {"$session_id":"018f3406-9e00-7df3-bc24-ca6e1a7c2d4b"}
	// 13:00:00 {"$session_id":"018f343d-8c80-7df3-bc24-ca6e1a7c2d4b"}
	// 2 sessions of 3 events
}

// A session of a tool of one's own gets an id that PostHog's web analytics counts.
func ExampleSessionID() {
	start := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	ev := hogapi.Event{Name: "$pageview", DistinctID: "ann", Timestamp: start.Add(time.Minute), Properties: map[string]any{
		"$session_id": formats.SessionID(start, "device-1", "session-7").String(),
	}}
	fmt.Println(ev.Properties["$session_id"])
	// Output: 018f3406-9e00-79e4-8d7c-07a3d0628443
}

// A source that is not one of files is checked by history.Check, and the project is asked
// afterwards.
func ExampleHeld() {
	server := hogapitest.New()
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		log.Fatal(err)
	}
	ctx, at := context.Background(), time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	server.Project(hogapitest.DefaultProject).AddEvent(hogapitest.StoredEvent{Event: "live", DistinctID: "ann", Time: at})
	rows := func(_ context.Context, after hogapi.Position) ([]hogapi.Event, hogapi.Position, error) {
		if !after.IsZero() {
			return nil, after, nil
		}
		place := hogapi.Position{Key: "orders", Offset: 1}
		return []hogapi.Event{{Name: "order placed", DistinctID: "ann", Timestamp: at, Position: place}}, place, nil
	}
	report, err := history.Check(ctx, history.Paged("orders", rows), &history.Options{ID: "orders"})
	if err != nil {
		log.Fatal(err)
	}
	days, err := formats.Held(ctx, client, report)
	if err != nil {
		log.Fatal(err)
	}
	for _, day := range days {
		fmt.Printf("%s: the project has %d, the table has %d\n", day.Day, day.Project, day.Files)
	}
	// Output: 2024-05-01: the project has 1, the table has 1
}

// Before an import, the numbers of web analytics are compared with the vendor's own charts.
func ExampleWebAnalytics() {
	web := formats.NewWebAnalytics(nil)
	at := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	for i, page := range []string{"/", "/pricing"} {
		web.Add(&hogapi.Event{Name: "$pageview", DistinctID: "ann", Timestamp: at.Add(time.Duration(i) * time.Minute), Properties: map[string]any{
			"$session_id": "018f3406-9e00-7000-8000-000000000001", "$current_url": "https://shop.example" + page, "$referring_domain": "www.google.com",
		}})
	}
	report, err := web.Report(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	for _, m := range report.Months {
		fmt.Println(m.Month, m.Visitors, "visitor", m.Views, "views", m.Sessions, "session", m.Bounces, "bounces", m.AverageSeconds, "seconds", m.Channels, m.Entries, m.Exits)
	}
	// Output:
	// 2024-05 1 visitor 2 views 1 session 0 bounces 60 seconds map[Organic Search:1] map[/:1] map[/pricing:1]
}

// Of several states of a person, the newest is kept. The others are skipped, with their reason.
func ExampleNewest() {
	at := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	states := history.Func("states", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for i, plan := range []string{"free", "team", "large"} {
				ev := hogapi.Event{Name: "$set", DistinctID: "ann", Timestamp: at.AddDate(0, 0, i), Set: map[string]any{"plan": plan}}
				if !yield(ev, nil) {
					return
				}
			}
		}
	})
	for ev, err := range formats.Newest(states).Events(context.Background(), hogapi.Position{}) {
		if err != nil {
			log.Fatal(err)
		}
		if reason, isSkipped := ev.Skipped(); isSkipped {
			fmt.Println("skipped:", reason)
		} else {
			fmt.Println(ev.DistinctID, ev.Set)
		}
	}
	// Output:
	// ann map[plan:large]
	// skipped: a newer state follows
	// skipped: a newer state follows
}
