package formats_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/formats"
	"github.com/hogapi/hogapi/hogapitest"
)

// Files that are not in the order of their events are sorted, and the ids of a person are joined before their events come.
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
	clicks := hogapi.Format{Name: "clicks", Convert: func(record []byte) ([]hogapi.Event, error) {
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

	source := formats.Sorted(hogapi.FileSource(clicks, path), filepath.Join(folder, "sorted"))
	server := hogapitest.New()
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		log.Fatal(err)
	}
	receipt, err := client.Import(context.Background(), hogapi.Concat(formats.Links(source), source), &hogapi.ImportOptions{ID: "clicks"})
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
