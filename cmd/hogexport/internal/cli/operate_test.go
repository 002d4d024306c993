package cli

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// runs, logs and cancel show runs under way, why they fail, and cancel them, by the beginning of the id. Where the
// service has no log of a run, the log of the export for that time is shown.
func TestRunsLogsAndCancel(t *testing.T) {
	t.Parallel()
	p, now := newProgram(t), time.Now().UTC()
	id, project := p.addExport("warehouse", broken), p.server.Project(hogapitest.DefaultProject)
	project.NextRuns(hogapitest.Outcome{Polls: 1 << 30})
	stuck := project.AddRun(id, hogapitest.Run{ID: uuid.MustParse("0190f3c0-0000-4000-8000-000000000001"), Status: "Running", Created: now.Add(-10 * time.Hour)})
	project.AddLog(id, hogapitest.LogEntry{Time: now.Add(-9 * time.Hour), Level: "ERROR", Message: "no such dataset, 100%", RunID: stuck})
	project.AddLog(id, hogapitest.LogEntry{Time: now.Add(-30 * time.Hour), Message: "of an earlier run"})
	project.AddLog(id, hogapitest.LogEntry{Time: now.AddDate(0, 0, -20), Message: "long ago"})

	p.ends(t, 0, "runs", "warehouse").out(t, "ID FROM (UTC) TO STATUS BEGAN TOOK ROWS BY", "Failed", "0190f3c0 ", "Running", "10 h so far", "schedule", ": SlowDown")
	r := p.ends(t, 0, "runs", "warehouse", "--failed").out(t, "Failed", ": SlowDown")
	assert.NotContains(t, r.stdout, "Running")
	p.ends(t, 0, "runs", "warehouse", "--limit", "3").out(t, "There are older runs than these 3: give --limit")
	p.ends(t, 0, "runs", "warehouse", "--json").out(t, `"latest_error":"SlowDown"`)
	p.run(t, "list", "--gaps").out(t, "the run of", "hogexport logs "+id.String()[:8], "--run "+stuck.String())
	p.run(t, "gaps", "warehouse").out(t, "hogexport logs warehouse --run "+stuck.String())

	r = p.ends(t, 0, "logs", "warehouse").out(t, "INFO of an earlier run", "ERROR no such dataset, 100%")
	assert.NotContains(t, r.stdout, "long ago")
	p.ends(t, 0, "logs", "warehouse", "--since", "30d", "--limit", "2").err(t, "the newest 2 entries; there may be older ones: give --limit")
	r = p.ends(t, 0, "logs", "warehouse", "--run", "0190f3c0").out(t, "no such dataset").err(t, "these are all entries of the export in the time of the run")
	assert.NotContains(t, r.stdout, "earlier")
	p.ends(t, 0, "logs", "warehouse", "--problems", "--json").out(t, `"level":"ERROR"`)
	p.ends(t, 2, "logs", "warehouse", "--run", "ffffffff").err(t, `0 runs have an id that begins with "ffffffff"`, "see hogexport runs")
	p.ends(t, 2, "cancel", "warehouse", uuid.NewString()).err(t, "0 runs have an id")

	p.ends(t, 2, "cancel", "warehouse").err(t, "the id of a run or backfill is missing", "run "+stuck.String(), "Running, since")
	p.ends(t, 2, "cancel", "warehouse", "0190f3c0").err(t, "this is not a terminal, so nobody can confirm: cancel run "+stuck.String(), "nothing was changed")
	p.ends(t, 0, "cancel", "warehouse", "0190f3c0", "--dry-run").out(t, "would cancel run", "in project 12345: intervals that it has not exported are gaps", "Nothing was changed.")
	assert.Empty(t, p.server.Calls(ops.RunsCancel))
	p.ends(t, 0, "cancel", "warehouse", "0190f3c0", "--yes").out(t, "cancelled run "+stuck.String())
	p.ends(t, 0, "cancel", "warehouse", "0190f3c0", "--yes").out(t, "cancelled already: run")
	assert.Len(t, p.server.Calls(ops.RunsCancel), 1)
	p.ends(t, 0, "cancel", "warehouse").out(t, "nothing is under way")

	project.NextRuns(hogapitest.Outcome{Polls: 1 << 30})
	ticket, err := p.server.Client(t).BatchExports.Backfill(t.Context(), id, hogapi.BackfillRange{
		Start: hogapi.AtTime(now.Truncate(time.Hour).Add(-9 * time.Hour)), End: hogapi.AtTime(now.Truncate(time.Hour).Add(-8 * time.Hour)),
	}, nil)
	require.NoError(t, err)
	p.ends(t, 2, "cancel", "warehouse").err(t, "backfill "+ticket.BackfillID.String())
	p.ends(t, 0, "cancel", "warehouse", ticket.BackfillID.String()[:13], "--yes").out(t, "cancelled backfill")
	prefix := p.server.Project(hogapitest.DefaultProject).AddRun(id, hogapitest.Run{ID: uuid.MustParse(ticket.BackfillID.String()[:34] + "00")})
	p.ends(t, 2, "cancel", "warehouse", ticket.BackfillID.String()[:13], "--yes").err(t, "a backfill and 1 run has an id that begins with", "give more of the id")
	p.ends(t, 2, "cancel", "warehouse", prefix.String(), "--yes").err(t, "is over: Completed")
	done := p.server.Project(hogapitest.DefaultProject).Runs(id)[0]
	p.ends(t, 2, "cancel", "warehouse", done.ID.String(), "--yes").err(t, "is over: Completed", "nothing was changed")
}

