package flows_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// A client, and its copies for other projects, remember which endpoint the server has. A fallback that is handled is no
// error in the log.
func TestTheServersEndpointsAreRemembered(t *testing.T) {
	for _, era := range []hogapitest.Era{hogapitest.E1, hogapitest.E4} {
		t.Run(era.String(), bubble(func(t *testing.T) {
			var log bytes.Buffer
			missing := 0
			server := hogapitest.New(hogapitest.WithEra(era))
			client := server.Client(t, hogapi.WithLogger(slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo}))),
				hogapi.WithHooks(hogapi.Hooks{OnCall: func(_ context.Context, i hogapi.CallRecord) {
					if i.Ended && i.Method == http.MethodPost && i.StatusCode == http.StatusNotFound {
						missing++
					}
				}}))
			for project, own := range map[*hogapitest.Project]*hogapi.Client{defaultProject(server): client, server.Project("67890"): client.ForProject("67890")} {
				export := project.AddExport(hogapitest.Export{})
				for range 2 {
					_, err := own.BatchExports.Backfill(t.Context(), export, anHour(), anyAge)
					require.NoError(t, err)
				}
			}
			assert.Zero(t, missing, "the list of backfills, which comes first, has shown it already")
			assert.Empty(t, log.String())
		}))
	}
}
