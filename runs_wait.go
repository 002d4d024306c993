package hogapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/coverage"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/internal/mask"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/internal/pages"
	"github.com/hogapi/hogapi/internal/watch"
	"github.com/hogapi/hogapi/ops"
)

// WatchOptions control how often Watch and Wait look at the state, and when they stop. Zero fields take the default.
// Watch and Wait obey a Retry-After of up to an hour; after a longer one, they return an error at once. Their errors
// name the last state.
type WatchOptions struct {
	// Interval is the time between two looks. It doubles while nothing changes. The default is 5 s.
	Interval time.Duration
	// MaxInterval is the longest interval. The default is 30 s.
	MaxInterval time.Duration
	// MaxFailures is the number of failed looks in a row, each after its own retries, that ends the watch. The
	// default is 20, an outage of some nine minutes at the default intervals.
	MaxFailures int

	// Until reports whether a run is over. The default is [RunStatus.IsTerminal], for which a run with an unknown
	// status is not over. A cancelled run without a FinishedAt is over after the time Settle.
	Until func(Run) bool

	// Settle is for backfills and retries. If no record of the backfill is found, or if its record is over and a part
	// of the range has no run, Watch ends after this time without a change. It must be longer than the service needs to
	// begin a run. [github.com/hogapi/hogapi/coverage.RangeOptions.Watch] describes it for a range. The default is 2
	// minutes.
	Settle time.Duration

	// Timeout ends Watch and Wait after this time with an error that matches [context.DeadlineExceeded]. The service
	// retries some failures without end, so a run can take days. By default, only ctx limits the time.
	Timeout time.Duration

	// OnLook is called after each look, even if nothing changed or the look failed. Watch and Wait wait until it
	// returns.
	OnLook func(LookInfo)
}

// LookInfo is the result of one look of Watch or Wait.
type LookInfo struct {
	Of    string        // the run or backfill, such as "run 0190f3c0-…"
	State string        // the last state, in a few words; empty before it is known
	Err   error         // the error of this look, or nil
	Next  time.Duration // until the next look; 0 after the last
}

// looks say when to look, and when a run is over.
type looks struct {
	watch.Pace

	until func(Run) bool
}

func (o *WatchOptions) withDefaults(op Op) (looks, error) {
	w := outgoing.OrDefault(o)
	if w.Until == nil {
		w.Until = func(r Run) bool { return r.Status.IsTerminal() }
	}
	pace, refusal := watch.Pace{
		Interval: w.Interval, MaxInterval: w.MaxInterval, MaxFailures: w.MaxFailures, Settle: w.Settle, Judge: judgeLook, Limit: w.Timeout,
	}.WithDefaults()
	if w.OnLook != nil {
		pace.OnLook = func(i watch.Info) { w.OnLook(LookInfo(i)) }
	}
	return looks{pace, untilFinal(w.Until, cmp.Or(pace.Settle, watch.CancelPatience))}, refused(op, refusal)
}

// untilFinal lets a cancelled run go on until it has its end, for a time.
func untilFinal(until func(Run) bool, patience time.Duration) func(Run) bool {
	seen := map[uuid.UUID]time.Time{}
	return func(r Run) bool {
		if r.isFinal() || r.Status != RunStatusCancelled || !until(r) {
			return until(r)
		}
		if _, ok := seen[r.ID]; !ok {
			seen[r.ID] = time.Now()
		}
		return time.Since(seen[r.ID]) >= patience
	}
}

// judgeLook classifies the error of a look.
func judgeLook(err error) watch.Failure {
	if api, ok := errors.AsType[*APIError](err); ok {
		return watch.Failure{Answered: true, CanPass: httptry.IsTransientStatus(api.StatusCode), IsStrange: api.isForeign, Wait: api.RetryAfter}
	}
	if errors.As(err, new(*DecodeError)) {
		return watch.Failure{Answered: true, IsStrange: true}
	}
	transport, ok := errors.AsType[*TransportError](err)
	return watch.Failure{CanPass: ok && !httptry.IsPermanent(transport.Err)}
}

