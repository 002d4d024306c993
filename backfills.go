package hogapi

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/endpoints"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/watch"
	"github.com/hogapi/hogapi/ops"
)

// Backfill is the service's record of a backfill or of a retry of a run. Servers as old as PostHog's API
// reference keep no such records.
type Backfill struct {
	ID                uuid.UUID         `json:"id"`
	TeamID            int64             `json:"team"`
	BatchExport       uuid.UUID         `json:"batch_export"`
	StartAt           *time.Time        `json:"start_at"` // nil: from the beginning of time
	EndAt             *time.Time        `json:"end_at"`
	Status            RunStatus         `json:"status"` // of the backfill itself: Completed even if runs of it failed
	CreatedAt         time.Time         `json:"created_at"`
	FinishedAt        *time.Time        `json:"finished_at"`
	LastUpdatedAt     time.Time         `json:"last_updated_at"`
	TotalRecordsCount *int64            `json:"total_records_count"` // 0: nothing to export, so nothing ran
	AdjustedStartAt   *time.Time        `json:"adjusted_start_at"`   // where the data begins, if later than StartAt
	Progress          *BackfillProgress `json:"progress"`
}

func (b *Backfill) complete() error { return cmp.Or(hasID(b.ID), hasText(string(b.Status), "status")) }

func (b *Backfill) span() coverage.Span {
	return coverage.NewSpan(orDefault(b.StartAt), orDefault(b.EndAt))
}

// mark returns the values that are compared to detect a change of the record.
func (b *Backfill) mark() watch.Mark {
	p := orDefault(b.Progress)
	return watch.NewMark(b.Status, b.TotalRecordsCount, p.TotalRuns, p.FinishedRuns)
}

// BackfillProgress is the service's own count of a backfill's progress.
type BackfillProgress struct {
	TotalRuns    *int64   `json:"total_runs"`
	FinishedRuns *int64   `json:"finished_runs"`
	Progress     *float64 `json:"progress"` // 0 to 1
}

// BackfillOrdering is the order of a list of backfills.
type BackfillOrdering string

// The orders that the service knows.
const (
	BackfillsNewestFirst     BackfillOrdering = "-created_at"
	BackfillsOldestFirst     BackfillOrdering = "created_at"
	BackfillsByStart         BackfillOrdering = "start_at"
	BackfillsByStartBackward BackfillOrdering = "-start_at"
)

var backfillOrderings = []BackfillOrdering{BackfillsNewestFirst, BackfillsOldestFirst, BackfillsByStart, BackfillsByStartBackward}

// BackfillListOptions selects and orders backfills.
type BackfillListOptions struct {
	CursorOptions

	Ordering BackfillOrdering // default: newest first
}

// Backfill exports a range, even if it was exported before. It calls the endpoint of PostHog's API reference
// and, if the server does not have it, the newer endpoint of [BackfillsService.Create]. The runs begin one
// after another; follow them with [BackfillsService.Wait].
//
// The service does not compare the range with earlier exports. Events that the destination already has arrive a
// second time, also where a backfill overlaps with the schedule. On an object store, the new objects of an
// interval replace the old ones.
//
// If a backfill of the model events begins with an old interval, the error is an [*InputError] unless
// BackfillOptions.AcceptRowsByTimestamp is set. Backfills of other models need no option: persons are exported
// in their newest state, sessions are chosen by their end, and a HogQL query chooses its rows itself.
//
// Backfill first reads the records of earlier backfills, so that Wait does not take one of them for the new
// backfill, and the export if the range may be old: one to three calls. If one fails, Backfill sends nothing.
//
// The call is not repeated if its outcome is unknown. Backfill then returns the ticket with the
// [*OutcomeUnknownError], and Wait finds out whether the backfill began. [ErrTooManyBackfills] means that other
// backfills must end first.
//
// POST /batch_exports/{id}/backfill/, scope batch_export:write.
func (s *BatchExportsService) Backfill(ctx context.Context, exportID uuid.UUID, r BackfillRange, o *BackfillOptions, options ...CallOption) (*BackfillTicket, error) {
	return s.client.backfill(ctx, exportID, r, o, options, ops.BatchExportsBackfill, ops.BackfillsCreate)
}

