package flows_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// A backfill or a retry is judged by its own runs, not by the runs of an earlier one of the same range.

// roundTrip is a transport.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func anHour() hogapi.BackfillRange {
	from, to := anHourOf(0)
	return hogapi.BackfillRange{Start: hogapi.AtTime(from), End: hogapi.AtTime(to)}
}

// A program that tries again on error judges each attempt by its own run, which the service may start 45 seconds later.
func TestEachAttemptIsJudgedByItsOwnRun(t *testing.T) {
	t.Parallel()
	outcomes := []hogapitest.Outcome{
		{Status: "Failed", Error: "attempt 1"}, {}, {Status: "Failed", Error: "attempt 3"},
		{Status: "Failed", Error: "attempt 4"}, {Status: "Cancelled", Error: "attempt 5"}, {},
	}
	for _, what := range []string{"backfill", "retry of the first run", "retry of the newest run"} {
		for _, delay := range []time.Duration{0, time.Second, 45 * time.Second} {
			t.Run(fmt.Sprint(what, " after ", delay), func(t *testing.T) {
				flow(t, func(t *testing.T, s *hogapitest.Server, era hogapitest.Era) {
					client, project, export := exported(t, s)
					from, to := anHourOf(0)
					retried := project.AddRun(export, hogapitest.Run{Status: "Failed", Start: from, End: to, Finished: time.Now(), Error: "attempt 0"})
					project.NextRuns(outcomes...)
					for i, outcome := range outcomes {
						var ticket *hogapi.BackfillTicket
						var err error
						if what == "backfill" {
							ticket, err = client.BatchExports.Backfill(t.Context(), export, anHour(), anyAge)
						} else {
							ticket, err = client.Runs.Retry(t.Context(), export, retried, anyAge)
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
				ticket, err := first.BatchExports.Backfill(t.Context(), export, anHour(), anyAge)
				require.NoError(t, err)
				_, err = first.Backfills.Wait(t.Context(), ticket, &hogapi.WatchOptions{Interval: time.Millisecond})
				require.NoError(t, err)
				time.Sleep(age) // virtual

				op := ops.BatchExportsBackfill
				if era == hogapitest.E4 {
					op = ops.BackfillsCreate
				}
				s.Script(op, hogapitest.CutBefore())
				fresh := s.Client(t)
				ticket, err = fresh.BatchExports.Backfill(t.Context(), export, anHour(), anyAge)
				require.ErrorIs(t, err, hogapi.ErrOutcomeUnknown)
				state, err := fresh.Backfills.Wait(t.Context(), ticket, nil)
				require.ErrorIs(t, err, hogapi.ErrOutcomeUnknown)
				require.Empty(t, state.Runs)
				require.Nil(t, state.Backfill)
			}, hogapitest.WithPolls(1))
		})
	}
}

// The client reads the records once before the request, and the runs where there are no records. If it cannot, it sends nothing.
func TestBaselineIsReadBeforeTheRequest(t *testing.T) {
	flow(t, func(t *testing.T, s *hogapitest.Server, era hogapitest.Era) {
		client, project := s.Client(t, hogapi.WithRetryPolicy(hogapi.RetryPolicy{MaxTries: 1})), defaultProject(s)
		export := project.AddExport(hogapitest.Export{})
		failed := project.AddRun(export, hogapitest.Run{Status: "Failed"})
		var reply hogapi.Reply
		_, err := client.Runs.Retry(t.Context(), export, failed, anyAge, hogapi.WithHeader("X-Trace", "7"), hogapi.WithReply(&reply),
			hogapi.WithBody(map[string]string{"status": "Failed"}), hogapi.WithQuery(map[string][]string{"debug": {"1"}}))
		require.NoError(t, err)
		require.Contains(t, string(reply.Body), "backfill_id")
		records, runs := s.Calls(ops.BackfillsList), s.Calls(ops.RunsList)
		require.Len(t, records, 1)
		require.Len(t, runs, map[bool]int{true: 1, false: 0}[era == hogapitest.E1])
		for _, call := range append(records, runs...) {
			require.Equal(t, "7", call.Header.Get("X-Trace"))
			require.Empty(t, call.Body)
			require.False(t, call.Query.Has("debug"))
		}

		s.Script(ops.BackfillsList, hogapitest.Status(503))
		_, err = client.Runs.Retry(t.Context(), export, failed, anyAge)
		require.Equal(t, 503, as[*hogapi.APIError](t, err).StatusCode)
		require.NotErrorIs(t, err, hogapi.ErrOutcomeUnknown)
		require.ErrorContains(t, err, "hogapi: runs.retry: nothing was sent")
		require.NotContains(t, err.Error()[len("hogapi: "):], "hogapi: ", "one prefix")
		require.Len(t, s.Calls(ops.RunsRetry), 1)
	})
}

// A service that accepts a retry and shows no record of it has not said that the range was empty.
func TestARecordThatNeverComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := hogapitest.New(hogapitest.WithLateRows(1 << 30))
		client, project, export := exported(t, s)
		failed := project.AddRun(export, hogapitest.Run{Status: "Failed"})
		ticket, err := client.Runs.Retry(t.Context(), export, failed, anyAge)
		require.NoError(t, err)
		_, err = client.Backfills.Wait(t.Context(), ticket, nil)
		require.ErrorIs(t, err, hogapi.ErrOutcomeUnknown)
		require.ErrorContains(t, err, "shows no record")
	})
}

