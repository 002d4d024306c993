package hogapitest_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

func TestBoundsOfBackfills(t *testing.T) {
	tests := []struct {
		name       string
		era        hogapitest.Era
		export     hogapitest.Export
		start, end string // as JSON
		status     int
	}{
		{"hours in UTC", hogapitest.E4, hogapitest.Export{}, `"2026-03-04T00:00:00Z"`, `"2026-03-04T02:00:00Z"`, 201},
		{"hours with an offset", hogapitest.E4, hogapitest.Export{}, `"2026-03-04T00:00:00+02:00"`, `"2026-03-04T02:00:00+02:00"`, 201},
		{"hours without an offset", hogapitest.E4, hogapitest.Export{}, `"2026-03-04T00:00:00"`, `"2026-03-04T02:00:00Z"`, 400},
		{"hours with dates", hogapitest.E4, hogapitest.Export{}, `"2026-03-03"`, `"2026-03-04"`, 400},
		{"no time at all", hogapitest.E4, hogapitest.Export{}, `7`, `"2026-03-04"`, 400},
		{"days with dates", hogapitest.E4, hogapitest.Export{Interval: "day"}, `"2026-03-01"`, `"2026-03-04"`, 201},
		{"days with times", hogapitest.E4, hogapitest.Export{Interval: "day"}, `"2026-03-01T00:00:00Z"`, `"2026-03-04T00:00:00Z"`, 400},
		{"days with times, long ago", hogapitest.E1, hogapitest.Export{Interval: "day"}, `"2026-03-01T00:00:00Z"`, `"2026-03-04T00:00:00Z"`, 200},
		{"weeks on their day", hogapitest.E4, hogapitest.Export{Interval: "week"}, `"2026-02-22"`, `"2026-03-01"`, 201},
		{"weeks on another day", hogapitest.E4, hogapitest.Export{Interval: "week"}, `"2026-02-23"`, `"2026-03-01"`, 400},
		{"end missing", hogapitest.E4, hogapitest.Export{}, `"2026-03-04T00:00:00Z"`, ``, 500},
		{"end null", hogapitest.E4, hogapitest.Export{}, `"2026-03-04T00:00:00Z"`, `null`, 500},
		{"end null of NoOp", hogapitest.E4, hogapitest.Export{DestinationType: "NoOp"}, `"2026-03-04T00:00:00Z"`, `null`, 201},
		{"start null", hogapitest.E4, hogapitest.Export{}, `null`, `"2026-03-04T00:00:00Z"`, 400},
		{"start null, long ago", hogapitest.E1, hogapitest.Export{}, `null`, `"2026-03-04T00:00:00Z"`, 200},
		{"backwards", hogapitest.E4, hogapitest.Export{}, `"2026-03-04T02:00:00Z"`, `"2026-03-04T00:00:00Z"`, 400},
		{"empty", hogapitest.E4, hogapitest.Export{}, `"2026-03-04T02:00:00Z"`, `"2026-03-04T02:00:00Z"`, 400},
		{"end to come", hogapitest.E4, hogapitest.Export{}, `"2026-03-04T02:00:00Z"`, `"2026-03-04T12:30:00Z"`, 400},
		{"end within an interval, long ago", hogapitest.E1, hogapitest.Export{}, `"2026-03-04T02:00:00Z"`, `"2026-03-04T12:30:00Z"`, 200},
		{"end far ahead, long ago", hogapitest.E1, hogapitest.Export{}, `"2026-03-04T02:00:00Z"`, `"2026-03-04T13:30:00Z"`, 400},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := inProcess(t, hogapitest.WithEra(test.era))
			export := w.project().AddExport(test.export)
			action := map[bool]string{true: "backfills", false: "backfill"}[test.era == hogapitest.E4]
			body := fmt.Sprintf(`{"start_at":%s,"end_at":%s}`, test.start, test.end)
			if test.end == "" {
				body = fmt.Sprintf(`{"start_at":%s}`, test.start)
			}
			got := w.want(test.status, "POST", "/batch_exports/"+export.String()+"/"+action+"/", body)
			assert.Nil(t, got["attr"], "the errors name no field")
		})
	}
}

