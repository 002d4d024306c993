package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/cmd/internal/shell"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/opt"
)

// program runs hogexport against a fake, with a cache of its own.
type program struct {
	server *hogapitest.Server
	env    map[string]string
}

func newProgram(t *testing.T, options ...hogapitest.Option) *program {
	t.Helper()
	server := hogapitest.New(append([]hogapitest.Option{hogapitest.WithPolls(1)}, options...)...)
	t.Cleanup(server.Close)
	return &program{server, map[string]string{
		"POSTHOG_HOST": server.URL(), "POSTHOG_PROJECT_ID": hogapitest.DefaultProject, "POSTHOG_PERSONAL_API_KEY": hogapitest.DefaultPersonalKey,
		"HOGEXPORT_CACHE": t.TempDir(), "HOGEXPORT_EVERY": "10ms", // which the fake does not let wait
	}}
}

type result struct {
	code           int
	stdout, stderr string
}

func (p *program) run(t *testing.T, args ...string) result {
	t.Helper()
	var out, err bytes.Buffer
	code := Run(t.Context(), args, strings.NewReader(""), &out, &err, func(name string) string { return p.env[name] })
	r := result{code, out.String(), err.String()}
	for _, text := range []string{r.stdout, r.stderr} {
		assert.NotContains(t, text, hogapitest.DefaultPersonalKey)
	}
	return r
}

// ends is run, and requires an exit code.
func (p *program) ends(t *testing.T, code int, args ...string) result {
	t.Helper()
	r := p.run(t, args...)
	require.Equal(t, code, r.code, "%q: %s%s", args, r.stdout, r.stderr)
	return r
}

// out requires parts of the standard output, in their order.
func (r result) out(t *testing.T, parts ...string) result {
	t.Helper()
	says(t, r.stdout, parts...)
	return r
}

// err requires parts of the standard error, in their order.
func (r result) err(t *testing.T, parts ...string) result {
	t.Helper()
	says(t, r.stderr, parts...)
	return r
}

// says is a test of parts of a text, in their order. Blanks and line breaks, also those of a command, count as one blank.
func says(t *testing.T, text string, parts ...string) {
	t.Helper()
	rest := strings.Join(strings.Fields(strings.ReplaceAll(text, "\\\n", " ")), " ")
	for _, part := range parts {
		_, after, ok := strings.Cut(rest, part)
		require.True(t, ok, "%q is not in, or not in this order: %s", part, text)
		rest = after
	}
}

// read is the text of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// addExport adds an hourly export with two days of runs, except that outcome says so.
func (p *program) addExport(name string, outcome func(hoursAgo int) (hogapitest.Outcome, bool)) uuid.UUID {
	project, now := p.server.Project(hogapitest.DefaultProject), time.Now().UTC()
	id := project.AddExport(hogapitest.Export{
		Name: name, Created: now.Add(-48 * time.Hour), DestinationType: "BigQuery", Integration: 2,
		Config: map[string]any{"dataset_id": "posthog", "table_id": "events"},
	})
	project.RunSchedule(id, func(_, end time.Time) (hogapitest.Outcome, bool) { return outcome(int(now.Sub(end).Hours())) })
	return id
}

func good(int) (hogapitest.Outcome, bool) { return hogapitest.Outcome{}, true }

// outage is one of three hours, ten hours ago.
func outage(hoursAgo int) (hogapitest.Outcome, bool) {
	return hogapitest.Outcome{}, hoursAgo < 10 || hoursAgo > 12
}

// broken has the outage, and a failure five hours ago.
func broken(hoursAgo int) (hogapitest.Outcome, bool) {
	if hoursAgo == 5 {
		return hogapitest.Outcome{Status: "Failed", Error: "SlowDown"}, true
	}
	return outage(hoursAgo)
}

func TestList(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.run(t, "list").out(t, "the project has no batch exports")
	p.addExport("lake", good)
	p.addExport("warehouse \x1b[31m", broken)
	p.ends(t, 0, "list").out(t, "EXPORT", "STATE", "NEWEST EXPORTED", "FAILURES LEFT", `warehouse \u001b[31m BigQuery posthog.events hour active`, "≤ 2", "lake BigQuery posthog.events hour active", "≤ 3")

	p.ends(t, 6, "list", "--gaps", "--since", "2d").out(t, "NOT EXPORTED IN 2 DAYS", "4 in 2 gaps", "lake", " 0").
		err(t, "1 export with intervals that are not exported", "hogexport gaps EXPORT")
	before := len(p.server.Calls())
	p.ends(t, 6, "list", "--gaps", "--since", "2d")
	assert.LessOrEqual(t, len(p.server.Calls())-before, 1+2*4, "from the cache")

	r := p.run(t, "list", "--gaps", "--log", "json").err(t, `"phase":"read the runs of export`)
	assert.NotContains(t, r.stderr, "acknowledged", "a field of the importer")
	var found []status
	r = p.ends(t, 0, "list", "--json", "--gaps") // a program reads the numbers
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &found))
	require.Len(t, found, 2)
	assert.Equal(t, 4, *found[0].Uncovered)
	assert.Equal(t, 1, found[0].Failures)
}

// A coverage is kept for the settings that it was read with. A run that was under way then exports nothing.
func TestWhatTheCacheKeeps(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	e := &hogapi.BatchExport{ID: uuid.New(), Interval: hogapi.IntervalHour, LastUpdatedAt: at}
	found := &coverage.Coverage{ExportID: e.ID, Intervals: []coverage.Interval{
		{Start: at.Add(-2 * time.Hour), End: at.Add(-time.Hour), State: coverage.StateCompleted}, {Start: at.Add(-time.Hour), End: at, State: coverage.StateRunning},
	}}
	c := cache{folder: t.TempDir()}
	c.save(e, found)
	require.NotNil(t, c.load(e))
	end, isUnderWay := newestExported(c.load(e))
	assert.Equal(t, at.Add(-time.Hour), end)
	assert.True(t, isUnderWay)
	e.LastUpdatedAt = at.Add(time.Microsecond)
	assert.Nil(t, c.load(e), "the settings have changed")
}

// The cache answers for a later time, and keeps its entries for an earlier one.
func TestCoverageOfAnotherTime(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	id := p.addExport("lake", good)
	client, c, now := p.server.Client(t), cache{folder: t.TempDir()}, time.Now().UTC().Truncate(time.Hour)
	e, err := client.BatchExports.Get(t.Context(), id)
	require.NoError(t, err)
	for _, before := range []time.Duration{10 * time.Hour, 30 * time.Hour, 5 * time.Hour} {
		from := now.Add(-before)
		found, err := c.coverage(t.Context(), client, e, from)
		require.NoError(t, err)
		require.NotEmpty(t, found.Intervals)
		assert.Equal(t, from, found.Intervals[0].Start)
		assert.Equal(t, from, found.From)
		assert.Len(t, found.Intervals, int(found.Intervals[len(found.Intervals)-1].End.Sub(from).Hours()))
	}
	assert.Equal(t, now.Add(-30*time.Hour), c.load(e).From)
}

