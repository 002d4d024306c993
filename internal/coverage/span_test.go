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

// A run that is shown without an end, or without a length, covers nothing.
func TestWithoutSpansThatCoverNothing(t *testing.T) {
	assert.Equal(t, []Span{hours(0, 1), hours(2, 3)}, Without([]Span{hours(0, 3)}, []Span{hours(1, 2), {Start: hours(1, 2).Start}, hours(0, 0), {}}))
}

func TestSpanKeepsMicrosecondsInUTC(t *testing.T) {
	x := NewSpan(noon.Add(1234).In(time.FixedZone("", 3600)), noon.Add(time.Hour+5999))
	assert.Equal(t, Span{noon.Add(1000), noon.Add(time.Hour + 5000)}, x)
	assert.Equal(t, Span{}, NewSpan(time.Time{}, time.Time{}))
}

func TestSeen(t *testing.T) {
	seen := Seen{}
	assert.True(t, seen.First(NewSpan(hour(0), hour(1))))
	assert.True(t, seen.First(NewSpan(hour(0), hour(2))))
	assert.True(t, seen.First(NewSpan(time.Time{}, hour(1))))
	assert.False(t, seen.First(NewSpan(hour(0), hour(1).In(time.FixedZone("", 3600)))))
}
