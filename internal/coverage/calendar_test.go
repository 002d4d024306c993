package coverage

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// boundary is the rule by which PostHog's own search for gaps steps through a schedule: align_timestamp_to_interval in
// service.py, and next_interval_boundary in the command backfill_batch_export_runs, which adds the interval and two hours
// and aligns again. It computes with the time that clocks show, as Python does.
type boundary struct {
	Schedule

	zone *time.Location
}

// shown returns the time that clocks show, as if it were UTC.
func (b boundary) shown(t time.Time) time.Time {
	_, offset := t.In(b.zone).Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// at returns the instant of a time that clocks show, with the offset from before a change, as Python's fold=0.
func (b boundary) at(shown time.Time) time.Time {
	_, offset := shown.Add(-26 * time.Hour).In(b.zone).Zone()
	first := shown.Add(-time.Duration(offset) * time.Second)
	if _, offset := first.In(b.zone).Zone(); b.shown(first).Equal(shown) || b.shown(shown.Add(-time.Duration(offset)*time.Second)) != shown {
		return first
	}
	_, offset = first.In(b.zone).Zone()
	return shown.Add(-time.Duration(offset) * time.Second)
}

func (b boundary) align(t time.Time) time.Time {
	if step, _ := Step(b.Interval); step <= time.Hour {
		return time.Unix(t.Unix()/int64(step/time.Second)*int64(step/time.Second), 0).UTC()
	}
	local := b.shown(t)
	start := time.Date(local.Year(), local.Month(), local.Day(), b.Hour, 0, 0, 0, time.UTC)
	if b.Interval == "week" {
		start = start.AddDate(0, 0, -((int(local.Weekday()) - int(b.Weekday) + 7) % 7))
	}
	if start.After(local) {
		start = start.AddDate(0, 0, map[string]int{"day": -1, "week": -7}[b.Interval])
	}
	return b.at(start)
}

// isShownOnce reports whether clocks show the hour of a bound at this time, and at no other time of its day.
func (b boundary) isShownOnce(t time.Time) bool {
	shown := b.shown(t)
	for _, near := range []time.Duration{-26 * time.Hour, 26 * time.Hour} {
		_, offset := shown.Add(near).In(b.zone).Zone()
		if other := shown.Add(-time.Duration(offset) * time.Second); !other.Equal(t) && b.shown(other).Equal(shown) {
			return false
		}
	}
	return shown.Truncate(day).Add(time.Duration(b.Hour) * time.Hour).Equal(shown)
}

func (b boundary) next(t time.Time) time.Time {
	step, _ := Step(b.Interval)
	if step <= time.Hour {
		return t.Add(step)
	}
	return b.align(t.Add(step + 2*time.Hour))
}

// The bounds of a thousand schedules equal the ones in PostHog's own search for gaps. Where clocks skip or repeat an
// hour, that search does not follow the scheduler, but the model of the other tests does.
func TestIntervalsAreThoseOfPostHog(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 30))
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Cairo"}
	compared, changed := 0, 0
	for range 1000 {
		s := Schedule{
			Interval: []string{"hour", "day", "week", "every 5 minutes", "every 15 minutes", "day", "week"}[random.IntN(7)],
			Timezone: zones[random.IntN(len(zones))], Hour: random.IntN(24), Weekday: time.Weekday(random.IntN(7)),
		}
		calendar, ok := s.Calendar()
		require.True(t, ok)
		zone, err := time.LoadLocation(s.Timezone)
		require.NoError(t, err)
		b := boundary{s, zone}
		begin := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC).Add(time.Duration(random.Int64N(int64(700 * day))))
		step, _ := Step(s.Interval)
		until := begin.Add(30 * step)
		start := b.align(begin)
		for _, x := range calendar.Intervals(begin, until) {
			end := b.next(start)
			if step > time.Hour && !(b.isShownOnce(x.Start) && b.isShownOnce(x.End)) {
				break
			}
			require.Equal(t, Span{start.UTC(), end.UTC()}, x, "%+v", s)
			compared++
			if x.length() != step {
				changed++
			}
			start = end
		}
	}
	assert.Greater(t, compared, 20_000)
	assert.Greater(t, changed, 150, "days of 23 and 25 hours")
}

// An hour that clocks repeat ends an interval twice. West of UTC, an evening is on the UTC day after, and its interval is there.
func TestEndsOfDays(t *testing.T) {
	at := func(day, hour int) time.Time { return time.Date(2026, 11, day, hour, 0, 0, 0, time.UTC) }
	for name, tt := range map[string]struct {
		hour         int
		after, until time.Time
		want         []Span
	}{
		"1:00 comes twice": {1, at(1, 4), at(2, 12), []Span{{at(0, 5), at(1, 5)}, {at(0, 5), at(1, 6)}, {at(1, 5), at(2, 6)}}},
		"23:00 of October": {23, at(1, 2), at(1, 4), []Span{{at(0, 3), at(1, 3)}}},
	} {
		calendar, ok := Schedule{Interval: "day", Timezone: "America/New_York", Hour: tt.hour}.Calendar()
		require.True(t, ok)
		assert.Equal(t, tt.want, calendar.Intervals(tt.after, tt.until), name)
	}
}

