package hogapi

import (
	"context"
	"fmt"
	"hash/maphash"
	"io"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi/internal/window"
)

// A Capture holds what it has not sent in memory: a kill of the process loses it. Where that must not happen, use
// [Client.Import], which resumes from a checkpoint, or commit the positions that OnSettled reports.
//
// Capture sends past events: every request says historical_migration, and there is no way to send without it. Nothing that Enqueue
// has accepted is dropped: it is acknowledged, given to the reject handler, or listed by Close as unsettled. It is safe
// for concurrent use. End it with Close.
type Capture struct {
	core      *core
	set       deliverySettings
	rejects   RejectHandler
	onSettled func(Position)
	saver     stateSaver // of an import; nil for a push capture
	encoders  sync.Pool

	ctx     context.Context //nolint:containedctx // of everything under way; ends with Close
	cancel  context.CancelFunc
	running sync.WaitGroup
	hooks   *hookQueue

	cleared chan struct{} // closed when the preflight has passed
	begin   sync.Once
	flow    *flow
	zippers *zippers
	bodies  *spares // of batches
	zips    *spares // of compressed bodies

	mu       sync.Mutex
	identity *identity
	entries  window.Window[entry]
	lanes    []*lane
	room     chan struct{} // closed and replaced when there is room again
	waiting  int           // producers that wait for room
	packing  int           // batches that a lane has taken and not packed yet: soon they need less room
	toReopen int           // batches that are to be taken apart and wait for room to be plain again
	reopened int           // batches that are plain again
	bytes    int           // of events held
	flushTo  uint64        // all before it shall be sent without lingering
	placed   uint64        // behind the newest event that has a position; 0: none has
	closing  bool
	stats    Stats
	wide     int64 // batches that span more than a day

	stopped chan struct{} // closed under the lock
	stopErr error         // why; set before

	closed    sync.Once
	result    Receipt
	resultErr error

	commits     chan struct{} // wakes the committer
	crowded     chan struct{} // lets it not wait for the disk's sake
	committed   chan struct{} // closed when it has ended
	books       *books        // under the lock
	settled     settledPlace  // of what is committed; under the lock
	uncommitted int           // events that are settled and not committed; under the lock
	newest      uint64        // of the committed events that have a position; under the lock
	flushed     bool          // Flush or Close was called behind that one, and all before the call is committed; under the lock
	goesOn      bool          // the next event with a position has the same as that one; under the lock
	reported    uint64        // all before it has been reported to OnSettled; under the lock
	saveTime    time.Duration // of the newest save; the committer's own
}

// entry is one event from its acceptance until it is committed.
type entry struct {
	pos    Position
	number uint64 // at its position
	id     uuid.UUID
	time   time.Time
	tally  *tally // nil for a record that made no event
	size   int32
	state  entryState
	warn   warningSet
	goesOn bool // the next event with a position has the same one
	ended  bool // Flush or Close has said behind it that no more of the newest position will come
	reject *Reject
}

type entryState uint8

const (
	entryPending entryState = iota
	entryAcknowledged
	entryRejected
)

// Format writes the type's name under every verb: the buffers of a Capture hold events and the project key.
func (p *Capture) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, "hogapi.Capture") }

// NewCapture starts a Capture. It sends nothing yet.
func (c *Client) NewCapture(o CaptureOptions) (*Capture, error) {
	return c.newCapture(o, nil, nil)
}

func (c *Client) newCapture(o CaptureOptions, resumed *savedState, saver stateSaver) (*Capture, error) {
	set, err := o.settings(c.core, c.project)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &Capture{
		core: c.core, set: set, rejects: o.Rejects, onSettled: o.OnSettled, saver: saver,
		ctx: ctx, cancel: cancel, hooks: newHookQueue(c.core),
		cleared:  make(chan struct{}),
		flow:     newFlow(set),
		zippers:  newZippers(),
		bodies:   &spares{most: set.MaxBytes / 2},
		zips:     &spares{most: set.MaxBytes / 4},
		identity: newIdentity(o.ID, o.Gate.ContentIDs),
		room:     make(chan struct{}),
		stopped:  make(chan struct{}),
		commits:  make(chan struct{}, 1), crowded: make(chan struct{}, 1), committed: make(chan struct{}),
	}
	p.books = newBooks(o.ID, "")
	if resumed != nil {
		p.resume(resumed)
	}
	seed, marks := maphash.MakeSeed(), newStamps(o.ID)
	p.encoders.New = func() any { return newEncoder(newGate(o.Gate, c.core.now), o.Gate.SetPolicy, marks, seed) }
	for i := range set.Lanes {
		p.lanes = append(p.lanes, newLane(p, i))
	}
	for _, l := range p.lanes {
		p.start(l.run)
	}
	go p.commit()
	return p, nil
}

