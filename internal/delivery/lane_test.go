package delivery

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var testTime = time.Date(2024, 5, 1, 12, 30, 0, 0, time.UTC)

// keeps recounts the properties of a batch that are limited.
func keeps(l Limits, prefix string, items []Item) bool {
	size := len(prefix) + len(items) - 1 + len("]}")
	for _, i := range items {
		size += len(i.Wire)
	}
	return len(items) <= l.BatchItems && size <= l.BatchBytes
}

// idle returns a Sender without running lanes.
func idle(l Limits, prefix string) *Sender {
	ended, end := context.WithCancel(context.Background())
	end()
	of := &ledger{prefix: prefix, suffix: "]}"}
	return New(ended, Config{Limits: l, Requests: of, Results: of, Extra: len(prefix) + len("]}"), Budget: NewBudget(Held{1 << 20, 1 << 20})})
}

// Each request has as many items and bytes as allowed, and not one more.
func TestBatchesKeepTheirLimits(t *testing.T) {
	const prefix, programs, largest = `{"batch":[`, 500, 50
	for seed := range uint64(programs) {
		random := rand.New(rand.NewPCG(seed, 1))
		limits := Limits{Lanes: 1, BatchItems: 1 + random.IntN(12), BatchBytes: len(prefix) + largest + len("]}") + random.IntN(300)}
		s := idle(limits, prefix)
		l := s.lanes[0]
		items := make([]Item, 60)
		for i := range items {
			items[i] = Item{Seq: uint64(i), Wire: bytes.Repeat([]byte{byte('a' + i%26)}, 1+random.IntN(largest)), Time: testTime.Add(time.Duration(random.IntN(40)))}
			s.Add(items[i])
		}
		l.seal()
		at := 0
		for n, b := range l.queue {
			of := items[at : at+len(b.seqs)]
			require.True(t, keeps(limits, prefix, of), "seed %d, batch %d: more than it may", seed, n)
			for i, item := range of {
				require.EqualValues(t, at+i, b.seqs[i])
				require.Equal(t, string(item.Wire), string(b.items(part{i, i + 1})))
			}
			if at += len(of); at < len(items) {
				require.False(t, keeps(limits, prefix, items[at-len(of):at+1]), "seed %d, batch %d: there was room for one more", seed, n)
			}
		}
		require.Len(t, items, at)
	}
}

// If a producer waits, lanes send lingering items at once, except while a batch under way will make
// room: sending would only break up their batches.
func TestBatchesStayWholeWhileOthersAreUnderWay(t *testing.T) {
	s := idle(Limits{Lanes: 2, BatchItems: 10, BatchBytes: 1 << 20, Linger: time.Hour}, "[")
	full, lingers := s.lanes[0], s.lanes[1]
	for i := range uint64(10) {
		s.Add(Item{Seq: i, Wire: []byte("x"), Key: 1})
	}
	s.Add(Item{Seq: 10, Wire: []byte("x"), Key: 1})
	due := func(l *lane) *batch {
		b, _, _ := l.take()
		return b
	}
	require.Nil(t, due(lingers))
	s.cfg.Budget.waiting = 1
	b := due(full)
	require.NotNil(t, b)
	require.Nil(t, due(lingers), "the full batch is under way")
	full.done(b)
	require.NotEmpty(t, lingers.wake, "the lane looks again")
	require.NotNil(t, due(lingers))
}

// Items that come after a Flush do not hold back the items before it in their batch, and do not go out for themselves.
func TestLaterItemsDoNotHoldUpAFlush(t *testing.T) {
	s := idle(Limits{Lanes: 1, BatchItems: 10, BatchBytes: 1 << 20, Linger: time.Hour}, "[")
	for i := range uint64(2) {
		s.Add(Item{Seq: i, Wire: []byte("x")})
		s.Flush(1)
	}
	b, _, _ := s.lanes[0].take()
	require.NotNil(t, b)
	require.Len(t, b.ends, 2)
	s.Add(Item{Seq: 2, Wire: []byte("x")})
	b, wait, _ := s.lanes[0].take()
	require.Nil(t, b)
	require.Greater(t, wait, time.Minute)
}