func TestACalendarOfAnUnknownSchedule(t *testing.T) {
	for _, s := range []Schedule{{Interval: "fortnight"}, {Interval: "day", Timezone: "Mars/Olympus"}} {
		_, ok := s.Calendar()
		assert.False(t, ok)
		h := History{Phases: []Phase{{From: noon, Settings: Settings{Schedule: s}}}, IsWhole: true}
		dues := h.Dues(hours(-5, 3), noon.Add(-5*time.Hour), []Span{hours(-5, -4), hours(0, 1)})
		assert.Equal(t, []Due{{hours(-5, -4), Expected}, {hours(-4, 0), Unknown}, {hours(0, 1), Expected}, {hours(1, 3), Unknown}}, dues)
	}
}

// A range that ends before the settings are known is unknown up to its end.
func TestARangeBeforeTheHistory(t *testing.T) {
	weekly := Settings{Schedule: Schedule{Interval: "week", Timezone: "UTC"}}
	h := History{Phases: []Phase{{From: noon.Add(90 * time.Hour), Settings: weekly}}}
	dues := h.Dues(hours(0, 4), noon.Add(-time.Hour), []Span{hours(0, 1), hours(1, 2)})
	assert.Equal(t, []Due{{hours(0, 1), Expected}, {hours(1, 2), Expected}, {hours(2, 4), Unknown}}, dues)
}

// The history goes back through the activity log, as far as its entries fit.
func TestHistoryFromTheLog(t *testing.T) {
	hourly := Settings{Schedule: Schedule{Interval: "hour", Timezone: "UTC"}}
	daily := Settings{Schedule: Schedule{Interval: "day", Timezone: "Europe/Berlin", Hour: 3}, Start: noon}
	weekly := Settings{Schedule: Schedule{Interval: "week", Timezone: "UTC", Hour: 3, Weekday: time.Tuesday}}
	paused := hourly
	paused.Paused = true
	at := func(hours int) time.Time { return noon.Add(time.Duration(hours) * time.Hour) }
	entry := func(hours int, text string) (e Entry) {
		require.NoError(t, json.Unmarshal([]byte(text), &e))
		e.At = at(hours)
		return e
	}
	change := func(hours int, field, before, after string) Entry {
		return entry(hours, `{"created_at": "2024-03-01T12:00:00Z", "activity": "updated", "detail": {"changes": [{"field": "`+field+`", "before": `+before+`, "after": `+after+`}]}}`)
	}
	created := entry(0, `{"created_at": "2024-03-01T12:00:00Z", "activity": "created", "detail": {"changes": null}}`)
	for name, tt := range map[string]struct {
		now     Settings
		changed int
		log     []Entry
		want    History
	}{
		"no log, never changed":    {hourly, 0, nil, History{Phases: []Phase{{From: at(0), Settings: hourly}}, IsWhole: true}},
		"no log, changed":          {hourly, 9, nil, History{Phases: []Phase{{From: at(9), Settings: hourly}}}},
		"created only":             {hourly, 9, []Entry{created}, History{Phases: []Phase{{From: at(0), Settings: hourly}}, IsWhole: true}},
		"a pause":                  {hourly, 5, []Entry{created, change(3, "paused", "false", "true"), change(5, "paused", "true", "false")}, History{Phases: []Phase{{From: at(0), Settings: hourly}, {From: at(3), Settings: paused}, {From: at(5), Settings: hourly}}, IsWhole: true}},
		"another field":            {hourly, 5, []Entry{change(5, "name", `"a"`, `"b"`)}, History{Phases: []Phase{{From: at(5), Settings: hourly}}}},
		"a pause as of 2025":       {hourly, 5, []Entry{created, change(3, "enabled", "false", "true"), change(5, "enabled", "true", "false")}, History{Phases: []Phase{{From: at(0), Settings: hourly}, {From: at(3), Settings: paused}, {From: at(5), Settings: hourly}}, IsWhole: true}},
		"a part of the log":        {hourly, 5, []Entry{change(5, "paused", "true", "false")}, History{Phases: []Phase{{From: at(5), Settings: hourly}}}},
		"an entry that cannot be":  {hourly, 5, []Entry{created, change(3, "paused", "true", "false"), change(5, "paused", "true", "false")}, History{Phases: []Phase{{From: at(3), Settings: paused}, {From: at(5), Settings: hourly}}}},
		"an entry of another kind": {hourly, 5, []Entry{created, change(5, "paused", "7", "false")}, History{Phases: []Phase{{From: at(5), Settings: hourly}}}},
		"a new schedule": {daily, 5, []Entry{created, entry(5, `{"created_at": "2024-03-01T12:00:00Z", "activity": "updated", "detail": {"changes": [
			{"field": "interval", "before": "hour", "after": "day"}, {"field": "timezone", "before": "UTC", "after": "Europe/Berlin"},
			{"field": "interval_offset", "before": null, "after": 10800}, {"field": "start_at", "after": "2024-03-01T12:00:00Z"}]}}`)},
			History{Phases: []Phase{{From: at(0), Settings: hourly}, {From: at(5), Settings: daily}}, IsWhole: true}},
		"a week": {weekly, 5, []Entry{created, change(5, "interval_offset", "0", "183600")}, History{Phases: []Phase{{From: at(0), Settings: func() Settings {
			s := weekly
			s.Hour, s.Weekday = 0, 0
			return s
		}()}, {From: at(5), Settings: weekly}}, IsWhole: true}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, tt.want, NewHistory(tt.now, at(0), at(tt.changed), tt.log))
		})
	}
}

