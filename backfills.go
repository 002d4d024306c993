package hogapi

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/google/uuid"
)

// Backfill is the service's record of a backfill or of a run's retry. Servers of the specification's age keep none.
type Backfill struct {
	ID                uuid.UUID         `json:"id"`
	TeamID            int64             `json:"team"`
	BatchExport       uuid.UUID         `json:"batch_export"`
	StartAt           *time.Time        `json:"start_at"` // nil: from the beginning of time
	EndAt             *time.Time        `json:"end_at"`
	Status            RunStatus         `json:"status"` // of the backfill itself: Completed also where runs of it failed
	CreatedAt         time.Time         `json:"created_at"`
	FinishedAt        *time.Time        `json:"finished_at"`
	LastUpdatedAt     time.Time         `json:"last_updated_at"`
	TotalRecordsCount *int64            `json:"total_records_count"` // 0: nothing to export, so nothing ran
	AdjustedStartAt   *time.Time        `json:"adjusted_start_at"`   // where the data begins, if later than StartAt
	Progress          *BackfillProgress `json:"progress"`
}

func (b *Backfill) complete() error { return hasID(b.ID) }

// BackfillProgress is how far a backfill has come, as the service sees it.
type BackfillProgress struct {
	TotalRuns    *int64   `json:"total_runs"`
	FinishedRuns *int64   `json:"finished_runs"`
	Progress     *float64 `json:"progress"` // 0 to 1
}

// BackfillTicket is what is needed to follow a backfill or a retry to its end: see [BackfillsService.Wait]. It survives a trip as JSON,
// so another process can follow. It comes beside an [OutcomeUnknownError] too, to find out what happened.
type BackfillTicket struct {
	ExportID    uuid.UUID `json:"export_id"`
	BackfillID  string    `json:"backfill_id,omitempty"` // the service's name for it, of no fixed form; may be empty
	RetriedRun  uuid.UUID `json:"retried_run,omitzero"`  // of a retry
	StartAt     Timestamp `json:"start_at,omitzero"`     // of a backfill
	EndAt       Timestamp `json:"end_at,omitzero"`       // of a backfill; not covered itself
	RequestedAt time.Time `json:"requested_at"`          // by the service's clock, or a little earlier

	OutcomeUnknown bool `json:"outcome_unknown,omitempty"` // it may never have begun
}

