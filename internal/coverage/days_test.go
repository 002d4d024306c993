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
			for i := range 366 { // includes changes of clocks
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

// Where clocks skip or repeat an hour, a day begins as in Python: its datetime uses the offset from
// before unless fold is set.
func TestDaysBeginAtTheirFirstInstant(t *testing.T) {
	for _, tt := range []struct {
		zone, date string
		hour       int
		want       string
	}{
		{"America/Santiago", "2026-09-06", 0, "2026-09-06T04:00:00Z"}, // no midnight
		{"America/Havana", "2026-03-08", 0, "2026-03-08T05:00:00Z"},
		{"Asia/Beirut", "2026-03-29", 0, "2026-03-28T22:00:00Z"},
		{"America/Scoresbysund", "2026-03-28", 23, "2026-03-29T01:00:00Z"}, // the hour before midnight is skipped
		{"Europe/Berlin", "2026-03-29", 2, "2026-03-29T01:00:00Z"},
		{"America/Havana", "2026-11-01", 0, "2026-11-01T04:00:00Z"}, // two midnights
		{"Europe/Berlin", "2026-10-25", 2, "2026-10-25T00:00:00Z"},
		{"America/New_York", "2026-11-01", 1, "2026-11-01T05:00:00Z"},
		{"Europe/Berlin", "2026-10-25", 3, "2026-10-25T02:00:00Z"},
		{"Pacific/Apia", "2011-12-30", 0, "2011-12-30T10:00:00Z"}, // no such day
		{"Asia/Kathmandu", "2026-11-24", 0, "2026-11-23T18:15:00Z"},
	} {
		zone, err := time.LoadLocation(tt.zone)
		require.NoError(t, err)
		date, err := time.Parse(time.DateOnly, tt.date)
		require.NoError(t, err)
		days := Days{Zone: zone, Hour: tt.hour}
		begin := days.Begin(date)
		assert.Equal(t, tt.want, begin.Format(time.RFC3339), "%s %s", tt.zone, tt.date)
		found, ok := days.DateOf(begin)
		assert.True(t, ok)
		assert.Equal(t, begin, days.Begin(found))
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
