package history_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
)

// Past events of any origin are imported as a Source: events in a fixed order, each with its position.
func ExampleImport() {
	client, server := importClient()
	begin := time.Date(2024, 2, 27, 9, 0, 0, 0, time.UTC)
	source := history.Func("sign-ups", func(_ context.Context, after event.Position) iter.Seq2[event.Event, error] {
		return func(yield func(event.Event, error) bool) {
			for n := after.Offset + 1; n <= 5; n++ {
				ev := event.Event{
					Name: "signed up", DistinctID: fmt.Sprintf("user-%d", n), Timestamp: begin.AddDate(0, 0, int(n)),
					Properties: map[string]any{"plan": "free"},
					Position:   event.Position{Key: "sign-ups", Offset: n}, // the uuid is derived from it, so a second run sends the same events
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

	receipt, err := history.Import(context.Background(), client, source, &history.Options{
		ID: "sign-ups-2024",
		Rejects: hogapi.RejectFunc(func(_ context.Context, r event.Reject) error {
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
	// rejected: sign-ups@3 no_distinct_id
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
	client, _ := importClient()
	var committed event.Position
	capture, err := client.NewCapture(&hogapi.CaptureOptions{
		ID:        "orders-topic",
		OnSettled: func(_ context.Context, p event.Position) { committed = p }, // commit the offset
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for offset := int64(1); offset <= 3; offset++ {
		err := capture.Enqueue(ctx, event.Event{
			Name: "ordered", DistinctID: "customer-7", Timestamp: time.Date(2024, 5, 1, 12, int(offset), 0, 0, time.UTC),
			Properties: map[string]any{"total": 19.90}, Position: event.Position{Key: "partition-0", Offset: offset},
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
	client, _ := importClient()
	capture, err := client.NewCapture(&hogapi.CaptureOptions{})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	fmt.Println(capture.Enqueue(ctx, event.Event{Name: "ordered", DistinctID: "customer-7", UUID: uuid.New()}))
	_, err = capture.Close(ctx)
	fmt.Println(err)
	// Output:
	// hogapi: event refused: no_timestamp: timestamp: want the time of the event
	// <nil>
}

// clientOf is a client of a project of a fake service. Your program makes its client with NewClient and its own key.
func clientOf(server *hogapitest.Server, project string) *hogapi.Client {
	client, err := hogapi.NewClient(server.ClientOptions(project)...)
	if err != nil {
		log.Fatal(err)
	}
	return client
}

// importClient is a client of a fake service, and the service.
func importClient() (*hogapi.Client, *hogapitest.Server) {
	server := hogapitest.New()
	return clientOf(server, hogapitest.DefaultProject), server
}

// exampleLines makes a file of lines in a folder of its own.
func exampleLines(name string, lines ...string) (path string) {
	folder, err := os.MkdirTemp("", "hogapi-example-")
	if err != nil {
		log.Fatal(err)
	}
	path = filepath.Join(folder, name)
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		log.Fatal(err)
	}
	return path
}

// With a checkpoint, each run continues where the run before stopped, for any reason; the receipt covers all runs.
func ExampleCheckpointFile() {
	client, server := importClient()
	path := exampleLines("events.jsonl",
		`{"event":"opened","distinct_id":"ann","timestamp":"2024-01-05T09:00:00Z"}`,
		`{"event":"closed","distinct_id":"ann","timestamp":"2024-01-05T09:10:00Z"}`)
	defer os.RemoveAll(filepath.Dir(path))

	for range 2 { // the second run finds nothing left to do
		receipt, err := history.Import(context.Background(), client, history.JSONLines(path), &history.Options{
			ID: "doors-2024", Checkpoint: history.CheckpointFile(path + ".ckpt"),
		})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("acknowledged", receipt.Acknowledged)
	}
	fmt.Println("the service got", server.Ledger().Len())
	// Output:
	// acknowledged 2
	// acknowledged 2
	// the service got 2
}

// Rejects go to a file of lines, with the reason and the place of each. Corrected by hand, a line is imported with its uuid.
func ExampleRejectFile() {
	client, server := importClient()
	path := exampleLines("events.jsonl",
		`{"event":"","distinct_id":"ann","timestamp":"2024-01-05T09:00:00Z","uuid":"461fc531-6209-5996-b1b1-a8aa997a6516"}`,
		`{"event":"closed","distinct_id":"ann","timestamp":"2024-01-05T09:10:00Z"}`)
	rejects := filepath.Join(filepath.Dir(path), "rejects.jsonl")
	defer os.RemoveAll(filepath.Dir(path))

	ctx := context.Background()
	receipt, err := history.Import(ctx, client, history.JSONLines(path), &history.Options{ID: "doors-2024", Rejects: history.RejectFile(rejects)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("acknowledged", receipt.Acknowledged, "rejected", receipt.Rejected)

	line, err := os.ReadFile(rejects)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(line))
	event, _, _ := strings.Cut(string(line), `,"$reject"`) // remove it, and correct the name
	corrected := strings.Replace(event, `"event":""`, `"event":"opened"`, 1) + "}\n"
	if err := os.WriteFile(rejects, []byte(corrected), 0o600); err != nil {
		log.Fatal(err)
	}
	receipt, err = history.Import(ctx, client, history.Rejected(rejects, nil), &history.Options{ID: "doors-2024-rejects"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("acknowledged", receipt.Acknowledged, "rejected", receipt.Rejected, "the service holds", server.Ledger().Unique())
	// Output:
	// acknowledged 1 rejected 1
	// {"uuid":"461fc531-6209-5996-b1b1-a8aa997a6516","event":"","timestamp":"2024-01-05T09:00:00Z","distinct_id":"ann","$reject":{"reason":"no_name","field":"event","want":"a name","position":{"key":"events.jsonl","offset":114},"where":"events.jsonl:1","import":"doors-2024"}}
	// acknowledged 1 rejected 0 the service holds 2
}

// A corrected parser imports the records that made no event, with the uuids of their places.
func ExampleRejected() {
	client, server := importClient()
	path := exampleLines("events.jsonl",
		`{"event":"opened","distinct_id":"ann","timestamp":"2024-01-05T09:00:00Z"}`,
		`closed,ann,2024-01-05T09:10:00Z`)
	rejects := filepath.Join(filepath.Dir(path), "rejects.jsonl")
	defer os.RemoveAll(filepath.Dir(path))

	ctx := context.Background()
	receipt, err := history.Import(ctx, client, history.JSONLines(path), &history.Options{ID: "doors-2024", Rejects: history.RejectFile(rejects)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("acknowledged", receipt.Acknowledged, "rejected", receipt.Rejected)

	parse := func(record []byte) ([]event.Event, error) {
		fields := strings.Split(string(record), ",")
		if len(fields) != 3 {
			return nil, errors.New("want a name, a person and a time")
		}
		at, err := time.Parse(time.RFC3339, fields[2])
		return []event.Event{{Name: fields[0], DistinctID: fields[1], Timestamp: at}}, err
	}
	receipt, err = history.Import(ctx, client, history.Rejected(rejects, parse), &history.Options{ID: "doors-2024-rejects"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("acknowledged", receipt.Acknowledged, "rejected", receipt.Rejected, "the service holds", server.Ledger().Unique())
	// Output:
	// acknowledged 1 rejected 1
	// acknowledged 1 rejected 0 the service holds 2
}

// exampleFile writes lines of events, one of which is not JSON, and returns the file's path.
func exampleFile() string {
	return exampleLines("events.jsonl", `{"event":"order placed","distinct_id":"ann","timestamp":"2024-05-01T12:30:00+02:00","properties":{"price":12.50}}
{"event":"order placed","distinct_id":"ben","timestamp":"2024-05-01T12:31:00+02:00","properties":{"price":7}}
{"event":"order pla
{"event":"order paid","distinct_id":"ann","timestamp":"2024-05-02T09:00:00+02:00"}
`)
}

// Files of JSON lines are imported with a checkpoint, so that a second run continues, and with a file of rejects.
func ExampleJSONLines() {
	client, server := importClient()
	path := exampleFile()
	defer func() { _ = os.RemoveAll(filepath.Dir(path)) }()
	options := history.Options{
		ID:         "shop-2024",
		Checkpoint: history.CheckpointFile(path + ".checkpoint"),
		Rejects:    history.RejectFile(path + ".rejects"),
	}
	for range 2 { // the second run finds nothing to do, and returns the same receipt
		receipt, err := history.Import(context.Background(), client, history.JSONLines(path), &options)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("acknowledged", receipt.Acknowledged, "rejected", receipt.Rejected, "the service holds", server.Ledger().Len())
	}
	// Output:
	// acknowledged 3 rejected 1 the service holds 3
	// acknowledged 3 rejected 1 the service holds 3
}

// Check reads a whole source before anything is sent: it needs no client.
func ExampleCheck() {
	path := exampleFile()
	defer func() { _ = os.RemoveAll(filepath.Dir(path)) }()
	report, err := history.Check(context.Background(), history.JSONLines(path), &history.Options{ID: "shop-2024"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("good", report.Good, "rejected", report.Rejected)
	fmt.Println(report.Oldest.UTC().Format(time.RFC3339), "to", report.Newest.UTC().Format(time.RFC3339))
	for _, place := range report.Reasons[event.ReasonBadRecord].Examples {
		fmt.Println("bad record at", place.Position)
	}
	// Output:
	// good 3 rejected 1
	// 2024-05-01T10:30:00Z to 2024-05-02T07:00:00Z
	// bad record at events.jsonl@244
}

// Rows of a table are imported page after page. The key of a row is its position: a run that resumes reads on after it.
func ExamplePaged() {
	type order struct {
		id     int64
		person string
		at     time.Time
	}
	placed := time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)
	query := func(after int64) (rows []order) { // SELECT … FROM orders WHERE id > $1 ORDER BY id LIMIT 2
		for id := after + 1; id <= min(after+2, 5); id++ {
			rows = append(rows, order{id, "ann", placed.Add(time.Duration(id) * time.Hour)})
		}
		return rows
	}

	source := history.Paged("orders", func(_ context.Context, after event.Position) (events []event.Event, upTo event.Position, err error) {
		for _, row := range query(after.Offset) {
			upTo = event.Position{Key: "orders", Offset: row.id}
			events = append(events, event.Event{Name: "order placed", DistinctID: row.person, Timestamp: row.at, Position: upTo})
		}
		return events, upTo, nil
	})

	client, _ := importClient()
	receipt, err := history.Import(context.Background(), client, source, &history.Options{ID: "orders-2024"})
	fmt.Println(receipt.Acknowledged, receipt.First, "to", receipt.Last, err)
	// Output: 5 orders@1 to orders@5 <nil>
}

// The settings of a mapping are part of the source's name: an import does not resume with others.
func ExampleMapAs() {
	path := exampleFile()
	defer func() { _ = os.RemoveAll(filepath.Dir(path)) }()
	const prefix = "shop: "
	source := history.MapAs(fmt.Sprintf("with prefix %q", prefix), history.JSONLines(path), func(ev event.Event) ([]event.Event, error) {
		ev.Name = prefix + ev.Name
		return []event.Event{ev}, nil
	})
	fmt.Println(source.Name())
	// Output: with prefix "shop: ": events.jsonl
}

// A mapping changes the events of a source, or leaves some out on purpose. They keep their places.
func ExampleMap() {
	path := exampleFile()
	defer func() { _ = os.RemoveAll(filepath.Dir(path)) }()
	source := history.Map(history.JSONLines(path), func(ev event.Event) ([]event.Event, error) {
		if ev.DistinctID == "ben" {
			return nil, history.Skip("internal user")
		}
		ev.Name = "shop: " + ev.Name
		return []event.Event{ev}, nil
	})
	report, err := history.Check(context.Background(), source, &history.Options{ID: "shop-2024"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("good", report.Good, "rejected", report.Rejected, "skipped", report.Skips)
	for _, row := range report.Days {
		fmt.Println(row.Day, row.Event, row.Events)
	}
	// Output:
	// good 2 rejected 1 skipped map[internal user:1]
	// 2024-05-01 shop: order placed 1
	// 2024-05-02 shop: order paid 1
}
