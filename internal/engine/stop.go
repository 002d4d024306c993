package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/ledger"
	"github.com/hogapi/hogapi/internal/watch"
)

// life has the spans in which an engine takes events, sends them, waits for answers and calls the functions
// of a user. Each span ends before the next one, or with it. Its cause says why.
type life struct {
	grace time.Duration // in which requests under way may end after the sending has

	accepting span                            // producers may add events
	sending   span                            // lanes may begin requests
	posting   span                            // requests may be under way
	calling   span                            // handlers may run; ends only with the context of the caller
	canceled  atomic.Pointer[event.StopError] // the first cancellation
}

// span is a context with its end. The end is a function, because package context gives no other.
type span struct {
	context.Context

	end context.CancelCauseFunc
}

func begin(parent context.Context) (s span) {
	s.Context, s.end = context.WithCancelCause(parent)
	return s
}

func newLife(grace time.Duration) *life {
	l := &life{grace: grace, calling: begin(context.Background())}
	l.posting = begin(l.calling.Context)
	l.sending = begin(l.posting.Context)
	context.AfterFunc(l.sending.Context, func() {
		if watch.Sleep(l.posting.Context, l.grace) {
			l.posting.end(nil)
		}
	})
	l.accepting = begin(l.sending.Context)
	return l
}

// Stop ends the sending.
func (l *life) Stop(cause error) { l.sending.end(cause) }

// stopAt returns the stop by a reject that has no handler.
func stopAt(r *event.Reject) error {
	return &event.StopError{Reason: event.StopRejected, Status: r.Status, Err: r.Err}
}

// whyClosed returns the reason why no more events are taken, or nil.
func (l *life) whyClosed() error {
	if l.accepting.Err() == nil { // takes no lock
		return nil
	}
	return context.Cause(l.accepting.Context)
}

// canceledBy returns the stop by the end of a context.
func (l *life) canceledBy(ctx context.Context) (stopped error) {
	cause := context.Cause(ctx)
	if !errors.Is(cause, ctx.Err()) {
		cause = fmt.Errorf("%w (%w)", cause, ctx.Err())
	}
	l.canceled.CompareAndSwap(nil, &event.StopError{Reason: event.StopCanceled, Err: cause})
	return l.canceled.Load()
}

// cancel stops the sending, since a context has ended.
func (l *life) cancel(ctx context.Context) (stopped error) {
	stopped = l.canceledBy(ctx)
	l.Stop(stopped)
	return stopped
}

// cancellation returns the cancellation that has caused a stop, or nil.
func (l *life) cancellation(stopped error) *event.StopError {
	if c := l.canceled.Load(); c != nil && errors.Is(stopped, c) {
		return c
	}
	return nil
}

// withFailure adds to a stop by cancellation the reason why no request succeeded at that time.
func (e *Engine) withFailure(stopped error) error {
	canceled, failure := e.cancellation(stopped), e.sender.State().Failure
	if canceled == nil || failure.Since.IsZero() {
		return stopped
	}
	return &event.StopError{Reason: event.StopCanceled, Err: canceled.Err, Failure: failure.Err, FailingSince: failure.Since}
}

// RejectLimits say when an import has too many rejects. The zero value has no limits.
type RejectLimits struct {
	Share float64 // of the records that are not skipped; 0: no limit
	Most  int64   // rejects; 0: no limit

	IsCheck bool  // nothing is sent or saved
	First   error // of this run

	isJudged bool // the share was judged; next at the end
}

const (
	firstRecords  = 100  // if they are all rejected, the import stops
	enoughRecords = 1000 // before so many the share is judged at the end only
	fewestRejects = 2    // the share says nothing about fewer
)

func (l *RejectLimits) hasShare() bool { return l.Share > 0 }

// step returns the number of rejects that may be committed at once: the limits may stop the import after them.
func (l *RejectLimits) step(c ledger.Counts) int {
	step := int64(math.MaxInt)
	if judged := c.Acknowledged + c.Rejects(); l.hasShare() && judged < enoughRecords {
		step = enoughRecords - judged
		if c.Acknowledged == 0 {
			step = firstRecords - c.Rejects()
		}
	}
	if l.Most > 0 {
		step = min(step, l.Most-c.Rejects()+1)
	}
	return int(max(step, 1))
}