// pause and unpause change only the paused state, after a question. unpause never begins a backfill, and says what
// happens next.
func TestPauseAndUnpause(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	id := p.addExport("warehouse", func(hoursAgo int) (hogapitest.Outcome, bool) {
		if hoursAgo == 1 || hoursAgo == 2 { // a third one would pause it
			return hogapitest.Outcome{Status: "Failed", Error: "no such bucket"}, true
		}
		return hogapitest.Outcome{}, true
	})
	isPaused := func() bool { return p.server.Project(hogapitest.DefaultProject).Exports()[0].Paused }
	p.ends(t, 2, "pause")
	p.ends(t, 2, "pause", "warehouse").err(t, "this is not a terminal, so nobody can confirm: pause warehouse (hour, BigQuery posthog.events, active)", "nothing was changed")
	p.ends(t, 0, "pause", "warehouse", "--dry-run").out(t, "would pause warehouse", "in project 12345: no interval is exported until unpause", "Nothing was changed.")
	assert.False(t, isPaused())
	p.ends(t, 0, "pause", "warehouse", "--yes").out(t, "paused warehouse")
	assert.True(t, isPaused())
	p.ends(t, 0, "pause", "warehouse", "--yes").err(t, "is paused already")
	assert.Len(t, p.server.Calls(ops.BatchExportsPause), 1)

	p.ends(t, 0, "unpause", "warehouse", "--dry-run").err(t, "2 of the newest 10 runs have failed, so the service pauses the export again at the next failure; last error: no such bucket").
		out(t, "would unpause warehouse", "the schedule continues from now, and nothing is exported again")
	assert.True(t, isPaused())
	p.ends(t, 0, "unpause", id.String()[:8], "--yes").out(t, "unpaused warehouse; the intervals of the pause are not exported, since 20", "hogexport repair "+id.String()[:8])
	p.ends(t, 0, "unpause", "warehouse", "--yes", "--json").out(t, `"paused":false,"changed":false`)
	assert.False(t, isPaused())
	calls := p.server.Calls(ops.BatchExportsUnpause)
	if assert.Len(t, calls, 1) {
		assert.NotContains(t, string(calls[0].Body), "true", "no backfill is asked for")
	}
	assert.Empty(t, p.server.Project(hogapitest.DefaultProject).Backfills(id))
}

// --dry-run changes nothing, in the service or on the disk. --age-line counts, also for a coverage in the cache.
func TestDryRunAndAgeLine(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.addExport("warehouse", outage)
	folder := filepath.Join(t.TempDir(), "exports")
	p.ends(t, 0, "pull", folder, "--dry-run").out(t, "would write "+filepath.Join(folder, "warehouse.yaml"), "Nothing was changed.")
	p.ends(t, 0, "pull", folder, "--dry-run", "--json").out(t, `"remove":[],"write":["`)
	assert.NoDirExists(t, folder)
	p.ends(t, 0, "pull", folder)
	r := p.ends(t, 0, "pull", folder, "--dry-run")
	assert.NotContains(t, r.stdout, "would")
	create := []string{"create", "--from", filepath.Join(folder, "warehouse.yaml"), "--name", "copy", "--integration", "2", "--dry-run"}
	p.ends(t, 0, create...).out(t, "would create the paused export copy (hour of events to BigQuery) in project 12345")
	assert.Len(t, p.server.Project(hogapitest.DefaultProject).Exports(), 1)
	rows := filepath.Join(t.TempDir(), "rows")
	p.ends(t, 0, "download", rows, "--from", "2d", "--to", "1d", "--dry-run").out(t, "would download", "Nothing was changed.")
	assert.NoDirExists(t, rows)
	assert.Empty(t, p.server.Calls(ops.FileDownloadsCreate))

	p.ends(t, 0, "repair", "warehouse", "--dry-run").out(t, "1 step: 1 planned", "Nothing was changed.")
	p.ends(t, 0, "repair", "warehouse", "--dry-run", "--json").out(t, `"age_line":432000000000000`)
	p.ends(t, 0, "repair", "warehouse", "--dry-run", "--json", "--age-line", "2h").out(t, `"age_line":7200000000000`, `"action":"file_download"`)
	p.ends(t, 6, "gaps", "warehouse", "--age-line", "2h").err(t, "hogexport repair warehouse --age-line 2h0m0s")
	p.ends(t, 2, "gaps", "--age-line", "soon").err(t, "write a duration such as 36h or 30d")
	assert.Empty(t, p.server.Calls(ops.BackfillsCreate))
}