// hours begins a backfill of whole hours of the day.
func (w *wire) hours(export fmt.Stringer, from, to int) string {
	w.t.Helper()
	body := fmt.Sprintf(`{"start_at":"2026-03-04T%02d:00:00Z","end_at":"2026-03-04T%02d:00:00Z"}`, from, to)
	return w.want(201, "POST", "/batch_exports/"+export.String()+"/backfills/", body)["backfill_id"].(string)
}

func TestBackfillOneRunAfterAnother(t *testing.T) {
	w, export := withExport(t, hogapitest.WithPolls(1))
	w.project().FailNextRuns(1, "no such bucket")
	id := w.want(201, "POST", "/batch_exports/"+export.String()+"/backfills/", `{"start_at":"2026-03-04T00:00:00Z","end_at":"2026-03-04T03:30:00Z"}`)["backfill_id"]
	path := fmt.Sprintf("/batch_exports/%s/backfills/%s/", export, id)

	want := []struct {
		status   string
		finished float64
		runs     int // there afterwards
	}{{"Starting", 0, 1}, {"Running", 0, 2}, {"Running", 1, 3}, {"Running", 2, 3}, {"Completed", 3, 3}, {"Completed", 3, 3}}
	for i, step := range want {
		got := w.get("%s", path)
		progress := got["progress"].(map[string]any)
		assert.Equal(t, step.status, got["status"], i)
		assert.Equal(t, step.status != "Starting", got["adjusted_start_at"] != nil, i)
		assert.Equal(t, step.finished, progress["finished_runs"], i)
		assert.Equal(t, 3.0, progress["total_runs"])
		if i > 0 && i < 4 {
			assert.Equal(t, 3000.0, got["total_records_count"], "an estimate")
		}
		assert.InDelta(t, math.Round(step.finished/3*10)/10, progress["progress"], 0.001, "one digit")
		runs := w.project().Runs(export)
		assert.Len(t, runs, step.runs, i)
		assert.Equal(t, id, runs[0].BackfillID.String())
	}
	got := w.get("%s", path)
	assert.Equal(t, 2000.0, got["total_records_count"], "of the runs that completed")
	assert.Equal(t, "2026-03-04T12:00:00Z", got["finished_at"])
	assert.Equal(t, 12345.0, got["team"])
	runs := results(w.get("/batch_exports/%s/runs/", export))
	assert.Equal(t, []any{"Completed", "Completed", "Failed"}, pluck(runs, "status"), "the half hour is dropped, and a failed run ends nothing")
	assert.Equal(t, []any{nil, nil, "no such bucket"}, pluck(runs, "latest_error"))
}

func TestBackfillJoinsARunningInterval(t *testing.T) {
	w, export := withExport(t, hogapitest.WithPolls(1))
	live := w.project().AddRun(export, hogapitest.Run{Status: "Running", Start: now.Truncate(day), End: now.Truncate(day).Add(time.Hour)})
	id := w.hours(export, 0, 2)
	assert.Len(t, w.project().Runs(export), 1)
	w.get("/batch_exports/%s/runs/%s/", export, live)
	runs := w.project().Runs(export)
	require.Len(t, runs, 2, "the next interval begins when the joined run is over")
	assert.Equal(t, 1, runs[1].Start.Hour())
	assert.Equal(t, id, runs[1].BackfillID.String())
	assert.NotEqual(t, id, runs[0].BackfillID.String())
}

func TestBackfillGoesOnAfterACancelledRun(t *testing.T) {
	w, export := withExport(t)
	w.hours(export, 0, 2)
	run := w.project().Runs(export)[0].ID
	w.want(200, "POST", "/batch_exports/"+export.String()+"/runs/"+run.String()+"/cancel/", "")
	assert.Len(t, w.project().Runs(export), 1, "its workflow goes on")
	got := w.get("/batch_exports/%s/runs/%s/", export, run)
	assert.Equal(t, []any{"Cancelled", nil}, []any{got["status"], got["finished_at"]})
	assert.Len(t, w.project().Runs(export), 2)
	assert.NotNil(t, w.get("/batch_exports/%s/runs/%s/", export, run)["finished_at"])
}

