package flows_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/coverage"
	"github.com/hogapi/hogapi/hogapitest"
	calendar "github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/ops"
)

var coverageNow = time.Date(2026, 11, 26, 12, 20, 0, 0, time.UTC)

// exportOf adds an hourly export of events that was created some hours ago, with a completed run for each hour except
// the ones that a test leaves out, counted back from the last full hour, which is 1.
func exportOf(p *hogapitest.Project, hours int, x hogapitest.Export, except map[int]hogapi.RunStatus) uuid.UUID {
	x.Created = coverageNow.Add(-time.Duration(hours) * time.Hour)
	if x.DestinationType == "" {
		x.DestinationType, x.Config = "BigQuery", map[string]any{}
	}
	id := p.AddExport(x)
	for back := hours; back > 0; back-- {
		end := coverageNow.Truncate(time.Hour).Add(-time.Duration(back-1) * time.Hour)
		status, isOther := except[back]
		if isOther && status == "" {
			continue
		}
		p.AddRun(id, hogapitest.Run{Status: status, End: end, Created: end.Add(time.Minute), Records: 10})
	}
	return id
}

func states(c *coverage.Coverage) (all []string) {
	for _, x := range c.Intervals {
		all = append(all, fmt.Sprint(c.CheckedAt.Truncate(time.Hour).Sub(x.End).Hours()+1, " ", x.State))
	}
	return all
}

func exceptCompleted(states []string) (rest []string) {
	for _, s := range states {
		if !strings.HasSuffix(s, " completed") {
			rest = append(rest, s)
		}
	}
	return rest
}

func TestCoverageNamesEachIntervalThatIsNotExported(t *testing.T) {
	server := hogapitest.New(hogapitest.WithClock(func() time.Time { return coverageNow }))
	p := server.Project(hogapitest.DefaultProject)
	id := exportOf(p, 40, hogapitest.Export{Name: "warehouse"}, map[int]hogapi.RunStatus{
		1: "", 30: "", 29: "", 25: hogapi.RunStatusFailed, 24: hogapi.RunStatusFailedBilling, 20: hogapi.RunStatusCancelled, 15: "", 14: "", 13: "",
		8: hogapi.RunStatusRunning,
	})
	paused := coverageNow.Truncate(time.Hour).Add(-15*time.Hour + 20*time.Minute)
	p.EditExport(id, paused, func(x *hogapitest.Export) { x.Paused = true })
	p.EditExport(id, paused.Add(3*time.Hour), func(x *hogapitest.Export) { x.Paused = false })

	c, err := coverage.Of(t.Context(), server.Client(t), id, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"30 never scheduled", "29 never scheduled", "25 failed", "24 failed billing", "20 cancelled", "15 paused", "14 paused", "13 paused", "8 stuck",
		"1 not yet due",
	}, exceptCompleted(states(c)))
	assert.Len(t, c.Intervals, 40)
	assert.False(t, c.IsExported())
	gaps := c.Gaps()
	require.Len(t, gaps, 5)
	end := coverageNow.Truncate(time.Hour)
	assert.Equal(t, coverage.Gap{Start: end.Add(-30 * time.Hour), End: end.Add(-28 * time.Hour), Intervals: 2, States: []coverage.State{coverage.StateNeverScheduled}}, gaps[0])
	assert.Equal(t, []coverage.State{coverage.StateFailed, coverage.StateFailedBilling}, gaps[1].States)
	text := c.String()
	t.Log("\n" + text)
	assert.Contains(t, text, "2026-11-25 06:00  2026-11-25 08:00          2  never scheduled\n")
	assert.Contains(t, text, "\nNOT EXPORTED: 9 intervals in 5 gaps, since 2026-11-25 06:00; 1 not over yet")

	stored, err := json.Marshal(c)
	require.NoError(t, err)
	var again coverage.Coverage
	require.NoError(t, json.Unmarshal(stored, &again))
	assert.Equal(t, *c, again)
}

