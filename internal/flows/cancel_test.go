package flows_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/hogapitest"
)

// The service shows Cancelled at once; the run ends later, perhaps in another way, or never.
func TestCancelWaitsForTheEndOfTheRun(t *testing.T) {
	for effect, tt := range map[hogapitest.CancelEffect]struct {
		matches error
		status  hogapi.RunStatus
		text    string
	}{
		hogapitest.CancelEnds:        {nil, "Cancelled", ""},
		hogapitest.CancelIsTooLate:   {nil, "Completed", "was not cancelled: ended as Completed"},
		hogapitest.CancelHasNoEffect: {hogapi.ErrOutcomeUnknown, "Running", "is not over after 2m0s; its status is Running"},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, project, export := exported(t, hogapitest.New(hogapitest.WithPolls(1)))
			project.NextRuns(hogapitest.Outcome{OnCancel: effect})
			id := project.AddRun(export, hogapitest.Run{Status: "Running"})
			began := time.Now()
			err := client.Runs.Cancel(t.Context(), export, id)
			require.LessOrEqual(t, time.Since(began), 3*time.Minute)
			require.Equal(t, tt.status, project.Runs(export)[0].Status)
			require.Equal(t, effect == hogapitest.CancelHasNoEffect, project.Runs(export)[0].Finished.IsZero())
			if tt.text == "" {
				require.NoError(t, err)
				return
			}
			if tt.matches == nil {
				require.Equal(t, id, as[*hogapi.RunError](t, err).Run.ID)
			} else {
				require.ErrorIs(t, err, tt.matches)
			}
			require.ErrorContains(t, err, tt.text)
		})
	}
}

// A backfill joins a cancelled run that is still exporting. Only the rows that the run exports in the end count.
func TestBackfillThatJoinsACancelledRun(t *testing.T) {
	for name, tt := range map[string]struct {
		effect   hogapitest.CancelEffect
		interval hogapi.Interval // at the backfill
		matches  error
		text     string
		state    string
		plan     []string // of a repair after it
	}{
		"that completes": {hogapitest.CancelIsTooLate, hogapi.IntervalHour, nil, "", "100 %, 1 runs completed, 0 failed", nil},
		"that ends":      {hogapitest.CancelEnds, hogapi.IntervalHour, hogapi.ErrRunCancelled, "1 of 1 runs did not complete", "100 %, 0 runs completed, 1 failed", []string{"backfill as_scheduled 1 planned"}},
		"of the last hour of a day": {
			hogapitest.CancelIsTooLate, hogapi.IntervalDay, nil, "no run is shown from 2026-11-25T00:00:00Z to 2026-11-25T23:00:00Z", "4 %, 1 runs completed, 0 failed",
			[]string{"file_download as_scheduled 23 left_to_you"},
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			server := hogapitest.New(hogapitest.WithPolls(1), hogapitest.WithTime(coverageNow))
			client, project := server.Client(t), server.Project(hogapitest.DefaultProject)
			midnight := coverageNow.Truncate(24 * time.Hour)
			export := project.AddExport(hogapitest.Export{Created: midnight.AddDate(0, 0, -1), DestinationType: "BigQuery", Integration: 1})
			project.NextRuns(hogapitest.Outcome{OnCancel: tt.effect, CancelPolls: 9})
			run := project.AddRun(export, hogapitest.Run{Status: "Running", Start: midnight.Add(-time.Hour), End: midnight, Created: midnight.Add(time.Minute)})
			project.EditExport(export, midnight.Add(2*time.Minute), func(x *hogapitest.Export) { x.Interval, x.Paused = tt.interval, true })
			cancel := hogapi.Request{Method: "POST", Path: "/batch_exports/" + export.String() + "/runs/" + run.String() + "/cancel/"} // as somebody else
			err := client.Do(t.Context(), cancel, nil)
			require.NoError(t, err, name)
			c, err := client.BatchExports.Get(t.Context(), export)
			require.NoError(t, err)
			from := map[hogapi.Interval]time.Time{hogapi.IntervalHour: midnight.Add(-time.Hour), hogapi.IntervalDay: midnight.AddDate(0, 0, -1)}[tt.interval]
			bounds, err := c.BackfillRange(from, midnight)
			require.NoError(t, err)
			ticket, err := client.BatchExports.Backfill(t.Context(), export, bounds, nil)
			require.NoError(t, err)
			require.Len(t, project.Runs(export), 1, "it is joined")
			state, err := client.Backfills.Wait(t.Context(), ticket, nil)
			if tt.text == "" {
				require.NoError(t, err, name)
			} else {
				require.ErrorContains(t, err, tt.text, name)
			}
			if tt.matches != nil {
				require.ErrorIs(t, err, tt.matches)
			}
			assert.Equal(t, tt.state, state.String(), name)
			covered, err := coverage.Of(t.Context(), client, export, &coverage.Options{From: from, To: midnight})
			require.NoError(t, err)
			plan, err := coverage.MakePlan(t.Context(), client, covered, nil)
			require.NoError(t, err)
			assert.Equal(t, tt.plan, brief(plan), "%s: %v", name, covered)
		})
	}
}