// A body that grows step by step is copied many times.
func TestBodiesBeginWithTheirRoom(t *testing.T) {
	const size = 1000
	s := idle(Limits{Lanes: 1, BatchItems: 10, BatchBytes: 1 << 20}, "[")
	for i := range uint64(11) {
		s.Add(Item{Seq: i, Wire: bytes.Repeat([]byte("x"), size)})
	}
	room := cap(s.lanes[0].open.body)
	require.GreaterOrEqual(t, room, 10*size)
	require.Less(t, room, 12*size)
}

// A stopped lane packs nothing more, so Close returns soon.
func TestLanesEndWhenStopped(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	l := newLedger()
	cfg := l.config(Limits{Lanes: 1, BatchItems: 1, MostBatchItems: 1, NoCompression: true}, func(*Request) Answer {
		return Answer{Verdict: Stop, Status: 401, Stop: errGaveUp}
	})
	l.stop = stop
	s := New(ctx, cfg)
	for i := range uint64(3) {
		s.Add(Item{Seq: i, Wire: []byte("x")})
	}
	s.Close()
	assert.Len(t, l.requests, 1)
	assert.ErrorIs(t, context.Cause(ctx), errGaveUp)
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

// If a transport opens a body long after its request, it must not read another request's bytes.
func TestBodyIsNotOpenedLate(t *testing.T) {
	s := idle(Limits{Lanes: 1, BatchItems: 10, BatchBytes: 1 << 20}, "[")
	l := s.lanes[0]
	s.Add(Item{Wire: []byte("x")})
	l.seal()
	b, _, _ := l.take()
	r := newRequest(b, []part{{0, 1}}, nil)
	require.NoError(t, l.pack(r))
	body := r.Body
	require.NoError(t, body.Open().Close())
	l.unpack(r)
	_, err := io.ReadAll(body.Open())
	require.ErrorIs(t, err, os.ErrClosed)
}

// model is a service that refuses some items and sometimes fails.
type model struct {
	mu      sync.Mutex
	random  *rand.Rand
	refuses func(item string) bool
	stored  []string // each commit
}

func (m *model) post(t *testing.T, body *Body) Answer {
	r := body.Open()
	if m.chance(8) > 0 { // a transport may keep a body long after its answer
		defer r.Close()
	}
	var plain io.Reader = r
	if body.Encoding != "" {
		var err error
		plain, err = gzip.NewReader(r)
		assert.NoError(t, err)
	}
	text, err := io.ReadAll(plain)
	assert.NoError(t, err)
	assert.Len(t, text, body.Plain)
	items := bytes.Split(bytes.TrimSuffix(bytes.TrimPrefix(text, []byte("[")), []byte("]")), []byte(","))
	time.Sleep(time.Duration(m.chance(50)) * time.Millisecond)
	switch m.chance(10) {
	case 0:
		return Answer{Verdict: Wait, Status: 503}
	case 1:
		return Answer{Verdict: Wait, Err: io.ErrUnexpectedEOF}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, item := range items {
		if m.refuses(string(item)) {
			return Answer{Verdict: Split, Status: 400}
		}
	}
	for _, item := range items {
		m.stored = append(m.stored, string(item))
	}
	if m.random.IntN(20) == 0 {
		return Answer{Verdict: Wait, Err: io.ErrUnexpectedEOF} // the answer is lost
	}
	return Answer{Verdict: Settled, Status: 200, Duration: time.Millisecond}
}

func (m *model) chance(n int) int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.random.IntN(n)
}

// For random answers: each item is settled once, a rejected item is rejected alone, an accepted item
// is stored, items with the same key are stored in order, and in the end nothing is held.
func TestEachItemIsSettledOnce(t *testing.T) {
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			m := &model{random: rand.New(rand.NewPCG(seed, 7)), refuses: func(item string) bool { return item[len(item)-1] == '3' }}
			l, budget := newLedger(), NewBudget(Held{300, 1500})
			limits := Limits{Lanes: 4, BatchItems: 20, MostBatchItems: 40, Linger: 100 * time.Millisecond, NoCompression: seed%2 == 0}
			cfg := l.config(limits, func(r *Request) Answer { return m.post(t, r.Body) })
			cfg.Budget, l.stop = budget, func(err error) { assert.NoError(t, err) }
			l.accepts = func(seqs []uint64) { budget.Release(Held{Events: len(seqs)}) }
			l.refuses = func(_ uint64, wire []byte, a Answer) {
				assert.True(t, m.refuses(string(wire)))
				assert.Equal(t, 400, a.Status)
				budget.Release(Held{Events: 1})
			}
			s := New(t.Context(), cfg)
			const n, keys = 1000, 9
			ctx, end := context.WithTimeout(t.Context(), 10*time.Hour) // until there is room
			defer end()
			for i := range uint64(n) {
				wire := fmt.Appendf(nil, "%d-%d", i%keys, i)
				require.NoError(t, budget.Acquire(ctx, Held{1, len(wire)}, Held{}), "room for item %d", i)
				s.Add(Item{Seq: i, Wire: wire, Key: i % keys, Time: testTime})
			}
			s.Close()
			last := map[string]int{} // commit of each item
			for i, item := range m.stored {
				last[item] = i
			}
			for key := range uint64(keys) {
				before := -1
				for i := key; i < n; i += keys {
					item := fmt.Sprintf("%d-%d", key, i)
					if m.refuses(item) {
						require.Equal(t, [2]int{0, 1}, [2]int{l.settled[i], l.refused[i]})
						continue
					}
					require.Equal(t, [2]int{1, 0}, [2]int{l.settled[i], l.refused[i]})
					at, stored := last[item]
					require.True(t, stored, item)
					require.Greater(t, at, before, "order")
					before = at
				}
			}
			require.Zero(t, budget.Held(), "also of bodies that a transport keeps")
		})
	}
}

