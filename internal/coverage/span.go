// Package coverage computes with the intervals of batch exports: which ones a schedule should have exported, which ones
// a backfill exports, and which runs belong to it. It knows times and ids, and makes no calls.
package coverage

import (
	"cmp"
	"time"

	"github.com/hogapi/hogapi/internal/narrow"
	"github.com/hogapi/hogapi/internal/outgoing"
)

// Span is an interval of data, or a range of intervals: [Start, End). A zero Start is the beginning
// of time; a zero End belongs to a run without an end. It is comparable.
type Span struct{ Start, End time.Time }

// NewSpan truncates times to microseconds, as the service does.
func NewSpan(start, end time.Time) Span {
	return Span{start.UTC().Truncate(time.Microsecond), end.UTC().Truncate(time.Microsecond)}
}

// Holds reports whether y is part of x. An interval without an end is part of itself only.
func (x Span) Holds(y Span) bool {
	return x == y || !y.End.IsZero() && !y.Start.Before(x.Start) && !y.End.After(x.End)
}

// Overlaps reports whether two spans have a time in common.
func (x Span) Overlaps(y Span) bool { return x.Start.Before(y.End) && y.Start.Before(x.End) }

// First returns the first interval of a span, as long as it is in a schedule without clock changes.
func (x Span) First(interval string) Span {
	if step, ok := Step(interval); ok {
		x.End = narrow.Earlier(x.End, x.Start.Add(step))
	}
	return x
}

// Without returns the parts of spans, which are in order and do not overlap, that no other span covers.
func Without(spans, others []Span) []Span {
	outside, _ := cut(spans, others)
	return outside
}

// StartText returns the start as a text.
func (x Span) StartText() string {
	if x.Start.IsZero() {
		return "beginning"
	}
	return outgoing.Time(x.Start)
}

func (x Span) compare(y Span) int { return cmp.Or(x.Start.Compare(y.Start), x.End.Compare(y.End)) }

// length measures a span. It counts the beginning of time as 1970. A span without an end has the
// least length.
func (x Span) length() time.Duration {
	switch {
	case x.End.IsZero():
		return 1
	case x.Start.IsZero():
		return x.End.Sub(time.Unix(0, 0))
	}
	return x.End.Sub(x.Start)
}

// Seen is a set of intervals, about 40 bytes each.
type Seen map[[2]int64]struct{}

// First adds an interval, and reports whether it is new.
func (s Seen) First(x Span) bool {
	key := [2]int64{x.Start.UnixMicro(), x.End.UnixMicro()}
	_, isOld := s[key]
	s[key] = struct{}{}
	return !isOld
}