// A run that the retry has joined is also found after it has finished, even if its interval lacks an end or a start.
func TestJoinedRunIsFoundAfterwards(t *testing.T) {
	from, to := anHourOf(0)
	for name, run := range map[string]hogapitest.Run{
		"whole": {Start: from, End: to}, "no end": {Start: from, NoEnd: true}, "no start": {FromStart: true, End: to},
	} {
		t.Run(name, func(t *testing.T) {
			flow(t, func(t *testing.T, s *hogapitest.Server, _ hogapitest.Era) {
				client, project, export := exported(t, s)
				run.Status, run.Created = "Running", time.Now().Add(-20*24*time.Hour)
				project.NextRuns(hogapitest.Outcome{Status: "Failed", Error: "of the joined run", Polls: 6})
				id := project.AddRun(export, run)
				ticket, err := client.Runs.Retry(t.Context(), export, id, anyAge)
				require.NoError(t, err)
				time.Sleep(time.Second)
				_, err = client.Runs.Wait(t.Context(), export, id, nil)
				require.ErrorIs(t, err, hogapi.ErrRunFailed)
				time.Sleep(time.Hour)
				state, err := client.Backfills.Wait(t.Context(), ticket, nil)
				require.ErrorContains(t, err, "of the joined run")
				require.Len(t, state.Runs, 1)
				require.Equal(t, id, state.Runs[0].ID)
			})
		})
	}
}

// If the answer to a request is lost, its ticket tells that the request has begun something, and it is not sent twice.
func TestFollowingAnUnknownOutcome(t *testing.T) {
	flow(t, func(t *testing.T, s *hogapitest.Server, era hogapitest.Era) {
		client, project, export := exported(t, s)
		old := project.AddRun(export, hogapitest.Run{Status: "Failed", Created: december})
		op := ops.BatchExportsBackfill
		if era == hogapitest.E4 {
			op = ops.BackfillsCreate
		}
		paused := project.AddExport(hogapitest.Export{Paused: true, LastPaused: time.Now().Add(-2 * time.Hour)})
		requests := []hogapi.Op{op, ops.RunsRetry, ops.BatchExportsUnpause}
		for _, op := range requests {
			s.Script(op, hogapitest.CutAfter())
		}
		for _, begin := range []func() (*hogapi.BackfillTicket, error){
			func() (*hogapi.BackfillTicket, error) {
				return client.BatchExports.Backfill(t.Context(), export, sixHours(), anyAge)
			},
			func() (*hogapi.BackfillTicket, error) { return client.Runs.Retry(t.Context(), export, old, anyAge) },
			func() (*hogapi.BackfillTicket, error) {
				return client.BatchExports.Unpause(t.Context(), paused, andBackfill)
			},
		} {
			ticket, err := begin()
			require.ErrorIs(t, err, hogapi.ErrOutcomeUnknown)
			require.True(t, ticket.OutcomeUnknown)
			state, err := client.Backfills.Wait(t.Context(), ticket, nil)
			require.NoError(t, err)
			require.NotEmpty(t, state.Runs)
		}
		for _, op := range requests {
			require.Len(t, s.Calls(op), 1)
		}
	})
}