// RunError is a run or a file download that is over and has not exported everything. It matches [ErrRunFailed] if the run
// failed, timed out, was terminated, or completed with failed records, and [ErrRunCancelled] if it was cancelled. After a
// status that this package does not know, it matches no sentinel.
type RunError struct {
	Run *Run

	reason string // what the run did not do; may be empty
}

func (e *RunError) Error() string {
	return fmt.Sprintf("hogapi: run %s %s%s", e.Run.ID, e.reason, e.Run.ending())
}

func (e *RunError) Is(target error) bool {
	if e.Run.outcome() == coverage.RecordsFailed {
		return target == ErrRunFailed
	}
	return target == e.Run.Status.sentinel() && target != nil
}

// sentinel returns nil for a status that is not a bad end.
func (s RunStatus) sentinel() error {
	switch {
	case s.IsFailure():
		return ErrRunFailed
	case s == RunStatusCancelled:
		return ErrRunCancelled
	}
	return nil
}

// endedBadly reports whether a run is over and has not exported everything. An unknown status is not a success.
func (r *Run) endedBadly() bool {
	return r.outcome() != coverage.Completed && r.outcome() != coverage.Open
}

func (r *Run) outcome() coverage.Outcome {
	return coverage.OutcomeOf(r.Status, r.RecordsFailed)
}

func (r *Run) brief() string {
	text := mask.Clean(string(r.Status))
	if r.RecordsCompleted != nil {
		text += fmt.Sprintf(", %d records", *r.RecordsCompleted)
	}
	if latest := mask.Clean(outgoing.OrDefault(r.LatestError)); latest != "" {
		text += ": " + latest
	}
	return text
}

func (r *Run) ending() string {
	text := "ended as " + mask.Clean(string(r.Status))
	if failed := outgoing.OrDefault(r.RecordsFailed); r.Status == RunStatusCompleted && failed > 0 {
		text = fmt.Sprintf("completed, but %d records failed", failed)
	}
	if latest := mask.Clean(outgoing.OrDefault(r.LatestError)); latest != "" {
		text += ": " + latest
	}
	return text
}

// Watch yields a run at once, and then after each change of its status or its counts until it is over; its Status says how
// it ended. It repeats a look that failed with a temporary error. An error of Watch comes once, last, with the last state.
func (s *RunsService) Watch(ctx context.Context, exportID, runID uuid.UUID, o *WatchOptions, options ...CallOption) iter.Seq2[Run, error] {
	return watch.Values(s.watch(ctx, exportID, runID, o, options))
}

// Wait waits until the run is over. The error is nil only if the run completed with all of its records, or is
// still running and WatchOptions.Until accepts that. After any other end it is a [*RunError], also if the run
// completed but some of its records failed. Wait returns the last state of the run with
// every error; the state is nil if it was never read.
func (s *RunsService) Wait(ctx context.Context, exportID, runID uuid.UUID, o *WatchOptions, options ...CallOption) (*Run, error) {
	return watch.Ended(s.watch(ctx, exportID, runID, o, options), (*Run).judge)
}

// judge returns the error of a run that is over and has not exported everything.
func (r *Run) judge() error {
	if r.endedBadly() {
		return &RunError{Run: r}
	}
	return nil
}

func (s *RunsService) watch(ctx context.Context, exportID, runID uuid.UUID, o *WatchOptions, options []CallOption) iter.Seq2[*Run, error] {
	w, err := o.withDefaults(ops.RunsWait)
	if err != nil {
		return pages.Failed[*Run](err)
	}
	get := func(ctx context.Context) (*Run, error) { return s.Get(ctx, exportID, runID, options...) }
	return watch.Changes(ctx, w.Pace, "run "+runID.String(), get, func(r *Run) (string, watch.Mark, bool) {
		return r.brief(), r.mark(), w.until(*r)
	})
}

