package hogapi

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/pages"
	"github.com/hogapi/hogapi/internal/watch"
	"github.com/hogapi/hogapi/ops"
)

// BackfillTicket identifies a backfill or a retry for [BackfillsService.Wait], also in another process: store it as JSON.
// Calls return it with an [*OutcomeUnknownError] too, so that Wait can find out whether the backfill began.
type BackfillTicket struct {
	ExportID    uuid.UUID `json:"export_id"`
	BackfillID  uuid.UUID `json:"backfill_id,omitzero"` // for Backfills.Get; the nil UUID for a retry and on older servers
	RetriedRun  uuid.UUID `json:"retried_run,omitzero"` // of a retry
	StartAt     Timestamp `json:"start_at,omitzero"`    // of a backfill
	EndAt       Timestamp `json:"end_at,omitzero"`      // of a backfill; not covered itself; perhaps CaughtUp
	Unpaused    bool      `json:"unpaused,omitempty"`   // of an Unpause: the service's own range may end before EndAt
	RequestedAt time.Time `json:"requested_at"`         // the time just before the request, by the service's clock

	OutcomeUnknown bool `json:"outcome_unknown,omitempty"` // it may never have begun

	// Baseline lists records or runs that existed before the request. The methods that return tickets set it.
	// Without it, all runs since RequestedAt can count as part of the backfill.
	Baseline *BackfillBaseline `json:"baseline,omitempty"`
}

// BackfillBaseline lists what existed just before the request and is no part of the backfill: the newest records of
// backfills or, if the service does not keep them, the newest runs.
type BackfillBaseline struct {
	Since   time.Time   `json:"since,omitzero"`   // everything created earlier existed before the request
	Known   []uuid.UUID `json:"known,omitzero"`   // created since then, but before the request
	OfRuns  bool        `json:"of_runs,omitzero"` // the service keeps no records of backfills: Known are runs
	Running []uuid.UUID `json:"running,omitzero"` // in a baseline of runs: the runs that were under way
}

func (t *BackfillTicket) UnmarshalJSON(b []byte) error {
	type plain BackfillTicket
	stored := struct {
		*plain
		BackfillID string `json:"backfill_id"`
	}{plain: (*plain)(t)}
	err := json.Unmarshal(b, &stored)
	t.BackfillID, _ = uuid.Parse(stored.BackfillID)
	return err
}

// check refuses a ticket without the fields that Wait needs.
func (t *BackfillTicket) check() *InputError {
	if t == nil {
		return outgoing.Refuse("ticket", "", "a ticket of Backfill, Create, Retry or Unpause, not nil")
	}
	refusal := cmp.Or(
		outgoing.If(t.ExportID == uuid.Nil, "ticket.ExportID", "", "an id, not the nil UUID"),
		outgoing.If(t.RequestedAt.IsZero(), "ticket.RequestedAt", "", "the time of the request"),
	)
	if t.RetriedRun == uuid.Nil {
		refusal = cmp.Or(refusal, BackfillRange{t.StartAt, t.EndAt}.check())
	}
	return refusal
}

func (t *BackfillTicket) name() string {
	if t.RetriedRun != uuid.Nil {
		return fmt.Sprintf("the retry of run %s of export %s", t.RetriedRun, t.ExportID)
	}
	return fmt.Sprintf("the backfill of export %s from %s to %s", t.ExportID, t.StartAt, t.EndAt)
}

// Watch follows a backfill or a retry. It yields the state at once, and then after each change until the backfill is over.
// The last state says how it ended; [BackfillsService.Wait] returns an error for it. An error of Watch comes once, last,
// with the last state.
//
// The exported data is the union of the runs that belong to the backfill, even if its record disagrees: docs/exports.md
// describes how Watch finds them, also on servers without records. If a part of the range has no run when the record is
// over, Watch looks again for the time WatchOptions.Settle. Without records it cannot tell two backfills of the same
// range apart.
func (s *BackfillsService) Watch(ctx context.Context, ticket *BackfillTicket, o *WatchOptions, options ...CallOption) iter.Seq2[*BackfillState, error] {
	w, err := o.withDefaults(ops.BackfillsWait)
	if err == nil {
		err = refused(ops.BackfillsWait, ticket.check())
	}
	if err != nil {
		return pages.Failed[*BackfillState](err)
	}
	t := *ticket
	return watch.Follow(ctx, w.Pace, t.name(), func() watch.Poll[BackfillState] {
		return newFollower(s.client, t, w, options).poll
	})
}