// check refuses a ticket that does not say what to follow.
func (t *BackfillTicket) check() error {
	bad := func(field, want string) error {
		return &InputError{Op: OpBackfillsGet, Field: "ticket" + field, Want: want}
	}
	switch {
	case t == nil:
		return bad("", "a ticket of Backfill, Create or Retry, not nil")
	case t.ExportID == uuid.Nil:
		return bad(".ExportID", "an id, not the nil UUID")
	case t.RequestedAt.IsZero():
		return bad(".RequestedAt", "the time of the request")
	case t.RetriedRun != uuid.Nil:
		return nil
	}
	return BackfillRange{t.StartAt, t.EndAt}.check(OpBackfillsGet)
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

// BackfillListOptions select backfills.
type BackfillListOptions struct {
	CursorOptions

	Ordering BackfillOrdering // default: newest first
}

// Backfill exports a range once more, or for the first time. It uses the specification's endpoint and, where the service
// says that there is none, the newer one of [BackfillsService.Create]. The export's runs begin one after another: follow
// them with [BackfillsService.Wait].
//
// The call is not repeated when its outcome is unknown. The ticket then comes beside the [*OutcomeUnknownError]: Wait tells
// whether the backfill began. [ErrTooManyBackfills] says that others must end first.
//
// POST /batch_exports/{id}/backfill/, scope batch_export:write.
func (s *BatchExportsService) Backfill(ctx context.Context, exportID uuid.UUID, r BackfillRange, options ...CallOption) (*BackfillTicket, error) {
	ticket, err := s.client.backfill(ctx, OpBatchExportsBackfill, exportID, r, options)
	if isUnknownEndpoint(err) {
		return s.client.backfill(ctx, OpBackfillsCreate, exportID, r, options)
	}
	return ticket, err
}

// isUnknownEndpoint tells a route that a server lacks from an export that it lacks.
func isUnknownEndpoint(err error) bool {
	api, ok := errors.AsType[*APIError](err)
	return ok && api.StatusCode == http.StatusNotFound && api.Detail == noEndpoint
}

// BackfillsService is the newer resource of backfills, which the specification does not list. Old servers lack it: [ErrNotFound].
type BackfillsService service

// List returns one page of up to 50 backfills. An unknown export has none: that is an empty page, not an error.
//
// GET /batch_exports/{batch_export_id}/backfills/, scope batch_export:read.
func (s *BackfillsService) List(ctx context.Context, exportID uuid.UUID, o *BackfillListOptions, options ...CallOption) (*CursorPage[Backfill], error) {
	walk, err := s.walk(exportID, o, options)
	if err != nil {
		return nil, err
	}
	return walk.one(ctx)
}

// Pages yields page after page. An error comes once, last, as a [*PageError] that says where to go on.
func (s *BackfillsService) Pages(ctx context.Context, exportID uuid.UUID, o *BackfillListOptions, options ...CallOption) iter.Seq2[*CursorPage[Backfill], error] {
	walk, err := s.walk(exportID, o, options)
	if err != nil {
		return failedSeq[*CursorPage[Backfill]](err)
	}
	return walk.pages(ctx)
}

// All yields every backfill. An error comes once, last, as a [*PageError] that says where to go on.
func (s *BackfillsService) All(ctx context.Context, exportID uuid.UUID, o *BackfillListOptions, options ...CallOption) iter.Seq2[Backfill, error] {
	walk, err := s.walk(exportID, o, options)
	if err != nil {
		return failedSeq[Backfill](err)
	}
	return walk.all(ctx)
}

func (s *BackfillsService) walk(exportID uuid.UUID, o *BackfillListOptions, options []CallOption) (w pager[Backfill, *CursorPage[Backfill]], err error) {
	selected := orDefault(o)
	setDefault(&selected.Ordering, BackfillsNewestFirst)
	r, err := endpointByID(OpBackfillsList, exportID)
	if err != nil {
		return w, err
	}
	if !isKnown(selected.Ordering, backfillOrderings) {
		return w, &InputError{Op: OpBackfillsList, Field: "Ordering", Value: unlessKey(string(selected.Ordering)), Want: "one of created_at, -created_at, start_at, -start_at"}
	}
	if err := selected.CursorOptions.check(OpBackfillsList); err != nil {
		return w, err
	}
	query := url.Values{"ordering": {string(selected.Ordering)}}
	return cursorPager[Backfill](s.client, OpBackfillsList, r.ids, query, selected.CursorOptions, options), nil
}

// Get returns one backfill. The service writes its record a moment after the request: until then the answer is [ErrNotFound].
//
// GET /batch_exports/{batch_export_id}/backfills/{id}/, scope batch_export:read.
func (s *BackfillsService) Get(ctx context.Context, exportID, backfillID uuid.UUID, options ...CallOption) (*Backfill, error) {
	r, err := endpointByID(OpBackfillsGet, exportID, backfillID)
	if err != nil {
		return nil, err
	}
	var b Backfill
	if err := s.client.call(ctx, r, &b, options...); err != nil {
		return nil, err
	}
	return &b, nil
}

// Create is [BatchExportsService.Backfill] without the older endpoint.
//
// POST /batch_exports/{batch_export_id}/backfills/, scope batch_export:write.
func (s *BackfillsService) Create(ctx context.Context, exportID uuid.UUID, r BackfillRange, options ...CallOption) (*BackfillTicket, error) {
	return s.client.backfill(ctx, OpBackfillsCreate, exportID, r, options)
}

// Cancel ends a backfill that is under way, and its run. One that is over is answered 400: [ErrInvalid].
//
// POST /batch_exports/{batch_export_id}/backfills/{id}/cancel/, scope batch_export:write.
func (s *BackfillsService) Cancel(ctx context.Context, exportID, backfillID uuid.UUID, options ...CallOption) error {
	r, err := endpointByID(OpBackfillsCancel, exportID, backfillID)
	if err != nil {
		return err
	}
	return s.client.call(ctx, r, nil, options...)
}

// backfill asks for a backfill by either endpoint.
func (c *Client) backfill(ctx context.Context, op Op, exportID uuid.UUID, r BackfillRange, options []CallOption) (*BackfillTicket, error) {
	req, err := endpointByID(op, exportID)
	if err != nil {
		return nil, err
	}
	if err := r.check(op); err != nil {
		return nil, err
	}
	req.body = r
	return c.begin(ctx, req, BackfillTicket{ExportID: exportID, StartAt: r.Start, EndAt: r.End}, options)
}

// clockMargin is how far our clock may be ahead of the service's where no answer has told its time yet.
const clockMargin = time.Minute

// begin sends what starts a backfill or a retry, and completes its ticket. Where the outcome is unknown the ticket comes beside the error.
func (c *Client) begin(ctx context.Context, r request, t BackfillTicket, options []CallOption) (*BackfillTicket, error) {
	var (
		reply Reply
		users *Reply
		out   struct {
			BackfillID string `json:"backfill_id"`
		}
	)
	ownReply := func(cfg *callConfig) { users, cfg.reply = cfg.reply, &reply }
	ours, start := c.core.now(), time.Now()
	r.lenient = true
	err := c.call(ctx, r, &out, append(slices.Clip(options), ownReply)...)
	if users != nil {
		*users = reply
	}
	t.OutcomeUnknown = errors.Is(err, ErrOutcomeUnknown)
	if err != nil && !t.OutcomeUnknown {
		return nil, err
	}
	t.BackfillID = out.BackfillID
	t.RequestedAt = c.core.requestedAt(reply.Header, time.Since(start), ours)
	return &t, err
}

// requestedAt is no later than the moment at which the service got the request, by its own clock where the answer tells it:
// Date is when it answered, in whole seconds, and the run may have begun before that.
func (c *core) requestedAt(h http.Header, took time.Duration, ours time.Time) time.Time {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		return date.UTC().Add(-took - time.Second)
	}
	if lead := c.serviceLead.Load(); lead != nil {
		return ours.UTC().Add(*lead - time.Second)
	}
	return ours.UTC().Add(-clockMargin)
}

// noteServiceClock remembers how far the service's clock is ahead of ours, for calls whose answer is lost. Whole seconds
// and the way of the answer make it a little too small.
func (c *core) noteServiceClock(h http.Header) {
	if date, err := http.ParseTime(h.Get("Date")); err == nil {
		c.serviceLead.Store(new(date.Sub(c.now())))
	}
}
