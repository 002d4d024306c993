package hogapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"
)

// batch is events in the form of a request's body, and what is needed to take it apart again.
type batch struct {
	body   []byte // the envelope's beginning and the events, joined by commas
	ends   []int  // where each event ends in body
	seqs   []uint64
	since  time.Time // when its first event came
	oldest time.Time
	newest time.Time

	held     int  // bytes that are counted for it beside those of its events that are not settled, until it is done
	reopened bool // its body has been made again, to take it apart
	lent     bool // a transport may still read from its body
}

func (b *batch) add(out encoded, seq uint64) (backwards bool) {
	if len(b.ends) == 0 {
		b.since = time.Now()
		b.oldest, b.newest = out.time, out.time
	} else {
		b.body = append(b.body, ',')
		backwards = out.time.Before(b.newest.Add(-day))
		if out.time.Before(b.oldest) {
			b.oldest = out.time
		}
		if out.time.After(b.newest) {
			b.newest = out.time
		}
	}
	b.body = append(b.body, out.wire...)
	b.ends = append(b.ends, len(b.body))
	b.seqs = append(b.seqs, seq)
	return backwards
}

const (
	day        = 24 * time.Hour
	bodySuffix = "]}"
)

// part is the events from..to of a batch.
type part struct{ from, to int }

func (r part) len() int { return r.to - r.from }

// halves splits a part of two events or more.
func (r part) halves() (first, second part) {
	middle := r.from + r.len()/2
	return part{r.from, middle}, part{middle, r.to}
}

// begin is where the part's first event starts in the body.
func (b *batch) begin(r part, prefix int) int {
	if r.from == 0 {
		return prefix
	}
	return b.ends[r.from-1] + 1 // behind the comma
}

// events is the bytes of a part.
func (b *batch) events(r part, prefix int) []byte {
	return b.body[b.begin(r, prefix):b.ends[r.to-1]]
}

// lane sends the events of its persons in the order in which they were accepted, one request at a time.
type lane struct {
	p      *Capture
	number int
	wake   chan struct{}

	open  *batch   // being filled; under the Capture's lock
	queue []*batch // filled, to be sent in this order; under the lock
	spare []*batch // empty; under the lock
	usual int      // bytes of the batch that was queued last, 0 before the first; under the lock
	busy  *batch   // being sent; the lane's own
}

func newLane(p *Capture, number int) *lane {
	return &lane{p: p, number: number, wake: make(chan struct{}, 1), open: new(batch)}
}

// batchLimits is how many events and bytes the open batch may hold. Where batches are large, the first ones of the lanes differ, so
// that the lanes are full one after the other: if all were at once, there would be nothing to send before, and no room afterwards.
func (l *lane) batchLimits() (events, bytes int) {
	const large = 500
	events, bytes = l.p.flow.batchLimits()
	if l.usual == 0 && events >= large {
		share, whole := l.number+1, l.p.set.Lanes
		events, bytes = events*share/whole, bytes*share/whole
	}
	return events, bytes
}

// fits reports whether an event may join the open batch. The caller holds the lock.
func (l *lane) fits(out encoded) bool {
	b := l.open
	if len(b.ends) == 0 {
		return true
	}
	if events, bytes := l.batchLimits(); len(b.ends) >= events || len(b.body)+len(",")+len(out.wire)+len(bodySuffix) > bytes {
		return false
	}
	if span := l.p.set.MaxBatchSpan; span > 0 {
		return out.time.Sub(b.oldest) <= span && b.newest.Sub(out.time) <= span
	}
	return true
}

// add appends an event. The caller holds the lock.
func (l *lane) add(out encoded, seq uint64) {
	if !l.fits(out) {
		l.seal()
		l.signal()
	}
	if len(l.open.ends) == 0 {
		l.open.body = append(l.p.bodies.take(l.room()), l.p.set.prefix()...)
	}
	if l.open.add(out, seq) {
		l.p.entries.At(seq).warn.add(WarnBackwards)
	}
	if events, _ := l.batchLimits(); len(l.open.ends) == 1 || len(l.open.ends) == events {
		l.signal()
	}
}

// room is what a new body gets: as much as the one before has needed, with a little more for those that differ. Lanes whose
// batches were large once do not hold more by it than the events that may be held.
func (l *lane) room() int {
	return min(l.usual+l.usual/16, l.p.set.MaxBytes/l.p.set.Lanes)
}

