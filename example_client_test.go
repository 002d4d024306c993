package hogapi_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// A client needs a place, a project and a key. It prints without its keys.
func ExampleNewClient() {
	client, err := hogapi.NewClient(
		hogapi.WithRegion(hogapi.RegionEU),
		hogapi.WithProject("12345"),
		hogapi.WithPersonalAPIKey("phx_exampleOnly"), // exports, runs, metrics, dashboards
		hogapi.WithProjectAPIKey("phc_exampleOnly"),  // the import of events
		hogapi.WithPace(8, 20),                       // the service allows a key 480 calls a minute
	)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client)
	// Output: hogapi.Client{project: 12345, api: eu.posthog.com, capture: eu.i.posthog.com}
}

// All problems are reported at once.
func ExampleNewClient_problems() {
	_, err := hogapi.NewClient(
		hogapi.WithBaseURL("http://posthog.example.com"),
		hogapi.WithPersonalAPIKey("phc_exampleOnly"),
	)
	fmt.Println(err)
	// Output:
	// hogapi: personal API key: want a personal API key (phx_…); this is a project API key: give it to WithProjectAPIKey
	// hogapi: base URL: want https, since keys are sent there; http only on loopback or with WithInsecureHTTP
	// hogapi: project: want WithProject with the project's id (see the project's settings), or WithoutProject
}

