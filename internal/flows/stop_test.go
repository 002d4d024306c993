package flows_test

import (
	"context"
	"errors"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
)

// A function of the caller that hangs does not keep Close or Import from returning a moment after their context has
// ended: with an error that names it, and with each open event. A later result of the function is ignored. On a real
// clock.
func TestFunctionsThatHang(t *testing.T) {
	t.Parallel()
	const n = 20
	events := testevents.Source(n)
	type world struct {
		hang   func()          // until the test ends
		ctx    context.Context //nolint:containedctx // of the call
		client func(...hogapi.Option) *hogapi.Client
	}
	capture := func(t *testing.T, w world, o hogapi.CaptureOptions, options ...hogapi.Option) (hogapi.Receipt, error) {
		o.Rate = hogapi.RateUnlimited
		c, err := w.client(options...).NewCapture(&o)
		require.NoError(t, err)
		for i := range n {
			ev := testevents.Event(i)
			ev.Position = hogapi.Position{Key: "q", Offset: int64(i + 1)}
			require.NoError(t, c.Enqueue(t.Context(), ev))
		}
		return c.Close(w.ctx)
	}
	imports := func(w world, o history.Options, options ...hogapi.Option) (hogapi.Receipt, error) {
		o.ID, o.Rate, o.MaxRejectShare, o.Grace = "hangs", hogapi.RateUnlimited, -1, 100*time.Millisecond
		return history.Import(w.ctx, w.client(options...), events, &o)
	}
	for name, tt := range map[string]struct {
		run  func(t *testing.T, w world) (hogapi.Receipt, error)
		open int
		poor bool // every event is refused by the service
	}{
		"CaptureOptions.OnSettled": {func(t *testing.T, w world) (hogapi.Receipt, error) {
			return capture(t, w, hogapi.CaptureOptions{OnSettled: func(context.Context, hogapi.Position) { w.hang() }})
		}, 0, false},
		"the reject handler": {func(t *testing.T, w world) (hogapi.Receipt, error) {
			return capture(t, w, hogapi.CaptureOptions{Rejects: hogapi.RejectFunc(func(context.Context, hogapi.Reject) error { w.hang(); return nil })})
		}, n, true},
		"the reject handler of an import": {func(_ *testing.T, w world) (hogapi.Receipt, error) {
			return imports(w, history.Options{Rejects: hogapi.RejectFunc(func(context.Context, hogapi.Reject) error { w.hang(); return nil })})
		}, n, true},
		"Checkpointer.Save": {func(t *testing.T, w world) (hogapi.Receipt, error) {
			return imports(w, history.Options{Checkpoint: &hangingCheckpoint{Checkpointer: checkpointOnly(t), hang: w.hang}})
		}, 0, false},
		"Options.OnProgress": {func(_ *testing.T, w world) (hogapi.Receipt, error) {
			return imports(w, history.Options{OnProgress: func(hogapi.Stats) { w.hang() }})
		}, 0, false},
		"Hooks.OnCheckpoint": {func(t *testing.T, w world) (hogapi.Receipt, error) {
			return imports(w, history.Options{Checkpoint: checkpointOnly(t)}, hogapi.WithHooks(hogapi.Hooks{OnCheckpoint: func(hogapi.CheckpointInfo) { w.hang() }}))
		}, 0, false},
		"Hooks.OnBatch": {func(t *testing.T, w world) (hogapi.Receipt, error) {
			return capture(t, w, hogapi.CaptureOptions{}, hogapi.WithHooks(hogapi.Hooks{OnBatch: func(hogapi.BatchInfo) { w.hang() }}))
		}, n, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server, released := hogapitest.New(), make(chan struct{})
			if tt.poor {
				server.Script(ops.Capture, hogapitest.Always(hogapitest.Results(func(int, hogapitest.StoredEvent) hogapitest.Result {
					return hogapitest.Result{Result: "drop", Details: "x"}
				})))
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			told := errors.New("the program has to end")
			var once sync.Once
			var ended time.Time
			w := world{ctx: ctx, client: func(o ...hogapi.Option) *hogapi.Client { return server.Client(t, o...) }}
			w.hang = func() {
				once.Do(func() { ended = time.Now(); cancel(told) })
				<-released
			}
			receipt, err := tt.run(t, w)
			took := time.Since(ended)
			close(released)
			require.ErrorIs(t, err, told)
			assert.Less(t, took, 20*time.Second)
			assert.Equal(t, hogapi.StopCanceled, stopOf(t, err).Reason)
			require.ErrorContains(t, err, name[:min(len(name), len("the reject handler"))])
			require.ErrorContains(t, err, "did not return within")
			assert.False(t, receipt.Finished && err == nil)
			if tt.open > 0 {
				unsettled := as[*event.UnsettledError](t, err)
				assert.Equal(t, tt.open, unsettled.Count)
				assert.EqualValues(t, tt.open, receipt.Pending)
			}
		})
	}
}

