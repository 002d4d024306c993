package flows_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// runsOf returns how many runs of backfills an export has.
func (b *brokenExport) runsOf() (n int) {
	for _, run := range b.project.Runs(b.export) {
		if run.BackfillID != uuid.Nil {
			n++
		}
	}
	return n
}

// addEvent adds an event with a timestamp in an hour, counted back as in exportOf.
func (b *brokenExport) addEvent(back int, event string) {
	at := coverageNow.Truncate(time.Hour).Add(-time.Duration(back)*time.Hour + time.Minute)
	b.project.AddEvent(hogapitest.StoredEvent{UUID: uuid.New(), Event: event, DistinctID: "x", Time: at})
}

// If the backfill of a step failed in the middle, only the intervals without a completed run are exported again.
func TestRepairExportsNoIntervalTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 40, hogapitest.Export{}, map[int]hogapi.RunStatus{30: "", 29: "", 28: "", 27: "", 26: ""})
		plan := b.plan(t, nil)
		failed := hogapitest.Outcome{Status: "Failed", Error: "no such bucket"}
		b.project.NextRuns(hogapitest.Outcome{}, failed, hogapitest.Outcome{}, hogapitest.Outcome{Status: "Cancelled"})
		_, err := coverage.Repair(t.Context(), b.client, plan, nil)
		require.ErrorIs(t, err, hogapi.ErrRunFailed)
		require.Equal(t, 5, b.runsOf())
		report, err := coverage.Repair(t.Context(), b.client, plan, nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"backfill as_scheduled 5 done"}, brief(plan))
		assert.Equal(t, 5+2, b.runsOf())
		assert.Empty(t, report.After.Gaps())
	})
}

// While Repair waits for the backfills of others, they may export its gap.
func TestRepairLooksAgainAfterOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 40, hogapitest.Export{}, map[int]hogapi.RunStatus{5: ""})
		plan := b.plan(t, nil)
		b.server.Script(ops.BackfillsCreate, hogapitest.Status(http.StatusTooManyRequests, map[string]any{"type": "throttled_error", "code": "too_many_concurrent_backfills"}))
		time.AfterFunc(10*time.Second, func() {
			_, err := b.client.BatchExports.Backfill(t.Context(), b.export, hogapi.BackfillRange{Start: hogapi.AtTime(plan.Steps[0].Start), End: hogapi.AtTime(plan.Steps[0].End)}, nil)
			assert.NoError(t, err)
		})
		_, err := coverage.Repair(t.Context(), b.client, plan, nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"backfill as_scheduled 1 covered_already"}, brief(plan))
		assert.Equal(t, 1, b.runsOf())
	})
}

// The clock of this machine may be wrong: the service's says whether a gap has crossed the age line.
func TestRepairByTheClockOfTheService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		b := newBroken(t, 200, hogapitest.Export{}, map[int]hogapi.RunStatus{110: ""})
		plan := b.plan(t, nil)
		b.client = b.server.Client(t, hogapi.WithClock(func() time.Time { return coverageNow.Add(time.Since(began) - 48*time.Hour) }))
		time.Sleep(24 * time.Hour)
		_, err := coverage.Repair(t.Context(), b.client, plan, nil)
		require.ErrorContains(t, err, "this gap has become older since the plan was made")
		assert.Empty(t, b.project.Backfills(b.export))

		plan = b.plan(t, nil)
		young := &plan.Steps[len(plan.Steps)-1] // the day meanwhile
		_, _ = coverage.Repair(t.Context(), b.client, plan, nil)
		assert.WithinDuration(t, coverageNow.Add(24*time.Hour), young.BegunAt, time.Hour)
	})
}

