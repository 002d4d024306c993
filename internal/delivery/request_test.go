package delivery

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/gzip"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ledger records the outcome of items. It answers requests with post.
type ledger struct {
	prefix, suffix string
	post           func(*Request) Answer
	stop           func(error)
	accepts        func(seqs []uint64)                     // may be nil
	refuses        func(seq uint64, wire []byte, a Answer) // may be nil

	mu                            sync.Mutex
	settled, refused, unconfirmed map[uint64]int
	reasons                       map[uint64]string
	tries                         []Try
	requests                      []string // "id try items"
	maySend                       map[uint64]int
	ids                           map[uuid.UUID]int
}

func newLedger() *ledger {
	return &ledger{
		prefix: "[", suffix: "]", stop: func(error) {},
		settled: map[uint64]int{}, refused: map[uint64]int{}, unconfirmed: map[uint64]int{}, reasons: map[uint64]string{},
		maySend: map[uint64]int{}, ids: map[uuid.UUID]int{},
	}
}

// note records a request, and numbers the ids in order of appearance.
func (l *ledger) note(r *Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if _, known := l.ids[r.ID]; !known {
		l.ids[r.ID] = len(l.ids)
	}
	l.requests = append(l.requests, fmt.Sprintf("%d/%d %s", l.ids[r.ID], r.Try, joined(r)))
}

// joined returns the items of a request with commas between them.
func joined(r *Request) string {
	var items []string
	for _, item := range r.Items {
		items = append(items, string(item))
	}
	return strings.Join(items, ",")
}

// resent returns the number of items that each try sent once more.
func (l *ledger) resent() (all []int) {
	for _, tr := range l.tries {
		all = append(all, tr.Resent)
	}
	return all
}

// inTurn gives one answer after another.
func inTurn(answers []Answer) func(*Request) Answer {
	return func(*Request) (a Answer) {
		a, answers = answers[0], answers[1:]
		return a
	}
}

// config returns the Config of a Sender that posts with post.
func (l *ledger) config(limits Limits, post func(*Request) Answer) Config {
	l.post = post
	limits.GiveUpAfter, limits.BatchBytes, limits.LeastBatchBytes = time.Hour, 1<<20, 100
	return Config{Limits: limits, Budget: NewBudget(Held{1 << 20, 1 << 20}), Ready: closed(), Requests: l, Results: l}
}

func (l *ledger) Around(time.Time) (prefix, suffix []byte, encoding string) {
	return []byte(l.prefix), []byte(l.suffix), Gzip
}
func (l *ledger) Remark(uint64, string)          {}
func (l *ledger) Wide()                          {}
func (l *ledger) GaveUp(Answer, time.Time) error { return errGaveUp }
func (l *ledger) Stop(cause error)               { l.stop(cause) }

func (l *ledger) Post(r *Request) Answer {
	l.note(r)
	return l.post(r)
}

func (l *ledger) Tried(tr Try) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tries = append(l.tries, tr)
}

func (l *ledger) count(of map[uint64]int, seqs ...uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, seq := range seqs {
		of[seq]++
	}
}

func (l *ledger) Sent(seqs []uint64) { l.count(l.maySend, seqs...) }

func (l *ledger) Settled(seqs []uint64) {
	l.count(l.settled, seqs...)
	if l.accepts != nil {
		l.accepts(seqs)
	}
}

func (l *ledger) Rejected(seq uint64, wire []byte, a Answer) error {
	if l.refuses != nil {
		l.refuses(seq, wire, a)
	}
	return l.turn(l.refused, seq, a)
}

func (l *ledger) Unconfirmed(seq uint64, _ []byte, a Answer) error {
	return l.turn(l.unconfirmed, seq, a)
}

func (l *ledger) turn(of map[uint64]int, seq uint64, a Answer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	of[seq]++
	l.reasons[seq] = a.Reason
	return nil
}

// A transport may read the body of a try after the next try with fewer items, or after other
// requests: it still reads the bytes of its own try.
func TestBodyOfATryIsReadLate(t *testing.T) {
	for _, plain := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			l := newLedger()
			var bodies []io.ReadCloser // of the first tries
			var wants []string
			s := New(t.Context(), l.config(Limits{Lanes: 1, BatchItems: 4, MostBatchItems: 4, Linger: time.Minute, NoCompression: plain}, func(r *Request) Answer {
				body := r.Body.Open()
				if r.Try == 1 {
					bodies, wants = append(bodies, body), append(wants, "["+joined(r)+"]")
					return Answer{Verdict: Wait, Status: 503}
				}
				_, err := io.ReadAll(body)
				assert.NoError(t, err)
				assert.NoError(t, body.Close())
				if r.Len() == 4 {
					return Answer{Verdict: Each, Fates: []Fate{{Outcome: Again}, {Outcome: Accepted}, {Outcome: Again}, {Outcome: Accepted}}}
				}
				return Answer{Verdict: Settled, Status: 200}
			}))
			for i := range uint64(40) {
				s.Add(Item{Seq: i, Wire: fmt.Appendf(nil, `"item %d"`, i), Time: testTime})
				if i%4 == 3 {
					time.Sleep(time.Hour) // virtual: the batch is settled
				}
			}
			s.Close()
			require.Len(t, bodies, 10)
			for i, body := range bodies {
				var r io.Reader = body
				if !plain {
					var err error
					r, err = gzip.NewReader(body)
					require.NoError(t, err)
				}
				text, err := io.ReadAll(r)
				require.NoError(t, err)
				assert.Equal(t, wants[i], string(text))
				require.NoError(t, body.Close())
			}
		})
	}
}