// hangingCheckpoint hangs when it saves that something is settled.
type hangingCheckpoint struct {
	history.Checkpointer

	saves int
	hang  func()
}

func (c *hangingCheckpoint) Save(ctx context.Context, state []byte) error {
	if c.saves++; c.saves > 2 { // the beginning, and the protocol
		c.hang()
		return errors.New("too late") // and after a late write, the folder could not be removed
	}
	return c.Checkpointer.Save(ctx, state)
}

// OnSettled has a context that ends with the context of Close.
func TestContextOfOnSettled(t *testing.T) {
	t.Parallel()
	_, client := fake(t)
	ctx, cancel := context.WithCancelCause(t.Context())
	told := errors.New("the program has to end")
	var cause error
	capture := newCapture(t, client, hogapi.CaptureOptions{Rate: hogapi.RateUnlimited, OnSettled: func(called context.Context, _ hogapi.Position) {
		assert.NoError(t, called.Err())
		cancel(told)
		<-called.Done()
		cause = context.Cause(called)
	}})
	require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(1)))
	receipt, err := capture.Close(ctx)
	require.NoError(t, err, "all is settled, and the function has returned")
	assert.EqualValues(t, 1, receipt.Acknowledged)
	require.ErrorIs(t, cause, told)
}

// An import that is cancelled lets the requests under way end and saves, so that the next run repeats little, and
// counts these events. With Grace -1 it cuts the requests off. On a real clock.
func TestGraceOfAnImport(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		grace time.Duration
		cut   bool
	}{"the default": {0, false}, "none": {-1, true}} {
		for _, protocol := range []hogapi.Protocol{hogapi.ProtocolV1, hogapi.ProtocolBatch} {
			t.Run(name+", "+string(protocol), func(t *testing.T) {
				t.Parallel()
				server := hogapitest.New()
				ctx, cancel := context.WithCancel(t.Context())
				server.Script(ops.Capture, hogapitest.Repeat(2, hogapitest.SlowAnswer(0)), hogapitest.Repeat(50, hogapitest.SlowAnswer(200*time.Millisecond)))
				options := history.Options{
					ID: "grace", Rate: hogapi.RateUnlimited, Grace: tt.grace, Checkpoint: history.CheckpointFile(filepath.Join(t.TempDir(), "state")),
					Delivery: hogapi.DeliveryOptions{Protocol: protocol, Tuning: hogapi.Tuning{MaxBatchEvents: 50, MaxInFlight: 1000, Lanes: 4}},
				}
				var once sync.Once
				options.OnProgress = func(s hogapi.Stats) {
					if s.InFlight > 500 && s.Acknowledged > 0 {
						once.Do(cancel)
					}
				}
				const n = 5000
				begin := time.Now()
				first, err := history.Import(ctx, server.Client(t), numbered(n), &options)
				assert.Equal(t, hogapi.StopCanceled, stopOf(t, err).Reason)
				require.ErrorIs(t, err, context.Canceled)
				assert.Less(t, time.Since(begin), 30*time.Second)
				assert.Zero(t, first.Resent)
				server.ClearScript(ops.Capture)
				options.OnProgress = nil
				second := imported(t, server.Client(t), numbered(n), &options)
				assert.EqualValues(t, n, second.Acknowledged)
				assert.False(t, second.ResentAtLeast)
				requireWhole(t, server, n)
				again := 0
				for _, r := range server.Ledger().Requests() {
					again += r.Events
				}
				again -= n
				assert.GreaterOrEqual(t, second.Resent, int64(again), "what went twice")
				assert.Equal(t, tt.cut, again > 1, "the last record may not be whole")
				assert.Equal(t, tt.cut, second.Resent > 1)
			})
		}
	}
}

// Where requests fail when its context ends, an import sends nothing more: the grace is for requests under way.
func TestGraceOfAnImportInAnOutage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, client := fake(t)
		server.Script(ops.Capture, hogapitest.Always(hogapitest.Status(503)))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begin, late := time.Now(), 0
		_, err := history.Import(ctx, client, numbered(100), &history.Options{ID: "outage", Grace: time.Minute})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		for _, call := range server.Calls(ops.Capture) {
			if call.At.Sub(begin) > time.Minute {
				late++
			}
		}
		assert.Zero(t, late, "requests after the end")
	})
}

// Close sends the events in a Capture at the pace of the host, not at its Rate. On a real clock.
func TestCloseDoesNotKeepThePace(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	capture := newCapture(t, server.Client(t), hogapi.CaptureOptions{Rate: 100, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxInFlight: 2000}}})
	enqueue(t, capture, 2000)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // 20 at the Rate
	defer cancel()
	receipt, err := capture.Close(ctx)
	require.NoError(t, err)
	assert.EqualValues(t, 2000, receipt.Acknowledged)
	requireWhole(t, server, 2000)
}
