package hogapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/pages"
	"github.com/hogapi/hogapi/internal/watch"
	"github.com/hogapi/hogapi/ops"
)

// Run is one execution of a batch export over an interval of data.
type Run struct {
	ID          uuid.UUID `json:"id"`
	BatchExport uuid.UUID `json:"batch_export"`
	Status      RunStatus `json:"status"`

	DataIntervalStart *time.Time `json:"data_interval_start"` // nil: from the beginning of time
	DataIntervalEnd   time.Time  `json:"data_interval_end"`

	RecordsCompleted  *int64  `json:"records_completed"`   // nil until it is known
	RecordsTotalCount *int64  `json:"records_total_count"` // nil until it is known
	LatestError       *string `json:"latest_error"`
	Cursor            *string `json:"cursor"`

	CreatedAt     time.Time  `json:"created_at"`
	LastUpdatedAt time.Time  `json:"last_updated_at"`
	FinishedAt    *time.Time `json:"finished_at"` // nil until the run has ended, and always for RunStatusFailedBilling

	// Newer servers only.
	Backfill            *uuid.UUID `json:"backfill"`       // the backfill that made the run
	BytesExported       *int64     `json:"bytes_exported"` // written to the destination
	RecordsFailed       *int64     `json:"records_failed"`
	BatchExportOnDemand *uuid.UUID `json:"batch_export_on_demand"`
}

func (r *Run) identity() string { return r.ID.String() }

func (r *Run) complete() error {
	return cmp.Or(has("id", r.ID), has("status", r.Status))
}

func (r *Run) span() coverage.Span {
	return coverage.NewSpan(outgoing.OrDefault(r.DataIntervalStart), r.DataIntervalEnd)
}

// RunStatus is the state of a run or of a backfill.
type RunStatus string

// The statuses that a run can have.
const (
	RunStatusStarting        RunStatus = "Starting"
	RunStatusRunning         RunStatus = "Running"
	RunStatusContinuedAsNew  RunStatus = "ContinuedAsNew" // still running
	RunStatusCompleted       RunStatus = "Completed"
	RunStatusFailed          RunStatus = "Failed"
	RunStatusFailedRetryable RunStatus = "FailedRetryable" // over: the service has made all of its own attempts
	RunStatusFailedBilling   RunStatus = "FailedBilling"   // not in PostHog's API reference
	RunStatusCancelled       RunStatus = "Cancelled"       // until it has a FinishedAt, the run continues, and may end in another way
	RunStatusTerminated      RunStatus = "Terminated"
	RunStatusTimedOut        RunStatus = "TimedOut"
)

var (
	openStatuses   = []RunStatus{RunStatusStarting, RunStatusRunning, RunStatusContinuedAsNew}
	failedStatuses = []RunStatus{RunStatusFailed, RunStatusFailedRetryable, RunStatusFailedBilling, RunStatusTerminated, RunStatusTimedOut}
	runStatuses    = slices.Concat(openStatuses, failedStatuses, []RunStatus{RunStatusCompleted, RunStatusCancelled})
)

// IsKnown reports whether s is a constant of this package.
func (s RunStatus) IsKnown() bool { return isKnown(s, runStatuses) }

// IsTerminal reports whether the status is final. It returns false for an unknown status.
func (s RunStatus) IsTerminal() bool { return s.IsKnown() && !s.goesOn() }

// goesOn reports whether the run has not ended, as far as the status is known.
func (s RunStatus) goesOn() bool { return coverage.IsOpen(s) }

// IsFailure reports whether the run is over and has failed. A cancelled run has not failed.
func (s RunStatus) IsFailure() bool { return isKnown(s, failedStatuses) }

// RunOrdering is the order of a list of runs.
type RunOrdering string

// The orders that the service knows. The orders by interval leave out runs without a start of their interval.
const (
	RunsNewestFirst        RunOrdering = "-created_at" // the default
	RunsOldestFirst        RunOrdering = "created_at"
	RunsByInterval         RunOrdering = "data_interval_start"
	RunsByIntervalBackward RunOrdering = "-data_interval_start"
)

var intervalOrders = []RunOrdering{RunsByInterval, RunsByIntervalBackward}

