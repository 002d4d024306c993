package hogapitest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log"
	"net/http"
	"strings"
	"time"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// The server keeps state: a program can read back the objects that it creates. Inside a test, server.Client(t) gives the client.
func Example() {
	server := hogapitest.New()
	project := server.Project(hogapitest.DefaultProject)
	export := project.AddExport(hogapitest.Export{Name: "nightly", Interval: hogapi.IntervalDay})
	project.AddRun(export, hogapitest.Run{Status: hogapi.RunStatusFailed, Error: "no such bucket"})

	client, err := hogapi.NewClient(server.ClientOptions(project.ID())...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	for run, err := range client.Runs.All(ctx, export, nil) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(run.Status)
	}
	if err := client.BatchExports.Pause(ctx, export); err != nil {
		log.Fatal(err)
	}
	fmt.Println("paused:", project.Exports()[0].Paused)
	// Output:
	// Failed
	// paused: true
}

// Each request meets one fault of the script, in order; then service goes on as usual.
func ExampleServer_Script() {
	server := hogapitest.New()
	export := server.Project(hogapitest.DefaultProject).AddExport(hogapitest.Export{})
	server.Script(ops.BatchExportsGet, hogapitest.Status(503), hogapitest.CutBefore())
	server.Script(ops.RunsList, hogapitest.Status(403))

	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	_, err = client.BatchExports.Get(ctx, export) // is tried until it succeeds
	fmt.Println("get:", err)
	_, err = client.Runs.List(ctx, export, nil)
	fmt.Println("forbidden:", errors.Is(err, hogapi.ErrForbidden))
	for _, call := range server.Calls(ops.BatchExportsGet) {
		fmt.Println(call.Status, call.Fault)
	}
	// Output:
	// get: <nil>
	// forbidden: true
	// 503 Status(503)
	// 0 CutBefore
	// 200
}

// A live run moves one step each time that it is shown.
func ExampleProject_NextRuns() {
	server := hogapitest.New(hogapitest.WithPolls(2))
	project := server.Project(hogapitest.DefaultProject)
	export := project.AddExport(hogapitest.Export{})
	project.NextRuns(hogapitest.Outcome{Status: hogapi.RunStatusFailed, Error: "disk full"})
	id := project.AddRun(export, hogapitest.Run{Status: hogapi.RunStatusStarting})

	client, err := hogapi.NewClient(server.ClientOptions(project.ID())...)
	if err != nil {
		log.Fatal(err)
	}
	for range 3 {
		run, err := client.Runs.Get(context.Background(), export, id)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(run.Status)
	}
	// Output:
	// Starting
	// Running
	// Failed
}

// A retry of an old interval exports other events than the schedule did, into the same object.
func ExampleProject_ExportEvents() {
	now := time.Date(2026, 11, 26, 12, 20, 0, 0, time.UTC)
	server := hogapitest.New(hogapitest.WithClock(func() time.Time { return now }), hogapitest.WithPolls(1))
	project := server.Project(hogapitest.DefaultProject)
	project.ExportEvents()
	arrived := now.AddDate(0, 0, -10)
	project.AddEvent(hogapitest.StoredEvent{Event: "paid", DistinctID: "ada", Time: arrived, CreatedAt: arrived})
	project.AddEvent(hogapitest.StoredEvent{Event: "late", DistinctID: "ada", Time: arrived.AddDate(0, 0, -2), CreatedAt: arrived})
	export := project.AddExport(hogapitest.Export{Name: "lake", Created: arrived})
	project.RunSchedule(export, nil)
	object := project.Exported(export)[0]
	fmt.Println(object.Key, len(object.Events))

	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	ticket, err := client.Runs.Retry(ctx, export, object.RunID, &hogapi.BackfillOptions{AcceptRowsByTimestamp: true})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.Backfills.Wait(ctx, ticket, &hogapi.WatchOptions{Interval: time.Millisecond}); err != nil {
		log.Fatal(err)
	}
	object = project.Exported(export)[0]
	fmt.Println(object.Key, len(object.Events))
	// Output:
	// events/2026-11-16T12:00:00+00:00-2026-11-16T13:00:00+00:00.jsonl 2
	// events/2026-11-16T12:00:00+00:00-2026-11-16T13:00:00+00:00.jsonl 1
}

