package hogapi

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// testBatch is the part of a batch's events that the limits are about, counted anew.
type testBatch struct {
	events, bytes  int
	oldest, newest time.Time
}

func newTestBatch(prefix string, events []encoded) testBatch {
	b := testBatch{events: len(events), bytes: len(prefix) + len(events) - 1 + len(bodySuffix), oldest: events[0].time, newest: events[0].time}
	for _, e := range events {
		b.bytes += len(e.wire)
		if e.time.Before(b.oldest) {
			b.oldest = e.time
		}
		if e.time.After(b.newest) {
			b.newest = e.time
		}
	}
	return b
}

func (b testBatch) keeps(o DeliveryOptions) bool {
	return b.events <= o.MaxBatchEvents && b.bytes <= o.MaxBatchBytes && (o.MaxBatchSpan == 0 || b.newest.Sub(b.oldest) <= o.MaxBatchSpan)
}

// Each request has as many events, bytes and days in it as it may, and not one more.
func TestBatchesKeepTheirLimits(t *testing.T) {
	const prefix, programs, largest = `{"batch":[`, 500, 50
	for seed := range uint64(programs) {
		random := rand.New(rand.NewPCG(seed, 1))
		options := DeliveryOptions{Lanes: 1, MaxBatchEvents: 1 + random.IntN(12), MaxBatchBytes: len(prefix) + largest + len(bodySuffix) + random.IntN(300)}
		if random.IntN(2) == 0 {
			options.MaxBatchSpan = time.Duration(1 + random.IntN(30)) // whatever the unit
		}
		set := deliverySettings{DeliveryOptions: options, prefix: func() []byte { return []byte(prefix) }}
		l := newLane(&Capture{set: set, flow: newFlow(set), bodies: &spares{}}, 0)
		events := make([]encoded, 60)
		for i := range events {
			events[i] = encoded{wire: bytes.Repeat([]byte{byte('a' + i%26)}, 1+random.IntN(largest)), time: testTime.Add(time.Duration(random.IntN(40)))}
			l.add(events[i], uint64(i))
		}
		l.seal()
		at := 0
		for n, b := range l.queue {
			of := events[at : at+len(b.seqs)]
			require.True(t, newTestBatch(prefix, of).keeps(options), "seed %d, batch %d: more than it may", seed, n)
			for i, e := range of {
				require.EqualValues(t, at+i, b.seqs[i])
				require.Equal(t, string(e.wire), string(b.events(part{i, i + 1}, len(prefix))))
			}
			if at += len(of); at < len(events) {
				require.False(t, newTestBatch(prefix, events[at-len(of):at+1]).keeps(options), "seed %d, batch %d: one more was to go with it", seed, n)
			}
		}
		require.Len(t, events, at)
	}
}

func testLanes(o DeliveryOptions) *Capture {
	set := deliverySettings{DeliveryOptions: o, prefix: func() []byte { return []byte("[") }}
	p := &Capture{set: set, flow: newFlow(set), bodies: &spares{}, zippers: newZippers(), room: make(chan struct{}), stopped: make(chan struct{})}
	for i := range o.Lanes {
		p.lanes = append(p.lanes, newLane(p, i))
	}
	return p
}

// The lanes fill at one pace. They are not to be full at one time, unless their batches are small: who sets a small size wants it.
func TestFirstBatchesDiffer(t *testing.T) {
	const lanes = 4
	for most, begins := range map[int][lanes]int{500: {125, 250, 375, 500}, 499: {499, 499, 499, 499}, 1: {1, 1, 1, 1}} {
		p := testLanes(DeliveryOptions{Lanes: lanes, MaxBatchEvents: most, MaxBatchBytes: 1 << 20, MaxBytes: 1 << 20})
		for i := range 3 * most {
			for _, l := range p.lanes {
				l.add(encoded{wire: []byte("x"), time: testTime}, uint64(i))
			}
		}
		for i, l := range p.lanes {
			require.Len(t, l.queue[0].ends, begins[i])
			require.Len(t, l.queue[1].ends, most)
		}
	}
}

