package hogapi_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/reasons"
)

// exampleFile writes lines of events, one of which is not JSON, and returns the file's path.
func exampleFile() string {
	return exampleFileOf(`{"event":"order placed","distinct_id":"ann","timestamp":"2024-05-01T12:30:00+02:00","properties":{"price":12.50}}
{"event":"order placed","distinct_id":"ben","timestamp":"2024-05-01T12:31:00+02:00","properties":{"price":7}}
{"event":"order pla
{"event":"order paid","distinct_id":"ann","timestamp":"2024-05-02T09:00:00+02:00"}
`)
}

// exampleFileOf writes a file and returns its path.
func exampleFileOf(content string) string {
	folder, err := os.MkdirTemp("", "hogapi-")
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(folder, "events.jsonl")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		log.Fatal(err)
	}
	return path
}

// Files of JSON lines are imported with a checkpoint, so that a second run continues, and with a file of rejects.
func ExampleJSONLinesFile() {
	server := hogapitest.New()
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		log.Fatal(err)
	}
	path := exampleFile()
	defer func() { _ = os.RemoveAll(filepath.Dir(path)) }()
	options := hogapi.ImportOptions{
		ID:         "shop-2024",
		Checkpoint: hogapi.FileCheckpoint(path + ".checkpoint"),
		Rejects:    hogapi.RejectFile(path + ".rejects"),
	}
	for range 2 { // the second run finds nothing to do, and returns the same receipt
		receipt, err := client.Import(context.Background(), hogapi.JSONLinesFile(path), &options)
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
	report, err := hogapi.Check(context.Background(), hogapi.JSONLinesFile(path), &hogapi.ImportOptions{ID: "shop-2024"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("good", report.Good, "rejected", report.Rejected)
	fmt.Println(report.Oldest.UTC().Format(time.RFC3339), "to", report.Newest.UTC().Format(time.RFC3339))
	for _, place := range report.Reasons[reasons.BadRecord].Examples {
		fmt.Println("bad record at", place.Position)
	}
	// Output:
	// good 3 rejected 1
	// 2024-05-01T10:30:00Z to 2024-05-02T07:00:00Z
	// bad record at events.jsonl@244
}

// Rows of a table are imported page after page. The key of a row is its position: a run that resumes reads on after it.
func ExamplePagedSource() {
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

	source := hogapi.PagedSource("orders", func(_ context.Context, after hogapi.Position) (events []hogapi.Event, upTo hogapi.Position, err error) {
		for _, row := range query(after.Offset) {
			upTo = hogapi.Position{Offset: row.id}
			events = append(events, hogapi.Event{Name: "order placed", DistinctID: row.person, Timestamp: row.at, Position: upTo})
		}
		return events, upTo, nil
	})

	server := hogapitest.New()
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		log.Fatal(err)
	}
	receipt, err := client.Import(context.Background(), source, &hogapi.ImportOptions{ID: "orders-2024"})
	fmt.Println(receipt.Acknowledged, receipt.First, "to", receipt.Last, err)
	// Output: 5 1 to 5 <nil>
}

// A mapping changes the events of a source, or leaves some out on purpose. They keep their places.
func ExampleMapSource() {
	path := exampleFile()
	defer func() { _ = os.RemoveAll(filepath.Dir(path)) }()
	source := hogapi.MapSource(hogapi.JSONLinesFile(path), func(ev hogapi.Event) ([]hogapi.Event, error) {
		if ev.DistinctID == "ben" {
			return nil, hogapi.Skip("internal user")
		}
		ev.Name = "shop: " + ev.Name
		return []hogapi.Event{ev}, nil
	})
	report, err := hogapi.Check(context.Background(), source, &hogapi.ImportOptions{ID: "shop-2024"})
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
