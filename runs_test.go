package hogapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/ops"
)

var (
	exportA = uuid.MustParse("0190f3c0-0000-7000-8000-00000000000a")
	runA    = uuid.MustParse("0190f3c0-0000-7000-8000-0000000000a1")
	runB    = uuid.MustParse("0190f3c0-0000-7000-8000-0000000000b2")
)

const (
	runsPath = testBase + "/batch_exports/0190f3c0-0000-7000-8000-00000000000a/runs/"
	runAPath = runsPath + "0190f3c0-0000-7000-8000-0000000000a1/"
)

func TestRunDecodesEveryFieldAndItsNulls(t *testing.T) {
	var full, sparse Run
	require.NoError(t, json.Unmarshal([]byte(`{
		"id": "0190f3c0-0000-7000-8000-0000000000a1", "batch_export": "0190f3c0-0000-7000-8000-00000000000a",
		"status": "Completed", "data_interval_start": "2024-05-01T10:00:00Z", "data_interval_end": "2024-05-01T11:00:00Z",
		"records_completed": 5000000000, "records_total_count": 7, "latest_error": "none", "cursor": "c",
		"created_at": "2024-05-01T11:00:00.123456Z", "last_updated_at": "2024-05-01T11:01:00Z", "finished_at": "2024-05-01T11:01:00Z",
		"backfill": "0190f3c0-0000-7000-8000-0000000000b2", "bytes_exported": 512, "records_failed": 1,
		"batch_export_on_demand": null, "of_the_future": [1]}`), &full))
	start, finished := time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC), time.Date(2024, 5, 1, 11, 1, 0, 0, time.UTC)
	assert.Equal(t, Run{
		ID: runA, BatchExport: exportA, Status: RunStatusCompleted, DataIntervalStart: &start, DataIntervalEnd: start.Add(time.Hour),
		RecordsCompleted: new(int64(5_000_000_000)), RecordsTotalCount: new(int64(7)), LatestError: new("none"), Cursor: new("c"),
		CreatedAt: start.Add(time.Hour + 123456*time.Microsecond), LastUpdatedAt: finished, FinishedAt: &finished,
		Backfill: &runB, BytesExported: new(int64(512)), RecordsFailed: new(int64(1)),
	}, full)

	require.NoError(t, json.Unmarshal([]byte(`{
		"id": "0190f3c0-0000-7000-8000-0000000000a1", "batch_export": "0190f3c0-0000-7000-8000-00000000000a",
		"status": "Paused", "data_interval_start": null, "data_interval_end": "2024-05-01T11:00:00Z",
		"records_completed": null, "records_total_count": null, "latest_error": null, "cursor": null,
		"created_at": "2024-05-01T11:00:00Z", "last_updated_at": "2024-05-01T11:00:00Z", "finished_at": null}`), &sparse))
	assert.Equal(t, Run{
		ID: runA, BatchExport: exportA, Status: "Paused", DataIntervalEnd: start.Add(time.Hour),
		CreatedAt: start.Add(time.Hour), LastUpdatedAt: start.Add(time.Hour),
	}, sparse)
}

func TestRunStatus(t *testing.T) {
	terminal := []RunStatus{"Completed", "Failed", "FailedRetryable", "FailedBilling", "Cancelled", "Terminated", "TimedOut"}
	failures := []RunStatus{"Failed", "FailedRetryable", "FailedBilling", "Terminated", "TimedOut"}
	require.Len(t, runStatuses, 10)
	for _, s := range append(runStatuses, "Paused", "") {
		assert.Equal(t, s != "Paused" && s != "", s.IsKnown(), s)
		assert.Equal(t, slices.Contains(terminal, s), s.IsTerminal(), s)
		assert.Equal(t, slices.Contains(failures, s), s.IsFailure(), s)
	}
}

