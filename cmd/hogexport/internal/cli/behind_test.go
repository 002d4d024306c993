package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// --max-behind is silent while all is well. It judges the newest exported interval, and no older gap. A service that fails is 7.
func TestMaxBehind(t *testing.T) {
	t.Parallel()
	p, now := newProgram(t), time.Now().UTC()
	project := p.server.Project(hogapitest.DefaultProject)
	check := func(code int, args ...string) result {
		return p.ends(t, code, append([]string{"gaps", "--max-behind", "2h"}, args...)...)
	}
	assert.Equal(t, result{}, check(0), "no export")
	p.addExport("lake", outage) // an older gap
	add := func(name string, created time.Time, interval hogapi.Interval, isPaused bool, newest time.Duration) uuid.UUID {
		id := project.AddExport(hogapitest.Export{Name: name, Created: created, Interval: interval, Timezone: "UTC", DestinationType: "BigQuery", Integration: 2, Paused: isPaused})
		project.RunSchedule(id, func(_, end time.Time) (hogapitest.Outcome, bool) { return hogapitest.Outcome{}, now.Sub(end) > newest })
		return id
	}
	add("daily", now.AddDate(0, 0, -9), hogapi.IntervalDay, false, 0)
	add("paused", now.AddDate(0, 0, -3), hogapi.IntervalHour, true, 48*time.Hour)
	add("new", now.Add(-time.Hour), hogapi.IntervalHour, false, 48*time.Hour)
	assert.Equal(t, result{}, check(0))
	p.ends(t, 6, "gaps", "lake")
	assert.NotContains(t, p.run(t, "list").stdout, stateBehind)

	add("late", now.AddDate(0, 0, -3), hogapi.IntervalHour, false, 3*time.Hour)
	check(6).err(t, "1 export is behind", "late (hour, BigQuery, active): the newest exported interval ended at", "h ago")
	check(0, "--accept", accepting(t, "late", 9, -1))
	check(0, "daily")
	p.run(t, "list").out(t, "late BigQuery hour behind")
	busy := add("busy", now.AddDate(0, 0, -3), hogapi.IntervalHour, false, 0)
	add("never", now.AddDate(0, 0, -3), hogapi.IntervalHour, false, 999*time.Hour)
	check(6).err(t, "2 exports are behind", "never", "nothing exported since")

	for i := range maxLatestRuns { // whose newest interval only its runs tell
		end := now.Add(time.Duration(i-40) * time.Hour).Truncate(time.Hour)
		project.AddRun(busy, hogapitest.Run{Start: end.Add(-time.Hour), End: end, Created: now, Extra: map[string]any{"backfill": uuid.New()}})
	}
	p.server.Script(ops.RunsList, hogapitest.Always(hogapitest.Status(500)))
	check(7).err(t, "cannot tell whether 1 export is behind", "busy: ", "late", "the newest exported interval ended at") // 7 wins over 6
	p.server.Script(ops.BatchExportsList, hogapitest.Always(hogapitest.Status(500)))
	check(7)
	p.ends(t, 2, "gaps", "--max-behind", "0s")
}

// A calendar of days marks the day with missing rows, wherever its interval begins, and all days of a week.
func TestCalendarMarksTheMissingDay(t *testing.T) {
	t.Parallel()
	at := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC) }
	var many strings.Builder // whole days are one row
	hours := &coverage.Coverage{Interval: hogapi.IntervalHour}
	for hour := range 5 * 24 {
		state := coverage.StateCompleted
		if hour == 100 {
			state = coverage.StateFailed
		}
		hours.Intervals = append(hours.Intervals, coverage.Interval{Start: at(1, hour), End: at(1, hour+1), State: state})
	}
	printCalendar(&many, hours)
	says(t, many.String(), "2026-11-01 ........................ to 2026-11-04 (4 days) 2026-11-05 ....")
	for _, c := range []struct {
		interval   hogapi.Interval
		start, end time.Time
		want       string
	}{
		{hogapi.IntervalDay, at(24, 0), at(25, 0), "                       N"},
		{hogapi.IntervalDay, at(24, 5), at(25, 5), "                       N"},   // at 5 o'clock
		{hogapi.IntervalDay, at(24, 8), at(25, 8), "                       N"},   // of Los Angeles
		{hogapi.IntervalDay, at(23, 23), at(24, 23), "                       N"}, // of Berlin
		{hogapi.IntervalDay, at(24, 0), at(24, 5), "                       N"},   // between two schedules
		{hogapi.IntervalWeek, at(2, 0), at(9, 0), " NNNNNNN"},
	} {
		var out strings.Builder
		printCalendar(&out, &coverage.Coverage{Interval: c.interval, Intervals: []coverage.Interval{{Start: c.start, End: c.end, State: coverage.StateNeverScheduled}}})
		_, row, _ := strings.Cut(out.String(), "2026-11     ")
		row, _, _ = strings.Cut(row, "\n")
		assert.Equal(t, c.want, strings.NewReplacer("\x03", "", "\x05", "").Replace(row), "%s to %s", c.start, c.end)
	}
}