// Items that an answer does not settle are sent again under the same id. An item that two answers
// do not name is unconfirmed.
func TestAnswersForEachItem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		each := func(after time.Duration, outcomes ...Outcome) Answer {
			a := Answer{Verdict: Each, Status: 200, RetryAfter: after}
			for i, o := range outcomes {
				a.Fates = append(a.Fates, Fate{o, fmt.Sprint("reason ", i)})
			}
			return a
		}
		answers := []Answer{
			each(5*time.Second, Accepted, Again, Missing, Rejected, Again, Unconfirmed, Accepted),
			{Verdict: Wait, Status: 503},
			each(0, Accepted, Missing, Again),
			each(0, Again),
			each(0, Accepted),
		}
		l, next := newLedger(), inTurn(answers)
		var at []time.Time
		s := New(t.Context(), l.config(Limits{Lanes: 1, BatchItems: 7, MostBatchItems: 7, Linger: time.Minute}, func(r *Request) Answer {
			at = append(at, time.Now())
			return next(r)
		}))
		for i := range uint64(7) {
			s.Add(Item{Seq: i, Wire: []byte{byte('a' + i)}})
		}
		s.Close()
		assert.Equal(t, []string{"0/1 a,b,c,d,e,f,g", "0/2 b,c,e", "0/3 b,c,e", "0/4 e", "0/5 e"}, l.requests)
		assert.Equal(t, map[uint64]int{0: 1, 1: 1, 4: 1, 6: 1}, l.settled)
		assert.Equal(t, map[uint64]int{3: 1}, l.refused)
		assert.Equal(t, map[uint64]int{2: 1, 5: 1}, l.unconfirmed)
		assert.Equal(t, map[uint64]string{3: "reason 3", 5: "reason 5", 2: "reason 1"}, l.reasons)
		assert.GreaterOrEqual(t, at[1].Sub(at[0]), 5*time.Second, "the service asked for it")
		for i := 2; i < len(at); i++ {
			assert.Positive(t, at[i].Sub(at[i-1]))
		}
		assert.Equal(t, []int{0, 3, 3, 1, 1}, l.resent())
	})
}

// An item that an answer did not name is sent once more, even if the request is then halved.
func TestMissingItemOfAHalvedRequestIsSentOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLedger()
		s := New(t.Context(), l.config(Limits{Lanes: 1, BatchItems: 4, MostBatchItems: 4, Linger: time.Minute}, func(r *Request) Answer {
			if r.Try == 2 && r.Len() == 3 {
				return Answer{Verdict: Split, Status: 413, TooLarge: true}
			}
			a := Answer{Verdict: Each, Status: 200}
			for i := range r.Items {
				fate := Fate{Outcome: Missing}
				if r.Try == 1 && r.Len() == 4 && i == 0 {
					fate.Outcome = Accepted
				}
				a.Fates = append(a.Fates, fate)
			}
			return a
		}))
		for i := range uint64(4) {
			s.Add(Item{Seq: i, Wire: []byte{byte('a' + i)}})
		}
		s.Close()
		assert.Equal(t, []string{"0/1 a,b,c,d", "0/2 b,c,d", "1/1 b", "2/1 c,d"}, l.requests)
		assert.Equal(t, map[uint64]int{0: 1}, l.settled)
		assert.Equal(t, map[uint64]int{1: 1, 2: 1, 3: 1}, l.unconfirmed)
	})
}

// A batch is held, and counts, as a whole until its last item is settled.
func TestABatchIsHeldAsAWhole(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget, held := NewBudget(Held{10, 1000}), []int{}
		cfg := newLedger().config(Limits{Lanes: 1, BatchItems: 4, MostBatchItems: 4, Linger: time.Minute}, func(r *Request) Answer {
			held = append(held, budget.Held().Bytes)
			if r.Len() == 1 {
				return Answer{Verdict: Settled, Status: 200}
			}
			return Answer{Verdict: Each, Fates: []Fate{{Outcome: Accepted}, {Outcome: Accepted}, {Outcome: Again}, {Outcome: Accepted}}}
		})
		cfg.Budget = budget
		s := New(t.Context(), cfg)
		for i := range uint64(4) {
			require.NoError(t, budget.Acquire(t.Context(), Held{1, 100}, Held{}))
			s.Add(Item{Seq: i, Wire: make([]byte, 100)})
		}
		s.Close()
		require.Len(t, held, 2)
		assert.GreaterOrEqual(t, slices.Min(held), 400)
		assert.Zero(t, budget.Held().Bytes)
	})
}

