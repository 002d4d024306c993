package hogapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// importClient is a client of a fake service, and the service; your program makes its client with NewClient and its own key.
func importClient() (*hogapi.Client, *hogapitest.Server) {
	server := hogapitest.New()
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		log.Fatal(err)
	}
	return client, server
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
func ExampleFileCheckpoint() {
	client, server := importClient()
	path := exampleLines("events.jsonl",
		`{"event":"opened","distinct_id":"ann","timestamp":"2024-01-05T09:00:00Z"}`,
		`{"event":"closed","distinct_id":"ann","timestamp":"2024-01-05T09:10:00Z"}`)
	defer os.RemoveAll(filepath.Dir(path))

	for range 2 { // the second run finds nothing left to do
		receipt, err := client.Import(context.Background(), hogapi.JSONLinesFile(path), &hogapi.ImportOptions{
			ID: "doors-2024", Checkpoint: hogapi.FileCheckpoint(path + ".ckpt"),
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
	receipt, err := client.Import(ctx, hogapi.JSONLinesFile(path), &hogapi.ImportOptions{ID: "doors-2024", Rejects: hogapi.RejectFile(rejects)})
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
	receipt, err = client.Import(ctx, hogapi.RejectedRecords(rejects, nil), &hogapi.ImportOptions{ID: "doors-2024-rejects"})
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
func ExampleRejectedRecords() {
	client, server := importClient()
	path := exampleLines("events.jsonl",
		`{"event":"opened","distinct_id":"ann","timestamp":"2024-01-05T09:00:00Z"}`,
		`closed,ann,2024-01-05T09:10:00Z`)
	rejects := filepath.Join(filepath.Dir(path), "rejects.jsonl")
	defer os.RemoveAll(filepath.Dir(path))

	ctx := context.Background()
	receipt, err := client.Import(ctx, hogapi.JSONLinesFile(path), &hogapi.ImportOptions{ID: "doors-2024", Rejects: hogapi.RejectFile(rejects)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("acknowledged", receipt.Acknowledged, "rejected", receipt.Rejected)

	parse := func(record []byte) ([]hogapi.Event, error) {
		fields := strings.Split(string(record), ",")
		if len(fields) != 3 {
			return nil, errors.New("want a name, a person and a time")
		}
		at, err := time.Parse(time.RFC3339, fields[2])
		return []hogapi.Event{{Name: fields[0], DistinctID: fields[1], Timestamp: at}}, err
	}
	receipt, err = client.Import(ctx, hogapi.RejectedRecords(rejects, parse), &hogapi.ImportOptions{ID: "doors-2024-rejects"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("acknowledged", receipt.Acknowledged, "rejected", receipt.Rejected, "the service holds", server.Ledger().Unique())
	// Output:
	// acknowledged 1 rejected 1
	// acknowledged 1 rejected 0 the service holds 2
}
