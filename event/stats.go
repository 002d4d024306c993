package event

import (
	"time"

	"github.com/hogapi/hogapi/internal/errtext"
)

// Stats is a snapshot of a running import. Its counts add up like the counts of a [Receipt].
type Stats struct {
	// Read is the number of events that the import has taken. This field and the next four include the events that
	// earlier runs of a resumed import have settled.
	Read         int64
	Acknowledged int64 // answered with a success
	Rejected     int64 // refused by the gate or the service, and handed to the reject handler
	Unconfirmed  int64 // sent, but their fate is unknown; handed to the reject handler
	Skipped      int64 // left out on purpose
	Refused      int64 // records that Enqueue refused; not taken
	Pending      int64 // not settled yet
	Resent       int64 // events that were sent again, because an earlier try may have sent them
	Total        int64 // history.Options.Total; 0 if unknown

	InFlight     int           // events read and not yet committed
	Bytes        int           // bytes held
	Requests     int64         // tries
	PlainBytes   int64         // of all tries, before compression
	WireBytes    int64         // of all tries, as sent
	Permits      int           // requests that may be under way at the same time; adapted to the answers
	Throttled    time.Duration // for which all requests waited, because of a Retry-After or an outage
	FailingSince time.Time     // zero while answers are good
	LastError    error         // why sending fails; nil while answers are good
	LastProgress time.Time     // of the newest acknowledgement
	Position     Position      // settled up to here
}

// String describes the snapshot in one line, with the last error if sending fails.
func (s Stats) String() string {
	var b errtext.Text
	b.Add("read %d", s.Read)
	b.AddIf(s.Total > 0, " of %d", s.Total)
	b.Add(", acknowledged %d, rejected %d, ", s.Acknowledged, s.Rejected)
	b.AddIf(s.Unconfirmed > 0, "unconfirmed %d, ", s.Unconfirmed)
	b.AddIf(s.Skipped > 0, "skipped %d, ", s.Skipped)
	b.Add("pending %d, resent %d", s.Pending, s.Resent)
	b.AddIf(s.LastError != nil, "; failing since %s: %v", s.FailingSince.UTC().Format(time.TimeOnly+" UTC"), errtext.WithoutPrefix(s.LastError))
	return b.String()
}