func TestRunsAskForAllOfThemByDefault(t *testing.T) {
	noon := time.Date(2024, 5, 1, 12, 0, 0, 5000, time.FixedZone("east", 7200))
	for name, c := range map[string]struct {
		options *RunListOptions
		want    string
	}{
		"nil":             {nil, "after=1970-01-01T00:00:00Z"},
		"oldest first":    {&RunListOptions{Ordering: RunsOldestFirst}, "ordering=created_at&after=1970-01-01T00:00:00Z"},
		"after":           {&RunListOptions{After: noon}, "after=2024-05-01T10:00:00.000005Z"},
		"only before":     {&RunListOptions{Before: noon}, "after=1970-01-01T00:00:00Z&before=2024-05-01T10:00:00.000005Z"},
		"by interval":     {&RunListOptions{Ordering: RunsByInterval}, "ordering=data_interval_start&start=1970-01-01T00:00:00Z&end=2200-01-01T00:00:00Z"},
		"only end":        {&RunListOptions{End: noon}, "ordering=-data_interval_start&start=1970-01-01T00:00:00Z&end=2024-05-01T10:00:00.000005Z"},
		"statuses":        {&RunListOptions{Statuses: []RunStatus{"Failed", "TimedOut", "New"}}, "after=1970-01-01T00:00:00Z&status=Failed&status=TimedOut&status=New"},
		"from a cursor":   {&RunListOptions{CursorOptions: CursorOptions{Cursor: "xyz"}}, "after=1970-01-01T00:00:00Z&cursor=xyz"},
		"start, no order": {&RunListOptions{Start: noon}, "ordering=-data_interval_start&start=2024-05-01T10:00:00.000005Z&end=2200-01-01T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			client, mock := newTestClient(t)
			var got url.Values
			mock.RegisterResponder("GET", runsPath, func(r *http.Request) (*http.Response, error) {
				got = r.URL.Query()
				return httpmock.NewStringResponse(200, `{"next": null, "previous": null, "results": []}`), nil
			})
			page, err := client.Runs.List(context.Background(), exportA, c.options)
			require.NoError(t, err)
			require.Empty(t, page.Results)
			want, err := url.ParseQuery(c.want)
			require.NoError(t, err)
			require.Equal(t, want, got)
		})
	}
}

func TestRunsRefuseWhatTheServiceWouldIgnore(t *testing.T) {
	early, late := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC), time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC)
	client, mock := newTestClient(t)
	for name, c := range map[string]struct {
		options RunListOptions
		field   string
		want    string
	}{
		"unknown order":              {RunListOptions{Ordering: "finished_at"}, "Ordering", "-created_at"},
		"both pairs":                 {RunListOptions{After: early, Start: early}, "Start", "one pair"},
		"creation, interval order":   {RunListOptions{After: early, Ordering: RunsByInterval}, "Ordering", "by creation"},
		"interval, creation order":   {RunListOptions{Start: early, Ordering: RunsOldestFirst}, "Ordering", "by interval"},
		"reversed":                   {RunListOptions{After: late, Before: early}, "Before", "later"},
		"empty":                      {RunListOptions{Start: late, End: late}, "End", "later"},
		"near miss of a status":      {RunListOptions{Statuses: []RunStatus{"failed"}}, "Statuses", `"Failed"`},
		"near miss with a blank":     {RunListOptions{Statuses: []RunStatus{"Timed Out"}}, "Statuses", `"TimedOut"`},
		"no status":                  {RunListOptions{Statuses: []RunStatus{""}}, "Statuses", "not an empty text"},
		"negative limit of pages":    {RunListOptions{CursorOptions: CursorOptions{MaxPages: -1}}, "MaxPages", "at least 1, or 0 for the default"},
		"negative number of fetches": {RunListOptions{CursorOptions: CursorOptions{Prefetch: -1}}, "Prefetch", "1 to 32, or 0 for the default"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := client.Runs.List(context.Background(), exportA, &c.options)
			input := as[*InputError](t, err)
			assert.Equal(t, ops.RunsList, input.Op)
			assert.Equal(t, c.field, input.Field)
			assert.Contains(t, input.Want, c.want)
			for _, err := range client.Runs.All(context.Background(), exportA, &c.options) {
				require.ErrorAs(t, err, &input)
			}
		})
	}
	require.Zero(t, mock.GetTotalCallCount())
}

