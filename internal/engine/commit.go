// Package commit releases settled events in order: it hands over rejects, saves the position, and then
// releases the room that the events took. It stops an import that has too many rejects.
package engine

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/ledger"
)

// CommitConfig configures a committer. The committer calls its functions one at a time. If one returns an error,
// the sending stops with that error as its cause.
type CommitConfig[P comparable, R any] struct {
	Ledger    *ledger.Ledger[P, R]
	Room      int             // events that may be taken and not committed
	Accepting context.Context // ends when no more events are taken
	Sending   context.Context // ends when the sending has stopped
	Stop      func(cause error)
	Release   func(delivery.Held) // makes room

	HandOver func(R) error
	Why      func(R) error // why it was rejected
	Save     func(ledger.State[P]) error
	Saved    func(position P, took time.Duration) // after each Save
	Settled  func(position P)                     // everything up to a position is settled

	Limits  RejectLimits
	TooMany func(error) error                      // the cause of a stop by the limits
	End     func(c ledger.Counts, err error) error // all of a source is committed; err is of the limits
}

// committer releases the settled records at the front. It runs until the lanes have ended.
type committer[P comparable, R any] struct {
	CommitConfig[P, R]

	wake    chan struct{}
	crowded chan struct{} // ends a pause between two saves
	lanes   chan struct{} // closed when the lanes have ended
	done    chan struct{} // closed when everything that can be is committed
	whole   atomic.Bool   // the source was read to its end

	saveTime time.Duration // of the newest save
	isBroken bool          // a save has failed

	mu       sync.Mutex
	upTo     uint64 // all before it is committed, and Settled knows
	position P      // that Settled knows
	flushTo  uint64 // somebody waits for all before it
	moved    chan struct{}
}

// startCommitter runs a committer. Without a Save nothing is saved.
func startCommitter[P comparable, R any](config CommitConfig[P, R]) *committer[P, R] {
	c := &committer[P, R]{
		CommitConfig: config, wake: make(chan struct{}, 1), crowded: make(chan struct{}, 1),
		lanes: make(chan struct{}), done: make(chan struct{}), moved: make(chan struct{}), position: config.Ledger.Position(),
	}
	go c.run()
	return c
}

// Signal says that something is settled.
func (c *committer[P, R]) Signal() {
	notify(c.wake)
	if c.isCrowded() {
		notify(c.crowded)
	}
}

// SourceEnded says that the source was read to its end.
func (c *committer[P, R]) SourceEnded() {
	c.Ledger.End()
	c.whole.Store(true)
	c.Signal()
}

func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// isCrowded reports whether settled events that wait for a commit take more than half of the room.
func (c *committer[P, R]) isCrowded() bool { return c.Ledger.Settled() > c.Room/2 }

func (c *committer[P, R]) run() {
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

// Close says that the lanes have ended, and waits until the rest is committed.
func (c *committer[P, R]) Close() {
	close(c.lanes)
	<-c.done
}

// front returns how many events can be committed now, and their rejects. It ends where the rejects may stop
// the import: later events wait.
func (c *committer[P, R]) front() (n int, rejects []ledger.Rejected[R]) {
	books := c.Ledger
	n, rejects = books.Front()
	step := c.Limits.step(books.Counts())
	if len(rejects) < step {
		return n, rejects
	}
	if fewer := books.WholeBefore(rejects[step-1].Number + 1); fewer > 0 {
		n = fewer
		rejects = slices.DeleteFunc(rejects, func(r ledger.Rejected[R]) bool { return r.Number >= n })
	}
	return n, rejects
}

// pauseBetweenSaves pauses between two saves, for five times the duration of the last save. It does not pause if
// somebody waits for the result, or if only a save can release much of the room.
func (c *committer[P, R]) pauseBetweenSaves() {
	if c.Save == nil || c.saveTime == 0 || c.isCrowded() || c.isAwaited() {
		return
	}
	timer := time.NewTimer(5 * c.saveTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.crowded:
	case <-c.lanes:
	case <-c.Accepting.Done():
	}
}

func (c *committer[P, R]) isAwaited() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flushTo > c.upTo || c.Accepting.Err() != nil
}