// Wait waits until a backfill or a retry is over, as [BackfillsService.Watch] describes. The error is nil only if
// completed runs cover the whole range with all of their records. Otherwise, if the backfill is over, the error is a
// [*BackfillError]. Wait returns the last state with every error.
//
// A part that BackfillState.NotExported gives as [BackfillLeftOut] may lack rows: the service begins a backfill of
// events at the interval of the earliest timestamp, also where it chooses rows by arrival. coverage.DownloadRange gets
// them. [ErrOutcomeUnknown] means that nothing shows that the backfill began: if the outcome of the request itself was
// unknown, it most likely had no effect; otherwise wait for the ticket again later.
func (s *BackfillsService) Wait(ctx context.Context, ticket *BackfillTicket, o *WatchOptions, options ...CallOption) (*BackfillState, error) {
	return watch.Ended(s.Watch(ctx, ticket, o, options...), func(s *BackfillState) error { return s.judge(ticket) })
}

// WaitAll waits for several backfills or retries, one after another, also after an error, and returns the last state of
// each. The errors are joined, and each names its export. WatchOptions.Timeout applies to all of them together.
func (s *BackfillsService) WaitAll(ctx context.Context, tickets []*BackfillTicket, o *WatchOptions, options ...CallOption) ([]*BackfillState, error) {
	if err := checkContext(ctx, ops.BackfillsWait); err != nil {
		return nil, err
	}
	each := outgoing.OrDefault(o)
	w, err := each.withDefaults(ops.BackfillsWait)
	for i, t := range tickets {
		if refusal := t.check(); refusal != nil && err == nil {
			refusal.Field = fmt.Sprintf("tickets[%d]: %s", i, refusal.Field)
			err = refused(ops.BackfillsWait, refusal)
		}
	}
	if err != nil {
		return nil, err
	}
	ctx, end := w.Bound(ctx)
	defer end()
	each.Timeout = 0
	states, errs := make([]*BackfillState, len(tickets)), make([]error, len(tickets))
	for i, t := range tickets {
		states[i], errs[i] = s.Wait(ctx, t, &each, options...)
	}
	return states, errors.Join(errs...)
}

// follower follows the work of one ticket.
type follower struct {
	*coverage.Follower[Backfill, Run]

	exportID uuid.UUID
	until    func(Run) bool
}

func newFollower(c *Client, t BackfillTicket, o looks, options []CallOption) *follower {
	before := coverage.Baseline{Since: t.RequestedAt}
	if t.Baseline != nil {
		before = coverage.Baseline(*t.Baseline)
	}
	runs := coverage.NewRuns(before, t.RequestedAt, runFacts, o.until)
	runs.OpenEnd, runs.CatchUp = t.Unpaused, t.EndAt.IsCaughtUp()
	if t.RetriedRun == uuid.Nil && !t.StartAt.IsDate() && !t.EndAt.IsDate() {
		runs.Whole = new(coverage.NewSpan(t.StartAt.Time(), t.EndAt.Time()))
	}
	runs.Backfill = t.BackfillID
	all := func(ctx context.Context, list RunListOptions) iter.Seq2[Run, error] {
		return c.Runs.All(ctx, t.ExportID, &list, options...)
	}
	return &follower{coverage.NewFollower(coverage.Service[Backfill, Run]{
		Record: func(ctx context.Context, id uuid.UUID) (*Backfill, error) {
			return c.Backfills.Get(ctx, t.ExportID, id, options...)
		},
		Records: func(ctx context.Context) iter.Seq2[Backfill, error] {
			return c.Backfills.All(ctx, t.ExportID, nil, options...)
		},
		Facts: (*Backfill).facts,
		Run: func(ctx context.Context, id uuid.UUID) (*Run, error) {
			return c.Runs.Get(ctx, t.ExportID, id, options...)
		},
		Runs: func(ctx context.Context) iter.Seq2[Run, error] {
			return all(ctx, RunListOptions{Ordering: RunsNewestFirst})
		},
		RunsWithin: func(ctx context.Context, of coverage.Span) iter.Seq2[Run, error] {
			return all(ctx, RunListOptions{Ordering: RunsByInterval, Start: of.Start, End: of.End})
		},
		Locate: func(ctx context.Context) (coverage.Span, uuid.UUID, error) { return c.locate(ctx, t, options) },
		Export: func(ctx context.Context) (facts coverage.ExportFacts, err error) {
			export, err := c.BatchExports.Get(ctx, t.ExportID, options...)
			if err == nil {
				facts = coverage.ExportFacts{Schedule: export.schedule(), ByArrival: export.model().Choosing == coverage.ByAge}
			}
			return facts, err
		},
		Fault: func(err error) coverage.Fault {
			isServer, notFound := isServerError(err), errors.Is(err, ErrNotFound)
			return coverage.Fault{NoEndpoint: isUnknownEndpoint(err), NoRecords: hasNoRecords(err), NotFound: notFound, IsServer: isServer}
		},
	}, runs, o.Settle), t.ExportID, o.until}
}

