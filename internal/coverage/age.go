package coverage

import "time"

const day = 24 * time.Hour

// AgeLine is the age up to which a backfill or retry selects the events of an interval as the schedule
// does, by arrival. The service keeps recent events in a separate table, and decides by the start of the
// whole backfill at the time of the query. So each line is a day below the service's limit: a daily
// interval began a day before its end, and the query may come later.
type AgeLine time.Duration

// Age lines, by server.
const (
	AgeLineAnywhere = AgeLine(5 * day) // the table holds 7 days on older servers, 6 of them usable
	AgeLineOfCloud  = AgeLine(7 * day) // 9 and 8 days there
	AgeLineNone     = AgeLine(0)       // servers without backfill records do not use the table for backfills
)

// IsPast reports whether a backfill that begins with this interval is past the line. For a week,
// its first day counts, since a week begins more than a day before its end.
func (l AgeLine) IsPast(first Span, now time.Time) bool {
	return l == AgeLineNone || first.Start.IsZero() || first.Start.Add(min(first.length(), day)).Before(l.Before(now))
}

// Before returns the time of the line.
func (l AgeLine) Before(now time.Time) time.Time { return now.Add(-time.Duration(l)) }

// Days returns the line's age in days.
func (l AgeLine) Days() int { return int(time.Duration(l) / day) }

// First returns the first interval of a range. It is empty if the length of an interval is not
// known.
func (s Schedule) First(r Range) Span {
	start := r.Start.Time()
	if days, err := s.Days(); r.Start.IsDate() && err == nil {
		start = days.Begin(start)
	}
	if start.IsZero() {
		return Span{}
	}
	step, _ := Step(s.Interval)
	return Span{start, start.Add(step)}
}