// seal queues the open batch and begins another. The caller holds the lock.
func (l *lane) seal() {
	if l.open.newest.Sub(l.open.oldest) > day {
		l.p.wide++
	}
	l.queue = append(l.queue, l.open)
	l.usual = len(l.open.body)
	if last := len(l.spare) - 1; last >= 0 {
		l.open, l.spare = l.spare[last], l.spare[:last]
	} else {
		l.open = new(batch)
	}
}

func (l *lane) signal() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// run sends batch after batch until the Capture ends.
func (l *lane) run() {
	for l.next() {
		l.deliver()
	}
}

// next waits for a batch that is due and makes it the busy one. It reports false when there will be none.
func (l *lane) next() bool {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-l.p.stopped:
			return false // whatever is queued
		default:
		}
		due, wait, ended := l.take()
		if due || ended {
			return due
		}
		timer.Reset(wait)
		select {
		case <-l.wake:
		case <-timer.C:
		case <-l.p.stopped:
			return false
		case <-l.p.ctx.Done():
			l.p.stop(l.p.ctx.Err())
			return false
		}
	}
}

// take makes the oldest batch that is due the busy one; otherwise it says how long that may last.
func (l *lane) take() (due bool, wait time.Duration, ended bool) {
	p := l.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(l.queue) == 0 {
		n := len(l.open.ends)
		if n == 0 {
			return false, time.Hour, p.closing
		}
		wait = p.set.Linger - time.Since(l.open.since)
		if events, _ := l.batchLimits(); wait > 0 && (p.waiting == 0 || p.packing > 0) && n < events && l.open.seqs[0] >= p.flushTo {
			return false, wait, false
		}
		l.seal()
	}
	l.busy = l.queue[0]
	l.queue = slices.Delete(l.queue, 0, 1)
	p.packing++
	return true, 0, false
}

// deliver settles the busy batch, or returns when the Capture has stopped. What the service refuses is halved until the
// event that it refuses stands alone.
func (l *lane) deliver() {
	defer l.done()
	work := []part{{0, len(l.busy.ends)}}
	for len(work) > 0 {
		r := work[0]
		work = work[1:]
		a, err := l.send(r)
		switch {
		case err != nil:
			l.p.stop(err)
			return
		case a.verdict == answerSettled: // send has settled it
		case r.len() > 1:
			first, second := r.halves()
			work = slices.Insert(work, 0, first, second)
			if a.status == http.StatusRequestEntityTooLarge {
				l.p.flow.tooLarge(len(l.busy.events(r, len(l.p.set.prefix()))))
			}
		default:
			l.p.settle(l.busy, r, l.rejected(r, a), 0)
		}
	}
}

// done makes the busy batch empty and gives its room to whoever needs it.
func (l *lane) done() {
	b := *l.busy
	if !b.lent {
		l.p.bodies.put(b.body)
	}
	*l.busy = batch{ends: b.ends[:0], seqs: b.seqs[:0]}
	l.p.mu.Lock()
	defer l.p.mu.Unlock()
	l.spare = append(l.spare, l.busy)
	l.p.bytes -= b.held
	if b.reopened {
		l.p.reopened--
	}
	l.p.makeRoom()
}

// rejected describes the one event of a part that the service refused.
func (l *lane) rejected(r part, a captureAnswer) *Reject {
	wire := slices.Clone(l.busy.events(r, len(l.p.set.prefix())))
	reason := ReasonAnswer400
	if a.status == http.StatusRequestEntityTooLarge {
		reason = ReasonAnswer413
	}
	return &Reject{Event: wire, Status: a.status, Err: &EventError{Reason: reason, Field: "event", Err: a.cause()}}
}

