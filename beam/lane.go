package hogbeam

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/hogapi/hogapi"
)

// laneFn sends the events of lanes. A runner may give one worker several lanes in one bundle: they are sorted as they come, and sent side
// by side at the end of the bundle, so that the pace of the job does not depend on how a runner divides it.
type laneFn struct {
	Options Options

	lanes  []*sorter // of this bundle
	inHand int64     // bytes of memory that they hold
}

// ProcessElement takes the packs of one lane.
func (f *laneFn) ProcessElement(
	_ context.Context, lane int, packs func(*[]byte) bool, _ func(BatchReceipt), _ func(Reject), _ func(hogapi.Receipt),
) error {
	s := newSorter(lane, f.Options.Sort)
	f.lanes = append(f.lanes, s)
	var pack []byte
	for packs(&pack) {
		if err := eachPacked(pack, s.add); err != nil {
			f.reset() // of a bundle that has failed there is no other word
			return err
		}
	}
	if f.inHand+s.held() > f.Options.Sort.Memory { // all lanes of a bundle share the memory of one
		if err := s.spill(); err != nil {
			return err
		}
		s.release()
	}
	f.inHand += s.held()
	return nil
}

// FinishBundle sends the lanes of the bundle and returns when all of them are settled, or one has failed.
func (f *laneFn) FinishBundle(
	ctx context.Context, batches func(BatchReceipt), rejects func(Reject), receipts func(hogapi.Receipt),
) (err error) {
	if len(f.lanes) == 0 {
		return nil
	}
	defer f.reset()
	key, err := f.Options.Service.ProjectKey.read()
	if err != nil {
		return err
	}
	client, err := f.Options.Service.capturing(key)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	told := make(chan news)
	var sending sync.WaitGroup
	defer sending.Wait() // also when emitting panics: nothing is sent behind the bundle's back
	defer cancel(nil)
	for _, events := range f.lanes {
		sending.Go(func() {
			if err := sendLane(ctx, client, f.Options, events, told); err != nil {
				cancel(fmt.Errorf("hogbeam: lane %d of %d: %w", events.lane, f.Options.Lanes, err))
			}
		})
	}
	go func() {
		sending.Wait()
		close(told)
	}()
	for n := range told {
		n.emit(ctx, batches, rejects, receipts)
	}
	return context.Cause(ctx)
}

// Teardown lets go of a bundle that was given up.
func (f *laneFn) Teardown() { f.reset() }

func (f *laneFn) reset() {
	for _, s := range f.lanes {
		s.close()
	}
	f.lanes, f.inHand = nil, 0
}

// news is what a lane has to tell.
type news struct {
	batch     *BatchReceipt
	rejects   []Reject
	receipt   *hogapi.Receipt // of the whole lane
	resent    int64           // since the last news
	throttled int64           // milliseconds since then
}

// emit counts and hands on, on the goroutine of the bundle.
func (n news) emit(ctx context.Context, batches func(BatchReceipt), rejects func(Reject), receipts func(hogapi.Receipt)) {
	countResent.Inc(ctx, n.resent)
	countThrottled.Inc(ctx, n.throttled)
	countRejected.Inc(ctx, int64(len(n.rejects)))
	for _, r := range n.rejects {
		rejects(r)
	}
	if n.batch != nil {
		countAcknowledged.Inc(ctx, int64(n.batch.Acknowledged))
		batches(*n.batch)
	}
	if n.receipt != nil {
		receipts(*n.receipt)
	}
}

// sender sends one lane.
type sender struct {
	options Options
	lane    int
	news    chan<- news
	capture *hogapi.Capture

	books    *ledger
	batch    BatchReceipt // that is being sent
	number   int
	refused  []Reject // by the gate, since the last news
	reported hogapi.Stats

	mu       sync.Mutex
	rejected []Reject // by the service, since the last news
}

