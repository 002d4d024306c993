package reconcile

import (
	"fmt"
	"time"
)

// rules judge a row of the service that the destination does not have.
type rules struct {
	exports  []Export
	now      time.Time
	margin   time.Duration
	from, to time.Time
	bad      map[time.Time]int64 // by day: rows of the destination that cannot be compared
}

// absent returns the class of a row that the exports send and that is not there. hasUUID says that another row has its uuid
// there.
func (r rules) absent(row Row, hasUUID bool) (class Class, why string) {
	if n := r.bad[row.day()]; n > 0 {
		return CannotTell, fmt.Sprintf("the destination has %d rows of this day that cannot be compared", n)
	}
	asking, isPending, isReplaced, unknown := r.exports, false, false, ""
	if len(asking) == 0 {
		asking = []Export{{}}
	}
	for _, e := range asking {
		switch {
		case !e.asks(row) || !e.passes(row):
		case e.mayHaveFiltered(row):
			unknown = e.Name + ": " + e.Unknown
		case row.arrived().After(e.until(r.now).Add(-r.margin)):
			isPending = true
		case e.MergesByUUID && hasUUID:
			isReplaced = true
		default:
			return Missing, ""
		}
	}
	switch {
	case unknown != "":
		return CannotTell, unknown
	case isReplaced:
		return Replaced, ""
	case isPending:
		return Pending, ""
	}
	return CannotTell, "the export that sends it is unknown"
}

func (e Export) until(now time.Time) time.Time {
	if e.Until.IsZero() {
		return now
	}
	return e.Until
}