// send sends a part until the service takes it, which settles it, or refuses it. An error ends the Capture.
func (l *lane) send(r part) (captureAnswer, error) {
	p := l.p
	body, err := l.pack(r)
	if err != nil {
		return captureAnswer{}, internalStop(err)
	}
	defer l.unpack(body)
	p.packed(body.extra, l.isWhole(r))
	defer func() { p.hold(-body.extra) }()
	for try := 1; ; try++ {
		if err := p.await(l.busy.seqs[r.from], r.len()); err != nil {
			return captureAnswer{}, err
		}
		a := p.post(body)
		wait, err := p.flow.after(a, try)
		p.observe(l.number, r.len(), body, try, a)
		switch {
		case err != nil:
			return a, err
		case a.verdict == answerStop:
			return a, a.stopError()
		case a.verdict == answerSplit:
			return a, l.restore(body)
		case a.verdict == answerSettled:
			p.settle(l.busy, r, nil, body.extra)
			body.extra = 0
			return a, nil
		}
		if err := p.why(pause(p.ctx, p.stopped, nil, wait)); err != nil {
			return a, err
		}
	}
}

func internalStop(err error) error {
	if err == nil {
		return nil
	}
	return &StopError{Reason: StopInternal, Err: err}
}

// hold counts bytes that are held beside those of the events, or less.
func (p *Capture) hold(bytes int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes += bytes
	if bytes < 0 {
		p.makeRoom()
	}
}

// packed is hold for a parcel that is ready. Those who wait for room look again: now lanes that linger may have to send.
func (p *Capture) packed(extra int, whole bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes += extra
	if whole {
		p.packing--
	}
	p.makeRoom()
}

// reopen waits until a parcel's plain bytes may be held again, beside what its parts will be compressed to: there is room, which producers
// leave to it, or no other parcel is open.
func (p *Capture) reopen(b *parcel) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.toReopen++
	defer func() {
		p.toReopen--
		p.makeRoom()
	}()
	for p.reopened > 0 && p.bytes+b.plain > p.set.MaxBytes {
		_ = p.waitForRoom(p.ctx)
		if err := ended(p.ctx, p.stopped); err != nil {
			return p.why(err)
		}
	}
	p.bytes += b.plain
	p.reopened++
	b.extra = 0
	return nil
}

// isWhole reports whether a part is the whole busy batch.
func (l *lane) isWhole(r part) bool { return r.len() == len(l.busy.ends) }

// bodyOf is the JSON of a part, in pieces: its events are not copied.
func (l *lane) bodyOf(r part) [][]byte {
	prefix := l.p.set.prefix()
	return [][]byte{prefix, l.busy.events(r, len(prefix)), []byte(bodySuffix)}
}

// await waits for everything that a request needs: the preflight, the end of an outage, the pace, and a permit.
func (p *Capture) await(oldest uint64, events int) error {
	select {
	case <-p.cleared:
	case <-p.stopped:
		return p.stopErr
	case <-p.ctx.Done():
		return p.ctx.Err()
	}
	return p.why(p.flow.enter(p.ctx, p.stopped, oldest, events))
}

// why replaces the mark of a stop by its reason.
func (p *Capture) why(err error) error {
	if errors.Is(err, errStopped) {
		return p.stopErr
	}
	return err
}

// settle marks the events of a part as acknowledged, or its one event as rejected. What its parcel has added to the bytes held goes with
// the events: one after the other, there would be too many bytes for a moment, or room that is none. The bytes of a part stay counted
// until its batch is done, whose body has them; those of a rejected event are held once more.
func (p *Capture) settle(b *batch, r part, reject *Reject, extra int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytes -= extra
	whole := r.len() == len(b.seqs)
	for _, seq := range b.seqs[r.from:r.to] {
		e := p.entries.At(seq)
		if reject == nil {
			e.state = entryAcknowledged
			if whole {
				p.bytes -= int(e.size)
			} else {
				b.held += int(e.size)
			}
			continue
		}
		p.bytes += int(e.size)
		b.held += int(e.size)
		reject.UUID, reject.Position, reject.Err.Position = e.id, e.pos, e.pos
		e.state, e.reject = entryRejected, reject
	}
	if reject == nil {
		p.stats.Acknowledged += int64(r.len())
		p.stats.LastProgress = time.Now()
	}
	p.addSettled(r.len())
	p.makeRoom()
	p.wakeCommitter()
}

// stop ends the sending for good; the first reason stays.
func (p *Capture) stop(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if ended(p.ctx, p.stopped) == errStopped { //nolint:errorlint // it is never wrapped
		return
	}
	if errors.Is(err, context.Canceled) && p.ctx.Err() != nil {
		err = &StopError{Reason: StopCanceled, Err: err}
	}
	p.stopErr = err
	close(p.stopped)
}