// A failed call of a plan or a repair leads to an error or to the same result, and always to a single backfill.
func TestRepairOverABadNetwork(t *testing.T) {
	for name, tt := range map[string]struct {
		fault hogapitest.Fault
		want  error // nil: perhaps none, since the call is repeated
	}{
		"server error":             {hogapitest.Status(http.StatusInternalServerError), nil},
		"end in the middle of one": {hogapitest.CutBody(20), nil},
		"dead network":             {hogapitest.Refuse(), nil},
		"wrong key":                {hogapitest.Status(http.StatusUnauthorized), hogapi.ErrUnauthorized},
		"no permission":            {hogapitest.Status(http.StatusForbidden, `{"detail": "You don't have access to the project."}`), hogapi.ErrForbidden},
	} {
		for _, op := range []hogapi.Op{ops.BatchExportsGet, ops.BackfillsList, ops.RunsList, ops.BackfillsCreate, ops.BackfillsGet} {
			t.Run(name+"/"+string(op), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					b := newBroken(t, 130, hogapitest.Export{}, map[int]hogapi.RunStatus{110: ""})
					b.client = b.server.Client(t, hogapi.WithRetryPolicy(hogapi.RetryPolicy{MaxTries: 1}))
					if op == ops.BatchExportsGet || op == ops.BackfillsList {
						c, err := coverage.Of(t.Context(), b.client, b.export, nil)
						require.NoError(t, err)
						b.server.Script(op, tt.fault)
						plan, err := coverage.MakePlan(t.Context(), b.client, c, nil)
						require.Error(t, err)
						require.True(t, tt.want == nil || errors.Is(err, tt.want), err)
						assert.Nil(t, plan)
					}
					plan := b.plan(t, nil)
					if op == ops.RunsList { // the second page of two
						b.server.Script(op, hogapitest.Slow(0))
					}
					b.server.Script(op, tt.fault)
					_, err := coverage.Repair(t.Context(), b.client, plan, nil)
					require.True(t, tt.want == nil || errors.Is(err, tt.want), err)
					_, isAnswer := errors.AsType[*hogapi.APIError](err)
					_, isBroken := errors.AsType[*hogapi.TransportError](err)
					require.True(t, err == nil || isAnswer || isBroken, err)
					report, err := coverage.Repair(t.Context(), b.client, plan, nil)
					require.NoError(t, err)
					assert.Empty(t, report.After.Gaps())
					assert.Len(t, b.project.Backfills(b.export), 1)
				})
			})
		}
	}
}

// A plan may have been edited by hand, or come from a newer version.
func TestRepairRefusesStepsThatItDoesNotKnow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 40, hogapitest.Export{}, map[int]hogapi.RunStatus{5: ""})
		for field, edit := range map[string]func(*coverage.Step){
			"Action \"restate\"":       func(s *coverage.Step) { s.Action = "restate" },
			"Action \"file_download\"": func(s *coverage.Step) { s.Action = coverage.ActionDownload },
			"State":                    func(s *coverage.Step) { s.State = "" },
			"End":                      func(s *coverage.Step) { s.End = time.Time{} },
			"Run":                      func(s *coverage.Step) { s.Action = coverage.ActionCancel },
		} {
			plan := b.plan(t, nil)
			edit(&plan.Steps[0])
			_, err := coverage.Repair(t.Context(), b.client, plan, nil)
			require.ErrorIs(t, err, hogapi.ErrInvalid, field)
			require.ErrorContains(t, err, "plan.Steps[0]."+field)
		}
		plan := b.plan(t, nil)
		plan.AgeLine = -1
		_, err := coverage.Repair(t.Context(), b.client, plan, nil)
		require.ErrorContains(t, err, "plan.AgeLine")
		assert.Empty(t, b.project.Backfills(b.export))
	})
}

// Only the backfill of a step collides with a stuck run: a run beside a second export may still complete.
func TestRepairCancelsOnlyBeforeABackfill(t *testing.T) {
	for name, tt := range map[string]struct {
		export hogapitest.Export
		back   int
		want   []string
	}{
		"object store":         {lake, 150, []string{"second_export by_timestamp 1 planned"}},
		"table without events": {hogapitest.Export{}, 160, []string{"file_download as_scheduled 1 left_to_you"}},
		"partly covered":       {hogapitest.Export{Interval: hogapi.IntervalEvery15Minutes}, 9, []string{"cancel_run  1 planned", "backfill as_scheduled 1 planned"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBroken(t, 200, tt.export, map[int]hogapi.RunStatus{tt.back: ""})
				b.addEvent(150, "e")
				b.project.NextRuns(hogapitest.Outcome{Polls: 1 << 30})
				end := coverageNow.Truncate(time.Hour).Add(-time.Duration(tt.back-1) * time.Hour)
				b.project.AddRun(b.export, hogapitest.Run{Status: hogapi.RunStatusRunning, End: end, Created: end.Add(time.Minute)})
				if tt.back == 9 {
					b.project.AddRun(b.export, hogapitest.Run{Start: end.Add(-time.Hour), End: end.Add(-30 * time.Minute), Created: end.Add(time.Minute)})
				}
				assert.Equal(t, tt.want, brief(b.plan(t, nil)))
			})
		})
	}
}

// A run of a long interval is not stuck after three hours, so Repair waits for it as Coverage does.
func TestRepairWaitsForALongRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 0, hogapitest.Export{}, nil)
		end := coverageNow.Truncate(24*time.Hour).AddDate(0, 0, -1)
		b.export = b.project.AddExport(hogapitest.Export{Model: hogapi.ModelPersons, Interval: hogapi.IntervalDay, DestinationType: "BigQuery", Config: map[string]any{}, Created: end})
		b.project.AddRun(b.export, hogapitest.Run{Status: hogapi.RunStatusFailed, Start: end, End: end.AddDate(0, 0, 1), Created: end.AddDate(0, 0, 1).Add(time.Minute)})
		plan := b.plan(t, nil)
		b.project.NextRuns(hogapitest.Outcome{Polls: 5})
		_, err := b.client.Runs.Retry(t.Context(), b.export, b.project.Runs(b.export)[0].ID, nil)
		require.NoError(t, err)
		time.Sleep(4 * time.Hour)
		_, err = coverage.Repair(t.Context(), b.client, plan, nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"backfill as_scheduled 1 covered_already"}, brief(plan))
	})
}

