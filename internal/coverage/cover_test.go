package coverage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestCover(t *testing.T) {
	t.Parallel()
	hourly := Schedule{Interval: "hour", Timezone: "UTC"}
	century := Span{End: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	done := func(spans ...Span) (runs []Ran) {
		for _, x := range spans {
			runs = append(runs, Ran{x, true, true})
		}
		return runs
	}
	for name, tt := range map[string]struct {
		asked    Asked
		runs     []Ran
		parts    []Part
		progress float64
	}{
		"nothing ran":                        {Asked{Span: hours(0, 6)}, nil, []Part{{hours(0, 6), WhyNoRun}}, 0},
		"covered":                            {Asked{Span: hours(0, 3)}, done(hours(2, 3), hours(0, 1), hours(1, 2)), nil, 1},
		"covered, overlapping":               {Asked{Span: hours(0, 3)}, done(hours(-1, 2), hours(0, 1), hours(1, 4)), nil, 1},
		"at both ends":                       {Asked{Span: hours(0, 4)}, done(hours(1, 2), hours(2, 3)), []Part{{hours(0, 1), WhyNoRun}, {hours(3, 4), WhyNoRun}}, 0.5},
		"each reason":                        {Asked{Span: minutes(0, 330), Schedule: hourly, DataStart: hours(1, 1).Start, ByArrival: true}, []Ran{{hours(1, 2), true, true}, {hours(2, 3), false, false}, {hours(3, 4), true, false}}, []Part{{hours(0, 1), WhyLeftOut}, {hours(2, 3), WhyRunning}, {hours(3, 4), WhyIncomplete}, {hours(4, 5), WhyNoRun}, {minutes(300, 330), WhyRest}}, 2. / 5.5},
		"empty":                              {Asked{Span: hours(0, 3), DataStart: hours(2, 2).Start}, done(hours(2, 3)), []Part{{hours(0, 2), WhyEmpty}}, 1},
		"a rest of old servers":              {Asked{Span: minutes(10, 150), Schedule: Schedule{Interval: "hour"}}, done(minutes(10, 70), minutes(70, 130)), []Part{{minutes(130, 150), WhyRest}}, 120. / 140},
		"a pause":                            {Asked{Span: minutes(10, 150), Schedule: hourly, OfPause: true}, done(hours(0, 1), hours(1, 2)), nil, 1},
		"a pause in an hour":                 {Asked{Span: minutes(10, 50), Schedule: hourly, OfPause: true}, nil, nil, 1},
		"a pause, half run":                  {Asked{Span: minutes(10, 150), Schedule: hourly, OfPause: true}, done(hours(1, 2)), []Part{{hours(0, 1), WhyNoRun}}, 0.5},
		"less than an interval":              {Asked{Span: minutes(10, 50), Schedule: hourly}, nil, []Part{{minutes(10, 50), WhyRest}}, 0},
		"a retry, without end":               {Asked{Span: Span{Start: noon}}, done(hours(0, 1)), []Part{{Span{Start: noon}, WhyNoRun}}, 0},
		"that ran":                           {Asked{Span: Span{Start: noon}}, done(Span{Start: noon}), nil, 1},
		"that failed":                        {Asked{Span: Span{Start: noon}}, []Ran{{Span{Start: noon}, true, false}}, []Part{{Span{Start: noon}, WhyIncomplete}}, 1},
		"from the beginning":                 {Asked{Span: century, Schedule: hourly}, nil, []Part{{century, WhyNoRun}}, 0},
		"from it, covered":                   {Asked{Span: century, Schedule: hourly}, done(century), nil, 1},
		"millennia":                          {Asked{Span: Span{year(1000), year(3000)}}, done(Span{year(1900), year(1901)}), []Part{{Span{year(1000), year(1900)}, WhyNoRun}, {Span{year(1901), year(3000)}, WhyNoRun}}, 0},
		"data beyond the end":                {Asked{Span: hours(0, 1), DataStart: hours(9, 9).Start}, nil, []Part{{hours(0, 1), WhyEmpty}}, 1},
		"a run that is shown without an end": {Asked{Span: hours(0, 1)}, done(Span{Start: noon}), []Part{{hours(0, 1), WhyNoRun}}, 0},
	} {
		parts := tt.asked.Cover(tt.runs)
		assert.Equal(t, tt.parts, parts, name)
		assert.InDelta(t, tt.progress, tt.asked.Progress(parts), 1e-6, name)
	}
}

func TestWholeIntervals(t *testing.T) {
	t.Parallel()
	utc := func(day, hour int) time.Time { return time.Date(2026, 3, day, hour, 0, 0, 0, time.UTC) }
	berlin := Schedule{Interval: "day", Timezone: "Europe/Berlin", Hour: 5}
	for _, tt := range []struct {
		schedule   Schedule
		from, to   time.Time
		start, end time.Time
	}{
		{berlin, utc(27, 0), utc(28, 0), utc(26, 4), utc(27, 4)},
		{berlin, utc(27, 4), utc(30, 3), utc(27, 4), utc(30, 3)}, // clocks go forward on the 29th
		{berlin, utc(28, 4), utc(29, 3), utc(28, 4), utc(29, 3)},
		{Schedule{Interval: "week", Timezone: "UTC", Weekday: time.Monday, Hour: 1}, utc(3, 0), utc(16, 1), utc(2, 1), utc(16, 1)},
		{Schedule{Interval: "week"}, utc(3, 5), utc(12, 0), utc(3, 5), utc(10, 5)},
		{Schedule{Interval: "every 15 minutes", Timezone: "UTC"}, utc(3, 5).Add(time.Minute), utc(3, 6).Add(time.Minute), utc(3, 5), utc(3, 6)},
	} {
		whole, ok := tt.schedule.Whole(Span{tt.from, tt.to})
		assert.True(t, ok)
		assert.Equal(t, Span{tt.start, tt.end}, whole, "%v", tt)
	}
	_, ok := Schedule{Interval: "fortnight", Timezone: "UTC"}.Whole(hours(0, 1))
	assert.False(t, ok)
	_, ok = Schedule{Interval: "day", Timezone: "Mars"}.Whole(hours(0, 1))
	assert.False(t, ok)
}
