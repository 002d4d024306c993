package hogapitest_test

import (
	"maps"
	"net/url"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

const day = 24 * time.Hour

func TestHiddenWindow(t *testing.T) {
	over(t, nil, func(t *testing.T, w *wire) {
		p := w.project()
		export := p.AddExport(hogapitest.Export{})
		// The interval of the old run is older still, that of the young one is younger than its week.
		old := p.AddRun(export, hogapitest.Run{Created: now.Add(-8 * day), End: now.Add(-20 * day)})
		young := p.AddRun(export, hogapitest.Run{Created: now.Add(-6 * day), End: now.Add(-10 * day)})
		from := p.AddRun(export, hogapitest.Run{Created: now.Add(-1 * day), End: now.Add(-2 * day), FromStart: true})
		fresh := p.AddRun(export, hogapitest.Run{Created: now.Add(-1 * day), End: now.Add(-2 * day)})

		ago := func(days int) string { return now.AddDate(0, 0, -days).Format(time.RFC3339) }
		list := func(query string) []any {
			return pluck(results(w.get("/batch_exports/%s/runs/?%s", export, query)), "id")
		}
		all := []any{fresh.String(), from.String(), young.String(), old.String()}
		assert.Equal(t, all[:3], list(""), "the last 7 days, newest first")
		assert.Equal(t, all, list("after="+ago(9)))
		assert.Equal(t, all, list("after=2025-01-01"))
		assert.Equal(t, all, list("after="+url.QueryEscape("2025-01-01T00:00:00+02:00")))
		assert.Equal(t, []any{young.String(), old.String()}, list("after="+ago(28)+"&before="+ago(5)))
		assert.Equal(t, []any{young.String(), from.String(), fresh.String()}, list("ordering=created_at"))
		assert.Equal(t, all[:3], list("ordering=-status"), "an unknown ordering is ignored")

		assert.Equal(t, []any{fresh.String()}, list("ordering=-data_interval_start&after="+ago(30)), "after is ignored, no start is hidden")
		assert.Equal(t, []any{old.String(), young.String(), fresh.String()}, list("ordering=data_interval_start&start="+ago(30)))
		assert.Equal(t, []any{old.String()}, list("ordering=data_interval_start&start="+ago(30)+"&end="+ago(15)))
		w.refused(400, "invalid_input", "GET", "/batch_exports/"+export.String()+"/runs/?after=lately", "")

		detail := "/batch_exports/" + export.String() + "/runs/" + old.String() + "/"
		w.refused(404, "not_found", "GET", detail, "")
		w.refused(404, "not_found", "POST", detail+"retry/", "")
		w.refused(404, "not_found", "POST", detail+"cancel/", "")
		assert.Equal(t, old.String(), w.get("%s?after=%s", detail, ago(9))["id"])
		w.want(201, "POST", detail+"retry/?after="+ago(9), "")
	})
}

func TestStatusFilter(t *testing.T) {
	for era, want := range map[hogapitest.Era]int{hogapitest.E1: 3, hogapitest.E4: 2} {
		w, export := withExport(t, hogapitest.WithEra(era))
		for _, status := range []hogapi.RunStatus{"Failed", "Completed", "FailedBilling"} {
			w.project().AddRun(export, hogapitest.Run{Status: status, Error: "e"})
		}
		assert.Len(t, results(w.get("/batch_exports/%s/runs/?status=Failed&status=FailedBilling", export)), want, era)
		if era == hogapitest.E4 {
			w.refused(400, "invalid_choice", "GET", "/batch_exports/"+export.String()+"/runs/?status=failed", "")
		}
	}
}

func TestUnknownExportHasNoRuns(t *testing.T) {
	w := inProcess(t)
	assert.Empty(t, results(w.get("/batch_exports/%s/runs/", uuid.New())))
	export := w.project().AddExport(hogapitest.Export{})
	run := w.project().AddRun(export, hogapitest.Run{})
	other := w.project().AddExport(hogapitest.Export{})
	w.refused(404, "not_found", "GET", "/batch_exports/"+other.String()+"/runs/"+run.String()+"/", "")
	w.want(204, "DELETE", "/batch_exports/"+export.String()+"/", "")
	assert.Len(t, results(w.get("/batch_exports/%s/runs/", export)), 1, "runs outlive their export")
}

func TestShapeOfARun(t *testing.T) {
	spec := []string{"id", "status", "records_completed", "latest_error", "data_interval_start", "data_interval_end", "cursor", "created_at", "finished_at", "last_updated_at", "records_total_count", "batch_export"}
	for era, want := range map[hogapitest.Era][]string{hogapitest.E1: spec, hogapitest.E4: append(spec, "backfill", "bytes_exported", "records_failed", "batch_export_on_demand")} {
		w, export := withExport(t, hogapitest.WithEra(era))
		run := w.project().AddRun(export, hogapitest.Run{FromStart: true, Extra: map[string]any{"cursor": "c"}})
		got := w.get("/batch_exports/%s/runs/%s/", export, run)
		assert.ElementsMatch(t, want, slices.Collect(maps.Keys(got)), era)
		assert.Nil(t, got["data_interval_start"])
		assert.Equal(t, "c", got["cursor"])
		assert.Equal(t, "2026-03-04T12:01:00Z", got["finished_at"])
	}
}

func TestEachReadMovesALiveRun(t *testing.T) {
	over(t, []hogapitest.Option{hogapitest.WithPolls(4)}, func(t *testing.T, w *wire) {
		p := w.project()
		export := p.AddExport(hogapitest.Export{})
		p.NextRuns(hogapitest.Outcome{Status: "FailedBilling", Error: "pay first", Polls: 2, Records: 10})
		failing := p.AddRun(export, hogapitest.Run{Status: "Starting"})
		good := p.AddRun(export, hogapitest.Run{Status: "Running", Records: 100})

		var statuses, counts []any
		for range 4 {
			got := w.get("/batch_exports/%s/runs/%s/", export, good)
			statuses, counts = append(statuses, got["status"]), append(counts, got["records_completed"])
		}
		assert.Equal(t, []any{"Running", "Running", "Running", "Completed"}, statuses)
		assert.Equal(t, []any{nil, 50.0, 75.0, 100.0}, counts)
		assert.Equal(t, hogapi.RunStatusStarting, p.Runs(export)[0].Status, "looking from outside moves nothing")

		got := w.get("/batch_exports/%s/runs/%s/", export, failing)
		assert.Equal(t, "Starting", got["status"])
		assert.Nil(t, got["finished_at"])
		w.get("/batch_exports/%s/runs/", export)
		got = w.get("/batch_exports/%s/runs/%s/", export, failing)
		assert.Equal(t, "FailedBilling", got["status"])
		assert.Equal(t, []any{nil, nil}, []any{got["latest_error"], got["finished_at"]}, "neither, ever")
	})
}

func TestCancelOfRuns(t *testing.T) {
	for era, again := range map[hogapitest.Era]int{hogapitest.E1: 500, hogapitest.E4: 400} {
		w, export := withExport(t, hogapitest.WithEra(era))
		run := w.project().AddRun(export, hogapitest.Run{Status: "Starting"})
		path := "/batch_exports/" + export.String() + "/runs/" + run.String() + "/cancel/"
		body := w.want(200, "POST", path, `{"status":"Completed"}`)
		assert.Equal(t, map[string]any{"cancelled": true}, body)
		body = w.want(again, "POST", path, "")
		if again == 400 {
			assert.Equal(t, "Cannot cancel a run that is in 'Cancelled' status", body["detail"])
		}
	}
}

func TestRetry(t *testing.T) {
	w := inProcess(t, hogapitest.WithPolls(1))
	p := w.project()
	export := p.AddExport(hogapitest.Export{})
	run := p.AddRun(export, hogapitest.Run{Status: "Failed", Error: "e", End: now.Add(-day)})
	path := "/batch_exports/" + export.String() + "/runs/" + run.String() + "/"

	body := w.want(201, "POST", path+"retry/", `{"status":"Starting"}`)
	assert.Equal(t, export.String()+"-Backfill-2026-03-03T11:00:00Z-2026-03-03T12:00:00Z", body["backfill_id"])
	w.refused(500, "error", "POST", path+"retry/", "") // the same interval is under way

	runs := results(w.get("/batch_exports/%s/runs/", export))
	require.Len(t, runs, 2)
	assert.Equal(t, "2026-03-03T11:00:00Z", runs[0]["data_interval_start"])
	runs = results(w.get("/batch_exports/%s/runs/", export))
	assert.Equal(t, []any{"Completed", "Failed"}, pluck(runs, "status"), "the failed row stays failed")

	row := results(w.get("/batch_exports/%s/backfills/", export))[0]
	assert.Equal(t, row["id"], runs[0]["backfill"])
	assert.NotEqual(t, row["id"], body["backfill_id"], "no direct join")
	assert.Equal(t, "Completed", row["status"])
	w.want(201, "POST", path+"retry/", "")

	plain := p.AddExport(hogapitest.Export{})
	w.hours(plain, 0, 1)
	live := p.Runs(plain)[0].ID
	w.want(201, "POST", "/batch_exports/"+plain.String()+"/runs/"+live.String()+"/retry/", "")
	assert.Len(t, p.Runs(plain), 1, "which joins the run")
}

// Three failures in the window pause an export and cancel its backfills; in E1 it takes ten among 50. Runs that failed for
// the plan's limit do not count.
func TestFailuresPauseASchedule(t *testing.T) {
	for _, tt := range []struct {
		era    hogapitest.Era
		status hogapi.RunStatus
		failed int // runs until the pause; 0 for no pause
	}{{hogapitest.E4, "Failed", 3}, {hogapitest.E1, "Failed", 10}, {hogapitest.E4, "FailedBilling", 0}} {
		clock := now
		server := hogapitest.New(hogapitest.WithClock(func() time.Time { return clock }), hogapitest.WithEra(tt.era))
		project, client := server.Project(hogapitest.DefaultProject), server.Client(t)
		export := project.AddExport(hogapitest.Export{Created: now.Add(-48 * time.Hour)})
		isBroken := false
		project.RunSchedule(export, func(time.Time, time.Time) (hogapitest.Outcome, bool) {
			if isBroken {
				return hogapitest.Outcome{Status: tt.status, Error: "no bucket"}, true
			}
			return hogapitest.Outcome{}, true
		})
		bounds := hogapi.BackfillRange{Start: hogapi.AtTime(now.Add(-20 * time.Hour)), End: hogapi.AtTime(now.Add(-10 * time.Hour))}
		_, err := client.BatchExports.Backfill(t.Context(), export, bounds, &hogapi.BackfillOptions{AcceptRowsByTimestamp: true})
		require.NoError(t, err)
		if tt.era == hogapitest.E4 {
			_, err = client.Backfills.List(t.Context(), export, nil) // it is Running then
			require.NoError(t, err)
		}
		isBroken, clock = true, clock.Add(30*time.Hour)
		shown, err := client.BatchExports.Get(t.Context(), export)
		require.NoError(t, err)
		assert.Equal(t, tt.failed > 0, shown.Paused, tt)
		failed := 0
		for _, run := range project.Runs(export) {
			if run.Status == "Failed" {
				failed++
			}
		}
		assert.Equal(t, tt.failed, failed, "none begins after the pause")
		want := map[bool]hogapi.RunStatus{true: "Cancelled", false: "Running"}[tt.failed > 0]
		if tt.era == hogapitest.E4 {
			assert.Equal(t, want, project.Backfills(export)[0].Status, tt)
		}
		if tt.era == hogapitest.E4 && tt.failed > 0 { // one more failure while it is paused
			project.FailNextRuns(1, "no bucket")
			ticket, err := client.BatchExports.Backfill(t.Context(), export, bounds, nil)
			require.NoError(t, err)
			state, err := client.Backfills.Wait(t.Context(), ticket, &hogapi.WatchOptions{Interval: time.Millisecond})
			require.ErrorIs(t, err, hogapi.ErrRunFailed)
			assert.Equal(t, hogapi.RunStatusCancelled, state.Backfill.Status)
		}
	}
}

// A run begins a little after its interval: at a time of the export's own, which E4 bounds more narrowly.
func TestJitter(t *testing.T) {
	for _, tt := range []struct {
		era      hogapitest.Era
		interval hogapi.Interval
		least    time.Duration
		most     time.Duration
	}{
		{hogapitest.E4, "hour", time.Minute, 16 * time.Minute}, {hogapitest.E4, "every 5 minutes", 30 * time.Second, 90 * time.Second},
		{hogapitest.E4, "day", time.Minute, 21 * time.Minute}, {hogapitest.E1, "day", time.Minute, 61 * time.Minute},
		{hogapitest.E4, "week", time.Minute, 31 * time.Minute}, {hogapitest.E1, "week", time.Minute, 24*time.Hour + time.Minute},
	} {
		server := hogapitest.New(hogapitest.WithClock(fixedClock), hogapitest.WithEra(tt.era))
		project := server.Project(hogapitest.DefaultProject)
		export := project.AddExport(hogapitest.Export{Interval: tt.interval, Created: now.AddDate(-1, 0, 0)})
		project.RunSchedule(export, nil)
		longest := time.Duration(0)
		for _, run := range project.Runs(export) {
			late := run.Created.Sub(run.End)
			longest = max(longest, late)
			assert.True(t, late >= tt.least && late < tt.most, "%v: %s", tt, late)
		}
		assert.Greater(t, longest, tt.most/2, "%v", tt)
	}
}