// A backfill that Repair no longer follows has not failed, and its ticket stays.
func TestRepairThatStopsFollowing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 40, hogapitest.Export{}, map[int]hogapi.RunStatus{5: ""}, hogapitest.WithRunDelay(time.Hour), hogapitest.WithLateRows(12))
		plan := b.plan(t, nil)
		_, err := coverage.Repair(t.Context(), b.client, plan, nil)
		require.ErrorContains(t, err, "the service accepted the request, but shows no record of the backfill")
		assert.Equal(t, []string{"backfill as_scheduled 1 begun"}, brief(plan))
		_, err = coverage.Repair(t.Context(), b.client, plan, &coverage.RepairOptions{Watch: &hogapi.WatchOptions{Timeout: time.Minute}})
		require.ErrorContains(t, err, "WatchOptions.Timeout")
		assert.Equal(t, []string{"backfill as_scheduled 1 begun"}, brief(plan))
		_, err = coverage.Repair(t.Context(), b.client, plan, nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"backfill as_scheduled 1 done"}, brief(plan))
		assert.Len(t, b.project.Backfills(b.export), 1)
	})
}

// A backfill without runs has exported nothing.
func TestRepairWithoutRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 40, hogapitest.Export{}, map[int]hogapi.RunStatus{5: hogapi.RunStatusFailed})
		b.project.SetRecords(b.export, func(time.Time, time.Time) int { return 0 })
		plan := b.plan(t, nil)
		report, err := coverage.Repair(t.Context(), b.client, plan, nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"backfill as_scheduled 1 left_to_you"}, brief(plan))
		assert.Contains(t, report.String(), "only coverage.DownloadRange gets rows that arrived in it")
		assert.Len(t, report.After.Gaps(), 1)
	})
}

// A backfill that ran nothing no longer counts once a later run of that time has begun, even if the run failed.
func TestRepairAfterABackfillWithoutRows(t *testing.T) {
	for _, status := range []hogapi.RunStatus{"", hogapi.RunStatusCancelled} {
		synctest.Test(t, func(t *testing.T) {
			b, rows := newBroken(t, 40, hogapitest.Export{}, map[int]hogapi.RunStatus{5: hogapi.RunStatusFailed}), 0
			b.project.SetRecords(b.export, func(time.Time, time.Time) int { return rows })
			plan := b.plan(t, nil)
			step := plan.Steps[0]
			_, err := b.client.BatchExports.Backfill(t.Context(), b.export, hogapi.BackfillRange{Start: hogapi.AtTime(step.Start), End: hogapi.AtTime(step.End)}, nil)
			require.NoError(t, err)
			time.Sleep(time.Minute)
			want := "backfill as_scheduled 1 left_to_you"
			if status != "" {
				b.project.AddRun(b.export, hogapitest.Run{Start: step.Start, End: step.End, Created: coverageNow.Add(time.Minute), Status: status})
				rows, want = 1, "backfill as_scheduled 1 done"
			}
			_, err = coverage.Repair(t.Context(), b.client, plan, nil)
			require.NoError(t, err)
			assert.Equal(t, []string{want}, brief(plan), "run %q", status)
		})
	}
}

// A count that the service refuses or gives up leaves the estimate out.
func TestRepairPlanWithoutACount(t *testing.T) {
	for _, status := range []int{http.StatusForbidden, http.StatusGatewayTimeout} {
		synctest.Test(t, func(t *testing.T) {
			b := newBroken(t, 200, hogapitest.Export{}, map[int]hogapi.RunStatus{150: ""})
			b.server.Script(ops.Query, hogapitest.Always(hogapitest.Status(status)))
			plan := b.plan(t, nil)
			assert.Equal(t, []string{"backfill by_timestamp 1 planned"}, brief(plan))
			assert.Nil(t, plan.Steps[0].Estimate)
			assert.Contains(t, plan.String(), "note: The number of rows by timestamp is unknown: status ")
		})
	}
}