// BackfillsService follows backfills and retries, and manages backfills with a newer resource that PostHog's
// API reference does not list: [Client.Backfills]. On old servers, which do not have the resource, List, Get,
// Create and Cancel return [ErrUnsupported].
type BackfillsService service

// List returns one page of up to 50 backfills. For an unknown export the page is empty, without an error.
//
// GET /batch_exports/{batch_export_id}/backfills/, scope batch_export:read.
func (s *BackfillsService) List(ctx context.Context, exportID uuid.UUID, o *BackfillListOptions, options ...CallOption) (*CursorPage[Backfill], error) {
	return s.walk(exportID, o, options).One(ctx)
}

// Pages yields the pages of List.
func (s *BackfillsService) Pages(ctx context.Context, exportID uuid.UUID, o *BackfillListOptions, options ...CallOption) iter.Seq2[*CursorPage[Backfill], error] {
	return s.walk(exportID, o, options).Pages(ctx)
}

// All yields all backfills. An error comes once, last, as a [*PageError] that says where to resume.
func (s *BackfillsService) All(ctx context.Context, exportID uuid.UUID, o *BackfillListOptions, options ...CallOption) iter.Seq2[Backfill, error] {
	return s.walk(exportID, o, options).All(ctx)
}

func (s *BackfillsService) walk(exportID uuid.UUID, o *BackfillListOptions, options []CallOption) cursorWalk[Backfill] {
	selected := orDefault(o)
	selected.Ordering = cmp.Or(selected.Ordering, BackfillsNewestFirst)
	query := url.Values{"ordering": {string(selected.Ordering)}}
	r := endpointByID(ops.BackfillsList, exportID).refuse(selected.check()).with(query)
	return walkByCursor[Backfill](s.client, r, selected.CursorOptions, options)
}

func (o BackfillListOptions) check() *outgoing.Refusal {
	if !isKnown(o.Ordering, backfillOrderings) {
		return outgoing.Refuse("Ordering", string(o.Ordering), "one of created_at, -created_at, start_at, -start_at")
	}
	return nil
}

// Get returns one backfill. The service writes the record a moment after the request; until then the error is
// [ErrNotFound].
//
// GET /batch_exports/{batch_export_id}/backfills/{id}/, scope batch_export:read.
func (s *BackfillsService) Get(ctx context.Context, exportID, backfillID uuid.UUID, options ...CallOption) (*Backfill, error) {
	isAsked := func(b *Backfill) error { return isAskedFor("id", b.ID, backfillID) }
	return fetchMatching(ctx, s.client, endpointByID(ops.BackfillsGet, exportID, backfillID), options, isAsked)
}

// Create is [BatchExportsService.Backfill] without the older endpoint.
//
// POST /batch_exports/{batch_export_id}/backfills/, scope batch_export:write.
func (s *BackfillsService) Create(ctx context.Context, exportID uuid.UUID, r BackfillRange, o *BackfillOptions, options ...CallOption) (*BackfillTicket, error) {
	return s.client.backfill(ctx, exportID, r, o, options, ops.BackfillsCreate)
}

// Cancel ends a backfill that is under way, and its current run. For a backfill that is over, the error is
// [ErrInvalid].
//
// POST /batch_exports/{batch_export_id}/backfills/{id}/cancel/, scope batch_export:write.
func (s *BackfillsService) Cancel(ctx context.Context, exportID, backfillID uuid.UUID, options ...CallOption) error {
	return s.client.call(ctx, endpointByID(ops.BackfillsCancel, exportID, backfillID), nil, options...)
}

// backfill starts a backfill with the first of the endpoints that the service has.
func (c *Client) backfill(ctx context.Context, exportID uuid.UUID, r BackfillRange, o *BackfillOptions, options []CallOption, in ...Op) (ticket *BackfillTicket, err error) {
	if err := endpointByID(in[0], exportID).refuse(r.check()).check(ctx); err != nil {
		return nil, err
	}
	t, err := c.newTicket(ctx, in[0], BackfillTicket{ExportID: exportID, StartAt: r.Start, EndAt: r.End}, options)
	if err == nil && !orDefault(o).AcceptRowsByTimestamp {
		err = c.checkAge(ctx, in[0], t, func(e *BatchExport) coverage.Span { return e.schedule().First(r.bounds()) }, options)
	}
	if err != nil {
		return nil, err
	}
	for _, op := range in {
		req := endpointByID(op, exportID)
		req.body = r
		if ticket, err = c.begin(ctx, req, t, options); !isUnknownEndpoint(err) {
			return ticket, err
		}
	}
	return ticket, err
}

