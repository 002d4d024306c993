package flows_test

import (
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// The time of a bubble begins at midnight of 1 January 2000, so these flows are about December 1999.
var december = time.Date(1999, 12, 1, 0, 0, 0, 0, time.UTC)

// anyAge is for flows of old intervals, and of servers that always choose by timestamp.
var anyAge = &hogapi.BackfillOptions{AcceptRowsByTimestamp: true}

func anHourOf(hour int) (from, to time.Time) { // of the first of December
	from = december.Add(time.Duration(hour) * time.Hour)
	return from, from.Add(time.Hour)
}

// flow runs f in virtual time, against each age of the service.
func flow(t *testing.T, f func(t *testing.T, s *hogapitest.Server, era hogapitest.Era), options ...hogapitest.Option) {
	t.Helper()
	for _, era := range []hogapitest.Era{hogapitest.E1, hogapitest.E4} {
		t.Run(era.String(), bubble(func(t *testing.T) {
			f(t, hogapitest.New(append([]hogapitest.Option{hogapitest.WithEra(era)}, options...)...), era)
		}))
	}
}

func defaultProject(s *hogapitest.Server) *hogapitest.Project {
	return s.Project(hogapitest.DefaultProject)
}

// exported is the project of a client, with an export.
func exported(t *testing.T, s *hogapitest.Server) (*hogapi.Client, *hogapitest.Project, uuid.UUID) {
	t.Helper()
	return s.Client(t), defaultProject(s), defaultProject(s).AddExport(hogapitest.Export{})
}

func sixHours() hogapi.BackfillRange {
	return hogapi.BackfillRange{Start: hogapi.AtTime(december), End: hogapi.AtTime(december.Add(6 * time.Hour))}
}

// backfilled follows a backfill to its end.
func backfilled(t *testing.T, client *hogapi.Client, export uuid.UUID, r hogapi.BackfillRange) (*hogapi.BackfillState, error) {
	t.Helper()
	ticket, err := client.BatchExports.Backfill(t.Context(), export, r, anyAge)
	require.NoError(t, err)
	return client.Backfills.Wait(t.Context(), ticket, nil)
}

// A failed look does not end a wait, and the next look sees the changes in between.
func TestBackfillIsFollowedToItsEnd(t *testing.T) {
	flow(t, func(t *testing.T, s *hogapitest.Server, era hogapitest.Era) {
		client, export := s.Client(t, hogapi.WithRetryPolicy(hogapi.RetryPolicy{MaxTries: 1})), defaultProject(s).AddExport(hogapitest.Export{})
		ticket, err := client.BatchExports.Backfill(t.Context(), export, sixHours(), anyAge)
		require.NoError(t, err)
		s.Script(ops.RunsList, hogapitest.Status(503), hogapitest.CutBefore(), hogapitest.RateLimit("90"))

		var last *hogapi.BackfillState
		var seen []float64
		for state, err := range client.Backfills.Watch(t.Context(), ticket, nil) {
			require.NoError(t, err)
			require.False(t, last != nil && last.Done, "nothing follows the end")
			last, seen = state, append(seen, state.Progress)
		}
		require.IsNonDecreasing(t, seen)
		require.Greater(t, len(seen), 6)
		require.Len(t, last.Runs, 6)
		assert.True(t, last.Done)
		assert.Equal(t, 6, last.Completed)
		assert.Zero(t, last.Failed)
		assert.InDelta(t, 1, last.Progress, 0)
		assert.Equal(t, era != hogapitest.E1, last.Backfill != nil)
		for i, run := range last.Runs {
			assert.Equal(t, december.Add(time.Duration(i)*time.Hour), *run.DataIntervalStart)
			assert.Equal(t, hogapi.RunStatusCompleted, run.Status)
		}
		for _, run := range defaultProject(s).Runs(export) {
			assert.EqualValues(t, "Completed", run.Status)
		}
	})
}

func TestBackfillOfNothing(t *testing.T) {
	flow(t, func(t *testing.T, s *hogapitest.Server, _ hogapitest.Era) {
		client, export := s.Client(t), defaultProject(s).AddExport(hogapitest.Export{})
		defaultProject(s).SetRecords(export, func(time.Time, time.Time) int { return 0 })
		ticket, err := client.BatchExports.Backfill(t.Context(), export, sixHours(), anyAge)
		require.NoError(t, err)
		state, err := client.Backfills.Wait(t.Context(), ticket, nil)
		require.ErrorAs(t, err, new(*hogapi.BackfillError))
		require.True(t, state.Done)
		require.Empty(t, state.Runs)
	})
}

func TestRetryIsFollowedToItsEnd(t *testing.T) {
	for name, old := range map[string]hogapitest.Run{
		"failed a month ago":    {Status: "Failed", Created: december},
		"failed a moment ago":   {Status: "Failed", Finished: time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)},
		"from the beginning":    {Status: "Failed", FromStart: true, Created: december},
		"is running, so joined": {Status: "Running"},
	} {
		t.Run(name, func(t *testing.T) {
			flow(t, func(t *testing.T, s *hogapitest.Server, _ hogapitest.Era) {
				client, project, export := exported(t, s)
				id := project.AddRun(export, old)
				ticket, err := client.Runs.Retry(t.Context(), export, id, anyAge)
				require.NoError(t, err)
				require.Equal(t, id, ticket.RetriedRun)
				state, err := client.Backfills.Wait(t.Context(), ticket, nil)
				require.NoError(t, err)
				require.Len(t, state.Runs, 1)
				require.Equal(t, old.Status == "Running", state.Runs[0].ID == id)
				require.Equal(t, hogapi.RunStatusCompleted, state.Runs[0].Status)
			}, hogapitest.WithPolls(6))
		})
	}
}