// The list of exports has fewer runs than the service counts for a pause: the cache of gaps has the others.
func TestListCountsFailuresWithTheCache(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	id := p.addExport("warehouse", func(hoursAgo int) (hogapitest.Outcome, bool) {
		if hoursAgo == 12 || hoursAgo == 20 || hoursAgo == 40 {
			return hogapitest.Outcome{Status: "Failed"}, true
		}
		return hogapitest.Outcome{}, true
	})
	p.run(t, "list").out(t, "warehouse BigQuery posthog.events hour active", "≤ 3", "than the 10 that list reads")
	p.run(t, "list", "--gaps").out(t, "warehouse BigQuery posthog.events hour active", " 1 3 in 3 gaps")
	before := len(p.server.Calls())
	r := p.run(t, "list")
	assert.Len(t, p.server.Calls(), before+1, "the list itself")
	assert.Regexp(t, `(?m)^[0-9a-f-]+ +warehouse +BigQuery posthog.events +hour +active .* min +1 *$`, r.stdout)

	project := p.server.Project(hogapitest.DefaultProject)
	project.NextRuns(hogapitest.Outcome{Polls: 1 << 30})
	project.AddRun(id, hogapitest.Run{Status: "Running", Created: time.Now().Add(-14 * time.Hour)})
	p.ends(t, 6, "gaps", "warehouse", "--cache", t.TempDir())
	p.run(t, "list", "--gaps", "--since", "31d").out(t, "≤ 1", "than the 10 that list reads")
	p.run(t, "list", "--gaps", "--since", "31d").out(t, "≤ 1", "than the 10 that list reads")
	p.run(t, "list").out(t, "≤ 1", "than the 10 that list reads")
}

// Backfills of old times are no sign of how far the schedule has come.
func TestListAfterBackfills(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	id := p.addExport("warehouse", func(hoursAgo int) (hogapitest.Outcome, bool) { return hogapitest.Outcome{}, hoursAgo >= 5 })
	project, now := p.server.Project(hogapitest.DefaultProject), time.Now().UTC()
	newest := now.Truncate(time.Hour).Add(-5 * time.Hour)
	add := func(status hogapi.RunStatus) {
		for i := range maxLatestRuns {
			start := newest.Add(time.Duration(-40+i) * time.Hour)
			project.AddRun(id, hogapitest.Run{
				Status: status, Start: start, End: start.Add(time.Hour), Created: now.Add(time.Duration(i-20) * time.Minute), Extra: map[string]any{"backfill": uuid.New()},
			})
		}
	}
	add(hogapi.RunStatusCompleted)
	r := p.run(t, "list")
	assert.Regexp(t, `(?m)^[0-9a-f-]+ +warehouse +BigQuery posthog.events +hour +active +≥ `+newest.Add(-30*time.Hour).Format("01-02 15:04")+` +≤ `, r.stdout)
	says(t, r.stdout, "≥ or unknown: list reads the newest 10 runs", "With --gaps")
	exact := `(?m)^[0-9a-f-]+ +warehouse +BigQuery posthog.events +hour +active +` + newest.Format("01-02 15:04") + ` +\d`
	for _, args := range [][]string{{"list", "--gaps"}, {"list"}} { // the second from the cache
		r = p.run(t, args...)
		assert.Regexp(t, exact, r.stdout, "%q", args)
		assert.NotContains(t, r.stdout, "≥", "%q", args)
	}
	p.server.Project(hogapitest.DefaultProject).NextRuns(hogapitest.Outcome{Polls: 1 << 30})
	project.AddRun(id, hogapitest.Run{Status: hogapi.RunStatusRunning, Start: newest, End: newest.Add(time.Hour), Created: now.Add(-4 * time.Hour)})
	p.ends(t, 6, "gaps", "warehouse")
	assert.Contains(t, p.run(t, "list").stdout, "≥", "a run that was under way may have completed since")

	now = now.Add(maxLatestRuns * time.Minute)
	add(hogapi.RunStatusFailed)
	r = p.run(t, "list", "--cache", t.TempDir())
	assert.Regexp(t, `(?m)^[0-9a-f-]+ +warehouse +BigQuery posthog.events +hour +failing +unknown +`, r.stdout)
}

// Older servers do not say which run is of a backfill: a run that began long after its interval belongs to a backfill.
func TestListAfterBackfillsOfAnOldServer(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	id, now := p.addExport("warehouse", good), time.Now().UTC()
	for i := range maxLatestRuns {
		end := now.Truncate(time.Hour).Add(time.Duration(i-40) * time.Hour)
		p.server.Project(hogapitest.DefaultProject).AddRun(id, hogapitest.Run{Start: end.Add(-time.Hour), End: end, Created: now.Add(time.Minute)})
	}
	assert.Contains(t, p.run(t, "list").stdout, "≥ ")
	p.addExport("failing", func(int) (hogapitest.Outcome, bool) {
		return hogapitest.Outcome{Status: hogapi.RunStatusCancelled}, true
	})
	assert.Regexp(t, `(?m)^[0-9a-f-]+ +failing .* unknown +- `, p.run(t, "list").stdout)
	assert.Regexp(t, `(?m)^[0-9a-f-]+ +failing .* nothing yet +- `, p.run(t, "list", "--gaps").stdout)
}