// Answers that store no item count as failures.
func TestEveryItemAgainIsAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancelCause(t.Context())
		l := newLedger()
		cfg := l.config(Limits{Lanes: 1, BatchItems: 1, MostBatchItems: 1}, func(*Request) Answer {
			return Answer{Verdict: Each, Status: 200, Fates: []Fate{{Outcome: Again}}}
		})
		l.stop = stop
		s := New(ctx, cfg)
		start := time.Now()
		s.Add(Item{Wire: []byte("a")})
		s.Close()
		require.ErrorIs(t, context.Cause(ctx), errGaveUp)
		assert.InDelta(t, time.Hour.Seconds(), time.Since(start).Seconds(), 60)
		assert.Empty(t, l.settled)
		assert.Positive(t, l.maySend[0])
	})
}

// For mixed answers: each item is settled once, and a request refused as a whole is halved, even if
// its items are not adjacent.
func TestMixedAnswersSettleEachItemOnce(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 3))
			l, lost := newLedger(), map[string]bool{}
			const n = 200
			s := New(t.Context(), l.config(Limits{Lanes: 3, BatchItems: 30, MostBatchItems: 30, NoCompression: seed%2 == 0}, func(r *Request) Answer {
				l.mu.Lock()
				defer l.mu.Unlock()
				switch random.IntN(6) {
				case 0:
					return Answer{Verdict: Wait, Status: 503}
				case 1:
					for _, item := range r.Items {
						if strings.HasSuffix(string(item), "7") {
							return Answer{Verdict: Split, Status: 400, TooLarge: random.IntN(2) == 0}
						}
					}
				}
				a := Answer{Verdict: Each, Status: 200}
				for _, item := range r.Items {
					o := Outcome(random.IntN(5))
					if o == Accepted && strings.HasSuffix(string(item), "7") {
						o = Rejected
					}
					lost[string(item)] = o == Unconfirmed || o == Missing
					a.Fates = append(a.Fates, Fate{Outcome: o})
				}
				return a
			}))
			for i := range uint64(n) {
				s.Add(Item{Seq: i, Wire: fmt.Append(nil, i), Key: i % 5, Time: testTime})
			}
			s.Close()
			for i := range uint64(n) {
				require.Equal(t, 1, l.settled[i]+l.refused[i]+l.unconfirmed[i], "item %d", i)
				require.True(t, l.unconfirmed[i] == 0 || lost[fmt.Sprint(i)], "item %d", i)
				if i%10 == 7 {
					require.Zero(t, l.settled[i])
				}
			}
		})
	}
}

// For failures at random, and with batches of any size, no item is unconfirmed. An item with which each
// request fails is, and no other. The last time that each item was sent is in the order of its lane.
func TestTheCauseOfFailuresIsFound(t *testing.T) {
	for seed := range uint64(200) {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 4))
			const n = 120
			poison, share := fmt.Sprint(random.IntN(2*n)), []float64{0, 0.1, 0.2, 0.3}[seed%4] // half of the seeds have no such item
			limits := Limits{Lanes: 1 + random.IntN(4), BatchItems: []int{1, 7, 50}[random.IntN(3)], NoCompression: true, Linger: time.Second}
			limits.MostBatchItems = limits.BatchItems
			l, last, requests := newLedger(), map[string]int{}, 0
			s := New(t.Context(), l.config(limits, func(r *Request) Answer {
				l.mu.Lock()
				defer l.mu.Unlock()
				requests++
				isDown := random.Float64() < share
				for _, item := range r.Items {
					if isDown || string(item) == poison {
						return Answer{Verdict: Wait, Status: 500, Suspect: true}
					}
				}
				for _, item := range r.Items {
					last[string(item)] = requests
				}
				return Answer{Verdict: Settled, Status: 200}
			}))
			for i := range uint64(n) {
				s.Add(Item{Seq: i, Wire: fmt.Append(nil, i), Key: i % 5, Time: testTime})
			}
			s.Close()
			for i := range uint64(n) {
				require.Equal(t, fmt.Sprint(i) == poison, l.unconfirmed[i] == 1, "seed %d, item %d", seed, i)
				require.Equal(t, fmt.Sprint(i) != poison, l.settled[i] == 1, "seed %d, item %d", seed, i)
				if before, after := last[fmt.Sprint(i-5)], last[fmt.Sprint(i)]; i >= 5 && after > 0 {
					require.LessOrEqual(t, before, after, "seed %d, item %d", seed, i)
				}
			}
		})
	}
}
