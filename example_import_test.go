package hogapi_test

import (
	"context"
	"fmt"
	"iter"
	"log"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// Past events of any origin are imported as a Source: events in a fixed order, each with its position.
func ExampleClient_Import() {
	server := hogapitest.New()
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		log.Fatal(err)
	}
	begin := time.Date(2024, 2, 27, 9, 0, 0, 0, time.UTC)
	source := hogapi.SourceFunc("sign-ups", func(_ context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for n := after.Offset + 1; n <= 5; n++ {
				ev := hogapi.Event{
					Name: "signed up", DistinctID: fmt.Sprintf("user-%d", n), Timestamp: begin.AddDate(0, 0, int(n)),
					Properties: map[string]any{"plan": "free"},
					Position:   hogapi.Position{Offset: n}, // the uuid is derived from it, so a second run sends the same events
				}
				if n == 3 {
					ev.DistinctID = "" // the service would drop this one
				}
				if !yield(ev, nil) {
					return
				}
			}
		}
	})

	receipt, err := client.Import(context.Background(), source, &hogapi.ImportOptions{
		ID: "sign-ups-2024",
		Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
			fmt.Println("rejected:", r.Position, r.Err.Reason)
			return nil
		}),
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("read", receipt.Read, "acknowledged", receipt.Acknowledged, "rejected", receipt.Rejected, "pending", receipt.Pending)
	for _, d := range receipt.Days {
		fmt.Println(d.Day, d.Event, d.Acknowledged, d.Rejected)
	}
	fmt.Println("the service holds", server.Ledger().Unique())
	// Output:
	// rejected: 3 no_distinct_id
	// read 5 acknowledged 4 rejected 1 pending 0
	// 2024-02-28 signed up 1 0
	// 2024-02-29 signed up 1 0
	// 2024-03-01 signed up 0 1
	// 2024-03-02 signed up 1 0
	// 2024-03-03 signed up 1 0
	// the service holds 4
}

// A Capture takes events that are pushed, from a queue for example. OnSettled says up to where they may be committed there.
func ExampleClient_NewCapture() {
	server := hogapitest.New()
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		log.Fatal(err)
	}
	var committed hogapi.Position
	capture, err := client.NewCapture(&hogapi.CaptureOptions{
		ID:        "orders-topic",
		OnSettled: func(p hogapi.Position) { committed = p }, // commit the offset
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for offset := int64(1); offset <= 3; offset++ {
		err := capture.Enqueue(ctx, hogapi.Event{
			Name: "ordered", DistinctID: "customer-7", Timestamp: time.Date(2024, 5, 1, 12, int(offset), 0, 0, time.UTC),
			Properties: map[string]any{"total": 19.90}, Position: hogapi.Position{Key: "partition-0", Offset: offset},
		})
		if err != nil {
			log.Fatal(err) // this event was not taken
		}
	}
	receipt, err := capture.Close(ctx) // sends the remaining events and waits for their answers
	fmt.Println(receipt.Acknowledged, receipt.Pending, err)
	fmt.Println("settled up to", committed)
	// Output:
	// 3 0 <nil>
	// settled up to partition-0@3
}

// An event that can never be right is refused at once, with a reason.
func ExampleCapture_Enqueue() {
	server := hogapitest.New()
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		log.Fatal(err)
	}
	capture, err := client.NewCapture(&hogapi.CaptureOptions{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	fmt.Println(capture.Enqueue(ctx, hogapi.Event{Name: "ordered", DistinctID: "customer-7", UUID: uuid.New()}))
	_, err = capture.Close(ctx)
	fmt.Println(err)
	// Output:
	// hogapi: event refused: no_timestamp: timestamp: want the time of the event
	// <nil>
}