// begin sends the request that starts a backfill or a retry, and completes its ticket.
func (c *Client) begin(ctx context.Context, r request, t BackfillTicket, options []CallOption) (*BackfillTicket, error) {
	var out struct {
		BackfillID string `json:"backfill_id"`
	}
	r.lenient = true
	err := c.call(ctx, r, &out, options...)
	t.BackfillID = out.BackfillID
	return t.result(err)
}

// newTicket reads the baseline just before a request is sent. It costs one read, or two where the service keeps
// no records of backfills.
func (c *Client) newTicket(ctx context.Context, op Op, t BackfillTicket, options []CallOption) (BackfillTicket, error) {
	cfg, err := configOf(op, options)
	if err != nil {
		return t, err
	}
	cfg.emptyReply()
	var reply Reply
	options = append(slices.Clip(options), onlyHeader, WithReply(&reply))
	t.RequestedAt = c.core.now().UTC()
	records, err := c.Backfills.List(ctx, t.ExportID, nil, options...)
	switch {
	case err == nil:
		key := func(b Backfill) (uuid.UUID, time.Time) { return b.ID, b.CreatedAt }
		t.Baseline = new(BackfillBaseline(coverage.BaselineOf(records.Results, records.Next == nil, key)))
	case hasNoRecords(err):
		var runs *CursorPage[Run]
		if runs, err = c.Runs.List(ctx, t.ExportID, &RunListOptions{Ordering: RunsNewestFirst}, options...); err == nil {
			t.Baseline = new(baselineOfRuns(runs))
		}
	}
	if err != nil {
		return t, beforeSending(op, err)
	}
	if date, err := http.ParseTime(reply.Header.Get("Date")); err == nil {
		t.RequestedAt = date.UTC()
	}
	return t, nil
}

// emptyReply empties the caller's Reply, which may hold the answer of an earlier call.
func (cfg *callConfig) emptyReply() {
	if cfg.reply != nil {
		*cfg.reply = Reply{}
	}
}

// onlyHeader keeps the headers of a call's options and drops the rest, for a read that comes before the call.
func onlyHeader(cfg *callConfig) { *cfg = callConfig{header: cfg.header} }

func baselineOfRuns(page *CursorPage[Run]) BackfillBaseline {
	key := func(r Run) (uuid.UUID, time.Time) { return r.ID, r.CreatedAt }
	b := coverage.BaselineOf(page.Results, page.Next == nil, key)
	b.OfRuns = true
	for _, run := range page.Results {
		if run.Status.goesOn() {
			b.Running = append(b.Running, run.ID)
		}
	}
	return BackfillBaseline(b)
}

// hasNoRecords reports whether a list of backfills failed because the service has no such resource. The list of
// an unknown export is empty instead.
func hasNoRecords(err error) bool {
	api, ok := errors.AsType[*APIError](err)
	return ok && (api.StatusCode == http.StatusNotFound || api.StatusCode == http.StatusMethodNotAllowed)
}

// beforeSending returns the error of a call that could not read something before it sends its own request.
func beforeSending(op Op, err error) error {
	if refused, ok := errors.AsType[*InputError](err); ok {
		refused.Op = op
		return refused
	}
	return errtext.Errorf("%s: nothing was sent, because reading what was there before failed: %v", op, err)
}

// result returns the values of the call that began a backfill or a retry. Of all errors, only an
// OutcomeUnknownError comes with a ticket.
func (t BackfillTicket) result(err error) (*BackfillTicket, error) {
	unknown, ok := errors.AsType[*OutcomeUnknownError](err)
	if err != nil && !ok {
		return nil, err
	}
	t.OutcomeUnknown = ok && !unknown.Done
	return &t, err
}

