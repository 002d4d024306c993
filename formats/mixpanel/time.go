package mixpanel

import (
	"fmt"
	"time"

	"github.com/hogapi/hogapi/formats/internal/record"
)

// when is the time of the event in UTC. Of a local time that the clocks show twice, at the end of
// summer time, it is the second one if the event arrived within half an hour of it, else the first.
// One that they skip is an error.
func (s *converter) when() (time.Time, error) {
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
	first, last, ok := record.InZone(at, s.options.Zone)
	switch delay := arrived.Sub(last); {
	case !ok:
		return time.Time{}, fmt.Errorf("time: the clocks of %s skip %s: is it the zone of the project", s.options.Zone, at.Format(time.DateTime))
	case !arrived.IsZero() && delay >= -time.Minute && delay <= late:
		return last, nil // it is also first, unless the clocks were set back
	}
	return first, nil
}

// late is how much later than an event's time its arrival can be, at most, if it is taken for live.
const late = 30 * time.Minute