// sendLane sends the events of a lane in order.
func sendLane(ctx context.Context, client *hogapi.Client, o Options, events *sorter, out chan<- news) error {
	l := &sender{options: o, lane: events.lane, news: out, books: newLedger(o.ID)}
	var handler hogapi.RejectHandler
	if !o.FailOnReject {
		handler = hogapi.RejectFunc(l.reject)
	}
	var err error
	if l.capture, err = client.NewCapture(o.capture(handler)); err != nil { //nolint:contextcheck // it lives until Close
		return err
	}
	sendErr := l.sendAll(ctx, events)
	if sendErr != nil {
		ended, cancel := context.WithCancel(ctx)
		cancel() // what is under way is broken off: the next run sends it again
		ctx = ended
	}
	receipt, err := l.capture.Close(ctx)
	if sendErr != nil {
		return sendErr
	}
	if err != nil {
		return err
	}
	receipt.Refused = 0 // they are among the rejected
	if err := l.books.add(receipt); err != nil {
		return err
	}
	total := l.books.receipt()
	return l.tell(ctx, news{receipt: &total})
}

func (l *sender) sendAll(ctx context.Context, events *sorter) error {
	size := l.options.batch()
	var previous []byte
	var previousID uuid.UUID
	for encoded, err := range events.sorted() {
		if err != nil {
			return err
		}
		ev, err := parseEvent(encoded)
		if err != nil {
			return err
		}
		// Not all such events are neighbours. But where a source gives all of its events one position, some are.
		if ev.UUID == previousID && ev.Bad == "" && ev.UUID == ev.Position.UUID(l.options.ID) && !bytes.Equal(encoded, previous) {
			return fmt.Errorf("two events have the position %s, and so the same uuid: give each a position or a uuid of its own", ev.Position)
		}
		previous, previousID = append(previous[:0], encoded...), ev.UUID
		if err := l.send(ctx, &ev); err != nil {
			return err
		}
		if l.batch.Acknowledged == size || len(l.refused) == size {
			if err := l.settle(ctx); err != nil {
				return err
			}
		}
	}
	return l.settle(ctx)
}

// send gives one event to the Capture.
func (l *sender) send(ctx context.Context, ev *Event) error {
	event := ev.core()
	l.books.place(ev.Position)
	err := l.capture.Enqueue(ctx, event)
	if refusal, refused := errors.AsType[*hogapi.EventError](err); refused {
		if l.options.FailOnReject {
			return &hogapi.StopError{Reason: hogapi.StopRejected, Err: refusal}
		}
		l.books.refuse(ev)
		reject, err := newReject(hogapi.NewReject(event, refusal))
		l.refused = append(l.refused, reject)
		return err
	}
	if err != nil {
		return err
	}
	b := &l.batch
	if b.Acknowledged == 0 {
		b.First, b.Oldest = ev.Position, ev.Timestamp
	}
	b.Last, b.Newest = ev.Position, ev.Timestamp
	b.Acknowledged++
	return nil
}

// reject takes what the service has refused, on a goroutine of the Capture.
func (l *sender) reject(_ context.Context, r hogapi.Reject) error {
	reject, err := newReject(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.rejected = append(l.rejected, reject)
	return err
}

// settle waits until what was given to the Capture is settled, and tells of it.
func (l *sender) settle(ctx context.Context) error {
	if err := l.capture.Flush(ctx); err != nil {
		return err
	}
	l.mu.Lock()
	rejected := l.rejected
	l.rejected = nil
	l.mu.Unlock()
	stats := l.capture.Stats()
	n := news{
		rejects: append(l.refused, rejected...),
		resent:  stats.Resent - l.reported.Resent, throttled: stats.Throttled.Milliseconds() - l.reported.Throttled.Milliseconds(),
	}
	if b := l.batch; b.Acknowledged > 0 {
		l.number++
		b.Lane, b.Number = l.lane, l.number
		b.Rejected = len(rejected)
		b.Acknowledged -= b.Rejected
		n.batch = &b
	}
	l.reported, l.refused, l.batch = stats, nil, BatchReceipt{}
	return l.tell(ctx, n)
}

// tell hands news to the bundle's goroutine.
func (l *sender) tell(ctx context.Context, n news) error {
	select {
	case l.news <- n:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
