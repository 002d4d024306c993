package coverage

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/internal/bridge"
	calendar "github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// State says whether an interval of a batch export is exported, and if not, why.
type State string

// The states of an interval.
const (
	// StateCompleted means that completed runs cover the interval, with the rows that the schedule would choose.
	StateCompleted State = "completed"
	// StateByTimestamp means that completed runs cover the interval, but that some of them chose rows by their time, or
	// may have: rows that arrived late may be missing. In an object store, the earlier objects are gone.
	StateByTimestamp State = "completed_by_timestamp"
	// StatePartly means that completed runs cover only a part of the interval.
	StatePartly State = "partly_covered"
	// StateRunning means that a run is under way.
	StateRunning State = "running"
	// StateStuck means that a run is under way for longer than Options.StuckAfter.
	StateStuck State = "stuck"
	// StateFailed means that the newest run failed.
	StateFailed State = "failed"
	// StateRecordsFailed means that the newest run completed, but that some of its records failed. Only the service's
	// Workflows exports count these.
	StateRecordsFailed State = "records_failed"
	// StateFailedBilling means that the newest run exported nothing because of the plan's limit. The service does
	// not repeat it.
	StateFailedBilling State = "failed_billing"
	// StateCancelled means that the newest run was cancelled.
	StateCancelled State = "cancelled"
	// StateNeverScheduled means that a run was due and never began, or that a change of the schedule left the time
	// out.
	StateNeverScheduled State = "never_scheduled"
	// StatePaused means that the export was paused.
	StatePaused State = "paused"
	// StateSkipped means that clocks skipped the hour at which the run would have begun.
	StateSkipped State = "skipped_by_clock_change"
	// StateNotDue means that the interval has ended, but that its run may still begin.
	StateNotDue State = "not_yet_due"
	// StateBeforeStart means that the interval ended before the export was created or its StartAt, or that the export
	// was made paused and never unpaused, as the second export of a repair.
	StateBeforeStart State = "before_start"
	// StateAfterEnd means that the interval ended after the export's EndAt.
	StateAfterEnd State = "after_end"
	// StateUnknown means that Coverage cannot tell: no run covers the interval, and the settings of that time or the
	// status of its run are not known.
	StateUnknown State = "cannot_tell"
)

// String returns the state in words, such as "failed billing".
func (s State) String() string { return inWords(s) }

// IsGap reports whether the interval is not exported and will not be without somebody's action. StateUnknown is a gap;
// StateByTimestamp, StateRunning and StateNotDue are not.
func (s State) IsGap() bool {
	return !slices.Contains([]State{StateCompleted, StateByTimestamp, StateRunning, StateNotDue, StateBeforeStart, StateAfterEnd}, s)
}

// Coverage says which intervals of a batch export are exported: the result of [Of]. It knows
// intervals, not rows. It can be stored as JSON and read again.
type Coverage struct {
	ExportID    uuid.UUID        `json:"export_id"`
	Name        string           `json:"name"`
	Model       hogapi.Model     `json:"model"`
	Destination destination.Type `json:"destination"`
	Interval    hogapi.Interval  `json:"interval"`
	From        time.Time        `json:"from"`
	To          time.Time        `json:"to"`
	CheckedAt   time.Time        `json:"checked_at"` // by the service's clock
	Intervals   []Interval       `json:"intervals"`  // in the order of their ends
	Notes       []string         `json:"notes"`      // what was not read, and what Coverage cannot know
}

// Interval is an interval of the schedule, or a time that no interval of it contains.
type Interval struct {
	Start   time.Time `json:"start"`
	End     time.Time `json:"end"` // not included
	State   State     `json:"state"`
	Records *int64    `json:"records"` // of its completed runs; nil if the service does not say
	Bytes   *int64    `json:"bytes"`   // the same
	Runs    []Run     `json:"runs"`    // that export a part of it, newest first

	// Leftovers says that rows may be in the table once more than the state says, left by a run that did not complete or by
	// an earlier attempt: of a gap, some rows; of an interval that is exported, rows twice. See docs/exports.md.
	Leftovers bool `json:"leftovers,omitempty"`
	// ComparedAt is the time of a comparison of rows that has set State and Leftovers: earlier runs do not count.
	ComparedAt time.Time `json:"compared_at,omitzero"`
}

