package coverage

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// Range is the range of a backfill: from Start up to, but not including, End.
type Range struct{ Start, End Bound }

// Check refuses a range that is invalid for every export.
func (r Range) Check() *ops.InputError {
	badEnd := func(bad bool, want string) *ops.InputError { return outgoing.If(bad, "End", r.End.String(), want) }
	const inCalendar = "a date that exists; AddDate of a time.Time computes with dates"
	hasStart, isOpen := !r.Start.IsBeginning(), r.End.IsCaughtUp()
	return cmp.Or(
		outgoing.If(r.Start.notInCalendar != "", "Start", r.Start.notInCalendar, inCalendar),
		badEnd(r.End.notInCalendar != "", inCalendar),
		outgoing.If(r.Start.IsUnset() || r.Start.IsCaughtUp(), "Start", r.Start.String(), "a Date, an At, or Beginning, which is never implied"),
		badEnd(isOpen && !hasStart, "a Date or an At: from the beginning, the service would neither catch up nor unpause the export"),
		badEnd(r.End.IsUnset() || r.End.IsBeginning(), "a Date, an At, or CaughtUp, which is never implied"),
		badEnd(hasStart && !isOpen && r.Start.IsDate() != r.End.IsDate(),
			"the same form as Start: two dates for exports by day or week, two instants for all others"),
		badEnd(hasStart && !isOpen && !r.Start.t.Before(r.End.t), "later than Start, which is "+r.Start.String()+"; End itself is not covered"),
	)
}

// Schedule says when an export runs.
type Schedule struct {
	Interval string
	Timezone string // empty on servers without time zones
	Hour     int
	Weekday  time.Weekday
}

// CheckOffsets refuses offsets that an interval does not have. An unknown interval may have any.
func CheckOffsets(interval string, hasDay, hasHour bool) *ops.InputError {
	isHourly := slices.Contains([]string{"hour", "every 5 minutes", "every 15 minutes"}, interval)
	return cmp.Or(
		outgoing.If(hasDay && (isHourly || interval == "day"), "OffsetDay", "", "IntervalWeek, or no offset"),
		outgoing.If(hasHour && isHourly, "OffsetHour", "", "IntervalDay or IntervalWeek, or no offset"),
	)
}

// Days returns the days or weeks of an export with a time zone.
func (s Schedule) Days() (Days, error) {
	zone, err := time.LoadLocation(s.Timezone)
	return Days{Zone: zone, Hour: s.Hour, Weekday: s.Weekday, Weekly: s.Interval == "week"}, err
}

// takesDates: servers that show a timezone want plain dates; older servers want instants.
func (s Schedule) takesDates() bool {
	return s.Timezone != "" && (s.Interval == "day" || s.Interval == "week")
}

// Range returns the range between two times in the form that the export takes. It refuses a range
// that the service would round.
func (s Schedule) Range(from, to time.Time) (Range, *ops.InputError) {
	if refusal := cmp.Or(
		outgoing.If(from.IsZero(), "from", "", "a time; for the oldest data use BackfillRange{Start: Beginning(), …}"),
		outgoing.If(to.IsZero(), "to", "", "a time"),
		outgoing.If(!from.Before(to), "to", outgoing.Time(to), "later than from, which is "+outgoing.Time(from)+"; to itself is not covered"),
	); refusal != nil {
		return Range{}, refusal
	}
	if s.takesDates() {
		return s.dates(from, to)
	}
	step, ok := Step(s.Interval)
	if !ok {
		return Range{}, outgoing.Refuse("Interval", s.Interval, "an interval of known length; for others write the BackfillRange yourself")
	}
	start, end := Instant(from), Instant(to)
	if off := start.t.Sub(start.t.Truncate(step)); off != 0 && time.Hour%step == 0 {
		return Range{}, outgoing.Refuse("from", outgoing.Time(from), fmt.Sprintf(
			"the start of an interval of %v, such as %s or %s: another range overlaps those of the schedule",
			step, outgoing.Time(from.Add(-off)), outgoing.Time(from.Add(step-off))))
	}
	if rest := end.t.Sub(start.t) % step; rest != 0 {
		return Range{}, outgoing.Refuse("to", outgoing.Time(to), fmt.Sprintf(
			"a whole number of intervals of %v after from, such as %s or %s: the service drops a shorter rest",
			step, outgoing.Time(to.Add(-rest)), outgoing.Time(to.Add(step-rest))))
	}
	return Range{start, end}, nil
}

