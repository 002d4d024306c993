package coverage

import "time"

const day = 24 * time.Hour

// AgeLine is how long ago an interval may have ended for a backfill or a retry to choose its events as the
// schedule does, by their arrival. The service decides by where the whole backfill begins, at the time
// of the query: it keeps recent events in a table of their own. So each line is a day short of the service's
// limit: an interval of a day began a day before its end, and the query may come later.
type AgeLine time.Duration

// The age lines of servers.
const (
	AgeLineAnywhere = AgeLine(5 * day) // the table holds 7 days on older servers, of which 6 are used
	AgeLineOfCloud  = AgeLine(7 * day) // 9 and 8 days there
	AgeLineNone     = AgeLine(0)       // servers without records of backfills use no such table for them
)

// IsPast reports whether a backfill that begins with this interval is past the line. A week began more than
// a day before its end, so of a week its first day counts.
func (l AgeLine) IsPast(first Span, now time.Time) bool {
	return l == AgeLineNone || first.Start.IsZero() || first.Start.Add(min(first.length(), day)).Before(l.Before(now))
}

// Before is where the line is.
func (l AgeLine) Before(now time.Time) time.Time { return now.Add(-time.Duration(l)) }

// Days is how many days the line is back.
func (l AgeLine) Days() int { return int(time.Duration(l) / day) }

// First is the first interval of a range. It is empty where the length of an interval is not known.
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
