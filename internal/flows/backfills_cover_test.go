package flows_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
)

type object = map[string]any

// small is a server with the answers of the real one for one export, its backfill and its runs, as PostHog's source gives
// them: products/batch_exports/backend/temporal/backfill_batch_export.py narrows a backfill to the earliest timestamp,
// aligns it to today's schedule, and joins a running workflow with the same end.
type small struct {
	export, backfill object
	runs             []object
	sent             []string // requests that would have an effect
}

var smallID = uuid.MustParse("0190f3c0-0000-7000-8000-00000000000a")

func (s *small) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/api/projects/1/batch_exports/"+smallID.String())
	var out any
	switch {
	case r.Method == http.MethodPost:
		s.sent = append(s.sent, path)
		out = object{"backfill_id": uuid.Nil.String(), "cancelled": true}
	case path == "/":
		out = s.export
	case path == "/backfills/":
		out = object{"next": nil, "results": []object{s.backfill}}
	case path == "/runs/":
		out = object{"next": nil, "results": append([]object{}, s.runs...)}
	case strings.HasPrefix(path, "/backfills/"):
		out = s.backfill
	default:
		for _, run := range s.runs {
			if "/runs/"+run["id"].(string)+"/" == path {
				out = run
			}
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Date", at("28T14:30").Format(http.TimeFormat))
	if out == nil {
		w.WriteHeader(http.StatusNotFound)
	}
	if out == nil {
		out = object{"type": "invalid_request", "code": "not_found", "detail": "Not found."}
	}
	_ = json.NewEncoder(w).Encode(out) //nolint:errchkjson // of the test
}

func (s *small) client(t *testing.T) *hogapi.Client {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	client, err := hogapi.NewClient(hogapi.WithBaseURL(server.URL), hogapi.WithProject("1"), hogapi.WithPersonalAPIKey("phx_"+strings.Repeat("x", 40)))
	require.NoError(t, err)
	return client
}

// ranges are given as "02T03": hours of days of November 2026.
func at(text string) time.Time {
	t, err := time.Parse("2006-01-02T15:04", "2026-11-"+text+":00")
	if err != nil {
		t, err = time.Parse("2006-01-02T15:04", "2026-11-"+text)
	}
	if err != nil {
		panic(err)
	}
	return t
}

func (s *small) ran(status, from, to string, backfill any, created string) *small {
	end := any(at(created).Add(time.Minute))
	if status == "Running" {
		end = nil
	}
	s.runs = append([]object{{
		"id": uuid.NewString(), "status": status, "data_interval_start": at(from), "data_interval_end": at(to), "created_at": at(created),
		"last_updated_at": at(created).Add(time.Minute), "finished_at": end, "records_completed": 7, "records_failed": 0, "backfill": backfill,
	}}, s.runs...)
	return s
}

// lost sets how many records of the newest run failed.
func (s *small) lost(records int) *small {
	s.runs[0]["records_failed"] = records
	return s
}

func hourlySmall(from, to string, more object) *small {
	s := &small{
		export: object{"id": smallID, "name": "e", "model": "events", "interval": "hour", "timezone": "UTC", "destination": object{"type": "Postgres", "config": object{}}},
		backfill: object{
			"id": uuid.MustParse("0190f3c0-0000-7000-8000-0000000000b2"), "status": "Completed", "start_at": at(from), "end_at": at(to),
			"created_at": at("28T12"), "finished_at": at("28T13"), "adjusted_start_at": at(from), "total_records_count": 7,
			"progress": object{"total_runs": 1, "finished_runs": 1, "progress": 1.0},
		},
	}
	maps.Copy(s.backfill, more)
	return s
}

func (s *small) with(key string, value any) *small {
	s.export[key] = value
	return s
}

// A backfill is judged by the time that its runs cover, not by their number, which is right in each of these answers.
func TestWaitBelievesCoverAndNotCounts(t *testing.T) {
	own := "0190f3c0-0000-7000-8000-0000000000b2"
	dates := func(s *small) *small { return s.with("interval", "day").with("offset_hour", 5) }
	for name, tt := range map[string]struct {
		server   *small
		from, to string
		pause    bool
		text     string // of the error
		matches  error
		state    string
		parts    []hogapi.BackfillPart
	}{
		"3 of 6 hours, since the first event is at 03:20": {
			server: hourlySmall("28T00", "28T06", object{"adjusted_start_at": at("28T03")}).
				ran("Completed", "28T03", "28T04", own, "28T12").ran("Completed", "28T04", "28T05", own, "28T12").ran("Completed", "28T05", "28T06", own, "28T12"),
			from: "28T00", to: "28T06",
			text: "the backfill left out the time from 2026-11-28T00:00:00Z to 2026-11-28T03:00:00Z, in which no event has a timestamp: " +
				"rows that arrived there may be missing, and only coverage.DownloadRange gets them",
			state: "50 %, 3 runs completed, 0 failed",
			parts: []hogapi.BackfillPart{{Start: at("28T00"), End: at("28T03"), Reason: hogapi.BackfillLeftOut}},
		},
		"the same, by timestamp": {
			server: hourlySmall("10T00", "10T06", object{"adjusted_start_at": at("10T03")}).
				ran("Completed", "10T03", "10T04", own, "28T12").ran("Completed", "10T04", "10T05", own, "28T12").ran("Completed", "10T05", "10T06", own, "28T12"),
			from: "10T00", to: "10T06", state: "100 %, 3 runs completed, 0 failed, nothing to export from 2026-11-10T00:00:00Z to 2026-11-10T03:00:00Z",
			parts: []hogapi.BackfillPart{{Start: at("10T00"), End: at("10T03"), Reason: hogapi.BackfillEmpty}},
		},
		"the same, of persons": {
			server: hourlySmall("28T00", "28T02", object{"adjusted_start_at": at("28T01")}).with("model", "persons").ran("Completed", "28T01", "28T02", own, "28T12"),
			from:   "28T00", to: "28T02", state: "100 %, 1 runs completed, 0 failed, nothing to export from 2026-11-28T00:00:00Z to 2026-11-28T01:00:00Z",
			parts: []hogapi.BackfillPart{{Start: at("28T00"), End: at("28T01"), Reason: hogapi.BackfillEmpty}},
		},
		"no event has a timestamp in the range": {
			server: hourlySmall("28T00", "28T02", object{"total_records_count": 0}), from: "28T00", to: "28T02",
			text:  "the backfill left out the time from 2026-11-28T00:00:00Z to 2026-11-28T02:00:00Z",
			state: "0 %, 0 runs completed, 0 failed", parts: []hogapi.BackfillPart{{Start: at("28T00"), End: at("28T02"), Reason: hogapi.BackfillLeftOut}},
		},
		"the day before, since the day begins at 05:00 now": {
			server: dates(hourlySmall("27T00", "28T00", object{"adjusted_start_at": at("26T05")})).ran("Completed", "26T05", "27T05", own, "28T12"),
			from:   "27T00", to: "28T00", text: "no run exports the time from 2026-11-27T05:00:00Z to 2026-11-28T00:00:00Z, which is shorter than an interval",
			state: "20 %, 1 runs completed, 0 failed", parts: []hogapi.BackfillPart{{Start: at("27T05"), End: at("28T00"), Reason: hogapi.BackfillNoInterval}},
		},
		"1 hour of 24, since its run had the same end": {
			server: hourlySmall("27T00", "28T00", nil).with("interval", "day").ran("Completed", "27T23", "28T00", nil, "28T12"),
			from:   "27T00", to: "28T00", text: "no run is shown from 2026-11-27T00:00:00Z to 2026-11-27T23:00:00Z: follow the same ticket again, and backfill that part",
			state: "4 %, 1 runs completed, 0 failed", parts: []hogapi.BackfillPart{{Start: at("27T00"), End: at("27T23"), Reason: hogapi.BackfillNoRun}},
		},
		"a day under way that began before the range, and has its end": {
			server: hourlySmall("27T20", "28T00", object{"total_records_count": nil}).ran("Completed", "27T00", "28T00", nil, "28T12"),
			from:   "27T20", to: "28T00", state: "100 %, 1 runs completed, 0 failed",
		},
		"a query without an estimate, of which nothing ran": {
			server: hourlySmall("28T00", "28T01", object{"total_records_count": nil}).with("model", "hogql"),
			from:   "28T00", to: "28T01", text: "no run is shown from 2026-11-28T00:00:00Z", state: "0 %, 0 runs completed, 0 failed",
			parts: []hogapi.BackfillPart{{Start: at("28T00"), End: at("28T01"), Reason: hogapi.BackfillNoRun}},
		},
		"a pause from 10:30 to 12:10": {
			server: hourlySmall("28T10:30", "28T12:10", object{"adjusted_start_at": at("28T10")}).
				ran("Completed", "28T10", "28T11", own, "28T12").ran("Completed", "28T11", "28T12", own, "28T12"),
			from: "28T10:30", to: "28T12:10", pause: true, state: "100 %, 2 runs completed, 0 failed",
		},
		"bounds within hours": {
			server: hourlySmall("28T10:30", "28T12:10", object{"adjusted_start_at": at("28T10")}).
				ran("Completed", "28T10", "28T11", own, "28T12").ran("Completed", "28T11", "28T12", own, "28T12"),
			from: "28T10:30", to: "28T12:10", text: "no run exports the time from 2026-11-28T12:00:00Z to 2026-11-28T12:10:00Z", state: "90 %, 2 runs completed, 0 failed",
			parts: []hogapi.BackfillPart{{Start: at("28T12"), End: at("28T12:10"), Reason: hogapi.BackfillNoInterval}},
		},
		"until it has caught up at 13:00": {
			server: hourlySmall("28T10", "28T13", object{"end_at": nil}).ran("Completed", "28T10", "28T11", own, "28T12").
				ran("Completed", "28T11", "28T12", own, "28T12").ran("Completed", "28T12", "28T13", own, "28T12"),
			from: "28T10", state: "100 %, 3 runs completed, 0 failed",
		},
		"until it has caught up, and 12:00 to 13:00 is missing": {
			server: hourlySmall("28T10", "28T13", object{"end_at": nil}).ran("Completed", "28T10", "28T12", own, "28T12"),
			from:   "28T10", text: "no run is shown from 2026-11-28T12:00:00Z to 2026-11-28T13:00:00Z", state: "66 %, 1 runs completed, 0 failed",
			parts: []hogapi.BackfillPart{{Start: at("28T12"), End: at("28T13"), Reason: hogapi.BackfillNoRun}},
		},
		"without an end, from the first event at 11:20, and one hour failed": {
			server: hourlySmall("28T10", "28T13", object{"end_at": nil, "adjusted_start_at": at("28T11")}).
				ran("Completed", "28T11", "28T12", own, "28T12").ran("Failed", "28T12", "28T13", own, "28T12"),
			from: "28T10", text: "1 of 2 runs did not complete", state: "66 %, 1 runs completed, 1 failed",
			parts: []hogapi.BackfillPart{
				{Start: at("28T10"), End: at("28T11"), Reason: hogapi.BackfillLeftOut}, {Start: at("28T12"), End: at("28T13"), Reason: hogapi.BackfillIncomplete},
			},
		},
		"without an end, and no event since": {
			server: hourlySmall("28T10", "28T13", object{"end_at": nil, "total_records_count": 0}),
			from:   "28T10", text: "and the service has not unpaused the export", state: "0 %, 0 runs completed, 0 failed",
			parts: []hogapi.BackfillPart{{Start: at("28T10"), End: at("28T13"), Reason: hogapi.BackfillLeftOut}},
		},
		"a pause shorter than an hour": {
			server: hourlySmall("28T10:10", "28T10:40", object{"adjusted_start_at": at("28T10")}),
			from:   "28T10:10", to: "28T10:40", pause: true, text: "nothing ran: no interval ended in the range",
			state: "100 %, 0 runs completed, 0 failed",
		},
		"records failed in an hour of two": {
			server: hourlySmall("28T10", "28T12", nil).ran("Completed", "28T10", "28T11", own, "28T12").ran("Completed", "28T11", "28T12", own, "28T12").lost(2),
			from:   "28T10", to: "28T12", text: "1 of 2 runs did not complete", matches: hogapi.ErrRunFailed, state: "100 %, 1 runs completed, 1 failed",
			parts: []hogapi.BackfillPart{{Start: at("28T11"), End: at("28T12"), Reason: hogapi.BackfillIncomplete}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ticket := &hogapi.BackfillTicket{
				ExportID: smallID, BackfillID: uuid.MustParse(own), StartAt: hogapi.AtTime(at(tt.from)), EndAt: hogapi.CaughtUp(), RequestedAt: at("28T12"), Unpaused: tt.pause,
			}
			if tt.to != "" {
				ticket.EndAt = hogapi.AtTime(at(tt.to))
			}
			state, err := tt.server.client(t).Backfills.Wait(t.Context(), ticket, &hogapi.WatchOptions{Interval: time.Millisecond, Settle: time.Millisecond})
			if tt.text == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.text)
				require.ErrorAs(t, err, new(*hogapi.BackfillError))
			}
			if tt.matches != nil {
				require.ErrorIs(t, err, tt.matches)
			}
			assert.Equal(t, tt.state, state.String())
			assert.Equal(t, tt.parts, state.NotExported)
		})
	}
}

