package delivery

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"time"
)

// lane sends the items of its keys in order, one request at a time.
type lane struct {
	s      *Sender
	number int
	wake   chan struct{}

	// Guarded by the Sender's lock.
	open  *batch   // being filled
	queue []*batch // full, to be sent in this order
	spare []*batch // empty
	usual int      // bytes of the batch that was queued last
	last  batch    // a copy of the item that was accepted last, unless it is large or of before a spread
}

// add appends an item. The caller holds the lock.
func (l *lane) add(i Item) (backwards bool) {
	if !l.fits(i) {
		l.seal()
		l.signal()
	}
	if len(l.open.ends) == 0 { // a body slightly larger than the previous one
		l.open.body = l.s.bodies.take(min(l.usual+l.usual/16, l.s.cfg.Budget.most.Bytes/len(l.s.lanes)))
	}
	backwards = l.open.add(i)
	if items, _ := l.s.throttle.batchLimits(); len(l.open.ends) == 1 || len(l.open.ends) == items {
		l.signal()
	}
	return backwards
}

// fits reports whether an item may join the open batch.
func (l *lane) fits(i Item) bool {
	b := l.open
	if len(b.ends) == 0 {
		return true
	}
	items, bytes := l.s.throttle.batchLimits()
	return len(b.ends) < items && !b.ids[i.ID] && l.s.cfg.Extra+len(b.body)+len(",")+len(i.Wire) <= bytes
}