// A backfill that is cancelled before its first run was not empty.
func TestBackfillIsCancelledAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hogapitest.New(hogapitest.WithRunDelay(time.Minute))
		client, export := s.Client(t), defaultProject(s).AddExport(hogapitest.Export{})
		ticket, err := client.Backfills.Create(t.Context(), export, sixHours(), anyAge)
		require.NoError(t, err)
		require.NoError(t, client.Backfills.Cancel(t.Context(), export, ticket.BackfillID))
		state, err := client.Backfills.Wait(t.Context(), ticket, nil)
		require.ErrorAs(t, err, new(*hogapi.BackfillError))
		require.Equal(t, hogapi.RunStatusCancelled, state.Backfill.Status)
		require.ErrorIs(t, err, hogapi.ErrRunCancelled)
		require.NotErrorIs(t, err, hogapi.ErrRunFailed)
		require.Empty(t, state.Runs)
	})
}

// Following costs about two requests a look, however many runs the export has had.
func TestFollowingReadsOnlyWhatIsNew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hogapitest.New()
		client, project, export := exported(t, s)
		for i := range 500 {
			project.AddRun(export, hogapitest.Run{Created: time.Now().Add(-time.Duration(i+1) * time.Hour)})
		}
		_, err := backfilled(t, client, export, sixHours())
		require.NoError(t, err)
		looks := len(s.Calls(ops.BackfillsGet))
		require.Greater(t, looks, 6)
		require.LessOrEqual(t, len(s.Calls(ops.RunsList)), looks+1)
	})
}

// The error of a wait tells failed runs from cancelled runs and from failed records.
func TestBackfillErrorTellsFailedFromCancelled(t *testing.T) {
	for name, c := range map[string]struct {
		outcomes                      []hogapitest.Outcome
		failed, cancelled, incomplete bool
	}{
		"good":           {nil, false, false, false},
		"failed":         {[]hogapitest.Outcome{{}, {Status: "TimedOut"}}, true, false, false},
		"cancelled":      {[]hogapitest.Outcome{{}, {Status: "Cancelled"}}, false, true, false},
		"both":           {[]hogapitest.Outcome{{Status: "Failed", Error: "bucket is gone"}, {Status: "Cancelled"}}, true, true, false},
		"records failed": {[]hogapitest.Outcome{{}, {FailedRecords: 3}}, false, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			flow(t, func(t *testing.T, s *hogapitest.Server, era hogapitest.Era) {
				client, project, export := exported(t, s)
				project.NextRuns(c.outcomes...)
				state, err := backfilled(t, client, export, sixHours())
				incomplete := c.incomplete && era == hogapitest.E4 // E1 does not count them
				require.Equal(t, c.failed || incomplete, errors.Is(err, hogapi.ErrRunFailed))
				require.Equal(t, c.cancelled, errors.Is(err, hogapi.ErrRunCancelled))
				require.Equal(t, c.failed || c.cancelled || incomplete, err != nil)
				require.Equal(t, 6, state.Completed+state.Failed, "a failed run does not end the backfill")
				if era != hogapitest.E1 {
					require.Equal(t, hogapi.RunStatusCompleted, state.Backfill.Status, "says the service")
				}
				if name == "both" {
					failed := as[*hogapi.BackfillError](t, err)
					require.Same(t, state, failed.State)
					require.ErrorContains(t, err, "2 of 6 runs did not complete with all records")
					require.ErrorContains(t, err, "bucket is gone")
				}
				if incomplete {
					require.ErrorContains(t, err, "1 of 6 runs did not complete with all records")
					require.ErrorContains(t, err, "3 records failed")
				}
			})
		})
	}
}

// Here the service keeps no record of a backfill, and only the runs tell of it.

