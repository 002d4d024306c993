package record

import (
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/formats"
)

// longestSession is for how many milliseconds after the time in its id a session can have events.
const longestSession = 24 * 60 * 60 * 1000

// Session is the $session_id of an event at a time, in a vendor's session of which the start is known, such as
// Amplitude's and GA4's. It needs no other record, so it is the same however the files are cut. It is zero, which
// stands for no session, where PostHog's rule cannot hold otherwise:
//
//   - A session of more than 24 hours is cut: after each 24 hours, counted from its start, begins a new one.
//   - An event before the start of its session has no session. Its id would need an earlier time, and then the events
//     after it, which are converted without it, were in another session.
//   - A start at or before 1970 is not a start.
func Session(start time.Time, device, session string, at time.Time) uuid.UUID {
	first, ms := start.UnixMilli(), at.UnixMilli()
	if start.Unix() <= 0 || ms < first {
		return uuid.Nil
	}
	first += (ms - first) / longestSession * longestSession
	return formats.SessionID(time.UnixMilli(first), device, session)
}

// AddSession adds the $session_id of an event that has a session: see [Session].
func (o *Object) AddSession(start time.Time, device, session string, at time.Time) {
	if id := Session(start, device, session, at); id != uuid.Nil {
		o.AddText("$session_id", id.String())
	}
}
