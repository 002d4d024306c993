package hogapi_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// What an earlier backfill or retry of the same range did is not taken for what this one does.

func anHour() hogapi.BackfillRange {
	from, to := anHourOf(1, 0)
	return hogapi.BackfillRange{Start: hogapi.At(from), End: hogapi.At(to)}
}

// A program that tries again on error, on a service whose run begins a second after the request: each attempt is judged by its
// own run, whatever became of those before.
func TestEachAttemptIsJudgedByItsOwnRun(t *testing.T) {
	outcomes := []hogapitest.Outcome{
		{Status: "Failed", Error: "attempt 1"}, {}, {Status: "Failed", Error: "attempt 3"},
		{Status: "Failed", Error: "attempt 4"}, {Status: "Cancelled", Error: "attempt 5"}, {},
	}
	for _, what := range []string{"backfill", "retry of the first run", "retry of the newest run"} {
		for _, delay := range []time.Duration{0, time.Second, 45 * time.Second} {
			t.Run(fmt.Sprint(what, " after ", delay), func(t *testing.T) {
				flow(t, func(t *testing.T, s *hogapitest.Server, era hogapitest.Era) {
					client, project := s.Client(t), defaultProject(s)
					export := project.AddExport(hogapitest.Export{})
					from, to := anHourOf(1, 0)
					retried := project.AddRun(export, hogapitest.Run{Status: "Failed", Start: from, End: to, Finished: time.Now(), Error: "attempt 0"})
					project.NextRuns(outcomes...)
					for i, outcome := range outcomes {
						var ticket *hogapi.BackfillTicket
						var err error
						if what == "backfill" {
							ticket, err = client.BatchExports.Backfill(t.Context(), export, anHour())
						} else {
							ticket, err = client.Runs.Retry(t.Context(), export, retried)
						}
						require.NoError(t, err)
						state, err := client.Backfills.Wait(t.Context(), ticket, &hogapi.WatchOptions{Interval: 20 * time.Millisecond})
						require.Len(t, state.Runs, 1, "attempt %d", i+1)
						runs := project.Runs(export)
						require.Len(t, runs, i+2)
						require.Equal(t, runs[i+1].ID, state.Runs[0].ID, "attempt %d is judged by its own run", i+1)
						if outcome.Status == "" {
							require.NoError(t, err)
						} else {
							require.ErrorContains(t, err, outcome.Error)
						}
						if era != hogapitest.E1 {
							require.Equal(t, runs[i+1].BackfillID, state.Backfill.ID, "and so is its record")
						}
						if what == "retry of the newest run" {
							retried = state.Runs[0].ID
						}
					}
				}, hogapitest.WithRunDelay(delay), hogapitest.WithPolls(1))
			})
		}
	}
}

// Nothing of a request that was lost is found, although the same range was exported a moment before, by another process.
func TestALostRequestIsNotReportedAsCompleted(t *testing.T) {
	for _, age := range []time.Duration{0, 4 * time.Second, 50 * time.Second} {
		t.Run(age.String(), func(t *testing.T) {
			flow(t, func(t *testing.T, s *hogapitest.Server, era hogapitest.Era) {
				export := defaultProject(s).AddExport(hogapitest.Export{})
				first := s.Client(t)
				ticket, err := first.BatchExports.Backfill(t.Context(), export, anHour())
				require.NoError(t, err)
				_, err = first.Backfills.Wait(t.Context(), ticket, &hogapi.WatchOptions{Interval: time.Millisecond})
				require.NoError(t, err)
				time.Sleep(age) // virtual

				op := hogapi.OpBatchExportsBackfill
				if era == hogapitest.E3 {
					op = hogapi.OpBackfillsCreate
				}
				s.Script(op, hogapitest.CutBefore())
				fresh := s.Client(t)
				ticket, err = fresh.BatchExports.Backfill(t.Context(), export, anHour())
				require.ErrorIs(t, err, hogapi.ErrOutcomeUnknown)
				state, err := fresh.Backfills.Wait(t.Context(), ticket, nil)
				require.ErrorIs(t, err, hogapi.ErrOutcomeUnknown)
				require.Empty(t, state.Runs)
				require.Nil(t, state.Backfill)
			}, hogapitest.WithPolls(1))
		})
	}
}

// The record of a retry is written a moment after the answer, which does not name it. The one of the retry before is there.
func TestTheRecordOfAnEarlierRetryIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hogapitest.New(hogapitest.WithLateRows(3), hogapitest.WithPolls(1))
		client, project := s.Client(t), defaultProject(s)
		export := project.AddExport(hogapitest.Export{})
		failed := project.AddRun(export, hogapitest.Run{Status: "Failed"})
		project.NextRuns(hogapitest.Outcome{Status: "Failed"}, hogapitest.Outcome{})
		for i := range 2 {
			ticket, err := client.Runs.Retry(t.Context(), export, failed)
			require.NoError(t, err)
			state, err := client.Backfills.Wait(t.Context(), ticket, &hogapi.WatchOptions{Interval: time.Millisecond})
			require.Equal(t, i == 0, err != nil)
			require.Len(t, state.Runs, 1)
			require.Equal(t, project.Runs(export)[i+1].BackfillID, state.Backfill.ID)
		}
	})
}
