package hogapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// settledPlace is how far the settled events reach without a gap. Events can share a position, so it is the last position
// that is wholly behind, and how many events of the next one are.
type settledPlace struct {
	After Position `json:"after"`          // every event up to and at this position is settled
	At    Position `json:"at,omitzero"`    // and of this position
	Count uint64   `json:"count,omitzero"` // so many
}

// pass moves on by one settled event. One without a position belongs to the position before it.
func (s *settledPlace) pass(e *entry) {
	if e.pos.IsZero() {
		return
	}
	if e.pos != s.At {
		s.After = s.At
		s.At, s.Count = e.pos, 0
	}
	s.Count = e.number + 1
}

// stateSaver makes the settled place durable before its events are let go of. An import has one.
type stateSaver interface {
	save(ctx context.Context, place settledPlace, r Receipt) error
}

// commit lets go of the settled events at the front, in order: rejects are handed over, the place is saved, and then
// there is room for more. It is the only one that does; it ends when the lanes have.
func (p *Capture) commit() {
	defer close(p.committed)
	lanesEnded := make(chan struct{})
	go func() {
		p.running.Wait()
		close(lanesEnded)
	}()
	orElse(func() { p.commitUntil(lanesEnded) }, func(err error) {
		p.stopFor(StopHandler)(err)
		<-lanesEnded
	})
}

func (p *Capture) commitUntil(lanesEnded <-chan struct{}) {
	for last := false; ; {
		if p.saver != nil && !last {
			p.spareDisk(lanesEnded)
		}
		if n, rejects := p.settledFront(); n > 0 {
			if p.commitFront(n, rejects) != nil {
				<-lanesEnded
				return
			}
			p.report() // now: under a steady load something is settled at each look
			continue
		}
		p.report()
		if last {
			return
		}
		select {
		case <-p.commits:
		case <-lanesEnded:
			last = true
		}
	}
}

// spareDisk waits a little between two saves, five times as long as the last one took, unless somebody waits for the end or much is
// settled that only a save can let go of.
func (p *Capture) spareDisk(lanesEnded <-chan struct{}) {
	p.mu.Lock()
	hurried := p.closing || p.flushTo > p.entries.First() || p.isCrowded()
	p.mu.Unlock()
	if hurried || p.saveTime == 0 {
		return
	}
	timer := time.NewTimer(5 * p.saveTime)
	defer timer.Stop()
	select { // whatever ends it, the next look at the front is due
	case <-timer.C:
	case <-p.crowded:
	case <-lanesEnded:
	case <-p.stopped:
	case <-p.ctx.Done():
	}
}

// addSettled counts events that are settled and not yet committed. The caller holds the lock.
func (p *Capture) addSettled(n int) {
	p.uncommitted += n
	if p.isCrowded() {
		select {
		case p.crowded <- struct{}{}:
		default:
		}
	}
}

// isCrowded reports whether events that only wait for a commit take much of the room.
func (p *Capture) isCrowded() bool { return p.uncommitted > p.set.MaxInFlight/2 }

func (p *Capture) wakeCommitter() {
	select {
	case p.commits <- struct{}{}:
	default:
	}
}

// settledReject is a rejected event among the settled ones.
type settledReject struct {
	place  int // of the event, from the front
	reject *Reject
}

// settledFront counts the settled events at the front and picks out the rejected ones. They stay in the window until they are committed.
func (p *Capture) settledFront() (n int, rejects []settledReject) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for ; n < p.entries.Len(); n++ {
		e := p.entries.At(p.entries.First() + uint64(n))
		if e.state == entryPending {
			break
		}
		if e.state == entryRejected {
			rejects = append(rejects, settledReject{n, e.reject})
		}
	}
	return n, rejects
}

// commitFront hands over rejects, books the first n events and saves the place. Where a reject cannot be handed over, what came
// before it is committed all the same. An error has stopped the Capture.
func (p *Capture) commitFront(n int, rejects []settledReject) error {
	done, handlerErr := p.handOver(n, rejects)
	place := p.settled
	first := p.entries.First() // only the committer moves it
	p.bySteps(done, func(from, to int) {
		for i := from; i < to; i++ {
			e := p.entries.At(first + uint64(i))
			p.books.enter(e)
			place.pass(e)
		}
	})
	defer p.bySteps(done, p.release) // also when they are not saved: they are in the books, which count each event once
	var saveErr error
	if p.saver != nil && done > 0 {
		orElse(func() { saveErr = p.saveState(place) }, p.stopFor(StopCheckpoint))
	}
	if saveErr == nil {
		p.mu.Lock()
		p.settled = place
		p.mu.Unlock()
	}
	err := handlerErr // it came first: a reject file that fails cannot be vouched for either
	if err == nil {
		err = saveErr
	}
	if err != nil {
		p.stop(err) // before there is room: what was not saved must not become more
	}
	return err
}

// release lets go of the events at the front that are committed. The caller holds the lock.
func (p *Capture) release(from, to int) {
	for range to - from {
		e := p.entries.Pop()
		if !e.pos.IsZero() {
			p.newest, p.flushed, p.goesOn = p.entries.First()-1, false, e.goesOn
		}
		p.flushed = p.flushed || e.ended
		p.bytes -= len(e.pos.Key)
		if e.state == entryRejected {
			p.bytes -= int(e.size)
			p.stats.Rejected++
		}
	}
	p.uncommitted -= to - from
	p.makeRoom()
}

