// Package coverage follows backfills: which runs count for a backfill or a retry, which part of its range
// they cover, whether it is over, and where the days of an export begin. It knows times and ids; it
// makes no calls.
package coverage

import (
	"cmp"
	"slices"
	"time"
)

// Span is an interval of data, or a range of them: [Start, End). A zero Start is the beginning of
// time; a zero End is that of a run whose interval has no end. It is comparable.
type Span struct{ Start, End time.Time }

// NewSpan keeps what the service keeps: whole microseconds.
func NewSpan(start, end time.Time) Span {
	return Span{start.UTC().Truncate(time.Microsecond), end.UTC().Truncate(time.Microsecond)}
}

// Holds reports whether y is a part of x. An interval without an end is a part of itself only.
func (x Span) Holds(y Span) bool {
	return x == y || !y.End.IsZero() && !y.Start.Before(x.Start) && !y.End.After(x.End)
}

func (x Span) compare(y Span) int { return cmp.Or(x.Start.Compare(y.Start), x.End.Compare(y.End)) }

// length counts a span from the beginning of time from 1970. One without an end has the least
// length there is.
func (x Span) length() time.Duration {
	switch {
	case x.End.IsZero():
		return 1
	case x.Start.IsZero():
		return x.End.Sub(time.Unix(0, 0))
	}
	return x.End.Sub(x.Start)
}

// part is how much of the span is not in a gap, from 0 to 1.
func (x Span) part(gap time.Duration) float64 {
	if gap == 0 {
		return 1
	}
	return 1 - float64(gap)/float64(x.length())
}

// Gap is what runs leave open of a range.
type Gap struct {
	Size time.Duration
	Hull Span // from the first opening to the end of the last
}

func (g *Gap) add(x Span) {
	if g.Size == 0 {
		g.Hull.Start = x.Start
	}
	g.Hull.End = x.End
	g.Size = max(g.Size, g.Size+x.length()) // the sum of centuries overflows
}

// gapOf finds what intervals, in their order, leave open. An opening shorter than one interval is
// not counted: the service exports whole intervals only.
func gapOf(whole Span, intervals []Span) Gap {
	var (
		g        Gap
		shortest time.Duration
		at       = whole.Start
	)
	if whole.End.IsZero() {
		if !slices.Contains(intervals, whole) {
			g.add(whole)
		}
		return g
	}
	for _, x := range intervals {
		if x.Start.After(at) {
			g.add(Span{at, x.Start})
		}
		if x.End.After(at) {
			at = x.End
		}
		if length := x.length(); !x.Start.IsZero() && (shortest == 0 || length < shortest) {
			shortest = length
		}
	}
	if whole.End.After(at) {
		g.add(Span{at, whole.End})
	}
	if g.Size < shortest {
		return Gap{}
	}
	return g
}

// Seen are the intervals that have been seen, about 40 bytes each.
type Seen map[[2]int64]struct{}

// First reports whether an interval is seen for the first time.
func (s Seen) First(x Span) bool {
	key := [2]int64{x.Start.UnixMicro(), x.End.UnixMicro()}
	_, isOld := s[key]
	s[key] = struct{}{}
	return !isOld
}