// With --yes, old gaps of a table are left out unless --by-timestamp is given; the question says what the flag does.
func TestRepairByTimestamp(t *testing.T) {
	t.Parallel()
	p, now := newProgram(t), time.Now().UTC()
	project := p.server.Project(hogapitest.DefaultProject)
	id := project.AddExport(hogapitest.Export{
		Name: "warehouse", Created: now.AddDate(0, 0, -20), DestinationType: "BigQuery", Integration: 2, Config: map[string]any{"dataset_id": "posthog", "table_id": "events"},
	})
	project.RunSchedule(id, func(_, end time.Time) (hogapitest.Outcome, bool) {
		hours := int(now.Sub(end).Hours())
		return hogapitest.Outcome{}, hours != 5 && hours != 300
	})
	for i := range 120 {
		at := now.Truncate(time.Hour).Add(-302*time.Hour + time.Duration(i)*2*time.Minute)
		project.AddEvent(hogapitest.StoredEvent{Event: "paid", DistinctID: "ada", Time: at, CreatedAt: at})
	}
	file := filepath.Join(t.TempDir(), "plan.json")
	p.ends(t, 0, "repair", "warehouse", "--plan", file).out(t, "2 planned")
	plan, _, err := readPlan(file)
	require.NoError(t, err)
	assert.Regexp(t, `^Project 1: 1 backfill of about 1,000 rows, 1 backfill BY TIMESTAMP: up to \d+ rows are duplicated, late rows are left out. Carry out\?$`, question([]planned{{Plan: plan}}, "1"))
	p.ends(t, 6, "repair", "--apply", file, "--yes", "--max-rows", "99999").out(t, "left out, since --yes was given without --by-timestamp", "1 done")
	assert.Len(t, p.server.Calls("backfills.create"), 1)
	p.ends(t, 0, "repair", "--apply", file, "--yes", "--max-rows", "99999", "--by-timestamp").out(t, "is exported")
	assert.Len(t, p.server.Calls("backfills.create"), 2)
}

// pull --check shows the differences and writes nothing. Files of deleted exports are named, and go with --prune;
// others stay.
func TestPullCheck(t *testing.T) {
	t.Parallel()
	p, folder := newProgram(t), filepath.Join(t.TempDir(), "exports")
	p.addExport("lake", good)
	id := p.addExport("old", good)
	p.ends(t, 6, "pull", folder, "--check").err(t, "2 files differ", "lake.yaml: missing")
	assert.NoDirExists(t, folder)
	p.ends(t, 0, "pull", folder)
	p.ends(t, 0, "pull", folder, "--check")
	mine := filepath.Join(folder, "mine.yaml")
	require.NoError(t, os.WriteFile(mine, []byte("mine: true\n"), 0o600))
	require.NoError(t, p.server.Client(t).BatchExports.Delete(t.Context(), id))
	p.ends(t, 6, "pull", folder, "--check").err(t, "1 file differs", "old.yaml: the project has no such export")
	p.ends(t, 0, "pull", folder).err(t, "old.yaml belongs to an export that no longer exists: --prune removes it")
	p.ends(t, 0, "pull", folder, "--prune")
	assert.NoFileExists(t, filepath.Join(folder, "old.yaml"))
	assert.FileExists(t, mine)
	lake := filepath.Join(folder, "lake.yaml")
	require.NoError(t, os.WriteFile(lake, []byte(strings.Replace(read(t, lake), "hour", "day", 1)), 0o600))
	p.ends(t, 6, "pull", folder, "--check").err(t, "lake.yaml: differs", "- interval: day", "+ interval: hour")
}
