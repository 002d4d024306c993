package peer_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/internal/testevents"
)

// old accepts the effects of backfills on old intervals.
var old = &hogapi.BackfillOptions{AcceptRowsByTimestamp: true}

func TestRunsAndBackfills(t *testing.T) {
	_, c, ctx := begin(t, admin)
	e := must(c.BatchExports.Create(ctx, export(destinations[0].made(t, c))))(t)
	require.NoError(t, c.BatchExports.Pause(ctx, e.ID))
	must(c.BatchExports.Unpause(ctx, e.ID, nil))(t)

	period := must(e.BackfillRange(firstDay, firstDay.Add(3*time.Hour)))(t)
	ticket := must(c.BatchExports.Backfill(ctx, e.ID, period, old))(t)
	state := must(c.Backfills.Wait(ctx, ticket, fast))(t)
	require.Len(t, state.Runs, 3)
	require.Equal(t, 3, state.Completed)
	require.Equal(t, hogapi.RunStatusCompleted, state.Backfill.Status)
	b := must(c.Backfills.Get(ctx, e.ID, state.Backfill.ID))(t)
	c.read(t, b)
	backfills := must(c.Backfills.List(ctx, e.ID, nil))(t)
	c.read(t, backfills)
	refusal(t, c.Backfills.Cancel(ctx, e.ID, b.ID), hogapi.ErrInvalid, 400, "Cannot cancel a backfill that is in 'Completed' status")

	page := must(c.Runs.List(ctx, e.ID, &hogapi.RunListOptions{Statuses: []hogapi.RunStatus{hogapi.RunStatusCompleted}}))(t)
	c.read(t, page)
	require.Len(t, page.Results, 3)
	require.EqualValues(t, 5<<30, *page.Results[0].BytesExported)
	page = must(c.Runs.List(ctx, e.ID, &hogapi.RunListOptions{Start: firstDay, End: firstDay.Add(time.Hour)}))(t)
	require.Len(t, page.Results, 1)
	run := must(c.Runs.Get(ctx, e.ID, page.Results[0].ID))(t)
	c.read(t, run)
	refusal(t, c.Runs.Cancel(ctx, e.ID, run.ID), hogapi.ErrInvalid, 400, "Cannot cancel a run that is in 'Completed' status")

	retry := must(c.Runs.Retry(ctx, e.ID, run.ID, old))(t)
	state = must(c.Backfills.Wait(ctx, retry, fast))(t)
	require.Len(t, state.Runs, 1)
	counts := must(c.Runs.Counts(ctx, e.ID, nil))(t)
	total := 0
	for _, day := range counts {
		total += day.Completed()
	}
	require.Equal(t, 4, total)
	_, err := c.Runs.List(ctx, uuid.New(), nil)
	assert.NoError(t, err, "the service has no runs for an export that does not exist")
	e = must(c.BatchExports.Get(ctx, e.ID))(t)
	c.read(t, e)
	require.Len(t, e.LatestRuns, 4)
}

func TestBackfillsThatEndOtherwise(t *testing.T) {
	_, c, ctx := begin(t, admin)
	target := destinations[0].made(t, c)

	daily := export(target)
	hour := 0
	daily.Interval, daily.OffsetHour = hogapi.IntervalDay, &hour
	e := must(c.BatchExports.Create(ctx, daily))(t)
	c.read(t, e)
	from := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	period := must(e.BackfillRange(from, from.AddDate(0, 0, 2)))(t)
	ticket := must(c.Backfills.Create(ctx, e.ID, period, old))(t)
	state := must(c.Backfills.Wait(ctx, ticket, fast))(t)
	require.Len(t, state.Runs, 2)

	config := target.Config.(destination.S3)
	config.BucketName = str("missing")
	target.Config = config
	e = must(c.BatchExports.Create(ctx, export(target)))(t)
	period = must(e.BackfillRange(from, from.Add(2*time.Hour)))(t)
	ticket = must(c.Backfills.Create(ctx, e.ID, period, old))(t)
	state, err := c.Backfills.Wait(ctx, ticket, fast)
	require.ErrorIs(t, err, hogapi.ErrRunFailed)
	require.Equal(t, 2, state.Failed)
	require.Contains(t, *state.Runs[0].LatestError, "NoSuchBucket")
	failed := testevents.Walked(t, c.Runs.LatestFailed(ctx, e.ID, nil))
	require.Len(t, failed, 2)
	for _, run := range failed {
		require.Equal(t, hogapi.RunStatusFailed, run.Status)
	}

	ways := map[string]func(*hogapi.BackfillState) (called bool, err error){
		"the backfill": func(state *hogapi.BackfillState) (bool, error) {
			if state.Backfill == nil || state.Backfill.Status.IsTerminal() {
				return false, nil
			}
			return true, c.Backfills.Cancel(ctx, e.ID, state.Backfill.ID)
		},
		"one run": func(state *hogapi.BackfillState) (bool, error) {
			if len(state.Runs) == 0 || state.Runs[0].Status.IsTerminal() {
				return false, nil
			}
			return true, c.Runs.Cancel(ctx, e.ID, state.Runs[0].ID)
		},
	}
	for name, cancel := range ways {
		ticket, err = c.Backfills.Create(ctx, e.ID, period, old)
		require.NoError(t, err, name)
		for state, err := range c.Backfills.Watch(ctx, ticket, fast) {
			require.NoError(t, err, name)
			called, err := cancel(state)
			require.NoError(t, err, name)
			if called {
				break
			}
		}
		_, err = c.Backfills.Wait(ctx, ticket, fast)
		require.ErrorIs(t, err, hogapi.ErrRunCancelled, name)
	}

	future := hogapi.BackfillRange{Start: period.Start, End: hogapi.At(time.Now().Add(time.Hour))}
	refused(c.Backfills.Create(ctx, e.ID, future, old))(t, hogapi.ErrInvalid, 400, "is in the future")
	_, err = c.Backfills.Create(ctx, uuid.New(), period, old)
	require.ErrorIs(t, err, hogapi.ErrNotFound)

	require.NoError(t, c.BatchExports.Pause(ctx, e.ID))
	must(c.BatchExports.Unpause(ctx, e.ID, &hogapi.UnpauseOptions{Backfill: true}))(t)
	require.NoError(t, c.BatchExports.Delete(ctx, e.ID))
	refusal(t, c.BatchExports.Delete(ctx, e.ID), hogapi.ErrNotFound, 404, "Not found.")
}
