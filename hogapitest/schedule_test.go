package hogapitest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// Three failures in the window pause an export and cancel its backfills; before E3 it takes ten among 50. Runs that failed for
// the plan's limit do not count.
func TestFailuresPauseASchedule(t *testing.T) {
	for _, tt := range []struct {
		era    hogapitest.Era
		status hogapi.RunStatus
		failed int // runs until the pause; 0 for no pause
	}{{hogapitest.E4, "Failed", 3}, {hogapitest.E3, "Failed", 3}, {hogapitest.E2, "Failed", 10}, {hogapitest.E4, "FailedBilling", 0}} {
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
		bounds := hogapi.BackfillRange{Start: hogapi.At(now.Add(-20 * time.Hour)), End: hogapi.At(now.Add(-10 * time.Hour))}
		_, err := client.BatchExports.Backfill(t.Context(), export, bounds, nil)
		require.NoError(t, err)
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
		want := hogapi.RunStatus("Starting")
		if tt.failed > 0 {
			want = "Cancelled"
		}
		assert.Equal(t, want, project.Backfills(export)[0].Status, tt)
	}
}

// A run begins a little after its interval: at a time of the export's own, which newer servers bound more narrowly.
func TestJitter(t *testing.T) {
	for _, tt := range []struct {
		era      hogapitest.Era
		interval hogapi.Interval
		least    time.Duration
		most     time.Duration
	}{
		{hogapitest.E4, "hour", time.Minute, 16 * time.Minute}, {hogapitest.E4, "every 5 minutes", 30 * time.Second, 90 * time.Second},
		{hogapitest.E4, "day", time.Minute, 21 * time.Minute}, {hogapitest.E3, "day", time.Minute, 61 * time.Minute},
		{hogapitest.E4, "week", time.Minute, 31 * time.Minute}, {hogapitest.E3, "week", time.Minute, 24*time.Hour + time.Minute},
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

// A schedule runs by the server's clock, with a delay; three failures pause it.
func TestASchedule(t *testing.T) {
	now := time.Date(2026, 3, 28, 12, 0, 0, 0, time.UTC)
	server := hogapitest.New(hogapitest.WithClock(func() time.Time { return now }))
	project := server.Project(hogapitest.DefaultProject)
	client := server.Client(t)
	hourly := project.AddExport(hogapitest.Export{Created: now.Add(-10*time.Hour - time.Minute)})
	failing := false
	project.RunSchedule(hourly, func(start, _ time.Time) (hogapitest.Outcome, bool) {
		if failing {
			return hogapitest.Outcome{Status: "Failed", Error: "no bucket"}, true
		}
		return hogapitest.Outcome{}, start.Hour() != 5
	})
	daily := project.AddExport(hogapitest.Export{Interval: "day", Timezone: "Europe/Berlin", Created: now})
	project.RunSchedule(daily, nil)

	now = now.Add(20 * time.Minute)
	page, err := client.Runs.List(t.Context(), hourly, nil)
	require.NoError(t, err)
	assert.Len(t, page.Results, 10, "of eleven intervals, one never began")
	for _, run := range page.Results {
		late := run.CreatedAt.Sub(run.DataIntervalEnd)
		assert.True(t, late >= 30*time.Second && late < 16*time.Minute, late)
		assert.Equal(t, hogapi.RunStatusCompleted, run.Status)
	}
	coverage, err := client.BatchExports.Coverage(t.Context(), hourly, nil)
	require.NoError(t, err)
	require.Len(t, coverage.Gaps(), 1)
	assert.Equal(t, []hogapi.IntervalState{hogapi.IntervalNeverScheduled}, coverage.Gaps()[0].States)

	failing = true
	now = now.Add(10 * time.Hour)
	coverage, err = client.BatchExports.Coverage(t.Context(), hourly, nil)
	require.NoError(t, err)
	last := coverage.Gaps()[1]
	assert.Equal(t, []hogapi.IntervalState{hogapi.IntervalFailed, hogapi.IntervalPaused}, last.States)
	assert.Equal(t, 10, last.Intervals)
	export, err := client.BatchExports.Get(t.Context(), hourly)
	require.NoError(t, err)
	assert.True(t, export.Paused)

	now = now.Add(73 * time.Hour) // over a day of 23 hours
	coverage, err = client.BatchExports.Coverage(t.Context(), daily, nil)
	require.NoError(t, err)
	assert.True(t, coverage.IsExported(), coverage)
	assert.Len(t, coverage.Intervals, 4)
}
