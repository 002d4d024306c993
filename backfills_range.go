package hogapi

import (
	"cmp"
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/endpoints"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
)

// Timestamp is one bound of a backfill: a date, an instant, the beginning of time, or an open end. On newer servers, daily
// and weekly exports take dates; all other exports take instants. [BatchExport.BackfillRange] returns the right
// form. The zero value is unset, and calls refuse it.
type Timestamp struct{ bound coverage.Bound }

// AtDate returns a calendar date in the export's timezone. A call refuses a date that does not exist, such as
// February 30.
func AtDate(year int, month time.Month, day int) Timestamp {
	return Timestamp{coverage.CalendarDate(year, month, day)}
}

// AtTime returns an instant, which is sent in UTC. For the zero time it returns an unset Timestamp.
func AtTime(t time.Time) Timestamp { return Timestamp{coverage.Instant(t)} }

// AtBeginning returns the start of a backfill that includes the oldest data, sent as null. Newer servers refuse it unless
// PostHog has enabled it for the team.
func AtBeginning() Timestamp { return Timestamp{coverage.Beginning()} }

// CaughtUp returns the open end of a backfill that runs until it has caught up with the schedule, and then unpauses the
// export; without an event since its start, nothing runs. Only exports to the destinations HTTP and NoOp take it.
func CaughtUp() Timestamp { return Timestamp{coverage.CaughtUp()} }

// IsZero reports whether the Timestamp is unset.
func (ts Timestamp) IsZero() bool { return ts.bound.IsUnset() }

// IsDate reports whether the Timestamp is a date.
func (ts Timestamp) IsDate() bool { return ts.bound.IsDate() }

// IsBeginning reports whether the Timestamp is [AtBeginning].
func (ts Timestamp) IsBeginning() bool { return ts.bound.IsBeginning() }

// IsCaughtUp reports whether the Timestamp is [CaughtUp].
func (ts Timestamp) IsCaughtUp() bool { return ts.bound.IsCaughtUp() }

// Time returns the instant, or midnight in UTC for a date. It returns the zero time for AtBeginning, for CaughtUp and for
// an unset Timestamp.
func (ts Timestamp) Time() time.Time { return ts.bound.Time() }

// String returns the form that is sent, "beginning", "caught_up", or "" when unset.
func (ts Timestamp) String() string { return ts.bound.String() }

// MarshalJSON writes a date, an RFC 3339 time in UTC, null for Beginning, or "caught_up" for CaughtUp. An unset Timestamp
// is an error: fields of this type need the tag option omitzero.
func (ts Timestamp) MarshalJSON() ([]byte, error) { return ts.bound.MarshalJSON() }

func (ts *Timestamp) UnmarshalJSON(b []byte) error { return ts.bound.UnmarshalJSON(b) }

// BackfillRange is the range of a backfill, from Start up to but not including End. Both are dates or instants, but Start
// may be [AtBeginning], and End [CaughtUp].
type BackfillRange struct {
	Start Timestamp `json:"start_at,omitzero"`
	End   Timestamp `json:"end_at,omitzero"`
}

// body is the range as the service takes it: an open end is null.
func (r BackfillRange) body() any {
	if !r.End.IsCaughtUp() {
		return r
	}
	return map[string]any{"start_at": r.Start, "end_at": nil}
}

// check refuses a range that no export can have.
func (r BackfillRange) check() *InputError {
	return r.bounds().Check()
}

func (r BackfillRange) bounds() coverage.Range {
	return coverage.Range{Start: r.Start.bound, End: r.End.bound}
}

// BackfillRange returns the range from one time up to another, in the form that this export takes: dates for a daily or
// weekly export with a timezone, for which both times must begin a day or a week of the export, and instants for all
// others. The error refuses a range that is not a whole number of the schedule's intervals: the service would export
// another one.
func (e *BatchExport) BackfillRange(from, to time.Time) (BackfillRange, error) {
	r, refusal := e.schedule().Range(from, to)
	return BackfillRange{Timestamp{r.Start}, Timestamp{r.End}}, refused("", refusal)
}

func (e *BatchExport) schedule() coverage.Schedule {
	return coverage.Schedule{
		Interval: string(e.Interval), Timezone: e.Timezone, Hour: outgoing.OrDefault(e.OffsetHour), Weekday: time.Weekday(outgoing.OrDefault(e.OffsetDay)),
	}
}

func (e *BatchExport) model() coverage.Model {
	return coverage.ModelOf(string(e.Model), string(e.Destination.Type), outgoing.OrDefault(e.HogQLQuery))
}

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

// checkBegin refuses a backfill or a retry whose bounds the service would move, or whose events are too old for the
// schedule's rule, unless the options allow that. It reads the export.
func (c *Client) checkBegin(
	ctx context.Context, op Op, t BackfillTicket, o *BackfillOptions, options []CallOption, first func(*BatchExport) (coverage.Span, *InputError),
) error {
	export, err := c.BatchExports.Get(ctx, t.ExportID, headersOf(options)...)
	if err != nil {
		return beforeSending(op, err)
	}
	span, refusal := first(export)
	refusal = cmp.Or(export.refuseOpenEnd(t), refusal)
	if refusal == nil && !outgoing.OrDefault(o).AcceptRowsByTimestamp {
		refusal = export.refuseOld(c.ageLine(t.hasRecords()), span, t)
	}
	return refused(op, refusal)
}

