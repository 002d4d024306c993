package hogapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// places collects what OnSettled is told.
type places struct {
	mu   sync.Mutex
	told []hogapi.Position
}

func (p *places) tell(at hogapi.Position) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, at)
}

func (p *places) all() []hogapi.Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told
}

// A reject handler that is slower than the events come keeps something settled at all times. Flush and OnSettled do not wait for a rest.
func TestSettledIsToldUnderSteadyLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		server.Script(hogapi.OpCapture, hogapitest.Always(hogapitest.SlowAnswer(20*time.Millisecond)))
		server.RejectEvents(func(raw json.RawMessage) int {
			var ev struct{ Properties struct{ N int } }
			if json.Unmarshal(raw, &ev) != nil || ev.Properties.N%20 == 0 {
				return 400
			}
			return 0
		})
		var settled places
		capture, err := server.Client(t).NewCapture(hogapi.CaptureOptions{
			Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{MaxInFlight: 2000, MaxBatchEvents: 20}, OnSettled: settled.tell,
			Rejects: hogapi.RejectFunc(func(context.Context, hogapi.Reject) error {
				time.Sleep(200 * time.Millisecond)
				return nil
			}),
		})
		require.NoError(t, err)
		ctx, stop := context.WithCancel(t.Context())
		var producing sync.WaitGroup
		producing.Go(func() {
			var err error
			for i := 1; err == nil; i++ {
				err = capture.Enqueue(ctx, numberedEvent(i))
			}
		})
		time.Sleep(2 * time.Second)
		soon, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		flushErr := capture.Flush(soon)
		told := len(settled.all())
		stop()
		producing.Wait()
		_, err = capture.Close(t.Context())
		require.NoError(t, err)
		require.NoError(t, flushErr)
		assert.Greater(t, told, 5)
	})
}

// Flush ends the position at hand: OnSettled has been told of it, and is not told of an earlier one when another event of it comes.
func TestOnSettledNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var settled places
		capture, err := hogapitest.New().Client(t).NewCapture(hogapi.CaptureOptions{Rate: hogapi.Unpaced, OnSettled: settled.tell})
		require.NoError(t, err)
		for i, offset := range []int64{1, 2, 2, 3} {
			ev := numberedEvent(i + 1)
			ev.Position = hogapi.Position{Offset: offset}
			require.NoError(t, capture.Enqueue(t.Context(), ev))
			if i == 1 {
				require.NoError(t, capture.Flush(t.Context()))
				assert.Equal(t, ev.Position, settled.all()[len(settled.all())-1])
			}
			time.Sleep(10 * time.Second)
		}
		_, err = capture.Close(t.Context())
		require.NoError(t, err)
		var told []int64
		for _, at := range settled.all() {
			told = append(told, at.Offset)
		}
		assert.IsIncreasing(t, told) // the first may be left out: it is settled with the second one
		assert.EqualValues(t, 3, told[len(told)-1])
	})
}

// placed is an event at an offset; with 0 it has no position.
func placed(i int, offset int64) hogapi.Event {
	ev := numberedEvent(i)
	ev.Position = hogapi.Position{Offset: offset}
	return ev
}

// offsets are those of the positions told.
func (p *places) offsets() (all []int64) {
	for _, at := range p.all() {
		all = append(all, at.Offset)
	}
	return all
}

// An event without a position, as Identify makes, is not one of another position: more of the position before it may come.
func TestEventsWithoutAPositionEndNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var settled places
		capture, err := hogapitest.New().Client(t).NewCapture(hogapi.CaptureOptions{Rate: hogapi.Unpaced, OnSettled: settled.tell})
		require.NoError(t, err)
		for i, offset := range []int64{0, 1, 2, 0, 0} {
			require.NoError(t, capture.Enqueue(t.Context(), placed(i+1, offset)))
			if i != 1 {
				time.Sleep(10 * time.Second) // all is settled
			}
			if i >= 2 {
				assert.Equal(t, []int64{1}, settled.offsets(), "after event %d", i)
			}
		}
		require.NoError(t, capture.Enqueue(t.Context(), placed(6, 2)))
		time.Sleep(10 * time.Second)
		assert.Equal(t, []int64{1}, settled.offsets())
		assert.EqualValues(t, 1, capture.Stats().Position.Offset)
		receipt, err := capture.Close(t.Context())
		require.NoError(t, err)
		assert.Equal(t, []int64{1, 2}, settled.offsets())
		assert.EqualValues(t, 1, receipt.First.Offset)
		assert.EqualValues(t, 2, receipt.Last.Offset)
	})
}