// RunListOptions selects runs. Without After, Before, Start and End, runs of any age are listed; the service's own
// default, the last 7 days, is never used. Old servers read times in the project's time zone instead of UTC.
type RunListOptions struct {
	CursorOptions

	After, Before time.Time   // bounds of the time of the run's creation; for the orders by creation
	Start, End    time.Time   // bounds of the run's interval; for the orders by interval
	Ordering      RunOrdering // default: newest first; by interval backwards when Start or End is set
	// Statuses selects runs by status. Old servers ignore it, so this package filters too: a page may then have
	// fewer runs, or no run. Newer servers refuse a status that they do not know ([ErrInvalid]). By default, runs of
	// every status are listed.
	Statuses []RunStatus
}

// farPast and farFuture are sent if there is no bound.
const (
	farPast   = "1970-01-01T00:00:00Z"
	farFuture = "2200-01-01T00:00:00Z"
)

// check refuses options that the service would silently ignore or answer with an empty list.
func (o RunListOptions) check() *InputError {
	for _, s := range o.Statuses {
		if refusal := outgoing.Misspelt("Statuses", s, runStatuses); refusal != nil {
			return refusal
		}
	}
	byCreation, byInterval := !o.After.IsZero() || !o.Before.IsZero(), !o.Start.IsZero() || !o.End.IsZero()
	creationOrder, intervalOrder := o.Ordering == RunsNewestFirst || o.Ordering == RunsOldestFirst, slices.Contains(intervalOrders, o.Ordering)
	want := ""
	switch {
	case byCreation && byInterval:
		return outgoing.Refuse("Start", "", "either After and Before or Start and End: the service uses one pair and ignores the other")
	case o.Ordering != "" && !creationOrder && !intervalOrder:
		want = "one of created_at, -created_at, data_interval_start, -data_interval_start"
	case byCreation && intervalOrder:
		want = "an order by creation with After and Before; orders by interval use Start and End"
	case byInterval && creationOrder:
		want = "an order by interval with Start and End; orders by creation use After and Before"
	}
	if want != "" {
		return outgoing.Refuse("Ordering", string(o.Ordering), want)
	}
	return cmp.Or(
		outgoing.Reversed("Before", o.Before, "After", o.After),
		outgoing.Reversed("End", o.End, "Start", o.Start),
		o.CursorOptions.check(),
	)
}

func (o RunListOptions) query() url.Values {
	ordering, q := o.Ordering, maps.Clone(allRuns)
	if ordering == "" && (!o.Start.IsZero() || !o.End.IsZero()) {
		ordering = RunsByIntervalBackward
	}
	if slices.Contains(intervalOrders, ordering) {
		q = url.Values{"start": {farPast}, "end": {farFuture}}
	}
	if ordering != "" {
		q.Set("ordering", string(ordering))
	}
	outgoing.SetTime(q, "start", o.Start)
	outgoing.SetTime(q, "end", o.End)
	outgoing.SetTime(q, "after", o.After)
	outgoing.SetTime(q, "before", o.Before)
	for _, s := range o.Statuses {
		q.Add("status", string(s))
	}
	return q
}

// inAnyZone asks for a day more on each side, since old servers read times in the project's zone: filter the runs
// again.
func (o RunListOptions) inAnyZone() RunListOptions {
	for t, d := range map[*time.Time]time.Duration{
		&o.After: -coverage.ZonesApart, &o.Before: coverage.ZonesApart, &o.Start: -coverage.ZonesApart, &o.End: coverage.ZonesApart,
	} {
		if !t.IsZero() {
			*t = t.Add(d)
		}
	}
	return o
}

// allRuns is the query of the calls on one run. Without it, the service would hide runs older than 7 days.
var allRuns = url.Values{"after": {farPast}}

// RunsService is [Client.Runs]: it reads, cancels, retries and follows the runs of batch exports.
type RunsService service

// List returns one page of up to 100 runs. For an unknown export the page is empty, without an error. GET
// /batch_exports/{batch_export_id}/runs/, scope batch_export:read.
func (s *RunsService) List(ctx context.Context, exportID uuid.UUID, o *RunListOptions, options ...CallOption) (*CursorPage[Run], error) {
	return s.walk(exportID, o, options).One(ctx)
}