// bySteps calls f for parts of the numbers below n, each under the lock, so that others can have it in between.
func (p *Capture) bySteps(n int, f func(from, to int)) {
	const step = 4096
	for from := 0; from < n; from += step {
		p.mu.Lock()
		f(from, min(from+step, n))
		p.mu.Unlock()
	}
}

// handOver gives the rejects among the first n events to the handler and reports how many events are done with.
func (p *Capture) handOver(n int, rejects []settledReject) (done int, err error) {
	for _, r := range rejects {
		if p.rejects == nil {
			return r.place, &StopError{Reason: StopRejected, Status: r.reject.Status, Err: r.reject.Err}
		}
		if err := p.core.guard(func() error { return p.rejects.Reject(p.ctx, *r.reject) }); err != nil {
			return r.place, &StopError{Reason: StopHandler, Err: err}
		}
	}
	return n, nil
}

func (p *Capture) saveState(place settledPlace) error {
	start := time.Now()
	p.mu.Lock()
	r := p.receipt()
	p.mu.Unlock()
	if err := p.core.guard(func() error { return p.saver.save(context.WithoutCancel(p.ctx), place, r) }); err != nil {
		return &StopError{Reason: StopCheckpoint, Err: err}
	}
	p.saveTime = time.Since(start)
	p.hooks.checkpoint(CheckpointEvent{Position: place.After, Duration: p.saveTime})
	return nil
}

// report tells OnSettled how far everything is settled. What Flush or Close ends in the meantime is told as well.
func (p *Capture) report() {
	p.mu.Lock()
	at := p.settledUpTo()
	for ; at != p.stats.Position; at = p.settledUpTo() {
		p.stats.Position = at
		p.mu.Unlock()
		p.core.hook(p.ctx, !at.IsZero() && p.onSettled != nil, func() { p.onSettled(at) })
		p.mu.Lock()
	}
	p.reported = p.entries.First()
	if at != p.settled.At && !p.goesOn {
		p.reported = p.newest // it is not told yet, and a Flush may end it
	}
	p.makeRoom()
	p.mu.Unlock()
}

// settledUpTo is the position to report. The newest one counts once an event of another one is next, or when the caller has said by
// Flush or Close that no more of it will come and none has; and then for good. The caller holds the lock.
func (p *Capture) settledUpTo() Position {
	newest := p.settled.At
	whole := newest == p.stats.Position || p.flushed && !p.goesOn
	if !whole && p.entries.Len() > 0 {
		next := p.entries.At(p.entries.First()).pos
		whole = !next.IsZero() && next != newest
	}
	if whole && p.settled.Count > 0 {
		return newest
	}
	return p.settled.After
}

// UnsettledError lists the events that were accepted and are not settled: the service may or may not have them. Sending
// them again with the same uuids is harmless.
type UnsettledError struct {
	Count       int
	First, Last Position
	UUIDs       []uuid.UUID // at most 10,000 of them
	Err         error       // why; may be nil
}

const mostListed = 10_000

func (e *UnsettledError) Error() string {
	text := fmt.Sprintf("hogapi: %d events are unsettled", e.Count)
	if !e.First.IsZero() {
		text += fmt.Sprintf(", from %s to %s", e.First, e.Last)
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text + "; the service may have them or not: send them again with the same uuids, as the next run of an import does"
}

// Unwrap returns why they are unsettled.
func (e *UnsettledError) Unwrap() error { return e.Err }

// conclude makes the result of Close.
func (p *Capture) conclude(ctx context.Context) (Receipt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	unsettled := &UnsettledError{Err: p.endedBy(ctx)}
	for seq := p.entries.First(); seq < p.entries.Next(); seq++ {
		if e := p.entries.At(seq); e.state == entryAcknowledged {
			p.books.count(e) // behind a gap: taken by the service, and not committed
		} else {
			unsettled.list(e)
		}
	}
	r := p.receipt()
	r.Pending = int64(unsettled.Count)
	r.Read += r.Pending
	if unsettled.Count > 0 {
		return r, unsettled
	}
	return r, unsettled.Err
}

// receipt is the books with what this run adds to them. The caller holds the lock.
func (p *Capture) receipt() Receipt {
	r := p.books.receipt()
	if p.wide > 0 {
		r.Warnings[WarnWideBatch] += p.wide
	}
	r.Refused = p.stats.Refused
	r.Resent += p.stats.Resent
	return r
}

func (e *UnsettledError) list(of *entry) {
	e.Count++
	widen(&e.First, &e.Last, of.pos)
	if len(e.UUIDs) < mostListed {
		e.UUIDs = append(e.UUIDs, of.id)
	}
}

// endedBy is why the sending ended before its time, or nil.
func (p *Capture) endedBy(ctx context.Context) error {
	select {
	case <-p.stopped:
		if !errors.Is(p.stopErr, context.Canceled) || ctx.Err() == nil {
			return p.stopErr
		}
	default:
	}
	if p.entries.Len() > 0 {
		return context.Cause(ctx)
	}
	return nil // whatever ctx says: all was settled before
}
