package hogapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"iter"
	"log/slog"
	"net/http"
	"path/filepath"
	"runtime"
	"strings"
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
	t.Parallel()
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
				began := time.Now()
				flushed := make(chan []int64)
				go func() {
					assert.NoError(t, capture.Flush(t.Context()))
					assert.Equal(t, 5*time.Second, time.Since(began))
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

// Flush waits for what was accepted before it, and for nothing that comes later, be it stuck in an outage. It tells what it has ended, except
// where more of that position came: that would be lost by a kill.
func TestFlushWaitsForNothingLater(t *testing.T) {
	const outage = time.Minute
	for name, c := range map[string]struct {
		before, between, after []int64 // of the offsets, with a flush behind each of the first two
		first                  []int64 // that the first flush has told
		second                 []int64
	}{
		"nothing":                            {before: []int64{1}, first: []int64{1}, second: []int64{1}},
		"without a position":                 {[]int64{1}, []int64{0}, []int64{0}, []int64{1}, []int64{1}},
		"of another position":                {[]int64{1}, []int64{2}, []int64{3}, []int64{1}, []int64{1, 2}},
		"of another one behind one of none":  {[]int64{1}, []int64{0, 2}, []int64{0, 3}, []int64{1}, []int64{1, 2}},
		"of another one behind two flushes":  {[]int64{1}, []int64{0}, []int64{2}, []int64{1}, []int64{1}},
		"behind one of none":                 {[]int64{1, 0}, []int64{0, 2}, []int64{0, 3}, []int64{1}, []int64{1, 2}},
		"of none at first":                   {[]int64{0}, []int64{0, 2}, []int64{0, 3}, nil, []int64{2}},
		"of the same position":               {[]int64{1}, []int64{1}, []int64{2}, nil, []int64{1}},
		"of the same one behind one of none": {[]int64{1}, []int64{0, 1}, []int64{0, 2}, nil, []int64{1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := hogapitest.New()
				server.Script(hogapi.OpCapture, hogapitest.SlowAnswer(5*time.Second))
				time.AfterFunc(time.Second, func() { server.SetDown(true) })
				time.AfterFunc(outage, func() { server.SetDown(false) })
				var settled places
				capture, err := server.Client(t).NewCapture(hogapi.CaptureOptions{
					Rate: hogapi.Unpaced, OnSettled: settled.tell, Delivery: hogapi.DeliveryOptions{Lanes: 1},
				})
				require.NoError(t, err)
				n, began := 0, time.Now()
				add := func(offsets []int64) {
					for _, offset := range offsets {
						n++
						require.NoError(t, capture.Enqueue(t.Context(), placed(n, offset)))
					}
				}
				var flushing sync.WaitGroup
				flush := func(told []int64, took func(time.Duration)) {
					flushing.Go(func() {
						assert.NoError(t, capture.Flush(t.Context()))
						assert.Equal(t, told, settled.offsets())
						took(time.Since(began))
					})
					synctest.Wait()
				}
				add(c.before)
				flush(c.first, func(d time.Duration) { assert.Equal(t, 5*time.Second, d) })
				time.Sleep(2 * time.Second)
				add(c.between)
				flush(c.second, func(d time.Duration) {
					assert.Equal(t, len(c.between) > 0, d > outage)
				})
				add(c.after)
				flushing.Wait()
				_, err = capture.Close(t.Context())
				require.NoError(t, err)
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

// exiting is a transport that ends the goroutine for requests of one kind, after they were answered.
type exiting struct {
	http.RoundTripper

	op hogapi.Op
}

func (e exiting) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := e.RoundTripper.RoundTrip(r)
	if info, _ := hogapi.CallInfoFrom(r.Context()); info.Op == e.op {
		runtime.Goexit()
	}
	return resp, err
}

// exitingLog ends the goroutine that logs a message, or does with it what instead says.
type exitingLog struct {
	slog.Handler

	message string
	instead func()
}

func (h exitingLog) Handle(_ context.Context, r slog.Record) error {
	switch {
	case r.Message != h.message:
	case h.instead != nil:
		h.instead()
	default:
		runtime.Goexit()
	}
	return nil
}

func (exitingLog) Enabled(context.Context, slog.Level) bool { return true }

// slowHooks makes hooks too slow, so that the end of an import is logged, on the goroutine of the caller.
func slowHooks(log func()) []hogapi.Option {
	return []hogapi.Option{
		hogapi.WithHooks(hogapi.Hooks{OnBatch: func(hogapi.BatchEvent) { runtime.Goexit() }}),
		hogapi.WithLogger(slog.New(exitingLog{message: "hogapi: hooks were too slow", instead: log})),
	}
}

// exitingSaves is a checkpoint whose n-th Save ends the goroutine.
type exitingSaves struct {
	hogapi.Checkpointer

	left int
}

func (e *exitingSaves) Save(ctx context.Context, state []byte) error {
	if e.left--; e.left == 0 {
		runtime.Goexit()
	}
	return e.Checkpointer.Save(ctx, state)
}

func poison(raw json.RawMessage) int {
	if bytes.Contains(raw, []byte(`"poison"`)) {
		return 400
	}
	return 0
}

// A function of the caller that ends its goroutine (runtime.Goexit, as a failing test does) stops the Capture, and nothing waits for ever.
func TestCallerEndsTheGoroutine(t *testing.T) {
	exits := func(server *hogapitest.Server, op hogapi.Op) hogapi.Option {
		return hogapi.WithHTTPClient(&http.Client{Transport: exiting{server.Transport(), op}})
	}
	logs := func(message string) hogapi.Option { return hogapi.WithLogger(slog.New(exitingLog{message: message})) }
	for name, set := range map[string]func(*hogapitest.Server, *hogapi.CaptureOptions) hogapi.Option{
		"OnSettled": func(_ *hogapitest.Server, o *hogapi.CaptureOptions) hogapi.Option {
			o.OnSettled = func(hogapi.Position) { runtime.Goexit() }
			return logs("")
		},
		"Rejects": func(_ *hogapitest.Server, o *hogapi.CaptureOptions) hogapi.Option {
			o.Rejects = hogapi.RejectFunc(func(context.Context, hogapi.Reject) error { runtime.Goexit(); return nil })
			return logs("")
		},
		"transport": func(server *hogapitest.Server, _ *hogapi.CaptureOptions) hogapi.Option {
			return exits(server, hogapi.OpCapture)
		},
		"transport, plain": func(server *hogapitest.Server, o *hogapi.CaptureOptions) hogapi.Option {
			o.Delivery.NoCompression = true
			return exits(server, hogapi.OpCapture)
		},
		"preflight": func(server *hogapitest.Server, _ *hogapi.CaptureOptions) hogapi.Option {
			return exits(server, hogapi.OpPreflight)
		},
		"logger": func(*hogapitest.Server, *hogapi.CaptureOptions) hogapi.Option { return logs("hogapi: batch") },
		"logger of the preflight": func(server *hogapitest.Server, _ *hogapi.CaptureOptions) hogapi.Option {
			server.Script(hogapi.OpPreflight, hogapitest.Status(500))
			return logs("hogapi: the project key could not be checked")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := hogapitest.New()
				server.RejectEvents(poison)
				options := hogapi.CaptureOptions{Rejects: ignoreRejects, Delivery: hogapi.DeliveryOptions{MaxInFlight: 10, Preflight: hogapi.PreflightOn}}
				option := set(server, &options)
				capture, err := server.Client(t, option).NewCapture(options)
				require.NoError(t, err)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				taken := 0
				for ; taken < 100; taken++ {
					ev := numberedEvent(taken + 1)
					if taken == 3 {
						ev.Name = "poison"
					}
					if err = capture.Enqueue(ctx, ev); err != nil {
						break
					}
				}
				var stop *hogapi.StopError
				if !assert.ErrorAs(t, err, &stop) {
					cancel()
				} else {
					assert.Equal(t, hogapi.StopHandler, stop.Reason)
				}
				assert.ErrorContains(t, capture.Flush(ctx), "Goexit")
				receipt, err := capture.Close(ctx)
				require.ErrorContains(t, err, "Goexit")
				requireBalanced(t, receipt)
				assert.EqualValues(t, taken, receipt.Read)
				if strings.HasPrefix(name, "transport") || strings.Contains(name, "preflight") || name == "logger" {
					assert.EqualValues(t, taken, receipt.Pending)
				}
				unsettled := new(hogapi.UnsettledError)
				assert.Equal(t, receipt.Pending > 0, errors.As(err, &unsettled))
				assert.EqualValues(t, receipt.Pending, unsettled.Count)
			})
		})
	}
}

// A logger that does not return from Close hides nothing: the next Close returns the receipt, and lists what is unsettled.
func TestCloseAfterALoggerThatDidNotReturn(t *testing.T) {
	for name, log := range map[string]func(){"Goexit": runtime.Goexit, "panic": func() { panic("log") }} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := hogapitest.New()
				server.Script(hogapi.OpCapture, hogapitest.SlowAnswer(0), hogapitest.SlowAnswer(0), hogapitest.Always(hogapitest.Status(503)))
				capture, err := server.Client(t, slowHooks(log)...).NewCapture(hogapi.CaptureOptions{
					Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{Lanes: 1, MaxBatchEvents: 1},
				})
				require.NoError(t, err)
				for i := range 4 {
					require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(i+1)))
				}
				time.Sleep(time.Minute)
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				returned, ended := false, make(chan struct{})
				go func() {
					defer close(ended)
					defer func() { _ = recover() }()
					_, _ = capture.Close(ctx)
					returned = true
				}()
				<-ended
				require.False(t, returned)
				receipt, err := capture.Close(ctx)
				unsettled := new(hogapi.UnsettledError)
				require.ErrorAs(t, err, &unsettled)
				assert.Equal(t, 2, unsettled.Count)
				requireBalanced(t, receipt)
				assert.EqualValues(t, 4, receipt.Read)
				assert.EqualValues(t, 2, receipt.Acknowledged)
				server.ClearScript(hogapi.OpCapture)
			})
		})
	}
}