// CheckBounds refuses bounds that are no bounds of the schedule: the service would move them.
func (s Schedule) CheckBounds(r Range) *ops.InputError {
	if _, ok := Step(s.Interval); !ok || r.Start.IsBeginning() {
		return nil
	}
	const instead = "; BatchExport.BackfillRange makes such a range, and coverage.DownloadRange gets exactly this time"
	if !r.Start.IsDate() {
		end := r.End.t
		if r.End.IsCaughtUp() {
			end = s.next(r.Start.t)
		}
		dates, refusal := s.Range(r.Start.t, end)
		switch {
		case refusal == nil && s.takesDates():
			return outgoing.Refuse("Start", r.Start.String(), fmt.Sprintf("dates, here %s and %s: BatchExport.BackfillRange returns them", dates.Start, dates.End))
		case refusal == nil || refusal.Field == "Timezone":
			return nil
		}
		refusal.Field = map[string]string{"from": "Start", "to": "End"}[refusal.Field]
		refusal.Want += instead
		return refusal
	}
	days, err := s.Days()
	if err != nil || !days.Weekly || !s.takesDates() {
		return nil //nolint:nilerr // of a zone that this machine does not know: the service decides
	}
	bad := func(field string, b Bound) *ops.InputError {
		return outgoing.If(b.IsDate() && b.t.Weekday() != s.Weekday, field, b.t.Format(time.DateOnly+" Mon"), days.String()+", such as "+days.nearest(days.Begin(b.t))+instead)
	}
	return cmp.Or(bad("Start", r.Start), bad("End", r.End))
}

// CheckRetry refuses a retry of a run with an interval that does not fit the schedule: the service would export other
// times.
func (s Schedule) CheckRetry(run Span) *ops.InputError {
	if run.Start.IsZero() || run.End.IsZero() {
		return nil
	}
	_, refusal := s.Range(run.Start, run.End)
	whole, ok := s.Whole(run)
	if refusal == nil || !ok {
		return nil
	}
	would := "nothing"
	if whole.Start.Before(whole.End) {
		would = outgoing.Time(whole.Start) + " to " + outgoing.Time(whole.End)
	}
	return outgoing.Refuse("run interval", outgoing.Time(run.Start)+" to "+outgoing.Time(run.End), fmt.Sprintf(
		"intervals of today's schedule, which was changed since: the service would export %s instead. Backfill the intervals that contain the run, from %s to %s, "+
			"or get exactly this time by coverage.DownloadRange", would, s.nearest(run.Start, false), s.nearest(run.End, true)))
}

// nearest returns the bound of the schedule at or before a time, or at or after it.
func (s Schedule) nearest(t time.Time, after bool) string {
	if s.takesDates() {
		days, _ := s.Days()
		bound := days.floor(t)
		if after && bound.Before(t) {
			bound = days.after(bound)
		}
		return outgoing.Time(bound)
	}
	step, _ := Step(s.Interval)
	bound := t.Truncate(step)
	if after && bound.Before(t) {
		bound = bound.Add(step)
	}
	return outgoing.Time(bound)
}

// next returns the bound after one.
func (s Schedule) next(bound time.Time) time.Time {
	if days, err := s.Days(); err == nil && s.takesDates() {
		return days.after(days.floor(bound))
	}
	step, _ := Step(s.Interval)
	return bound.Add(step)
}

const wallClock = "2006-01-02T15:04:05.999999999Z07:00 Mon"

// nearest names the bounds before and after a time.
func (d Days) nearest(t time.Time) string {
	before := d.floor(t)
	return before.In(d.Zone).Format(wallClock) + " or " + d.after(before).In(d.Zone).Format(wallClock)
}

// after returns the next bound.
func (d Days) after(bound time.Time) time.Time {
	return d.floor(bound.Add(time.Duration(d.length())*day + day/2))
}

func (s Schedule) dates(from, to time.Time) (Range, *ops.InputError) {
	days, err := s.Days()
	if err != nil {
		return Range{}, outgoing.Refuse("Timezone", s.Timezone,
			"a time zone that this machine knows (import _ \"time/tzdata\"); else write the BackfillRange yourself")
	}
	start, isStart := days.DateOf(from)
	end, isEnd := days.DateOf(to)
	field, bad := "to", to
	if !isStart {
		field, bad = "from", from
	}
	if !isStart || !isEnd {
		return Range{}, outgoing.Refuse(field, bad.In(days.Zone).Format(wallClock), days.String()+", such as "+days.nearest(bad))
	}
	return Range{Date(start), Date(end)}, nil
}
