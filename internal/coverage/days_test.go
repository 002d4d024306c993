package coverage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestDaysAreFoundAgain(t *testing.T) {
	for _, name := range []string{"UTC", "Europe/Berlin", "Africa/Cairo", "America/Santiago", "Asia/Kathmandu"} {
		zone, err := time.LoadLocation(name)
		require.NoError(t, err)
		for _, hour := range []int{0, 2, 23} {
			days := Days{Zone: zone, Hour: hour}
			for i := range 366 { // also over the changes of clocks
				date := time.Date(2024, 1, 1+i, 0, 0, 0, 0, time.UTC)
				got, ok := days.DateOf(days.Begin(date))
				require.True(t, ok, "%s of %v", days, date)
				require.Equal(t, date, got)
				_, ok = days.DateOf(days.Begin(date).Add(time.Minute))
				require.False(t, ok)
			}
		}
	}
}

func TestWeeksBeginOnTheirDay(t *testing.T) {
	weeks := Days{Zone: time.UTC, Hour: 5, Weekday: time.Monday, Weekly: true}
	monday := time.Date(2024, 3, 4, 0, 0, 0, 0, time.UTC)
	date, ok := weeks.DateOf(monday.Add(5 * time.Hour))
	assert.True(t, ok)
	assert.Equal(t, monday, date)
	_, ok = weeks.DateOf(monday.Add(29 * time.Hour))
	assert.False(t, ok, "a Tuesday")
	assert.Equal(t, "a Monday, 05:00 in UTC, where a week of this export begins", weeks.String())
	weeks.Weekly = false
	assert.Equal(t, "05:00 in UTC, where a day of this export begins", weeks.String())
}

func TestStep(t *testing.T) {
	for interval, want := range map[string]time.Duration{
		"hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour, "every 5 minutes": 5 * time.Minute,
		"every 30 minutes": 30 * time.Minute, "every 0 minutes": 0, "every -5 minutes": 0, "fortnight": 0, "": 0,
		"every 200000000 minutes": 0, "every 4611686018427387904 minutes": 0,
	} {
		step, ok := Step(interval)
		assert.Equal(t, want > 0, ok, interval)
		assert.Equal(t, want, step, interval)
	}
}
