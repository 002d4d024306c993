package engine

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/delivery"
	"github.com/hogapi/hogapi/internal/ledger"
)

// bench is a committer over a ledger that has numbers as positions and names as rejects. It logs the calls of the
// committer.
type bench struct {
	*committer[int, string]

	books    *ledger.Ledger[int, string]
	log      []string
	stopped  error
	stop     context.CancelCauseFunc
	close    context.CancelCauseFunc
	handOver error // of the next reject
	save     error // of the next save
}

func newBench(t *testing.T, change func(*CommitConfig[int, string])) *bench {
	t.Helper()
	b := &bench{books: ledger.New[int, string]()}
	sending, stop := context.WithCancelCause(t.Context())
	accepting, closeDoor := context.WithCancelCause(sending)
	b.stop, b.close = stop, closeDoor
	note := func(text string) { b.log = append(b.log, text) }
	config := CommitConfig[int, string]{
		Ledger: b.books, Room: 100, Accepting: accepting, Sending: sending,
		Stop: func(cause error) {
			b.stopped = cause
			stop(cause)
		},
		Release:  func(delivery.Held) { note("room") },
		HandOver: func(r string) error { note("reject " + r); return b.handOver },
		Why:      func(r string) error { return errors.New(r) },
		Save: func(s ledger.State[int]) error {
			note(map[bool]string{false: "save", true: "last save"}[s.Ahead != nil])
			return b.save
		},
		Saved:   func(int, time.Duration) {},
		Settled: func(int) { note("settled") },
		TooMany: func(err error) error { return err },
		End:     func(_ ledger.Counts, tooMany error) error { note("end"); return tooMany },
	}
	if change != nil {
		change(&config)
	}
	b.committer = startCommitter(config)
	t.Cleanup(func() { stop(nil) })
	return b
}

// good takes an event and has it acknowledged; bad rejects one. Each is a record of its own.
func (b *bench) good(place int) {
	seq := b.books.Take(ledger.Event[int]{Position: place, Name: "e", Begins: true, Ends: true})
	b.books.Acknowledge([]uint64{seq}, time.Now())
	b.Signal()
}

func (b *bench) bad(place int, of string) {
	b.books.Reject(ledger.Event[int]{Position: place, Name: "e", Begins: true, Ends: true}, "r", of)
	b.Signal()
}

func (b *bench) end() {
	b.SourceEnded()
	b.close(errors.New("closed"))
	b.Close()
}

func TestTheOrderOfACommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, nil)
		b.good(1)
		synctest.Wait()
		b.bad(2, "x")
		require.NoError(t, b.Await(t.Context(), b.books.Next()))
		assert.Equal(t, 2, b.Reported())
		b.end()
		assert.Equal(t, []string{"save", "room", "settled", "reject x", "save", "room", "settled", "end"}, b.log)
		require.NoError(t, b.stopped)
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
				b.handOver, b.save = tt.handOver, tt.save
				seq := b.books.Take(ledger.Event[int]{Position: 1, Name: "e", Begins: true, Ends: true})
				b.bad(2, "x")
				synctest.Wait()
				require.Empty(t, b.log, "the first event is open")
				b.books.Acknowledge([]uint64{seq}, time.Now())
				b.Signal()
				err := b.Await(t.Context(), b.books.Next())
				require.ErrorIs(t, err, failed)
				b.end()
				assert.Equal(t, tt.want, b.log)
				require.ErrorIs(t, b.stopped, failed)
				assert.Zero(t, b.Reported())
			})
		})
	}
}

// While nothing was acknowledged no place is saved, and the limits stop the import in time.
func TestRejectsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(c *CommitConfig[int, string]) { c.Limits, c.Room = RejectLimits{Share: 0.01}, 1000 })
		for i := range 150 {
			b.books.Reject(ledger.Event[int]{Position: i + 1, Name: "e", Begins: true, Ends: true}, "r", "x")
		}
		b.Signal()
		synctest.Wait()
		require.ErrorContains(t, b.stopped, "100 of 100 records were rejected, every one of the first records; no position was saved")
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
		b := newBench(t, func(c *CommitConfig[int, string]) {
			c.Save = func(ledger.State[int]) error {
				saves.Add(1)
				time.Sleep(time.Second)
				return nil
			}
		})
		for i := range 60 {
			b.good(i + 1)
			time.Sleep(time.Second)
		}
		assert.InDelta(t, 10, saves.Load(), 1, "a save of a second, and a pause of five")
		begin := time.Now()
		require.NoError(t, b.Await(t.Context(), b.books.Next()))
		assert.LessOrEqual(t, time.Since(begin), 2*time.Second)
		b.end()
	})
}