// refuseOpenEnd refuses a backfill without an end that the service would not take, or that nothing can follow to its end.
func (e *BatchExport) refuseOpenEnd(t BackfillTicket) *InputError {
	if !t.EndAt.IsCaughtUp() {
		return nil
	}
	kind := e.Destination.Type
	return cmp.Or(
		outgoing.If(kind != destination.TypeHTTP && kind != destination.TypeNoOp, "End", t.EndAt.String(),
			"a Date or an At: only exports to HTTP and NoOp destinations may have an open end, not "+mask.Clean(string(kind))),
		outgoing.If(!t.hasRecords(), "End", t.EndAt.String(), "a Date or an At: this server does not record backfills, so nothing would show that one without an end is over"),
	)
}

func (t *BackfillTicket) hasRecords() bool { return t.Baseline == nil || !t.Baseline.OfRuns }

// ageLine returns the line of a server, by its age and its host. It is the one for backfills, retries, unpauses, Coverage and
// coverage.MakePlan.
func (c *Client) ageLine(hasRecords bool) coverage.AgeLine {
	switch {
	case !hasRecords:
		return coverage.AgeLineNone
	case c.core.api != nil && outgoing.RegionOf(c.core.api.String()) != "":
		return coverage.AgeLineOfCloud
	}
	return coverage.AgeLineAnywhere
}

func (e *BatchExport) refuseOld(line coverage.AgeLine, first coverage.Span, t BackfillTicket) *InputError {
	return line.Refuse(coverage.Begin{
		Events: cmp.Or(e.Model, ModelEvents) == ModelEvents, Weekly: e.Interval == IntervalWeek, Destination: string(e.Destination.Type),
		First: first, Requested: t.RequestedAt, End: t.EndAt.Time(), Unpaused: t.Unpaused,
	})
}

// unpauseWithBackfill first reads the time of the export's last pause, where the backfill begins.
func (s *BatchExportsService) unpauseWithBackfill(ctx context.Context, r request, id uuid.UUID, accepts bool, options []CallOption) (*BackfillTicket, error) {
	reads := headersOf(options)
	export, err := s.Get(ctx, id, reads...)
	t := BackfillTicket{ExportID: id, Unpaused: true}
	if err == nil && export.Paused {
		var refusal *InputError
		if refusal, err = s.checkLastPause(ctx, export, reads); refusal != nil {
			return nil, refused(r.op.Name, refusal)
		}
		t.StartAt = AtTime(outgoing.OrDefault(export.LastPausedAt))
	}
	if err != nil {
		return nil, beforeSending(r.op.Name, err)
	}
	if t, err = s.client.newTicket(ctx, r.op.Name, t, options); err != nil {
		return nil, err
	}
	if export.Paused && !accepts {
		whole, _ := export.schedule().Whole(coverage.NewSpan(t.StartAt.Time(), t.RequestedAt))
		first := export.schedule().First(coverage.Range{Start: coverage.Instant(whole.Start)})
		if refusal := export.refuseOld(s.client.ageLine(t.hasRecords()), first, t); refusal != nil {
			return nil, refused(r.op.Name, refusal)
		}
	}
	r.body = map[string]bool{"backfill": true}
	r.op.Replay = endpoints.Never
	began := time.Now()
	err = s.client.call(ctx, r, nil, options...)
	if !export.Paused {
		return nil, err
	}
	end := t.RequestedAt.Add(time.Since(began) + time.Second) // RequestedAt is in whole seconds
	if !end.After(t.StartAt.Time()) {
		end = t.StartAt.Time().Add(time.Second) // by another clock
	}
	t.EndAt = AtTime(end)
	return t.result(err)
}

// checkLastPause refuses a backfill since the last pause, where the service knows no pause or only an earlier one: it
// would export the whole history, or some rows twice. An update that pauses an export does not set last_paused_at.
func (s *BatchExportsService) checkLastPause(ctx context.Context, e *BatchExport, options []CallOption) (*InputError, error) {
	const field, instead = "UnpauseOptions.Backfill", ". Unpause without a backfill, and then call coverage.MakePlan, or Backfill with a range"
	known := outgoing.OrDefault(e.LastPausedAt).UTC()
	if known.IsZero() {
		return outgoing.Refuse(field, "true", "an export with a last_paused_at: from this one, the service would export and bill the whole history"+instead), nil
	}
	line := known.Add(coverage.ClocksApart)
	if !e.LastUpdatedAt.After(line) {
		return nil, nil
	}
	h, _, err := s.client.history(ctx, e, options)
	since, ok := h.PausedSince()
	switch {
	case err != nil || ok && !since.After(line):
		return nil, err
	case ok:
		return outgoing.Refuse(field, "true", "an export with an up-to-date last_paused_at: it was paused by an update at "+outgoing.Time(since)+
			", and the service would begin at the pause before, at "+outgoing.Time(known)+instead), nil
	}
	return outgoing.Refuse(field, "true", "an export that was not changed since its last_paused_at, "+outgoing.Time(known)+
		", or a key that may read the activity log: an update may have paused it later, and the service would export rows again"+instead), nil
}