// Judge returns a stop once there are too many rejects.
func (l *RejectLimits) Judge(c ledger.Counts) error {
	judged := c.Acknowledged + c.Rejects()
	switch {
	case l.Most > 0 && c.Rejects() > l.Most:
		return l.stop(c, fmt.Sprintf("more than MaxRejects (%d)", l.Most))
	case l.hasShare() && c.Acknowledged == 0 && c.Rejects() >= firstRecords:
		return l.stop(c, "every one of the first records")
	case judged >= enoughRecords && !l.isJudged:
		l.isJudged = true
		return l.judgeShare(c)
	}
	return nil
}

func (l *RejectLimits) judgeShare(c ledger.Counts) error {
	if l.hasShare() && c.Rejects() >= fewestRejects && float64(c.Rejects()) > l.Share*float64(c.Acknowledged+c.Rejects()) {
		return l.stop(c, fmt.Sprintf("more than MaxRejectShare (%g)", l.Share))
	}
	return nil
}

// JudgeBefore judges the counts of earlier runs.
func (l *RejectLimits) JudgeBefore(c ledger.Counts) error {
	err := l.Judge(c)
	if stop, ok := errors.AsType[*event.StopError](err); ok {
		stop.Err = fmt.Errorf("in the runs before, %w", stop.Err)
	}
	return err
}

// JudgeEnd judges an import at the end of its source.
func (l *RejectLimits) JudgeEnd(c ledger.Counts) error {
	if l.hasShare() && c.Acknowledged == 0 && c.Rejects() > 0 {
		return l.stop(c, "every record of the source")
	}
	if err := l.judgeShare(c); err != nil {
		return err
	}
	return l.Judge(c)
}

func (l *RejectLimits) stop(c ledger.Counts, what string) error {
	err := fmt.Errorf("%d of %d records were rejected, %s", c.Rejects(), c.Acknowledged+c.Rejects(), what)
	if c.Acknowledged == 0 && l.hasShare() && !l.IsCheck {
		err = fmt.Errorf("%w; no position was saved", err)
	}
	switch {
	case l.First == nil:
	case l.IsCheck:
		err = fmt.Errorf("%w; the first: %w", err, errtext.WithoutPrefix(l.First))
	default:
		err = fmt.Errorf("%w; the first of this run: %w", err, errtext.WithoutPrefix(l.First))
	}
	return &event.StopError{Reason: event.StopTooManyRejects, Err: err, IsCheck: l.IsCheck}
}

// Flush returns when all admitted events are committed and reported.
func (e *Engine) Flush(ctx context.Context) error {
	target := e.ledger.Next()
	e.sender.Flush(target)
	return e.committer.Await(ctx, target)
}

// Close ends the engine. The first call ends it, and all calls return the same receipt, which is valid with an error too.
func (e *Engine) Close(ctx context.Context) (event.Receipt, error) {
	cancel := func() {
		_ = e.cancel(ctx)
		e.calling.end(context.Cause(ctx))
	}
	defer context.AfterFunc(ctx, cancel)()
	if ctx.Err() != nil {
		cancel() // before lanes that linger are woken: they must not send
	}
	e.sender.Hurry()
	return e.finish()
}

func (e *Engine) finish() (event.Receipt, error) {
	e.ending.Do(e.end)
	return e.receipt, e.endErr
}