func TestCancelOfBackfills(t *testing.T) {
	w, export := withExport(t)
	path := "/batch_exports/" + export.String() + "/backfills/" + w.hours(export, 0, 5) + "/"
	body := w.want(200, "POST", path+"cancel/", "")
	assert.Equal(t, map[string]any{"cancelled": true}, body)
	assert.Equal(t, "Cancelled", w.get("%s", path)["status"])
	runs := w.project().Runs(export)
	require.Len(t, runs, 1)
	assert.Equal(t, hogapi.RunStatusCancelled, runs[0].Status)
	w.refused(400, "invalid_input", "POST", path+"cancel/", "")
	w.refused(404, "not_found", "POST", "/batch_exports/"+export.String()+"/backfills/x-Backfill-y/cancel/", "")
}

func TestListOfBackfills(t *testing.T) {
	w, export := withExport(t)
	for i := range 60 {
		w.hours(export, i%7, 8)
	}
	path := fmt.Sprintf("/batch_exports/%s/backfills/", export)
	page := w.get("%s", path)
	assert.Len(t, results(page), 50, "a fixed size")
	assert.Equal(t, "2026-03-04T03:00:00Z", results(page)[0]["start_at"], "newest first")
	assert.Len(t, results(w.get("%s", pathOf(t, page["next"]))), 10)
	assert.Equal(t, "2026-03-04T00:00:00Z", results(w.get("%s?ordering=created_at", path))[0]["start_at"])
	assert.Equal(t, "2026-03-04T00:00:00Z", results(w.get("%s?ordering=start_at", path))[8]["start_at"])
	assert.Equal(t, "2026-03-04T06:00:00Z", results(w.get("%s?ordering=-start_at", path))[0]["start_at"])
	assert.Empty(t, results(w.get("/batch_exports/%s/backfills/", uuid.New())), "an unknown export has none")
	w.refused(404, "not_found", "POST", "/batch_exports/"+uuid.NewString()+"/backfills/", `{"start_at":"2026-03-04T00:00:00Z","end_at":"2026-03-04T02:00:00Z"}`)
}

func TestRowsThatComeLate(t *testing.T) {
	w, export := withExport(t, hogapitest.WithLateRows(2))
	path := "/batch_exports/" + export.String() + "/backfills/" + w.hours(export, 0, 1) + "/"
	for range 2 {
		w.refused(404, "not_found", "GET", path, "")
	}
	assert.Equal(t, "Starting", w.get("%s", path)["status"])
}

func TestBackfillFromTheBeginning(t *testing.T) {
	w, export := withExport(t, hogapitest.WithOldService())
	w.want(200, "POST", "/batch_exports/"+export.String()+"/backfill/", `{"start_at":null,"end_at":"2026-03-04T00:00:00Z","name":"is not read"}`)
	runs := results(w.get("/batch_exports/%s/runs/", export))
	require.Len(t, runs, 1)
	assert.Nil(t, runs[0]["data_interval_start"])
}

func TestDaysKeepTheirHourInTheirZone(t *testing.T) {
	w := inProcess(t, hogapitest.WithPolls(1))
	export := w.project().AddExport(hogapitest.Export{Interval: "day", Timezone: "Europe/Berlin"})
	// Clocks go forward on 30 March 2025.
	w.want(201, "POST", "/batch_exports/"+export.String()+"/backfills/", `{"start_at":"2025-03-29","end_at":"2025-04-01"}`)
	for range 4 {
		w.get("/batch_exports/%s/runs/", export)
	}
	runs := results(w.get("/batch_exports/%s/runs/", export))
	assert.Equal(t, []any{"2025-03-30T22:00:00Z", "2025-03-29T23:00:00Z", "2025-03-28T23:00:00Z"}, pluck(runs, "data_interval_start"))
}