// A second export gets its own prefix and the credentials of the plan, or nothing is exported.
func TestRepairWithAWrongSecondExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := hogapitest.Export{Name: "lake", DestinationType: "S3", Config: map[string]any{"bucket_name": "b", "region": "r", "prefix": "p"}}
		b := newBroken(t, 200, old, map[int]hogapi.RunStatus{150: ""}, hogapitest.WithOldService())
		b.addEvent(150, "e")
		credentials := destination.S3{AWSAccessKeyID: hogapi.Set(hogapi.NewSecret("id")), AWSSecretAccessKey: hogapi.Set(hogapi.NewSecret("secret"))}
		plan := b.plan(t, &coverage.RepairOptions{Credentials: credentials})
		assert.Equal(t, "p/repair-2026-11-20T060000Z/", plan.Steps[0].Prefix)
		assert.Contains(t, plan.String(), "a second, paused export writes the rows by timestamp to p/repair-2026-11-20T060000Z/")
		_, err := coverage.Repair(t.Context(), b.client, plan, nil)
		require.ErrorContains(t, err, "RepairOptions.Credentials: want those of the plan")
		plan.Steps[0].Export = "lake"
		_, err = coverage.Repair(t.Context(), b.client, plan, &coverage.RepairOptions{Credentials: credentials})
		require.ErrorContains(t, err, `the export "lake" has the prefix "p", not the plan's "p/repair-2026-11-20T060000Z/"`)
		assert.Empty(t, b.project.Backfills(b.export))
		assert.Len(t, b.project.Exports(), 1)
	})
}

// Two failures among the newest runs stop a repair, also of a paused export.
func TestRepairOfAPausedExport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 40, hogapitest.Export{}, map[int]hogapi.RunStatus{5: hogapi.RunStatusFailed, 3: hogapi.RunStatusFailed})
		plan := b.plan(t, nil)
		_, err := coverage.Repair(t.Context(), b.client, plan, nil)
		require.ErrorContains(t, err, "repair when newer runs have completed")
		require.NoError(t, b.client.BatchExports.Pause(t.Context(), b.export))
		_, err = coverage.Repair(t.Context(), b.client, plan, nil)
		require.ErrorContains(t, err, "repair when newer runs have completed", "a pause does not keep the service from cancelling the backfill")
	})
}

// Two operators who have waited for the same backfill do not go on at the same time.
func TestTwoRepairsThatWaitForOneBackfill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBroken(t, 40, hogapitest.Export{}, map[int]hogapi.RunStatus{5: ""}, hogapitest.WithRunDelay(time.Minute))
		plans := []*coverage.Plan{b.plan(t, nil), b.plan(t, nil)}
		b.project.FailNextRuns(1, "no such bucket")
		step := plans[0].Steps[0]
		_, err := b.client.BatchExports.Backfill(t.Context(), b.export, hogapi.BackfillRange{Start: hogapi.AtTime(step.Start), End: hogapi.AtTime(step.End)}, nil)
		require.NoError(t, err)
		ended := make(chan error)
		for _, plan := range plans {
			go func() {
				_, err := coverage.Repair(t.Context(), b.client, plan, nil)
				ended <- err
			}()
		}
		require.NoError(t, <-ended)
		require.NoError(t, <-ended)
		assert.Len(t, b.project.Backfills(b.export), 2, "the failed one and one more")
	})
}

// A run that cannot be cancelled is waited for at most for a time, and its gap is left to you, with the reason.
func TestRepairOfARunThatCannotBeCancelled(t *testing.T) {
	for effect, want := range map[hogapitest.CancelEffect][]string{
		hogapitest.CancelHasNoEffect: {"left_to_you is not over after 2m0s: its workflow may be gone", "left_to_you cannot be cancelled: a Backfill of this time starts a new run"},
		hogapitest.CancelIsTooLate:   {"done the run ended as Completed", "covered_already covered since the plan was made"},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBroken(t, 9, hogapitest.Export{DestinationType: "Postgres", Integration: 3}, map[int]hogapi.RunStatus{5: ""}, hogapitest.WithPolls(1))
			end := coverageNow.Truncate(time.Hour).Add(-4 * time.Hour)
			b.project.NextRuns(hogapitest.Outcome{OnCancel: effect, Polls: 100})
			b.project.AddRun(b.export, hogapitest.Run{Status: "Running", Start: end.Add(-time.Hour), End: end, Created: end.Add(time.Minute)})
			yes := &coverage.RepairOptions{AcceptCopies: true}
			plan := b.plan(t, yes)
			require.Equal(t, []string{"cancel_run", "backfill"}, []string{string(plan.Steps[0].Action), string(plan.Steps[1].Action)})
			began := time.Now()
			_, err := coverage.Repair(t.Context(), b.client, plan, yes)
			require.NoError(t, err)
			require.Less(t, time.Since(began), 10*time.Minute)
			for i, step := range plan.Steps {
				state, text, _ := strings.Cut(want[i], " ")
				require.Equal(t, state, string(step.State), "%v", plan)
				require.Contains(t, step.Result, text)
			}
		})
	}
}
