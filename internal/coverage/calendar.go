package coverage

import (
	"slices"
	"time"
)

// Calendar computes the intervals of a schedule. Temporal starts a run at the end of each interval.
type Calendar struct {
	step time.Duration // of schedules without a zone
	days *Days         // of daily and weekly schedules with a zone
}

// Calendar returns the calendar of a schedule. ok is false if its interval or its zone is not known.
func (s Schedule) Calendar() (c Calendar, ok bool) {
	if s.takesDates() {
		days, err := s.Days()
		return Calendar{days: &days}, err == nil
	}
	c.step, ok = Step(s.Interval)
	return c, ok
}

// untilThursday is the time from a Monday, where Truncate begins weeks, to a Thursday, as on 1 January 1970: without a
// zone, Temporal counts intervals from there.
const untilThursday = 3 * day

// Intervals returns the intervals with an end after one time and not after another, in the order of
// their ends. Clocks that skip the hour of the end skip the interval, and clocks that repeat it
// repeat the interval.
func (c Calendar) Intervals(after, until time.Time) (all []Span) {
	if c.days == nil {
		for end := after.Add(-untilThursday).Truncate(c.step).Add(untilThursday + c.step); !end.After(until); end = end.Add(c.step) {
			all = append(all, NewSpan(end.Add(-c.step), end))
		}
		return all
	}
	year, month, first := after.In(c.days.Zone).Date()
	for date := time.Date(year, month, first, 0, 0, 0, 0, time.UTC); date.Before(until.Add(2 * day)); date = date.AddDate(0, 0, 1) {
		for _, end := range c.days.ends(date) {
			if end.After(after) && !end.After(until) {
				all = append(all, NewSpan(c.days.Begin(date.AddDate(0, 0, -c.days.length())), end))
			}
		}
	}
	return all
}

// skips reports whether clocks skip the end of an interval, so that no run exports it.
func (c Calendar) skips(end time.Time) bool {
	if c.days == nil {
		return false
	}
	date, ok := c.days.DateOf(end)
	return ok && len(c.days.ends(date)) == 0
}

// length returns the number of days of an interval.
func (d Days) length() int {
	if d.Weekly {
		return 7
	}
	return 1
}

// ends returns the times at which clocks show the hour on a date: once, twice or never.
func (d Days) ends(date time.Time) (ends []time.Time) {
	if d.Weekly && date.Weekday() != d.Weekday {
		return nil
	}
	shown := date.Add(time.Duration(d.Hour) * time.Hour)
	for _, t := range []time.Time{d.at(shown, -day), d.at(shown, day)} {
		if d.shows(t, shown) && !slices.ContainsFunc(ends, t.Equal) {
			ends = append(ends, t)
		}
	}
	return ends
}
