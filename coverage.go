package hogapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/pages"
	"github.com/hogapi/hogapi/ops"
)

// IntervalState says whether an interval of a batch export is exported, and if not, why.
type IntervalState string

// The states of an interval.
const (
	// IntervalCompleted means that completed runs cover the interval, with the rows that the schedule would choose.
	IntervalCompleted IntervalState = "completed"
	// IntervalByTimestamp means that completed runs cover the interval, but that some of them chose rows by their time, or
	// may have: rows that arrived late may be missing. In an object store, the earlier objects are gone.
	IntervalByTimestamp IntervalState = "completed_by_timestamp"
	// IntervalPartly means that completed runs cover only a part of the interval.
	IntervalPartly IntervalState = "partly_covered"
	// IntervalRunning means that a run is under way.
	IntervalRunning IntervalState = "running"
	// IntervalStuck means that a run is under way for longer than CoverageOptions.StuckAfter.
	IntervalStuck IntervalState = "stuck"
	// IntervalFailed means that the newest run failed.
	IntervalFailed IntervalState = "failed"
	// IntervalFailedBilling means that the newest run exported nothing because of the plan's limit. The service does
	// not repeat it.
	IntervalFailedBilling IntervalState = "failed_billing"
	// IntervalCancelled means that the newest run was cancelled.
	IntervalCancelled IntervalState = "cancelled"
	// IntervalNeverScheduled means that a run was due and never began, or that a change of the schedule left the time
	// out.
	IntervalNeverScheduled IntervalState = "never_scheduled"
	// IntervalPaused means that the export was paused.
	IntervalPaused IntervalState = "paused"
	// IntervalSkipped means that clocks skipped the hour at which the run would have begun.
	IntervalSkipped IntervalState = "skipped_by_clock_change"
	// IntervalNotDue means that the interval has ended, but that its run may still begin.
	IntervalNotDue IntervalState = "not_yet_due"
	// IntervalBeforeStart means that the interval ended before the export was created or its StartAt, or that the export
	// was made paused and never unpaused, as the second export of a repair.
	IntervalBeforeStart IntervalState = "before_start"
	// IntervalAfterEnd means that the interval ended after the export's EndAt.
	IntervalAfterEnd IntervalState = "after_end"
	// IntervalUnknown means that Coverage cannot tell: no run covers the interval, and the settings of that time or the
	// status of its run are not known.
	IntervalUnknown IntervalState = "cannot_tell"
)

// String returns the state in words, such as "failed billing".
func (s IntervalState) String() string { return coverage.InWords(s) }

// IsGap reports whether the interval is not exported and will not be without somebody's action.
func (s IntervalState) IsGap() bool { return coverage.State(s).IsGap() }

// Coverage says which intervals of a batch export are exported: the result of [BatchExportsService.Coverage]. It knows
// intervals, not rows. It can be stored as JSON and read again.
type Coverage struct {
	ExportID    uuid.UUID          `json:"export_id"`
	Name        string             `json:"name"`
	Model       Model              `json:"model"`
	Destination destination.Type   `json:"destination"`
	Interval    Interval           `json:"interval"`
	From        time.Time          `json:"from"`
	To          time.Time          `json:"to"`
	CheckedAt   time.Time          `json:"checked_at"` // by the service's clock
	Intervals   []CoverageInterval `json:"intervals"`  // in the order of their ends
	Notes       []string           `json:"notes"`      // what was not read, and what Coverage cannot know
}

// CoverageInterval is an interval of the schedule, or a time that no interval of it contains.
type CoverageInterval struct {
	Start   time.Time     `json:"start"`
	End     time.Time     `json:"end"` // not included
	State   IntervalState `json:"state"`
	Records *int64        `json:"records"` // of its completed runs; nil if the service does not say
	Bytes   *int64        `json:"bytes"`   // the same
	Runs    []CoverageRun `json:"runs"`    // that export a part of it, newest first
}