func TestCoverageOfAnExportWithoutGaps(t *testing.T) {
	server := hogapitest.New(hogapitest.WithClock(func() time.Time { return coverageNow }))
	id := exportOf(server.Project(hogapitest.DefaultProject), 250, hogapitest.Export{}, nil)
	c, err := coverage.Of(t.Context(), server.Client(t), id, nil)
	require.NoError(t, err)
	assert.True(t, c.IsExported())
	assert.Empty(t, c.Gaps())
	assert.True(t, strings.HasSuffix(c.String(), "\nevery interval exported"), c.String())
	assert.LessOrEqual(t, len(server.Calls()), 3+3, "calls for 250 runs")

	before := len(server.Calls())
	continued, err := coverage.Of(t.Context(), server.Client(t), id, &coverage.Options{Since: c})
	require.NoError(t, err)
	assert.Equal(t, c.Intervals, continued.Intervals)
	assert.LessOrEqual(t, len(server.Calls())-before, 4)
}

// A coverage of thirty days takes one call for 100 runs and three more, also of the shortest interval. The next day takes four.
func TestCallsOfACoverage(t *testing.T) {
	now := coverageNow
	server := hogapitest.New(hogapitest.WithClock(func() time.Time { return now }))
	client, p := server.Client(t), server.Project(hogapitest.DefaultProject)
	shortest := p.AddExport(hogapitest.Export{Interval: hogapi.IntervalEvery5Minutes, Timezone: "Asia/Kolkata", Created: now.AddDate(0, 0, -33), DestinationType: "BigQuery"})
	hourly := p.AddExport(hogapitest.Export{Created: now.AddDate(0, 0, -33), DestinationType: "BigQuery"})
	p.RunSchedule(shortest, nil)
	p.RunSchedule(hourly, nil)
	count := func(id uuid.UUID, o *coverage.Options) (*coverage.Coverage, int) {
		before := len(server.Calls())
		c, err := coverage.Of(t.Context(), client, id, o)
		require.NoError(t, err)
		assert.Empty(t, c.Gaps())
		return c, len(server.Calls()) - before
	}
	c, calls := count(shortest, nil)
	assert.Len(t, c.Intervals, 30*24*12)
	assert.LessOrEqual(t, calls, (len(c.Intervals)+99)/100+3)

	c, _ = count(hourly, nil)
	now = now.AddDate(0, 0, 1)
	continued, calls := count(hourly, &coverage.Options{Since: c})
	assert.LessOrEqual(t, calls, 4)
	whole, _ := count(hourly, &coverage.Options{From: c.From})
	assert.Equal(t, whole.Intervals, continued.Intervals)
}

// A coverage is continued from the time up to which it knows the runs, and does not judge the future.
func TestCoverageOfOtherTimes(t *testing.T) {
	server := hogapitest.New(hogapitest.WithClock(func() time.Time { return coverageNow }))
	client, p := server.Client(t), server.Project(hogapitest.DefaultProject)
	id := exportOf(p, 200, hogapitest.Export{}, nil)
	past, err := coverage.Of(t.Context(), client, id, &coverage.Options{To: coverageNow.Add(-100 * time.Hour)})
	require.NoError(t, err)
	c, err := coverage.Of(t.Context(), client, id, &coverage.Options{Since: past})
	require.NoError(t, err)
	assert.Empty(t, exceptCompleted(states(c)))
	assert.Len(t, c.Intervals, 200)

	p.EditExport(id, coverageNow, func(x *hogapitest.Export) { x.Paused = true })
	c, err = coverage.Of(t.Context(), client, id, &coverage.Options{To: coverageNow.Add(5 * time.Hour)})
	require.NoError(t, err)
	assert.Equal(t, coverageNow, c.To)
	assert.Empty(t, c.Gaps(), c)

	for field, o := range map[string]*coverage.Options{
		"Options.From \"2026-12-03T12:20:00Z\": want a time in the past: it is 2026-11-26T12:20:00Z": {From: coverageNow.AddDate(0, 0, 7)},
		"Options.From": {From: coverageNow},
		"Options.To \"2026-10-17T12:20:00Z\": want From too: without it, the coverage begins at 2026-11-18T04:20:00Z": {To: coverageNow.AddDate(0, 0, -40)},
	} {
		c, err = coverage.Of(t.Context(), client, id, o)
		require.ErrorIs(t, err, hogapi.ErrInvalid, field)
		require.ErrorContains(t, err, field)
		assert.Nil(t, c)
	}
	c, err = coverage.Of(t.Context(), client, id, &coverage.Options{From: coverageNow.Add(-time.Minute)})
	require.NoError(t, err)
	assert.Empty(t, c.Gaps())
	assert.False(t, c.IsExported(), "no interval ended in the last minute")

	const nothing = "\nnothing exported, and nothing missing"
	for want, x := range map[string]hogapitest.Export{
		nothing: {StartAt: coverageNow.Add(time.Hour), Created: coverageNow.Add(-48 * time.Hour)}, nothing + "; 1 not over yet": {Created: coverageNow.Add(-30 * time.Minute)},
	} {
		c, err = coverage.Of(t.Context(), client, p.AddExport(x), nil)
		require.NoError(t, err)
		assert.True(t, strings.HasSuffix(c.String(), want), c)
		assert.False(t, c.IsExported())
	}
}