// A run that ended shortly before a retry is not taken for that retry: neither the retried run nor an earlier retry of it.
func TestAnOldRunIsNotTakenForALostRetry(t *testing.T) {
	for _, age := range []time.Duration{0, 30 * time.Second, 2 * time.Minute} {
		for name, fault := range map[string]hogapitest.Fault{"cut": hogapitest.CutBefore(), "failed": hogapitest.Status(503)} {
			t.Run(age.String()+" "+name, func(t *testing.T) {
				flow(t, func(t *testing.T, s *hogapitest.Server, _ hogapitest.Era) {
					client, project, export := exported(t, s)
					failed := project.AddRun(export, hogapitest.Run{Status: "Failed"})
					time.Sleep(age) // virtual
					s.Script(ops.RunsRetry, fault)
					ticket, err := client.Runs.Retry(t.Context(), export, failed, anyAge)
					require.ErrorIs(t, err, hogapi.ErrOutcomeUnknown)
					require.ErrorContains(t, err, "Backfills.Wait")
					state, err := client.Backfills.Wait(t.Context(), ticket, nil)
					require.ErrorIs(t, err, hogapi.ErrOutcomeUnknown)
					require.Empty(t, state.Runs)

					ticket, err = client.Runs.Retry(t.Context(), export, failed, anyAge)
					require.NoError(t, err)
					_, err = client.Backfills.Wait(t.Context(), ticket, nil)
					require.NoError(t, err)
					time.Sleep(age + 10*time.Second)
					s.Script(ops.RunsRetry, fault)
					ticket, err = client.Runs.Retry(t.Context(), export, failed, anyAge)
					require.ErrorIs(t, err, hogapi.ErrOutcomeUnknown)
					_, err = client.Backfills.Wait(t.Context(), ticket, nil)
					require.ErrorIs(t, err, hogapi.ErrOutcomeUnknown, "the good retry before is not this one")
				})
			})
		}
	}
}

// Runs that are listed late or never, requests without an answer, and several tickets.

// hiding returns a transport to the fake that removes from lists the runs with an interval start that hides reports.
func hiding(s *hogapitest.Server, hides func(start string) bool) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		resp, err := s.Transport().RoundTrip(r)
		if err != nil || !strings.HasSuffix(r.URL.Path, "/runs/") {
			return resp, err
		}
		var page struct {
			Next    *string          `json:"next"`
			Results []map[string]any `json:"results"`
		}
		if err := json.NewDecoder(resp.Body).Decode(&page); err != nil {
			return nil, err
		}
		shown := []map[string]any{}
		for _, run := range page.Results {
			if start, _ := run["data_interval_start"].(string); !hides(start) {
				shown = append(shown, run)
			}
		}
		page.Results = shown
		body, err := json.Marshal(page)
		resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		return resp, err
	}
}

// If no run of a part is listed when the record is over, the missing runs may be listed late. If they never are, the wait fails.
func TestRunsThatNobodyLists(t *testing.T) {
	const third = "1999-12-01T02:00:00Z"
	for name, tt := range map[string]struct {
		hidden time.Duration
		hides  string // the start of an interval; all, where it is empty
		text   string
	}{
		"late":  {time.Minute, third, ""},
		"never": {time.Hour, third, "no run is shown from 1999-12-01T02:00:00Z to 1999-12-01T03:00:00Z"},
		"none":  {time.Hour, "", "no run is shown from 1999-12-01T00:00:00Z to 1999-12-01T06:00:00Z"},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			s, begin := hogapitest.New(hogapitest.WithPolls(1)), time.Now()
			client := s.Client(t, hogapi.WithHTTPClient(&http.Client{Transport: hiding(s, func(start string) bool {
				return strings.HasPrefix(start, tt.hides) && time.Since(begin) < tt.hidden
			})}))
			export := defaultProject(s).AddExport(hogapitest.Export{})
			state, err := backfilled(t, client, export, sixHours())
			require.True(t, state.Done)
			if tt.text == "" {
				require.NoError(t, err)
				require.Len(t, state.Runs, 6)
				return
			}
			require.ErrorContains(t, err, tt.text)
			require.Less(t, state.Progress, 1.0)
		}))
	}
}