// CoverageRun is a run of an export, as far as the coverage depends on it.
type CoverageRun struct {
	ID        uuid.UUID  `json:"id"`
	Status    RunStatus  `json:"status"`
	Start     time.Time  `json:"start"` // zero: from the beginning of time
	End       time.Time  `json:"end"`
	CreatedAt time.Time  `json:"created_at"`
	Backfill  *uuid.UUID `json:"backfill"` // nil: of the schedule, or of an older server
	Records   *int64     `json:"records"`
	Bytes     *int64     `json:"bytes"`
	Rows      RowChoice  `json:"rows"`
}

// RowChoice says how the service chose the rows of a run.
type RowChoice string

// The choices of rows.
const (
	RowsAsScheduled RowChoice = "as_scheduled"
	RowsByTimestamp RowChoice = "by_timestamp" // events of an old backfill or retry: late rows may be missing
	RowsUnknown     RowChoice = "unknown"      // a backfill of sessions, which newer servers choose in another way
)

// CoverageOptions are the options of [BatchExportsService.Coverage].
type CoverageOptions struct {
	// From and To bound the ends of the intervals: later than From, up to To, and not later than now. The default is the
	// last 30 days, or the time since the export was created, until now.
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
	// is 5 days. On servers without records of backfills, every backfill chooses by timestamp.
	AgeLine time.Duration
}

// CoverageGap is a time that is not exported.
type CoverageGap struct {
	Start     time.Time       `json:"start"`
	End       time.Time       `json:"end"` // not included
	Intervals int             `json:"intervals"`
	States    []IntervalState `json:"states"` // of the intervals, each once
}

// Coverage finds out which intervals of an export are exported. It compares the intervals of the schedule with the
// runs, and names each interval that is not covered with the reason: a run that failed, was cancelled or never began,
// a pause, a change of the schedule or of clocks. Cover is the union of the completed runs. Coverage sends no data
// and changes nothing.
//
// The calendar is that of the service: minutes and hours in UTC, days and weeks in the export's timezone. The settings
// of the past come from the project's activity log, if the key has the scope activity_log:read. Without it, the
// settings are known since the last change only; before, Coverage takes the intervals from the runs, and a time
// without a run has the state [IntervalUnknown]. Coverage.Notes says so.
//
// Coverage knows intervals, not rows. Rows that reached the service's database late, rows that filters leave out, and
// rows that a destination dropped are not its matter. Filters may have changed: the service keeps no record of that.
//
// It reads the export, its runs since From (100 a call), the backfills of these runs (50 a call) and the newest
// entries of the activity log (1,000 a call, 100 on older servers; 10 calls). From a process that runs each day, pass yesterday's result as CoverageOptions.Since.
//
// GET /batch_exports/{id}/, …/runs/, …/backfills/, scope batch_export:read; GET /activity_log/, scope
// activity_log:read. [ErrNotFound] for an unknown export.
func (s *BatchExportsService) Coverage(ctx context.Context, exportID uuid.UUID, o *CoverageOptions, options ...CallOption) (*Coverage, error) {
	selected := orDefault(o)
	if err := cmp.Or(checkContext(ctx, ops.BatchExportsGet), refused(ops.BatchExportsGet, selected.check(exportID))); err != nil {
		return nil, err
	}
	r := &coverageReader{client: s.client, options: append(slices.Clip(options), onlyHeader), selected: selected}
	var err error
	if r.export, r.now, err = s.getAt(ctx, exportID, r.options); err != nil {
		return nil, err
	}
	return r.read(ctx)
}

// getAt returns an export, and the time by the service's clock.
func (s *BatchExportsService) getAt(ctx context.Context, id uuid.UUID, options []CallOption) (*BatchExport, time.Time, error) {
	var reply Reply
	export, err := s.Get(ctx, id, append(slices.Clip(options), WithReply(&reply))...)
	return export, httptry.DateOr(reply.Header, s.client.core.now()), err
}

func (o CoverageOptions) check(exportID uuid.UUID) *outgoing.Refusal {
	since := orDefault(o.Since)
	return cmp.Or(
		outgoing.Reversed("CoverageOptions.To", o.To, "From", o.From),
		outgoing.If(o.Since != nil && since.ExportID != exportID, "CoverageOptions.Since", since.ExportID.String(), "a coverage of the same export"),
		outgoing.If(o.Since != nil && !o.From.IsZero(), "CoverageOptions.From", "", "no From with Since, which has one"),
		outgoing.If(o.Since != nil && !o.To.IsZero() && o.To.Before(since.To), "CoverageOptions.To", "", "a time that is not before the To of Since"),
		outgoing.Durations(map[string]time.Duration{
			"CoverageOptions.Grace": o.Grace, "CoverageOptions.StuckAfter": o.StuckAfter, "CoverageOptions.AgeLine": o.AgeLine,
		}),
	)
}

