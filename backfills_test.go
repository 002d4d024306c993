package hogapi

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jarcoal/httpmock"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	backfillPath  = testBase + "/batch_exports/0190f3c0-0000-7000-8000-00000000000a/backfill/"
	backfillsPath = testBase + "/batch_exports/0190f3c0-0000-7000-8000-00000000000a/backfills/"
	backfillBPath = backfillsPath + "0190f3c0-0000-7000-8000-0000000000b2/"

	noSuchEndpoint = `{"type": "invalid_request", "code": "not_found", "detail": "Endpoint not found.", "attr": null}`
	noRows         = `{"next": null, "results": []}`
	noSuchObject   = `{"type": "invalid_request", "code": "not_found", "detail": "Not found.", "attr": null}`
)

// anyAge allows exports of old intervals.
var anyAge = &BackfillOptions{AcceptRowsByTimestamp: true}

var january = BackfillRange{Start: AtDate(2024, 1, 1), End: AtDate(2024, 2, 1)}

// ofExport answers for an hourly export without a zone, as on old servers.
func ofExport(mock *httpmock.MockTransport) {
	mock.RegisterResponder("GET", strings.TrimSuffix(backfillPath, "backfill/"), httpmock.NewStringResponder(200, `{"id": "0190f3c0-0000-7000-8000-00000000000a", "interval": "hour"}`))
}

// answering records the bodies that come, and answers with a Date of the service.
func answering(status int, body string, bodies *[]string) httpmock.Responder {
	return func(r *http.Request) (*http.Response, error) {
		var sent []byte
		if r.Body != nil {
			sent, _ = io.ReadAll(r.Body)
		}
		*bodies = append(*bodies, string(sent))
		resp := httpmock.NewStringResponse(status, body)
		resp.Header.Set("Date", "Wed, 15 May 2024 10:00:00 GMT")
		return resp, nil
	}
}

func TestBackfillUsesTheOlderEndpointOnlyWhereTheNewerIsMissing(t *testing.T) {
	for name, c := range map[string]struct {
		newer    httpmock.Responder
		fallback bool
		err      error
	}{
		"newer server":      {httpmock.NewStringResponder(201, `{"backfill_id": "0190f3c0-0000-7000-8000-0000000000b2"}`), false, nil},
		"older server":      {httpmock.NewStringResponder(404, noSuchEndpoint), true, nil},
		"unknown export":    {httpmock.NewStringResponder(404, noSuchObject), false, ErrNotFound},
		"a proxy's 404":     {httpmock.NewStringResponder(404, "<html>"), false, nil},
		"refused":           {httpmock.NewStringResponder(400, `{"detail": "end_at is too far away"}`), false, ErrInvalid},
		"too many":          {httpmock.NewStringResponder(429, `{"code": "too_many_concurrent_backfills"}`), false, ErrRateLimited},
		"failed":            {httpmock.NewStringResponder(500, ""), false, ErrOutcomeUnknown},
		"answer not read":   {httpmock.NewErrorResponder(errors.New("reset")), false, ErrOutcomeUnknown},
		"answer not JSON":   {httpmock.NewStringResponder(200, "<html>"), false, ErrOutcomeUnknown},
		"gone, or perhaps?": {httpmock.NewStringResponder(405, noSuchEndpoint), false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			client, mock := newTestClient(t)
			ofExport(mock)
			mock.RegisterResponder("GET", backfillsPath, answering(200, noRows, new([]string)))
			var bodies []string
			mock.RegisterResponder("POST", backfillsPath, c.newer)
			mock.RegisterResponder("POST", backfillPath, answering(200, `{"backfill_id": "0190f3c0-0000-7000-8000-0000000000b2"}`, &bodies))
			ticket, err := client.BatchExports.Backfill(t.Context(), exportA, january, anyAge)
			info := mock.GetCallCountInfo()
			require.Equal(t, 1, info["POST "+backfillsPath])
			require.Equal(t, 1, info["GET "+backfillsPath], "one read before, whichever endpoint it is")
			require.Len(t, bodies, info["POST "+backfillPath])
			require.Equal(t, c.fallback, len(bodies) == 1)
			if c.fallback || name == "newer server" {
				require.NoError(t, err)
				require.Equal(t, runB, ticket.BackfillID)
				return
			}
			require.Error(t, err)
			if c.err != nil {
				require.ErrorIs(t, err, c.err)
			}
			require.Equal(t, errors.Is(err, ErrOutcomeUnknown), ticket != nil)
		})
	}
}