// Run is a run of an export, as far as the coverage depends on it.
type Run struct {
	ID        uuid.UUID        `json:"id"`
	Status    hogapi.RunStatus `json:"status"`
	Start     time.Time        `json:"start"` // zero: from the beginning of time
	End       time.Time        `json:"end"`
	CreatedAt time.Time        `json:"created_at"`
	Backfill  *uuid.UUID       `json:"backfill"` // nil: of the schedule, or of an older server
	Records   *int64           `json:"records"`
	Bytes     *int64           `json:"bytes"`
	Rows      RowChoice        `json:"rows"`

	RecordsFailed *int64 `json:"records_failed,omitempty"` // nil: the service does not say, or a stored coverage of v0.1.0
	Attempts      int    `json:"attempts,omitempty"`       // that began to write; 0: not known, or of no matter for the table
}

// RowChoice says how the service chose the rows of a run.
type RowChoice string

// The choices of rows.
const (
	RowsAsScheduled RowChoice = "as_scheduled"
	RowsByTimestamp RowChoice = "by_timestamp" // events of an old backfill or retry: late rows may be missing
	RowsUnknown     RowChoice = "unknown"      // a backfill of sessions, which newer servers choose in another way
)

// Options are the options of [Of].
type Options struct {
	// From and To bound the ends of the intervals: later than From, up to To, and not later than now. The default is the
	// last 30 days, or the time since the export was created, until now. From must lie in the past.
	From, To time.Time
	// Since is an earlier coverage of the same export, to be continued: only runs that are new since then are read.
	// From must be zero then, and To at least the To of the earlier coverage. The range grows: at times, begin without it.
	Since *Coverage
	// Grace is the time after the end of an interval in which a run may begin late. The default is 1 h. Where the service
	// may take longer to begin a run, Coverage waits as long: 24 h for weeks, as on older servers.
	Grace time.Duration
	// StuckAfter is the time after which a run that is under way is stuck. The default is 3 h or three intervals,
	// whichever is longer.
	StuckAfter time.Duration
	// AgeLine is the age of the events up to which a backfill or a retry chooses them as the schedule does. The default
	// is 7 days on PostHog Cloud and 5 days elsewhere, as for [hogapi.BackfillOptions]. On servers without records of backfills,
	// every backfill chooses by timestamp.
	AgeLine time.Duration
}

// Gap is a time that is not exported.
type Gap struct {
	Start     time.Time `json:"start"`
	End       time.Time `json:"end"` // not included
	Intervals int       `json:"intervals"`
	States    []State   `json:"states"` // of the intervals, each once
}

// Of finds out which intervals of an export's schedule are exported, and why the others are not. Cover is the union of the
// runs that completed with all of their records. It sends no data and changes nothing, and knows intervals, not rows. The
// settings of the past come from the activity log, if the key has the scope activity_log:read; without it, a time without
// a run can be [StateUnknown], which Coverage.Notes says. A process that runs each day passes the last result as
// Options.Since.
//
// GET /batch_exports/{id}/, …/runs/, …/backfills/, scope batch_export:read; GET /activity_log/, scope activity_log:read.
// [hogapi.ErrNotFound] for an unknown export.
func Of(ctx context.Context, client *hogapi.Client, exportID uuid.UUID, o *Options) (*Coverage, error) {
	selected := outgoing.OrDefault(o)
	root, err := bridge.Open(ctx, client, ops.BatchExportsCoverage, selected.check(exportID))
	if err != nil {
		return nil, err
	}
	r := &reader{service: service{client, root}, selected: selected}
	if r.export, r.now, err = r.getAt(ctx, exportID); err != nil {
		return nil, err
	}
	return r.read(ctx)
}

// service is a client and its internal calls.
type service struct {
	*hogapi.Client

	root bridge.Client
}