// end waits for the lanes and the committer, and makes the receipt.
func (e *Engine) end() {
	e.admission.Lock()
	e.accepting.end(event.ErrClosed)
	isWaiting := len(e.admission.waiting) > 0
	e.admission.Unlock()
	_, ended := watch.RunDetached(e.calling.Context, patience, func() error {
		if isWaiting {
			select {
			case <-e.decided:
			case <-e.sending.Done():
			}
			e.admission.Lock() // release has it until all events have their lanes
			e.admission.waiting = nil
			e.admission.Unlock()
		}
		e.sender.Close()
		e.committer.Close()
		return nil
	}, func(value any) error { panic(value) })
	stopped := context.Cause(e.sending.Context)
	if !ended {
		stopped = e.abandoned()
	}
	e.Stop(event.ErrClosed)
	e.calling.end(event.ErrClosed) // releases the contexts
	state, open := e.ledger.Conclude()
	e.receipt = ReceiptOf(e.ID, e.Source, state)
	e.receipt.Pending, e.receipt.Refused = int64(len(open)), e.meter.refused.Load()
	e.receipt.Read += e.receipt.Pending
	if e.isDecided() {
		e.receipt.Protocol = e.terms.name
	}
	if c := e.canceled.Load(); stopped == nil && c != nil && len(open) > 0 { // it was wound up within its grace
		stopped = c
	}
	switch {
	case len(open) > 0:
		e.endErr = event.Unsettled(open, e.withFailure(stopped))
	case ended && e.cancellation(stopped) != nil: // all was settled before
	default:
		e.endErr = stopped
	}
	e.receipt.Finished = e.endErr == nil
}

// abandoned returns the stop by a function that did not return after the context of its caller had ended.
func (e *Engine) abandoned() error {
	name := "a request (the transport of the HTTP client or Hooks.OnBatch)"
	if outside := e.committer.outside.Load(); outside != nil {
		name = *outside
	}
	return &event.StopError{Reason: event.StopCanceled, Err: fmt.Errorf("%s did not return within %v after the end of the context: %w", name, patience, context.Cause(e.calling.Context))}
}

// Stats returns how far the engine is. The total is that of the source, if it is known.
func (e *Engine) Stats(total int64) event.Stats {
	var s event.Stats
	if at := e.meter.progress.Load(); at != nil { // what is counted first is read last, so that no figure is ahead of its cause
		s.LastProgress = *at
	}
	s.WireBytes = e.meter.wire.Load()
	s.PlainBytes = e.meter.plain.Load()
	s.Requests, s.Refused = e.meter.requests.Load(), e.meter.refused.Load()
	live, sending := e.ledger.Live(), e.sender.State()
	s.Read, s.Acknowledged, s.Rejected, s.Unconfirmed, s.Skipped = live.Read, live.Acknowledged, live.Rejected, live.Unconfirmed, live.Skipped
	s.Pending = s.Read - s.Acknowledged - s.Rejected - s.Unconfirmed - s.Skipped
	s.Resent, s.InFlight, s.Total = live.Resent, live.InFlight, total
	s.Permits, s.Throttled, s.FailingSince, s.LastError = sending.Permits, sending.Throttled, sending.Failure.Since, sending.Failure.Err
	s.Bytes, s.Position = e.budget.Held().Bytes, e.committer.Reported()
	return s
}

// meter counts requests, their bytes, and records that were not taken.
type meter struct {
	requests, plain, wire, refused atomic.Int64
	progress                       atomic.Pointer[time.Time] // when events were accepted last
}

// ReceiptOf returns the receipt of a state.
func ReceiptOf(id, source string, s ledger.State) event.Receipt {
	t := s.Totals
	r := event.Receipt{
		ID: id, Source: source, Read: t.Read, Acknowledged: t.Acknowledged, Rejected: t.Rejected, Unconfirmed: t.Unconfirmed, Skipped: t.Skipped, Resent: t.Resent, ResentAtLeast: t.ResentAtLeast,
		First: t.First, Last: t.Last, Oldest: t.Oldest, Newest: t.Newest, LastAcknowledged: t.LastAcknowledged, Digest: t.Digest.String(), Days: []event.DayCount{},
		Rejects: t.Rejects, Skips: t.Skips, Warnings: t.Warnings,
	}
	for _, shared := range t.Shared {
		r.SharedUUIDs = append(r.SharedUUIDs, event.Example{Position: shared.Position, Text: shared.UUID})
	}
	for _, row := range s.Rows() {
		r.Days = append(r.Days, event.DayCount{
			Day: row.Period, Event: row.Name, Acknowledged: row.Acknowledged, Rejected: row.Rejected, Unconfirmed: row.Unconfirmed, Digest: row.Sent.String(),
		})
	}
	return r
}
