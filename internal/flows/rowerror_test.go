package flows_test

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// pagesOf is a client of a real server with a list of rows, two a page unless it is asked for others, by offset and by cursor, and as a log.
func pagesOf(t *testing.T, rows []string) *hogapi.Client {
	t.Helper()
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		from, _ := strconv.Atoi(q.Get("offset") + q.Get("cursor"))
		if strings.Contains(r.URL.Path, "/logs/") {
			for from < len(rows) && q.Get("before") != "" && timeOf(rows[from]) >= q.Get("before")[:26] {
				from++
			}
		}
		size, _ := strconv.Atoi(cmp.Or(q.Get("limit"), "2"))
		to, next := min(from+size, len(rows)), "null"
		if to < len(rows) {
			next = fmt.Sprintf(`"http://x/?offset=%d&cursor=%d&limit=2"`, to, to)
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"count":%d,"next":%s,"results":[%s]}`, len(rows), next, strings.Join(rows[from:to], ","))
	}))
	t.Cleanup(host.Close)
	client, err := hogapi.NewClient(hogapi.WithBaseURL(host.URL), hogapi.WithInsecureHTTP(), hogapi.WithProject("12345"), hogapi.WithPersonalAPIKey("phx_RowErrors000000"))
	require.NoError(t, err)
	return client
}

// timeOf is the time by which the service orders a line of a log, whether or not the client can read it.
func timeOf(line string) string {
	_, after, _ := strings.Cut(line, "2024-05-01T")
	return "2024-05-01T" + after[:15]
}

// allOf reads a list to its end: by row, a text of the row or its error.
func allOf[T any](t *testing.T, list iter.Seq2[T, error], text func(T) string) (all []string) {
	t.Helper()
	for row, err := range list {
		bad := new(hogapi.RowError)
		if err == nil {
			all = append(all, text(row))
		} else if assert.ErrorAs(t, err, &bad) {
			require.ErrorAs(t, err, new(*hogapi.DecodeError))
			assert.NotContains(t, err.Error(), "base URL")
			all = append(all, fmt.Sprintf("%s! %d %s %t", text(row), bad.Index, bad.Field, strings.Contains(string(bad.Raw), bad.Field)))
		}
	}
	return all
}

// A row with a field of another type, a time without a zone or an id of another form leaves only that field empty. The error
// is at the row, and the walk goes on: by offset and by cursor, with pages fetched ahead, and a second time.
func TestErrorOfOneRow(t *testing.T) {
	t.Parallel()
	id := func(n int) string { return uuid.UUID{15: byte(n)}.String() }
	last := func(id uuid.UUID) string { return strconv.Itoa(int(id[15])) }
	run := func(n int, other string) string {
		return fmt.Sprintf(`{"id":"%s","status":"Completed"%s}`, id(n), other)
	}
	export := func(n int, other string) string { return fmt.Sprintf(`{"id":"%s","name":"n"%s}`, id(n), other) }
	board := func(n int, other string) string { return fmt.Sprintf(`{"id":%d,"name":"n"%s}`, n, other) }
	for _, prefetch := range []int{0, 2} {
		o := hogapi.ListOptions{Limit: 2, Prefetch: prefetch}
		cursor := hogapi.CursorOptions{Prefetch: prefetch}
		runs := pagesOf(t, []string{
			run(1, ""), run(2, ""), run(3, `,"finished_at":"2024-05-01T00:00:00","records_completed":7`), run(4, ""),
			`{"id":"run-5","status":"Failed"}`, `{"id":"run-6","status":"Failed"}`, run(7, `,"records_failed":1`),
		}).Runs
		exports := pagesOf(t, []string{
			export(1, ""), export(2, `,"offset_hour":"x"`), `{"name":"n"}`, `{"id":7,"name":"n"}`, export(5, ""),
		}).BatchExports
		boards := pagesOf(t, []string{board(1, ""), board(2, `,"tags":"x","pinned":true`), board(3, ""), board(4, `,"created_at":1`)}).Dashboards
		lists := map[string]struct {
			read func() []string
			want []string
		}{
			"runs": {func() []string {
				return allOf(t, runs.All(t.Context(), uuid.UUID{1}, &hogapi.RunListOptions{CursorOptions: cursor}), func(r hogapi.Run) string {
					return fmt.Sprintf("%s %s %t", last(r.ID), r.Status, r.RecordsCompleted != nil)
				})
			}, []string{
				"1 Completed false", "2 Completed false", "3 Completed true! 0 finished_at true", "4 Completed false",
				"0 Failed false! 0 id true", "0 Failed false! 1 id true", "7 Completed false",
			}},
			"runs of one status": {func() []string { // a row that cannot be read may be one of them
				return allOf(t, runs.All(t.Context(), uuid.UUID{1}, &hogapi.RunListOptions{CursorOptions: cursor, Statuses: []hogapi.RunStatus{"TimedOut"}}), func(r hogapi.Run) string {
					return string(r.Status)
				})
			}, []string{"Completed! 0 finished_at true", "Failed! 0 id true", "Failed! 1 id true"}},
			"exports": {func() []string {
				return allOf(t, exports.All(t.Context(), &o), func(e hogapi.BatchExport) string { return last(e.ID) + e.Name })
			}, []string{"1n", "2n! 1 offset_hour true", "0n! 0  true", "0n! 1 id true", "5n"}},
			"dashboards": {func() []string {
				return allOf(t, boards.All(t.Context(), &hogapi.DashboardListOptions{ListOptions: o}), func(d hogapi.Dashboard) string {
					return fmt.Sprintf("%d %s %t", d.ID, *d.Name, d.Pinned)
				})
			}, []string{"1 n false", "2 n true! 1 tags true", "3 n false", "4 n false! 1 created_at true"}},
		}
		for name, list := range lists {
			for range 2 {
				assert.Equal(t, list.want, list.read(), "%s, prefetch %d", name, prefetch)
			}
		}
	}
}

// List and Pages return a page with rows that cannot be read together with an error, which names each field and value.
func TestPageWithErrorsOfRows(t *testing.T) {
	t.Parallel()
	client := pagesOf(t, []string{`{"id":1,"name":5,"pinned":"x"}`, `{"id":2,"created_at":"2024-05-01T00:00:00"}`, `{"id":3}`})
	page, err := client.Dashboards.List(t.Context(), nil)
	require.ErrorContains(t, err, `row 0: name: 5 is not a text; pinned: "x" is not a boolean`)
	require.ErrorContains(t, err, `row 1: created_at: "2024-05-01T00:00:00" is not a time with a zone`)
	require.ErrorAs(t, err, new(*hogapi.RowError))
	require.ErrorAs(t, err, new(*hogapi.DecodeError))
	require.NotContains(t, err.Error(), "base URL")
	require.Len(t, page.Results, 2)
	require.EqualValues(t, 2, page.Results[1].ID)
	var said []bool
	for page, err := range client.Dashboards.Pages(t.Context(), nil) {
		require.NotNil(t, page)
		said = append(said, err != nil)
	}
	require.Equal(t, []bool{true, false}, said)
	for _, err := range pagesOf(t, []string{`{"id":"x","status":"Failed"}`}).Runs.LatestFailed(t.Context(), uuid.UUID{1}, nil) {
		require.ErrorAs(t, err, new(*hogapi.DecodeError))
		require.False(t, errors.As(err, new(*hogapi.RowError)), "the walk ends here")
	}
	next, err := pagesOf(t, []string{`{"id":"x","status":"Failed"}`, `{}`, `null`}).Runs.List(t.Context(), uuid.UUID{1}, nil)
	require.ErrorContains(t, err, `row 0: id: "x" is not a uuid`)
	require.ErrorContains(t, err, `row 1: `)
	cursor, err := next.NextCursor()
	require.NoError(t, err)
	require.Equal(t, "2", cursor)
}

// Log lines with an unreadable time or level are neither lost nor repeated, and the walk reaches the end.
func TestErrorOfOneLineOfALog(t *testing.T) {
	t.Parallel()
	line := func(micro int, zone, level string) string {
		return fmt.Sprintf(`{"timestamp":"2024-05-01T00:00:00.%06d%s","level":%s,"message":"m"}`, micro, zone, level)
	}
	client := pagesOf(t, []string{
		line(9, "Z", `"INFO"`), line(8, "Z", `5`), line(7, " at noon", `"INFO"`), line(6, "Z", `6`), line(5, "", `"INFO"`), line(4, "Z", `"INFO"`), line(3, " at noon", `7`),
	})
	want := []string{
		"9INFO", "8! 1 level true", "0INFO! 2 timestamp true", "6! 2 level true", "5INFO", "4INFO", "0! 1 level true",
	}
	for range 2 {
		got := allOf(t, client.BatchExports.AllLogs(t.Context(), uuid.UUID{1}, &hogapi.LogOptions{Limit: 3}), func(e hogapi.LogEntry) string {
			return fmt.Sprint(e.Timestamp.Nanosecond()/1000) + string(e.Level)
		})
		assert.Equal(t, want, got)
	}
	page, err := client.BatchExports.Logs(t.Context(), uuid.UUID{1}, nil)
	require.ErrorContains(t, err, "row 1: level: 5 is not a text")
	require.Len(t, page.Results, 2)
}

// A row that cannot be decoded does not hide an export of another name, and is an error where it may have the name.
func TestByNameBesideARowError(t *testing.T) {
	row := func(id int, name, paused string) string {
		return fmt.Sprintf(`{"id":"0190f3c0-0000-7000-8000-%012d","name":%s,"paused":%s,"interval":"hour","created_at":"2024-05-01T00:00:00Z","destination":{"type":"S3","config":{}}}`, id, name, paused)
	}
	client := pagesOf(t, []string{row(1, `"lake"`, `"yes"`), row(2, `"warehouse"`, "false"), row(3, "[]", "false")})
	_, err := client.BatchExports.ByName(t.Context(), "lake")
	require.ErrorAs(t, err, new(*hogapi.RowError))
	_, err = client.BatchExports.ByName(t.Context(), "warehouse")
	require.ErrorAs(t, err, new(*hogapi.RowError), "the last row may have any name")
	client = pagesOf(t, []string{row(1, `"lake"`, `"yes"`), row(2, `"warehouse"`, "false")})
	found, err := client.BatchExports.ByName(t.Context(), "warehouse")
	require.NoError(t, err)
	require.Equal(t, "warehouse", found.Name)
}
