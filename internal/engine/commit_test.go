package engine

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/ledger"
)

// bench is a committer. It logs the calls of the committer, as its checkpoint, handler and client.
type bench struct {
	*committer
	Client

	handOver error                // of the next reject
	save     func() error         // may be nil
	settled  func(event.Position) // may be nil

	mu              sync.Mutex
	log             []string
	taken, released int
}

func newBench(t *testing.T, change func(*Config)) *bench {
	t.Helper()
	b := &bench{}
	config := Config{Room: delivery.Held{Events: 100, Bytes: 1 << 20}, Client: b, Handler: b, Files: &Files{Checkpoint: checkpoint{b}}, Logger: slog.New(slog.DiscardHandler)}
	if change != nil {
		change(&config)
	}
	b.committer = newCommitter(config, newLife(0), ledger.New(), delivery.NewBudget(config.Room))
	require.NoError(t, config.Files.Save(t.Context(), ledger.State{})) // where the run begins
	b.log = nil
	go b.run()
	t.Cleanup(func() { b.calling.end(nil) })
	return b
}

func (b *bench) note(text string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now := b.taken - b.budget.Held().Events; now > b.released {
		b.log, b.released = append(b.log, "room"), now
	}
	b.log = append(b.log, text)
}

type checkpoint struct{ *bench }

func (checkpoint) Open(context.Context) (state []byte, err error) { return nil, nil }
func (checkpoint) Close() error                                   { return nil }

func (b checkpoint) Save(_ context.Context, raw []byte) error {
	saved, _ := ReadSaved(raw, Of{})
	switch {
	case saved.Finished:
		b.note("end")
	case saved.State.Ahead != nil:
		b.note("last save")
	default:
		b.note("save")
	}
	if b.save != nil {
		return b.save()
	}
	return nil
}

func (b *bench) Saved(event.Position, time.Duration) {}

func (b *bench) Settled(_ context.Context, place event.Position) {
	b.note("settled")
	if b.settled != nil {
		b.settled(place)
	}
}

func (b *bench) Reject(_ context.Context, r event.Reject) error {
	b.note("reject " + string(r.Err.Reason))
	return b.handOver
}

// stopped is why the sending has ended.
func (b *bench) stopped() error { return context.Cause(b.sending) }

func entryAt(place int) ledger.Event {
	return ledger.Event{Position: at(int64(place)), Name: "e", Begins: true, Ends: true}
}

// take takes an event. good takes one and has it acknowledged; bad rejects one. Each is a record of its own.
func (b *bench) take(place int) (seq uint64) {
	b.hold()
	return b.ledger.Take(entryAt(place))
}

func (b *bench) hold() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.taken++
	b.budget.TryAcquire(delivery.Held{Events: 1}, delivery.Held{})
}

func (b *bench) good(place int) {
	b.ledger.Acknowledge([]uint64{b.take(place)}, time.Now())
	b.Signal()
}

func (b *bench) reject(place int, of event.Reason) {
	b.hold()
	b.rejected.put(b.ledger.Next(), &event.Reject{Err: &event.Error{Reason: of}})
	b.ledger.Reject(entryAt(place), "r")
}

func (b *bench) bad(place int, of event.Reason) {
	b.reject(place, of)
	b.Signal()
}

func (b *bench) end() {
	b.SourceEnded()
	b.accepting.end(errors.New("closed"))
	b.Close()
}

func TestTheOrderOfACommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.good(1)
		synctest.Wait()
		b.bad(2, "x")
		require.NoError(t, b.Await(t.Context(), b.ledger.Next()))
		assert.Equal(t, at(2), b.Reported())
		b.end()
		assert.Equal(t, []string{"save", "room", "settled", "reject x", "save", "room", "settled", "end"}, b.log)
		require.NoError(t, b.stopped())
	})
}

