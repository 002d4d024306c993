package hogapi_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// Counts are exact on every age, over several pages, with a filter that old servers ignore, and for runs that the service's own
// default would hide.
func TestRunCounts(t *testing.T) {
	day := func(n, hour int) time.Time { return time.Date(2026, 3, n, hour, 0, 0, 0, time.UTC) }
	for _, era := range []hogapitest.Era{hogapitest.E1, hogapitest.E2, hogapitest.E3, hogapitest.E4} {
		t.Run(era.String(), func(t *testing.T) {
			server := hogapitest.New(hogapitest.WithEra(era), hogapitest.WithClock(func() time.Time { return day(20, 0) }))
			client, project := server.Client(t), defaultProject(server)
			export := project.AddExport(hogapitest.Export{})
			other := project.AddExport(hogapitest.Export{})
			project.AddRun(other, hogapitest.Run{Created: day(1, 1)})
			add := func(n int, status hogapi.RunStatus, at time.Time) {
				for range n {
					project.AddRun(export, hogapitest.Run{Status: status, Created: at})
				}
			}
			add(1, hogapi.RunStatusCompleted, day(1, 0))
			add(1, hogapi.RunStatusFailed, time.Date(2026, 3, 1, 23, 59, 59, 999e6, time.UTC))
			add(1, "Resting", day(1, 5))
			add(230, hogapi.RunStatusCompleted, day(3, 7))
			add(2, hogapi.RunStatusFailedBilling, day(3, 8))
			add(1, hogapi.RunStatusCancelled, day(3, 9))

			counts, err := client.Runs.Counts(t.Context(), export, nil)
			require.NoError(t, err)
			require.Equal(t, []hogapi.RunCount{
				{Day: day(1, 0), ByStatus: map[hogapi.RunStatus]int{"Completed": 1, "Failed": 1, "Resting": 1}},
				{Day: day(3, 0), ByStatus: map[hogapi.RunStatus]int{"Completed": 230, "FailedBilling": 2, "Cancelled": 1}},
			}, counts)
			assert.Equal(t, []int{233, 230, 2}, []int{counts[1].Total(), counts[1].Completed(), counts[1].Failed()})

			counts, err = client.Runs.Counts(t.Context(), export, &hogapi.RunListOptions{After: day(1, 3), Before: day(3, 0), Statuses: []hogapi.RunStatus{hogapi.RunStatusFailed}})
			require.NoError(t, err)
			require.Equal(t, []hogapi.RunCount{{Day: day(1, 0), ByStatus: map[hogapi.RunStatus]int{"Failed": 1}}}, counts)

			server.Script(ops.RunsList, hogapitest.Slow(0), hogapitest.Status(404))
			counts, err = client.Runs.Counts(t.Context(), export, nil)
			require.Error(t, err)
			require.Nil(t, counts, "half of the runs is no count")

			_, err = client.Runs.Counts(t.Context(), export, &hogapi.RunListOptions{CursorOptions: hogapi.CursorOptions{Cursor: "c"}})
			require.ErrorIs(t, err, hogapi.ErrInvalid)
			_, err = client.AppMetrics.Get(t.Context(), export.String(), nil)
			if era >= hogapitest.E3 {
				require.ErrorIs(t, err, hogapi.ErrUnsupported)
				require.ErrorContains(t, err, "Runs.Counts")
			} else {
				require.NoError(t, err)
			}
		})
	}
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