// The service's Date has whole seconds, and the time of the last change has not.
func TestCoverageOfAMomentAgo(t *testing.T) {
	for name, change := range map[string]hogapi.BatchExportUpdateRequest{"name": {Name: hogapi.Set("b")}, "schedule": {Interval: hogapi.Set(hogapi.IntervalEvery15Minutes)}} {
		server := hogapitest.New(hogapitest.WithClock(func() time.Time { return coverageNow.Add(time.Second / 2) }),
			hogapitest.WithPersonalKey("phx_few", "batch_export:read", "batch_export:write"), hogapitest.WithShortIntervals())
		id := exportOf(server.Project(hogapitest.DefaultProject), 20, hogapitest.Export{Name: "a"}, nil)
		client := server.Client(t)
		_, err := client.BatchExports.Update(t.Context(), id, change)
		require.NoError(t, err)
		c, err := coverage.Of(t.Context(), client, id, nil)
		require.NoError(t, err)
		require.Contains(t, c.Notes[0], "The settings before 2026-11-26T12:20:00.5Z are unknown")
		assert.Equal(t, name == "name", len(c.Gaps()) == 0, c)
		plan, err := coverage.MakePlan(t.Context(), client, c, nil)
		require.NoError(t, err)
		assert.Empty(t, plan.Steps)
	}
}

// The clock of this machine may be wrong: the service's counts.
func TestCoverageByTheClockOfTheService(t *testing.T) {
	server := hogapitest.New(hogapitest.WithClock(func() time.Time { return coverageNow }))
	id := exportOf(server.Project(hogapitest.DefaultProject), 200, hogapitest.Export{}, map[int]hogapi.RunStatus{110: ""})
	for _, off := range []time.Duration{-48 * time.Hour, 48 * time.Hour} {
		client := server.Client(t, hogapi.WithClock(func() time.Time { return coverageNow.Add(off) }))
		c, err := coverage.Of(t.Context(), client, id, nil)
		require.NoError(t, err)
		assert.Equal(t, coverageNow, c.CheckedAt)
		assert.Equal(t, []string{"110 never scheduled"}, exceptCompleted(states(c)))
		plan, err := coverage.MakePlan(t.Context(), client, c, nil)
		require.NoError(t, err)
		assert.Equal(t, []string{"backfill as_scheduled 1 planned"}, brief(plan))
	}
}