func TestBackfillSendsItsRange(t *testing.T) {
	morning := time.Date(2024, 5, 1, 10, 0, 0, 0, time.FixedZone("east", 7200))
	for name, c := range map[string]struct {
		r    BackfillRange
		body string
	}{
		"dates":     {january, `{"start_at": "2024-01-01", "end_at": "2024-02-01"}`},
		"instants":  {BackfillRange{AtTime(morning), AtTime(morning.Add(time.Hour))}, `{"start_at": "2024-05-01T08:00:00Z", "end_at": "2024-05-01T09:00:00Z"}`},
		"beginning": {BackfillRange{AtBeginning(), AtTime(morning)}, `{"start_at": null, "end_at": "2024-05-01T08:00:00Z"}`},
	} {
		t.Run(name, func(t *testing.T) {
			client, mock := newTestClient(t)
			ofExport(mock)
			mock.RegisterResponder("GET", backfillsPath, answering(200, noRows, new([]string)))
			var bodies []string
			mock.RegisterResponder("POST", backfillPath, answering(200, `{"backfill_id": "a-Backfill-b-c"}`, &bodies))
			mock.RegisterResponder("POST", backfillsPath, answering(201, `{"backfill_id": "a-Backfill-b-c"}`, &bodies))
			var reply Reply
			ticket, err := client.BatchExports.Backfill(t.Context(), exportA, c.r, anyAge, WithReply(&reply))
			require.NoError(t, err)
			require.Equal(t, 201, reply.StatusCode, "the caller's Reply is filled too")
			_, err = client.Backfills.Create(t.Context(), exportA, c.r, anyAge)
			require.NoError(t, err)
			require.Len(t, bodies, 2)
			require.JSONEq(t, c.body, bodies[0])
			require.JSONEq(t, c.body, bodies[1])

			require.Equal(t, time.Date(2024, 5, 15, 10, 0, 0, 0, time.UTC), ticket.RequestedAt, "by the service's clock")
			text, err := json.Marshal(ticket)
			require.NoError(t, err)
			var again BackfillTicket
			require.NoError(t, json.Unmarshal(text, &again))
			require.Equal(t, *ticket, again)
			require.Equal(t, c.r, BackfillRange{again.StartAt, again.EndAt})
		})
	}
}

func TestBackfillTicketWithoutTheServicesClock(t *testing.T) {
	noon := time.Date(2024, 5, 15, 12, 0, 0, 0, time.UTC)
	client, mock := newTestClient(t, WithClock(func() time.Time { return noon }))
	ofExport(mock)
	mock.RegisterResponder("GET", backfillsPath, httpmock.NewStringResponder(200, noRows))
	mock.RegisterResponder("POST", backfillsPath, httpmock.NewStringResponder(200, ""))
	ticket, err := client.BatchExports.Backfill(t.Context(), exportA, january, anyAge)
	require.NoError(t, err, "PostHog's API reference knows no body")
	require.Equal(t, &BackfillTicket{ExportID: exportA, StartAt: january.Start, EndAt: january.End, RequestedAt: noon, Baseline: &BackfillBaseline{}}, ticket)

	mock.RegisterResponder("POST", backfillsPath, httpmock.NewErrorResponder(errors.New("reset")))
	ticket, err = client.BatchExports.Backfill(t.Context(), exportA, january, anyAge)
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.True(t, ticket.OutcomeUnknown)
	require.Equal(t, noon, ticket.RequestedAt)
}

// A server error or an answer that the client cannot read still gives a ticket, which the caller can follow.
func TestTicketOfWhatWasDone(t *testing.T) {
	for status, unknown := range map[int]bool{303: false, 500: true} {
		client, mock := newTestClient(t)
		ofExport(mock)
		mock.RegisterResponder("GET", backfillsPath, httpmock.NewStringResponder(200, noRows))
		mock.RegisterResponder("POST", backfillsPath, httpmock.NewStringResponder(status, ""))
		ticket, err := client.Backfills.Create(t.Context(), exportA, january, anyAge)
		require.ErrorIs(t, err, ErrOutcomeUnknown)
		require.NotNil(t, ticket)
		require.Equal(t, unknown, ticket.OutcomeUnknown)
	}
}