// unpauseWithBackfill first reads the time of the export's last pause, where the backfill begins.
func (s *BatchExportsService) unpauseWithBackfill(ctx context.Context, r request, id uuid.UUID, accepts bool, options []CallOption) (*BackfillTicket, error) {
	export, err := s.Get(ctx, id, append(slices.Clip(options), onlyHeader)...)
	if err != nil {
		return nil, beforeSending(r.op.Name, err)
	}
	t := BackfillTicket{ExportID: id, StartAt: Beginning(), Unpaused: true}
	if export.LastPausedAt != nil {
		t.StartAt = At(*export.LastPausedAt)
	}
	if t, err = s.client.newTicket(ctx, r.op.Name, t, options); err != nil {
		return nil, err
	}
	if export.Paused && !accepts {
		first := export.schedule().First(coverage.Range{Start: t.StartAt.bound})
		if refusal := export.refuseOld(s.client.ageLine(t), first, t); refusal != nil {
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
	t.EndAt = At(end)
	return t.result(err)
}

// Timestamp is one bound of a backfill: a date, an instant or the beginning of time. On newer servers, daily
// and weekly exports take dates; all other exports take instants. [BatchExport.BackfillRange] returns the right
// form. The zero value is unset, and calls refuse it.
type Timestamp struct{ bound coverage.Bound }

// Date returns a calendar date in the export's timezone. A call refuses a date that does not exist, such as
// February 30.
func Date(year int, month time.Month, day int) Timestamp {
	return Timestamp{coverage.CalendarDate(year, month, day)}
}

// At returns an instant, which is sent in UTC. For the zero time it returns an unset Timestamp.
func At(t time.Time) Timestamp { return Timestamp{coverage.Instant(t)} }

// Beginning returns the start of a backfill that includes the oldest data. It is sent as null.
func Beginning() Timestamp { return Timestamp{coverage.Beginning()} }

// IsZero reports whether the Timestamp is unset.
func (ts Timestamp) IsZero() bool { return ts.bound.IsUnset() }

// IsDate reports whether the Timestamp is a date.
func (ts Timestamp) IsDate() bool { return ts.bound.IsDate() }

// IsBeginning reports whether the Timestamp is [Beginning].
func (ts Timestamp) IsBeginning() bool { return ts.bound.IsBeginning() }

// Time returns the instant, or midnight in UTC for a date. It returns the zero time for Beginning and for an
// unset Timestamp.
func (ts Timestamp) Time() time.Time { return ts.bound.Time() }

// String returns the form that is sent, "beginning", or "" when unset.
func (ts Timestamp) String() string { return ts.bound.String() }

// MarshalJSON writes a date, an RFC 3339 time in UTC, or null for Beginning. An unset Timestamp is an error:
// fields of this type need the tag option omitzero.
func (ts Timestamp) MarshalJSON() ([]byte, error) { return ts.bound.MarshalJSON() }

// UnmarshalJSON reads the forms that MarshalJSON writes.
func (ts *Timestamp) UnmarshalJSON(b []byte) error { return ts.bound.UnmarshalJSON(b) }

// BackfillRange is the range of a backfill, from Start up to, but not including, End. Both are dates or both
// are instants; only Start may be [Beginning].
type BackfillRange struct {
	Start Timestamp `json:"start_at,omitzero"`
	End   Timestamp `json:"end_at,omitzero"`
}

// check refuses a range that no export can have.
func (r BackfillRange) check() *outgoing.Refusal {
	return r.bounds().Check()
}

func (r BackfillRange) bounds() coverage.Range {
	return coverage.Range{Start: r.Start.bound, End: r.End.bound}
}

// BackfillRange returns the range from one time up to another, in the form that this export takes. For a daily
// or weekly export with a timezone, the bounds are dates, and both times must be the start of a day or a week
// of the export. For all other exports, the bounds are instants, and the range must be a whole number of
// intervals: the service would silently drop the rest. Intervals of an hour or less must begin when intervals
// of the schedule begin: a range from 21:10 would overlap them.
func (e *BatchExport) BackfillRange(from, to time.Time) (BackfillRange, error) {
	r, refusal := e.schedule().Range(from, to)
	return BackfillRange{Timestamp{r.Start}, Timestamp{r.End}}, refused("", refusal)
}

func (e *BatchExport) schedule() coverage.Schedule {
	return coverage.Schedule{
		Interval: string(e.Interval), Timezone: e.Timezone, Hour: orDefault(e.OffsetHour), Weekday: time.Weekday(orDefault(e.OffsetDay)),
	}
}