// The same in an import: it ends, its receipt counts each event once, and the next run goes on. Where it is the caller's own goroutine that
// ends, nothing is left behind.
func TestCallerEndsTheGoroutineOfAnImport(t *testing.T) {
	const n = 40
	exits := func(op hogapi.Op) func(*hogapitest.Server, *hogapi.ImportOptions) []hogapi.Option {
		return func(server *hogapitest.Server, _ *hogapi.ImportOptions) []hogapi.Option {
			return []hogapi.Option{hogapi.WithHTTPClient(&http.Client{Transport: exiting{server.Transport(), op}})}
		}
	}
	saves := func(which int) func(*hogapitest.Server, *hogapi.ImportOptions) []hogapi.Option {
		return func(_ *hogapitest.Server, o *hogapi.ImportOptions) []hogapi.Option {
			o.Checkpoint = &exitingSaves{o.Checkpoint, which}
			return nil
		}
	}
	for name, c := range map[string]struct {
		set    func(*hogapitest.Server, *hogapi.ImportOptions) []hogapi.Option
		source hogapi.Source
		ends   bool // well
		own    bool // goroutine of the caller
	}{
		"transport":   {set: exits(hogapi.OpCapture)},
		"preflight":   {set: exits(hogapi.OpPreflight)},
		"first save":  {set: saves(1), own: true},
		"second save": {set: saves(2)},
		"third save":  {set: saves(3)},
		"OnBatch": {ends: true, set: func(*hogapitest.Server, *hogapi.ImportOptions) []hogapi.Option {
			return []hogapi.Option{hogapi.WithHooks(hogapi.Hooks{OnBatch: func(hogapi.BatchEvent) { runtime.Goexit() }})}
		}},
		"logger at the end": {own: true, set: func(_ *hogapitest.Server, o *hogapi.ImportOptions) []hogapi.Option {
			o.OnProgress = func(hogapi.Stats) {}
			o.Delivery.MaxBatchEvents = 1
			return slowHooks(runtime.Goexit)
		}},
		"OnProgress": {ends: true, set: func(_ *hogapitest.Server, o *hogapi.ImportOptions) []hogapi.Option {
			o.OnProgress = func(hogapi.Stats) { runtime.Goexit() }
			return nil
		}},
		"source": {own: true, source: hogapi.SourceFunc("numbered", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
			return func(yield func(hogapi.Event, error) bool) {
				yield(numberedEvent(1), nil)
				runtime.Goexit()
			}
		})},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := hogapitest.New()
				checkpoint, rejects := filepath.Join(t.TempDir(), "checkpoint"), filepath.Join(t.TempDir(), "rejects")
				options := hogapi.ImportOptions{
					ID: "x", Rate: hogapi.Unpaced, Checkpoint: hogapi.FileCheckpoint(checkpoint), Rejects: hogapi.RejectFile(rejects),
					Delivery: hogapi.DeliveryOptions{MaxInFlight: 10, Preflight: hogapi.PreflightOn},
				}
				var with []hogapi.Option
				if c.set != nil {
					with = c.set(server, &options)
				}
				client := server.Client(t, with...)
				if c.source == nil {
					c.source = numbered(n)
				}
				var receipt hogapi.Receipt
				err := errors.New("Import has not returned")
				ended := make(chan struct{})
				go func() {
					defer close(ended)
					receipt, err = client.Import(t.Context(), c.source, options)
				}()
				select {
				case <-ended:
				case <-time.After(time.Hour):
					require.FailNow(t, "the import hangs")
				}
				switch {
				case c.own:
					require.ErrorContains(t, err, "not returned")
				case c.ends:
					require.NoError(t, err)
					assert.EqualValues(t, n, receipt.Acknowledged)
				default:
					require.ErrorContains(t, err, "Goexit")
					requireBalanced(t, receipt)
					stored := server.Ledger().Unique()
					assert.LessOrEqual(t, receipt.Read, int64(n))
					assert.LessOrEqual(t, receipt.Acknowledged, int64(stored))
					assert.LessOrEqual(t, receipt.Read, int64(stored)+10)
				}
				synctest.Wait()
				receipt, err = server.Client(t).Import(t.Context(), numbered(n), hogapi.ImportOptions{
					ID: "x", Checkpoint: hogapi.FileCheckpoint(checkpoint), Rejects: hogapi.RejectFile(rejects),
				})
				require.NoError(t, err)
				assert.EqualValues(t, n, receipt.Acknowledged)
				assert.Empty(t, server.Ledger().Missing(numberedUUIDs(n)))
			})
		})
	}
}