// Where clocks skip the hour of a run, nothing exports its interval. Where they repeat it, two runs do.
func TestCoverageOnDaysOfClockChanges(t *testing.T) {
	for change, want := range map[time.Time]int{
		time.Date(2026, 3, 8, 5, 0, 0, 0, time.UTC): 1, time.Date(2026, 11, 1, 4, 0, 0, 0, time.UTC): 0, // midnights of Havana
	} {
		for _, interval := range []hogapi.Interval{hogapi.IntervalDay, hogapi.IntervalWeek} {
			server := hogapitest.New(hogapitest.WithClock(func() time.Time { return change.AddDate(0, 0, 10) }))
			p := server.Project(hogapitest.DefaultProject)
			id := p.AddExport(hogapitest.Export{Interval: interval, Timezone: "America/Havana", Created: change.AddDate(0, 0, -20), DestinationType: "BigQuery"})
			p.RunSchedule(id, nil)
			c, err := coverage.Of(t.Context(), server.Client(t), id, nil)
			require.NoError(t, err)
			states := map[coverage.State]int{}
			for _, x := range c.Intervals {
				states[x.State]++
			}
			assert.Equal(t, want, states[coverage.StateSkipped], c)
			assert.Equal(t, len(c.Intervals)-want, states[coverage.StateCompleted], c)
			assert.Len(t, p.Runs(id), len(c.Intervals)-want)
		}
	}
}

// A newer version may know other ways to choose rows and other statuses.
func TestCoverageSinceANewerVersion(t *testing.T) {
	server := hogapitest.New(hogapitest.WithClock(func() time.Time { return coverageNow }))
	id := exportOf(server.Project(hogapitest.DefaultProject), 100, hogapitest.Export{}, nil)
	since, err := coverage.Of(t.Context(), server.Client(t), id, nil)
	require.NoError(t, err)
	since.Intervals[0].Runs[0].Rows, since.Intervals[1].Runs[0].Status = "by_name", "Doubtful"
	since.Intervals[2].State = "doubtful"
	c, err := coverage.Of(t.Context(), server.Client(t), id, &coverage.Options{Since: since})
	require.NoError(t, err)
	assert.Equal(t, []string{"100 completed by timestamp"}, exceptCompleted(states(c)), "the run with an unknown status was read again")

	assert.Len(t, calendar.Outcomes, 10)
	for status := range calendar.Outcomes {
		assert.True(t, hogapi.RunStatus(status).IsKnown(), status)
	}
}

// Without the activity log, an interval that the runs do not explain is not called never scheduled.
func TestCoverageWithoutTheActivityLog(t *testing.T) {
	server := hogapitest.New(hogapitest.WithClock(func() time.Time { return coverageNow }), hogapitest.WithPersonalKey("phx_few", "batch_export:read"))
	p := server.Project(hogapitest.DefaultProject)
	id := exportOf(p, 20, hogapitest.Export{}, map[int]hogapi.RunStatus{15: "", 5: "", 2: ""})
	p.EditExport(id, coverageNow.Add(-210*time.Minute), func(x *hogapitest.Export) { x.Name = "renamed" })

	c, err := coverage.Of(t.Context(), server.Client(t), id, nil)
	require.NoError(t, err)
	assert.Equal(t, []string{"15 cannot tell", "5 cannot tell", "2 never scheduled"}, exceptCompleted(states(c)))
	require.Len(t, c.Notes, 2)
	assert.Contains(t, c.Notes[0], "The settings before 2026-11-26T08:50:00Z are unknown (the activity log cannot be read: status 403; it needs the scope activity_log:read")
}

