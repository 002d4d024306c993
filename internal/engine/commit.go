package engine

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/ledger"
)

// committer releases the settled records at the front, in order. It runs until the lanes have ended, and stops the
// sending if a reject cannot be handed over, a state cannot be saved, or there are too many rejects.
type committer struct {
	*life

	ledger   *ledger.Ledger
	budget   *delivery.Budget
	room     int // events that may be taken and not committed
	rejected rejected
	files    *Files  // nil: nothing is saved
	handler  Handler // nil: a reject stops the import
	client   Client
	limits   RejectLimits
	logger   *slog.Logger

	wake    chan struct{}
	crowded chan struct{} // ends a pause between two saves
	lanes   chan struct{} // closed when the lanes have ended
	done    chan struct{} // closed when everything that can be is committed
	whole   atomic.Bool   // the source was read to its end
	outside atomic.Pointer[string]

	saveTime time.Duration // of the newest save
	isBroken bool          // a save has failed

	mu       sync.Mutex
	upTo     uint64 // all before it is committed, and OnSettled knows
	position event.Position
	flushTo  uint64 // somebody waits for all before it
	moved    chan struct{}
}

func newCommitter(c Config, l *life, books *ledger.Ledger, budget *delivery.Budget) *committer {
	return &committer{
		life: l, ledger: books, budget: budget, room: c.Room.Events, files: c.Files, handler: c.Handler, client: c.Client, limits: c.Rejects, logger: c.Logger,
		wake: make(chan struct{}, 1), crowded: make(chan struct{}, 1),
		lanes: make(chan struct{}), done: make(chan struct{}), moved: make(chan struct{}), position: books.Position(),
	}
}

// commit is the order of a commit. The rejects among the first n events go to their file or handler; the position is saved,
// and before it the reject file is synced; the room is released; OnSettled hears the position. A step that fails is the
// last: events that are not saved do not pile up. If a reject cannot be handed over, the records before it are saved.
func (c *committer) commit(n int, rejects []int) error {
	done, err := c.handOver(n, rejects)
	if done > 0 {
		room := delivery.Held{Events: done, Bytes: c.ledger.Commit(done)}
		if saveErr := c.save(c.ledger.State()); err == nil {
			err = saveErr // a reject that failed came first
		}
		if err == nil {
			err = c.limits.Judge(c.ledger.Counts())
		}
		if err == nil {
			c.budget.Release(room)
		}
	}
	if err == nil {
		c.report()
	}
	return err
}

// handOver gives the rejects among the first n events to the handler, and returns how many events can be
// committed.
func (c *committer) handOver(n int, rejects []int) (done int, err error) {
	first := c.ledger.First()
	for _, number := range rejects {
		r := c.rejected.take(first + uint64(number))
		if err := c.handOverOne(r); err != nil {
			return c.ledger.WholeBefore(number), err
		}
		if c.limits.First == nil {
			c.limits.First = r.Err
		}
	}
	return n, nil
}

func (c *committer) handOverOne(r *event.Reject) error {
	if c.handler == nil {
		return stopAt(r)
	}
	defer c.call("the reject handler")()
	if err := c.handler.Reject(c.calling.Context, *r); err != nil {
		return &event.StopError{Reason: event.StopHandler, Err: err}
	}
	return nil
}

// save makes the position durable. While the share of rejects is limited and every record is rejected, it
// saves nothing, so that the next run, with a corrected source or URL, begins where this run did.
func (c *committer) save(state ledger.State) error {
	t := state.Totals.Counts()
	if c.files == nil || c.isBroken || c.limits.hasShare() && t.Acknowledged == 0 && t.Rejects() > 0 {
		return nil
	}
	if state.Ahead != nil && !c.files.HasSaved() {
		return nil // the run has not begun
	}
	start, returned := time.Now(), c.call("Checkpointer.Save")
	err := c.files.Save(c.calling.Context, state)
	if returned(); err != nil {
		c.isBroken = true
		return err
	}
	c.saveTime = time.Since(start)
	defer c.call("Hooks.OnCheckpoint")()
	c.client.Saved(state.Position, c.saveTime)
	return nil
}