// Flush tells of the newest position, whatever came without one behind it.
func TestFlushBehindEventsWithoutAPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var settled places
		capture, err := hogapitest.New().Client(t).NewCapture(hogapi.CaptureOptions{Rate: hogapi.Unpaced, OnSettled: settled.tell})
		require.NoError(t, err)
		flushed := func(want ...int64) {
			t.Helper()
			require.NoError(t, capture.Flush(t.Context()))
			assert.Equal(t, want, settled.offsets())
			if len(want) > 0 {
				assert.Equal(t, want[len(want)-1], capture.Stats().Position.Offset)
			}
		}
		n, want := 0, []int64(nil)
		add := func(offset int64) {
			n++
			require.NoError(t, capture.Enqueue(t.Context(), placed(n, offset)))
		}
		add(0)
		flushed()
		for offset := int64(1); offset <= 5; offset++ {
			want = append(want, offset)
			add(offset)
			if offset%2 == 0 {
				flushed(want...)
			}
			add(0)
			flushed(want...)
			add(0)
			time.Sleep(10 * time.Second)
		}
		_, err = capture.Close(t.Context())
		require.NoError(t, err)
		assert.Equal(t, want, settled.offsets())
	})
}

// A flush is not over before OnSettled was told, although events without a position come while it waits, and others behind them.
func TestFlushWhileEventsWithoutAPositionCome(t *testing.T) {
	for name, later := range map[string][]int64{"none": nil, "without a position": {0, 0}, "of another position": {0, 2}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := hogapitest.New()
				answer := func(after time.Duration) hogapitest.Fault { return hogapitest.SlowAnswer(after) }
				server.Script(hogapi.OpCapture, answer(5*time.Second), answer(time.Second), hogapitest.Always(answer(20*time.Second)))
				var settled places
				capture, err := server.Client(t).NewCapture(hogapi.CaptureOptions{Rate: hogapi.Unpaced, OnSettled: settled.tell})
				require.NoError(t, err)
				add := func(i int, offset int64) { require.NoError(t, capture.Enqueue(t.Context(), placed(i, offset))) }
				add(1, 1)
				flushed := make(chan []int64)
				go func() {
					assert.NoError(t, capture.Flush(t.Context()))
					flushed <- settled.offsets()
				}()
				synctest.Wait()
				add(2, 0)
				time.Sleep(2 * time.Second)
				for i, offset := range later {
					add(3+i, offset)
				}
				assert.Equal(t, []int64{1}, <-flushed)
				_, err = capture.Close(t.Context())
				require.NoError(t, err)
				server.ClearScript(hogapi.OpCapture)
			})
		})
	}
}

// Flush returns when OnSettled has been told, also of what was settled long before, or while a report was under way.
func TestFlushReturnsWhenAllIsTold(t *testing.T) {
	for name, slow := range map[string]time.Duration{"settled before": 0, "a report under way": 20 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var settled places
				capture, err := hogapitest.New().Client(t).NewCapture(hogapi.CaptureOptions{Rate: hogapi.Unpaced, OnSettled: func(at hogapi.Position) {
					time.Sleep(slow)
					settled.tell(at)
				}})
				require.NoError(t, err)
				for i := range 4 {
					ev := numberedEvent(i + 1)
					ev.Position = hogapi.Position{Offset: int64(i + 1)}
					require.NoError(t, capture.Enqueue(t.Context(), ev))
					time.Sleep(10 * time.Second)
					if i%2 == 1 {
						require.NoError(t, capture.Flush(t.Context()))
						require.NotEmpty(t, settled.all())
						assert.Equal(t, ev.Position, settled.all()[len(settled.all())-1])
					}
				}
				_, err = capture.Close(t.Context())
				require.NoError(t, err)
			})
		})
	}
}

// A flush that ends while OnSettled is told does not speak of unsettled events.
func TestFlushThatEndsBeforeAllIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		capture, err := hogapitest.New().Client(t).NewCapture(hogapi.CaptureOptions{OnSettled: func(hogapi.Position) { time.Sleep(time.Minute) }})
		require.NoError(t, err)
		ev := numberedEvent(1)
		ev.Position = hogapi.Position{Offset: 1}
		require.NoError(t, capture.Enqueue(t.Context(), ev))
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		err = capture.Flush(ctx)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorContains(t, err, "before OnSettled was told of all")
		_, err = capture.Close(t.Context())
		require.NoError(t, err)
	})
}

// Close with a context that has ended: what is settled already is no failure, and hooks that are queued are not waited for.
func TestCloseOfWhatIsSettledWithAnEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var told atomic.Int64
		slow := hogapi.Hooks{OnBatch: func(hogapi.BatchEvent) {
			time.Sleep(time.Minute)
			told.Add(1)
		}}
		capture, err := hogapitest.New().Client(t, hogapi.WithHooks(slow)).NewCapture(hogapi.CaptureOptions{Delivery: hogapi.DeliveryOptions{MaxBatchEvents: 1}})
		require.NoError(t, err)
		for i := range 20 {
			require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(i+1)))
		}
		require.NoError(t, capture.Flush(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begin := time.Now()
		receipt, err := capture.Close(ctx)
		require.NoError(t, err)
		assert.Zero(t, time.Since(begin))
		assert.EqualValues(t, 20, receipt.Acknowledged)
		time.Sleep(time.Hour)
		assert.EqualValues(t, 1, told.Load(), "the one that ran")
	})
}