// Capture v1 answers for each event. The script drops one of two, as a rule of PostHog's staff would.
func ExampleResults() {
	server := hogapitest.New()
	server.Script(ops.Capture, hogapitest.Results(func(_ int, e hogapitest.StoredEvent) hogapitest.Result {
		if e.Event == "tested" {
			return hogapitest.Result{Result: "drop", Details: "event_restriction_drop"}
		}
		return hogapitest.Result{} // the service's own judgement
	}))
	body := `{"created_at":"2026-03-04T12:00:00Z","historical_migration":true,"batch":[
		{"event":"tested","uuid":"0191c0de-0000-5000-8000-000000000001","distinct_id":"max","timestamp":"2024-05-01T10:00:00Z",
		 "options":{"disable_skew_correction":true}},
		{"event":"ordered","uuid":"0191c0de-0000-5000-8000-000000000002","distinct_id":"max","timestamp":"2024-05-01T10:00:00Z",
		 "options":{"disable_skew_correction":true}}]}`
	r, err := http.NewRequest("POST", "https://fake.example/i/v1/analytics/events", strings.NewReader(body))
	if err != nil {
		log.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + hogapitest.DefaultProjectKey, "Content-Type": "application/json", "User-Agent": "mine/1",
		"PostHog-Sdk-Info": "mine/1", "PostHog-Attempt": "1", "PostHog-Request-Id": "0191c0de-0000-4000-8000-000000000009",
		"PostHog-Request-Timestamp": "2026-03-04T12:00:00Z",
	} {
		r.Header.Set(name, value)
	}
	resp, err := server.Transport().RoundTrip(r)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(strings.ReplaceAll(string(answer), "},", "},\n"))
	fmt.Println("stored:", server.Ledger().Len(), "rules broken:", len(server.Violations()))
	// Output:
	// {"results":{"0191c0de-0000-5000-8000-000000000001":{"result":"drop","details":"event_restriction_drop"},
	// "0191c0de-0000-5000-8000-000000000002":{"result":"ok"}}}
	// stored: 1 rules broken: 0
}

// The ledger holds every commit, duplicates included: here the connection was lost after the service had stored the batch.
func ExampleServer_Ledger() {
	server := hogapitest.New()
	server.Script(ops.Capture, hogapitest.CutAfter())
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		log.Fatal(err)
	}
	source := history.Func("orders", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for n := range int64(3) {
				at := time.Date(2024, 5, 1, 10, int(n), 0, 0, time.UTC)
				if !yield(hogapi.Event{Name: "ordered", DistinctID: "max", Timestamp: at, Position: hogapi.Position{Key: "orders", Offset: n + 1}}, nil) {
					return
				}
			}
		}
	})
	receipt, err := history.Import(context.Background(), client, source, &history.Options{ID: "orders-2024"})
	if err != nil {
		log.Fatal(err)
	}
	ledger := server.Ledger()
	fmt.Println("acknowledged:", receipt.Acknowledged)
	fmt.Println("commits:", ledger.Len(), "unique:", ledger.Unique(), "changed:", len(ledger.Changed()))
	fmt.Println(ledger.Counts())
	// Output:
	// acknowledged: 3
	// commits: 6 unique: 3 changed: 0
	// map[{ordered 2024-05-01}:3]
}

// As at the service, queries see events late and more than once.
func ExampleServer_HoldEvents() {
	server := hogapitest.New()
	client, err := hogapi.NewClient(server.ClientOptions(hogapitest.DefaultProject)...)
	if err != nil {
		log.Fatal(err)
	}
	source := history.Func("orders", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			at := time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)
			yield(hogapi.Event{Name: "ordered", DistinctID: "max", Timestamp: at, Position: hogapi.Position{Key: "orders", Offset: 1}}, nil)
		}
	})
	count := func() (n int) {
		var answer struct{ Results [][]int }
		body := map[string]any{"refresh": "force_blocking", "query": map[string]any{"kind": "HogQLQuery", "query": "SELECT count() FROM events"}}
		err := client.Do(context.Background(), hogapi.Request{Method: "POST", Path: "/query/", Body: body}, &answer)
		if err != nil {
			log.Fatal(err)
		}
		return answer.Results[0][0]
	}
	server.HoldEvents()
	if _, err := history.Import(context.Background(), client, source, &history.Options{ID: "orders-2024"}); err != nil {
		log.Fatal(err)
	}
	fmt.Println("stored:", server.Ledger().Len(), "seen:", count())
	server.ReleaseEvents(-1)
	fmt.Println("stored:", server.Ledger().Len(), "seen:", count())
	// Output:
	// stored: 1 seen: 0
	// stored: 1 seen: 1
}
