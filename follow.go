package hogapi

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/ops"
)

// BackfillState is how far a backfill or a retry has come.
type BackfillState struct {
	Backfill  *Backfill // the service's own record; nil if it keeps no records, or has not written it yet
	Runs      []Run     // the newest run of each interval, in the order of the intervals
	Completed int       // of Runs: completed with all of their records
	Failed    int       // of Runs: ended in any other way
	Progress  float64   // 0 to 1: the part of the range whose runs have ended; only Done says that it is over
	Done      bool      // nothing more is expected
}

// String is the state in a few words.
func (s *BackfillState) String() string {
	return fmt.Sprintf("%.0f %%, %d runs completed, %d failed", 100*s.Progress, s.Completed, s.Failed)
}

// BackfillError is the error of a backfill or a retry that is over and has not exported all of its
// range. It holds a [*RunError] for each run that did not complete. It matches [ErrRunFailed] if a
// run or the backfill itself failed, [ErrRunCancelled] if one was cancelled (so both, if there were
// runs of both kinds), [ErrRecordsFailed] if a run completed with failed records, [ErrNoRuns] if
// nothing ran at all, and [ErrOutcomeUnknown] if nothing shows that it ever began.
type BackfillError struct {
	ExportID uuid.UUID
	State    *BackfillState

	reason string
	err    error // a sentinel, if no run is the reason
}

// Error says what is missing.
func (e *BackfillError) Error() string {
	return fmt.Sprintf("hogapi: backfill of export %s: %s", e.ExportID, e.reason)
}

// Unwrap returns the sentinel, or an error for each run that did not complete.
func (e *BackfillError) Unwrap() []error {
	if e.err != nil {
		return []error{e.err}
	}
	var runs []error
	for i := range e.State.Runs {
		if run := &e.State.Runs[i]; run.endedBadly() {
			runs = append(runs, &RunError{Run: run})
		}
	}
	return runs
}

// Watch follows a backfill or a retry: it yields how far it has come, at first and then on each
// change, until it is over. How it ended is in the state; see [BackfillsService.Wait] for an error.
// An error comes once, last, with the last state.
//
// Where the service keeps records of backfills, the record says when the backfill is over, and its
// runs are those that name it. Each run is judged by its own status, since a record says Completed
// although runs failed. Where the ticket does not name its record, that is the first one of the
// same range that was not there before the request.
//
// Servers of the age of PostHog's API reference keep no records, and their runs do not name what
// made them. There, every run of the range counts that was not there before the request, the newest
// of each interval. So a backfill or a retry of the same intervals that somebody else starts at the
// same time cannot be told apart. The backfill is over when runs that have ended cover the range,
// or when nothing has changed for WatchOptions.Settle.
//
// An interval that was running at the time of the request gets no run of its own, so that run
// counts. On servers without records it is only found among the 100 newest runs. A rest of the
// range that is shorter than one interval is not exported by the service.
//
// Watch has no time limit of its own: it ends with the backfill or with ctx.
func (s *BackfillsService) Watch(ctx context.Context, ticket *BackfillTicket, o *WatchOptions, options ...CallOption) iter.Seq2[*BackfillState, error] {
	w, err := o.withDefaults(ops.BackfillsGet)
	if err == nil {
		err = ticket.check()
	}
	if err != nil {
		return failedSeq[*BackfillState](err)
	}
	t := *ticket
	return watch(ctx, w, "a backfill of export "+t.ExportID.String(), func() look[BackfillState] {
		return newFollower(s.client, t, w, options).look
	})
}

// Wait returns when a backfill or a retry is over, as [BackfillsService.Watch] finds it. The error
// is nil only if all of its runs completed, with all of their records; otherwise it is a
// [*BackfillError]. The last state is returned with every error.
//
// [ErrNoRuns] means that nothing ran: the range held no records to export or, on servers without
// records of backfills, no run began within WatchOptions.Settle. [ErrOutcomeUnknown] means that
// nothing shows that the backfill began: a request with an unknown outcome most likely had no
// effect; any other can be followed again later.
func (s *BackfillsService) Wait(ctx context.Context, ticket *BackfillTicket, o *WatchOptions, options ...CallOption) (*BackfillState, error) {
	state, err := lastOf(s.Watch(ctx, ticket, o, options...))
	if err == nil {
		err = state.judge(ticket)
	}
	return state, err
}

// judge makes the error of a state that is done.
func (s *BackfillState) judge(t *BackfillTicket) error {
	e := &BackfillError{ExportID: t.ExportID, State: s}
	row := s.Backfill
	switch {
	case s.Failed > 0:
		first := &s.Runs[slices.IndexFunc(s.Runs, func(r Run) bool { return r.endedBadly() })]
		e.reason = fmt.Sprintf("%d of %d runs did not complete with all records; the first: %s", s.Failed, len(s.Runs), first.ending())
	case row != nil && row.Status != RunStatusCompleted:
		e.reason, e.err = "it ended as "+mask.Clean(string(row.Status)), row.Status.sentinel()
	case len(s.Runs) > 0 && row == nil && s.Progress < 1:
		e.reason = fmt.Sprintf("%d runs completed, but a part of the range has no run and no further run began: "+
			"the backfill was stopped or is slow; follow the same ticket again", len(s.Runs))
	case len(s.Runs) > 0:
		return nil
	case row != nil:
		e.reason, e.err = "nothing ran: the range held no records to export", ErrNoRuns
	case t.OutcomeUnknown:
		e.reason, e.err = "nothing shows that it began: most likely the request had no effect", ErrOutcomeUnknown
	case t.Baseline != nil && !t.Baseline.OfRuns:
		e.reason, e.err = "the service accepted it, but shows no record of it: follow the same ticket again later", ErrOutcomeUnknown
	default:
		e.reason, e.err = "no run began: the range held no records or no whole interval, or the service is slow; "+
			"follow the same ticket again if it should hold some", ErrNoRuns
	}
	return e
}
