package fetch

import "slices"

// span is a range of units, days or hours since 1970. Both ends are in it, as in the services' own ranges.
type span struct{ first, last int }

func (s span) units() int { return s.last - s.first + 1 }

func (s span) overlaps(other span) bool { return s.first <= other.last && other.first <= s.last }

// gaps returns the parts of a span that no other span covers, in order.
func (s span) gaps(others []span) []span {
	sorted := slices.SortedFunc(slices.Values(others), func(a, b span) int { return a.first - b.first })
	var gaps []span
	for _, other := range sorted {
		if !s.overlaps(other) {
			continue
		}
		if s.first < other.first {
			gaps = append(gaps, span{s.first, other.first - 1})
		}
		s.first = other.last + 1
		if s.first > s.last {
			return gaps
		}
	}
	return append(gaps, s)
}

// chunk is the beginning of a span that is asked for at once: at most step units. It ends where a
// multiple of step units since 1970 does, so that the same days are always cut in the same way.
func (s span) chunk(step int) span {
	end := (s.first/step+1)*step - 1
	return span{s.first, min(end, s.last)}
}