// Old servers do not know the status filter: a page without a match must not look like the end.
func TestRunsFilterStatusesHereToo(t *testing.T) {
	client, mock := newTestClient(t)
	mock.RegisterResponder("GET", runsPath, func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("cursor") == "" {
			return httpmock.NewStringResponse(200, `{"next": "http://elsewhere/?cursor=two", "results": [{"id": "`+runA.String()+`", "status": "Completed"}, {"id": "`+runB.String()+`", "status": "Running"}]}`), nil
		}
		require.Equal(t, []string{"Failed"}, r.URL.Query()["status"])
		return httpmock.NewStringResponse(200, `{"next": null, "results": [{"id": "`+runA.String()+`", "status": "Failed"}, {"id": "`+runB.String()+`", "status": "Completed"}]}`), nil
	})
	o := &RunListOptions{Statuses: []RunStatus{RunStatusFailed}}
	page, err := client.Runs.List(context.Background(), exportA, o)
	require.NoError(t, err)
	require.Empty(t, page.Results)
	require.NotNil(t, page.Next)
	for range 2 { // the sequence can be walked again
		runs := walked(t, client.Runs.All(t.Context(), exportA, o))
		require.Len(t, runs, 1)
		require.Equal(t, RunStatusFailed, runs[0].Status)
	}
}

func TestRunCallsReachRunsOlderThanAWeek(t *testing.T) {
	client, mock := newTestClient(t)
	ctx := context.Background()
	window := url.Values{"after": {"1970-01-01T00:00:00Z"}}
	mock.RegisterResponderWithQuery("GET", runAPath, window, httpmock.NewStringResponder(200, `{"id": "0190f3c0-0000-7000-8000-0000000000a1", "status": "Failed"}`))
	mock.RegisterResponderWithQuery("POST", runAPath+"cancel/", window, httpmock.NewStringResponder(200, `{"cancelled": true}`))
	run, err := client.Runs.Get(ctx, exportA, runA)
	require.NoError(t, err)
	require.Equal(t, RunStatusFailed, run.Status)
	mock.RegisterResponderWithQuery("GET", runAPath, window, httpmock.NewStringResponder(200,
		`{"id": "0190f3c0-0000-7000-8000-0000000000a1", "status": "Cancelled", "finished_at": "2024-05-01T10:00:00Z"}`))
	require.NoError(t, client.Runs.Cancel(ctx, exportA, runA))

	mock.RegisterResponderWithQuery("POST", runAPath+"cancel/", window, httpmock.NewStringResponder(200, ``))
	require.NoError(t, client.Runs.Cancel(ctx, exportA, runA), "the specification knows no body")
}

// aRun is the JSON of a run of the n-th hour, created so many minutes after 1 May.
func aRun(hour, created int, status RunStatus) string {
	may := time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)
	start := strconv.Quote(may.Add(time.Duration(hour) * time.Hour).Format(time.RFC3339))
	if hour < 0 {
		start = "null"
	}
	return fmt.Sprintf(`{"id": "%s", "status": %q, "data_interval_start": %s, "data_interval_end": %q, "created_at": %q}`,
		uuid.New(), status, start, may.Add(time.Duration(hour+1)*time.Hour).Format(time.RFC3339), may.Add(time.Duration(created)*time.Minute).Format(time.RFC3339))
}

func runPage(next string, runs ...string) httpmock.Responder {
	if next != "" {
		next = "https://us.posthog.com/?cursor=" + next
	}
	return httpmock.NewStringResponder(200, fmt.Sprintf(`{"next": %q, "results": [%s]}`, next, strings.Join(runs, ",")))
}

func failedHours(t *testing.T, client *Client, o *RunListOptions) (hours []int) {
	t.Helper()
	for run, err := range client.Runs.LatestFailed(t.Context(), exportA, o) {
		require.NoError(t, err)
		hour := -1
		if run.DataIntervalStart != nil {
			hour = run.DataIntervalStart.Hour()
		}
		hours = append(hours, hour)
	}
	return hours
}

