package hogapi

import (
	"cmp"
	"slices"
	"time"
)

// span is an interval of data, or a range of them: [start, end). A zero start is the beginning of
// time; a zero end is that of a run whose interval has no end. It is comparable.
type span struct{ start, end time.Time }

// spanOf keeps what the service keeps: whole microseconds.
func spanOf(start *time.Time, end time.Time) span {
	return span{orDefault(start).UTC().Truncate(time.Microsecond), end.UTC().Truncate(time.Microsecond)}
}

func (r *Run) span() span { return spanOf(r.DataIntervalStart, r.DataIntervalEnd) }

// holds reports whether y is a part of x. An interval without an end is a part of itself only.
func (x span) holds(y span) bool {
	return x == y || !y.end.IsZero() && !y.start.Before(x.start) && !y.end.After(x.end)
}

func (x span) compare(y span) int { return cmp.Or(x.start.Compare(y.start), x.end.Compare(y.end)) }

// length counts a span from the beginning of time from 1970. One without an end has the least
// length there is.
func (x span) length() time.Duration {
	switch {
	case x.end.IsZero():
		return 1
	case x.start.IsZero():
		return x.end.Sub(time.Unix(0, 0))
	}
	return x.end.Sub(x.start)
}

// part is how much of the span is not in a gap, from 0 to 1.
func (x span) part(gap time.Duration) float64 {
	if gap == 0 {
		return 1
	}
	return 1 - float64(gap)/float64(x.length())
}

// gap is what runs leave open of a range.
type gap struct {
	size time.Duration
	hull span // from the first opening to the end of the last
}

func (g *gap) add(x span) {
	if g.size == 0 {
		g.hull.start = x.start
	}
	g.hull.end = x.end
	g.size = max(g.size, g.size+x.length()) // the sum of centuries overflows
}

// coverage finds what the runs, in the order of their intervals, leave open. An opening shorter
// than one interval is not counted: the service exports whole intervals only.
func coverage(whole span, runs []Run) gap {
	var (
		g        gap
		shortest time.Duration
		at       = whole.start
	)
	if whole.end.IsZero() {
		if !slices.ContainsFunc(runs, func(r Run) bool { return r.span() == whole }) {
			g.add(whole)
		}
		return g
	}
	for _, run := range runs {
		x := run.span()
		if x.start.After(at) {
			g.add(span{at, x.start})
		}
		if x.end.After(at) {
			at = x.end
		}
		if length := x.length(); !x.start.IsZero() && (shortest == 0 || length < shortest) {
			shortest = length
		}
	}
	if whole.end.After(at) {
		g.add(span{at, whole.end})
	}
	if g.size < shortest {
		return gap{}
	}
	return g
}
