package hogapi

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
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

// longestWait is how long a Retry-After is obeyed between two looks.
const longestWait = time.Hour

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
		return target == ErrRecordsFailed && countOr(e.Run.RecordsFailed) > 0
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
		return countOr(r.RecordsFailed) > 0
	}
	return !r.Status.goesOn()
}

// ending is how a run ended.
func (r *Run) ending() string {
	text := fmt.Sprintf("run %s ended as %s", r.ID, mask.Clean(string(r.Status)))
	if r.Status == RunStatusCompleted {
		text = fmt.Sprintf("run %s completed, but %d records failed", r.ID, countOr(r.RecordsFailed))
	}
	if latest := mask.Clean(deref(r.LatestError)); latest != "" {
		text += ": " + latest
	}
	return text
}

// Watch yields a run as it is now and then on each change of its status or its counts, until it is
// over. How it ended is in its Status; see [RunsService.Wait] for an error. Looks that fail with an
// error that can pass are repeated; an error comes once, last, with the run as it was last seen.
// The two ids are all that is needed to resume watching later.
func (s *RunsService) Watch(ctx context.Context, exportID, runID uuid.UUID, o *WatchOptions, options ...CallOption) iter.Seq2[Run, error] {
	return func(yield func(Run, error) bool) {
		for run, err := range s.watch(ctx, exportID, runID, o, options) {
			if !yield(orDefault(run), err) {
				return
			}
		}
	}
}

// Wait returns when the run is over. The error is nil only if it completed with all of its records,
// or is still running and WatchOptions.Until accepts that. Any other end is a [*RunError], also
// that of a run that completed but some of its records failed ([ErrRecordsFailed]; only newer
// servers count them). The run as it was last seen is returned with every error, a cancelled
// context's too; it is nil if it was never seen.
func (s *RunsService) Wait(ctx context.Context, exportID, runID uuid.UUID, o *WatchOptions, options ...CallOption) (*Run, error) {
	run, err := lastOf(s.watch(ctx, exportID, runID, o, options))
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
	return watch(ctx, w, "run "+runID.String(), func() look[Run] {
		var before *runMark
		return func(ctx context.Context) (sight[Run], error) {
			run, err := s.Get(ctx, exportID, runID, options...)
			if err != nil {
				return sight[Run]{}, err
			}
			now := run.mark()
			changed := before == nil || *before != now
			before = &now
			return sight[Run]{run, changed, w.Until(*run)}, nil
		}
	})
}

// runMark is what of a run counts as a change.
type runMark struct {
	status                          RunStatus
	completed, total, failed, bytes int64
}

func (r *Run) mark() runMark {
	return runMark{r.Status, countOr(r.RecordsCompleted), countOr(r.RecordsTotalCount), countOr(r.RecordsFailed), countOr(r.BytesExported)}
}

func countOr(n *int64) int64 {
	if n == nil {
		return -1
	}
	return *n
}

// sight is what one look at something has shown.
type sight[S any] struct {
	state   *S
	changed bool
	done    bool
}

type look[S any] func(context.Context) (sight[S], error)

// watch looks until it is done, and yields what has changed. Each walk begins with a look function
// of its own.
func watch[S any](ctx context.Context, o WatchOptions, what string, begin func() look[S]) iter.Seq2[*S, error] {
	return func(yield func(*S, error) bool) {
		var last *S
		look, pace := begin(), pace{WatchOptions: o}
		for {
			seen, err := look(ctx)
			if err == nil {
				last = seen.state
				if (seen.changed || seen.done) && !yield(last, nil) || seen.done {
					return
				}
			} else if ctx == nil || ctx.Err() == nil && !pace.bears(err) { // a look refuses a nil context
				yield(last, tooLongAWait(what, err))
				return
			}
			if !httptry.Sleep(ctx, pace.next(seen.changed, err)) {
				yield(last, stoppedWatching(ctx, what, err))
				return
			}
		}
	}
}

// lastOf drains a watch.
func lastOf[S any](states iter.Seq2[*S, error]) (last *S, err error) {
	for state, failed := range states {
		last, err = state, failed
	}
	return last, err
}

// stoppedWatching is the error of a context that has ended, joined by why the last look failed.
func stoppedWatching(ctx context.Context, what string, failed error) error {
	ended := ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(cause, ended) {
		ended = fmt.Errorf("%w: %w", ended, cause)
	}
	_, answered := errors.AsType[*APIError](failed)
	if failed == nil || errors.Is(failed, context.Cause(ctx)) && !answered {
		return errorf("stopped watching %s: %v", what, ended)
	}
	return errorf("stopped watching %s: %v (the last look failed: %v)", what, ended, failed)
}

// worded is an error with one prefix, whatever its causes begin with.
type worded struct {
	text   string
	causes []error
}

func (e *worded) Error() string   { return e.text }
func (e *worded) Unwrap() []error { return e.causes }

// errorf is fmt.Errorf with the prefix of this package. It wraps every error among args.
func errorf(format string, args ...any) error {
	e := &worded{}
	for i, arg := range args {
		if err, ok := arg.(error); ok {
			e.causes = append(e.causes, err)
			args[i] = strings.TrimPrefix(err.Error(), "hogapi: ")
		}
	}
	e.text = "hogapi: " + fmt.Sprintf(format, args...)
	return e
}

// pace decides when the next look comes.
type pace struct {
	WatchOptions
	interval time.Duration
	failures int
}

// bears reports whether to look again after a failed look.
func (p *pace) bears(err error) bool {
	p.failures++
	return canPass(err) && p.failures < p.MaxFailures && askedWait(err) <= longestWait
}

// next is the wait before the next look, never shorter than the service asks for.
func (p *pace) next(changed bool, err error) time.Duration {
	if err == nil {
		p.failures = 0
	}
	switch {
	case changed || p.interval == 0:
		p.interval = p.Interval
	case p.interval > p.MaxInterval/2:
		p.interval = p.MaxInterval
	default:
		p.interval *= 2
	}
	return max(p.interval, askedWait(err))
}

// askedWait is how long the service asks to wait after a failed look.
func askedWait(err error) time.Duration {
	if api, ok := errors.AsType[*APIError](err); ok {
		return api.RetryAfter
	}
	return 0
}

// tooLongAWait adds to an error that ends a watch that the service asks for a longer wait than is
// obeyed, if it does.
func tooLongAWait(what string, err error) error {
	if asked := askedWait(err); asked > longestWait {
		return errorf("stopped watching %s: the service asks to wait %v, longer than the %v that are waited: watch again later (%v)", what, asked, longestWait, err)
	}
	return err
}

// canPass reports whether the same read may succeed later.
func canPass(err error) bool {
	if api, ok := errors.AsType[*APIError](err); ok {
		return httptry.IsTransientStatus(api.StatusCode)
	}
	transport, ok := errors.AsType[*TransportError](err)
	return ok && !httptry.IsPermanent(transport.Err)
}

func deref(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}