// Bounds that the service would move are refused before anything is sent, with the nearest valid ones and the method to
// call instead.
func TestBoundsOfAnotherScheduleAreRefused(t *testing.T) {
	instants := func(from, to string) *hogapi.BackfillRange {
		return &hogapi.BackfillRange{Start: hogapi.AtTime(at(from)), End: hogapi.AtTime(at(to))}
	}
	open := func(start hogapi.Timestamp) *hogapi.BackfillRange {
		return &hogapi.BackfillRange{Start: start, End: hogapi.CaughtUp()}
	}
	hours := func() *small { return hourlySmall("27T00", "28T00", nil) }
	http := func(s *small) *small { return s.with("destination", object{"type": "HTTP", "config": object{}}) }
	days := func() *small { return hours().with("interval", "day").with("offset_hour", 5) }
	const downloads = "coverage.DownloadRange"
	for name, tt := range map[string]struct {
		server   *small
		backfill *hogapi.BackfillRange // nil: a retry
		from, to string                // of the run
		texts    []string              // nil: it is sent
	}{
		"hours":                     {hours(), instants("27T10", "27T13"), "", "", nil},
		"within hours":              {hours(), instants("27T10:30", "27T13:30"), "", "", []string{"Start", "2026-11-27T10:00:00Z or 2026-11-27T11:00:00Z", downloads}},
		"a rest":                    {hours(), instants("27T10", "27T13:30"), "", "", []string{"End", "2026-11-27T13:00:00Z or 2026-11-27T14:00:00Z", downloads}},
		"days as instants":          {days(), instants("26T05", "27T05"), "", "", []string{"dates, here 2026-11-26 and 2026-11-27"}},
		"other days":                {days(), instants("26T00", "27T00"), "", "", []string{"Start", "2026-11-25T05:00:00Z Wed or 2026-11-26T05:00:00Z Thu", downloads}},
		"weeks from another day":    {days().with("interval", "week"), &hogapi.BackfillRange{Start: hogapi.AtDate(2026, 11, 16), End: hogapi.AtDate(2026, 11, 22)}, "", "", []string{"Start", "2026-11-15T05:00:00Z Sun or 2026-11-22T05:00:00Z Sun"}},
		"without an end":            {http(hours()), open(hogapi.AtTime(at("27T10"))), "", "", nil},
		"days without an end":       {http(days()), open(hogapi.AtDate(2026, 11, 27)), "", "", nil},
		"no end, within hours":      {http(hours()), open(hogapi.AtTime(at("27T10:30"))), "", "", []string{"Start", "2026-11-27T10:00:00Z or 2026-11-27T11:00:00Z"}},
		"no end, weeks":             {http(days()).with("interval", "week"), open(hogapi.AtDate(2026, 11, 16)), "", "", []string{"Start", "2026-11-15T05:00:00Z Sun"}},
		"no end, for Postgres":      {hours(), open(hogapi.AtTime(at("27T10"))), "", "", []string{`End "caught_up"`, "only exports to HTTP and NoOp destinations may have an open end, not Postgres"}},
		"no end and no begin":       {http(hours()), open(hogapi.AtBeginning()), "", "", []string{"neither catch up nor unpause"}},
		"a start that is no start":  {hours(), open(hogapi.CaughtUp()), "", "", []string{`Start "caught_up"`}},
		"a retry of an hour":        {hours(), nil, "27T10", "27T11", nil},
		"of a day, by hours now":    {hours(), nil, "27T00", "28T00", nil},
		"of a day at another hour":  {days(), nil, "27T00", "28T00", []string{"would export 2026-11-26T05:00:00Z to 2026-11-27T05:00:00Z instead", "from 2026-11-26T05:00:00Z to 2026-11-28T05:00:00Z", downloads}},
		"of an hour, by days now":   {days(), nil, "27T10", "27T11", []string{"would export nothing instead", "from 2026-11-27T05:00:00Z to 2026-11-28T05:00:00Z", downloads}},
		"of an hour within a query": {hours().with("model", "hogql"), nil, "27T10:10", "27T11:10", []string{downloads}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, err := tt.server.client(t), error(nil)
			o := &hogapi.BackfillOptions{AcceptRowsByTimestamp: true}
			if tt.backfill != nil {
				_, err = client.BatchExports.Backfill(t.Context(), smallID, *tt.backfill, o)
			} else {
				tt.server.ran("Failed", tt.from, tt.to, nil, "28T12")
				_, err = client.Runs.Retry(t.Context(), smallID, uuid.MustParse(tt.server.runs[0]["id"].(string)), o)
			}
			assert.Len(t, tt.server.sent, map[bool]int{true: 1, false: 0}[tt.texts == nil])
			if tt.texts == nil {
				require.NoError(t, err)
			}
			for _, text := range tt.texts {
				require.ErrorContains(t, err, text)
				require.ErrorAs(t, err, new(*hogapi.InputError))
			}
		})
	}
}