func TestRetryMakesATicket(t *testing.T) {
	client, mock := newTestClient(t)
	ofExport(mock)
	mock.RegisterResponder("GET", runAPath, httpmock.NewStringResponder(200, `{"id": "0190f3c0-0000-7000-8000-0000000000a1", "status": "Failed"}`))
	mock.RegisterResponder("GET", backfillsPath, httpmock.NewStringResponder(404, noSuchEndpoint))
	mock.RegisterResponder("GET", runsPath, answering(200, `{"results": [
		{"id": "0190f3c0-0000-7000-8000-0000000000b2", "status": "Running", "created_at": "2024-05-15T09:00:00Z"},
		{"id": "0190f3c0-0000-7000-8000-0000000000a1", "status": "Failed", "created_at": "2024-05-15T08:58:59Z"}]}`, new([]string)))
	var bodies []string
	mock.RegisterResponder("POST", runAPath+"retry/?after=1970-01-01T00%3A00%3A00Z", answering(201, `{"backfill_id": "x-Backfill-y-z"}`, &bodies))
	ticket, err := client.Runs.Retry(t.Context(), exportA, runA, anyAge)
	require.NoError(t, err)
	require.Equal(t, []string{""}, bodies)
	require.Equal(t, exportA, ticket.ExportID)
	require.Equal(t, runA, ticket.RetriedRun)
	require.Zero(t, ticket.BackfillID)
	var stored BackfillTicket
	require.NoError(t, json.Unmarshal([]byte(`{"backfill_id": "x-Backfill-y-z", "requested_at": "2024-05-15T09:00:00Z"}`), &stored), "as an earlier version stored it")
	require.Zero(t, stored.BackfillID)
	require.NotZero(t, stored.RequestedAt)
	require.Equal(t, &BackfillBaseline{
		Since: time.Date(2024, 5, 15, 8, 59, 0, 0, time.UTC), Known: []uuid.UUID{runB}, OfRuns: true, Running: []uuid.UUID{runB},
	}, ticket.Baseline, "of the last minute of runs, since there are no records")
	text, err := json.Marshal(ticket)
	require.NoError(t, err)
	require.NotContains(t, string(text), "start_at")
	var again BackfillTicket
	require.NoError(t, json.Unmarshal(text, &again))
	require.Equal(t, *ticket, again)

	_, err = client.Runs.Retry(t.Context(), exportA, runA, anyAge, WithBody(map[string]string{"status": "Failed"}))
	require.NoError(t, err)
	require.JSONEq(t, `{"status": "Failed"}`, bodies[1])
}

func TestBackfillRefusesBadInput(t *testing.T) {
	client, mock := newTestClient(t)
	ctx, at := t.Context(), AtTime(time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC))
	_, err := client.BatchExports.Backfill(ctx, exportA, BackfillRange{}, anyAge)
	require.ErrorIs(t, err, ErrInvalid)
	_, err = client.Backfills.Create(ctx, exportA, BackfillRange{Start: at}, anyAge)
	require.ErrorContains(t, err, "CaughtUp, which is never implied")
	_, err = client.Backfills.Create(ctx, exportA, BackfillRange{Start: at, End: at}, anyAge)
	require.ErrorIs(t, err, ErrInvalid)
	for _, o := range []BackfillListOptions{{Ordering: "finished_at"}, {CursorOptions: CursorOptions{MaxPages: -1}}} {
		_, err = client.Backfills.List(ctx, exportA, &o)
		require.ErrorIs(t, err, ErrInvalid)
		for _, err := range client.Backfills.All(ctx, exportA, &o) {
			require.ErrorIs(t, err, ErrInvalid)
		}
	}
	require.Zero(t, mock.GetTotalCallCount())
}