func TestFailedIsTheNewestRunOfEachInterval(t *testing.T) {
	client, mock := newTestClient(t)
	mock.RegisterResponderWithQuery("GET", runsPath, url.Values{"after": {farPast}}, runPage("two",
		aRun(9, 99, "Running"), aRun(8, 98, "Failed"), aRun(7, 97, "Completed"), aRun(6, 96, "Paused"), aRun(5, 95, "FailedBilling"), aRun(-1, 94, "TimedOut")))
	mock.RegisterResponderWithQuery("GET", runsPath, url.Values{"after": {farPast}, "cursor": {"two"}}, runPage("",
		aRun(9, 50, "Failed"), aRun(8, 50, "Completed"), aRun(7, 50, "Failed"), aRun(6, 50, "Failed"), aRun(5, 50, "Failed"), aRun(-1, 40, "Failed"),
		aRun(4, 30, "Cancelled"), aRun(4, 20, "Failed"), aRun(3, 10, "Terminated"), aRun(0, 5, "Failed")))
	require.Equal(t, []int{8, 5, -1, 3, 0}, failedHours(t, client, nil), "an interval that runs again, or in a way that is not known, has not failed")
	require.Equal(t, []int{8, 5, -1, 3, 0}, failedHours(t, client, nil), "the sequence can be walked again")
	require.Equal(t, []int{5, -1, 3, 0}, failedHours(t, client, &RunListOptions{Before: time.Date(2024, 5, 1, 1, 35, 0, 0, time.UTC)}), "newer runs are heeded")
	require.Equal(t, []int{8, 3, 0}, failedHours(t, client, &RunListOptions{Statuses: []RunStatus{"Failed", "Terminated"}}))
	for range client.Runs.LatestFailed(t.Context(), exportA, nil) {
		break
	}
}

func TestFailedRefusesWhatWouldHideTheNewestRuns(t *testing.T) {
	client, mock := newTestClient(t)
	for field, o := range map[string]RunListOptions{
		"Ordering": {Ordering: RunsOldestFirst}, "Cursor": {CursorOptions: CursorOptions{Cursor: "x"}}, "Start": {Start: time.Now()},
		"Statuses": {Statuses: []RunStatus{"FAILED"}},
	} {
		for _, err := range client.Runs.LatestFailed(t.Context(), exportA, &o) {
			input := as[*InputError](t, err)
			require.Equal(t, field, input.Field)
		}
	}
	require.Zero(t, mock.GetTotalCallCount())
}

func TestFailedCanOnlyBeginAnew(t *testing.T) {
	client, mock := newTestClient(t)
	mock.RegisterResponderWithQuery("GET", runsPath, url.Values{"after": {farPast}}, runPage("two", aRun(8, 98, "Failed")))
	mock.RegisterResponderWithQuery("GET", runsPath, url.Values{"after": {farPast}, "cursor": {"two"}}, httpmock.NewStringResponder(403, ""))
	var last error
	for _, err := range client.Runs.LatestFailed(t.Context(), exportA, nil) {
		last = err
	}
	require.ErrorIs(t, last, ErrForbidden)
	failed := as[*PageError](t, last)
	require.Empty(t, failed.Cursor, "from there on the newest runs would not be known")
}

// countRuns counts the runs of pages that the service gives, for any request.
func countRuns(t *testing.T, o *RunListOptions, pages ...string) (total int, err error) {
	t.Helper()
	client, mock := newTestClient(t)
	mock.RegisterNoResponder(func(r *http.Request) (*http.Response, error) {
		page, next := pages[0], "null"
		pages = pages[1:]
		if len(pages) > 0 {
			next = fmt.Sprintf(`"https://us.posthog.com%s?cursor=c%d"`, r.URL.Path, len(pages))
		}
		return httpmock.NewStringResponse(200, `{"next":`+next+`,"previous":null,"results":[`+page+`]}`), nil
	})
	counts, err := client.Runs.Counts(t.Context(), exportA, o)
	for _, c := range counts {
		total += c.Total()
	}
	return total, err
}

