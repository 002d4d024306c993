package hogapi

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/outgoing"
)

// BackfillOptions are the options of a backfill or a retry.
type BackfillOptions struct {
	// AcceptRowsByTimestamp allows a backfill or a retry of old events. The schedule chooses the events of an
	// interval by their arrival, but a backfill or a retry of an old interval chooses them by their timestamp. So
	// a second export of an old interval leaves out events that arrived late, and repeats events of other
	// intervals. On an object store the new objects replace the old ones, and the destination loses the events
	// that only the old objects had. Set the option to fill a new export with history, of which nothing was
	// exported before.
	//
	// An interval is old if it ended more than 5 days ago, or 7 days on PostHog Cloud; for a week, the end of its
	// first day counts. A backfill is as old as its first interval. Servers that keep no records of backfills
	// always choose by timestamp, so every interval is old for them. The default is false: old ranges are refused.
	AcceptRowsByTimestamp bool
}

// checkAge refuses a backfill or a retry of events that are too old to be chosen as the schedule chooses them.
// It reads the export only if the first interval may be too old.
func (c *Client) checkAge(
	ctx context.Context, op Op, t BackfillTicket, first func(*BatchExport) coverage.Span, options []CallOption,
) error {
	line := c.ageLine(t)
	if !line.IsPast(first(&BatchExport{}), t.RequestedAt) {
		return nil
	}
	export, err := c.BatchExports.Get(ctx, t.ExportID, append(slices.Clip(options), onlyHeader)...)
	if err != nil {
		return beforeSending(op, err)
	}
	return refused(op, export.refuseOld(line, first(export), t))
}

// ageLine returns the age line of the server, as far as it is known.
func (c *Client) ageLine(t BackfillTicket) coverage.AgeLine {
	switch {
	case t.Baseline != nil && t.Baseline.OfRuns:
		return coverage.AgeLineNone
	case c.core.api != nil && outgoing.RegionOf(c.core.api.String()) != "":
		return coverage.AgeLineOfCloud
	}
	return coverage.AgeLineAnywhere
}

// refuseOld refuses a backfill or a retry that begins with too old an interval, and names its effect on the
// destination.
func (e *BatchExport) refuseOld(line coverage.AgeLine, first coverage.Span, t BackfillTicket) *outgoing.Refusal {
	if cmp.Or(e.Model, ModelEvents) != ModelEvents || !line.IsPast(first, t.RequestedAt) {
		return nil
	}
	want, recent := "a server that keeps records of backfills", line.Before(t.RequestedAt).Truncate(time.Second)
	if line != coverage.AgeLineNone {
		want = fmt.Sprintf("an interval that ended in the last %d days", line.Days())
		if e.Interval == IntervalWeek {
			want = fmt.Sprintf("a week whose first day ended in the last %d days", line.Days())
		}
		switch {
		case t.Unpaused:
			want += " (or unpause without a backfill, and backfill in parts)"
		case t.EndAt.Time().After(recent):
			want += fmt.Sprintf(" (or two backfills: the part after %s needs no option)", outgoing.Time(recent))
		}
	}
	return outgoing.Refuse("interval from", startText(first.Start), fmt.Sprintf("%s, or the option AcceptRowsByTimestamp: the service would choose "+
		"these events by timestamp, not by arrival as the schedule does; where the range was exported before, late events are left out, %s",
		want, consequence(e.Destination.Type)))
}

func startText(start time.Time) string {
	if start.IsZero() {
		return "beginning"
	}
	return outgoing.Time(start)
}

// consequence describes the effect on a destination when a range is exported again with other rows.
func consequence(t destination.Type) string {
	switch t {
	case destination.TypeS3, destination.TypeAwsS3, destination.TypeS3Compatible, destination.TypeAzureBlob:
		return "and the new objects replace the old ones, with the late events that only they hold"
	case destination.TypeWorkflows:
		return "and workflows act on all others again"
	case destination.TypeHTTP:
		return "and all others are sent again"
	default:
		return "and all others come twice"
	}
}