// The log is read page by page. A time before the entries that were read is not guessed.
func TestCoverageWithALongActivityLog(t *testing.T) {
	for name, tt := range map[string]struct {
		page          string // size that the server takes
		entries, read int
		want          []string
		note          string
	}{
		"big pages":           {"1000", 2500, 3, []string{"40 never scheduled", "10 never scheduled"}, ""},
		"small pages":         {"100", 500, 6, []string{"40 never scheduled", "10 never scheduled"}, ""},
		"more than ten pages": {"100", 1000, 10, []string{"40 cannot tell", "10 never scheduled"}, "1000"},
	} {
		t.Run(name, func(t *testing.T) {
			server := hogapitest.New(hogapitest.WithClock(func() time.Time { return coverageNow }))
			pages := roundTrip(func(r *http.Request) (*http.Response, error) {
				r.URL.RawQuery = strings.Replace(r.URL.RawQuery, "page_size=1000", "page_size="+tt.page, 1)
				return server.Transport().RoundTrip(r)
			})
			project := server.Project(hogapitest.DefaultProject)
			id := exportOf(project, 50, hogapitest.Export{}, map[int]hogapi.RunStatus{40: "", 10: ""})
			for i := range tt.entries {
				at := coverageNow.Add(-20*time.Hour + time.Duration(i)*time.Second)
				project.EditExport(id, at, func(x *hogapitest.Export) { x.Name = fmt.Sprint("renamed ", i) })
			}
			client := server.Client(t, hogapi.WithHTTPClient(&http.Client{Transport: pages}))
			c, err := coverage.Of(t.Context(), client, id, nil)
			require.NoError(t, err)
			assert.Equal(t, tt.want, exceptCompleted(states(c)))
			assert.Len(t, server.Calls(ops.ActivityLog), tt.read)
			if notes := strings.Join(c.Notes, "\n"); tt.note != "" {
				assert.Contains(t, notes, "unknown (only the newest "+tt.note+" entries of the activity log are read): an earlier time without a run")
			} else {
				assert.NotContains(t, notes, "entries of the activity log")
			}
		})
	}
}

// A retry of an old interval chooses events by their timestamp, a retry of a young one as the schedule does.
func TestCoverageTellsHowRowsWereChosen(t *testing.T) {
	for name, tt := range map[string]struct {
		era   hogapitest.Era
		model hogapi.Model
		back  int // hours
		want  []string
	}{
		"young events":            {hogapitest.E4, hogapi.ModelEvents, 30, nil},
		"old events":              {hogapitest.E4, hogapi.ModelEvents, 150, []string{"150 completed by timestamp"}},
		"old persons":             {hogapitest.E4, hogapi.ModelPersons, 150, nil},
		"sessions":                {hogapitest.E4, hogapi.ModelSessions, 30, []string{"30 completed by timestamp"}},
		"a server without a line": {hogapitest.E1, hogapi.ModelEvents, 30, []string{"30 completed by timestamp"}},
		"a retry at once there":   {hogapitest.E1, hogapi.ModelEvents, 1, []string{"1 completed by timestamp"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := hogapitest.New(hogapitest.WithClock(func() time.Time { return coverageNow }), hogapitest.WithEra(tt.era), hogapitest.WithPolls(1))
			p := server.Project(hogapitest.DefaultProject)
			id := exportOf(p, 200, hogapitest.Export{Model: tt.model}, map[int]hogapi.RunStatus{tt.back: hogapi.RunStatusFailed})
			client := server.Client(t)
			failed := p.Runs(id)[200-tt.back]
			ticket, err := client.Runs.Retry(t.Context(), id, failed.ID, &hogapi.BackfillOptions{AcceptRowsByTimestamp: true})
			require.NoError(t, err)
			_, err = client.Backfills.Wait(t.Context(), ticket, &hogapi.WatchOptions{Interval: time.Millisecond})
			require.NoError(t, err)
			c, err := coverage.Of(t.Context(), client, id, nil)
			require.NoError(t, err)
			assert.Equal(t, tt.want, exceptCompleted(states(c)))
		})
	}
}

