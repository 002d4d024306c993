package delivery

import (
	"cmp"
	"context"
	"runtime"
	"sync"
	"time"
)

// Sender sends items over its lanes. It is safe for concurrent use.
//
// A few items go out together, regardless of their keys: the first lane takes them as long as one
// batch holds them all. Further items spread over the lanes until nothing is left.
type Sender struct {
	cfg        Config
	ctx        context.Context //nolint:containedctx // ends the start of requests
	throttle   *throttle
	encoders   chan encoder // one a processor; nil until its first use
	bodies     *bufferPool  // of batches
	compressed *bufferPool  // of compressed bodies
	running    sync.WaitGroup

	mu       sync.Mutex
	lanes    []*lane
	underWay int    // batches queued or being sent
	items    int    // added, but not settled
	isSpread bool   // items go to the lanes of their keys
	barrier  int    // batches that the first lane had before the spread: the other lanes wait for them
	flushTo  uint64 // items before it are sent without waiting for others
	closing  bool
}

// New starts a Sender, which begins no request after the end of ctx.
func New(ctx context.Context, c Config) *Sender {
	most := c.Budget.most.Bytes
	s := &Sender{
		cfg: c, ctx: ctx, throttle: newThrottle(c.Limits, c.Results), encoders: make(chan encoder, runtime.GOMAXPROCS(0)),
		bodies: &bufferPool{most: most / 2}, compressed: &bufferPool{most: most / 4},
	}
	for i := range c.Lanes {
		s.lanes = append(s.lanes, &lane{s: s, number: i, wake: make(chan struct{}, 1), open: new(batch)})
	}
	for range cap(s.encoders) {
		s.encoders <- nil
	}
	c.Budget.serve(s)
	for _, l := range s.lanes {
		s.running.Go(l.run)
	}
	return s
}

// Add gives an item to its lane, and reports whether its time is more than a day before that of an
// item in the same batch. Calls for items with the same key must not overlap. The caller must hold
// the item's bytes in the budget; the Sender releases them.
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

// Flush sends all items before a number without waiting for others.
func (s *Sender) Flush(before uint64) {
	s.mu.Lock()
	s.flushTo = max(s.flushTo, before)
	s.mu.Unlock()
	s.wakeLanes()
}

// Hurry ends the pace: the rest is sent as fast as the answers come.
func (s *Sender) Hurry() { s.throttle.rush.Do(func() { close(s.throttle.rushed) }) }

// Close sends everything. It returns when the lanes have ended: all items are settled, or the
// context has ended.
func (s *Sender) Close() {
	s.mu.Lock()
	s.closing = true
	s.mu.Unlock()
	s.wakeLanes()
	s.running.Wait()
}

// Failing reports that a request without items could not be sent to the same host.
func (s *Sender) Failing(err error) {
	s.throttle.mu.Lock()
	defer s.throttle.mu.Unlock()
	s.throttle.note(time.Now(), err)
}

// Ask makes one request without items and retries it like the others. An error means that the
// sending has to stop.
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

// State returns the throttle's current state.
func (s *Sender) State() State { return s.throttle.state() }

func (s *Sender) wakeLanes() {
	for _, l := range s.lanes {
		l.signal()
	}
}
