package coverage

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

var noon = time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)

func hours(from, to int) Span {
	return Span{noon.Add(time.Duration(from) * time.Hour), noon.Add(time.Duration(to) * time.Hour)}
}

func minutes(from, to int) Span {
	return Span{noon.Add(time.Duration(from) * time.Minute), noon.Add(time.Duration(to) * time.Minute)}
}

func TestSpanHolds(t *testing.T) {
	endless := Span{Start: noon}
	for _, tc := range []struct {
		x, y Span
		want bool
	}{
		{hours(0, 6), hours(0, 6), true},
		{hours(0, 6), hours(0, 1), true},
		{hours(0, 6), hours(5, 6), true},
		{hours(0, 6), hours(5, 7), false},
		{hours(1, 6), hours(0, 2), false},
		{Span{End: noon}, hours(-5, 0), true},
		{hours(-5, 0), Span{End: noon}, false},
		{endless, endless, true},
		{hours(0, 6), endless, false},
		{endless, hours(0, 1), false},
	} {
		assert.Equal(t, tc.want, tc.x.Holds(tc.y), "%v, %v", tc.x, tc.y)
	}
}

func TestSpanKeepsMicrosecondsInUTC(t *testing.T) {
	x := NewSpan(noon.Add(1234).In(time.FixedZone("", 3600)), noon.Add(time.Hour+5999))
	assert.Equal(t, Span{noon.Add(1000), noon.Add(time.Hour + 5000)}, x)
	assert.Equal(t, Span{}, NewSpan(time.Time{}, time.Time{}))
}

func TestGap(t *testing.T) {
	century := Span{End: time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)}
	for name, tc := range map[string]struct {
		whole     Span
		intervals []Span
		size      time.Duration
		hull      Span
	}{
		"nothing ran":          {hours(0, 6), nil, 6 * time.Hour, hours(0, 6)},
		"covered":              {hours(0, 3), []Span{hours(0, 1), hours(1, 2), hours(2, 3)}, 0, Span{}},
		"covered, overlapping": {hours(0, 3), []Span{hours(-1, 2), hours(0, 1), hours(1, 4)}, 0, Span{}},
		"at the start":         {hours(0, 3), []Span{hours(1, 2), hours(2, 3)}, time.Hour, hours(0, 1)},
		"at the end":           {hours(0, 3), []Span{hours(0, 1), hours(1, 2)}, time.Hour, hours(2, 3)},
		"two openings":         {hours(0, 6), []Span{hours(1, 2), hours(2, 3), hours(5, 6)}, 3 * time.Hour, hours(0, 5)},
		"a rest is no gap":     {minutes(0, 150), []Span{hours(0, 1), hours(1, 2)}, 0, Span{}},
		"the shortest decides": {minutes(0, 210), []Span{hours(0, 1), minutes(60, 180)}, 0, Span{}},
		"and not the longest":  {minutes(0, 240), []Span{hours(0, 1), minutes(60, 180)}, time.Hour, hours(3, 4)},
		"without an end":       {Span{Start: noon}, []Span{hours(0, 1)}, 1, Span{Start: noon}},
		"that ran":             {Span{Start: noon}, []Span{{Start: noon}}, 0, Span{}},
		"from the beginning":   {century, nil, century.length(), century},
		"from it, covered":     {century, []Span{century}, 0, Span{}},
	} {
		t.Run(name, func(t *testing.T) {
			assert.Equal(t, Gap{tc.size, tc.hull}, gapOf(tc.whole, tc.intervals))
		})
	}
}

// The sum of very long gaps does not become negative.
func TestGapOfCenturies(t *testing.T) {
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	g := gapOf(Span{year(1000), year(3000)}, []Span{{year(1900), year(1901)}})
	assert.Positive(t, g.Size)
	assert.Equal(t, Span{year(1000), year(3000)}, g.Hull)
}

func TestSeen(t *testing.T) {
	seen := Seen{}
	assert.True(t, seen.First(NewSpan(hour(0), hour(1))))
	assert.True(t, seen.First(NewSpan(hour(0), hour(2))))
	assert.True(t, seen.First(NewSpan(time.Time{}, hour(1))))
	assert.False(t, seen.First(NewSpan(hour(0), hour(1).In(time.FixedZone("", 3600)))))
}