// A day without a midnight begins at its first instant. If the answer to a backfill from there is lost, its ticket finds the backfill.
func TestALostBackfillOfADayWithoutAMidnight(t *testing.T) {
	for zone, day := range map[string]time.Time{
		"America/Santiago": time.Date(2026, 9, 6, 0, 0, 0, 0, time.UTC), "America/Havana": time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC),
	} {
		for shift := range 2 { // the day is the first, or the end
			t.Run(fmt.Sprint(zone, shift), func(t *testing.T) {
				now := func() time.Time { return day.AddDate(0, 0, 3) }
				s := hogapitest.New(hogapitest.WithClock(now), hogapitest.WithPolls(1))
				s.Script(ops.BackfillsCreate, hogapitest.CutAfter())
				client := s.Client(t)
				export, err := client.BatchExports.Get(t.Context(), defaultProject(s).AddExport(hogapitest.Export{Interval: hogapi.IntervalDay, Timezone: zone}))
				require.NoError(t, err)
				first := day.AddDate(0, 0, -shift)
				covers := hogapi.BackfillRange{
					Start: hogapi.AtDate(first.Year(), first.Month(), first.Day()), End: hogapi.AtDate(first.AddDate(0, 0, 1).Date()),
				}
				ticket, err := client.Backfills.Create(t.Context(), export.ID, covers, nil)
				require.ErrorIs(t, err, hogapi.ErrOutcomeUnknown)
				state, err := client.Backfills.Wait(t.Context(), ticket, &hogapi.WatchOptions{Interval: time.Millisecond, Settle: time.Millisecond})
				require.NoError(t, err)
				require.Len(t, state.Runs, 1)
				again, err := export.BackfillRange(*state.Runs[0].DataIntervalStart, state.Runs[0].DataIntervalEnd)
				require.NoError(t, err)
				require.Equal(t, covers, again)
			})
		}
	}
}

// WaitAll waits for several tickets together and returns the errors of all of them.
func TestWaitAll(t *testing.T) {
	flow(t, func(t *testing.T, s *hogapitest.Server, _ hogapitest.Era) {
		client, project := s.Client(t), defaultProject(s)
		project.NextRuns(hogapitest.Outcome{Status: "Failed", Error: "bucket is gone"}, hogapitest.Outcome{}, hogapitest.Outcome{Polls: 1 << 20})
		var tickets []*hogapi.BackfillTicket
		for range 3 {
			ticket, err := client.BatchExports.Backfill(t.Context(), project.AddExport(hogapitest.Export{}), anHour(), anyAge)
			require.NoError(t, err)
			tickets = append(tickets, ticket)
		}
		begin, seen := time.Now(), map[string]string{}
		o := &hogapi.WatchOptions{Timeout: time.Hour, OnLook: func(i hogapi.LookInfo) { seen[i.Of] = i.State }}
		states, err := client.Backfills.WaitAll(t.Context(), tickets, o)
		require.Equal(t, time.Hour, time.Since(begin))
		require.ErrorIs(t, err, hogapi.ErrRunFailed)
		require.ErrorContains(t, err, "bucket is gone")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		last := "the backfill of export " + tickets[2].ExportID.String() + " from 1999-12-01T00:00:00Z to 1999-12-01T01:00:00Z"
		require.ErrorContains(t, err, "stopped watching "+last+", last seen as 0 %, 0 runs completed, 0 failed: context deadline exceeded: WatchOptions.Timeout of 1h0m0s is over")
		require.Equal(t, []int{1, 0, 0}, []int{states[0].Failed, states[1].Failed, states[2].Failed})
		require.Equal(t, 1, states[1].Completed)
		require.Len(t, seen, 3)
		require.Equal(t, "0 %, 0 runs completed, 0 failed", seen[last])

		calls := len(s.Calls(ops.BackfillsList))
		_, err = client.Backfills.WaitAll(t.Context(), []*hogapi.BackfillTicket{tickets[0], nil}, nil)
		require.ErrorContains(t, err, "tickets[1]")
		require.ErrorIs(t, err, hogapi.ErrInvalid)
		require.Len(t, s.Calls(ops.BackfillsList), calls)
		states, err = client.Backfills.WaitAll(t.Context(), nil, nil)
		require.NoError(t, err)
		require.Empty(t, states)
	}, hogapitest.WithPolls(1))
}
