package hogapi

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/ledger"
)

// stateSaver makes the settled place durable before there is room for more. An import has one.
type stateSaver interface {
	save(ctx context.Context, s ledger.State[Position]) error
	decide(ctx context.Context, p Protocol) error // before the first event is sent
	finish(ctx context.Context, s ledger.State[Position]) error
}

// committer releases the settled records at the front, in order: rejects are handed over, the place
// is saved, and then there is room for more. It runs until the lanes have ended.
type committer struct {
	line      *pipeline
	id        string
	source    string
	saver     stateSaver
	limits    rejectLimits
	onSettled func(Position)

	wake    chan struct{}
	crowded chan struct{} // ends a pause between two saves
	lanes   chan struct{} // closed when the lanes have ended
	done    chan struct{} // closed when everything that can be is committed
	whole   atomic.Bool   // the source was read to its end

	saveTime time.Duration // of the newest save

	mu      sync.Mutex
	upTo    uint64   // all before it is committed, and OnSettled knows
	place   Position // that OnSettled knows
	flushTo uint64   // somebody waits for all before it
	moved   chan struct{}
}

func newCommitter(p *pipeline, o CaptureOptions, in importState) *committer {
	return &committer{
		line: p, id: o.ID, source: in.source, saver: in.saver, limits: in.limits, onSettled: o.OnSettled,
		wake: make(chan struct{}, 1), crowded: make(chan struct{}, 1),
		lanes: make(chan struct{}), done: make(chan struct{}), moved: make(chan struct{}),
		place: p.ledger.Place(),
	}
}