// A run of the schedule that the settings do not explain proves that the settings before it are not known.
func TestARunProvesAHistoryWrong(t *testing.T) {
	h := History{Phases: []Phase{{From: noon, Settings: Settings{Schedule: Schedule{Interval: "hour"}}}}, IsWhole: true}
	dues := h.Dues(hours(0, 6), noon, []Span{hours(0, 1), minutes(105, 135), hours(4, 5)})
	assert.Equal(t, []Due{
		{hours(0, 1), Expected}, {minutes(60, 105), Unknown}, {minutes(105, 135), Expected}, {hours(2, 3), Expected}, {hours(3, 4), Expected}, {hours(4, 5), Expected}, {hours(5, 6), Expected},
	}, dues)
}

// A pause before the time since which the settings are known is still a pause.
func TestAPauseBeforeARunThatDoesNotFit(t *testing.T) {
	t.Parallel()
	hourly := Settings{Schedule: Schedule{Interval: "hour"}}
	paused := hourly
	paused.Paused = true
	h := History{Phases: []Phase{{From: hour(0), Settings: hourly}, {From: hour(5), Settings: paused}, {From: hour(9), Settings: hourly}}, IsWhole: true, Paused: hour(5)}
	scheduled := []Span{{hour(4), hour(5)}, {hour(9), hour(10)}, {hour(10), hour(11).Add(time.Minute)}}
	dues := h.Dues(Span{hour(4), hour(13)}, hour(0), scheduled)
	assert.Contains(t, dues, Due{Span{hour(5), hour(9)}, WasPaused})
}

// A pause soon after another edit stops a run that is late, as a pause alone does.
func TestAPauseSoonAfterAnEdit(t *testing.T) {
	t.Parallel()
	hourly := Settings{Schedule: Schedule{Interval: "hour"}}
	edited := Settings{Schedule: Schedule{Interval: "hour", Timezone: "Asia/Kolkata"}}
	paused := edited
	paused.Paused = true
	at := func(minutes int) time.Time { return hour(5).Add(time.Duration(minutes) * time.Minute) }
	h := History{Phases: []Phase{{From: hour(0), Settings: hourly}, {From: at(7), Settings: edited}, {From: at(9), Settings: paused}}, IsWhole: true, Paused: at(9)}
	dues := h.Dues(Span{hour(3), hour(6)}, hour(0), nil)
	assert.Contains(t, dues, Due{Span{hour(3), hour(4)}, Expected})
	assert.Contains(t, dues, Due{Span{hour(4), hour(5)}, WasPaused})
}

func TestHasIntervalPlaceholders(t *testing.T) {
	assert.True(t, HasIntervalPlaceholders(""))
	assert.True(t, HasIntervalPlaceholders("SELECT 1 WHERE timestamp < { data_interval_end }"))
	assert.False(t, HasIntervalPlaceholders("SELECT 1"))
}

// Without a zone, Temporal counts weeks from 1 January 1970, a Thursday, and days from midnight of UTC.
func TestWeeksWithoutAZone(t *testing.T) {
	from := time.Date(2024, 3, 4, 0, 0, 0, 0, time.UTC)
	for interval, want := range map[string][]Span{
		"week": {{from.AddDate(0, 0, -4), from.AddDate(0, 0, 3)}, {from.AddDate(0, 0, 3), from.AddDate(0, 0, 10)}},
		"day":  {{from, from.AddDate(0, 0, 1)}},
	} {
		c, ok := Schedule{Interval: interval}.Calendar()
		require.True(t, ok)
		assert.Equal(t, want, c.Intervals(from, from.AddDate(0, 0, 1+9*(len(want)-1))), interval)
	}
}