// Dates are days of the export's own zone, also where only the runs say that a range is covered, and a day has 25 hours.
func TestBackfillByDatesWithoutARecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hogapitest.New(hogapitest.WithLateRows(1 << 30))
		client := s.Client(t)
		export := defaultProject(s).AddExport(hogapitest.Export{Interval: "day", Timezone: "America/New_York"})
		_, err := client.BatchExports.Update(t.Context(), export, hogapi.BatchExportUpdateRequest{Interval: hogapi.Set(hogapi.IntervalDay), OffsetHour: hogapi.Set(22)})
		require.NoError(t, err)
		state, err := backfilled(t, client, export, hogapi.BackfillRange{Start: hogapi.AtDate(1999, 10, 20), End: hogapi.AtDate(1999, 11, 20)})
		require.NoError(t, err)
		require.Nil(t, state.Backfill)
		require.Equal(t, 31, state.Completed)
	})
}

// On a service without records a backfill that stops halfway looks like a slow one: that is said, not taken for the end.
func TestBackfillThatStopsHalfway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hogapitest.New(hogapitest.WithOldService())
		client, project, export := exported(t, s)
		ticket := &hogapi.BackfillTicket{ExportID: export, StartAt: hogapi.AtTime(december), EndAt: hogapi.AtTime(december.Add(2 * time.Hour)), RequestedAt: time.Now()}
		from, to := anHourOf(0)
		project.AddRun(export, hogapitest.Run{Start: from, End: to})
		start := time.Now()
		state, err := client.Backfills.Wait(t.Context(), ticket, &hogapi.WatchOptions{Settle: 10 * time.Minute})
		require.ErrorAs(t, err, new(*hogapi.BackfillError))
		require.ErrorContains(t, err, "a part of the range has no run")
		require.InDelta(t, 0.5, state.Progress, 0.001)
		require.GreaterOrEqual(t, time.Since(start), 10*time.Minute)
	})
}

// Until may end a run with a status that this package does not know. The wait then fails.
func TestUnknownEndIsNoSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hogapitest.New(hogapitest.WithOldService())
		client, project, export := exported(t, s)
		from, to := anHourOf(0)
		ticket := &hogapi.BackfillTicket{ExportID: export, StartAt: hogapi.AtTime(from), EndAt: hogapi.AtTime(to), RequestedAt: time.Now()}
		id := project.AddRun(export, hogapitest.Run{Status: "Abandoned", Start: from, End: to})
		over := &hogapi.WatchOptions{Until: func(r hogapi.Run) bool { return r.Status == "Abandoned" }}
		state, err := client.Backfills.Wait(t.Context(), ticket, over)
		require.ErrorAs(t, err, new(*hogapi.BackfillError))
		require.ErrorAs(t, err, new(*hogapi.RunError))
		require.NotErrorIs(t, err, hogapi.ErrRunFailed)
		require.NotErrorIs(t, err, hogapi.ErrRunCancelled)
		require.Equal(t, 1, state.Failed)
		_, err = client.Runs.Wait(t.Context(), export, id, over)
		require.ErrorAs(t, err, new(*hogapi.RunError))
	})
}

// A backfill without an end runs until it has caught up with the schedule, and then unpauses the export.
func TestBackfillCatchesUp(t *testing.T) {
	bubble(func(t *testing.T) {
		s := hogapitest.New(hogapitest.WithRunDelay(40 * time.Minute))
		client, p := s.Client(t), defaultProject(s)
		export := p.AddExport(hogapitest.Export{DestinationType: "NoOp", Paused: true})
		midnight := time.Now().UTC()
		ticket, err := client.Backfills.Create(t.Context(), export, hogapi.BackfillRange{Start: hogapi.AtTime(midnight.Add(-2 * time.Hour)), End: hogapi.CaughtUp()}, nil)
		require.NoError(t, err)
		text, err := json.Marshal(ticket)
		require.NoError(t, err)
		kept := &hogapi.BackfillTicket{}
		require.NoError(t, json.Unmarshal(text, kept))
		require.True(t, kept.EndAt.IsCaughtUp(), "%s", text)
		state, err := client.Backfills.Wait(t.Context(), kept, nil)
		require.NoError(t, err)
		assert.Nil(t, state.Backfill.EndAt)
		assert.Empty(t, state.NotExported)
		require.NotEmpty(t, state.Runs)
		last := state.Runs[len(state.Runs)-1].DataIntervalEnd
		assert.Equal(t, time.Now().UTC().Truncate(time.Hour), last, "the hour that was over meanwhile too")
		assert.True(t, last.After(midnight))
		after, err := client.BatchExports.Get(t.Context(), export)
		require.NoError(t, err)
		assert.False(t, after.Paused)
		assert.Equal(t, "100 %, 4 runs completed, 0 failed", state.String())
	})(t)
}
