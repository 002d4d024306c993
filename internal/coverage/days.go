package coverage

import (
	"fmt"
	"math"
	"time"
)

// Days says when the days or weeks of an export begin.
type Days struct {
	Zone    *time.Location
	Hour    int
	Weekday time.Weekday // for weeks
	Weekly  bool
}

func (d Days) String() string {
	if d.Weekly {
		return fmt.Sprintf("a %s, %02d:00 in %s, where a week of this export begins", d.Weekday, d.Hour, d.Zone)
	}
	return fmt.Sprintf("%02d:00 in %s, where a day of this export begins", d.Hour, d.Zone)
}

// Begin returns the start of a day; date is a midnight in UTC. If clocks repeat the hour, it is the
// first one. If they skip it, it has the offset from before, like Python, which the service uses.
// [time.Date] may choose either offset there, and so perhaps the previous day.
func (d Days) Begin(date time.Time) time.Time {
	shown := date.Add(time.Duration(d.Hour) * time.Hour)
	before, after := d.at(shown, -day), d.at(shown, day)
	if d.shows(after, shown) && !d.shows(before, shown) {
		return after
	}
	return before
}

// at returns the time shown as seen with the offset of shortly before or after.
func (d Days) at(shown time.Time, near time.Duration) time.Time {
	_, offset := shown.Add(near).In(d.Zone).Zone()
	return shown.Add(-time.Duration(offset) * time.Second)
}

// shows reports whether clocks show a time, which is passed as if it were UTC.
func (d Days) shows(t, shown time.Time) bool {
	_, offset := t.In(d.Zone).Zone()
	return t.Add(time.Duration(offset) * time.Second).Equal(shown)
}

// Span returns the span of a range of dates. An open end is zero.
func (d Days) Span(r Range) (whole Span) {
	if r.End.IsDate() {
		whole.End = d.Begin(r.End.Time())
	}
	if r.Start.IsDate() {
		whole.Start = d.Begin(r.Start.Time())
	}
	return whole
}

// DateOf returns the date of the day or week that begins at t, as a midnight in UTC. Where clocks
// skip or repeat the hour it also accepts the time from [time.Date], which programs commonly use.
func (d Days) DateOf(t time.Time) (date time.Time, ok bool) {
	year, month, day := t.In(d.Zone).Date()
	for _, begin := range []func(time.Time) time.Time{d.Begin, d.written} {
		for i := -1; i <= 1; i++ {
			date := time.Date(year, month, day+i, 0, 0, 0, 0, time.UTC)
			if begin(date).Equal(t) && (!d.Weekly || date.Weekday() == d.Weekday) {
				return date, true
			}
		}
	}
	return time.Time{}, false
}

func (d Days) written(date time.Time) time.Time {
	year, month, day := date.Date()
	return time.Date(year, month, day, d.Hour, 0, 0, 0, d.Zone)
}

// Step returns the length of an interval by its name, for servers without time zones.
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
