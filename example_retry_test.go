package hogapi_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

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
