package hogapi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/ops"
)

func showing(status RunStatus, completed int) step {
	return answers(200, fmt.Sprintf(`{"id": "%s", "status": %q, "records_completed": %d, "latest_error": "no bucket\n"}`, runA, status, completed))
}

// play makes a client that meets the steps and does not retry.
func play(t *testing.T, steps ...step) (*Client, *script) {
	t.Helper()
	s := newScript(steps...)
	return newFakeClient(t, s, WithRetryPolicy(RetryPolicy{MaxTries: 1})), s
}

func seconds(n ...int) []time.Duration {
	var list []time.Duration
	for _, s := range n {
		list = append(list, time.Duration(s)*time.Second)
	}
	return list
}

func TestWaitJudgesByTheStatus(t *testing.T) {
	for _, status := range runStatuses {
		if !status.IsTerminal() {
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			client, _ := play(t, showing("ContinuedAsNew", 0), showing(status, 3))
			run, err := client.Runs.Wait(t.Context(), exportA, runA, nil)
			require.Equal(t, status, run.Status)
			if status == RunStatusCompleted {
				require.NoError(t, err)
				return
			}
			var failed *RunError
			require.ErrorAs(t, err, &failed)
			require.Same(t, run, failed.Run)
			require.EqualError(t, err, fmt.Sprintf("hogapi: run %s ended as %s: no bucket ", runA, status))
			require.Equal(t, status.IsFailure(), errors.Is(err, ErrRunFailed), status)
			require.Equal(t, status == RunStatusCancelled, errors.Is(err, ErrRunCancelled), status)
			require.NotErrorIs(t, err, ErrRecordsFailed)
		})
	}
}

func TestWaitUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, p := play(t, showing("FailedRetryable", 0), showing("Running", 1), showing("Running", 2), showing("Running", 3))
		run, err := client.Runs.Wait(t.Context(), exportA, runA, &WatchOptions{Until: func(r Run) bool { return *r.RecordsCompleted == 2 }})
		require.NoError(t, err)
		require.Equal(t, RunStatusRunning, run.Status)
		require.Len(t, p.times, 3)
	})
}

func TestWatchBearsFailuresThatCanPass(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, p := play(t, showing("Running", 1), answers(502, "<html>"), fails(errCut), answers(500, ""), fails(errCut),
			showing("Running", 1), fails(errCut), fails(errCut), answers(429, `{"code":"throttled"}`, "Retry-After", "300"), showing("Completed", 2))
		run, err := client.Runs.Wait(t.Context(), exportA, runA, nil)
		require.NoError(t, err, "failures count in a row")
		require.Equal(t, RunStatusCompleted, run.Status)
		require.GreaterOrEqual(t, p.waits()[8], 300*time.Second, "no sooner than the service asks for")
	})
}

func TestWatchGivesUpWhereNothingCanPass(t *testing.T) {
	for status, sentinel := range map[int]error{401: ErrUnauthorized, 403: ErrForbidden, 404: ErrNotFound, 400: ErrInvalid} {
		synctest.Test(t, func(t *testing.T) {
			client, p := play(t, showing("Running", 1), answers(status, `{"detail": "no"}`))
			run, err := client.Runs.Wait(t.Context(), exportA, runA, nil)
			require.ErrorIs(t, err, sentinel)
			require.NotNil(t, run)
			require.Len(t, p.times, 2)
		})
	}
	client, p := play(t, answers(200, "<html>"))
	_, err := client.Runs.Wait(t.Context(), exportA, runA, nil)
	require.ErrorAs(t, err, new(*DecodeError))
	require.Len(t, p.times, 1)
}

func TestWatchRefusesBadInput(t *testing.T) {
	client, mock := newTestClient(t)
	ctx := t.Context()
	ticket := &BackfillTicket{ExportID: exportA, StartAt: Date(2024, 1, 1), EndAt: Date(2024, 2, 1), RequestedAt: time.Now()}
	for _, o := range []WatchOptions{{Interval: -1}, {MaxInterval: -1}, {MaxFailures: -1}, {Settle: -1}} {
		_, err := client.Runs.Wait(ctx, exportA, runA, &o)
		require.ErrorIs(t, err, ErrInvalid)
		_, err = client.Backfills.Wait(ctx, ticket, &o)
		require.ErrorIs(t, err, ErrInvalid)
	}
	for _, bad := range []*BackfillTicket{
		nil, {}, {ExportID: exportA}, {ExportID: exportA, RequestedAt: time.Now()},
		{ExportID: exportA, RequestedAt: time.Now(), StartAt: Date(2024, 1, 1)},
		{RetriedRun: runA, RequestedAt: time.Now()}, {ExportID: exportA, RetriedRun: runA},
	} {
		state, err := client.Backfills.Wait(ctx, bad, nil)
		require.ErrorIs(t, err, ErrInvalid)
		require.Nil(t, state)
	}
	require.Zero(t, mock.GetTotalCallCount())
}

