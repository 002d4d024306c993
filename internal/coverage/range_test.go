package coverage

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestBounds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Bound{
		`"2024-05-01"`:           Date(time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC)),
		`"2024-05-01T10:00:00Z"`: Instant(time.Date(2024, 5, 1, 12, 0, 0, 0, time.FixedZone("", 7200))),
		`null`:                   Beginning(),
	} {
		written, err := json.Marshal(want)
		require.NoError(t, err)
		assert.Equal(t, text, string(written))
		var got Bound
		require.NoError(t, json.Unmarshal([]byte(text), &got))
		assert.Equal(t, want, got)
	}
	assert.True(t, Instant(time.Time{}).IsUnset())
	_, err := Bound{}.MarshalJSON()
	require.ErrorContains(t, err, "unset")
	for year, isFine := range map[int]bool{-1: false, 0: true, 9999: true, 10000: false} {
		_, err = Date(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)).MarshalJSON()
		if isFine {
			require.NoError(t, err, year)
		} else {
			require.ErrorContains(t, err, "four digits", year)
		}
	}
	require.ErrorContains(t, new(Bound).UnmarshalJSON([]byte(`"soon"`)), "a date, an RFC 3339 time or null")
}

func TestRangesThatMeanNothing(t *testing.T) {
	t.Parallel()
	day := Date(time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC))
	next := Date(day.Time().AddDate(0, 0, 1))
	at := Instant(day.Time().Add(time.Hour))
	noDay := CalendarDate(2025, time.February, 30)
	for _, r := range []Range{{day, next}, {Beginning(), day}, {Beginning(), at}, {Instant(day.Time()), at}} {
		assert.Nil(t, r.Check(), "%v", r)
	}
	for field, ranges := range map[string][]Range{
		"Start": {{}, {End: day}, {noDay, day}, {CalendarDate(2025, 13, 45), day}},
		"End":   {{Start: day}, {day, Beginning()}, {day, at}, {at, next}, {day, day}, {next, day}, {day, noDay}},
	} {
		for _, r := range ranges {
			refusal := r.Check()
			require.NotNil(t, refusal, "%v", r)
			assert.Equal(t, field, refusal.Field, "%v", r)
		}
	}
}

func TestScheduleMakesRanges(t *testing.T) {
	t.Parallel()
	from := time.Date(2024, 3, 4, 5, 0, 0, 0, time.UTC) // a Monday
	hourly, weekly := Schedule{Interval: "hour"}, Schedule{Interval: "week", Timezone: "UTC", Hour: 5, Weekday: time.Monday}
	r, refusal := hourly.Range(from, from.Add(3*time.Hour))
	require.Nil(t, refusal)
	assert.Equal(t, Range{Instant(from), Instant(from.Add(3 * time.Hour))}, r)
	r, refusal = weekly.Range(from, from.AddDate(0, 0, 14))
	require.Nil(t, refusal)
	assert.Equal(t, "2024-03-04 2024-03-18", r.Start.String()+" "+r.End.String())
	for want, tt := range map[string]struct {
		Schedule
		from, to time.Time
	}{
		"the oldest data":        {hourly, time.Time{}, from},
		"a time":                 {hourly, from, time.Time{}},
		"later than from":        {hourly, from, from},
		"of known length":        {Schedule{Interval: "fortnight"}, from, from.Add(time.Hour)},
		"drops a shorter rest":   {hourly, from, from.Add(90 * time.Minute)},
		"that this machine know": {Schedule{Interval: "day", Timezone: "Mars/Olympus"}, from, from.AddDate(0, 0, 1)},
		"a Monday, 05:00 in UTC": {weekly, from.AddDate(0, 0, 1), from.AddDate(0, 0, 14)},
	} {
		got, refusal := tt.Range(tt.from, tt.to)
		require.NotNil(t, refusal, want)
		assert.Contains(t, refusal.Want, want)
		assert.Equal(t, Range{}, got)
	}
}

func TestCheckOffsets(t *testing.T) {
	t.Parallel()
	for interval, want := range map[string][2]bool{ // whether a day and an hour are refused
		"week": {false, false}, "day": {true, false}, "hour": {true, true}, "every 5 minutes": {true, true}, "every 15 minutes": {true, true},
		"": {false, false}, "fortnight": {false, false},
	} {
		assert.Equal(t, want[0], CheckOffsets(interval, true, false) != nil, interval)
		assert.Equal(t, want[1], CheckOffsets(interval, false, true) != nil, interval)
		assert.Nil(t, CheckOffsets(interval, false, false), interval)
	}
}

// A range between the boundaries of the schedule is refused, with the boundaries before and after.
func TestRangesNameTheNextBoundaries(t *testing.T) {
	t.Parallel()
	from := time.Date(2024, 3, 4, 5, 0, 0, 0, time.UTC)
	hourly := Schedule{Interval: "hour"}
	_, refusal := hourly.Range(from.Add(10*time.Minute), from.Add(70*time.Minute))
	require.NotNil(t, refusal)
	assert.Equal(t, "from", refusal.Field)
	assert.Contains(t, refusal.Want, "such as 2024-03-04T05:00:00Z or 2024-03-04T06:00:00Z")
	_, refusal = hourly.Range(from, from.Add(70*time.Minute))
	require.NotNil(t, refusal)
	assert.Equal(t, "to", refusal.Field)
	assert.Contains(t, refusal.Want, "such as 2024-03-04T06:00:00Z or 2024-03-04T07:00:00Z")
	_, refusal = Schedule{Interval: "every 7 minutes"}.Range(from.Add(time.Minute), from.Add(8*time.Minute))
	assert.Nil(t, refusal, "no boundaries are known of a length that does not divide the hour")
}