// Defaults of CoverageOptions.
const (
	coverageDays = 30 * 24 * time.Hour
	defaultGrace = time.Hour
	defaultAge   = 5 * 24 * time.Hour
)

// coverageReader reads what the coverage of an export is made of.
type coverageReader struct {
	client   *Client
	options  []CallOption
	export   *BatchExport
	selected CoverageOptions
	now      time.Time
}

func (r *coverageReader) read(ctx context.Context) (*Coverage, error) {
	e, now := r.export, r.now
	c := &Coverage{
		ExportID: e.ID, Name: e.Name, Model: cmp.Or(e.Model, ModelEvents), Destination: e.Destination.Type, Interval: e.Interval,
		From: r.selected.From.UTC(), To: earliest(cmp.Or(r.selected.To.UTC(), now), now), CheckedAt: now, Intervals: []CoverageInterval{},
	}
	since := orDefault(r.selected.Since)
	c.From = cmp.Or(c.From, since.From, slices.MaxFunc([]time.Time{now.Add(-coverageDays), e.CreatedAt.UTC()}, time.Time.Compare))
	history, why, err := r.history(ctx)
	if err != nil {
		return nil, err
	}
	runs, err := r.runs(ctx, c.From, since)
	if err != nil {
		return nil, err
	}
	rules := coverage.Rules{
		Now: now, Grace: max(r.grace(), coverage.LongestDelay(string(e.Interval))), StuckAfter: cmp.Or(r.selected.StuckAfter, coverage.StuckAfter(string(e.Interval))),
		Replaces: coverage.IsObjectStore(string(e.Destination.Type)), CoversPast: e.model().AllRows,
	}
	facts := make([]coverage.Export, len(runs))
	for i := range runs {
		facts[i] = runs[i].facts(r.delay())
	}
	verdicts := rules.Assess(history, coverage.Span{Start: c.From, End: c.To}, e.CreatedAt.UTC(), facts)
	for _, v := range verdicts {
		x := CoverageInterval{Start: v.Start, End: v.End, State: IntervalState(v.State), Runs: []CoverageRun{}}
		for _, n := range v.Runs {
			x.Runs = append(x.Runs, runs[n])
		}
		x.count()
		c.Intervals = append(c.Intervals, x)
	}
	c.Notes = history.Notes(verdicts, why, c.Model == ModelEvents)
	return c, nil
}

// The activity log is read up to 10 pages. Servers before August 2026 have 100 entries on a page at most.
const (
	maxLogPages = 10
	maxLogPage  = 1000
)

// withoutLog are the statuses of the service where a key, a plan or a server has no activity log.
var withoutLog = []int{http.StatusPaymentRequired, http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed}

// history returns the settings of the past, as far as the activity log has them, and why it was not read.
func (r *coverageReader) history(ctx context.Context) (h coverage.History, why string, err error) {
	e := r.export
	list := endpoint(ops.ActivityLog).with(url.Values{
		"scope": {"BatchExport"}, "item_id": {e.ID.String()}, "page_size": {strconv.Itoa(maxLogPage)},
	})
	var log []coverage.Entry
	for entry, err := range walkByCursor[coverage.Entry](r.client, list, CursorOptions{MaxPages: maxLogPages}, r.options).All(ctx) {
		api, isAnswer := errors.AsType[*APIError](err)
		switch {
		case err == nil:
			log = append(log, entry)
		case errors.Is(err, pages.ErrPageLimit):
			why = fmt.Sprintf(" (only the newest %d entries of the activity log are read)", len(log))
		case isAnswer && slices.Contains(withoutLog, api.StatusCode):
			why = fmt.Sprintf(" (the activity log cannot be read: status %d; it needs the scope activity_log:read and, on PostHog Cloud, a plan with it)", api.StatusCode)
		default:
			return h, "", fromTheStart(err)
		}
	}
	now := coverage.Settings{
		Schedule: e.schedule(), Paused: e.Paused, Start: orDefault(e.StartAt).UTC(), Until: orDefault(e.EndAt).UTC(),
	}
	h = coverage.NewHistory(now, e.CreatedAt.UTC(), e.LastUpdatedAt.UTC(), log)
	h.Paused = orDefault(e.LastPausedAt).UTC()
	return h, why, nil
}

