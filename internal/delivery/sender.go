package delivery

import (
	"cmp"
	"context"
	"sync"
)

// Sender sends items over its lanes. It is safe for concurrent use.
//
// Few items go out together, whatever their keys: as long as one batch holds all of them, the first
// lane has it. Only what does not fit spreads over the lanes, until nothing is left.
type Sender struct {
	cfg      Config
	ctx      context.Context //nolint:containedctx // requests may begin
	throttle *throttle
	encoders encoders
	bodies   *spares // of batches
	zips     *spares // of compressed bodies
	running  sync.WaitGroup

	mu       sync.Mutex
	lanes    []*lane
	underWay int    // batches that are full or being sent
	items    int    // added and not settled
	isSpread bool   // items go to the lanes of their keys
	barrier  int    // batches of the first lane that were there before: the other lanes wait for them
	flushTo  uint64 // items before it do not wait for company
	closing  bool
}

// New starts a Sender, which begins no request after the end of ctx.
func New(ctx context.Context, c Config) *Sender {
	most := c.Budget.most.Bytes
	s := &Sender{
		cfg: c, ctx: ctx, throttle: newThrottle(c.Limits, c.GaveUp), encoders: newEncoders(c.Encode),
		bodies: &spares{most: most / 2}, zips: &spares{most: most / 4},
	}
	for i := range c.Lanes {
		s.lanes = append(s.lanes, &lane{s: s, number: i, wake: make(chan struct{}, 1), open: new(batch)})
	}
	c.Budget.OnWait(s.wakeLanes)
	for _, l := range s.lanes {
		s.running.Go(l.run)
	}
	return s
}

// Add gives an item to its lane, and reports whether its time is over a day before that of an item
// of the same batch. Items of one key must be added one after the other. Their bytes must be held in
// the budget; the Sender releases them.
func (s *Sender) Add(i Item) (backwards bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	first := s.lanes[0]
	switch {
	case s.items == 0:
		s.isSpread = false
	case !s.isSpread && !first.fits(i):
		first.seal()
		first.signal()
		s.isSpread, s.barrier = true, s.underWay
	}
	s.items++
	if !s.isSpread {
		return first.add(i)
	}
	return s.lanes[i.Key%uint64(len(s.lanes))].add(i)
}

// Flush has all items before a number sent without waiting for company.
func (s *Sender) Flush(before uint64) {
	s.mu.Lock()
	s.flushTo = max(s.flushTo, before)
	s.mu.Unlock()
	s.wakeLanes()
}

// Close has everything sent, and returns when the lanes have ended: all is settled, or the context
// has ended.
func (s *Sender) Close() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.wakeLanes()
	s.running.Wait()
}

// Failing notes why something else than an item could not be sent to the same host.
func (s *Sender) Failing(err error) {
	s.throttle.mu.Lock()
	defer s.throttle.mu.Unlock()
	s.throttle.note(err)
}

// Ask makes one request of its own kind until it is answered, as requests with items are: what can
// pass is waited out. The error is why the sending has to stop.
func (s *Sender) Ask(post func(try int) Answer) error {
	for try := 1; ; try++ {
		if err := s.throttle.enter(s.ctx, 0, 0); err != nil {
			return err
		}
		a := post(try)
		wait, err := s.nextTry(a, try)
		if err != nil || a.Verdict != Wait {
			return cmp.Or(err, a.Stop)
		}
		if err := pause(s.ctx, nil, wait); err != nil {
			return err
		}
	}
}

// State is what the throttle does at the moment.
func (s *Sender) State() State { return s.throttle.state() }

func (s *Sender) wakeLanes() {
	for _, l := range s.lanes {
		l.signal()
	}
}