// Pages yields the pages of List.
func (s *RunsService) Pages(ctx context.Context, exportID uuid.UUID, o *RunListOptions, options ...CallOption) iter.Seq2[*CursorPage[Run], error] {
	return s.walk(exportID, o, options).Pages(ctx)
}

// All yields the selected runs. The error that ends it is a [*PageError], which says where to resume, or an
// [*InputError], before anything is sent.
func (s *RunsService) All(ctx context.Context, exportID uuid.UUID, o *RunListOptions, options ...CallOption) iter.Seq2[Run, error] {
	return s.walk(exportID, o, options).All(ctx)
}

// LatestFailed yields the newest run of each interval if that run failed: a failed run keeps its status after a
// successful retry. Intervals that are being exported again, or with a cancelled newest run, are left out. The options
// After, Before and Statuses select runs; the others are refused, since the newest runs must be read first. It cannot
// resume, and remembers each interval in about 40 bytes.
func (s *RunsService) LatestFailed(ctx context.Context, exportID uuid.UUID, o *RunListOptions, options ...CallOption) iter.Seq2[Run, error] {
	selected := outgoing.OrDefault(o)
	if refusal := selected.checkFailed(); refusal != nil {
		return pages.Failed[Run](refused(ops.RunsList, refusal))
	}
	list := RunListOptions{CursorOptions: selected.CursorOptions, After: selected.After}.inAnyZone()
	return func(yield func(Run, error) bool) {
		seen := coverage.Seen{}
		for run, err := range s.All(ctx, exportID, &list, options...) {
			if err != nil {
				yield(Run{}, fromTheStart(err))
				return
			}
			if seen.First(run.span()) && run.Status.IsFailure() && selected.includes(run) && !yield(run, nil) {
				return
			}
		}
	}
}

func (o RunListOptions) checkFailed() *InputError {
	const begin = ": the walk must begin with the newest run of each interval"
	return cmp.Or(
		outgoing.If(o.Ordering != "" && o.Ordering != RunsNewestFirst, "Ordering", "", "newest first"+begin),
		outgoing.If(o.Cursor != "", "Cursor", "", "an empty cursor"+begin),
		outgoing.If(!o.Start.IsZero() || !o.End.IsZero(), "Start", "", "After and Before: failed runs are found by their creation"),
		o.check(),
	)
}

// fromTheStart removes the resume point from the error of a walk that can only start again. The error of a row ends it.
func fromTheStart(err error) error {
	if row, ok := errors.AsType[*RowError](err); ok {
		return row.Err
	}
	if failed, ok := errors.AsType[*PageError](err); ok {
		failed.Cursor = ""
	}
	return err
}

func (s *RunsService) walk(exportID uuid.UUID, o *RunListOptions, options []CallOption) cursorWalk[Run] {
	selected := outgoing.OrDefault(o)
	r := endpointByID(ops.RunsList, exportID).refuse(selected.check()).with(selected.query())
	w := walkByCursor[Run](s.client, r, selected.CursorOptions, options)
	if len(selected.Statuses) > 0 {
		statuses, fetch := slices.Clone(selected.Statuses), w.Fetch
		w.Fetch = func(ctx context.Context, at pages.Place) pages.Fetched[*CursorPage[Run]] {
			got := fetch(ctx, at)
			if got.Page != nil { // old servers do not filter; links stay as they are
				got.Page.Results, got.Err = keepRows(got.Page.Results, got.Err, func(r *Run) bool { return slices.Contains(statuses, r.Status) })
			}
			return got
		}
	}
	return w
}

// Get returns one run, however old: GET /batch_exports/{batch_export_id}/runs/{id}/, scope batch_export:read.
func (s *RunsService) Get(ctx context.Context, exportID, runID uuid.UUID, options ...CallOption) (*Run, error) {
	return ask[Run](ctx, s.client, endpointByID(ops.RunsGet, exportID, runID).with(allRuns), options)
}