// The coverage goes by the bounds of the runs, as Wait does, and by the start to which the service moved the backfill.
func TestCoverageOfMovedBackfills(t *testing.T) {
	own := "0190f3c0-0000-7000-8000-0000000000b2"
	for name, tt := range map[string]struct {
		server   *small
		from, to string
		states   []coverage.State
	}{
		"2 of 4 hours, since the first event is at 02:20": {
			hourlySmall("28T00", "28T04", object{"adjusted_start_at": at("28T02")}).ran("Completed", "28T02", "28T03", own, "28T12").ran("Completed", "28T03", "28T04", own, "28T12"),
			"28T00", "28T04", []coverage.State{"never_scheduled", "never_scheduled", "completed", "completed"},
		},
		"1 hour of 24, since its run had the same end": {
			hourlySmall("27T00", "28T00", nil).with("interval", "day").ran("Completed", "27T23", "28T00", nil, "28T12"),
			"27T00", "28T00", []coverage.State{"partly_covered"},
		},
		"the day before, by a day that begins at 05:00": {
			hourlySmall("27T00", "28T00", nil).with("interval", "day").ran("Completed", "26T05", "27T05", own, "28T12"),
			"27T00", "28T00", []coverage.State{"partly_covered"},
		},
		"asked for 18 days, of which 17 are empty": {
			hourlySmall("10T00", "27T04", object{"adjusted_start_at": at("27T03")}).ran("Completed", "27T03", "27T04", own, "28T12"),
			"27T03", "27T04", []coverage.State{"completed"},
		},
		"begun an hour earlier than asked, past the age line": {
			hourlySmall("23T11", "23T12", object{"adjusted_start_at": at("23T10")}).ran("Completed", "23T11", "23T12", own, "28T12"),
			"23T11", "23T12", []coverage.State{"completed_by_timestamp"},
		},
		"records failed in an hour of two": {
			hourlySmall("28T10", "28T12", nil).ran("Completed", "28T10", "28T11", own, "28T12").ran("Completed", "28T11", "28T12", own, "28T12").lost(2),
			"28T10", "28T12", []coverage.State{"completed", "records_failed"},
		},
		"and a retry brought them": {
			hourlySmall("28T11", "28T12", nil).ran("Completed", "28T11", "28T12", nil, "28T12").lost(2).ran("Completed", "28T11", "28T12", own, "28T13"),
			"28T11", "28T12", []coverage.State{"completed"},
		},
		"an object that a run without all records has replaced": {
			hourlySmall("28T11", "28T12", nil).with("destination", object{"type": "AwsS3", "config": object{}}).
				ran("Completed", "28T11", "28T12", nil, "28T12").ran("Completed", "28T11", "28T12", own, "28T13").lost(2),
			"28T11", "28T12", []coverage.State{"records_failed"},
		},
		"the run under way brings only what is covered": {
			hourlySmall("27T00", "27T12", nil).with("interval", "day").ran("Completed", "27T00", "27T12", own, "28T12").ran("Running", "27T00", "27T12", own, "28T14"),
			"27T00", "28T00", []coverage.State{"partly_covered"},
		},
		"1 hour of 24 is under way": {
			hourlySmall("27T00", "28T00", nil).with("interval", "day").ran("Running", "27T23", "28T00", nil, "28T14"),
			"27T00", "28T00", []coverage.State{"never_scheduled"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := tt.server.with("created_at", at("01T00")).with("last_updated_at", at("01T00"))
			c, err := coverage.Of(t.Context(), server.client(t), smallID, &coverage.Options{From: at(tt.from), To: at(tt.to)})
			require.NoError(t, err)
			var states []coverage.State
			for _, x := range c.Intervals {
				states = append(states, x.State)
			}
			assert.Equal(t, tt.states, states)
			isLacking := func(s coverage.State) bool { return s != coverage.StateCompleted }
			assert.Equal(t, !slices.ContainsFunc(states, isLacking), c.IsExported())
			plan, err := coverage.MakePlan(t.Context(), server.client(t), c, nil)
			require.NoError(t, err)
			assert.Equal(t, len(c.Gaps()) > 0, len(plan.Steps) > 0, "a gap without a step")
		})
	}
}