// A shell completes the names of exports, and their ids where a name is not enough.
func TestCompletion(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.addExport("events to the lake", good)
	one, two := p.addExport("twin", good), p.addExport("twin", good)
	for _, args := range [][]string{{"gaps", ""}, {"logs", ""}, {"download", "--of", ""}, {"repair", "x", ""}} {
		p.ends(t, 0, append([]string{"__complete"}, args...)...).out(t, "events to the lake hour, BigQuery posthog.events, active")
	}
	r := p.ends(t, 0, "__complete", "gaps", "events to the lake", "")
	assert.NotContains(t, r.stdout, "lake")
	says(t, r.stdout, two.String()[:8])
	says(t, r.stdout, one.String()[:8])
	assert.NotContains(t, p.run(t, "__complete", "runs", "twin", "").stdout, "hour", "it takes one")
	p.env["POSTHOG_PROJECT_ID"] = "99999"
	assert.Equal(t, ":4\n", p.run(t, "__complete", "gaps", "").stdout)
}

// A plan says before the question that it will be refused, and who has paused the export, which stays paused unless told.
func TestPlanWarns(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	project, now := p.server.Project(hogapitest.DefaultProject), time.Now().UTC()
	add := func(name string, paused time.Time) {
		id := project.AddExport(hogapitest.Export{
			Name: name, Created: now.AddDate(0, 0, -40), Model: hogapi.ModelPersons, Interval: hogapi.IntervalWeek, Timezone: "UTC", DestinationType: "BigQuery", Integration: 2, Paused: !paused.IsZero(), LastPaused: paused,
		})
		for i := range 4 {
			end := now.Truncate(24*time.Hour).AddDate(0, 0, -int(now.Weekday())-7*i)
			status := hogapi.RunStatusFailed
			if i == 3 {
				status = hogapi.RunStatusCompleted
			}
			project.AddRun(id, hogapitest.Run{Status: status, Error: "no such dataset", Start: end.AddDate(0, 0, -7), End: end, Created: now.Add(time.Duration(-i) * time.Hour)})
		}
	}
	add("failing", time.Time{})
	add("by the service", now.Add(time.Minute))
	add("by a person", now.AddDate(0, 0, -3))
	refused := "repair refuses this plan now: 3 of the newest 4 runs have failed, and one more failure would pause the export and cancel the backfill."
	p.ends(t, 0, "repair", "failing", "--dry-run").out(t, refused, "repair when newer runs have completed. Last error: no such dataset")
	p.ends(t, 0, "repair", "by the service", "--dry-run").out(t, refused, "after hogexport unpause", "by the service after 3 failed runs; without --unpause, repair leaves it so")
	p.ends(t, 0, "repair", "by a person", "--dry-run").out(t, refused, "paused since "+now.AddDate(0, 0, -3).Format(clock)+" UTC, probably by a person: no run had failed then; without --unpause, repair leaves it so")
	p.run(t, "list").out(t, "by a person: paused since", ", probably by a person", "by the service: paused since", "by the service after 3")
}

// --max-rows counts the rows exported: if there are more than planned, the next step does not start. A larger number
// continues.
func TestRepairCountsWhatCame(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	id := p.addExport("warehouse", broken)
	p.server.Project(hogapitest.DefaultProject).SetRecords(id, func(time.Time, time.Time) int { return 1500 })
	repair := func(code int, rows string) result {
		return p.ends(t, code, "repair", "warehouse", "--yes", "--max-rows", rows)
	}
	repair(3, "4000").err(t, "4,500 rows were exported so far, and the other steps have about 1,000: more than --max-rows 4,000", "were not started", "with a larger --max-rows")
	assert.Len(t, p.server.Calls(ops.BackfillsCreate), 1)
	repair(3, "5499").err(t, "continue the repair", "4,500 rows were exported so far")
	repair(0, "5500").out(t, "2 done", "is exported")
	assert.Len(t, p.server.Calls(ops.BackfillsCreate), 2)
}