func TestCoverageReturnsErrorsOfItsCalls(t *testing.T) {
	for _, op := range []hogapi.Op{ops.BatchExportsGet, ops.RunsList, ops.ActivityLog} {
		server := hogapitest.New(hogapitest.WithClock(func() time.Time { return coverageNow }))
		id := exportOf(server.Project(hogapitest.DefaultProject), 5, hogapitest.Export{}, nil)
		server.Script(op, hogapitest.Status(http.StatusUnauthorized))
		c, err := coverage.Of(t.Context(), server.Client(t), id, nil)
		require.ErrorIs(t, err, hogapi.ErrUnauthorized, op)
		assert.Nil(t, c)
	}
	for name, tt := range map[string]struct {
		fault hogapitest.Fault
		want  error
	}{
		"no permission": {hogapitest.Status(http.StatusForbidden, `{"detail": "You don't have access to the project."}`), hogapi.ErrForbidden},
		"server":        {hogapitest.Status(http.StatusInternalServerError), nil},
	} {
		server := hogapitest.New(hogapitest.WithClock(func() time.Time { return coverageNow }))
		id := exportOf(server.Project(hogapitest.DefaultProject), 250, hogapitest.Export{}, nil)
		server.Script(ops.RunsList, hogapitest.Slow(0), tt.fault) // on the second page
		_, err := coverage.Of(t.Context(), server.Client(t, hogapi.WithRetryPolicy(hogapi.RetryPolicy{MaxTries: 1})), id, nil)
		if api := as[*hogapi.APIError](t, err); tt.want == nil {
			require.Equal(t, http.StatusInternalServerError, api.StatusCode, name)
		} else {
			require.ErrorIs(t, err, tt.want, name)
		}
		server.SetDown(true)
		_, err = coverage.Of(t.Context(), server.Client(t, hogapi.WithRetryPolicy(hogapi.RetryPolicy{MaxTries: 1})), id, nil)
		require.ErrorAs(t, err, new(*hogapi.TransportError), "dead network")
	}
	client := hogapitest.New().Client(t)
	_, err := coverage.Of(t.Context(), client, uuid.New(), nil)
	require.ErrorIs(t, err, hogapi.ErrNotFound)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = coverage.Of(ctx, client, uuid.New(), nil)
	require.ErrorIs(t, err, context.Canceled)
	for field, o := range map[string]coverage.Options{
		"Since": {Since: &coverage.Coverage{}}, "To": {From: coverageNow, To: coverageNow}, "Grace": {Grace: -1},
	} {
		_, err = coverage.Of(t.Context(), client, uuid.New(), &o)
		require.ErrorContains(t, err, "Options."+field)
	}
}

// An export that was made paused has no schedule yet, such as the second export of a repair: its intervals are no gaps.
func TestCoverageOfAnExportThatNeverRan(t *testing.T) {
	for name, change := range map[string]func(*hogapitest.Project, uuid.UUID){
		"made paused": func(*hogapitest.Project, uuid.UUID) {},
		"and renamed": func(p *hogapitest.Project, id uuid.UUID) {
			p.EditExport(id, coverageNow.Add(-time.Hour), func(x *hogapitest.Export) { x.Name = "b" })
		},
		"unpaused": func(p *hogapitest.Project, id uuid.UUID) {
			p.EditExport(id, coverageNow.Add(-30*time.Minute), func(x *hogapitest.Export) { x.Paused = false })
		},
		"unpaused, and paused again": func(p *hogapitest.Project, id uuid.UUID) {
			p.EditExport(id, coverageNow.Add(-30*time.Minute), func(x *hogapitest.Export) { x.Paused = false })
			p.EditExport(id, coverageNow.Add(-time.Minute), func(x *hogapitest.Export) { x.Paused = true })
		},
		"paused by a person": func(p *hogapitest.Project, id uuid.UUID) {
			p.EditExport(id, coverageNow.Add(-9*time.Hour), func(x *hogapitest.Export) { x.Paused = false })
			p.EditExport(id, coverageNow.Add(-8*time.Hour), func(x *hogapitest.Export) { x.Paused = true })
		},
	} {
		server := hogapitest.New(hogapitest.WithClock(func() time.Time { return coverageNow }))
		p := server.Project(hogapitest.DefaultProject)
		id := p.AddExport(hogapitest.Export{Name: "a", Paused: true, Created: coverageNow.Add(-10 * time.Hour), DestinationType: "BigQuery", Config: map[string]any{}})
		change(p, id)
		c, err := coverage.Of(t.Context(), server.Client(t), id, nil)
		require.NoError(t, err)
		assert.Equal(t, name == "paused by a person", len(c.Gaps()) > 0, "%s: %s", name, c)
		if plan, err := coverage.MakePlan(t.Context(), server.Client(t), c, nil); assert.NoError(t, err) {
			assert.Equal(t, len(c.Gaps()) == 0, len(plan.Steps) == 0, "%s: %s", name, plan)
		}
	}
}