// A run counts once, and only if it is one that was asked for.
func TestRunCountsAreExact(t *testing.T) {
	run := func(n int, status string, created, start, end string) string {
		return fmt.Sprintf(`{"id":"0190e0a2-0000-7000-8000-%012d","status":%q,"created_at":%q,"data_interval_start":%q,"data_interval_end":%q}`,
			n, status, created, start, end)
	}
	const day1, day2, day3 = "2024-05-01T00:00:00Z", "2024-05-02T00:00:00Z", "2024-05-03T00:00:00Z"
	second := time.Date(2024, 5, 2, 0, 0, 0, 0, time.UTC)
	one, two := run(1, "Running", day1, day1, day2), run(2, "Completed", day2, day2, day3)
	three := run(3, "Completed", day3, day2, day3)
	noStart := `{"id":"0190e0a2-0000-7000-8000-000000000004","status":"Completed","created_at":"` + day1 + `","data_interval_end":"` + day2 + `"}`
	for name, tt := range map[string]struct {
		options *RunListOptions
		pages   []string
		total   int
	}{
		"twice on a page":     {nil, []string{one + "," + one}, 1},
		"again, on the next":  {nil, []string{one + "," + two, two + "," + three}, 3},
		"again, with another": {nil, []string{one, run(1, "Completed", day1, day1, day2)}, 1},
		"After":               {&RunListOptions{After: second}, []string{one + "," + two + "," + three}, 2},
		"Before":              {&RunListOptions{Before: second}, []string{one + "," + two + "," + three}, 2},
		"Start":               {&RunListOptions{Start: second}, []string{one + "," + two + "," + noStart}, 1},
		"End":                 {&RunListOptions{End: second}, []string{one + "," + two}, 1},
		"Statuses":            {&RunListOptions{Statuses: []RunStatus{RunStatusRunning}}, []string{one + "," + two}, 1},
		"none":                {nil, []string{""}, 0},
	} {
		total, err := countRuns(t, tt.options, tt.pages...)
		require.NoError(t, err, name)
		require.Equal(t, tt.total, total, name)
	}
	const id = `{"id":"0190e0a2-0000-7000-8000-000000000009"`
	for _, bad := range []string{id + `}`, id + `,"status":"Completed"}`, id + `,"status":"Completed","created_at":null}`, id + `,"created_at":"` + day1 + `"}`, id + `,"status":null,"created_at":"` + day1 + `"}`} {
		total, err := countRuns(t, nil, one, bad)
		var undecoded *DecodeError
		require.ErrorAs(t, err, &undecoded, bad)
		require.Equal(t, ops.RunsList, undecoded.Op)
		require.Zero(t, total)
	}
}

// A server that reads times in the project's zone is asked for a day more on each side, and the rows outside are left out.
func TestRunsAtTheEdgeOfAZone(t *testing.T) {
	begin := time.Date(2024, 5, 10, 0, 0, 0, 0, time.UTC)
	for _, offset := range []time.Duration{-11 * time.Hour, 0, 14 * time.Hour} {
		client, mock := newTestClient(t)
		mock.RegisterNoResponder(func(r *http.Request) (*http.Response, error) {
			bound := func(name string) time.Time { // the zone is dropped
				at, _ := time.Parse(time.RFC3339, r.URL.Query().Get(name))
				return at.Add(-offset)
			}
			after, before, byInterval := bound("after"), bound("before"), r.URL.Query().Has("start")
			if byInterval {
				after, before = bound("start"), bound("end")
			} else if !r.URL.Query().Has("before") {
				before = begin.AddDate(1, 0, 0)
			}
			var rows []string
			for i := range 3 * 24 {
				start := begin.Add(time.Duration(i-24) * time.Hour)
				if end := start.Add(time.Hour); !start.Before(after) && (!end.After(before) || !byInterval && !start.After(before)) {
					rows = append(rows, aRun(8*24+i, (8*24+i)*60, "Failed"))
				}
			}
			slices.Reverse(rows)
			return httpmock.NewStringResponse(200, `{"next":null,"previous":null,"results":[`+strings.Join(rows, ",")+`]}`), nil
		})
		end := begin.Add(24 * time.Hour)
		for total, o := range map[int]*RunListOptions{25: {After: begin, Before: end}, 24: {Start: begin, End: end}} {
			counts, err := client.Runs.Counts(t.Context(), exportA, o)
			require.NoError(t, err)
			counted := 0
			for _, day := range counts {
				counted += day.Total()
			}
			require.Equal(t, total, counted, "%v, %v", offset, o)
		}
		require.Len(t, walked(t, client.Runs.LatestFailed(t.Context(), exportA, &RunListOptions{After: begin, Before: end})), 25, offset)
	}
}

