package hogapitest

import (
	"slices"
	"time"
)

func (e *export) zone() *time.Location {
	zone, err := time.LoadLocation(e.Timezone)
	if err != nil {
		return time.UTC
	}
	return zone
}

// hour is when its days begin.
func (e *export) hour() time.Duration {
	return time.Duration(deref(e.offsetHour)) * time.Hour
}

// firstAt is when clocks of a zone show a time first. Where they skip it, it is of the offset before, as in Python.
func firstAt(shown time.Time, zone *time.Location) time.Time {
	if all := timesAt(shown, zone); len(all) > 0 {
		return all[0]
	}
	_, offset := shown.Add(-24 * time.Hour).In(zone).Zone()
	return shown.Add(-time.Duration(offset) * time.Second)
}

// timesAt returns the times at which the clock of a zone shows a time: two or zero, where the clock repeats or skips
// it.
func timesAt(shown time.Time, zone *time.Location) (all []time.Time) {
	for _, near := range []time.Duration{-24 * time.Hour, 24 * time.Hour} {
		_, offset := shown.Add(near).In(zone).Zone()
		at := shown.Add(-time.Duration(offset) * time.Second)
		if shownBy(at, zone).Equal(shown) && !slices.ContainsFunc(all, at.Equal) {
			all = append(all, at)
		}
	}
	return all
}

// shownBy is the wall clock of a zone, as if it were UTC.
func shownBy(at time.Time, zone *time.Location) time.Time {
	_, offset := at.In(zone).Zone()
	return at.UTC().Add(time.Duration(offset) * time.Second)
}

// length returns the length of each interval; 0 for days and weeks, which changes of the clock make longer or shorter.
func (e *export) length() time.Duration {
	switch e.Interval {
	case "day", "week":
		return 0
	case "every 5 minutes":
		return 5 * time.Minute
	case "every 15 minutes":
		return 15 * time.Minute
	default:
		return time.Hour
	}
}

// intervalAfter is the end of an interval that starts at t. Days and weeks keep their hour in the export's zone.
func (e *export) intervalAfter(t time.Time) time.Time {
	zone := e.zone()
	shown := shownBy(t, zone)
	if begin := shown.Truncate(24 * time.Hour).Add(e.hour()); firstAt(begin, zone).Equal(t) {
		shown = begin // which the clocks may have skipped
	}
	switch e.Interval {
	case "day":
		return firstAt(shown.AddDate(0, 0, 1), zone)
	case "week":
		return firstAt(shown.AddDate(0, 0, 7), zone)
	default:
		return t.Add(e.length())
	}
}

// intervalOf returns the start of the interval that contains a time.
func (e *export) intervalOf(t time.Time) time.Time {
	if length := e.length(); length > 0 {
		return t.Truncate(length)
	}
	start := shownBy(t, e.zone()).Truncate(24 * time.Hour).Add(e.hour())
	weekday := deref(e.offsetDay)
	if e.project.server.era == E1 {
		weekday = int(time.Thursday) // as on 1 January 1970
	}
	for e.Interval == "week" && int(start.Weekday()) != weekday || firstAt(start, e.zone()).After(t) {
		start = start.AddDate(0, 0, -1)
	}
	return firstAt(start, e.zone())
}