func TestBackfillsAreReadAndCancelled(t *testing.T) {
	client, mock := newTestClient(t)
	ctx := t.Context()
	const row = `{"id": "0190f3c0-0000-7000-8000-0000000000b2", "team": 7, "batch_export": "0190f3c0-0000-7000-8000-00000000000a",
		"start_at": "2024-05-01T10:00:00Z", "end_at": "2024-05-01T11:00:00Z", "status": "Running", "created_at": "2024-05-02T00:00:00Z",
		"finished_at": null, "last_updated_at": "2024-05-02T00:00:01Z", "total_records_count": 12, "adjusted_start_at": null,
		"progress": {"total_runs": 4, "finished_runs": 1, "progress": 0.25}}`
	start, end, created := time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC), time.Date(2024, 5, 1, 11, 0, 0, 0, time.UTC), time.Date(2024, 5, 2, 0, 0, 0, 0, time.UTC)
	want := Backfill{
		ID: runB, TeamID: 7, BatchExport: exportA, StartAt: &start, EndAt: &end, Status: RunStatusRunning, CreatedAt: created,
		LastUpdatedAt: created.Add(time.Second), TotalRecordsCount: new(int64(12)),
		Progress: &BackfillProgress{TotalRuns: new(int64(4)), FinishedRuns: new(int64(1)), Progress: new(0.25)},
	}
	mock.RegisterResponder("GET", backfillBPath, httpmock.NewStringResponder(200, row))
	got, err := client.Backfills.Get(ctx, exportA, runB)
	require.NoError(t, err)
	require.Equal(t, want, *got)

	mock.RegisterResponderWithQuery("GET", backfillsPath, "ordering=-created_at", httpmock.NewStringResponder(200, `{"next": "https://x/?cursor=2", "results": [`+row+`]}`))
	mock.RegisterResponderWithQuery("GET", backfillsPath, "ordering=-created_at&cursor=2", httpmock.NewStringResponder(200, `{"next": null, "results": [{"id": "`+runA.String()+`", "status": "Novel"}]}`))
	page, err := client.Backfills.List(ctx, exportA, nil)
	require.NoError(t, err)
	require.Equal(t, []Backfill{want}, page.Results)
	require.Equal(t, []Backfill{want, {ID: runA, Status: "Novel"}}, walked(t, client.Backfills.All(ctx, exportA, nil)))
	require.Len(t, walked(t, client.Backfills.Pages(ctx, exportA, nil)), 2)

	mock.RegisterResponder("POST", backfillBPath+"cancel/", httpmock.NewStringResponder(200, `{"cancelled": true}`))
	require.ErrorIs(t, client.Backfills.Cancel(ctx, exportA, runB), ErrOutcomeUnknown, "it is still shown as running")
	mock.RegisterResponder("GET", backfillBPath, httpmock.NewStringResponder(200, strings.Replace(row, "Running", "Cancelled", 1)))
	require.NoError(t, client.Backfills.Cancel(ctx, exportA, runB))
	mock.RegisterResponder("POST", backfillBPath+"cancel/", httpmock.NewStringResponder(400, `{"detail": "over"}`))
	require.ErrorIs(t, client.Backfills.Cancel(ctx, exportA, runB), ErrInvalid)
}

func TestRunLogs(t *testing.T) {
	client, mock := newTestClient(t)
	mock.RegisterResponderWithQuery("GET", runAPath+"logs/", map[string]string{"after": farPast, "limit": "2"},
		httpmock.NewStringResponder(200, `{"results": [{"level": "ERROR", "message": "no bucket", "timestamp": "2024-05-01T10:00:00Z"}]}`))
	page, err := client.Runs.Logs(t.Context(), exportA, runA, &LogOptions{Limit: 2})
	require.NoError(t, err)
	require.Len(t, page.Results, 1)
	assert.Equal(t, "no bucket", page.Results[0].Message)
}