// A delete cancels Running backfills and runs, and leaves Starting ones.
func TestDeleteEndsWhatIsUnderWay(t *testing.T) {
	w, export := withExport(t)
	id := w.hours(export, 0, 3)
	w.get("/batch_exports/%s/backfills/%s/", export, id)
	w.get("/batch_exports/%s/runs/", export)
	starting := w.project().AddRun(export, hogapitest.Run{Status: "Starting"})
	w.want(204, "DELETE", "/batch_exports/"+export.String()+"/", "")
	runs := w.project().Runs(export)
	require.Len(t, runs, 2)
	assert.Equal(t, hogapi.RunStatusCancelled, runs[0].Status)
	assert.Equal(t, starting, runs[1].ID)
	assert.Equal(t, hogapi.RunStatusStarting, runs[1].Status)
	assert.True(t, w.project().Exports()[0].Deleted)
	for _, method := range []string{"GET", "DELETE"} {
		w.refused(404, "not_found", method, "/batch_exports/"+export.String()+"/", "")
	}
	assert.Equal(t, "Cancelled", w.get("/batch_exports/%s/backfills/%s/", export, id)["status"])
	id = w.hours(export, 0, 3)
	got := w.get("/batch_exports/%s/backfills/%s/", export, id)
	assert.Equal(t, []any{"Failed", nil}, []any{got["status"], got["progress"]}, "a backfill of a deleted export")
}

// A backfill begins at the interval of the earliest event by timestamp, also where it takes rows by arrival, and at the
// begin of that interval. A retry is such a backfill, by today's schedule.
func TestBackfillsAreNarrowedAndAligned(t *testing.T) {
	w, export := withExport(t, hogapitest.WithPolls(1))
	data := func(from int) func(start, end time.Time) int {
		return func(start, _ time.Time) int { return max(0, start.Hour()-from+1) }
	}
	shown := func(id any) (adjusted, total any, runs []any) {
		path := fmt.Sprintf("/batch_exports/%s/backfills/%s/", export, id)
		require.Eventually(t, func() bool { return w.get("%s", path)["status"] == "Completed" }, time.Minute, time.Microsecond)
		for _, run := range w.project().Runs(export) {
			if run.BackfillID.String() == id {
				runs = append(runs, run.Start.Format(time.TimeOnly))
			}
		}
		got := w.get("%s", path)
		return got["adjusted_start_at"], got["total_records_count"], runs
	}
	begin := func(from, to string) any {
		return w.want(201, "POST", "/batch_exports/"+export.String()+"/backfills/", fmt.Sprintf(`{"start_at":"2026-03-04T%sZ","end_at":"2026-03-04T%sZ"}`, from, to))["backfill_id"]
	}
	w.project().SetRecords(export, data(3))
	adjusted, total, runs := shown(begin("00:00:00", "06:00:00"))
	assert.Equal(t, []any{"2026-03-04T03:00:00Z", 6.0, []any{"03:00:00", "04:00:00", "05:00:00"}}, []any{adjusted, total, runs})
	adjusted, _, runs = shown(begin("07:30:00", "09:30:00"))
	assert.Equal(t, []any{"2026-03-04T07:00:00Z", []any{"07:00:00", "08:00:00"}}, []any{adjusted, runs}, "earlier, without the rest")
	adjusted, total, runs = shown(begin("00:00:00", "02:00:00"))
	assert.Equal(t, []any{"2026-03-04T00:00:00Z", 0.0}, []any{adjusted, total})
	assert.Empty(t, runs)

	w.project().SetRecords(export, data(0))
	run := w.project().AddRun(export, hogapitest.Run{Status: "Failed", Start: now.Truncate(day), End: now.Truncate(day).Add(2 * time.Hour)})
	w.want(201, "POST", "/batch_exports/"+export.String()+"/runs/"+run.String()+"/retry/", "")
	_, _, runs = shown(results(w.get("/batch_exports/%s/backfills/", export))[0]["id"])
	assert.Equal(t, []any{"00:00:00", "01:00:00"}, runs, "two hours now")

	query := w.project().AddExport(hogapitest.Export{Model: "hogql"})
	id := w.hours(query, 0, 1)
	assert.Nil(t, w.get("/batch_exports/%s/backfills/%s/", query, id)["total_records_count"])
	assert.Nil(t, w.get("/batch_exports/%s/backfills/%s/", query, id)["total_records_count"], "no estimate")
}
