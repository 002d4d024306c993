package hogapi_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

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

// Programs as a user would write them after the README.

// resume unpauses an export, clears its end, and changes only the prefix of its bucket.
func resume(ctx context.Context, client *hogapi.Client, id uuid.UUID, prefix string) (*hogapi.BatchExport, error) {
	export, err := client.BatchExports.Get(ctx, id)
	if err != nil {
		return nil, err
	}
	return client.BatchExports.Update(ctx, id, hogapi.BatchExportUpdateRequest{
		Paused:      hogapi.Set(false),
		EndAt:       hogapi.Null[time.Time](),
		Destination: hogapi.Set(export.Destination.With(destination.S3{Prefix: hogapi.Set(prefix)})),
	})
}

func TestResume(t *testing.T) {
	for _, era := range []hogapitest.Era{hogapitest.E1, hogapitest.E2, hogapitest.E3} {
		t.Run(era.String(), func(t *testing.T) {
			server := hogapitest.New(hogapitest.WithEra(era))
			project := server.Project(hogapitest.DefaultProject)
			id := project.AddExport(hogapitest.Export{
				Name: "nightly", Paused: true, StartAt: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC), EndAt: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC),
				Config: map[string]any{"bucket_name": "lake", "region": "eu-central-1", "prefix": "old/", "aws_secret_access_key": "secret", "max_file_size_mb": 50},
			})
			client := server.Client(t)
			updated, err := resume(t.Context(), client, id, "new/")
			if era == hogapitest.E1 { // which replaces the whole config and has never shown the credentials
				require.ErrorIs(t, err, hogapi.ErrInvalid)
				require.ErrorContains(t, err, "aws_access_key_id, aws_secret_access_key to be set too")
				require.Empty(t, server.Calls(ops.BatchExportsUpdate))
				return
			}
			require.NoError(t, err)

			calls := server.Calls(ops.BatchExportsUpdate)
			require.Len(t, calls, 1)
			assert.JSONEq(t, `{"paused":false,"end_at":null,"destination":{"type":"S3","config":{"prefix":"new/"}}}`, string(calls[0].Body), "nothing else is sent")

			assert.False(t, updated.Paused)
			assert.Nil(t, updated.EndAt)
			assert.NotNil(t, updated.StartAt, "what was not named stays")
			config, ok := updated.Destination.Config.(destination.S3)
			require.True(t, ok)
			assert.Equal(t, "new/", config.Prefix.Or(""))
			assert.Equal(t, "lake", config.BucketName.Or(""))
			assert.Equal(t, 50, config.MaxFileSizeMB.Or(0))
			kept := project.Exports()[0].Config
			assert.Equal(t, "secret", kept["aws_secret_access_key"], "a credential that was never read is kept")
		})
	}
}

// cleanUp deletes the exports of a name. It looks first and deletes then: offsets shift when items vanish under a walk. It goes on
// after what is gone already, and says what it could not do.
func cleanUp(ctx context.Context, client *hogapi.Client, name string) (deleted int, err error) {
	var found []uuid.UUID
	for export, err := range client.BatchExports.All(ctx, nil) {
		if err != nil {
			return 0, err
		}
		if export.Name == name {
			found = append(found, export.ID)
		}
	}
	var problems []error
	for _, id := range found {
		switch err := client.BatchExports.Delete(ctx, id); {
		case err == nil:
			deleted++
		case errors.Is(err, hogapi.ErrNotFound): // somebody else was quicker
		default:
			problems = append(problems, fmt.Errorf("%s: %w", id, err))
		}
	}
	return deleted, errors.Join(problems...)
}

func TestCleanUp(t *testing.T) {
	server := hogapitest.New()
	project := server.Project(hogapitest.DefaultProject)
	for _, name := range []string{"trial", "trial", "nightly", "trial"} {
		project.AddExport(hogapitest.Export{Name: name})
	}
	server.Script(ops.BatchExportsDelete, hogapitest.Status(403), hogapitest.Status(404))
	deleted, err := cleanUp(t.Context(), server.Client(t), "trial")
	assert.Equal(t, 1, deleted)
	require.ErrorIs(t, err, hogapi.ErrForbidden)
	require.ErrorContains(t, err, "batch_export:write")
}