// commit hands over the rejects among the first n events, books the events and saves the position. If a
// reject cannot be handed over, commit still commits the records before it. It releases room only after
// complete success, so that events that are not saved do not pile up.
func (c *committer[P, R]) commit(n int, rejects []ledger.Rejected[R]) error {
	done, err := c.handOver(n, rejects)
	if done > 0 {
		books := c.Ledger
		less := delivery.Held{Events: done, Bytes: books.Commit(done)}
		counts := books.Counts()
		if saveErr := c.save(c.Ledger.State()); err == nil {
			err = saveErr // a reject that failed came first
		}
		if err == nil {
			err = c.judged(c.Limits.Judge(counts))
		}
		if err == nil {
			c.Release(less)
		}
	}
	if err == nil {
		c.report()
	}
	return err
}

// handOver gives the rejects among the first n events to the handler, and returns how many events can be
// committed.
func (c *committer[P, R]) handOver(n int, rejects []ledger.Rejected[R]) (done int, err error) {
	for _, r := range rejects {
		if err := c.HandOver(r.Reject); err != nil {
			return c.Ledger.WholeBefore(r.Number), err
		}
		if c.Limits.First == nil {
			c.Limits.First = c.Why(r.Reject)
		}
	}
	return n, nil
}

// save makes the position durable. While the share of rejects is limited and every record is rejected, it
// saves nothing, so that the next run, with a corrected source or URL, begins where this run did.
func (c *committer[P, R]) save(state ledger.State[P]) error {
	t := state.Totals.Counts()
	if c.Save == nil || c.isBroken || c.Limits.hasShare() && t.Acknowledged == 0 && t.Rejects() > 0 {
		return nil
	}
	start := time.Now()
	if err := c.Save(state); err != nil {
		c.isBroken = true
		return err
	}
	c.saveTime = time.Since(start)
	c.Saved(state.Position, c.saveTime)
	return nil
}

// report calls Settled with the position up to which everything is settled, and then wakes the callers of
// Await.
func (c *committer[P, R]) report() {
	position, upTo := c.Ledger.Position(), c.Ledger.First()
	if position != c.position { // only this goroutine changes it
		c.Settled(position)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.position, c.upTo = position, upTo
	close(c.moved)
	c.moved = make(chan struct{})
}

// finish judges an import at the end of its source, or saves what a run that has stopped leaves to the next one.
func (c *committer[P, R]) finish() {
	if !c.whole.Load() || c.Sending.Err() != nil || c.Ledger.Live().InFlight > 0 {
		_ = c.save(c.Ledger.LastState()) // the state before stays, which says less
		return
	}
	counts := c.Ledger.Counts()
	if err := c.End(counts, c.judged(c.Limits.JudgeEnd(counts))); err != nil {
		c.Stop(err)
	}
}

func (c *committer[P, R]) judged(tooMany error) error {
	if tooMany == nil {
		return nil
	}
	return c.TooMany(tooMany)
}

// Reported returns the position up to which everything is settled and reported.
func (c *committer[P, R]) Reported() P {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.position
}

// Await returns when all events before a sequence number are committed and reported.
func (c *committer[P, R]) Await(ctx context.Context, target uint64) error {
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
			ended = context.Cause(c.Accepting) //nolint:contextcheck // of another life time
		case <-c.Sending.Done():
			ended = context.Cause(c.Sending) //nolint:contextcheck // of another life time
		case <-ctx.Done():
			ended = context.Cause(ctx)
		}
		c.mu.Lock()
		if ended != nil && c.upTo < target {
			if left := target - min(c.Ledger.First(), target); left > 0 {
				return fmt.Errorf("hogapi: flush ended with %d events unsettled: %w", left, errtext.WithoutPrefix(ended))
			}
			return fmt.Errorf("hogapi: flush ended before OnSettled was told of all: %w", errtext.WithoutPrefix(ended))
		}
	}
	return nil
}