// Resent counts only items that an earlier try may have sent.
func TestResentCountsWhatMayHaveBeenSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []Answer{
			{Verdict: Wait, Unsent: true, Err: io.EOF}, {Verdict: Wait, Unsent: true, Err: io.EOF}, {Verdict: Wait, Status: 503},
			{Verdict: Wait, Unsent: true, Err: io.EOF}, {Verdict: Settled, Status: 200},
		}
		l := newLedger()
		s := New(t.Context(), l.config(Limits{Lanes: 1, BatchItems: 10, MostBatchItems: 10, NoCompression: true}, inTurn(answers)))
		s.Add(Item{Wire: []byte("x")})
		s.Close()
		assert.Equal(t, []int{0, 0, 0, 0, 1}, l.resent())
		assert.Equal(t, map[uint64]int{0: 1}, l.maySend, "events that the service may have")
	})
}

func TestSparesAreBounded(t *testing.T) {
	s := &bufferPool{most: 100}
	s.put(make([]byte, 0, 60), make([]byte, 0, 60), make([]byte, 0, 40))
	sizes := []int{cap(s.take(1)), cap(s.take(1)), cap(s.take(1))}
	slices.Sort(sizes)
	assert.Equal(t, []int{1, 40, 60}, sizes)
}

// Items that fit one batch are one request, regardless of their keys. Further items spread over the
// lanes, after the earlier batch, until nothing is left.
func TestFewItemsGoOutTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type sent struct {
			at    time.Duration
			items int
		}
		var requests []sent
		var mu sync.Mutex
		begin, settled := time.Now(), 0
		l := newLedger()
		s := New(t.Context(), l.config(Limits{Lanes: 4, BatchItems: 10, MostBatchItems: 10, Linger: time.Second}, func(r *Request) Answer {
			n := r.Len() // before settling
			mu.Lock()
			requests = append(requests, sent{time.Since(begin), n})
			settled += n
			mu.Unlock()
			time.Sleep(time.Minute)
			return Answer{Verdict: Settled, Status: 200, Duration: time.Minute}
		}))
		add := func(from, to int) {
			for i := from; i < to; i++ {
				s.Add(Item{Seq: uint64(i), Wire: []byte("x"), Time: begin, Key: uint64(i)})
			}
		}
		add(0, 8)
		s.Flush(8)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Equal(t, []sent{{0, 8}}, requests)

		requests = nil
		add(8, 18)
		add(18, 30)
		time.Sleep(time.Hour)
		synctest.Wait()
		require.Equal(t, 30, settled)
		require.Equal(t, sent{2 * time.Minute, 10}, requests[0], "the first lane")
		for _, r := range requests[1:] {
			assert.GreaterOrEqual(t, r.at, 3*time.Minute, "the others wait for it")
		}
		assert.Greater(t, len(requests), 3, "they are spread")

		requests = nil
		add(30, 38)
		s.Flush(38)
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		require.Len(t, requests, 1, "together again")
		s.Close()
	})
}