// A ticket from another process may have fields that are null or missing.
func FuzzBackfillTicket(f *testing.F) {
	f.Add([]byte(`{"export_id": "0190f3c0-0000-7000-8000-00000000000a", "start_at": null, "end_at": "2024-01-01", "requested_at": "2024-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"export_id": "0190f3c0-0000-7000-8000-00000000000a", "retried_run": "0190f3c0-0000-7000-8000-0000000000a1", "requested_at": "2024-01-01T00:00:00Z"}`))
	f.Add([]byte(`{"export_id": "0190f3c0-0000-7000-8000-00000000000a", "retried_run": "0190f3c0-0000-7000-8000-0000000000a1", "requested_at": "2024-01-01T00:00:00Z",
		"baseline": {"since": "2024-01-01T00:00:00Z", "known": ["0190f3c0-0000-7000-8000-0000000000a1"], "of_runs": true, "running": []}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var ticket, again BackfillTicket
		if json.Unmarshal(text, &ticket) != nil || ticket.check() != nil {
			return
		}
		written, err := json.Marshal(ticket)
		if err != nil {
			return // a year that UTC takes beyond 9999
		}
		require.NoError(t, json.Unmarshal(written, &again))
		require.Nil(t, again.check())
		rewritten, err := json.Marshal(again)
		require.NoError(t, err)
		require.JSONEq(t, string(written), string(rewritten))
	})
}

func TestTimestampUnset(t *testing.T) {
	assert.True(t, Timestamp{}.IsZero())
	assert.True(t, AtTime(time.Time{}).IsZero(), "a zero time is no instant")
	_, err := json.Marshal(AtDate(2024, time.February, 30))
	require.ErrorContains(t, err, "the calendar has no 2024-02-30")
	b, err := json.Marshal(BackfillRange{})
	require.NoError(t, err)
	assert.Equal(t, `{}`, string(b))
}

func TestBackfillRangeOfAnExport(t *testing.T) {
	berlin, err := time.LoadLocation("Europe/Berlin")
	require.NoError(t, err)
	utc := func(month time.Month, day, hour, minute int) time.Time {
		return time.Date(2024, month, day, hour, minute, 0, 0, time.UTC)
	}
	local := func(month time.Month, day, hour int) time.Time {
		return time.Date(2024, month, day, hour, 0, 0, 0, berlin)
	}
	daily := BatchExport{Interval: IntervalDay, Timezone: "UTC"}
	dailyBerlin := BatchExport{Interval: IntervalDay, Timezone: "Europe/Berlin"}
	weekly := BatchExport{Interval: IntervalWeek, Timezone: "UTC"}
	mondays := BatchExport{Interval: IntervalWeek, Timezone: "Europe/Berlin", OffsetDay: new(1), OffsetHour: new(5)}
	hourly := BatchExport{Interval: IntervalHour, Timezone: "UTC"}
	for _, tc := range []struct {
		name     string
		export   BatchExport
		from, to time.Time
		want     string // the JSON
		field    string // or the field that is wrong
	}{
		{"a month of days", daily, utc(3, 1, 0, 0), utc(4, 1, 0, 0), `{"start_at":"2024-03-01","end_at":"2024-04-01"}`, ""},
		{"days in their zone, over the change of clocks", dailyBerlin, local(3, 1, 0), local(4, 1, 0), `{"start_at":"2024-03-01","end_at":"2024-04-01"}`, ""},
		{"the same instants in UTC", dailyBerlin, local(3, 1, 0).UTC(), local(4, 1, 0).UTC(), `{"start_at":"2024-03-01","end_at":"2024-04-01"}`, ""},
		{"midnight elsewhere", dailyBerlin, utc(3, 1, 0, 0), utc(3, 2, 0, 0), "", "from"},
		{"days with a rest", daily, utc(3, 1, 0, 0), utc(3, 2, 12, 0), "", "to"},
		{"weeks from Sunday", weekly, utc(3, 3, 0, 0), utc(3, 17, 0, 0), `{"start_at":"2024-03-03","end_at":"2024-03-17"}`, ""},
		{"weeks with a rest", weekly, utc(3, 3, 0, 0), utc(3, 11, 0, 0), "", "to"},
		{"weeks with offsets", mondays, local(3, 4, 5), local(3, 11, 5), `{"start_at":"2024-03-04","end_at":"2024-03-11"}`, ""},
		{"hours", hourly, utc(3, 1, 0, 0), utc(3, 2, 0, 0), `{"start_at":"2024-03-01T00:00:00Z","end_at":"2024-03-02T00:00:00Z"}`, ""},
		{"hours of another zone", hourly, local(3, 1, 0), local(3, 1, 1), `{"start_at":"2024-02-29T23:00:00Z","end_at":"2024-03-01T00:00:00Z"}`, ""},
		{"hours that are not the schedule's", hourly, utc(3, 1, 21, 10), utc(3, 1, 23, 10), "", "from"},
		{"minutes that are not the schedule's", BatchExport{Interval: IntervalEvery5Minutes}, utc(3, 1, 0, 2), utc(3, 1, 0, 12), "", "from"},
		{"less than an hour", hourly, utc(3, 1, 0, 0), utc(3, 1, 0, 30), "", "to"},
		{"minutes to come", BatchExport{Interval: "every 30 minutes"}, utc(3, 1, 0, 0), utc(3, 1, 0, 45), "", "to"},
		{"days of an old server", BatchExport{Interval: IntervalDay}, utc(3, 1, 0, 0), utc(3, 3, 0, 0), `{"start_at":"2024-03-01T00:00:00Z","end_at":"2024-03-03T00:00:00Z"}`, ""},
		{"weeks of an old server with a rest", BatchExport{Interval: IntervalWeek}, utc(3, 1, 0, 0), utc(3, 9, 0, 0), "", "to"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r, err := tc.export.BackfillRange(tc.from, tc.to)
			if tc.field != "" {
				requireInputError(t, err, tc.field)
				assert.Equal(t, BackfillRange{}, r)
				return
			}
			require.NoError(t, err)
			b, err := json.Marshal(r)
			require.NoError(t, err)
			assert.Equal(t, tc.want, string(b))
			require.Nil(t, r.check())
		})
	}
}
