package hogapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/watch"
	"github.com/hogapi/hogapi/ops"
)

// Sentinels for errors.Is: how a run or a backfill ended that did not export everything.
var (
	ErrRunFailed     = errors.New("hogapi: the run failed")                        // FailedBilling, TimedOut and Terminated too
	ErrRunCancelled  = errors.New("hogapi: the run was cancelled")                 // somebody wanted it
	ErrRecordsFailed = errors.New("hogapi: the run completed, but records failed") // newer servers count them
)

// WatchOptions say how often to look, and when to stop. Zero fields take the default.
//
// Watch and Wait wait as long as the service asks for with Retry-After, but at most an hour: if it
// asks for more, they return an error at once that says so. They have no time limit of their own:
// give ctx a deadline.
type WatchOptions struct {
	Interval    time.Duration // between two looks; default 5 s. It doubles while nothing changes
	MaxInterval time.Duration // the longest interval; default 30 s
	MaxFailures int           // give up after so many failed looks in a row, each after its own retries; default 5

	// Until says that a run is over. The default is [RunStatus.IsTerminal]: with an unknown status
	// a run is not over.
	Until func(Run) bool

	// Settle is for backfills and retries: if no record of it is found and nothing has changed for
	// this long, nothing more is expected. It must be longer than the service needs to begin a run.
	// The default is 2 minutes.
	Settle time.Duration
}

func (o *WatchOptions) withDefaults(op Op) (WatchOptions, error) {
	w := orDefault(o)
	for field, d := range map[string]time.Duration{"Interval": w.Interval, "MaxInterval": w.MaxInterval, "Settle": w.Settle} {
		if d < 0 {
			return w, &InputError{Op: op, Field: "WatchOptions." + field, Value: d.String(), Want: "a positive duration, or 0 for the default"}
		}
	}
	if err := firstNegative(op, map[string]int{"WatchOptions.MaxFailures": w.MaxFailures}); err != nil {
		return w, err
	}
	setDefault(&w.Interval, 5*time.Second)
	setDefault(&w.MaxInterval, 30*time.Second)
	setDefault(&w.MaxFailures, 5)
	setDefault(&w.Settle, 2*time.Minute)
	if w.Until == nil {
		w.Until = func(r Run) bool { return r.Status.IsTerminal() }
	}
	w.MaxInterval = max(w.MaxInterval, w.Interval)
	return w, nil
}

func (o WatchOptions) pace() watch.Pace {
	return watch.Pace{Interval: o.Interval, MaxInterval: o.MaxInterval, MaxFailures: o.MaxFailures, Judge: judgeLook}
}

// judgeLook says what the error of a look means.
func judgeLook(err error) watch.Failure {
	if api, ok := errors.AsType[*APIError](err); ok {
		return watch.Failure{Answered: true, CanPass: httptry.IsTransientStatus(api.StatusCode), Wait: api.RetryAfter}
	}
	transport, ok := errors.AsType[*TransportError](err)
	return watch.Failure{CanPass: ok && !httptry.IsPermanent(transport.Err)}
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// RunError is a run that is over and has not exported everything. It matches [ErrRunFailed] if it
// failed, timed out or was terminated, [ErrRunCancelled] if it was cancelled, and
// [ErrRecordsFailed] if it completed but some of its records failed. A run that ended with a status
// that this package does not know matches none of them.
type RunError struct {
	Run *Run
}

// Error names the run, how it ended and the service's own words.
func (e *RunError) Error() string { return "hogapi: " + e.Run.ending() }

// Is matches the sentinel of how the run ended.
func (e *RunError) Is(target error) bool {
	if e.Run.Status == RunStatusCompleted {
		return target == ErrRecordsFailed && orDefault(e.Run.RecordsFailed) > 0
	}
	return target == e.Run.Status.sentinel() && target != nil
}

// sentinel is nil for a status that is no bad end.
func (s RunStatus) sentinel() error {
	switch {
	case s.IsFailure():
		return ErrRunFailed
	case s == RunStatusCancelled:
		return ErrRunCancelled
	}
	return nil
}

// endedBadly is for a run that is over. A status that this package does not know is no success.
func (r *Run) endedBadly() bool {
	if r.Status == RunStatusCompleted {
		return orDefault(r.RecordsFailed) > 0
	}
	return !r.Status.goesOn()
}

// ending is how a run ended.
func (r *Run) ending() string {
	text := fmt.Sprintf("run %s ended as %s", r.ID, mask.Clean(string(r.Status)))
	if r.Status == RunStatusCompleted {
		text = fmt.Sprintf("run %s completed, but %d records failed", r.ID, orDefault(r.RecordsFailed))
	}
	if latest := mask.Clean(orDefault(r.LatestError)); latest != "" {
		text += ": " + latest
	}
	return text
}

// Watch yields a run as it is now and then on each change of its status or its counts, until it is
// over. How it ended is in its Status; see [RunsService.Wait] for an error. Looks that fail with an
// error that can pass are repeated; an error comes once, last, with the run as it was last seen.
// The two ids are all that is needed to resume watching later.
func (s *RunsService) Watch(ctx context.Context, exportID, runID uuid.UUID, o *WatchOptions, options ...CallOption) iter.Seq2[Run, error] {
	return watch.Values(s.watch(ctx, exportID, runID, o, options))
}

// Wait returns when the run is over. The error is nil only if it completed with all of its records,
// or is still running and WatchOptions.Until accepts that. Any other end is a [*RunError], also
// that of a run that completed but some of its records failed ([ErrRecordsFailed]; only newer
// servers count them). The run as it was last seen is returned with every error, a cancelled
// context's too; it is nil if it was never seen.
func (s *RunsService) Wait(ctx context.Context, exportID, runID uuid.UUID, o *WatchOptions, options ...CallOption) (*Run, error) {
	run, err := watch.Last(s.watch(ctx, exportID, runID, o, options))
	if err == nil && run.endedBadly() {
		err = &RunError{Run: run}
	}
	return run, err
}

func (s *RunsService) watch(ctx context.Context, exportID, runID uuid.UUID, o *WatchOptions, options []CallOption) iter.Seq2[*Run, error] {
	w, err := o.withDefaults(ops.RunsGet)
	if err != nil {
		return failedSeq[*Run](err)
	}
	get := func(ctx context.Context) (*Run, error) { return s.Get(ctx, exportID, runID, options...) }
	return watch.Changes(ctx, w.pace(), "run "+runID.String(), get, func(r *Run) (watch.Mark, bool) { return r.mark(), w.Until(*r) })
}

// mark is what of a run counts as a change.
func (r *Run) mark() watch.Mark {
	return watch.NewMark(r.Status, r.RecordsCompleted, r.RecordsTotalCount, r.RecordsFailed, r.BytesExported)
}

// factsOf are what counts of a run for a backfill.
func factsOf(r Run) coverage.Facts {
	return coverage.Facts{
		ID: r.ID, Backfill: r.Backfill, Interval: r.span(), Mark: r.mark(),
		Created: r.CreatedAt, Ended: cmp.Or(orDefault(r.FinishedAt), r.LastUpdatedAt),
	}
}