func TestGaps(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	id := p.addExport("warehouse", broken)
	p.addExport("lake", good)
	r := p.ends(t, 6, "gaps", "warehouse")
	says(t, r.stdout, "warehouse: events to BigQuery posthog.events, every hour ("+id.String()[:8]+")", "N never scheduled (no run began), F failed", "FROM (UTC)", "3 never scheduled", "1 failed",
		"NOT EXPORTED: 4 intervals in 2 gaps, since ")
	says(t, r.stderr, "2 gaps; they are not exported automatically", "hogexport repair warehouse --cache")
	assert.Equal(t, 3, strings.Count(strings.Split(r.stdout, "N never scheduled")[0], "N"))
	p.ends(t, 0, "gaps", "lake").out(t, "every interval from", "is exported")
	p.ends(t, 6, "gaps", "warehouse", "--since", "40h").err(t, "hogexport repair warehouse --cache", "--since 40h --plan plan.json")
	p.ends(t, 6, "gaps").err(t, "hogexport repair warehouse") // of all exports
	twin := p.addExport("warehouse", broken)
	short := twin.String()[:8]
	says(t, p.ends(t, 6, "gaps").stderr, "4 gaps", "hogexport repair "+short+" "+id.String()[:8]+" --cache")
	says(t, p.ends(t, 6, "gaps", short).stderr, "hogexport repair "+short)
	says(t, p.ends(t, 6, "list", "--gaps", "--since", "40h").stderr, "hogexport gaps EXPORT", "--since 40h")
	require.NoError(t, p.server.Client(t).BatchExports.Delete(t.Context(), twin))

	file := filepath.Join(t.TempDir(), "known")
	day := func(d time.Duration) string { return time.Now().UTC().Add(d).Format(time.RFC3339) }
	lines := fmt.Sprintf("# before the move\nwarehouse\t%s\t%s\tthe outage\n%s\t%s\t%s\tthe failure\n", day(-14*time.Hour), day(-9*time.Hour), id, day(-7*time.Hour), day(-4*time.Hour))
	require.NoError(t, os.WriteFile(file, []byte(lines), 0o600))
	p.ends(t, 0, "gaps", "warehouse", "--accept", file).out(t, "known: the outage", "known: the failure", "every other interval is exported")
	require.NoError(t, os.WriteFile(file, []byte("warehouse\tyesterday\ttoday\tx\n"), 0o600))
	p.ends(t, 2, "gaps", "warehouse", "--accept", file).err(t, "line 1: expected the export, two times and the reason")

	var all []printed
	r = p.ends(t, 6, "gaps", "warehouse", "--json")
	require.NoError(t, json.Unmarshal([]byte(r.stdout), &all))
	assert.Len(t, all[0].Gaps, 2)
	assert.Equal(t, []coverage.State{coverage.StateFailed}, all[0].Gaps[1].States)
	assert.False(t, all[0].IsExported)
	assert.NotContains(t, r.stdout, `"runs"`)
	assert.Contains(t, p.run(t, "gaps", "warehouse", "--json", "--intervals").stdout, `"runs"`)
	p.ends(t, 6, "gaps", "warehouse", "--until", "8h").out(t, "NOT EXPORTED: 3 intervals in 1 gap")
	p.ends(t, 0, "gaps", "warehouse", "--until", "16h")
	p.ends(t, 2, "gaps", "warehouse", "--since", "1h", "--until", "16h").err(t, "--until is not after --since")
}

// The page shows the calendar and the gaps. It replaces only an earlier page.
func TestGapsPage(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.addExport("warehouse <b>", broken)
	path := filepath.Join(t.TempDir(), "gaps.html")
	for range 2 {
		p.ends(t, 6, "gaps", "--report", path)
	}
	text := read(t, path)
	says(t, text, "<title>Gaps: 4 intervals not exported – hogexport</title>", "warehouse &lt;b&gt;", `class="bad" title=`, "never scheduled", "hogexport repair EXPORT --plan plan.json")
	assert.NotContains(t, text, "<script")
	require.NoError(t, os.WriteFile(path, []byte("my notes"), 0o600))
	p.ends(t, 2, "gaps", "--report", path)
}

// accepting returns a file for --accept with the gaps of an export between two times, in hours before now.
func accepting(t *testing.T, export string, from, to int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "known")
	at := func(hoursAgo int) string {
		return time.Now().UTC().Add(time.Duration(-hoursAgo) * time.Hour).Format(time.RFC3339)
	}
	line := fmt.Sprintf("%s\t%s\t%s\tknown to us\n", export, at(from), at(to))
	require.NoError(t, os.WriteFile(path, []byte(line), 0o600))
	return path
}

// A gap that is known is not exported again: not by a new plan, and not by one that was made before the gap was known.
func TestRepairLeavesKnownGaps(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.addExport("warehouse", func(hoursAgo int) (hogapitest.Outcome, bool) {
		_, isThere := outage(hoursAgo)
		return hogapitest.Outcome{}, isThere && hoursAgo != 5
	})
	outage, hour, both := accepting(t, "warehouse", 14, 9), accepting(t, "warehouse", 7, 4), accepting(t, "warehouse", 14, 4)
	file := filepath.Join(t.TempDir(), "plan.json")
	plan := func(args ...string) {
		p.ends(t, 0, append([]string{"repair", "warehouse", "--plan", file}, args...)...)
	}
	begun := func(want, code int, args ...string) result {
		r := p.ends(t, code, append([]string{"repair", "--yes", "--max-rows", "4000"}, args...)...)
		assert.Len(t, p.server.Calls("backfills.create"), want, "%s%s", r.stdout, r.stderr)
		return r
	}
	intervals := func(n int) { assert.Contains(t, read(t, file), fmt.Sprintf(`"intervals": %d`, n)) }
	plan("--accept", outage)
	intervals(1)
	plan("--accept", hour)
	intervals(3)
	begun(0, 0, "warehouse", "--accept", both).out(t, "nothing to repair")
	plan()
	begun(0, 0, "--apply", file, "--accept", both)

	p.server.Project(hogapitest.DefaultProject).NextRuns(hogapitest.Outcome{Status: hogapi.RunStatusFailed, Error: "no such bucket"})
	begun(1, 4, "warehouse").err(t, "no such bucket")
	begun(2, 0, "warehouse", "--accept", hour).err(t, "continue the repair").out(t, "1 step: 0 planned", "1 done", "known: known to us")
	begun(2, 0, "warehouse", "--accept", hour).out(t, "nothing to repair")
	begun(3, 0, "warehouse").out(t, "1 done", "every interval from", "is exported")
}

// A gap of which nobody can tell is no gap that is known.
// The hours between the last day before the hour was moved and the first one after it have no run. No clock has changed.
func TestGapsOfAMovedHour(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC)
	now := noon
	p := newProgram(t, hogapitest.WithClock(func() time.Time { return now }))
	project := p.server.Project(hogapitest.DefaultProject)
	id := project.AddExport(hogapitest.Export{Name: "daily", Created: noon, Interval: hogapi.IntervalDay, Timezone: "UTC", DestinationType: "BigQuery", Integration: 2})
	for i := range 7 {
		hour := time.Duration(i/4) * 5 * time.Hour
		if i == 4 {
			now = noon.AddDate(0, 0, 4)
			move := hogapi.BatchExportUpdateRequest{Interval: opt.Set(hogapi.IntervalDay), OffsetHour: opt.Set(5)}
			_, err := p.server.Client(t).BatchExports.Update(t.Context(), id, move)
			require.NoError(t, err)
		}
		end := noon.Truncate(24*time.Hour).AddDate(0, 0, i+1).Add(hour)
		project.AddRun(id, hogapitest.Run{Start: end.AddDate(0, 0, -1), End: end, Created: end.Add(time.Minute)})
	}
	now = noon.AddDate(0, 0, 7)
	r := p.ends(t, 6, "gaps", "daily").out(t, "2026-11-21 00:00", "2026-11-21 05:00", "never scheduled")
	assert.NotContains(t, r.stdout, "clock")
	p.ends(t, 6, "repair", "daily", "--yes", "--max-rows", "9000").out(t, "hogexport download --of "+id.String(), "--from", "2026-11-21T00:00:00Z", "--to 2026-11-21T05:00:00Z")
}

