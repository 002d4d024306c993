package hogapi

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/ops"
)

// countRuns counts the runs of pages that the service gives, whatever it is asked for.
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
	at := func(text string) time.Time {
		parsed, err := time.Parse(time.RFC3339, text)
		require.NoError(t, err)
		return parsed
	}
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
		"After":               {&RunListOptions{After: at(day2)}, []string{one + "," + two + "," + three}, 2},
		"Before":              {&RunListOptions{Before: at(day2)}, []string{one + "," + two + "," + three}, 2},
		"Start":               {&RunListOptions{Start: at(day2)}, []string{one + "," + two + "," + noStart}, 1},
		"End":                 {&RunListOptions{End: at(day2)}, []string{one + "," + two}, 1},
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
	run := func(n int, status string, created, start time.Time) string {
		return fmt.Sprintf(`{"id":"0190e0a2-0000-7000-8000-%012d","status":%q,"created_at":%q,"data_interval_start":%q,"data_interval_end":%q}`,
			n, status, created.Format(time.RFC3339), start.Format(time.RFC3339), start.Add(time.Hour).Format(time.RFC3339))
	}
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
					rows = append(rows, run(i, "Failed", start, start))
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
		failed := 0
		for _, err := range client.Runs.LatestFailed(t.Context(), exportA, &RunListOptions{After: begin, Before: end}) {
			require.NoError(t, err)
			failed++
		}
		require.Equal(t, 25, failed, offset)
	}
}
