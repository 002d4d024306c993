package hogapi

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/endpoints"
	"github.com/hogapi/hogapi/internal/outgoing"
)

// unpauseWithBackfill first reads the time of the export's last pause, where the backfill begins.
func (s *BatchExportsService) unpauseWithBackfill(ctx context.Context, r request, id uuid.UUID, accepts bool, options []CallOption) (*BackfillTicket, error) {
	reads := append(slices.Clip(options), onlyHeader)
	export, err := s.Get(ctx, id, reads...)
	t := BackfillTicket{ExportID: id, Unpaused: true}
	if err == nil && export.Paused {
		var refusal *InputError
		if refusal, err = s.checkLastPause(ctx, export, reads); refusal != nil {
			return nil, refused(r.op.Name, refusal)
		}
		t.StartAt = At(orDefault(export.LastPausedAt))
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
	t.EndAt = At(end)
	return t.result(err)
}

// checkLastPause refuses a backfill since the last pause, where the service knows none or only an earlier one: it would
// export the whole history, or rows a second time. An update that pauses an export does not set last_paused_at.
func (s *BatchExportsService) checkLastPause(ctx context.Context, e *BatchExport, options []CallOption) (*InputError, error) {
	const field, instead = "UnpauseOptions.Backfill", ". Unpause without a backfill, and then call coverage.MakePlan, or Backfill with a range"
	known := orDefault(e.LastPausedAt).UTC()
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
		return outgoing.Refuse(field, "true", "an export whose last_paused_at is its last pause: it was paused by an update at "+outgoing.Time(since)+
			", and the service would begin at the pause before, at "+outgoing.Time(known)+instead), nil
	}
	return outgoing.Refuse(field, "true", "an export that was not changed since its last_paused_at, "+outgoing.Time(known)+
		", or a key that may read the activity log: an update may have paused it later, and the service would export rows again"+instead), nil
}
