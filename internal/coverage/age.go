package coverage

import (
	"fmt"
	"time"

	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

const day = 24 * time.Hour

// AgeLine is the age up to which a backfill or retry selects the events of an interval as the schedule
// does, by arrival. The service keeps recent events in a separate table, and decides by the start of the
// whole backfill at the time of the query. So each line is a day below the service's limit: a daily
// interval began a day before its end, and the query may come later.
type AgeLine time.Duration

// Age lines, by server.
const (
	AgeLineAnywhere = AgeLine(5 * day) // the table holds 7 days on older servers, 6 of them usable
	AgeLineOfCloud  = AgeLine(7 * day) // 9 and 8 days there
	AgeLineNone     = AgeLine(0)       // servers without backfill records do not use the table for backfills
)

// IsPast reports whether a backfill that begins with this interval is past the line. For a week,
// its first day counts, since a week begins more than a day before its end.
func (l AgeLine) IsPast(first Span, now time.Time) bool {
	return l == AgeLineNone || first.Start.IsZero() || l.Until(first).Before(now)
}

// Until returns the time from which on a backfill that begins with this interval is past the line.
func (l AgeLine) Until(first Span) time.Time {
	return first.Start.Add(min(first.length(), day)).Add(time.Duration(l)) // the sum of the two may overflow
}

// Before returns the time of the line.
func (l AgeLine) Before(now time.Time) time.Time { return now.Add(-time.Duration(l)) }

// First returns the first interval of a range. It is empty if the length of an interval is not
// known.
func (s Schedule) First(r Range) Span {
	start := r.Start.Time()
	if days, err := s.Days(); r.Start.IsDate() && err == nil {
		start = days.Begin(start)
	}
	if start.IsZero() {
		return Span{}
	}
	step, _ := Step(s.Interval)
	return Span{start, start.Add(step)}
}

// Begin is the begin of a backfill or a retry of an export.
type Begin struct {
	Events, Weekly bool   // the export's model and interval
	Destination    string // the type of it
	First          Span   // the first interval
	Requested, End time.Time
	Unpaused       bool // of an unpause
}

// Refuse refuses a backfill or a retry that begins with too old an interval, and names its effect on the destination.
func (l AgeLine) Refuse(b Begin) *ops.InputError {
	if !b.Events || !l.IsPast(b.First, b.Requested) {
		return nil
	}
	want, recent := "a server that keeps records of backfills", l.Before(b.Requested).Truncate(time.Second)
	if l != AgeLineNone {
		days := int(time.Duration(l) / day)
		want = fmt.Sprintf("an interval that ended in the last %d days", days)
		if b.Weekly {
			want = fmt.Sprintf("a week whose first day ended in the last %d days", days)
		}
		switch {
		case b.Unpaused:
			want += " (or unpause without a backfill, and backfill in parts)"
		case b.End.After(recent):
			want += fmt.Sprintf(" (or two backfills: the part after %s needs no option)", outgoing.Time(recent))
		}
	}
	again, ok := effects[b.Destination]
	if !ok {
		again = "and all others are duplicated"
	}
	return outgoing.Refuse("interval from", b.First.StartText(), fmt.Sprintf("%s, or the option AcceptRowsByTimestamp: the service would choose "+
		"these events by timestamp, not by arrival as the schedule does; if the range was exported before, late events are left out, %s; "+
		"coverage.Of and MakePlan find and repair gaps safely", want, again))
}

const replaced = "and the new objects replace the old ones, with the late events that only they hold"

// effects are of exporting a range again with other rows, by type of destination.
var effects = map[string]string{
	"S3": replaced, "AwsS3": replaced, "S3Compatible": replaced, "AzureBlob": replaced,
	"Workflows": "and workflows act on all others again", "HTTP": "and all others are sent again",
}

// IsObjectStore reports whether a destination keeps objects. A run of an interval replaces the objects of an earlier
// run.
func IsObjectStore(destination string) bool { return effects[destination] == replaced }

// ActsOnRows reports whether a destination acts on each row, which cannot be undone.
func ActsOnRows(destination string) bool {
	return effects[destination] != "" && !IsObjectStore(destination)
}