// runs returns the runs that were created since a time, and of the coverage to be continued the others.
func (r *coverageReader) runs(ctx context.Context, from time.Time, since Coverage) (all []CoverageRun, err error) {
	known := map[uuid.UUID]CoverageRun{}
	for _, x := range since.Intervals {
		for _, run := range x.Runs {
			known[run.ID] = run
		}
	}
	if r.selected.Since != nil {
		from = earliest(since.CheckedAt, since.To).Add(-coverage.ClocksApart)
		for _, run := range known {
			if !run.Status.IsTerminal() && run.CreatedAt.Before(from) {
				from = run.CreatedAt
			}
		}
	}
	list := RunListOptions{After: from, Ordering: RunsNewestFirst}.inAnyZone()
	for run, err := range r.client.Runs.All(ctx, r.export.ID, &list, r.options...) {
		if err != nil {
			return nil, fromTheStart(err)
		}
		if r.selected.Since == nil && run.CreatedAt.Before(from.Add(-coverage.ClocksApart)) { // so are the others; with Since, a day is read again
			break
		}
		if run.BatchExportOnDemand == nil {
			known[run.ID] = CoverageRun{
				ID: run.ID, Status: run.Status, Start: orDefault(run.DataIntervalStart).UTC(), End: run.DataIntervalEnd.UTC(), CreatedAt: run.CreatedAt.UTC(),
				Backfill: run.Backfill, Records: run.RecordsCompleted, Bytes: run.BytesExported, Rows: known[run.ID].Rows,
			}
		}
	}
	for _, run := range known {
		all = append(all, run)
	}
	slices.SortFunc(all, func(a, b CoverageRun) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), slices.Compare(a.ID[:], b.ID[:]))
	})
	return all, r.chooseRows(ctx, all)
}

// chooseRows finds out how the service chose the rows of each run. Runs of backfills of events depend on the start of
// the backfill.
func (r *coverageReader) chooseRows(ctx context.Context, runs []CoverageRun) error {
	open := map[uuid.UUID][]*CoverageRun{} // by backfill; uuid.Nil for late or second runs that name no backfill
	seen, choosing := coverage.Seen{}, r.export.model().Choosing
	for i := len(runs) - 1; i >= 0; i-- { // the oldest first: the schedule runs an interval once
		run := &runs[i]
		isFirst := seen.First(coverage.NewSpan(run.Start, run.End))
		isOfSchedule := run.Backfill == nil && isFirst && !run.isLate(r.delay())
		switch {
		case run.Rows != "":
		case isOfSchedule || choosing == coverage.LikeTheSchedule:
			run.Rows = RowsAsScheduled
		case choosing == coverage.ByTheServer:
			run.Rows = RowsUnknown
		default:
			open[orDefault(run.Backfill)] = append(open[orDefault(run.Backfill)], run)
		}
	}
	if len(open) == 0 {
		return nil
	}
	choose := func(id uuid.UUID, choice func(*CoverageRun) RowChoice) {
		for _, run := range open[id] {
			run.Rows = choice(run)
		}
		delete(open, id)
	}
	for b, err := range r.client.Backfills.All(ctx, r.export.ID, nil, r.options...) {
		if hasNoRecords(err) {
			choose(uuid.Nil, func(*CoverageRun) RowChoice { return RowsByTimestamp })
			break
		}
		if err != nil {
			return fromTheStart(err)
		}
		choose(b.ID, func(run *CoverageRun) RowChoice { return r.rowsSince(orDefault(b.StartAt), run) })
		if len(open) == 0 || len(open) == 1 && open[uuid.Nil] != nil {
			break
		}
	}
	choose(uuid.Nil, func(*CoverageRun) RowChoice { return RowsAsScheduled }) // the service keeps records: the schedule was late
	for id := range open {
		choose(id, func(run *CoverageRun) RowChoice { return r.rowsSince(run.Start, run) })
	}
	return nil
}