// A function of the caller that ends its goroutine (runtime.Goexit, as a failing test does) stops the Capture, and nothing waits for ever.
func TestCallerEndsTheGoroutine(t *testing.T) {
	for name, options := range map[string]hogapi.CaptureOptions{
		"OnSettled": {OnSettled: func(hogapi.Position) { runtime.Goexit() }, Rejects: ignoreRejects},
		"Rejects":   {Rejects: hogapi.RejectFunc(func(context.Context, hogapi.Reject) error { runtime.Goexit(); return nil })},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := hogapitest.New()
				server.RejectEvents(func(raw json.RawMessage) int {
					if bytes.Contains(raw, []byte(`"poison"`)) {
						return 400
					}
					return 0
				})
				options.Delivery.MaxInFlight = 10
				capture, err := server.Client(t).NewCapture(options)
				require.NoError(t, err)
				for i := range 100 {
					ev := numberedEvent(i + 1)
					ev.Position = hogapi.Position{Offset: int64(i + 1)}
					if i == 3 {
						ev.Name = "poison"
					}
					if err = capture.Enqueue(t.Context(), ev); err != nil {
						break
					}
				}
				var stop *hogapi.StopError
				require.ErrorAs(t, err, &stop)
				assert.Equal(t, hogapi.StopHandler, stop.Reason)
				require.ErrorContains(t, capture.Flush(t.Context()), "Goexit")
				receipt, err := capture.Close(t.Context())
				require.ErrorContains(t, err, "Goexit")
				assert.Equal(t, receipt.Read, receipt.Acknowledged+receipt.Rejected+receipt.Pending)
			})
		})
	}
}

// brittle is a checkpoint whose saves can be made to fail.
type brittle struct {
	hogapi.Checkpointer

	failure error
}

func (b *brittle) Save(ctx context.Context, state []byte) error {
	if b.failure != nil {
		return b.failure
	}
	return b.Checkpointer.Save(ctx, state)
}

// A run that ends before its first event reports what the runs before it have done.
func TestReceiptOfARunThatNeverBegan(t *testing.T) {
	folder := t.TempDir()
	client := hogapitest.New().Client(t)
	checkpoint := &brittle{Checkpointer: hogapi.FileCheckpoint(filepath.Join(folder, "checkpoint"))}
	options := hogapi.ImportOptions{ID: "x", Rate: hogapi.Unpaced, Checkpoint: checkpoint, Rejects: hogapi.RejectFile(filepath.Join(folder, "rejects"))}
	whole, err := client.Import(t.Context(), numbered(100), options)
	require.NoError(t, err)
	require.EqualValues(t, 100, whole.Acknowledged)

	checkpoint.failure = errors.New("disk full")
	receipt, err := client.Import(t.Context(), numbered(100), options)
	require.ErrorIs(t, err, checkpoint.failure)
	assert.Equal(t, whole, receipt)

	options.Rejects = hogapi.RejectFile(folder)
	receipt, err = client.Import(t.Context(), numbered(100), options)
	require.Error(t, err, "the reject file is a folder")
	assert.Equal(t, whole, receipt)
}

// A context that ends while the last answers are awaited stops the import as it does before: what is under way may still end.
func TestImportEndsWithItsContextAtTheLast(t *testing.T) {
	for name, c := range map[string]struct {
		answer  time.Duration
		pending int64
	}{"answered in time": {2 * time.Second, 0}, "too late": {time.Minute, 100}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := hogapitest.New()
				server.Script(hogapi.OpCapture, hogapitest.Always(hogapitest.SlowAnswer(c.answer)))
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				receipt, err := server.Client(t).Import(ctx, numbered(100), hogapi.ImportOptions{
					ID: "x", Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{Lanes: 1},
				})
				require.ErrorIs(t, err, context.DeadlineExceeded)
				var stop *hogapi.StopError
				require.ErrorAs(t, err, &stop)
				assert.Equal(t, hogapi.StopCanceled, stop.Reason)
				assert.Equal(t, c.pending, receipt.Pending)
				assert.EqualValues(t, 100, receipt.Acknowledged+receipt.Pending)
				var unsettled *hogapi.UnsettledError
				assert.Equal(t, c.pending > 0, errors.As(err, &unsettled))
			})
		})
	}
}

// Lanes that have paid the pace before an outage pay it again after one.
func TestPaceIsKeptAfterAnOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		time.AfterFunc(5*time.Second, func() { server.SetDown(true) })
		time.AfterFunc(time.Minute, func() { server.SetDown(false) })
		_, err := server.Client(t).Import(t.Context(), numbered(40_000), hogapi.ImportOptions{ID: "outage"})
		require.NoError(t, err)
		requirePace(t, server)
	})
}
