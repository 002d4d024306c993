package hogapi_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

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