// rowsSince returns how the service chose the rows of a run of a backfill with this start.
func (r *coverageReader) rowsSince(start time.Time, run *CoverageRun) RowChoice {
	line := coverage.AgeLine(cmp.Or(r.selected.AgeLine, defaultAge))
	if line.IsPast(coverage.NewSpan(start, run.End).First(string(r.export.Interval)), run.CreatedAt) {
		return RowsByTimestamp
	}
	return RowsAsScheduled
}

// isLate reports whether the schedule has hardly begun the run, so long after the end of its interval.
func (run *CoverageRun) isLate(delay time.Duration) bool {
	return run.CreatedAt.After(run.End.Add(delay))
}

func (run *CoverageRun) facts(delay time.Duration) coverage.Export {
	return coverage.Export{
		ID: run.ID, Span: coverage.NewSpan(run.Start, run.End), Created: run.CreatedAt, Choice: coverage.ChoiceOf(string(run.Rows)),
		IsScheduled: run.Backfill == nil && !run.isLate(delay), Outcome: coverage.Outcomes[string(run.Status)],
	}
}

// count adds up the records and bytes of the newest completed run of each interval.
func (x *CoverageInterval) count() {
	seen := coverage.Seen{}
	for _, run := range x.Runs {
		span := coverage.NewSpan(run.Start, run.End)
		if run.Status == RunStatusCompleted && coverage.NewSpan(x.Start, x.End).Holds(span) && seen.First(span) {
			x.Records, x.Bytes = coverage.Sum(x.Records, run.Records), coverage.Sum(x.Bytes, run.Bytes)
		}
	}
}

// IsExported reports whether the service has exported every interval that is due, with the rows that the schedule
// would choose. It is true if no interval is due.
func (c *Coverage) IsExported() bool {
	return !slices.ContainsFunc(c.Intervals, func(x CoverageInterval) bool {
		return x.State.IsGap() || x.State == IntervalByTimestamp || x.State == IntervalRunning
	})
}

// Gaps returns the times that are not exported, and that nobody will export: see IntervalState.IsGap. Neighbouring intervals are one gap, and an interval of which a part is
// exported counts as a whole.
func (c *Coverage) Gaps() (gaps []CoverageGap) {
	for _, g := range coverage.Gaps(c.rows()) {
		gaps = append(gaps, CoverageGap{g.Start, g.End, g.Intervals, coverage.As[IntervalState](g.States)})
	}
	return gaps
}

func (c *Coverage) rows() []coverage.Row {
	rows := make([]coverage.Row, len(c.Intervals))
	for i, x := range c.Intervals {
		rows[i] = coverage.Row{Span: coverage.NewSpan(x.Start, x.End), State: coverage.State(x.State), Records: x.Records}
	}
	return rows
}

// String returns a table of the states, in the order of time, for people. Its last line says what is not exported.
func (c *Coverage) String() string {
	return coverage.Table(fmt.Sprintf("export %s: %s to %s, every %s, %s to %s UTC", mask.Shown(c.Name), c.Model, c.Destination,
		strings.TrimPrefix(string(c.Interval), "every "), c.From.Format(coverage.Clock), c.To.Format(coverage.Clock)), c.rows(), c.Notes)
}

func (e *BatchExport) model() coverage.Model {
	return coverage.ModelOf(string(e.Model), string(e.Destination.Type), orDefault(e.HogQLQuery))
}

func earliest(a, b time.Time) time.Time { return slices.MinFunc([]time.Time{a, b}, time.Time.Compare) }

// delay returns the longest time after the end of an interval at which the schedule begins its run.
func (r *coverageReader) delay() time.Duration {
	return coverage.LongestDelay(string(r.export.Interval)) + r.grace()
}

func (r *coverageReader) grace() time.Duration { return cmp.Or(r.selected.Grace, defaultGrace) }
