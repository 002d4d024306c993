package mixpanel

import (
	"fmt"
	"time"

	"github.com/hogapi/hogapi/formats/internal/record"
)

// when is the time of the event in UTC.
func (s *scratch) when() (time.Time, error) {
	at, err := record.UnixTime(s.time)
	if err != nil {
		return time.Time{}, fmt.Errorf("time: %w", err)
	}
	if s.options.Zone == nil {
		return at, nil
	}
	arrived, err := record.UnixTime(s.apiTimestamp)
	if err != nil {
		arrived, _ = record.UnixTime(s.processingTime) // zero without it
	}
	return fromLocal(at, s.options.Zone, arrived), nil
}

// late is how much later than an event's time its arrival can be, at most, if it is taken for live.
const late = 30 * time.Minute

// fromLocal is the time at which the clocks of a zone show what local shows in UTC. Where they show it
// twice, at the end of summer time, it is the second one if the event arrived within half an hour of it,
// else the first. Where they never show it, at the beginning, it is as if they had not been changed yet.
func fromLocal(local time.Time, zone *time.Location, arrived time.Time) time.Time {
	const aroundChange = 15 * time.Hour // the largest offset, and some
	before, after := local.Add(-offset(local.Add(-aroundChange), zone)), local.Add(-offset(local.Add(aroundChange), zone))
	isBefore, isAfter := shows(before, local, zone), shows(after, local, zone)
	switch {
	case isBefore && isAfter && !arrived.IsZero():
		if delay := arrived.Sub(after); delay >= -time.Minute && delay <= late {
			return after
		}
	case !isBefore && isAfter:
		return after
	}
	return before
}

func shows(at, local time.Time, zone *time.Location) bool {
	return at.Add(offset(at, zone)).Equal(local)
}

func offset(at time.Time, zone *time.Location) time.Duration {
	_, seconds := at.In(zone).Zone()
	return time.Duration(seconds) * time.Second
}
