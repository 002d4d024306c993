package hogapi_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// Here the service keeps no record of a backfill, and only the runs tell of it.

// Dates are days of the export's own zone. Without the service's record only the runs say when such a range is covered, also in a
// month with a day of 25 hours.
func TestBackfillByDatesWithoutARecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hogapitest.New(hogapitest.WithLateRows(1 << 30))
		client := s.Client(t)
		export := defaultProject(s).AddExport(hogapitest.Export{Interval: "day", Timezone: "America/New_York"})
		_, err := client.BatchExports.Update(t.Context(), export, hogapi.BatchExportUpdateRequest{Interval: hogapi.Set(hogapi.IntervalDay), OffsetHour: hogapi.Set(22)})
		require.NoError(t, err)
		ticket, err := client.BatchExports.Backfill(t.Context(), export, hogapi.BackfillRange{Start: hogapi.Date(1999, 10, 20), End: hogapi.Date(1999, 11, 20)}, anyAge)
		require.NoError(t, err)
		state, err := client.Backfills.Wait(t.Context(), ticket, nil)
		require.NoError(t, err)
		require.Nil(t, state.Backfill)
		require.Equal(t, 31, state.Completed)
	})
}

// On a service without records a backfill that stops halfway looks like a slow one: that is said, not taken for the end.
func TestBackfillThatStopsHalfway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hogapitest.New(hogapitest.WithOldService())
		client, project := s.Client(t), defaultProject(s)
		export := project.AddExport(hogapitest.Export{})
		ticket := &hogapi.BackfillTicket{ExportID: export, StartAt: hogapi.At(december), EndAt: hogapi.At(december.Add(2 * time.Hour)), RequestedAt: time.Now()}
		from, to := anHourOf(1, 0)
		project.AddRun(export, hogapitest.Run{Start: from, End: to})
		start := time.Now()
		state, err := client.Backfills.Wait(t.Context(), ticket, &hogapi.WatchOptions{Settle: 10 * time.Minute})
		var failed *hogapi.BackfillError
		require.ErrorAs(t, err, &failed)
		require.ErrorContains(t, err, "a part of the range has no run")
		require.InDelta(t, 0.5, state.Progress, 0.001)
		require.GreaterOrEqual(t, time.Since(start), 10*time.Minute)
		require.NotErrorIs(t, err, hogapi.ErrNoRuns)
	})
}

// late adds runs to an old service that makes nothing by itself, each so many seconds from now.
func late(project *hogapitest.Project, export uuid.UUID, runs map[int]hogapitest.Run) {
	for seconds, run := range runs {
		time.AfterFunc(time.Duration(seconds)*time.Second, func() { project.AddRun(export, run) })
	}
}

// Without a record the first look may come before the first run. What was over at the request is not mistaken for it.
func TestRunsThatWereOverAreNotMistaken(t *testing.T) {
	from, to := anHourOf(1, 0)
	for name, retry := range map[string]bool{"backfill": false, "retry": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := hogapitest.New(hogapitest.WithOldService())
				client, project := s.Client(t), defaultProject(s)
				export := project.AddExport(hogapitest.Export{})
				ticket := &hogapi.BackfillTicket{ExportID: export, StartAt: hogapi.At(from), EndAt: hogapi.At(to), RequestedAt: time.Now()}
				old := hogapitest.Run{Status: "Failed", Start: from, End: to, Created: time.Now().Add(-4 * time.Second), Finished: time.Now().Add(-time.Second)}
				if retry {
					old.Finished = time.Now() // the ticket's time may be a little early
				}
				id := project.AddRun(export, old)
				if retry {
					ticket = &hogapi.BackfillTicket{ExportID: export, RetriedRun: id, RequestedAt: ticket.RequestedAt}
				}
				late(project, export, map[int]hogapitest.Run{33: {Start: from, End: to}})
				state, err := client.Backfills.Wait(t.Context(), ticket, nil)
				require.NoError(t, err)
				require.Len(t, state.Runs, 1)
				require.NotEqual(t, id, state.Runs[0].ID)
			})
		})
	}
}

// A run that was under way may end before its interval's turn comes. The interval then gets a run of its own, which counts.
func TestBackfillDoesNotEndWithAJoinedRunThatEndedEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hogapitest.New(hogapitest.WithOldService())
		client, project := s.Client(t), defaultProject(s)
		export := project.AddExport(hogapitest.Export{})
		from, middle := anHourOf(1, 0)
		_, to := anHourOf(1, 1)
		ticket := &hogapi.BackfillTicket{ExportID: export, StartAt: hogapi.At(from), EndAt: hogapi.At(to), RequestedAt: time.Now()}
		project.NextRuns(hogapitest.Outcome{Status: "Failed"})
		project.AddRun(export, hogapitest.Run{Status: "Running", Start: middle, End: to, Created: time.Now().Add(-time.Minute)})
		late(project, export, map[int]hogapitest.Run{61: {Start: from, End: middle}, 122: {Start: middle, End: to}})
		state, err := client.Backfills.Wait(t.Context(), ticket, nil)
		require.NoError(t, err)
		require.Equal(t, 2, state.Completed)
	})
}

// A status that this package does not know ends a run where Until says so. It is no success.
func TestUnknownEndIsNoSuccess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hogapitest.New(hogapitest.WithOldService())
		client, project := s.Client(t), defaultProject(s)
		export := project.AddExport(hogapitest.Export{})
		from, to := anHourOf(1, 0)
		ticket := &hogapi.BackfillTicket{ExportID: export, StartAt: hogapi.At(from), EndAt: hogapi.At(to), RequestedAt: time.Now()}
		id := project.AddRun(export, hogapitest.Run{Status: "Abandoned", Start: from, End: to})
		over := &hogapi.WatchOptions{Until: func(r hogapi.Run) bool { return r.Status == "Abandoned" }}
		state, err := client.Backfills.Wait(t.Context(), ticket, over)
		require.ErrorAs(t, err, new(*hogapi.BackfillError))
		require.ErrorAs(t, err, new(*hogapi.RunError))
		require.Equal(t, 1, state.Failed)
		_, err = client.Runs.Wait(t.Context(), export, id, over)
		require.ErrorAs(t, err, new(*hogapi.RunError))
	})
}