// report calls OnSettled with the position up to which everything is settled, and then wakes the callers of
// Await.
func (c *committer) report() {
	position, upTo := c.ledger.Position(), c.ledger.First()
	if position != c.position { // only this goroutine changes it
		returned := c.call("CaptureOptions.OnSettled")
		c.client.Settled(c.calling.Context, position)
		returned()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.position, c.upTo = position, upTo
	close(c.moved)
	c.moved = make(chan struct{})
}

// call notes that a function of the user runs, until the returned function is called.
func (c *committer) call(name string) (returned func()) {
	c.outside.Store(&name)
	return func() { c.outside.Store(nil) }
}

// Signal says that something is settled.
func (c *committer) Signal() {
	notify(c.wake)
	if c.isCrowded() {
		notify(c.crowded)
	}
}

func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// SourceEnded says that the source was read to its end.
func (c *committer) SourceEnded() {
	c.ledger.End()
	c.whole.Store(true)
	c.Signal()
}

// Close says that the lanes have ended, and waits until everything that can be is committed.
func (c *committer) Close() {
	close(c.lanes)
	<-c.done
}

// isCrowded reports whether settled events that wait for a commit take more than half of the room.
func (c *committer) isCrowded() bool { return c.ledger.Settled() > c.room/2 }

func (c *committer) run() {
	defer close(c.done)
	for last := false; ; {
		c.pauseBetweenSaves()
		n, rejects := c.front()
		if n > 0 {
			if err := c.commit(n, rejects); err != nil {
				c.Stop(err)
				<-c.lanes
				c.finish()
				return
			}
			continue
		}
		if last {
			c.finish()
			return
		}
		select {
		case <-c.wake:
		case <-c.lanes:
			last = true
		}
	}
}

// front returns how many events can be committed now, and the numbers of their rejects. It ends where the rejects may
// stop the import: later events wait.
func (c *committer) front() (n int, rejects []int) {
	n, rejects = c.ledger.Front()
	step := c.limits.step(c.ledger.Counts())
	if len(rejects) < step {
		return n, rejects
	}
	if fewer := c.ledger.WholeBefore(rejects[step-1] + 1); fewer > 0 {
		n = fewer
		rejects = slices.DeleteFunc(rejects, func(number int) bool { return number >= n })
	}
	return n, rejects
}

// pauseBetweenSaves pauses between two saves, for five times the duration of the last save. It does not pause if
// somebody waits for the result, or if only a save can release much of the room.
func (c *committer) pauseBetweenSaves() {
	c.mu.Lock()
	isAwaited := c.flushTo > c.upTo || c.accepting.Err() != nil
	c.mu.Unlock()
	if c.files == nil || c.saveTime == 0 || c.isCrowded() || isAwaited {
		return
	}
	timer := time.NewTimer(5 * c.saveTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.crowded:
	case <-c.lanes:
	case <-c.accepting.Done():
	}
}

// finish judges an import at the end of its source, or saves the state that a stopped run leaves to the next one.
func (c *committer) finish() {
	if !c.whole.Load() || c.sending.Err() != nil || c.ledger.Live().InFlight > 0 {
		_ = c.save(c.ledger.LastState()) // the state before stays, which says less
		return
	}
	counts := c.ledger.Counts()
	if counts.Skipped > 0 && counts.Acknowledged+counts.Rejects() == 0 {
		c.ledger.Count(event.WarningAllSkipped, 1)
		c.logger.WarnContext(c.sending.Context, "hogapi: every record of the source was skipped", "records", counts.Skipped)
	}
	err := c.limits.JudgeEnd(counts)
	if err == nil && c.files != nil {
		defer c.call("Checkpointer.Save")()
		err = c.files.Finish(c.calling.Context, c.ledger.LastState())
	}
	if err != nil {
		c.Stop(err)
	}
}

// Reported returns the position up to which everything is settled and reported.
func (c *committer) Reported() event.Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.position
}

// Await returns when all events before a sequence number are committed and reported.
func (c *committer) Await(ctx context.Context, target uint64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flushTo = max(c.flushTo, target)
	for c.upTo < target {
		moved := c.moved
		c.mu.Unlock()
		notify(c.wake)
		notify(c.crowded)
		var ended error
		select {
		case <-moved:
		case <-c.done:
			ended = context.Cause(c.accepting.Context) //nolint:contextcheck // of another life time
		case <-c.sending.Done():
			ended = context.Cause(c.sending.Context) //nolint:contextcheck // of another life time
		case <-ctx.Done():
			ended = context.Cause(ctx)
		}
		c.mu.Lock()
		if ended != nil && c.upTo < target {
			if left := target - min(c.ledger.First(), target); left > 0 {
				return fmt.Errorf("hogapi: flush ended with %d events unsettled: %w", left, errtext.WithoutPrefix(ended))
			}
			return fmt.Errorf("hogapi: flush ended before OnSettled was told of all: %w", errtext.WithoutPrefix(ended))
		}
	}
	return nil
}