func (f *follower) poll(ctx context.Context) (seen watch.Observation[BackfillState], err error) {
	done, err := f.Poll(ctx)
	if errors.Is(err, coverage.ErrFull) {
		err = fmt.Errorf("hogapi: backfill of export %s has more than %d intervals: start and follow it in parts", f.exportID, f.Runs.Most)
	}
	if err != nil {
		return seen, err
	}
	state := f.state(done)
	seen = watch.Observation[BackfillState]{State: state, Text: state.String(), Changed: f.Runs.Changed, Done: done}
	f.Runs.Changed = false
	return seen, nil
}

// facts returns the values of a record that a follower needs.
func (b *Backfill) facts() coverage.RecordFacts {
	p := outgoing.OrDefault(b.Progress)
	return coverage.RecordFacts{
		IsStopped: b.Status.IsTerminal() && b.Status != RunStatusCompleted, IsEmpty: b.TotalRecordsCount != nil && *b.TotalRecordsCount == 0, ID: b.ID,
		Created: b.CreatedAt, Ended: cmp.Or(outgoing.OrDefault(b.FinishedAt), b.LastUpdatedAt),
		Whole: coverage.NewSpan(outgoing.OrDefault(b.StartAt), outgoing.OrDefault(b.EndAt)), DataStart: outgoing.OrDefault(b.AdjustedStartAt), IsOver: b.Status.IsTerminal(),
		Mark: watch.NewMark(b.Status, b.TotalRecordsCount, p.TotalRuns, p.FinishedRuns),
	}
}

// locate returns the span to cover and, for a retry of a run that is still under way, the run's id. For dates it reads
// the export, which has the zone and the hour in which its days begin.
func (c *Client) locate(ctx context.Context, t BackfillTicket, options []CallOption) (whole coverage.Span, running uuid.UUID, err error) {
	if t.RetriedRun != uuid.Nil {
		run, err := c.Runs.Get(ctx, t.ExportID, t.RetriedRun, options...)
		if err != nil {
			return whole, running, err
		}
		if run.Status.goesOn() {
			running = run.ID
		}
		return run.span(), running, nil
	}
	export, err := c.BatchExports.Get(ctx, t.ExportID, options...)
	if err != nil {
		return whole, running, err
	}
	days, err := export.schedule().Days()
	if err != nil {
		zone := mask.Clean(export.Timezone)
		return whole, running, fmt.Errorf("hogapi: the time zone %q of export %s is not known here: import _ \"time/tzdata\"", zone, export.ID)
	}
	return days.Span(BackfillRange{t.StartAt, t.EndAt}.bounds()), running, nil
}

// state returns a snapshot that the reader may keep.
func (f *follower) state(done bool) *BackfillState {
	s := &BackfillState{Backfill: f.Record, Runs: f.Runs.Sorted(), Progress: f.Progress(), Done: done}
	for _, part := range f.Open {
		s.NotExported = append(s.NotExported, BackfillPart{part.Start, part.End, BackfillReason(part.Why)})
	}
	for _, run := range s.Runs {
		switch {
		case run.endedBadly() && (run.Status.IsTerminal() && run.isFinal() || f.until(run)):
			s.Failed++
		case run.Status == RunStatusCompleted:
			s.Completed++
		}
	}
	return s
}