// start runs a part of the Capture on a goroutine of its own.
func (p *Capture) start(part func()) {
	p.running.Go(func() { orElse(part, p.stopFor(StopHandler)) })
}

// stopFor makes a function that stops for a reason.
func (p *Capture) stopFor(reason StopReason) func(error) {
	return func(err error) { p.stop(&StopError{Reason: reason, Err: err}) }
}

// resume goes on with the books and at the place of an earlier run.
func (p *Capture) resume(s *savedState) {
	p.books, p.settled = s.books, s.Place
	p.identity.last, p.identity.n = s.Place.At, s.Place.Count
	total := s.books.total
	p.stats.Read, p.stats.Acknowledged, p.stats.Rejected = total.Read, total.Acknowledged, total.Rejected
	p.stats.Position = s.Place.After
}

// Enqueue takes one event. It makes the event's bytes at once, so later changes of its maps change nothing, and blocks
// while the buffer is full. An error means that the event was not taken: *EventError where it is refused, the *StopError that has ended
// the sending, ErrClosed, or ctx's.
func (p *Capture) Enqueue(ctx context.Context, ev Event) error {
	if ctx.Err() != nil {
		return notTaken(ctx)
	}
	return p.enqueue(ctx, &ev, true)
}

// TryEnqueue is Enqueue without waiting: ErrFull says that the event was not taken for want of room.
func (p *Capture) TryEnqueue(ev Event) error {
	return p.enqueue(context.Background(), &ev, false)
}

func (p *Capture) enqueue(ctx context.Context, ev *Event, wait bool) error {
	enc, _ := p.encoders.Get().(*encoder)
	defer p.encoders.Put(enc)
	out, refusal := enc.encode(ev)
	if refusal == nil {
		refusal = p.identity.check(ev)
	}
	var err error
	if refusal == nil {
		refusal, err = p.accept(ctx, out, wait)
	}
	if refusal != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		if err := p.refusing(); err != nil {
			return err
		}
		p.stats.Refused++
		return refusal
	}
	return err
}

// accept waits for room and gives the event to its lane, or refuses it for want of an identity.
func (p *Capture) accept(ctx context.Context, out encoded, wait bool) (refusal *EventError, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.awaitRoom(ctx, len(out.wire)+len(out.pos.Key), wait); err != nil {
		return nil, err
	}
	number, refusal := p.identity.assign(&out)
	if refusal != nil {
		return refusal, nil
	}
	p.begin.Do(func() { p.start(p.preflight) })
	seq := p.push(entry{
		pos: out.pos, number: number, id: out.id, time: out.time, size: int32(len(out.wire)),
		tally: p.books.tally(out.name, out.time), warn: out.warn,
	})
	p.lanes[out.person%uint64(len(p.lanes))].add(out, seq)
	return nil, nil
}

// acceptReject takes an event that the gate of an import has refused. It waits its turn to be handed to the reject handler.
func (p *Capture) acceptReject(ctx context.Context, ev *Event, refusal *EventError) error {
	if p.rejects == nil {
		return &StopError{Reason: StopRejected, Err: refusal}
	}
	reject := newReject(ev, refusal)
	size := len(reject.Event) + len(reject.Raw) + len(ev.Position.Key)
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.awaitRoom(ctx, size, true); err != nil {
		return err
	}
	number := p.identity.number(ev.Position)
	p.identity.pass(ev.Position)
	if reject.UUID == uuid.Nil && !ev.Position.IsZero() {
		reject.UUID = p.identity.at(ev.Position, number)
	}
	p.push(entry{
		pos: ev.Position, number: number, id: reject.UUID, state: entryRejected, size: int32(size - len(ev.Position.Key)), reject: reject,
		tally: p.books.tallyReject(ev),
	})
	p.addSettled(1)
	p.wakeCommitter()
	return nil
}

func (p *Capture) push(e entry) uint64 {
	p.stats.Read++
	p.bytes += int(e.size) + len(e.pos.Key)
	seq := p.entries.Push(e)
	if !e.pos.IsZero() {
		if e.number > 0 {
			p.goOn()
		}
		p.placed = seq + 1
	}
	return seq
}

// goOn notes that more of the newest position has come. It takes back what a Flush has said of it, unless OnSettled knows already.
func (p *Capture) goOn() {
	if p.placed > p.entries.First() {
		p.entries.At(p.placed - 1).goesOn = true
	} else {
		p.goesOn = true
	}
}

