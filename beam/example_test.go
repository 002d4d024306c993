package hogbeam_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/register"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/beam"
	"github.com/hogapi/hogapi/hogapitest"
)

func init() {
	register.Function1x0(printReceipt)
	register.Function1x2(eventOfRow)
	register.Function1x0(printExport)
}

func printReceipt(r hogapi.Receipt) {
	fmt.Println("acknowledged", r.Acknowledged, "rejected", r.Rejected)
}

// Files are read, and their events are sent, by a job on this machine.
func Example() {
	server := hogapitest.New() // in place of the service
	defer server.Close()
	_ = os.Setenv("EXAMPLE_PROJECT_KEY", hogapitest.DefaultProjectKey)
	folder, err := os.MkdirTemp("", "hogbeam-")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	lines := `{"event":"order placed","distinct_id":"ann","timestamp":"2024-05-01T12:30:00+02:00"}
{"event":"order pla
{"event":"order paid","distinct_id":"ann","timestamp":"2024-05-02T09:00:00+02:00"}
`
	if err := os.WriteFile(filepath.Join(folder, "events.jsonl"), []byte(lines), 0o600); err != nil {
		log.Fatal(err)
	}

	p, s := beam.NewPipelineWithRoot()
	events := hogbeam.ReadJSONLines(s, filepath.Join(folder, "*.jsonl"))
	written := hogbeam.WriteHistorical(s, hogbeam.Options{
		ID:      "shop-2024",
		Service: hogbeam.Service{BaseURL: server.URL(), ProjectKey: hogbeam.SecretRef{Env: "EXAMPLE_PROJECT_KEY"}},
	}, events)
	beam.ParDo0(s, printReceipt, written.Receipt)
	if _, err := beam.Run(context.Background(), "prism", p); err != nil {
		log.Fatal(err)
	}
	// Output: acknowledged 2 rejected 1
}

// row is a row of a warehouse's table.
type row struct {
	ID     int64
	User   string
	Action string
	Second int64
}

// eventOfRow makes an event of a row. Its position is the row's key, from which the event's uuid is derived.
func eventOfRow(r row) (hogbeam.Event, error) {
	return hogbeam.EventOf(hogapi.Event{
		Name: r.Action, DistinctID: r.User, Timestamp: time.Unix(r.Second, 0),
		Properties: map[string]any{"source": "warehouse"}, Position: hogapi.Position{Key: "actions", Offset: r.ID},
	})
}

// Rows of any of Beam's sources become events.
func ExampleWriteHistorical() {
	server := hogapitest.New() // in place of the service
	defer server.Close()
	_ = os.Setenv("EXAMPLE_PROJECT_KEY", hogapitest.DefaultProjectKey)

	p, s := beam.NewPipelineWithRoot()
	rows := beam.Create(s, row{1, "ann", "order placed", 1714559400}, row{2, "ben", "order placed", 1714559401})
	written := hogbeam.WriteHistorical(s, hogbeam.Options{
		ID:      "warehouse-2024",
		Service: hogbeam.Service{BaseURL: server.URL(), ProjectKey: hogbeam.SecretRef{Env: "EXAMPLE_PROJECT_KEY"}},
	}, beam.ParDo(s, eventOfRow, rows))
	beam.ParDo0(s, printReceipt, written.Receipt)
	if _, err := beam.Run(context.Background(), "prism", p); err != nil {
		log.Fatal(err)
	}
	// Output: acknowledged 2 rejected 0
}

func printExport(e hogbeam.ProjectExport) { fmt.Println(e.Project, e.Export.Name, e.Export.Paused) }

// The batch exports of many projects are listed by a job.
func ExampleListExports() {
	server := hogapitest.New() // in place of the service
	defer server.Close()
	server.Project(hogapitest.DefaultProject).AddExport(hogapitest.Export{Name: "to the warehouse", Interval: hogapi.IntervalHour, DestinationType: "S3"})
	_ = os.Setenv("EXAMPLE_PERSONAL_KEY", hogapitest.DefaultPersonalKey)

	p, s := beam.NewPipelineWithRoot()
	service := hogbeam.Service{BaseURL: server.URL(), PersonalKey: hogbeam.SecretRef{Env: "EXAMPLE_PERSONAL_KEY"}}
	beam.ParDo0(s, printExport, hogbeam.ListExports(s, service, hogapitest.DefaultProject))
	if _, err := beam.Run(context.Background(), "prism", p); err != nil {
		log.Fatal(err)
	}
	// Output: 12345 to the warehouse false
}