// getAt returns an export, and the time by the service's clock. Its Date has whole seconds, so an export that was changed a
// moment ago may show a later time.
func (s service) getAt(ctx context.Context, id uuid.UUID) (export, time.Time, error) {
	var reply hogapi.Reply
	e, err := s.BatchExports.Get(ctx, id, hogapi.WithReply(&reply))
	now := httptry.DateOr(reply.Header, s.root.Now())
	if changed := outgoing.OrDefault(e).LastUpdatedAt; err == nil && changed.After(now) && changed.Before(now.Add(calendar.ClocksApart)) {
		now = changed.UTC()
	}
	return export{e}, now, err
}

func (o Options) check(exportID uuid.UUID) *ops.InputError {
	since := outgoing.OrDefault(o.Since)
	return cmp.Or(
		outgoing.Reversed("Options.To", o.To, "From", o.From),
		outgoing.If(o.Since != nil && since.ExportID != exportID, "Options.Since", since.ExportID.String(), "a coverage of the same export"),
		outgoing.If(o.Since != nil && !o.From.IsZero(), "Options.From", "", "no From with Since, which has one"),
		outgoing.If(o.Since != nil && !o.To.IsZero() && o.To.Before(since.To), "Options.To", "", "a time that is not before the To of Since"),
		outgoing.Durations(map[string]time.Duration{
			"Options.Grace": o.Grace, "Options.StuckAfter": o.StuckAfter, "Options.AgeLine": o.AgeLine,
		}),
	)
}

// checkRange refuses a range that has no time, for which every answer would look good.
func (o Options) checkRange(from, to time.Time) *ops.InputError {
	isEmpty := !from.Before(to)
	return cmp.Or(
		outgoing.If(isEmpty && !o.From.IsZero(), "Options.From", outgoing.Time(from), "a time in the past: it is "+outgoing.Time(to)+" by the service's clock"),
		outgoing.If(isEmpty && !o.To.IsZero() && o.Since == nil, "Options.To", outgoing.Time(to), "From too: without it, the coverage begins at "+outgoing.Time(from)),
	)
}

// Defaults of Options.
const (
	defaultDays  = 30 * 24 * time.Hour
	defaultGrace = time.Hour
)

// IsExported reports whether the service has exported every interval that is due, and at least one, with the rows that the
// schedule would choose. It stays false while a run is under way, and where an interval is [StateByTimestamp], which no
// repair changes. A job asks Gaps: it is empty when nothing is left to repair.
func (c *Coverage) IsExported() bool {
	isCompleted := func(x Interval) bool { return x.State == StateCompleted }
	return slices.ContainsFunc(c.Intervals, isCompleted) && !slices.ContainsFunc(c.Intervals, func(x Interval) bool {
		return x.State.IsGap() || x.State == StateByTimestamp || x.State == StateRunning
	})
}

// Gaps returns the times that are not exported, or of which that is not known, and that nobody will export: see
// [State.IsGap]. It is the answer for a job: without a gap, nothing has to be repaired. Neighbouring intervals are one
// gap, and an interval that is exported in part counts as a whole.
func (c *Coverage) Gaps() (gaps []Gap) {
	for i := range c.Intervals {
		x, span := &c.Intervals[i], c.Intervals[i].span()
		if !x.State.IsGap() {
			continue
		}
		if last := len(gaps) - 1; last < 0 || span.Start.After(gaps[last].End) {
			gaps = append(gaps, Gap{Start: span.Start})
		}
		g := &gaps[len(gaps)-1]
		g.End = span.End
		g.Intervals++
		if !slices.Contains(g.States, x.State) {
			g.States = append(g.States, x.State)
		}
	}
	return gaps
}

// export is a batch export with the settings that its gaps depend on.
type export struct{ *hogapi.BatchExport }

func (e export) schedule() calendar.Schedule {
	return calendar.Schedule{
		Interval: string(e.Interval), Timezone: e.Timezone, Hour: outgoing.OrDefault(e.OffsetHour), Weekday: time.Weekday(outgoing.OrDefault(e.OffsetDay)),
	}
}

func (e export) isObjectStore() bool { return calendar.IsObjectStore(string(e.Destination.Type)) }

func (e export) model() calendar.Model {
	return calendar.ModelOf(string(e.Model), string(e.Destination.Type), outgoing.OrDefault(e.HogQLQuery))
}