// refusing is why no event is taken any more, or nil.
func (p *Capture) refusing() error {
	if p.closing {
		return ErrClosed
	}
	select {
	case <-p.stopped:
		return p.stopErr
	default:
		return nil
	}
}

// awaitRoom returns when an event of a size can be taken, or says why not. The caller holds the lock.
func (p *Capture) awaitRoom(ctx context.Context, size int, wait bool) error {
	for {
		if err := p.refusing(); err != nil {
			return err
		}
		if p.hasRoom(size) {
			return nil
		}
		if !wait {
			return ErrFull
		}
		if err := p.waitForRoom(ctx); err != nil {
			return err
		}
	}
}

func (p *Capture) hasRoom(size int) bool {
	return p.entries.Len() < p.set.MaxInFlight && p.toReopen == 0 && (p.bytes == 0 || p.bytes+size <= p.set.MaxBytes)
}

// waitForRoom gives the lock back while it waits, and lends a processor. Lanes that linger are told to send, unless packing makes room
// at once: that would only break up their batches.
func (p *Capture) waitForRoom(ctx context.Context) error {
	room := p.room
	p.waiting++
	if p.packing == 0 {
		p.wakeLanes()
	}
	p.mu.Unlock()
	takeBack := p.zippers.lend()
	defer func() {
		takeBack()
		p.mu.Lock()
		p.waiting--
	}()
	select {
	case <-room:
		return nil
	case <-p.stopped:
		return nil // the next look says why
	case <-ctx.Done():
		return notTaken(ctx)
	}
}

func notTaken(ctx context.Context) error {
	return fmt.Errorf("hogapi: the event was not taken: %w", context.Cause(ctx))
}

// makeRoom tells the waiting producers to look again. The caller holds the lock.
func (p *Capture) makeRoom() {
	if p.waiting > 0 {
		close(p.room)
		p.room = make(chan struct{})
	}
}

func (p *Capture) wakeLanes() {
	for _, l := range p.lanes {
		l.signal()
	}
}

// Flush returns when every event that was accepted before it is settled: acknowledged or handed to the reject handler. It waits for none
// that comes later. Where one position has several events, call it only behind the last of them: OnSettled is told that the position is done.
func (p *Capture) Flush(ctx context.Context) error {
	p.mu.Lock()
	target := p.flushAll()
	p.wakeCommitter()
	for p.reported < target {
		select {
		case <-p.stopped:
			p.mu.Unlock()
			return p.stopErr
		default:
		}
		if err := p.waitForRoom(ctx); err != nil && p.reported < target {
			left := max(target, p.entries.First()) - p.entries.First()
			p.mu.Unlock()
			if left == 0 {
				return fmt.Errorf("hogapi: flush ended before OnSettled was told of all: %w", context.Cause(ctx))
			}
			return fmt.Errorf("hogapi: flush ended with %d events unsettled: %w", left, context.Cause(ctx))
		}
	}
	p.mu.Unlock()
	return nil
}

// flushAll has all that was taken sent without lingering: the newest position is said to be whole then. The caller holds the lock.
func (p *Capture) flushAll() (upTo uint64) {
	p.flushTo = p.entries.Next()
	if p.entries.Len() > 0 {
		p.entries.At(p.flushTo - 1).ended = true // whatever comes behind it
	} else {
		p.flushed = true
	}
	p.wakeLanes()
	return p.flushTo
}

// Close takes no further events, sends what it holds, waits for retries, and returns the receipt, valid beside an error
// too. When ctx ends first, what is under way is broken off and the error is an *UnsettledError that lists what may or may not
// have arrived; a Capture that was stopped says so by its *StopError. A second Close returns the same.
func (p *Capture) Close(ctx context.Context) (Receipt, error) {
	if ctx.Err() != nil {
		p.cancel() // before lanes that linger are woken: they shall not send any more
	}
	p.mu.Lock()
	p.closing = true
	p.flushAll()
	p.makeRoom()
	p.mu.Unlock()
	select {
	case <-p.committed:
	case <-ctx.Done():
		p.cancel()
		<-p.committed
	}
	p.cancel()
	p.closed.Do(func() {
		p.result, p.resultErr = p.conclude(ctx) // first: a logger that does not return from the next line would hide it
		p.hooks.close(ctx)
	})
	return p.result, p.resultErr
}

// Stats is a snapshot of what has happened so far.
func (p *Capture) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.stats
	s.Pending = s.Read - s.Acknowledged - s.Rejected
	s.InFlight, s.Bytes = p.entries.Len(), p.bytes
	s.Permits, s.Throttled, s.FailingSince = p.flow.look()
	return s
}
