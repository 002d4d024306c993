package hogapitest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

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