// The limit ends a wait, and the error says how the run was last seen.
func TestWaitHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, _ := play(t, answers(200, fmt.Sprintf(`{"id": "%s", "status": "Running", "records_completed": 7, "latest_error": "SlowDown"}`, runA)))
		looks, begin := 0, time.Now()
		run, err := client.Runs.Wait(t.Context(), exportA, runA, &WatchOptions{Limit: time.Minute, OnLook: func(i LookInfo) {
			looks++
			require.Equal(t, "run "+runA.String(), i.Of)
			require.Equal(t, "Running, 7 records: SlowDown", i.State)
		}})
		require.Equal(t, time.Minute, time.Since(begin))
		require.EqualValues(t, 7, *run.RecordsCompleted)
		require.EqualError(t, err, "hogapi: stopped watching run "+runA.String()+", last seen as Running, 7 records: SlowDown: "+
			"context deadline exceeded: WatchOptions.Limit of 1m0s is over")
		require.Equal(t, 4, looks, "after 0, 5, 15 and 35 seconds")
	})
}

// A run without a status could be watched forever.
func TestNothingIsWatchedWithoutAStatus(t *testing.T) {
	for _, status := range []string{"", `, "status": null`, `, "status": ""`} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			answer := fmt.Sprintf(`{"id": "%s", "files": []%s}`, runA, status)
			client, _ := play(t, answers(200, answer))
			_, err := client.Runs.Wait(ctx, exportA, runA, nil)
			require.ErrorContains(t, err, "it has no status")
			_, err = client.Runs.List(ctx, exportA, nil)
			require.Error(t, err)
			_, err = client.Backfills.Get(ctx, exportA, runA)
			require.ErrorContains(t, err, "it has no status")
			_, err = client.FileDownloads.Wait(ctx, runA, nil)
			require.ErrorContains(t, err, "it has no status")
			require.ErrorAs(t, err, new(*DecodeError))
		})
	}
}

// A run has the status Completed even if some of its records failed.
func TestWaitSaysThatRecordsFailed(t *testing.T) {
	for failed, text := range map[int]string{0: "", 12: "hogapi: run " + runA.String() + " completed, but 12 records failed"} {
		client, _ := play(t, answers(200, fmt.Sprintf(`{"id": "%s", "status": "Completed", "records_completed": 988, "records_failed": %d}`, runA, failed)))
		run, err := client.Runs.Wait(t.Context(), exportA, runA, nil)
		require.Equal(t, RunStatusCompleted, run.Status)
		if text == "" {
			require.NoError(t, err)
			continue
		}
		require.EqualError(t, err, text)
		require.ErrorIs(t, err, ErrRecordsFailed)
		require.NotErrorIs(t, err, ErrRunFailed)
		require.ErrorAs(t, err, new(*RunError))
	}
}

// The client remembers a bounded number of a backfill's runs, however many the service shows.
func TestFollowingHoldsABoundedNumberOfRuns(t *testing.T) {
	var runs []string
	for i := range 10 {
		runs = append(runs, fmt.Sprintf(`{"id": "%s", "status": "Completed", "created_at": "2024-01-02T00:00:00Z", "data_interval_start": "2024-01-01T00:00:00Z", "data_interval_end": "2024-01-01T00:%02d:00Z"}`, uuid.New(), i+1))
	}
	client, _ := play(t, answers(200, `{"next": null, "results": [`+strings.Join(runs, ",")+`]}`))
	day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	ticket := BackfillTicket{ExportID: exportA, StartAt: At(day), EndAt: At(day.Add(time.Hour)), RequestedAt: day, Baseline: &BackfillBaseline{OfRuns: true}}
	o, err := new(WatchOptions).withDefaults(ops.BackfillsGet)
	require.NoError(t, err)
	f := newFollower(client, ticket, o, nil)
	f.engine.Runs.Most = 3
	_, err = f.look(t.Context())
	require.ErrorContains(t, err, "more than 3 intervals: start and follow it in parts")
	require.Len(t, f.engine.Runs.Sorted(), 4)
}