// A reject that was not handed over, or a state that was not saved, stops the committer: it reports no position and
// releases no room.
func TestAFailureStops(t *testing.T) {
	t.Parallel()
	failed := errors.New("disk full")
	for name, tt := range map[string]struct {
		handOver, save error
		want           []string
	}{
		"hand over": {failed, nil, []string{"reject x", "save", "last save"}}, // the record before it
		"save":      {nil, failed, []string{"reject x", "save"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, nil)
				b.handOver, b.save = tt.handOver, func() error { return tt.save }
				seq := b.take(1)
				b.bad(2, "x")
				synctest.Wait()
				require.Empty(t, b.log, "the first event is open")
				b.ledger.Acknowledge([]uint64{seq}, time.Now())
				b.Signal()
				err := b.Await(t.Context(), b.ledger.Next())
				require.ErrorIs(t, err, failed)
				b.end()
				assert.Equal(t, tt.want, b.log)
				require.ErrorIs(t, b.stopped(), failed)
				assert.Zero(t, b.Reported())
			})
		})
	}
}

// While nothing was acknowledged no place is saved, and the limits stop the import in time.
func TestRejectsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(c *Config) { c.Rejects, c.Room.Events = RejectLimits{Share: 0.01}, 1000 })
		for i := range 150 {
			b.reject(i+1, "x")
		}
		b.Signal()
		synctest.Wait()
		require.ErrorContains(t, b.stopped(), "100 of 100 records were rejected, every one of the first records; no position was saved")
		b.end()
		assert.Len(t, b.log, 100, "what is after them waits")
		assert.NotContains(t, b.log, "save")
	})
}

// Between two saves there is a pause, unless somebody waits.
func TestSavesArePaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var saves atomic.Int64
		b := newBench(t, nil)
		b.save = func() error {
			saves.Add(1)
			time.Sleep(time.Second)
			return nil
		}
		for i := range 60 {
			b.good(i + 1)
			time.Sleep(time.Second)
		}
		assert.InDelta(t, 10, saves.Load(), 1, "a save of a second, and a pause of five")
		begin := time.Now()
		require.NoError(t, b.Await(t.Context(), b.ledger.Next()))
		assert.LessOrEqual(t, time.Since(begin), 2*time.Second)
		b.end()
	})
}

// Events after the reject that may stop the import wait. The reject and the rest of its record do not.
func TestFront(t *testing.T) {
	t.Parallel()
	books := ledger.New()
	c := &committer{ledger: books, room: 6, limits: RejectLimits{Most: 2}}
	place := 0
	settle := func(isGood bool) {
		place++
		if isGood {
			books.Acknowledge([]uint64{books.Take(entryAt(place))}, time.Now())
			return
		}
		books.Reject(entryAt(place), "r")
	}
	for i, step := range []struct {
		isGood   bool
		n        int
		rejected []int
		crowded  bool
	}{
		{false, 1, []int{0}, false}, {true, 2, []int{0}, false}, {false, 3, []int{0, 2}, false},
		{false, 4, []int{0, 2, 3}, true}, {true, 4, []int{0, 2, 3}, true}, {false, 4, []int{0, 2, 3}, true},
	} {
		settle(step.isGood)
		n, found := c.front()
		assert.Equal(t, step.n, n, i)
		assert.Equal(t, step.rejected, found, i)
		assert.Equal(t, step.crowded, c.isCrowded(), i)
	}

	books = ledger.New() // the events of the record that the limits judge stay together, even those of the first one
	c = &committer{ledger: books, room: 6, limits: RejectLimits{Most: 1}}
	books.Reject(ledger.Event{Position: at(1), Name: "e", Begins: true}, "r")
	books.Reject(ledger.Event{Position: at(1), Name: "e"}, "r")
	books.Acknowledge([]uint64{books.Take(ledger.Event{Position: at(1), Name: "e", Ends: true})}, time.Now())
	n, rejects := c.front()
	assert.Equal(t, 3, n)
	assert.Len(t, rejects, 2)
}

// The error names the first reject of a run. An import that skips all its records still saves a position.
func TestFirstRejectIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(c *Config) { c.Rejects = RejectLimits{Share: 0.01, Most: 1} })
		b.hold()
		b.ledger.Skip(entryAt(1), "internal")
		b.Signal()
		synctest.Wait()
		require.Equal(t, []string{"save", "room", "settled"}, b.log)
		b.good(2)
		b.bad(3, "x")
		b.bad(4, "y")
		synctest.Wait()
		require.ErrorContains(t, b.stopped(), "2 of 3 records were rejected, more than MaxRejects (1); the first of this run: event refused: x")
		b.end()
	})
}

