package hogapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/ops"
)

// BackfillTicket is what is needed to follow a backfill or a retry to its end: see
// [BackfillsService.Wait]. It can be stored as JSON and followed by another process. It is returned
// with an [OutcomeUnknownError] too, to find out what happened.
type BackfillTicket struct {
	ExportID    uuid.UUID `json:"export_id"`
	BackfillID  string    `json:"backfill_id,omitempty"` // the service's name for it, in no fixed form; may be empty
	RetriedRun  uuid.UUID `json:"retried_run,omitzero"`  // of a retry
	StartAt     Timestamp `json:"start_at,omitzero"`     // of a backfill
	EndAt       Timestamp `json:"end_at,omitzero"`       // of a backfill; not covered itself
	Unpaused    bool      `json:"unpaused,omitempty"`    // of an Unpause: EndAt is no earlier than the service's own end of the range
	RequestedAt time.Time `json:"requested_at"`          // the time just before the request, by the service's clock

	OutcomeUnknown bool `json:"outcome_unknown,omitempty"` // it may never have begun

	// Baseline is set by the methods that return tickets. A ticket without one is judged by what
	// was created since RequestedAt.
	Baseline *BackfillBaseline `json:"baseline,omitempty"`
}

// BackfillBaseline is what was there just before a backfill or a retry was asked for, so that none
// of it is taken for what the request began: the newest records of backfills or, where the service
// keeps no records, the newest runs.
type BackfillBaseline struct {
	Since   time.Time   `json:"since,omitzero"`   // what was created earlier was there before
	Known   []uuid.UUID `json:"known,omitzero"`   // created since, and there before
	OfRuns  bool        `json:"of_runs,omitzero"` // the service keeps no records of backfills: Known are runs
	Running []uuid.UUID `json:"running,omitzero"` // of the runs in such a baseline: those that were under way
}

// baselineOf is what a page shows, the newest row first.
func baselineOf[T any](page *CursorPage[T], key func(T) (uuid.UUID, time.Time)) BackfillBaseline {
	b := coverage.BaselineOf(page.Results, page.Next == nil, key)
	return BackfillBaseline{Since: b.Since, Known: b.Known}
}

// check refuses a ticket that does not say what to follow.
func (t *BackfillTicket) check() error {
	bad := func(field, want string) error {
		return &InputError{Op: ops.BackfillsGet, Field: "ticket" + field, Want: want}
	}
	switch {
	case t == nil:
		return bad("", "a ticket of Backfill, Create, Retry or Unpause, not nil")
	case t.ExportID == uuid.Nil:
		return bad(".ExportID", "an id, not the nil UUID")
	case t.RequestedAt.IsZero():
		return bad(".RequestedAt", "the time of the request")
	case t.RetriedRun != uuid.Nil:
		return nil
	}
	return BackfillRange{t.StartAt, t.EndAt}.check(ops.BackfillsGet)
}

// newTicket takes the baseline of a request that is about to be sent. It costs one read, or two
// where the service keeps no records of backfills.
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
		t.Baseline = new(baselineOf(records, func(b Backfill) (uuid.UUID, time.Time) { return b.ID, b.CreatedAt }))
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

// onlyHeader removes from the options of a call what is not meant for a read that comes before it.
func onlyHeader(cfg *callConfig) { *cfg = callConfig{header: cfg.header} }

func baselineOfRuns(page *CursorPage[Run]) BackfillBaseline {
	b := baselineOf(page, func(r Run) (uuid.UUID, time.Time) { return r.ID, r.CreatedAt })
	b.OfRuns = true
	for _, run := range page.Results {
		if run.Status.goesOn() {
			b.Running = append(b.Running, run.ID)
		}
	}
	return b
}

// hasNoRecords reports whether a list of backfills failed since the service has no such resource:
// the list of an export that it does not know is empty.
func hasNoRecords(err error) bool {
	api, ok := errors.AsType[*APIError](err)
	return ok && (api.StatusCode == http.StatusNotFound || api.StatusCode == http.StatusMethodNotAllowed)
}

// beforeSending is the error of a call that needs to read something first, and could not.
func beforeSending(op Op, err error) error {
	if refused, ok := errors.AsType[*InputError](err); ok {
		refused.Op = op
		return refused
	}
	return errtext.Errorf("%s: nothing was sent, because reading what was there before failed: %v", op, err)
}

// result is what a call returns that begins what the ticket is for.
func (t BackfillTicket) result(err error) (*BackfillTicket, error) {
	unknown, ok := errors.AsType[*OutcomeUnknownError](err)
	if err != nil && !ok {
		return nil, err
	}
	t.OutcomeUnknown = ok && !unknown.Done
	return &t, err
}

// unpauseWithBackfill reads first since when the export is paused: that is where the backfill
// begins.
func (s *BatchExportsService) unpauseWithBackfill(ctx context.Context, r request, id uuid.UUID, options []CallOption) (*BackfillTicket, error) {
	export, err := s.Get(ctx, id, append(slices.Clip(options), onlyHeader)...)
	if err != nil {
		return nil, beforeSending(r.op.name, err)
	}
	t := BackfillTicket{ExportID: id, StartAt: Beginning(), Unpaused: true}
	if export.LastPausedAt != nil {
		t.StartAt = At(*export.LastPausedAt)
	}
	if t, err = s.client.newTicket(ctx, r.op.name, t, options); err != nil {
		return nil, err
	}
	r.body = map[string]bool{"backfill": true}
	r.op.replay = ReplayNever
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
