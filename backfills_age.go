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

// BackfillOptions say what a backfill or a retry may do.
type BackfillOptions struct {
	// AcceptRowsByTimestamp allows a backfill or a retry of old events, which the service chooses by
	// their timestamp. The schedule chooses by arrival, so for an interval that was exported before,
	// the two differ: events that arrived late are left out, events of other intervals come again, and
	// on an object store the new objects replace the old ones, with what only they held. For a first
	// fill of history, set it: nothing was exported before.
	//
	// Old is an interval that ended more than 5 days ago, or 7 days on PostHog Cloud; of a week, its
	// first day counts. A backfill is as old as its first interval. Servers that keep no records of
	// backfills always choose by timestamp.
	AcceptRowsByTimestamp bool
}

// checkAge refuses a backfill or a retry of events that are too old to be chosen as the schedule chooses
// them. It reads the export only if the first interval may be too old.
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

// ageLine is the age line of the server, as far as it is known.
func (c *Client) ageLine(t BackfillTicket) coverage.AgeLine {
	switch {
	case t.Baseline != nil && t.Baseline.OfRuns:
		return coverage.AgeLineNone
	case c.core.api != nil && outgoing.RegionOf(c.core.api.String()) != "":
		return coverage.AgeLineOfCloud
	}
	return coverage.AgeLineAnywhere
}

// refuseOld says what a backfill or a retry that begins with an interval would do to the destination.
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

// startText is where an interval begins.
func startText(start time.Time) string {
	if start.IsZero() {
		return "beginning"
	}
	return outgoing.Time(start)
}

// consequence is what a second export of a range by other rows does to a destination.
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
