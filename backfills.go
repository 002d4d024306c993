package hogapi

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// Backfill is the service's record of a backfill or of a retry of a run. The oldest servers do not keep one.
type Backfill struct {
	ID                uuid.UUID         `json:"id"`
	TeamID            int64             `json:"team"`
	BatchExport       uuid.UUID         `json:"batch_export"`
	StartAt           *time.Time        `json:"start_at"` // nil: from the beginning of time
	EndAt             *time.Time        `json:"end_at"`   // nil: until it has caught up, or of a run without an end
	Status            RunStatus         `json:"status"`   // of the backfill itself: Completed even if runs of it failed
	CreatedAt         time.Time         `json:"created_at"`
	FinishedAt        *time.Time        `json:"finished_at"`
	LastUpdatedAt     time.Time         `json:"last_updated_at"`
	TotalRecordsCount *int64            `json:"total_records_count"` // an estimate at first; 0: nothing to export, so nothing ran; nil: not known
	AdjustedStartAt   *time.Time        `json:"adjusted_start_at"`   // begin of the interval of the earliest data: may equal StartAt, or be before it
	Progress          *BackfillProgress `json:"progress"`
}

func (b *Backfill) identity() string { return b.ID.String() }

func (b *Backfill) complete() error {
	return cmp.Or(has("id", b.ID), has("status", b.Status))
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

// Backfill exports a range, even if it was exported before: events that the destination has arrive a second time, but for
// an object store, where new objects of an interval replace the old ones. To repair an export, call
// [github.com/hogapi/hogapi/coverage.MakePlan] instead. An old interval of the model events is an [*InputError] unless
// BackfillOptions.AcceptRowsByTimestamp is set, and so are bounds that are not the schedule's: see
// [BatchExport.BackfillRange].
//
// Backfill first reads the export and earlier backfills, and sends nothing if that fails. Follow the ticket with
// [BackfillsService.Wait], also after an [*OutcomeUnknownError]. [CodeTooManyBackfills] means that others must end first:
// POST /batch_exports/{batch_export_id}/backfills/, or /batch_exports/{id}/backfill/ of older servers, scope
// batch_export:write.
func (s *BatchExportsService) Backfill(ctx context.Context, exportID uuid.UUID, r BackfillRange, o *BackfillOptions, options ...CallOption) (*BackfillTicket, error) {
	return s.client.backfill(ctx, exportID, r, o, options, nil, ops.BatchExportsBackfill, ops.BackfillsCreate)
}

// BackfillsService is [Client.Backfills]: it follows backfills and retries, and manages backfills. On old servers, all of
// its calls but Wait and Watch are [ErrUnsupported].
type BackfillsService service

// List returns one page of up to 50 backfills. For an unknown export the page is empty, without an error. GET
// /batch_exports/{batch_export_id}/backfills/, scope batch_export:read.
func (s *BackfillsService) List(ctx context.Context, exportID uuid.UUID, o *BackfillListOptions, options ...CallOption) (*CursorPage[Backfill], error) {
	return s.walk(exportID, o, options).One(ctx)
}

// Pages yields the pages of List.
func (s *BackfillsService) Pages(ctx context.Context, exportID uuid.UUID, o *BackfillListOptions, options ...CallOption) iter.Seq2[*CursorPage[Backfill], error] {
	return s.walk(exportID, o, options).Pages(ctx)
}

// All yields all backfills. The error that ends it is a [*PageError], which says where to resume.
func (s *BackfillsService) All(ctx context.Context, exportID uuid.UUID, o *BackfillListOptions, options ...CallOption) iter.Seq2[Backfill, error] {
	return s.walk(exportID, o, options).All(ctx)
}

func (s *BackfillsService) walk(exportID uuid.UUID, o *BackfillListOptions, options []CallOption) cursorWalk[Backfill] {
	selected := outgoing.OrDefault(o)
	selected.Ordering = cmp.Or(selected.Ordering, BackfillsNewestFirst)
	query := url.Values{"ordering": {string(selected.Ordering)}}
	r := endpointByID(ops.BackfillsList, exportID).with(query).refuse(outgoing.If(!isKnown(selected.Ordering, backfillOrderings),
		"Ordering", string(selected.Ordering), "one of created_at, -created_at, start_at, -start_at"))
	return walkByCursor[Backfill](s.client, r, selected.CursorOptions, options)
}

// Get returns one backfill. The service writes the record a moment after the request; until then the error is
// [ErrNotFound]. GET /batch_exports/{batch_export_id}/backfills/{id}/, scope batch_export:read.
func (s *BackfillsService) Get(ctx context.Context, exportID, backfillID uuid.UUID, options ...CallOption) (*Backfill, error) {
	return ask[Backfill](ctx, s.client, endpointByID(ops.BackfillsGet, exportID, backfillID), options)
}

// Create is [BatchExportsService.Backfill] without the older endpoint: POST
// /batch_exports/{batch_export_id}/backfills/, scope batch_export:write.
func (s *BackfillsService) Create(ctx context.Context, exportID uuid.UUID, r BackfillRange, o *BackfillOptions, options ...CallOption) (*BackfillTicket, error) {
	return s.client.backfill(ctx, exportID, r, o, options, nil, ops.BackfillsCreate)
}

// Cancel ends a backfill that is under way, and its current run, which continues until it has a FinishedAt: follow it with
// [BackfillsService.Wait]. A backfill that is over is [ErrInvalid], and one that still runs after the service has accepted
// the call an [*OutcomeUnknownError]: call Get, and cancel it again if it still runs.
//
// POST /batch_exports/{batch_export_id}/backfills/{id}/cancel/, scope batch_export:write.
func (s *BackfillsService) Cancel(ctx context.Context, exportID, backfillID uuid.UUID, options ...CallOption) error {
	r := endpointByID(ops.BackfillsCancel, exportID, backfillID)
	if err := s.client.call(ctx, r, nil, options...); err != nil {
		return err
	}
	after, err := s.Get(ctx, exportID, backfillID, headersOf(options)...)
	if err == nil && after.Status.goesOn() {
		err = errtext.Errorf("the service accepted the call, but the status is still %s", mask.Clean(string(after.Status)))
	}
	if err != nil {
		return &OutcomeUnknownError{CallInfo: r.info(1), Err: err}
	}
	return nil
}

// backfill starts a backfill for the operation in[0], with the newest of the operations that the service has. Just before, it gives store, if that
// is not nil, the ticket of a backfill that may never begin.
func (c *Client) backfill(
	ctx context.Context, exportID uuid.UUID, r BackfillRange, o *BackfillOptions, options []CallOption, store func(BackfillTicket) error, in ...Op,
) (ticket *BackfillTicket, err error) {
	if err := endpointByID(in[0], exportID).refuse(r.check()).check(ctx); err != nil {
		return nil, err
	}
	t, err := c.newTicket(ctx, in[0], BackfillTicket{ExportID: exportID, StartAt: r.Start, EndAt: r.End}, options)
	if err == nil {
		err = c.checkBegin(ctx, in[0], t, o, options, func(e *BatchExport) (coverage.Span, *InputError) {
			return e.schedule().First(r.bounds()), e.schedule().CheckBounds(r.bounds())
		})
	}
	if err == nil && store != nil {
		unsent := t
		unsent.OutcomeUnknown = true
		err = store(unsent)
	}
	if err != nil {
		return nil, err
	}
	for _, op := range c.newestFirst(in) {
		req := endpointByID(op, exportID)
		req.body = r.body()
		if ticket, err = c.begin(ctx, req, t, options); !isUnknownEndpoint(err) {
			break
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
	t.BackfillID, _ = uuid.Parse(out.BackfillID) // a retry and older servers have another kind of name
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
	options = append(headersOf(options), WithReply(&reply))
	t.RequestedAt = c.core.now().UTC()
	records, err := c.Backfills.List(ctx, t.ExportID, nil, options...)
	switch {
	case err == nil:
		key := func(b Backfill) (uuid.UUID, time.Time) { return b.ID, b.CreatedAt }
		t.Baseline = new(BackfillBaseline(coverage.BaselineOf(records.Results, records.Next == nil, key)))
	case hasNoRecords(err):
		t.Baseline, err = c.baselineOfRuns(ctx, t.ExportID, options)
	}
	if err != nil {
		return t, beforeSending(op, err)
	}
	t.RequestedAt = httptry.DateOr(reply.Header, t.RequestedAt)
	return t, nil
}

func (c *Client) baselineOfRuns(ctx context.Context, exportID uuid.UUID, options []CallOption) (*BackfillBaseline, error) {
	page, err := c.Runs.List(ctx, exportID, &RunListOptions{Ordering: RunsNewestFirst}, options...)
	if err != nil {
		return nil, err
	}
	b := coverage.BaselineOf(page.Results, page.Next == nil, func(r Run) (uuid.UUID, time.Time) { return r.ID, r.CreatedAt })
	b.OfRuns = true
	for _, run := range page.Results {
		if run.Status.goesOn() {
			b.Running = append(b.Running, run.ID)
		}
	}
	return new(BackfillBaseline(b)), nil
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
	return errtext.Errorf("%s: nothing was sent, because the earlier backfills could not be read: %v", op, err)
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
