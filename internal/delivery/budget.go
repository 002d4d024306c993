package delivery

import (
	"context"
	"sync"
)

// Budget limits the events in flight and the bytes held for them. Producers wait for room. A holder
// may add bytes beyond the limit. It is safe for concurrent use.
type Budget struct {
	most Held

	mu      sync.Mutex
	held    Held
	waiting int
	room    chan struct{} // closed and replaced when room is released
	sender  *Sender       // whose lanes hurry where a producer waits; may be nil
}

// NewBudget returns a budget with the given limit.
func NewBudget(most Held) *Budget {
	return &Budget{most: most, room: make(chan struct{})}
}

// Held is a number of events and bytes.
type Held struct{ Events, Bytes int }

// Acquire waits for room and takes it. A request larger than the whole budget is admitted when
// nothing else is held. own is the part already held that the caller cannot release before this
// call returns: if nothing else is held, Acquire does not wait. The error is the cause of the
// context's end.
func (b *Budget) Acquire(ctx context.Context, more, own Held) error {
	for {
		b.mu.Lock()
		if b.take(more, own) {
			b.mu.Unlock()
			return nil
		}
		b.waiting++
		room, sender := b.room, b.sender
		b.mu.Unlock()
		if sender != nil {
			sender.wakeLanes()
		}
		var err error
		select {
		case <-room:
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		b.mu.Lock()
		b.waiting--
		b.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// TryAcquire is Acquire without waiting.
func (b *Budget) TryAcquire(more, own Held) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.take(more, own)
}

func (b *Budget) take(more, own Held) bool {
	if b.held.Events > own.Events && b.held.Events+more.Events > b.most.Events ||
		b.held.Bytes > own.Bytes && b.held.Bytes+more.Bytes > b.most.Bytes {
		return false
	}
	b.held.Events += more.Events
	b.held.Bytes += more.Bytes
	return true
}

// Hold adds bytes, even beyond the limit.
func (b *Budget) Hold(bytes int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held.Bytes += bytes
}

// serve names the sender of the events.
func (b *Budget) serve(s *Sender) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sender = s
}

// Release returns room.
func (b *Budget) Release(less Held) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.held.Events -= less.Events
	b.held.Bytes -= less.Bytes
	if b.waiting > 0 {
		close(b.room)
		b.room = make(chan struct{})
	}
}

// Held returns the current amount.
func (b *Budget) Held() Held {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.held
}

// Waiting reports whether a producer waits for room.
func (b *Budget) Waiting() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.waiting > 0
}