// The share of rejects of a short source is judged at its end.
func TestEndOfTooManyRejects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(c *Config) { c.Rejects = RejectLimits{Share: 0.01} })
		b.good(1)
		b.bad(2, "x")
		b.bad(3, "y")
		synctest.Wait()
		require.NoError(t, b.stopped())
		b.end()
		require.ErrorContains(t, b.stopped(), "2 of 3 records were rejected, more than MaxRejectShare (0.01)")
	})
}

// A place is saved once something was acknowledged, or if the share of rejects has no limit. A reject that
// cannot be handed over saves nothing.
func TestWhenAPlaceIsSaved(t *testing.T) {
	t.Parallel()
	const save, room, settled = "save", "room", "settled"
	for name, tt := range map[string]struct {
		limits   RejectLimits
		goods    int
		handOver error
		want     []string
	}{
		"an acknowledged event, with a share": {RejectLimits{Share: 0.9}, 1, nil, []string{save, room, settled, "reject x", save, room, settled}},
		"a reject alone, with a share":        {RejectLimits{Share: 0.9}, 0, nil, []string{"reject x", room, settled}},
		"a reject alone, without a share":     {RejectLimits{Most: 9}, 0, nil, []string{"reject x", save, room, settled}},
		"a reject that fails":                 {RejectLimits{Most: 9}, 0, errors.New("disk full"), []string{"reject x"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(c *Config) { c.Rejects = tt.limits })
				b.handOver = tt.handOver
				for i := range tt.goods {
					b.good(i + 1)
					synctest.Wait()
				}
				b.bad(tt.goods+1, "x")
				synctest.Wait()
				assert.Equal(t, tt.want, b.log)
				require.ErrorIs(t, b.stopped(), tt.handOver)
				b.accepting.end(nil)
				b.Close()
				if tt.goods > 0 || tt.limits.Share == 0 {
					tt.want = append(tt.want, "last save")
				}
				assert.Equal(t, tt.want, b.log, "an import whose source has not ended is not judged")
			})
		})
	}
}

// An import is not judged at the end of its source if it was stopped, or if some events are not settled.
func TestImportsThatAreNotJudged(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*bench){
		"stopped":               func(b *bench) { b.Stop(errors.New("stopped")) },
		"an event that is open": func(b *bench) { b.take(2) },
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, nil)
			b.good(1)
			synctest.Wait()
			change(b)
			b.end()
			assert.NotContains(t, b.log, "end", name)
			assert.Equal(t, at(1), b.Reported(), name)
		})
	}
}

// A flush continues while some of its events are settled. When it ends early, it says how many are not, or that
// Settled was not told.
func TestAwaitCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := make(chan struct{})
		b := newBench(t, nil)
		b.settled = func(place event.Position) {
			if place == at(3) {
				<-told
			}
		}
		b.good(1)
		synctest.Wait()
		second := b.take(2)
		third := b.take(3)
		all := make(chan error)
		go func() { all <- b.Await(t.Context(), b.ledger.Next()) }()
		await := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return b.Await(ctx, b.ledger.Next())
		}
		err := await()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "flush ended with 2 events unsettled")
		b.ledger.Acknowledge([]uint64{second}, time.Now())
		b.Signal()
		require.ErrorContains(t, await(), "flush ended with 1 events unsettled")
		b.ledger.Acknowledge([]uint64{third}, time.Now())
		b.Signal()
		require.ErrorContains(t, await(), "flush ended before OnSettled was told of all")
		close(told)
		require.NoError(t, <-all)
		b.take(4)
		b.Stop(errors.New("hogapi: gone"))
		require.EqualError(t, b.Await(t.Context(), b.ledger.Next()), "hogapi: flush ended with 1 events unsettled: gone")
		b.end()
	})
}
