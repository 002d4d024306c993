package hogapi_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
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