func TestGapsThatNobodyCanTell(t *testing.T) {
	t.Parallel()
	p := newProgram(t, hogapitest.WithPersonalKey(hogapitest.DefaultPersonalKey, "batch_export:read"))
	id := p.addExport("warehouse", broken)
	p.server.Project(hogapitest.DefaultProject).EditExport(id, time.Now(), func(x *hogapitest.Export) { x.Name = "renamed" })
	p.ends(t, 6, "gaps", "renamed").out(t, "? cannot tell") // the failure is known

	id = p.addExport("quiet", outage)
	p.server.Project(hogapitest.DefaultProject).EditExport(id, time.Now(), func(x *hogapitest.Export) { x.Name = "never told" })
	p.ends(t, 7, "gaps", "never told").out(t, "? cannot tell")
}

func TestRepair(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.addExport("warehouse", broken)
	p.ends(t, 2, "repair", "warehouse").out(t, "2 steps: 2 planned").err(t, "nobody can confirm the repair", "nothing was changed")
	p.ends(t, 2, "repair", "warehouse", "--yes").err(t, "--yes without --max-rows")
	p.ends(t, 3, "repair", "warehouse", "--yes", "--max-rows", "3999").
		err(t, "the plan exports about 4,000 rows again, more than --max-rows 3,999", "nothing was changed")
	assert.Empty(t, p.server.Calls("backfills.create"))

	file := filepath.Join(t.TempDir(), "plan.json")
	p.ends(t, 0, "repair", "warehouse", "--plan", file).out(t, "2 planned", "Nothing was changed", "hogexport repair --apply")
	p.ends(t, 0, "repair", "warehouse", "--plan", file) // an earlier plan is replaced
	other := filepath.Join(t.TempDir(), "notes.json")
	require.NoError(t, os.WriteFile(other, []byte(`{"mine":true}`), 0o600))
	p.ends(t, 2, "repair", "warehouse", "--plan", other)
	p.ends(t, 2, "repair", "--apply", other)
	p.ends(t, 2, "repair", "warehouse", "--apply", file)
	r := p.ends(t, 4, "repair", "warehouse", "--yes", "--max-rows", "4000", "--cache", other).err(t, "the plan cannot be written") // a file
	assert.NotContains(t, r.stderr, "--apply", "there is no plan to continue with")
	assert.Empty(t, p.server.Calls("backfills.create"))

	p.ends(t, 0, "repair", "--apply", file, "--yes", "--max-rows", "4000").out(t, "2 done or covered", "every interval from", "is exported").err(t, "repair: ")
	assert.NoFileExists(t, file+".lock")
	assert.Len(t, p.server.Calls("backfills.create"), 2)
	p.ends(t, 0, "gaps", "warehouse")
	p.ends(t, 0, "repair", "warehouse").out(t, "nothing to repair")
	p.ends(t, 0, "repair", "--apply", file, "--yes", "--max-rows", "1") // it is done
	assert.Len(t, p.server.Calls("backfills.create"), 2)
}

// Where no interval is exported since --since, rows are estimated by the newest runs. An export without any is told from a key without a scope.
func TestRepairWithoutAnEstimate(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.addExport("quiet", func(hoursAgo int) (hogapitest.Outcome, bool) { return hogapitest.Outcome{}, hoursAgo > 12 })
	p.addExport("never", func(int) (hogapitest.Outcome, bool) {
		return hogapitest.Outcome{Status: hogapi.RunStatusCancelled}, true
	})
	p.ends(t, 3, "repair", "quiet", "--since", "6h", "--yes", "--max-rows", "1").err(t, "the plan exports", "rows again, more than --max-rows 1")
	r := p.ends(t, 7, "repair", "never", "--since", "6h", "--yes", "--max-rows", "1").err(t, "no run since --since has completed", "nothing was changed")
	assert.NotContains(t, r.stderr, "query:read")
}

// In Postgres, a failed run may have left rows: its gap is left without --accept-copies, and the others are repaired.
func TestRepairOfATableWithLeftovers(t *testing.T) {
	t.Parallel()
	p, now := newProgram(t), time.Now().UTC()
	project := p.server.Project(hogapitest.DefaultProject)
	id := project.AddExport(hogapitest.Export{Name: "warehouse", Created: now.Add(-48 * time.Hour), DestinationType: "Postgres", Integration: 2})
	project.RunSchedule(id, func(_, end time.Time) (hogapitest.Outcome, bool) { return broken(int(now.Sub(end).Hours())) })
	p.ends(t, 6, "repair", "warehouse", "--yes", "--max-rows", "4000").
		out(t, "may be in the table already", "Compare that time with hogexport reconcile: the report shows", "plan and repair with --accept-copies", "1 done or covered, 0 failed, 1 left to you").
		err(t, "1 gap still not exported")
	assert.Len(t, p.server.Calls("backfills.create"), 1)
	p.ends(t, 0, "repair", "warehouse", "--yes", "--max-rows", "4000", "--accept-copies").
		out(t, "Duplicate rows: rows that runs may have written")
	p.ends(t, 0, "gaps", "warehouse").out(t, "1 interval perhaps twice in the table", "every interval from", "is exported")
}

// --plan replaces a plan of the same export that nobody has begun, and no other file: it may have the progress of a repair.
func TestAPlanThatIsNotReplaced(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.addExport("warehouse", outage)
	p.addExport("copy", outage)
	file := filepath.Join(t.TempDir(), "plan.json")
	for range 2 {
		p.ends(t, 0, "repair", "warehouse", "--plan", file)
	}
	kept := func(says string, export string) {
		before := read(t, file)
		p.ends(t, 2, "repair", export, "--plan", file).err(t, says)
		assert.Equal(t, before, read(t, file))
	}
	kept("has the plan of another export: warehouse", "copy")

	p.server.Project(hogapitest.DefaultProject).NextRuns(hogapitest.Outcome{Status: hogapi.RunStatusFailed, Error: "no such bucket"})
	apply := []string{"repair", "--apply", file, "--yes", "--max-rows", "4000"}
	p.ends(t, 4, apply...)
	kept("has a plan that is under way give --plan another FILE Or continue it with: hogexport repair --apply", "warehouse")
	p.ends(t, 0, apply...)
	p.ends(t, 0, "repair", "warehouse", "--plan", file) // it is done
	link := filepath.Join(t.TempDir(), "link.json")
	if os.Symlink(file, link) == nil { // Windows may refuse it
		p.ends(t, 0, "repair", "warehouse", "--plan", link)
		info, err := os.Lstat(link)
		require.NoError(t, err)
		assert.NotZero(t, info.Mode()&os.ModeSymlink, "the plan is in its file")
	}

	later := strings.Replace(read(t, file), "{", `{"of_a_later_version": 1,`, 1)
	require.NoError(t, os.WriteFile(file, []byte(later), 0o600))
	kept("not a plan of hogexport repair", "warehouse")
	for _, text := range []string{"{}", `{"steps":[]}`} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		p.ends(t, 2, "repair", "--apply", file)
	}
}