// A receipt of a run whose checkpoint ended the goroutine while it was saved counts each event once.
func TestReceiptOfASaveThatEndsTheGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		checkpoint := &exitingSaves{hogapi.FileCheckpoint(filepath.Join(t.TempDir(), "checkpoint")), 2}
		receipt, err := server.Client(t).Import(t.Context(), numbered(100), hogapi.ImportOptions{
			ID: "x", Rate: hogapi.Unpaced, Checkpoint: checkpoint, Delivery: hogapi.DeliveryOptions{Lanes: 1},
		})
		var stop *hogapi.StopError
		require.ErrorAs(t, err, &stop)
		assert.Equal(t, hogapi.StopCheckpoint, stop.Reason)
		require.ErrorContains(t, err, "Goexit")
		assert.EqualValues(t, 100, receipt.Read)
		assert.EqualValues(t, 100, receipt.Acknowledged)
		assert.Zero(t, receipt.Pending)
		assert.Equal(t, digestOf(numberedUUIDs(100)), receipt.Digest)
	})
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
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		time.AfterFunc(5*time.Second, func() { server.SetDown(true) })
		time.AfterFunc(time.Minute, func() { server.SetDown(false) })
		_, err := server.Client(t).Import(t.Context(), numbered(40_000), hogapi.ImportOptions{ID: "outage"})
		require.NoError(t, err)
		requirePace(t, server)
	})
}
