package hogapi_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"

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

// With a checkpoint a run goes on where the one before was stopped, in whatever way; the receipt covers all of them.
func ExampleFileCheckpoint() {
	client, server := importClient()
	path := exampleLines("events.jsonl",
		`{"event":"opened","distinct_id":"ann","timestamp":"2024-01-05T09:00:00Z"}`,
		`{"event":"closed","distinct_id":"ann","timestamp":"2024-01-05T09:10:00Z"}`)
	defer os.RemoveAll(filepath.Dir(path))

	for range 2 { // the second run finds nothing left to do
		receipt, err := client.Import(context.Background(), hogapi.JSONLinesFile(path), hogapi.ImportOptions{
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

// Rejects go to a file of lines, which can be mended and imported as an import of its own.
func ExampleRejectFile() {
	client, _ := importClient()
	path := exampleLines("events.jsonl",
		`{"event":"","distinct_id":"ann","timestamp":"2024-01-05T09:00:00Z","uuid":"461fc531-6209-5996-b1b1-a8aa997a6516"}`,
		`{"event":"closed","distinct_id":"ann","timestamp":"2024-01-05T09:10:00Z"}`)
	rejects := filepath.Join(filepath.Dir(path), "rejects.jsonl")
	defer os.RemoveAll(filepath.Dir(path))

	ctx := context.Background()
	receipt, err := client.Import(ctx, hogapi.JSONLinesFile(path), hogapi.ImportOptions{ID: "doors-2024", Rejects: hogapi.RejectFile(rejects)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("acknowledged", receipt.Acknowledged, "rejected", receipt.Rejected)

	lines, err := os.ReadFile(rejects)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Print(string(lines))
	mended := strings.ReplaceAll(string(lines), `"event":""`, `"event":"opened"`)
	if err := os.WriteFile(rejects, []byte(mended), 0o600); err != nil {
		log.Fatal(err)
	}
	receipt, err = client.Import(ctx, hogapi.JSONLinesFile(rejects), hogapi.ImportOptions{ID: "doors-2024-mended"})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("acknowledged", receipt.Acknowledged, "rejected", receipt.Rejected)
	// Output:
	// acknowledged 1 rejected 1
	// {"uuid":"461fc531-6209-5996-b1b1-a8aa997a6516","event":"","timestamp":"2024-01-05T09:00:00Z","distinct_id":"ann","$reject":{"reason":"no_name","field":"event","want":"a name","position":{"key":"events.jsonl","offset":114},"where":"events.jsonl:1","import":"doors-2024"}}
	// acknowledged 1 rejected 0
}