// Events after the reject that may stop the import wait. The reject and the rest of its record do not.
func TestFront(t *testing.T) {
	t.Parallel()
	books := ledger.New[int, string]()
	c := &committer[int, string]{CommitConfig: CommitConfig[int, string]{Ledger: books, Room: 6, Limits: RejectLimits{Most: 2}}}
	event := ledger.Event[int]{Name: "e", Begins: true, Ends: true}
	rejects := 0
	settle := func(isGood bool) {
		event.Position++
		if isGood {
			books.Acknowledge([]uint64{books.Take(event)}, time.Now())
			return
		}
		rejects++
		books.Reject(event, "r", string(rune('a'+rejects-1)))
	}
	for i, step := range []struct {
		isGood   bool
		n        int
		rejected string
		crowded  bool
	}{
		{false, 1, "a", false}, {true, 2, "a", false}, {false, 3, "ab", false},
		{false, 4, "abc", true}, {true, 4, "abc", true}, {false, 4, "abc", true},
	} {
		settle(step.isGood)
		n, found := c.front()
		var names strings.Builder
		for _, r := range found {
			names.WriteString(r.Reject)
		}
		assert.Equal(t, step.n, n, i)
		assert.Equal(t, step.rejected, names.String(), i)
		assert.Equal(t, step.crowded, c.isCrowded(), i)
	}
}

// The error names the first reject of a run. An import that skips all its records still saves a position.
func TestFirstRejectIsNamed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(c *CommitConfig[int, string]) { c.Limits = RejectLimits{Share: 0.01, Most: 1} })
		b.books.Skip(ledger.Event[int]{Position: 1, Begins: true, Ends: true}, "internal")
		b.Signal()
		synctest.Wait()
		require.Equal(t, []string{"save", "room", "settled"}, b.log)
		b.good(2)
		b.bad(3, "x")
		b.bad(4, "y")
		synctest.Wait()
		require.ErrorContains(t, b.stopped, "2 of 3 records were rejected, more than MaxRejects (1); the first of this run: x")
		b.end()
	})
}

// The share of rejects of a short source is judged at its end.
func TestEndOfTooManyRejects(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(c *CommitConfig[int, string]) { c.Limits = RejectLimits{Share: 0.01} })
		b.good(1)
		b.bad(2, "x")
		b.bad(3, "y")
		synctest.Wait()
		require.NoError(t, b.stopped)
		b.end()
		require.ErrorContains(t, b.stopped, "2 of 3 records were rejected, more than MaxRejectShare (0.01)")
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
				b := newBench(t, func(c *CommitConfig[int, string]) { c.Limits = tt.limits })
				b.handOver = tt.handOver
				for i := range tt.goods {
					b.good(i + 1)
					synctest.Wait()
				}
				b.bad(tt.goods+1, "x")
				synctest.Wait()
				assert.Equal(t, tt.want, b.log)
				require.ErrorIs(t, b.stopped, tt.handOver)
				b.close(nil)
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
		"stopped":               func(b *bench) { b.stop(errors.New("stopped")) },
		"an event that is open": func(b *bench) { b.books.Take(ledger.Event[int]{Position: 2, Name: "e", Begins: true, Ends: true}) },
	} {
		synctest.Test(t, func(t *testing.T) {
			b := newBench(t, nil)
			b.good(1)
			synctest.Wait()
			change(b)
			b.end()
			assert.NotContains(t, b.log, "end", name)
			assert.Equal(t, 1, b.Reported(), name)
		})
	}
}

// The events of the record that the limits judge are not torn apart, even if it is the first one.
func TestFrontOfOneRecord(t *testing.T) {
	t.Parallel()
	books := ledger.New[int, string]()
	c := &committer[int, string]{CommitConfig: CommitConfig[int, string]{Ledger: books, Room: 6, Limits: RejectLimits{Most: 1}}}
	books.Reject(ledger.Event[int]{Position: 1, Name: "e", Begins: true}, "r", "a")
	books.Reject(ledger.Event[int]{Position: 1, Name: "e"}, "r", "b")
	books.Acknowledge([]uint64{books.Take(ledger.Event[int]{Position: 1, Name: "e", Ends: true})}, time.Now())
	n, rejects := c.front()
	assert.Equal(t, 3, n)
	assert.Len(t, rejects, 2)
}

// A flush continues while some of its events are settled. When it ends early, it says how many are not, or that
// Settled was not told.
func TestAwaitCounts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		told := make(chan struct{})
		b := newBench(t, func(c *CommitConfig[int, string]) {
			c.Settled = func(place int) {
				if place == 3 {
					<-told
				}
			}
		})
		b.good(1)
		synctest.Wait()
		second := b.books.Take(ledger.Event[int]{Position: 2, Name: "e", Begins: true, Ends: true})
		third := b.books.Take(ledger.Event[int]{Position: 3, Name: "e", Begins: true, Ends: true})
		all := make(chan error)
		go func() { all <- b.Await(t.Context(), b.books.Next()) }()
		await := func() error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return b.Await(ctx, b.books.Next())
		}
		err := await()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "flush ended with 2 events unsettled")
		b.books.Acknowledge([]uint64{second}, time.Now())
		b.Signal()
		require.ErrorContains(t, await(), "flush ended with 1 events unsettled")
		b.books.Acknowledge([]uint64{third}, time.Now())
		b.Signal()
		require.ErrorContains(t, await(), "flush ended before OnSettled was told of all")
		close(told)
		require.NoError(t, <-all)
		b.books.Take(ledger.Event[int]{Position: 4, Name: "e", Begins: true, Ends: true})
		b.stop(errors.New("hogapi: gone"))
		require.EqualError(t, b.Await(t.Context(), b.books.Next()), "hogapi: flush ended with 1 events unsettled: gone")
		b.end()
	})
}
