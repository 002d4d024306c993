package record

import "time"

// InZone is when the clocks of a zone show a time, which is given as one of UTC: first and last
// differ where the clocks are set back. Where they skip the time, ok is false.
func InZone(shown time.Time, zone *time.Location) (first, last time.Time, ok bool) {
	const aroundChange = 15 * time.Hour // the largest offset, and some
	first, last = shown.Add(-Offset(shown.Add(-aroundChange), zone)), shown.Add(-Offset(shown.Add(aroundChange), zone))
	shows := func(at time.Time) bool { return at.Add(Offset(at, zone)).Equal(shown) }
	switch isFirst, isLast := shows(first), shows(last); {
	case !isFirst && !isLast:
		return first, last, false
	case !isFirst:
		first = last
	case !isLast:
		last = first
	}
	return first.UTC(), last.UTC(), true
}

// Offset is how far the clocks of a zone are ahead of UTC.
func Offset(at time.Time, zone *time.Location) time.Duration {
	_, seconds := at.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}
