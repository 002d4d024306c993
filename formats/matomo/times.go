package matomo

import (
	"errors"
	"fmt"
	"time"

	"github.com/hogapi/hogapi/formats/internal/record"
)

// clock reads the times of actions, which are the clock of the site, written as seconds since 1970.
type clock struct {
	zone  *time.Location
	ahead time.Duration // without a zone
	first time.Time     // of the visit; zero: not known
}

var errClock = errors.New("the times of the visit do not tell how far its actions are from UTC, since it went on over a change " +
	"of the clocks or lacks firstActionTimestamp or lastActionTimestamp: set Options.Zone to the time zone of the site")

const (
	quarter  = 15 * time.Minute
	farthest = 15 * time.Hour // from UTC
)

// clockOf finds how the clock of a visit is to be read. first and last are of its actions, as the clock showed them.
func clockOf(zone *time.Location, v *visit, first, last int64) (clock, error) {
	begin, end := v.row.Number("firstActionTimestamp"), v.row.Number("lastActionTimestamp")
	c := clock{zone: zone}
	if begin > 0 {
		c.first = time.Unix(begin, 0).UTC()
	}
	if zone != nil {
		return c, nil
	}
	c.ahead = time.Duration(last-end) * time.Second
	if end <= 0 || c.ahead%quarter != 0 || c.ahead.Abs() > farthest {
		return c, errClock
	}
	if begin > 0 && time.Duration(first-begin)*time.Second != c.ahead {
		return c, errClock
	}
	return c, nil
}

// at is the time at which the clock showed seconds. Where it showed them twice, that is the first time in the visit.
func (c clock) at(shown int64) (time.Time, error) {
	t := time.Unix(shown, 0).UTC()
	if c.zone == nil {
		return t.Add(-c.ahead), nil
	}
	first, second, ok := record.InZone(t, c.zone)
	if !ok {
		return first, fmt.Errorf("timestamp: the clocks of %s skip this time: is Options.Zone the time zone of the site?", c.zone)
	}
	if first.Before(c.first) {
		first = second
	}
	return first, nil
}
