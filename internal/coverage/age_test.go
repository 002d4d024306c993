package coverage

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestAgeLines(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	ended := func(days float64, length time.Duration) Span {
		end := now.Add(-time.Duration(days * float64(day)))
		return Span{end.Add(-length), end}
	}
	for name, tt := range map[string]struct {
		line AgeLine
		of   Span
		want bool
	}{
		"an hour, on the line":       {AgeLineAnywhere, ended(5, time.Hour), false},
		"an hour, past it":           {AgeLineAnywhere, ended(5.001, time.Hour), true},
		"a day, on the line":         {AgeLineAnywhere, ended(5, day), false},
		"a day, past it":             {AgeLineAnywhere, ended(5.001, day), true},
		"a week ended just now":      {AgeLineAnywhere, ended(0.01, 7*day), true},
		"an hour of the cloud":       {AgeLineOfCloud, ended(6, time.Hour), false},
		"a day of the cloud":         {AgeLineOfCloud, ended(8, day), true},
		"a week of the cloud":        {AgeLineOfCloud, ended(0.9, 7*day), false},
		"an older week of the cloud": {AgeLineOfCloud, ended(1.1, 7*day), true},
		"the beginning of time":      {AgeLineOfCloud, Span{End: now}, true},
		"a length that is not known": {AgeLineAnywhere, ended(4.9, 0), false},
		"no line at all":             {math.MaxInt64, ended(9000, time.Hour), false},
		"a server without a line":    {AgeLineNone, ended(0.01, time.Hour), true},
	} {
		assert.Equal(t, tt.want, tt.line.IsPast(tt.of, now), name)
	}
}

func TestTheFirstIntervalOfARange(t *testing.T) {
	date := time.Date(2026, 11, 2, 0, 0, 0, 0, time.UTC)
	berlin := Schedule{Interval: "week", Timezone: "Europe/Berlin", Hour: 3, Weekday: time.Monday}
	begin := date.Add(2 * time.Hour)
	assert.Equal(t, Span{begin, begin.Add(7 * day)}, berlin.First(Range{Date(date), Date(date.Add(7 * day))}))
	hourly := Schedule{Interval: "hour"}
	assert.Equal(t, Span{begin, begin.Add(time.Hour)}, hourly.First(Range{Start: Instant(begin)}))
	assert.Equal(t, Span{begin, begin}, Schedule{Interval: "fortnight"}.First(Range{Start: Instant(begin)}))
	assert.Equal(t, Span{}, hourly.First(Range{Start: Beginning()}))
}

func TestARefusalNamesTheEffectOfAnOldBackfill(t *testing.T) {
	now := time.Date(2026, 11, 24, 12, 0, 0, 0, time.UTC)
	old := Begin{Events: true, First: Span{End: now}, Requested: now}
	for want, change := range map[string]func(*Begin){
		"an interval that ended in the last 7 days, or":           func(*Begin) {},
		"a week whose first day ended in the last 7 days":         func(b *Begin) { b.Weekly = true },
		"(or unpause without a backfill":                          func(b *Begin) { b.Unpaused = true },
		"the part after 2026-11-17T12:00:00Z":                     func(b *Begin) { b.End = now },
		"and the new objects replace the old ones":                func(b *Begin) { b.Destination = "AzureBlob" },
		"and workflows act on all others again":                   func(b *Begin) { b.Destination = "Workflows" },
		"and all others are sent again":                           func(b *Begin) { b.Destination = "HTTP" },
		"late events are left out, and all others are duplicated": func(b *Begin) { b.Destination = "BigQuery" },
	} {
		b := old
		change(&b)
		refusal := AgeLineOfCloud.Refuse(b)
		assert.Contains(t, refusal.Want, want)
		assert.Equal(t, "beginning", refusal.Value)
	}
	assert.Contains(t, AgeLineNone.Refuse(old).Want, "a server that keeps records of backfills, or")
	old.Events = false
	assert.Nil(t, AgeLineOfCloud.Refuse(old), "other models are not chosen by timestamp")
	assert.Nil(t, AgeLineOfCloud.Refuse(Begin{Events: true, First: Span{now.Add(-day), now}, Requested: now}))
}