// signal tells the committer that something is settled.
func (c *committer) signal() {
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

// isCrowded reports whether events that only wait for a commit take much of the room.
func (c *committer) isCrowded() bool { return c.line.ledger.Settled() > c.line.set.MaxInFlight/2 }

func (c *committer) run() {
	defer close(c.done)
	for last := false; ; {
		c.spareDisk()
		n, rejects := c.front()
		if n > 0 {
			if err := c.commit(n, rejects); err != nil {
				c.line.stop(err)
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

// close has the rest committed, once the lanes have ended.
func (c *committer) close() {
	close(c.lanes)
	<-c.done
}

// front is what can be committed now. Where rejects may stop the import, what is after them waits.
func (c *committer) front() (n int, rejects []ledger.Rejected[*Reject]) {
	books := c.line.ledger
	n, rejects = books.Front()
	step := c.limits.step(books.Counts())
	if len(rejects) < step {
		return n, rejects
	}
	if fewer := books.WholeBefore(rejects[step-1].Number + 1); fewer > 0 {
		n = fewer
		rejects = slices.DeleteFunc(rejects, func(r ledger.Rejected[*Reject]) bool { return r.Number >= n })
	}
	return n, rejects
}

// spareDisk waits a little between two saves, five times as long as the last one took, unless
// somebody waits for the result or much is settled that only a save can release.
func (c *committer) spareDisk() {
	if c.saver == nil || c.saveTime == 0 || c.isCrowded() || c.isAwaited() {
		return
	}
	timer := time.NewTimer(5 * c.saveTime)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-c.crowded:
	case <-c.lanes:
	case <-c.line.accepting.Done():
	}
}

func (c *committer) isAwaited() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.flushTo > c.upTo || c.line.accepting.Err() != nil
}

// commit hands over the rejects among the first n events, books the events and saves the place. Where
// a reject cannot be handed over, the records before it are committed all the same. There is room for
// more only when all has gone well: what was not saved must not become more.
func (c *committer) commit(n int, rejects []ledger.Rejected[*Reject]) error {
	done, err := c.handOver(n, rejects)
	if done > 0 {
		books := c.line.ledger
		less := delivery.Held{Events: done, Bytes: books.Commit(done)}
		counts := books.Counts()
		if saveErr := c.save(counts); err == nil {
			err = saveErr // a reject that failed came first
		}
		if err == nil {
			err = c.limits.judge(counts)
		}
		if err == nil {
			c.line.budget.Release(less)
		}
	}
	if err == nil {
		c.report()
	}
	return err
}

// handOver gives the rejects among the first n events to the handler, and returns how many events are
// done with.
func (c *committer) handOver(n int, rejects []ledger.Rejected[*Reject]) (done int, err error) {
	p := c.line
	for _, r := range rejects {
		var err error
		if p.rejects == nil {
			err = &StopError{Reason: StopRejected, Status: r.Reject.Status, Err: r.Reject.Err}
		} else if failed := p.core.guard(func() error { return p.rejects.Reject(p.sending, *r.Reject) }); failed != nil {
			err = &StopError{Reason: StopHandler, Err: failed}
		}
		if err != nil {
			return p.ledger.WholeBefore(r.Number), err
		}
		c.limits.note(r.Reject)
	}
	return n, nil
}

// save makes the place durable. As long as everything was rejected nothing is saved: the next run,
// with a corrected source or URL, must begin where this one did.
func (c *committer) save(t ledger.Counts) error {
	if c.saver == nil || c.limits.hasShare() && t.Acknowledged == 0 && t.Refused() > 0 {
		return nil
	}
	start := time.Now()
	state := c.line.ledger.State()
	p := c.line
	if err := p.core.guard(func() error { return c.saver.save(context.WithoutCancel(p.sending), state) }); err != nil {
		return &StopError{Reason: StopCheckpoint, Err: err}
	}
	c.saveTime = time.Since(start)
	p.core.hook(p.sending, p.core.hooks.OnCheckpoint != nil, func() {
		p.core.hooks.OnCheckpoint(CheckpointInfo{Position: state.Place, Duration: c.saveTime})
	})
	return nil
}

// report tells OnSettled how far everything is settled, and then those who wait for it.
func (c *committer) report() {
	place, upTo := c.line.ledger.Place(), c.line.ledger.First()
	if place != c.place { // only this goroutine changes it
		c.line.core.hook(c.line.sending, c.onSettled != nil, func() { c.onSettled(place) })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.place, c.upTo = place, upTo
	close(c.moved)
	c.moved = make(chan struct{})
}

// finish judges an import that has come to its end.
func (c *committer) finish() {
	if !c.whole.Load() || c.line.sending.Err() != nil || c.line.ledger.Live().InFlight > 0 {
		return
	}
	counts := c.line.ledger.Counts()
	if counts.Skipped > 0 && counts.Acknowledged+counts.Refused() == 0 {
		c.line.ledger.Count(string(WarnAllSkipped), 1)
		c.line.core.logger.WarnContext(c.line.sending, "hogapi: every record of the source was skipped", "records", counts.Skipped)
	}
	err := c.limits.judgeEnd(counts)
	if err == nil && c.saver != nil {
		keep := func() error { return c.saver.finish(context.WithoutCancel(c.line.sending), c.line.ledger.State()) }
		if failed := c.line.core.guard(keep); failed != nil {
			err = &StopError{Reason: StopCheckpoint, Err: failed}
		}
	}
	if err != nil {
		c.line.stop(err)
	}
}

// reported is the place that OnSettled knows.
func (c *committer) reported() Position {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.place
}

// await returns when all before a sequence number is committed and reported.
func (c *committer) await(ctx context.Context, target uint64) error {
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
			ended = c.line.whyClosed()
		case <-c.line.sending.Done():
			ended = context.Cause(c.line.sending) //nolint:contextcheck // of another life time
		case <-ctx.Done():
			ended = context.Cause(ctx)
		}
		c.mu.Lock()
		if ended != nil && c.upTo < target {
			if left := target - min(c.line.ledger.First(), target); left > 0 {
				return fmt.Errorf("hogapi: flush ended with %d events unsettled: %w", left, bare(ended))
			}
			return fmt.Errorf("hogapi: flush ended before OnSettled was told of all: %w", bare(ended))
		}
	}
	return nil
}

// receipt is a state of the ledger in the form of a receipt.
func (c *committer) receipt(s ledger.State[Position]) Receipt {
	r := newReceipt(c.id, c.source, s)
	if c.line.isDecided() {
		r.Protocol = Protocol(c.line.protocol.Name())
	}
	return r
}