// Options supply the values that the environment lacks, and options win.
func ExampleFromEnv() {
	_ = os.Setenv("POSTHOG_PERSONAL_API_KEY", "phx_exampleOnly")
	_ = os.Setenv("POSTHOG_PROJECT_ID", "12345")
	defer os.Unsetenv("POSTHOG_PERSONAL_API_KEY")
	defer os.Unsetenv("POSTHOG_PROJECT_ID")

	client, err := hogapi.NewClient(hogapi.FromEnv(), hogapi.WithRegion(hogapi.RegionUS), hogapi.WithProject("67890"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(client.Project())
	// Output: 67890
}

// One client serves any number of projects, with one set of connections, one pace and one retry budget.
func ExampleClient_ForProject() {
	server := hogapitest.New()
	server.Project("1").AddExport(hogapitest.Export{Name: "to the lake"})
	server.Project("2").AddExport(hogapitest.Export{Name: "to the warehouse"})
	client := clientOf(server, "1")
	for _, id := range []string{"1", "2"} {
		for export, err := range client.ForProject(id).BatchExports.All(context.Background(), nil) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println(id, export.Name)
		}
	}
	// Output:
	// 1 to the lake
	// 2 to the warehouse
}

// Do calls an endpoint that has no method here, with the same keys, retries and errors.
func ExampleClient_Do() {
	server := hogapitest.New()
	server.Handle("GET", "/insights/", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"count": 1, "results": [{"name": "Weekly users"}]}`)
	}))
	client := clientOf(server, hogapitest.DefaultProject)
	var insights hogapi.OffsetPage[struct{ Name string }]
	if err := client.Do(context.Background(), hogapi.Request{Method: "GET", Path: "/insights/"}, &insights); err != nil {
		log.Fatal(err)
	}
	fmt.Println(insights.Results[0].Name)
	// Output: Weekly users
}

// The raw answer of any call, for a field that the types do not have.
func ExampleWithReply() {
	client, project := exampleClient()
	id := project.AddExport(hogapitest.Export{Extra: map[string]any{"brand_new": true}})
	var reply hogapi.Reply
	if _, err := client.BatchExports.Get(context.Background(), id, hogapi.WithReply(&reply)); err != nil {
		log.Fatal(err)
	}
	fmt.Println(reply.StatusCode, reply.Header.Get("Content-Type"), len(reply.Body) > 0)
	// Output: 200 application/json true
}

// A hook sees each try, each retry and each result; their Op is fit as a label of a metric.
func ExampleWithHooks() {
	server := hogapitest.New()
	server.Script(ops.DashboardsList, hogapitest.Status(503))
	options := append(server.ClientOptions(hogapitest.DefaultProject),
		hogapi.WithRetryPolicy(hogapi.RetryPolicy{BaseDelay: time.Millisecond}),
		hogapi.WithHooks(hogapi.Hooks{
			OnCall: func(_ context.Context, r hogapi.CallRecord) {
				switch {
				case r.Ended:
					fmt.Println("result:", r.Op, r.StatusCode, "tries", r.Tries)
				case r.Retry != "":
					fmt.Println("retry:", r.Op, r.Retry)
				}
			},
		}))
	client, err := hogapi.NewClient(options...)
	if err != nil {
		log.Fatal(err)
	}
	if _, err := client.Dashboards.List(context.Background(), nil); err != nil {
		log.Fatal(err)
	}
	// Output:
	// retry: dashboards.list status 503
	// result: dashboards.list 200 tries 2
}

// A sentinel says of which kind an error is; the typed error has the fields.
func ExampleAPIError() {
	client, _ := exampleClient(hogapitest.WithPersonalKey("phx_dashboardsOnly", "dashboard:read"))
	_, err := client.BatchExports.List(context.Background(), nil)

	fmt.Println("forbidden:", errors.Is(err, hogapi.ErrForbidden))
	if api, ok := errors.AsType[*hogapi.APIError](err); ok {
		fmt.Println(api.Op, api.StatusCode, api.Code)
	}
	fmt.Println(err)
	// Output:
	// forbidden: true
	// batch_exports.list 403 permission_denied
	// hogapi: batch_exports.list: 403 permission_denied: API key missing required scope 'batch_export:read'; the personal API key needs the scope batch_export:read and access to this project
}

// If the answer to a create is lost, the client does not send it again: it may have taken effect. Look before you
// try again.
func ExampleOutcomeUnknownError() {
	server := hogapitest.New()
	server.Script(ops.BatchExportsCreate, hogapitest.CutAfter()) // the service acts, and its answer is lost
	client := clientOf(server, hogapitest.DefaultProject)
	ctx := context.Background()
	_, err := client.BatchExports.Create(ctx, hogapi.BatchExportRequest{
		Name: "nightly", Model: hogapi.ModelEvents, Interval: hogapi.IntervalDay,
		Destination: hogapi.Destination{Type: destination.TypeNoOp, Config: destination.NoOp{}},
	})
	if errors.Is(err, hogapi.ErrOutcomeUnknown) {
		for export, err := range client.BatchExports.All(ctx, nil) {
			if err != nil {
				log.Fatal(err)
			}
			fmt.Println("it was made:", export.Name)
		}
	}
	// Output: it was made: nightly
}

// A walk that breaks off says where to go on, so nothing is read twice or left out.
func ExamplePageError() {
	server := hogapitest.New()
	for _, name := range []string{"e", "d", "c", "b", "a"} {
		server.Project(hogapitest.DefaultProject).AddExport(hogapitest.Export{Name: name}) // the newest is listed first
	}
	client := clientOf(server, hogapitest.DefaultProject)
	walk := func(o *hogapi.ListOptions) error {
		for page, err := range client.BatchExports.Pages(context.Background(), o) {
			if err != nil {
				return err
			}
			for _, export := range page.Results {
				fmt.Println(export.Name)
			}
			if o.Offset == 0 {
				server.Script(ops.BatchExportsList, hogapitest.Status(403)) // the second page fails
			}
		}
		return nil
	}
	o := &hogapi.ListOptions{Limit: 2}
	err := walk(o)
	if broken, ok := errors.AsType[*hogapi.PageError](err); ok {
		fmt.Println("broken off before item", broken.Offset)
		o.Offset = broken.Offset
		err = walk(o)
	}
	fmt.Println("error:", err)
	// Output:
	// a
	// b
	// broken off before item 2
	// c
	// d
	// e
	// error: <nil>
}

// RetryFailed retries the failed runs of all exports of some projects, and waits for them. It leaves out runs that
// are too old to be exported again unchanged, and returns an error for each: somebody must decide about them.
func RetryFailed(ctx context.Context, client *hogapi.Client, watch *hogapi.WatchOptions, projects ...string) (retried int, err error) {
	var old []error
	for _, id := range projects {
		project := client.ForProject(id)
		for export, err := range project.BatchExports.All(ctx, nil) {
			if err != nil {
				return retried, err
			}
			for run, err := range project.Runs.LatestFailed(ctx, export.ID, nil) {
				if err != nil {
					return retried, err
				}
				if err := retry(ctx, project, export.ID, run.ID, watch); err != nil {
					err = fmt.Errorf("project %s, export %q: %w", id, export.Name, err)
					if _, refused := errors.AsType[*hogapi.InputError](err); !refused {
						return retried, err
					}
					old = append(old, err)
					continue
				}
				retried++
			}
		}
	}
	return retried, errors.Join(old...)
}

// retry retries one run. If the answer is lost, it does not send the retry again before it is clear that the first
// one had no effect.
func retry(ctx context.Context, project *hogapi.Client, exportID, runID uuid.UUID, watch *hogapi.WatchOptions) (err error) {
	for range 3 {
		var ticket *hogapi.BackfillTicket
		ticket, err = project.Runs.Retry(ctx, exportID, runID, nil)
		if ticket == nil {
			return err
		}
		_, err = project.Backfills.Wait(ctx, ticket, watch)
		if !errors.Is(err, hogapi.ErrOutcomeUnknown) {
			return err
		}
	}
	return err
}

// The failed runs of all exports of three projects are retried, one after another, and waited for.
func ExampleRunsService_LatestFailed() {
	server := hogapitest.New(hogapitest.WithPolls(1))
	for _, id := range []string{"1", "2", "3"} {
		export := server.Project(id).AddExport(hogapitest.Export{Name: "to the bucket"})
		server.Project(id).AddRun(export, hogapitest.Run{Status: hogapi.RunStatusFailed})
	}
	client := clientOf(server, "1")
	retried, err := RetryFailed(context.Background(), client, &hogapi.WatchOptions{Interval: time.Millisecond}, "1", "2", "3")
	fmt.Println(retried, err)
	// Output:
	// 3 <nil>
}

// A user's test of RetryFailed: the service asks it to slow down, and the connection is cut twice, once after the service has acted.
func TestRetryFailed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		for _, id := range []string{"1", "2", "3"} {
			project := server.Project(id)
			export := project.AddExport(hogapitest.Export{})
			before := time.Now().AddDate(0, 0, -4)
			project.AddRun(export, hogapitest.Run{Status: hogapi.RunStatusFailed, Created: before})
			project.AddRun(export, hogapitest.Run{Status: hogapi.RunStatusCompleted, Created: before.Add(time.Hour)})
		}
		server.Script(ops.RunsRetry, hogapitest.RateLimit("3"), hogapitest.CutAfter(), hogapitest.CutBefore())

		retried, err := RetryFailed(t.Context(), client, nil, "1", "2", "3")
		require.NoError(t, err)
		require.Equal(t, 3, retried)
		require.Len(t, server.Calls(ops.RunsRetry), 5, "three, one more for the 429 and one for the request that had no effect")
		for _, id := range []string{"1", "2", "3"} {
			runs := server.Project(id).Runs(server.Project(id).Exports()[0].ID)
			require.Len(t, runs, 3, "each failed run is retried once")
			require.Equal(t, hogapi.RunStatusCompleted, runs[2].Status)
		}

		retried, err = RetryFailed(t.Context(), client, nil, "1", "2", "3")
		require.NoError(t, err)
		require.Zero(t, retried, "nothing is left to retry")

		export := server.Project("2").Exports()[0].ID
		server.Project("2").AddRun(export, hogapitest.Run{Status: hogapi.RunStatusFailed, Created: time.Now().AddDate(0, -1, 0)})
		server.Project("3").AddRun(server.Project("3").Exports()[0].ID, hogapitest.Run{Status: hogapi.RunStatusFailed})
		retried, err = RetryFailed(t.Context(), client, nil, "1", "2", "3")
		require.ErrorContains(t, err, "project 2")
		require.ErrorIs(t, err, hogapi.ErrInvalid, "too old")
		require.Equal(t, 1, retried, "of the project after it")
	})
}

// clientOf is a client of a project of a fake service. Your program makes its client with NewClient and its own key.
func clientOf(server *hogapitest.Server, project string) *hogapi.Client {
	client, err := hogapi.NewClient(server.ClientOptions(project)...)
	if err != nil {
		log.Fatal(err)
	}
	return client
}
