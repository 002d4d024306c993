package coverage

import (
	"fmt"
	"math"
	"time"
)

// Days are where the days or the weeks of an export begin.
type Days struct {
	Zone    *time.Location
	Hour    int
	Weekday time.Weekday // of weeks
	Weekly  bool
}

// String says where they begin.
func (d Days) String() string {
	if d.Weekly {
		return fmt.Sprintf("a %s, %02d:00 in %s, where a week of this export begins", d.Weekday, d.Hour, d.Zone)
	}
	return fmt.Sprintf("%02d:00 in %s, where a day of this export begins", d.Hour, d.Zone)
}

// Begin is where a day begins. The date is a midnight in UTC.
func (d Days) Begin(date time.Time) time.Time {
	year, month, day := date.Date()
	return time.Date(year, month, day, d.Hour, 0, 0, 0, d.Zone).UTC()
}

// Span is what a range of dates covers.
func (d Days) Span(r Range) Span {
	whole := Span{End: d.Begin(r.End.Time())}
	if r.Start.IsDate() {
		whole.Start = d.Begin(r.Start.Time())
	}
	return whole
}

// DateOf is the date of the day or the week that begins at a time, as a midnight in UTC.
func (d Days) DateOf(t time.Time) (date time.Time, ok bool) {
	year, month, day := t.In(d.Zone).Date()
	for i := range 2 { // where clocks skip the hour, Begin may give one of the day before
		date := time.Date(year, month, day+i, 0, 0, 0, 0, time.UTC)
		if d.Begin(date).Equal(t) && (!d.Weekly || date.Weekday() == d.Weekday) {
			return date, true
		}
	}
	return time.Time{}, false
}

// Step is the length of an interval, by its name, on servers that do not know time zones.
func Step(interval string) (time.Duration, bool) {
	switch interval {
	case "hour":
		return time.Hour, true
	case "day":
		return 24 * time.Hour, true
	case "week":
		return 7 * 24 * time.Hour, true
	default:
		var n int
		if _, err := fmt.Sscanf(interval, "every %d minutes", &n); err != nil || n <= 0 || time.Duration(n) > math.MaxInt64/time.Minute {
			return 0, false
		}
		return time.Duration(n) * time.Minute, true
	}
}