// Cancel ends a run that is under way, and waits up to two minutes until it has a FinishedAt: until then, a backfill of
// its time gets no run of its own. A run that ended in another way is a [*RunError], and one that is not over by then an
// [*OutcomeUnknownError]. For a run that was over before, newer servers answer 400 ([ErrInvalid]) and old ones perhaps
// 500. The call is not repeated if its outcome is unknown.
//
// POST /batch_exports/{batch_export_id}/runs/{id}/cancel/ and GET …/runs/{id}/, scope batch_export:write.
func (s *RunsService) Cancel(ctx context.Context, exportID, runID uuid.UUID, options ...CallOption) error {
	r := endpointByID(ops.RunsCancel, exportID, runID).with(allRuns)
	if err := s.client.call(ctx, r, nil, options...); err != nil {
		return err
	}
	run, err := s.ended(ctx, exportID, runID, headersOf(options))
	switch {
	case err == nil && run.isFinal() && run.Status != RunStatusCancelled:
		return &RunError{Run: run, reason: "was not cancelled: "}
	case err == nil && !run.isFinal():
		err = fmt.Errorf("the service accepted the call, but run %s is not over after %v; its status is %s", run.ID, watch.CancelPatience, mask.Clean(string(run.Status)))
	}
	if err != nil {
		return &OutcomeUnknownError{CallInfo: r.info(1), Err: err}
	}
	return nil
}

// isFinal reports whether the status of a run stays.
func (r *Run) isFinal() bool { return coverage.IsFinal(r.Status, r.FinishedAt) }

// ended waits until a run is over, for a time.
func (s *RunsService) ended(ctx context.Context, exportID, runID uuid.UUID, options []CallOption) (*Run, error) {
	began, pause := time.Now(), time.Second
	for {
		run, err := s.Get(ctx, exportID, runID, options...)
		if err != nil || run.isFinal() || time.Since(began) >= watch.CancelPatience {
			return run, err
		}
		if !watch.Sleep(ctx, pause) {
			return run, context.Cause(ctx)
		}
		pause = min(2*pause, 10*time.Second)
	}
}

// Retry exports the time of a run again, however the run ended, as a backfill of the intervals of today's schedule,
// with the effects of [BatchExportsService.Backfill] and its refusals, also of a run with bounds that do not fit
// today's schedule. The old run keeps its status. Retry first reads the run, the export and earlier retries, and sends
// nothing if that fails. It is not repeated if its outcome is unknown: [BackfillsService.Wait] takes the ticket of the
// [*OutcomeUnknownError] too.
//
// POST /batch_exports/{batch_export_id}/runs/{id}/retry/, scope batch_export:write.
func (s *RunsService) Retry(ctx context.Context, exportID, runID uuid.UUID, o *BackfillOptions, options ...CallOption) (*BackfillTicket, error) {
	r := endpointByID(ops.RunsRetry, exportID, runID).with(allRuns)
	if err := r.check(ctx); err != nil {
		return nil, err
	}
	ticket, err := s.client.newTicket(ctx, ops.RunsRetry, BackfillTicket{ExportID: exportID, RetriedRun: runID}, options)
	if err != nil {
		return nil, err
	}
	run, err := s.Get(ctx, exportID, runID, headersOf(options)...)
	if err != nil {
		err = beforeSending(ops.RunsRetry, err)
	} else {
		err = s.client.checkBegin(ctx, ops.RunsRetry, ticket, o, options, func(e *BatchExport) (coverage.Span, *InputError) {
			return run.span(), e.schedule().CheckRetry(run.span())
		})
	}
	if err != nil {
		return nil, err
	}
	return s.client.begin(ctx, r, ticket, options)
}

// Logs returns one page of the log of a run, newest entry first. The newest servers answer 500: read the log of the
// export, with After and Before of the run. LogOptions.After also applies to the creation of the run: an older one is not
// found.
//
// GET /batch_exports/{batch_export_id}/runs/{id}/logs/, scope batch_export:read. [ErrUnsupported] on older servers.
func (s *RunsService) Logs(ctx context.Context, exportID, runID uuid.UUID, o *LogOptions, options ...CallOption) (*LogPage, error) {
	return s.client.logs(ctx, endpointByID(ops.RunsLogs, exportID, runID).with(allRuns), o, options...)
}