func (r *Run) mark() watch.Mark {
	return watch.NewMark(r.Status, r.RecordsCompleted, r.RecordsTotalCount, r.RecordsFailed, r.BytesExported)
}

func runFacts(r Run) coverage.Facts {
	return coverage.Facts{
		ID: r.ID, Backfill: r.Backfill, Interval: r.span(), Mark: r.mark(),
		Complete: r.outcome() == coverage.Completed, Created: r.CreatedAt, Ended: cmp.Or(outgoing.OrDefault(r.FinishedAt), r.LastUpdatedAt),
	}
}

// RunCount is the number of runs of an export that were created on one day.
type RunCount struct {
	Day      time.Time         // its midnight, in UTC
	ByStatus map[RunStatus]int // statuses without a run are left out; may hold statuses that this package does not know
}

// Total returns the number of runs of the day.
func (c RunCount) Total() int {
	total := 0
	for _, n := range c.ByStatus {
		total += n
	}
	return total
}

// Completed returns the number of runs that have completed.
func (c RunCount) Completed() int { return c.ByStatus[RunStatusCompleted] }

// Failed returns the number of runs that have failed: see [RunStatus.IsFailure].
func (c RunCount) Failed() int {
	failed := 0
	for status, n := range c.ByStatus {
		if status.IsFailure() {
			failed += n
		}
	}
	return failed
}

type countedRun struct{ Run }

func (r *countedRun) complete() error {
	return cmp.Or(has("created_at", r.CreatedAt), r.Run.complete())
}

// includes reports whether the options select a run: old servers do not filter by status, and read times in another
// zone.
func (o RunListOptions) includes(r Run) bool {
	switch {
	case len(o.Statuses) > 0 && !slices.Contains(o.Statuses, r.Status),
		!r.CreatedAt.IsZero() && r.CreatedAt.Before(o.After), !o.Before.IsZero() && r.CreatedAt.After(o.Before),
		!o.Start.IsZero() && outgoing.OrDefault(r.DataIntervalStart).Before(o.Start), !o.End.IsZero() && r.DataIntervalEnd.After(o.End):
		return false
	}
	return true
}

// Counts counts the runs of an export by the day of their creation in UTC, oldest day first, without empty days. Each
// run counts once, with the status at its first read; a retry is a run of its own. It reads the list in pages of 100
// and remembers their ids, about 40 bytes each, so bound a long history with After. It refuses a Cursor. With an error
// there are no counts.
//
// GET /batch_exports/{batch_export_id}/runs/, scope batch_export:read.
func (s *RunsService) Counts(ctx context.Context, exportID uuid.UUID, o *RunListOptions, options ...CallOption) ([]RunCount, error) {
	selected := outgoing.OrDefault(o)
	r := endpointByID(ops.RunsList, exportID).with(selected.inAnyZone().query()).refuse(cmp.Or(
		outgoing.If(selected.Cursor != "", "Cursor", "", "an empty cursor: counts cover the whole list"),
		selected.check(),
	))
	days, seen := map[time.Time]RunCount{}, map[uuid.UUID]struct{}{}
	for run, err := range walkByCursor[countedRun](s.client, r, selected.CursorOptions, options).All(ctx) {
		if err != nil {
			return nil, fromTheStart(err)
		}
		if _, isOld := seen[run.ID]; isOld || !selected.includes(run.Run) {
			continue
		}
		seen[run.ID] = struct{}{}
		day := run.CreatedAt.UTC().Truncate(24 * time.Hour)
		if _, ok := days[day]; !ok {
			days[day] = RunCount{Day: day, ByStatus: map[RunStatus]int{}}
		}
		days[day].ByStatus[run.Status]++
	}
	return slices.SortedFunc(maps.Values(days), func(a, b RunCount) int { return a.Day.Compare(b.Day) }), nil
}
