package delivery

import (
	"cmp"
	"context"
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

// deliver settles a batch, or returns when the context has ended. It halves a refused request until
// the rejected item is alone.
func (l *lane) deliver(b *batch) {
	defer l.done(b)
	work, missed := [][]part{{{0, len(b.ends)}}}, map[int]bool{}
	for len(work) > 0 {
		r := newRequest(b, work[0], missed)
		work = work[1:]
		a, err := l.send(r)
		switch left := r.Len(); {
		case err != nil || left == 0:
		case left > 1:
			first, second := r.halves()
			work = slices.Insert(work, 0, first, second)
			if a.TooLarge {
				l.s.throttle.tooLarge(r.size())
			}
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
		l.s.barrier--
		wake = wake || l.s.barrier == 0
	}
	l.s.mu.Unlock()
	l.s.cfg.Budget.Release(Held{Bytes: held})
	if wake {
		l.s.wakeLanes()
	}
}

// send sends a request until each item is settled or some item is rejected; the request keeps the
// items that are not settled. An error ends the sending.
func (l *lane) send(r *Request) (Answer, error) {
	if err := l.pack(r); err != nil {
		return Answer{}, err
	}
	defer func() { l.unpack(r) }()
	maySent := false // by an earlier try
	for r.Try = 1; ; r.Try++ {
		items := r.Len()
		select {
		case <-l.s.cfg.Ready:
		case <-l.s.ctx.Done():
			return Answer{}, context.Cause(l.s.ctx)
		}
		if err := l.s.throttle.enter(l.s.ctx, r.batch.seqs[r.parts[0].from], items); err != nil {
			return Answer{}, err
		}
		a := l.s.cfg.Post(r)
		fates := r.fates(a)
		if a.Verdict != Settled && !a.Unsent {
			l.s.cfg.Sent(r.seqs())
		}
		wait, err := l.s.nextTry(fates.verdict(a), r.Try)
		tried := Try{Lane: l.number, Items: items, Plain: r.Body.Plain, Wire: r.Body.Size, Number: r.Try, Answer: a}
		if maySent && !a.Unsent {
			tried.Resent = items
		}
		maySent = maySent || !a.Unsent
		l.s.cfg.Tried(tried)
		if settleErr := l.s.settle(r, a, fates); err == nil {
			err = settleErr
		}
		if err != nil || a.Verdict == Stop {
			return a, cmp.Or(err, a.Stop)
		}
		if r.Len() == 0 || a.Verdict == Split || l.s.breaks(r, a) {
			return a, nil
		}
		if err := pause(l.s.ctx, nil, wait); err != nil {
			return a, err
		}
		if r.Len() < items {
			l.unpack(r)
			if err := l.pack(r); err != nil {
				return a, err
			}
		}
	}
}

// breaks reports whether connections have ended several times under a large body, which is then halved.
func (s *Sender) breaks(r *Request, a Answer) bool {
	const tries = 3
	return a.Verdict == Wait && a.Status == 0 && !a.Unsent && r.Try >= tries && r.Len() > 1 && r.size() > s.cfg.LeastBatchBytes
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
	prefix, suffix := s.cfg.Around(r.Begun)
	pieces := append(append([][]byte{prefix}, r.bytes()...), suffix)
	plain := 0
	for _, piece := range pieces {
		plain += len(piece)
	}
	if s.cfg.NoCompression {
		r.Body = &Body{Plain: plain, Size: plain, chunks: pieces}
		return nil
	}
	out := chunks{spares: s.zips}
	if err := s.encoders.encode(&out, pieces); err != nil {
		return err
	}
	s.cfg.Budget.Hold(out.size)
	r.Body = &Body{Plain: plain, Size: out.size, Encoded: true, chunks: out.list}
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
	if !body.Encoded {
		r.batch.lent = r.batch.lent || !over
		return
	}
	if over {
		l.s.zips.put(body.chunks...)
	}
	l.s.cfg.Budget.Release(Held{Bytes: body.Size})
}

// batch holds items as they appear in a request's body.
type batch struct {
	body   []byte // the items, joined by commas
	ends   []int  // where each item ends in body
	seqs   []uint64
	ids    map[[16]byte]bool
	held   int       // bytes of the items
	since  time.Time // arrival of the first item
	oldest time.Time
	newest time.Time
	lent   bool // a transport may still read its body
}

const day = 24 * time.Hour

// add appends an item, and reports whether it is more than a day older than an earlier one.
func (b *batch) add(i Item) (backwards bool) {
	if len(b.ends) == 0 {
		b.since = time.Now()
		b.oldest, b.newest = i.Time, i.Time
	} else {
		b.body = append(b.body, ',')
		backwards = i.Time.Before(b.newest.Add(-day))
		if i.Time.Before(b.oldest) {
			b.oldest = i.Time
		}
		if i.Time.After(b.newest) {
			b.newest = i.Time
		}
	}
	b.body = append(b.body, i.Wire...)
	b.ends = append(b.ends, len(b.body))
	b.seqs = append(b.seqs, i.Seq)
	b.held += len(i.Wire)
	if i.ID != [16]byte{} {
		if b.ids == nil {
			b.ids = map[[16]byte]bool{}
		}
		b.ids[i.ID] = true
	}
	return backwards
}

func (b *batch) reset() {
	clear(b.ids)
	*b = batch{ends: b.ends[:0], seqs: b.seqs[:0], ids: b.ids}
}

type part struct{ from, to int }

func (r part) len() int { return r.to - r.from }

func (b *batch) items(r part) []byte {
	begin := 0
	if r.from > 0 {
		begin = b.ends[r.from-1] + 1 // after the comma
	}
	return b.body[begin:b.ends[r.to-1]]
}