// A plan that was written while a person looked at another one is not replaced by it.
func TestAPlanThatChangesAtTheQuestion(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "plan.json")
	require.NoError(t, os.WriteFile(file, []byte("newer"), 0o600))
	shellApp, _ := shell.New(t.Context(), "hogexport", strings.NewReader(""), io.Discard, io.Discard, func(string) string { return "" }, (&app{}).explain)
	r := repair{app: &app{App: shellApp}, cache: t.TempDir()}
	plan := planned{Plan: &coverage.Plan{ExportID: uuid.New(), Name: "lake"}, file: file, text: []byte("shown")}
	interrupted, interrupt := context.WithCancelCause(t.Context())
	interrupt(shell.ErrInterrupted)
	r.In, _ = io.Pipe()
	assert.EqualError(t, r.consent(interrupted, "Carry out 1 step?"), "nothing was changed")
	_, err := r.hold(plan)
	assert.ErrorContains(t, err, "has changed since the plan was shown")
	assert.Equal(t, "newer", read(t, file))
}

// A plan that the cache keeps and that does not fit any more does not end each later repair too.
func TestAKeptPlanThatDoesNotFit(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.addExport("warehouse", outage)
	p.server.Project(hogapitest.DefaultProject).NextRuns(hogapitest.Outcome{Status: hogapi.RunStatusFailed, Error: "no such bucket"})
	args := []string{"repair", "warehouse", "--yes", "--max-rows", "4000"}
	p.ends(t, 4, args...)
	files, err := filepath.Glob(filepath.Join(p.env["HOGEXPORT_CACHE"], "*", "*.plan.json"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	text := read(t, files[0])
	changed := regexp.MustCompile(`"age_line": \d+`).ReplaceAllString(text, `"age_line": 3600000000000`)
	require.NotEqual(t, text, changed)
	require.NoError(t, os.WriteFile(files[0], []byte(changed), 0o600))
	p.ends(t, 4, args...).err(t, "make a new plan", "the plan was removed: run the same command again to make a new one")
	p.ends(t, 0, args...)
}

// Several exports are repaired one after another, with one question and one bound. A failure ends it, and the same command goes on.
func TestRepairOfSeveralExports(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.addExport("warehouse", outage)
	p.addExport("whole", good)
	begun := p.addExport("copy", outage).String()[:8]
	all := []string{"repair", "warehouse", "whole", "copy", "warehouse", "--yes", "--max-rows"}
	p.ends(t, 3, append(all, "5999")...).err(t, "the plans export about 6,000 rows again, more than --max-rows 5,999", "nothing was changed")
	assert.Empty(t, p.server.Calls("backfills.create"))
	p.ends(t, 2, "repair", "warehouse", "absent")

	p.server.Project(hogapitest.DefaultProject).NextRuns(hogapitest.Outcome{Status: hogapi.RunStatusFailed, Error: "no such bucket"})
	r := p.ends(t, 4, append(all, "6000")...).out(t, "repair of warehouse", "repair of whole", "nothing to repair", "repair of copy")
	says(t, r.stderr, "no such bucket", "not begun: "+begun+" copy", "Fix the cause, then continue with:", "hogexport repair --apply", "Then repair the others:",
		"hogexport repair copy --cache", "--yes")
	for _, word := range []string{"call Repair", "remove the cause"} {
		assert.NotContains(t, r.stdout+r.stderr, word, "a word of the package")
	}
	assert.Len(t, p.server.Calls("backfills.create"), 1)
	p.ends(t, 0, append(all, "6000")...)
	for _, name := range []string{"warehouse", "copy"} {
		p.ends(t, 0, "gaps", name)
	}
}

// The gaps that are left of several exports are counted together.
func TestGapsThatAreLeftOfSeveralExports(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	project, now := p.server.Project(hogapitest.DefaultProject), time.Now().UTC()
	for i, name := range []string{"one", "two", "three", "four"} {
		id := project.AddExport(hogapitest.Export{Name: name, Created: now.Add(-48 * time.Hour), DestinationType: "HTTP"})
		project.RunSchedule(id, func(_, end time.Time) (hogapitest.Outcome, bool) {
			return hogapitest.Outcome{}, i < 2 || now.Sub(end).Hours() < 10
		})
	}
	p.ends(t, 0, "repair", "one", "two")
	p.ends(t, 6, "repair", "three", "one", "four").err(t, "2 gaps still not exported: the plan says why")
}

// The text of a plan about duplicate rows, its deadline and a second prefix.
func TestTextsOfAPlan(t *testing.T) {
	t.Parallel()
	made := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	text := func(schedule string, steps ...coverage.Step) string {
		var out strings.Builder
		for i := range steps {
			steps[i].State, steps[i].Intervals = coverage.StepPlanned, 1
		}
		printPlan(&out, &coverage.Plan{Name: "x", Schedule: schedule, PlannedAt: made, AgeLine: 5 * 24 * time.Hour, Steps: steps})
		return strings.Join(strings.Fields(out.String()), " ")
	}
	rows := int64(1234)
	young := coverage.Step{Action: coverage.ActionBackfill, Start: made.Add(-4 * time.Hour), End: made.Add(-3 * time.Hour), Rows: coverage.RowsAsScheduled}
	second := coverage.Step{
		Action: coverage.ActionSecondExport, Start: made.AddDate(0, 0, -8), End: made.AddDate(0, 0, -7), Rows: coverage.RowsByTimestamp, Estimate: &rows,
		Prefix: "p/repair/", Note: "writes to p/repair/, by timestamp",
	}
	got := text("hour of events to AwsS3, UTC 0 0", second, young)
	says(t, got, "late rows are never in it")
	says(t, got, "Duplicate rows: up to 1,234, if both the old and the new prefix are read", "a backfill replaces the objects of its intervals")
	assert.Equal(t, 1, strings.Count(got, "p/repair/"))
	says(t, got, "need a download", "hogexport download --of", "--from 2026-11-18T12:00:00Z")
	assert.Equal(t, 1, strings.Count(got, "hogexport download"), "of the gap by timestamp only")
	says(t, got, "Start before 2026-12-01 09:00 UTC: after that, the gap from 2026-11-26 08:00 is more than 5 days old")
	says(t, got, "second export 1,234 planned")
	oldPlan := &coverage.Plan{Steps: []coverage.Step{second, young}}
	oldPlan.Steps[0].State, oldPlan.Steps[1].State = coverage.StepPlanned, coverage.StepPlanned
	leaveByTimestamp(oldPlan)
	assert.Equal(t, []coverage.StepState{coverage.StepLeft, coverage.StepPlanned}, []coverage.StepState{oldPlan.Steps[0].State, oldPlan.Steps[1].State}, "--yes makes no second export")
	oldPlan.Steps[0].State, oldPlan.Steps[1].Estimate = coverage.StepPlanned, new(int64(7))
	assert.Equal(t, "Project 1: 1 backfill of about 7 rows, 1 second export of up to 1,234 rows by timestamp. Carry out?", question([]planned{{Plan: oldPlan}}, "1"))
	second.Estimate = nil
	says(t, text("hour of events to AwsS3, UTC 0 0", second), "Duplicate rows: unknown, if both")
	second.Result = "done"
	says(t, text("hour of events to AwsS3, UTC 0 0", second), "done; its prefix: p/repair/")
	says(t, text("hour of events to AwsS3, UTC 0 0", young), "Duplicate rows: none; a backfill replaces")

	day := coverage.Step{Action: coverage.ActionBackfill, Start: made.Add(-132 * time.Hour), End: made.Add(-108 * time.Hour), Rows: coverage.RowsAsScheduled}
	says(t, text("day of events to BigQuery, UTC 0 0", day), "Start before 2026-11-27 00:00 UTC: after that, the gap from 2026-11-21 00:00 is more than 5 days old")
	assert.NotContains(t, text("day of persons to BigQuery, UTC 0 0", day), "Begin before")
	says(t, text("day of persons to BigQuery, UTC 0 0", day), "(00000000, day of persons to BigQuery)", "Duplicate rows: none, since the table keeps one row per person")
	day.Rows = coverage.RowsUnknown
	says(t, text("day of sessions to BigQuery, UTC 0 0", day), "Duplicate rows: none, since the table keeps one row per session")
	says(t, text("day of hogql to BigQuery, UTC 0 0", day), "Duplicate rows: depends on the query")
}

// A repair that was interrupted continues with its plan, and begins nothing twice.
func TestRepairContinues(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.addExport("warehouse", broken)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	ended, said := make(chan int), bytes.Buffer{}
	args := []string{"repair", "warehouse", "--yes", "--max-rows", "10000", "--every", "1h", "--project-id", hogapitest.DefaultProject}
	other := filepath.Join(t.TempDir(), "other.json")
	require.Equal(t, 0, p.run(t, "repair", "warehouse", "--plan", other).code)
	go func() {
		ended <- Run(ctx, args, strings.NewReader(""), io.Discard, &said, func(name string) string { return p.env[name] })
	}()
	require.Eventually(t, func() bool { return len(p.server.Calls("backfills.create")) == 1 }, time.Minute, time.Millisecond)
	for _, second := range [][]string{{"repair", "warehouse"}, {"repair", "--apply", other}} {
		p.ends(t, 4, append(second, "--yes", "--max-rows", "10000")...).
			err(t, "another hogexport is repairing warehouse", "run the same command again when that one has ended; this export was not changed")
	}
	interrupt()
	assert.Equal(t, 4, <-ended)
	says(t, strings.ReplaceAll(said.String(), "\\\n", ""), "interrupted", "the backfill of 20", " UTC continues in PostHog: hogexport cancel ends it", "To continue:", "hogexport repair --apply", "--every 1h0m0s --max-rows 10000 --project-id "+hogapitest.DefaultProject+" --yes")
	assert.NotContains(t, said.String(), "the same command", "one advice")

	p.ends(t, 0, "repair", "warehouse", "--yes", "--max-rows", "10000").err(t, "continue the repair that was planned at")
	assert.Len(t, p.server.Calls("backfills.create"), 2)
	p.ends(t, 0, "gaps", "warehouse")
}

func TestPullAndCreate(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.addExport("events to the warehouse", good)
	p.addExport("Events/to the warehouse", good)
	folder := filepath.Join(t.TempDir(), "exports")
	p.ends(t, 0, "pull", folder).out(t, "2 exports written")
	p.ends(t, 0, "pull", folder) // its own files are replaced
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	require.NoError(t, err)
	require.Len(t, files, 2)
	says(t, read(t, files[0]), "interval: hour", "type: BigQuery", "integration: ", "table_id: events")

	p.ends(t, 2, "create", "--from", files[0], "--yes").err(t, "already, which create does not change", "--name NAME")
	p.ends(t, 0, "create", "--from", files[0], "--name", "copy", "--integration", "2", "--yes").err(t, "writes to the same place").out(t, "created ", ", paused: copy")

	other := p.server.Project("777")
	p.env["POSTHOG_PROJECT_ID"] = "777"
	p.ends(t, 2, "create", "--from", files[0], "--yes").
		err(t, "integration", "give --integration NUMBER, or create one in PostHog: the file does not contain credentials")
	number := strconv.Itoa(other.AddIntegration(hogapitest.Integration{Kind: "google-cloud-service-account"}))
	p.ends(t, 0, "create", "--from", files[0], "--integration", number, "--yes")
	if all := other.Exports(); assert.Len(t, all, 1) {
		assert.True(t, all[0].Paused)
		assert.Equal(t, "events", all[0].Config["table_id"])
	}
	p.env["POSTHOG_PROJECT_ID"] = hogapitest.DefaultProject
	lake := filepath.Join(t.TempDir(), "lake.yaml")
	require.NoError(t, os.WriteFile(lake, []byte(`{name: lake, model: persons, interval: day, filters: [], destination: {type: AwsS3, integration: "1",
		config: {bucket_name: b, region: r, prefix: p/, file_format: Parquet, compression: zstd, legacy_parquet_extension: true}}}`), 0o600))
	p.ends(t, 0, "create", "--from", lake, "--integration", strconv.Itoa(p.server.Project(hogapitest.DefaultProject).AddIntegration(hogapitest.Integration{})), "--yes").
		err(t, "legacy_parquet_extension is left out: only existing exports can keep the codec")
	require.NoError(t, os.WriteFile(files[0], []byte("name: mine\nowner: me\n"), 0o600))
	p.ends(t, 2, "pull", folder)
	p.ends(t, 2, "create", "--from", files[0], "--yes").err(t, "field owner not found")
}

func TestDownload(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	folder := filepath.Join(t.TempDir(), "rows")
	p.ends(t, 2, "download", folder, "--from", "2026-01-01", "--to", "2026-01-09", "--format", "jsonl").
		err(t, "this is not a terminal, so nobody can confirm: download the events from 2026-01-01 00:00 to 2026-01-09 00:00 UTC in project 12345", "about 0 rows", "bills", "nothing was changed")
	assert.Empty(t, p.server.Calls("file_downloads.create"))
	r := p.ends(t, 0, "download", folder, "--from", "2026-01-01", "--to", "2026-01-09", "--format", "jsonl", "--yes")
	says(t, r.stdout, "2 files, ", "intervals without rows have no file")
	before := len(p.server.Calls())
	p.ends(t, 0, "download", folder, "--from", "2026-01-01", "--to", "2026-01-09", "--format", "jsonl")
	assert.Equal(t, before, len(p.server.Calls()), "whole files stay")
	longer := filepath.Join(t.TempDir(), "rows")
	p.ends(t, 0, "download", longer, "--from", "2026-01-01", "--to", "2026-01-08", "--yes")
	p.ends(t, 2, "download", longer, "--from", "2026-01-01", "--to", "2026-01-29").err(t, "nobody can confirm: download the events from 2026-01-08 00:00 to 2026-01-29 00:00", "nothing was changed")
	r = p.ends(t, 2, "download", folder, "--from", "2026-01-01", "--to", "2026-01-09")
	says(t, r.stderr, "hogexport: the folder belongs to a download with other options", "repeat those options, or give another FOLDER")
	for _, other := range [][]string{{"2026-01-02", "2026-01-09"}, {"2026-01-01", "2026-01-07"}, {"2025-12-30", "2026-01-02"}} {
		p.ends(t, 2, "download", folder, "--from", other[0], "--to", other[1], "--format", "jsonl").
			err(t, "already has rows of 2026-01-0", "which would be duplicated", "the same --from and --to to continue")
	}
	p.ends(t, 0, "download", folder, "--from", "2026-01-09", "--to", "2026-01-10", "--format", "jsonl", "--yes")
	for _, args := range [][]string{{folder}, {folder, "--from", "2026-01-09", "--to", "2026-01-01"}, {folder, "--from", "soon", "--to", "1d"}, {folder, "--from", "2d", "--to", "1d", "--format", "csv"},
		{folder, "--from", "2d", "--to", "1d", "--model", "people"}} {
		r := p.ends(t, 2, append([]string{"download"}, args...)...)
		assert.NotContains(t, r.stderr, "rows", "nothing is counted before: %q", args)
	}
}

func TestPercentOfALongRange(t *testing.T) {
	t.Parallel()
	from := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	assert.Equal(t, 50, percent(from, from.AddDate(10, 0, 0), from.AddDate(20, 0, 0)))
	assert.Equal(t, 0, percent(from, from, from))
}

// HOGEXPORT_TO has the URL of reconcile's database, with a password. It is no time of a download.
func TestDownloadWithTheVariableOfReconcile(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	p.env["HOGEXPORT_TO"] = "postgres://reader:s3cret@db/posthog"
	r := p.ends(t, 2, "download", filepath.Join(t.TempDir(), "rows"), "--from", "2026-01-01").err(t, "want --from and --to")
	assert.NotContains(t, r.stdout+r.stderr, "s3cret")
	assert.NotContains(t, p.run(t, "download", "--help").stdout, "HOGEXPORT_TO")
	p.run(t, "reconcile", "--help").out(t, "--to PLACE", "$HOGEXPORT_TO")
}

// Before a download begins, its rows are counted, or said to be unknown. A download that continues is not counted again.
func TestDownloadCountsBefore(t *testing.T) {
	t.Parallel()
	const limited = "phx_without_queries"
	p := newProgram(t, hogapitest.WithPersonalKey(hogapitest.DefaultPersonalKey), hogapitest.WithPersonalKey(limited, "batch_export:read", "batch_export:write"))
	project, from := p.server.Project(hogapitest.DefaultProject), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 1500 {
		at := from.Add(time.Duration(i) * time.Minute)
		project.AddEvent(hogapitest.StoredEvent{Event: []string{"paid", "seen", "seen"}[i%3], DistinctID: "ada", Time: at})
	}
	project.AddEvent(hogapitest.StoredEvent{Event: "paid", DistinctID: "ada", Time: from.AddDate(0, 0, 9)}) // in the second interval
	with := func(args ...string) result {
		return p.ends(t, 0, append([]string{"download", filepath.Join(t.TempDir(), "rows"), "--from", "2026-01-01", "--to", "2026-01-02", "--yes"}, args...)...)
	}
	says(t, with().stderr, "about 1,440 rows (events with a timestamp in this range")
	says(t, with("--include", "paid").stderr, "about 480 rows")
	says(t, with("--exclude", "paid").stderr, "about 960 rows")
	assert.Equal(t, hogapi.Op("query.run"), p.server.Calls()[0].Op, "the count comes first")
	says(t, with("--model", "persons").stderr, "the number of rows is unknown beforehand, since only events can be counted")

	byTimestamp := []string{"download", filepath.Join(t.TempDir(), "rows"), "--from", "2026-01-01", "--to", "2026-01-02", "--yes", "--by-timestamp"}
	p.ends(t, 5, byTimestamp...).err(t, "about 1,440 rows. PostHog bills", "leave the flag out")
	p.ends(t, 2, append(byTimestamp, "--model", "persons")...).err(t, "only events have a timestamp")

	folder := filepath.Join(t.TempDir(), "rows")
	args := []string{"download", folder, "--from", "2026-01-01", "--to", "2026-01-20", "--yes"}
	p.server.Script(hogapitest.OpStorage, hogapitest.Slow(0), hogapitest.Status(404)) // of the second interval
	p.ends(t, 4, args...)
	counts := len(p.server.Calls("query.run"))
	r := p.ends(t, 0, args...)
	assert.NotContains(t, r.stderr, "have a timestamp")
	assert.Len(t, p.server.Calls("query.run"), counts, "it continues")

	p.env["POSTHOG_PERSONAL_API_KEY"] = limited
	says(t, with().stderr, "the number of rows is unknown beforehand", "query:read")
}

// Each mistake has an exit code and an advice.
func TestMistakes(t *testing.T) {
	t.Parallel()
	p := newProgram(t, hogapitest.WithPersonalKey(hogapitest.DefaultPersonalKey), hogapitest.WithPersonalKey("phx_for_dashboards", "dashboard:read"))
	rows := []string{"download", filepath.Join(t.TempDir(), "rows"), "--from", "2026-01-01", "--to", "2026-01-02", "--yes"}
	p.addExport("warehouse", good)
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	here := func(project string) string {
		return "hogexport: project " + project + " is not at " + strings.TrimPrefix(p.server.URL(), "http://") + " check --project-id and --host"
	}
	for _, c := range []struct {
		name, value string
		args        []string
		code        int
		says        string
	}{
		{"POSTHOG_PERSONAL_API_KEY", "phx_wrong", []string{"list"}, 5, "hogexport: the service does not accept the personal API key (401) check POSTHOG_PERSONAL_API_KEY"},
		{"POSTHOG_PERSONAL_API_KEY", "phx_wrong", rows, 5, "hogexport: the service does not accept the personal API key (401) check POSTHOG_PERSONAL_API_KEY"},
		{"POSTHOG_PERSONAL_API_KEY", "phx_for_dashboards", []string{"list"}, 5, "needs the scope batch_export:read and access to project " + hogapitest.DefaultProject + " give the key"},
		{"POSTHOG_PERSONAL_API_KEY", "phx_for_dashboards", rows, 5, "batch_export:write and access to project " + hogapitest.DefaultProject + " give the key"},
		{"POSTHOG_PROJECT_ID", "99999", rows, 5, here("99999")},
		{"POSTHOG_HOST", "http://" + closed.Addr().String(), rows, 4, "complete files are kept: fix the cause"},
		{"POSTHOG_PERSONAL_API_KEY", "", []string{"list"}, 2, "the personal API key is missing"},
		{"POSTHOG_PROJECT_ID", "", []string{"list"}, 2, "the project's id is missing"},
		{"POSTHOG_PROJECT_ID", "99999", []string{"list"}, 5, here("99999")},
		{"POSTHOG_PROJECT_ID", "99999", []string{"gaps", "warehouse"}, 5, here("99999")},
		{"POSTHOG_PROJECT_ID", "99999", []string{"gaps", uuid.NewString()}, 5, here("99999")},
		{"POSTHOG_PROJECT_ID", "99999", []string{"repair", "warehouse"}, 5, here("99999")},
		{"POSTHOG_HOST", "http://" + closed.Addr().String(), []string{"list"}, 1, "check --host, the network"},
		{"POSTHOG_HOST", "", []string{"list"}, 2, "the project's host is missing"},
		{"POSTHOG_HOST", "france", []string{"list"}, 2, "neither a region nor a URL"},
		{"", "", []string{"gaps", "lake"}, 2, `the project has no batch export "lake"`},
		{"", "", []string{"gaps", uuid.NewString()}, 2, "the project has no batch export"},
		{"", "", []string{"repair"}, 2, "want one export, not 0"},
		{"", "", []string{"repair", "a", "b", "--plan", "plan.json"}, 2, "want one export with --plan, not 2"},
		{"", "", []string{"lst"}, 2, "did you mean list?"},
		{"", "", []string{"list", "--gapz"}, 2, "did you mean --gaps?"},
		{"", "", []string{"list", "phx_0123456789"}, 2, "a personal API key is among the arguments"},
		{"", "", []string{"watch", "--every", "1s"}, 2, "is too short"},
		{"", "", []string{"gaps", "--since", "soon"}, 2, "is not a time"},
		{"", "", []string{"gaps", "--since", "9223372036854775807d"}, 2, "is not a time"},
		{"", "", []string{"download", rows[1], "--from", "2d", "--to", "1d", "--max-gib", "0"}, 2, "--max-gib 0 is not above 0"},
		{"", "", []string{"download", rows[1], "--from", "2d", "--to", "1d", "--max-gib", "NaN"}, 2, "--max-gib NaN is not above 0"},
		{"", "", []string{"download", rows[1], "--from", "1d", "--to", "2d", "--max-gib", "1e12"}, 2, "--to is not after --from"},
		{"", "", []string{"gaps", "--accept", "missing"}, 2, syscall.ENOENT.Error()},
		{"", "", []string{"create", "--from", "missing"}, 2, syscall.ENOENT.Error()},
		{"", "", []string{"create"}, 2, `"from" not set`},
	} {
		was := p.env[c.name]
		p.env[c.name] = c.value
		r := p.run(t, c.args...)
		p.env[c.name] = was
		assert.Equal(t, c.code, r.code, "%q: %s", c.args, r.stderr)
		says(t, r.stderr, c.says)
		assert.Equal(t, 1, strings.Count(r.stderr, "hogexport: "), "one text: %s", r.stderr)
		for _, word := range []string{"hogapi:", "resume at", ".;"} {
			assert.NotContains(t, r.stderr, word, "%q", c.args)
		}
		assert.Empty(t, r.stdout, "%q", c.args)
	}
}

// The rows of a project are compared with the files of a folder: a missing one is named, and in the report.
func TestReconcile(t *testing.T) {
	t.Parallel()
	p := newProgram(t, hogapitest.WithReadBudget(20_000_000_000, 0))
	p.addExport("lake", good)
	rows, folder := p.addRows(100), t.TempDir()
	write := func(rows []row) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, "events.jsonl"), asLines(t, rows, ""), 0o600))
	}
	write(slices.Concat(rows[:17], rows[18:]))
	report := filepath.Join(t.TempDir(), "result")
	p.ends(t, 0, "reconcile", "lake", "--to", folder, "--since", "40h", "--report", report, "--dry-run").out(t, "queries", "Nothing was compared.")
	assert.NoDirExists(t, report)
	r := p.ends(t, 6, "reconcile", "lake", "--to", folder, "--since", "40h", "--report", report)
	says(t, r.stdout, "1 missing", "with hogexport download", "missing.uuids")
	for _, word := range []string{"MakePlan", "FileDownloads", "Mark"} {
		assert.NotContains(t, r.stdout, word, "a word of the package")
	}
	assert.Equal(t, rows[17].UUID, strings.TrimSpace(read(t, filepath.Join(report, "missing.uuids"))))
	assert.FileExists(t, filepath.Join(report, "report.html"))

	write(rows)
	p.ends(t, 7, "reconcile", "lake", "--to", folder, "--since", "40h", "--max-read", "4KB").
		err(t, "--max-read is reached", "run the same command again to continue")
	p.ends(t, 2, "reconcile", "lake", "--to", folder, "--max-read", "much").err(t, "give a number with a unit")
	p.ends(t, 0, "reconcile", "lake", "--to", folder, "--since", "40h", "--max-read", "1 GB").err(t, "this continues the comparison of")
	p.ends(t, 7, "reconcile", "lake", "--to", folder, "--since", "40h", "--max-read", "4KB")
	p.ends(t, 0, "reconcile", "lake", "--to", folder, "--since", "30h").err(t, "starting from the beginning")
	p.ends(t, 0, "reconcile", "lake", "--to", folder, "--since", "40h").out(t, "COMPLETE: 100 rows delivered", "; 480 GB of the project")
	for _, c := range []struct {
		to, says string
		code     int
	}{
		{"", "set HOGEXPORT_TO", 2}, {"nowhere", "there is no such folder", 2}, {t.TempDir(), "no files of a batch export", 2}, {"mysql://db/x", "unsupported kind of destination", 2},
		{"postgres://reader:s3cret@127.0.0.1:1/x", "a password is among the arguments", 2},
	} {
		p.ends(t, c.code, "reconcile", "lake", "--to", c.to).err(t, c.says)
	}
	p.env["HOGEXPORT_TO"] = "postgres://reader:s3cret@127.0.0.1:1/x"
	r = p.ends(t, 5, "reconcile", "lake").err(t, "the database does not answer")
	assert.NotContains(t, r.stderr, "s3cret")
}