func showing(status RunStatus, completed int) step {
	return answers(200, fmt.Sprintf(`{"id": "%s", "status": %q, "records_completed": %d, "latest_error": "no bucket\n"}`, runA, status, completed))
}

// play makes a client that meets the steps and does not retry.
func play(t *testing.T, steps ...step) (*Client, *script) {
	t.Helper()
	s := newScript(steps...)
	return newFakeClient(t, s, WithRetryPolicy(RetryPolicy{MaxTries: 1})), s
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
			failed := as[*RunError](t, err)
			require.Same(t, run, failed.Run)
			require.EqualError(t, err, fmt.Sprintf("hogapi: run %s ended as %s: no bucket ", runA, status))
			require.Equal(t, status.IsFailure(), errors.Is(err, ErrRunFailed), status)
			require.Equal(t, status == RunStatusCancelled, errors.Is(err, ErrRunCancelled), status)
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
	ticket := &BackfillTicket{ExportID: exportA, StartAt: AtDate(2024, 1, 1), EndAt: AtDate(2024, 2, 1), RequestedAt: time.Now()}
	for _, o := range []WatchOptions{{Interval: -1}, {MaxInterval: -1}, {MaxFailures: -1}, {Settle: -1}} {
		_, err := client.Runs.Wait(ctx, exportA, runA, &o)
		require.ErrorIs(t, err, ErrInvalid)
		_, err = client.Backfills.Wait(ctx, ticket, &o)
		require.ErrorIs(t, err, ErrInvalid)
	}
	for _, bad := range []*BackfillTicket{
		nil, {}, {ExportID: exportA}, {ExportID: exportA, RequestedAt: time.Now()},
		{ExportID: exportA, RequestedAt: time.Now(), StartAt: AtDate(2024, 1, 1)},
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
		run, err := client.Runs.Wait(t.Context(), exportA, runA, &WatchOptions{Timeout: time.Minute, OnLook: func(i LookInfo) {
			looks++
			require.Equal(t, "run "+runA.String(), i.Of)
			require.Equal(t, "Running, 7 records: SlowDown", i.State)
		}})
		require.Equal(t, time.Minute, time.Since(begin))
		require.EqualValues(t, 7, *run.RecordsCompleted)
		require.EqualError(t, err, "hogapi: stopped watching run "+runA.String()+", last seen as Running, 7 records: SlowDown: "+
			"context deadline exceeded: WatchOptions.Timeout of 1m0s is over")
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
			require.ErrorContains(t, err, "status is missing")
			_, err = client.Runs.List(ctx, exportA, nil)
			require.Error(t, err)
			_, err = client.Backfills.Get(ctx, exportA, runA)
			require.ErrorContains(t, err, "status is missing")
			_, err = client.FileDownloads.Wait(ctx, runA, nil)
			require.ErrorContains(t, err, "status is missing")
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
		require.ErrorIs(t, err, ErrRunFailed)
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
	ticket := BackfillTicket{ExportID: exportA, StartAt: AtTime(day), EndAt: AtTime(day.Add(time.Hour)), RequestedAt: day, Baseline: &BackfillBaseline{OfRuns: true}}
	o, err := new(WatchOptions).withDefaults(ops.BackfillsGet)
	require.NoError(t, err)
	f := newFollower(client, ticket, o, nil)
	f.Runs.Most = 3
	_, err = f.poll(t.Context())
	require.ErrorContains(t, err, "more than 3 intervals: start and follow it in parts")
	require.Len(t, f.Runs.Sorted(), 4)
}
