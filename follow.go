package hogapi

import (
	"context"
	"fmt"
	"iter"

	"github.com/google/uuid"
)

// BackfillState is how far a backfill or a retry has come.
type BackfillState struct {
	Backfill  *Backfill // the service's own record; nil where it keeps none, or has not written it yet
	Runs      []Run     // the newest run of each interval, in the order of the intervals
	Completed int       // of Runs: ended well
	Failed    int       // of Runs: ended in any other way
	Progress  float64   // 0 to 1: the part of the range whose runs have ended; Done, not Progress, says that it is over
	Done      bool      // nothing more is expected
}

// String is the state in a few words.
func (s *BackfillState) String() string {
	return fmt.Sprintf("%.0f %%, %d runs completed, %d failed", 100*s.Progress, s.Completed, s.Failed)
}

// BackfillError is a backfill or a retry that is over and has not exported all of its range. It matches [ErrNoRuns] where
// nothing ran at all, [ErrOutcomeUnknown] where nothing shows that it ever began, and holds a [*RunError] for each run that did not complete.
type BackfillError struct {
	ExportID uuid.UUID
	State    *BackfillState

	reason string
	err    error
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

// endedBadly is asked of a run that is over: a status that this package does not know is no success.
func (r *Run) endedBadly() bool { return r.Status != RunStatusCompleted && !r.Status.goesOn() }

// Watch follows a backfill or a retry: it yields how far it has come, at first and then on each change, until it is over. How it
// ended is in the state; see [BackfillsService.Wait] for an error. An error comes once, last, beside the last state.
//
// Where the service keeps a record of the backfill, that says when it is over; each run is judged by its own status, since
// a record says Completed although runs failed. Older servers keep none: there it is over when ended runs that
// were created since the request cover the range. An interval that was running at the time of the request gets no run
// of its own, so that run counts. A rest at the end that is shorter than one interval is left out by the service.
// Without a record, and with nothing new for WatchOptions.Settle, nothing more is expected.
func (s *BackfillsService) Watch(ctx context.Context, ticket *BackfillTicket, o *WatchOptions, options ...CallOption) iter.Seq2[*BackfillState, error] {
	w, err := o.withDefaults(OpBackfillsGet)
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

// Wait returns when a backfill or a retry is over, with no error only if all of its runs completed; otherwise the error is a
// [*BackfillError]. [ErrNoRuns] means that nothing ran: the range held no records to export. Where the ticket's outcome is unknown
// and nothing is found, the error matches [ErrOutcomeUnknown]. The last state comes back beside every error.
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
	switch {
	case s.Failed > 0:
		e.reason = fmt.Sprintf("%d of %d runs did not complete", s.Failed, len(s.Runs))
		for _, err := range e.Unwrap()[:1] {
			e.reason += ", the first: " + err.Error()
		}
	case s.Backfill != nil && s.Backfill.Status != RunStatusCompleted:
		e.reason = "it ended as " + clean(string(s.Backfill.Status))
	case len(s.Runs) > 0 && s.Backfill == nil && s.Progress < 1:
		e.reason = fmt.Sprintf("%d runs completed, but a part of the range has none and no further one began: it was stopped, or is slow; the same ticket can be followed again", len(s.Runs))
	case len(s.Runs) > 0:
		return nil
	case t.OutcomeUnknown && s.Backfill == nil:
		e.err = ErrOutcomeUnknown
		e.reason = "nothing of it was found: most likely the request had no effect"
	default:
		e.err = ErrNoRuns
		e.reason = "nothing ran: the range held no records to export"
	}
	return e
}
