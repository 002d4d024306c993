package hogapi_test

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

// Runs that are listed late or never, requests whose answer is lost, and several tickets.

// hiding is a transport to the fake whose lists of runs lack those of the named intervals, while it is told to.
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

// A record that is over speaks of more runs than are listed: they may be listed late. If they are not, it is no success.
func TestRunsThatTheRecordCountsAndNobodyLists(t *testing.T) {
	const third = "1999-12-01T02:00:00Z"
	for name, tt := range map[string]struct {
		hidden time.Duration
		hides  string // the start of an interval; all, where it is empty
		text   string
	}{
		"late":  {time.Minute, third, ""},
		"never": {time.Hour, third, "its record counts 6 runs, but 5 are listed, and no run is shown from 1999-12-01T02:00:00Z to 1999-12-01T03:00:00Z"},
		"none":  {time.Hour, "", "its record counts 6 runs, but 0 are listed"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, begin := hogapitest.New(hogapitest.WithPolls(1)), time.Now()
				client := s.Client(t, hogapi.WithHTTPClient(&http.Client{Transport: hiding(s, func(start string) bool {
					return strings.HasPrefix(start, tt.hides) && time.Since(begin) < tt.hidden
				})}))
				export := defaultProject(s).AddExport(hogapitest.Export{})
				ticket, err := client.BatchExports.Backfill(t.Context(), export, sixHours(), anyAge)
				require.NoError(t, err)
				state, err := client.Backfills.Wait(t.Context(), ticket, nil)
				require.True(t, state.Done)
				if tt.text == "" {
					require.NoError(t, err)
					require.Len(t, state.Runs, 6)
					return
				}
				require.ErrorContains(t, err, tt.text)
				require.Less(t, state.Progress, 1.0)
			})
		})
	}
}

// A day without a midnight begins at its first instant. A backfill whose answer was lost is found again there.
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
					Start: hogapi.Date(first.Year(), first.Month(), first.Day()), End: hogapi.Date(first.AddDate(0, 0, 1).Date()),
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

// Several tickets are waited for together, and the errors of some hide none of the others.
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
		o := &hogapi.WatchOptions{Limit: time.Hour, OnLook: func(i hogapi.LookInfo) { seen[i.Of] = i.State }}
		states, err := client.Backfills.WaitAll(t.Context(), tickets, o)
		require.Equal(t, time.Hour, time.Since(begin))
		require.ErrorIs(t, err, hogapi.ErrRunFailed)
		require.ErrorContains(t, err, "bucket is gone")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		last := "the backfill of export " + tickets[2].ExportID.String() + " from 1999-12-01T00:00:00Z to 1999-12-01T01:00:00Z"
		require.ErrorContains(t, err, "stopped watching "+last+", last seen as 0 %, 0 runs completed, 0 failed: context deadline exceeded: WatchOptions.Limit of 1h0m0s is over")
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