// Whoever waits for room makes lanes send what lingers, but not while room is made by packing.
func TestBatchesStayWholeWhilePackingMakesRoom(t *testing.T) {
	p := testLanes(DeliveryOptions{Lanes: 2, MaxBatchEvents: 10, MaxBatchBytes: 1 << 20, MaxBytes: 1 << 20, Linger: time.Hour})
	full, lingers := p.lanes[1], p.lanes[0]
	for i := range 10 {
		full.add(encoded{wire: []byte("x"), time: testTime}, uint64(i))
	}
	lingers.add(encoded{wire: []byte("x"), time: testTime}, 10)
	due := func(l *lane) bool {
		due, _, _ := l.take()
		return due
	}
	require.False(t, due(lingers))
	p.waiting = 1
	require.True(t, due(full))
	require.False(t, due(lingers), "the full batch is being packed")
	room := p.room
	p.packed(0, true)
	require.True(t, isClosed(room), "who waits looks again")
	require.True(t, due(lingers))
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// A body that grew to its size would have been copied many times.
func TestBodiesBeginWithTheirRoom(t *testing.T) {
	const size = 1000
	p := testLanes(DeliveryOptions{Lanes: 1, MaxBatchEvents: 10, MaxBatchBytes: 1 << 20, MaxBytes: 1 << 20})
	l := p.lanes[0]
	for i := range 11 {
		l.add(encoded{wire: bytes.Repeat([]byte("x"), size), time: testTime}, uint64(i))
	}
	require.GreaterOrEqual(t, cap(l.open.body), 10*size)
	require.Less(t, cap(l.open.body), 12*size)
	p.set.MaxBytes = 5 * size
	require.LessOrEqual(t, l.room(), 5*size, "never more than the lane's part of what may be held")
}

// One processor is left to whoever makes the events, and is lent while they wait.
func TestZippersAreLent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		z := newZippers()
		out := &blockedWriter{release: make(chan struct{})}
		var running sync.WaitGroup
		for range cap(z.free) + 1 {
			running.Go(func() { assert.NoError(t, z.compress(out, [][]byte{[]byte("text")})) })
		}
		synctest.Wait()
		require.EqualValues(t, cap(z.free)-1, out.begun.Load())
		takeBack := z.lend()
		z.lend()() // of another one who waits: there is no second
		synctest.Wait()
		require.EqualValues(t, cap(z.free), out.begun.Load())
		takeBack() // without waiting for one that is in use: whoever lends has other things to do
		require.Empty(t, z.lent)
		close(out.release)
		running.Wait()
		require.Len(t, z.free, cap(z.free)-1)
		require.Len(t, z.lent, 1)
	})
}

// After a stop nothing more is packed: Close need not wait for it.
func TestLanesEndWhenStopped(t *testing.T) {
	p := testLanes(DeliveryOptions{Lanes: 1, MaxBatchEvents: 1, MaxBatchBytes: 1 << 20, MaxBytes: 1 << 20})
	l := p.lanes[0]
	for i := range 3 {
		l.add(encoded{wire: []byte("x"), time: testTime}, uint64(i))
	}
	require.True(t, l.next())
	close(p.stopped)
	require.False(t, l.next())
}

// A context that ends at the very moment at which the last event is settled makes no failure of it, and the count of those left is one.
func TestFlushBesideItsEnd(t *testing.T) {
	p := testLanes(DeliveryOptions{Lanes: 1, MaxBatchEvents: 10, MaxBatchBytes: 1 << 20, MaxBytes: 1 << 20})
	p.commits = make(chan struct{}, 1)
	const n = 5
	for range n {
		p.entries.Push(entry{})
	}
	for _, settled := range []uint64{3, 8} {
		p.reported = 0
		ctx, cancel := context.WithCancel(t.Context())
		flushed := make(chan error)
		go func() { flushed <- p.Flush(ctx) }()
		for waits := false; !waits; runtime.Gosched() {
			p.mu.Lock()
			waits = p.waiting > 0
			p.mu.Unlock()
		}
		p.mu.Lock()
		cancel()
		for p.entries.First() < min(settled, n) {
			p.entries.Pop()
		}
		p.reported = settled // and nobody is told yet
		p.mu.Unlock()
		err := <-flushed
		if settled < n {
			require.ErrorContains(t, err, "2 events unsettled")
		} else {
			require.NoError(t, err)
		}
	}
}

// A transport may ask for a body when its request is long over. It gets none then, rather than another request's bytes.
func TestParcelIsNotOpenedLate(t *testing.T) {
	p := testLanes(DeliveryOptions{Lanes: 1, MaxBatchEvents: 10, MaxBatchBytes: 1 << 20, MaxBytes: 1 << 20})
	p.zips = &spares{most: 1 << 20}
	l := p.lanes[0]
	l.add(encoded{wire: []byte("x"), time: testTime}, 0)
	l.seal()
	require.True(t, l.next())
	body, err := l.pack(part{0, 1})
	require.NoError(t, err)
	require.NoError(t, body.open().Close())
	l.unpack(body)
	_, err = io.ReadAll(body.open())
	require.ErrorIs(t, err, os.ErrClosed)
}

// blockedWriter counts its first writes, and waits in each.
type blockedWriter struct {
	begun   atomic.Int64
	release chan struct{}
}

func (w *blockedWriter) Write(p []byte) (int, error) {
	select {
	case <-w.release:
	default:
		w.begun.Add(1)
		<-w.release
	}
	return len(p), nil
}