// seal queues the open batch and starts another. The caller holds the lock.
func (l *lane) seal() {
	if l.open.newest.Sub(l.open.oldest) > day {
		l.s.cfg.Wide()
	}
	l.queue = append(l.queue, l.open)
	l.s.underWay++
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

// run sends batches until the Sender is closed or its context has ended.
func (l *lane) run() {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for l.s.ctx.Err() == nil {
		b, wait, ended := l.take()
		switch {
		case b != nil:
			l.deliver(b)
			continue
		case ended:
			return
		}
		timer.Reset(wait)
		select {
		case <-l.wake:
		case <-timer.C:
		case <-l.s.ctx.Done():
		}
	}
}

// take returns the oldest batch if it is due, or the longest wait until it is.
func (l *lane) take() (due *batch, wait time.Duration, ended bool) {
	s := l.s
	waiting := s.cfg.Budget.Waiting()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.barrier > 0 && l.number > 0 {
		return nil, time.Hour, false
	}
	if len(l.queue) == 0 {
		n := len(l.open.ends)
		if n == 0 {
			return nil, time.Hour, s.closing
		}
		wait = s.cfg.Linger - time.Since(l.open.since)
		items, _ := s.throttle.batchLimits()
		crowded := waiting && s.underWay == 0 // nothing else will make room
		if wait > 0 && n < items && l.open.seqs[0] >= s.flushTo && !s.closing && !crowded {
			return nil, wait, false
		}
		l.seal()
	}
	due = l.queue[0]
	l.queue = slices.Delete(l.queue, 0, 1)
	return due, 0, false
}

// deliver settles a batch, or returns when the context has ended. It halves a request that is refused, or that fails
// several times, until the item that is the cause is alone.
func (l *lane) deliver(b *batch) {
	defer l.done(b)
	work := []*Request{newRequest(b, []part{{0, len(b.ends)}}, map[int]bool{})}
	for len(work) > 0 {
		r := work[0]
		work = work[1:]
		a, err := l.send(r)
		switch left := r.Len(); {
		case err != nil || left == 0:
		case left > 1:
			first, second := r.halves()
			for _, half := range [][]part{second, first} {
				part := newRequest(b, half, r.missed)
				part.patience, part.maySend = 1, a.Verdict == Wait
				work = slices.Insert(work, 0, part)
			}
			if a.TooLarge {
				l.s.throttle.tooLarge(r.size())
			}
		case a.Verdict == Wait:
			err = l.s.cfg.Unconfirmed(r.seqs()[0], r.bytes()[0], a)
		default:
			err = l.s.cfg.Rejected(r.seqs()[0], r.bytes()[0], a)
		}
		if err != nil {
			l.s.cfg.Stop(err)
			return
		}
	}
}

// done releases the room of a batch.
func (l *lane) done(b *batch) {
	held, items := b.held, len(b.ends)
	if !b.lent {
		l.s.bodies.put(b.body)
	}
	b.reset()
	l.s.mu.Lock()
	l.spare = append(l.spare, b)
	l.s.underWay--
	l.s.items -= items
	wake := l.s.underWay == 0 && l.s.cfg.Budget.Waiting()
	if l.s.barrier > 0 && l.number == 0 {
		if l.s.barrier--; l.s.barrier == 0 {
			wake = true
			for _, each := range l.s.lanes {
				each.last.reset() // later items of the same keys may go over other lanes
			}
		}
	}
	l.s.mu.Unlock()
	l.s.cfg.Budget.Release(Held{Bytes: held})
	if wake {
		l.s.wakeLanes()
	}
}

// send sends a request until each item is settled, or a smaller request is to be tried; the request keeps the items that
// are not settled. An error ends the sending.
func (l *lane) send(r *Request) (Answer, error) {
	if err := l.pack(r); err != nil {
		return Answer{}, err
	}
	defer func() { l.unpack(r) }()
	for r.Try = 1; ; r.Try++ {
		items := r.Len()
		a, fates, wait, err := l.try(r, r.seqs()[0])
		if settleErr := l.settle(r, a, fates); err == nil {
			err = settleErr
		}
		if err != nil || r.Len() == 0 || l.s.narrows(r, a) {
			return a, err
		}
		if err := pause(l.s.ctx, nil, wait); err != nil {
			return a, err
		}
		if a.Suspect && items == 1 {
			if err := l.compare(r); err != nil {
				return a, err
			}
		}
		if r.Len() < items {
			l.unpack(r)
			if err := l.pack(r); err != nil {
				return a, err
			}
		}
	}
}

// try makes one try of a request, in the turn of an item. An error ends the sending.
func (l *lane) try(r *Request, turn uint64) (a Answer, f fates, wait time.Duration, err error) {
	select {
	case <-l.s.cfg.Ready:
	case <-l.s.ctx.Done():
		return a, f, 0, context.Cause(l.s.ctx)
	}
	items := r.Len()
	if err := l.s.throttle.enter(l.s.ctx, turn, items); err != nil {
		return a, f, 0, err
	}
	a = l.s.cfg.Post(r)
	f = r.fates(a)
	if a.Verdict != Settled && !a.Unsent && !r.maySend {
		l.s.cfg.Sent(r.seqs())
	}
	if a.Suspect && l.s.throttle.isTaking() {
		r.alone++
	}
	counted := a
	if a.Verdict == Each && len(f.accepted)+len(f.turned) == 0 { // if no item was settled, it counts as a failure
		counted.Verdict = Wait
	}
	wait, err = l.s.nextTry(counted, r.Try)
	tried := Try{Lane: l.number, Items: items, Plain: r.Body.Plain, Wire: r.Body.Size, Number: r.Try, Answer: a}
	if r.maySend && !a.Unsent {
		tried.Resent = items
	}
	r.maySend = r.maySend || !a.Unsent
	l.s.cfg.Tried(tried)
	return a, f, wait, cmp.Or(err, a.Stop)
}

const (
	patience = 3  // failures of a request before it is halved
	enough   = 12 // failures of one item alone, each after a success of others, that make it the cause
)

// narrows reports whether to go on with a smaller request, or without its only item.
func (s *Sender) narrows(r *Request, a Answer) bool {
	isAlone := r.Len() == 1
	switch {
	case a.Verdict != Wait:
		return a.Verdict == Split
	case a.Suspect:
		return !isAlone && r.Try >= r.patience || isAlone && r.alone >= enough
	}
	return a.Status == 0 && !a.Unsent && !isAlone && r.Try >= r.patience && r.size() > s.cfg.LeastBatchBytes
}

// compare sends another item of the lane alone, unless the newest answer was a success: if the service takes it, the
// failure of r is due to its own item. Either that item comes later and is sent again in its turn, or it is the one
// before: the order stays.
func (l *lane) compare(r *Request) error {
	turn := r.seqs()[0]
	b := l.other(r)
	if b == nil || l.s.throttle.isTaking() {
		return nil
	}
	other := newRequest(b, []part{{0, 1}}, map[int]bool{})
	other.Try, other.maySend = 1, true
	if b.seqs[0] > turn {
		l.s.cfg.Sent(b.seqs)
	}
	if err := l.pack(other); err != nil {
		return err
	}
	defer l.unpack(other)
	_, _, wait, err := l.try(other, turn)
	if err != nil {
		return err
	}
	return pause(l.s.ctx, nil, wait)
}

// other returns a batch with a copy of the item of the lane that was accepted last, or of one that comes after the only
// item of r; or nil.
func (l *lane) other(r *Request) *batch {
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	from, at := &l.last, 0
	if len(from.ends) == 0 {
		later := []*batch{r.batch}
		for _, each := range l.s.lanes {
			if each == l || l.s.barrier > 0 { // the other lanes wait for this one
				later = append(append(later, each.queue...), each.open)
			}
		}
		later = slices.DeleteFunc(later, func(b *batch) bool { return len(b.ends) == 0 || b == r.batch && r.parts[0].to == len(b.ends) })
		if len(later) == 0 {
			return nil
		}
		from = later[rand.IntN(len(later))] //nolint:gosec // needs no secrecy
		if from == r.batch {
			at = r.parts[0].to
		}
		at += rand.IntN(len(from.ends) - at) //nolint:gosec // as above
	}
	b := new(batch)
	b.add(Item{Seq: from.seqs[at], Wire: from.items(part{at, at + 1})})
	return b
}

// keep remembers a copy of the last item of a request, which was accepted.
func (l *lane) keep(r *Request) {
	const most = 32 << 10 // bytes
	at := r.parts[len(r.parts)-1].to - 1
	wire := r.batch.items(part{at, at + 1})
	l.s.mu.Lock()
	defer l.s.mu.Unlock()
	l.last.reset()
	if len(wire) <= most {
		l.last.add(Item{Seq: r.batch.seqs[at], Wire: wire})
	}
}

// nextTry returns the wait before the next try, or why there is no next try. It ignores the failure
// of a request that the end of the context cut off, which says nothing about the service.
func (s *Sender) nextTry(a Answer, try int) (wait time.Duration, err error) {
	if a.Verdict == Wait && s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	if wait, err = s.throttle.after(a, try); a.Verdict == Each {
		wait = max(jitter(try), min(a.RetryAfter, cmp.Or(s.cfg.GiveUpAfter, maxWish)))
	}
	return wait, err
}

// pack makes the body of a request without copying the items.
func (l *lane) pack(r *Request) error {
	s := l.s
	prefix, suffix, encoding := s.cfg.Around(r.Begun)
	pieces := append(append([][]byte{prefix}, r.bytes()...), suffix)
	plain := 0
	for _, piece := range pieces {
		plain += len(piece)
	}
	if s.cfg.NoCompression {
		r.Body = &Body{Plain: plain, Size: plain, chunks: pieces}
		return nil
	}
	w := <-s.encoders
	defer func() { s.encoders <- w }()
	if w == nil {
		w = newEncoder(encoding)
	}
	out := chunks{bufferPool: s.compressed}
	w.Reset(&out)
	for _, piece := range pieces {
		if _, err := w.Write(piece); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	s.cfg.Budget.Hold(out.size)
	r.Body = &Body{Plain: plain, Size: out.size, Encoding: encoding, chunks: out.list}
	return nil
}

// unpack frees the buffers of a request's body, unless a transport may still read them: another
// request must never fill them then.
func (l *lane) unpack(r *Request) {
	body := r.Body
	if body == nil {
		return
	}
	r.Body = nil
	over := body.end()
	if body.Encoding == "" {
		r.batch.lent = r.batch.lent || !over
		return
	}
	if over {
		l.s.compressed.put(body.chunks...)
	}
	l.s.cfg.Budget.Release(Held{Bytes: body.Size})
}
