package hogapi_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// This file is what a hostile user does to an import: handlers that fail, panic or block, contexts that end at bad moments,
// sources that break their contract. Nothing may be lost, counted twice, or hang.

// memoryCheckpoint keeps the state in memory. Its hooks make it fail.
type memoryCheckpoint struct {
	state  []byte
	held   bool
	saves  int
	before func(n int, state []byte) error // of the n-th save, from 1; an error keeps the old state
}

func (c *memoryCheckpoint) Open(context.Context) ([]byte, error) {
	if c.held {
		return nil, errors.New("two owners")
	}
	c.held = true
	return c.state, nil
}

func (c *memoryCheckpoint) Save(_ context.Context, state []byte) error {
	c.saves++
	if c.before != nil {
		if err := c.before(c.saves, state); err != nil {
			return err
		}
	}
	c.state = bytes.Clone(state)
	return nil
}

func (c *memoryCheckpoint) Close() error {
	c.held = false
	return nil
}

// savedReceipt is the receipt in a checkpoint. Users cannot read it; a test may.
func savedReceipt(t *testing.T, state []byte) (r hogapi.Receipt) {
	t.Helper()
	r, _, err := hogapi.SavedState(state)
	require.NoError(t, err)
	return r
}

func requireBalanced(t *testing.T, r hogapi.Receipt) {
	t.Helper()
	require.Equal(t, r.Read, r.Acknowledged+r.Rejected+r.Skipped+r.Pending, "read = acknowledged + rejected + skipped + pending")
	var acknowledged, rejected int64
	for _, d := range r.Days {
		acknowledged += d.Acknowledged
		rejected += d.Rejected
	}
	require.Equal(t, r.Acknowledged, acknowledged, "the days add up")
	require.LessOrEqual(t, rejected, r.Rejected)
}

// A checkpoint that fails at its n-th save, for every n, stops the import within one batch. The receipt stays true, and the
// next run loses nothing and says the same in the end.
func TestCheckpointFailsAtEverySave(t *testing.T) {
	const n, batch, window = 500, 25, 100
	full := errors.New("no space left on device")
	for nth := 1; ; nth++ {
		failed := false
		synctest.Test(t, func(t *testing.T) {
			server := hogapitest.New()
			client := server.Client(t)
			checkpoint := &memoryCheckpoint{before: func(save int, _ []byte) error {
				if save == nth {
					failed = true
					return full
				}
				return nil
			}}
			var atFailure int
			options := hogapi.ImportOptions{
				ID: "full", Checkpoint: checkpoint, Rate: hogapi.Unpaced,
				Delivery: hogapi.DeliveryOptions{Lanes: 2, MaxBatchEvents: batch, MaxInFlight: window},
			}
			receipt, err := client.Import(t.Context(), numbered(n), &options)
			requireBalanced(t, receipt)
			require.False(t, checkpoint.held, "the checkpoint is given back")
			if !failed {
				require.NoError(t, err)
				return
			}
			var stop *hogapi.StopError
			require.ErrorAs(t, err, &stop)
			require.Equal(t, hogapi.StopCheckpoint, stop.Reason)
			require.ErrorIs(t, err, full)
			require.EqualValues(t, server.Ledger().Unique(), receipt.Acknowledged)
			require.LessOrEqual(t, receipt.Read, int64(n))
			if checkpoint.state != nil {
				atFailure = int(savedReceipt(t, checkpoint.state).Read)
			}
			require.LessOrEqual(t, server.Ledger().Unique()-atFailure, window, "stops within the window")

			receipt, err = client.Import(t.Context(), numbered(n), &options)
			require.NoError(t, err)
			requireBalanced(t, receipt)
			require.EqualValues(t, n, receipt.Acknowledged)
			requireWhole(t, server, n)
			require.LessOrEqual(t, server.Ledger().Duplicates(), window)
		})
		if !failed {
			require.Greater(t, nth, 3, "there were saves to fail")
			return
		}
	}
}

// A reject handler that fails at its n-th call, for every n: the event is not settled, and comes again with the next run.
func TestRejectHandlerFailsAtEveryCall(t *testing.T) {
	const n, window = 400, 100
	full := errors.New("no space left on device")
	bad := func(i int) bool { return i%20 == 7 }
	for nth := 1; ; nth++ {
		failed := false
		synctest.Test(t, func(t *testing.T) {
			server := hogapitest.New()
			client := server.Client(t)
			calls := 0
			got := map[int64]int{}
			options := hogapi.ImportOptions{
				ID: "handler", MaxRejectShare: -1, Checkpoint: &memoryCheckpoint{}, Rate: hogapi.Unpaced,
				Delivery: hogapi.DeliveryOptions{Lanes: 2, MaxBatchEvents: 25, MaxInFlight: window},
				Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
					if calls++; calls == nth {
						failed = true
						return full
					}
					got[r.Position.Offset]++
					return nil
				}),
			}
			source := altered(numbered(n), func(ev *hogapi.Event) {
				if bad(int(ev.Position.Offset)) {
					ev.Name = ""
				}
			})
			receipt, err := client.Import(t.Context(), source, &options)
			requireBalanced(t, receipt)
			if failed {
				var stop *hogapi.StopError
				require.ErrorAs(t, err, &stop)
				require.Equal(t, hogapi.StopHandler, stop.Reason)
				receipt, err = client.Import(t.Context(), source, &options)
				requireBalanced(t, receipt)
			}
			require.NoError(t, err)
			require.EqualValues(t, n/20, receipt.Rejected)
			require.EqualValues(t, n-n/20, receipt.Acknowledged)
			require.Len(t, got, n/20)
			require.Equal(t, n-n/20, server.Ledger().Unique())
		})
		if !failed {
			require.Greater(t, nth, n/20)
			return
		}
	}
}

// altered changes the events of a source.
func altered(source hogapi.Source, change func(*hogapi.Event)) hogapi.Source {
	return hogapi.SourceFunc(source.Name(), func(ctx context.Context, after hogapi.Position) iter.Seq2[hogapi.Event, error] {
		return func(yield func(hogapi.Event, error) bool) {
			for ev, err := range source.Events(ctx, after) {
				change(&ev)
				if !yield(ev, err) {
					return
				}
			}
		}
	})
}

// A panic in a user's function ends no process: what decides about events stops the import, what only listens is passed over.
func TestPanicsOfTheUser(t *testing.T) {
	const n = 300
	spoil := func(ev *hogapi.Event) {
		if ev.Position.Offset == 150 {
			ev.Name = ""
		}
	}
	stops := map[hogapi.StopReason]func(o *hogapi.ImportOptions){
		hogapi.StopHandler: func(o *hogapi.ImportOptions) {
			o.Rejects = hogapi.RejectFunc(func(context.Context, hogapi.Reject) error { panic("handler") })
		},
		hogapi.StopCheckpoint: func(o *hogapi.ImportOptions) {
			o.Checkpoint = &memoryCheckpoint{before: func(int, []byte) error { panic("checkpoint") }}
		},
	}
	for reason, spoilOptions := range stops {
		synctest.Test(t, func(t *testing.T) {
			server := hogapitest.New()
			options := hogapi.ImportOptions{ID: "panics", Rate: hogapi.Unpaced, Rejects: ignoreRejects}
			spoilOptions(&options)
			receipt, err := server.Client(t).Import(t.Context(), altered(numbered(n), spoil), &options)
			var stop *hogapi.StopError
			require.ErrorAs(t, err, &stop)
			assert.Equal(t, reason, stop.Reason)
			assert.ErrorContains(t, err, "panic")
			requireBalanced(t, receipt)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		calls := 0
		receipt, err := client.Import(t.Context(), numbered(n), &hogapi.ImportOptions{
			ID: "panics", OnProgress: func(hogapi.Stats) { calls++; panic("progress") },
		})
		require.NoError(t, err)
		assert.EqualValues(t, n, receipt.Acknowledged)
		assert.Positive(t, calls)
		capture, err := client.NewCapture(&hogapi.CaptureOptions{OnSettled: func(hogapi.Position) { panic("settled") }})
		require.NoError(t, err)
		for i := range n {
			require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(i+1)))
		}
		_, err = capture.Close(t.Context())
		require.NoError(t, err)
	})
}

var ignoreRejects = hogapi.RejectFunc(func(context.Context, hogapi.Reject) error { return nil })

// A source that panics, or that continues after it was told to stop, stops the import, which says so. No goroutine stays behind, and
// the checkpoint is given back.
func TestSourceThatPanics(t *testing.T) {
	sources := map[string]func(yield func(hogapi.Event, error) bool){
		"panics": func(yield func(hogapi.Event, error) bool) {
			yield(numberedEvent(1), nil)
			panic("the source")
		},
		"ignores break": func(yield func(hogapi.Event, error) bool) {
			yield(hogapi.Event{}, errors.New("the table is gone"))
			yield(numberedEvent(1), nil)
		},
	}
	for name, events := range sources {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := hogapitest.New()
				checkpoint := &memoryCheckpoint{}
				source := hogapi.SourceFunc("s", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] { return events })
				_, err := server.Client(t).Import(t.Context(), source, &hogapi.ImportOptions{ID: "x", Checkpoint: checkpoint})
				var stop *hogapi.StopError
				require.ErrorAs(t, err, &stop)
				require.Equal(t, hogapi.StopSource, stop.Reason)
				require.False(t, checkpoint.held)
			})
		})
	}
}

// A handler may block: the window fills, reading waits, and the end of the context frees all.
func TestHandlerThatBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		allBad := altered(numbered(100_000), func(ev *hogapi.Event) { ev.DistinctID = "" })
		begin := time.Now()
		receipt, err := client.Import(ctx, allBad, &hogapi.ImportOptions{
			ID: "blocks",
			Rejects: hogapi.RejectFunc(func(ctx context.Context, _ hogapi.Reject) error {
				<-ctx.Done()
				return ctx.Err()
			}),
		})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		assert.LessOrEqual(t, time.Since(begin), time.Hour+10*time.Second)
		assert.LessOrEqual(t, receipt.Read, int64(2000))
		requireBalanced(t, receipt)
	})
}

// The end of the context is seen although the source never looks at it and never has to wait for room.
func TestCancelWithoutTheSourcesHelp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		ctx, cancel := context.WithCancel(t.Context())
		endless := hogapi.SourceFunc("endless", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
			return func(yield func(hogapi.Event, error) bool) {
				for i := 1; ; i++ {
					if i == 1000 {
						cancel()
					}
					if i == 100_000 || !yield(numberedEvent(i), nil) {
						return
					}
				}
			}
		})
		receipt, err := server.Client(t).Import(ctx, endless, &hogapi.ImportOptions{
			ID: "x", Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{MaxInFlight: 200_000},
		})
		require.ErrorIs(t, err, context.Canceled)
		assert.LessOrEqual(t, receipt.Read, int64(1000))
		requireBalanced(t, receipt)
	})
}

// An import that has stopped does not wait for a source that has nothing to give.
func TestStopReachesAWaitingSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		server.Script(ops.Capture, hogapitest.Status(401))
		source := hogapi.SourceFunc("quiet", func(ctx context.Context, _ hogapi.Position) iter.Seq2[hogapi.Event, error] {
			return func(yield func(hogapi.Event, error) bool) {
				if yield(numberedEvent(1), nil) {
					<-ctx.Done() // a queue without messages
					yield(hogapi.Event{}, ctx.Err())
				}
			}
		})
		_, err := server.Client(t).Import(t.Context(), source, &hogapi.ImportOptions{ID: "x"})
		var stop *hogapi.StopError
		require.ErrorAs(t, err, &stop)
		assert.Equal(t, hogapi.StopUnauthorized, stop.Reason)
	})
}

// Flush returns when Close is broken off beside it, whatever comes first.
func TestFlushBesideABrokenClose(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			server := hogapitest.New()
			server.SetDown(true)
			capture, err := server.Client(t).NewCapture(&hogapi.CaptureOptions{Delivery: hogapi.DeliveryOptions{Linger: time.Hour}})
			require.NoError(t, err)
			for i := range 50 {
				require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(i+1)))
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			var flushes sync.WaitGroup
			flushes.Go(func() { assert.Error(t, capture.Flush(context.Background())) })
			receipt, err := capture.Close(ended)
			flushes.Wait()
			var unsettled *hogapi.UnsettledError
			require.ErrorAs(t, err, &unsettled)
			assert.Equal(t, 50, unsettled.Count)
			assert.EqualValues(t, 50, receipt.Pending)
			assert.Error(t, capture.Flush(context.Background()), "after Close")
		})
	}
}

// A checkpoint must be readable whatever was rejected: times that no calendar has, names that are no text.
func TestResumeAfterStrangeRejects(t *testing.T) {
	strange := []func(*hogapi.Event){
		func(ev *hogapi.Event) {
			ev.Timestamp = time.Date(9999, 12, 31, 23, 59, 59, 0, time.FixedZone("", -3600))
		},
		func(ev *hogapi.Event) { ev.Timestamp = time.Date(12024, 1, 1, 0, 0, 0, 0, time.UTC) },
		func(ev *hogapi.Event) { ev.Timestamp = time.Date(-44, 3, 15, 0, 0, 0, 0, time.UTC) },
		func(ev *hogapi.Event) { ev.Timestamp = time.Time{} },
		func(ev *hogapi.Event) { ev.Name = "\xff\xfe" },
		func(ev *hogapi.Event) { ev.Name = "" },
		func(ev *hogapi.Event) { ev.DistinctID = "\xff" },
		func(ev *hogapi.Event) { ev.Properties = map[string]any{"n": func() {}} },
		func(ev *hogapi.Event) { *ev = hogapi.BadEvent(ev.Position, []byte("\xff{"), errors.New("no JSON")) },
	}
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		const n = 200
		source := altered(numbered(n), func(ev *hogapi.Event) {
			if i := int(ev.Position.Offset); i%10 == 5 {
				strange[i/10%len(strange)](ev)
			}
		})
		checkpoint := &memoryCheckpoint{}
		options := hogapi.ImportOptions{
			ID: "strange", Checkpoint: checkpoint, Rejects: ignoreRejects, MaxRejectShare: -1, Rate: hogapi.Unpaced,
			Delivery: hogapi.DeliveryOptions{MaxBatchEvents: 10, MaxInFlight: 20},
		}
		for stop := range int64(n) {
			ctx, cancel := context.WithCancel(t.Context())
			_, err := client.Import(ctx, altered(source, func(ev *hogapi.Event) {
				if ev.Position.Offset == stop {
					cancel()
				}
			}), &options)
			cancel()
			if err != nil {
				require.ErrorIs(t, err, context.Canceled)
			}
		}
		receipt, err := client.Import(t.Context(), source, &options)
		require.NoError(t, err)
		requireBalanced(t, receipt)
		assert.EqualValues(t, n/10, receipt.Rejected)
		assert.EqualValues(t, n-n/10, receipt.Acknowledged)
		assert.Equal(t, n-n/10, server.Ledger().Unique())
	})
}

// A source of another name is refused.
func TestSourceThatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		checkpoint := &memoryCheckpoint{}
		options := hogapi.ImportOptions{ID: "changed", Checkpoint: checkpoint}
		_, err := client.Import(t.Context(), numbered(500), &options)
		require.NoError(t, err)
		before := server.Ledger().Len()
		other := altered(numbered(500), func(*hogapi.Event) {})
		_, err = client.Import(t.Context(), hogapi.SourceFunc("another name", other.Events), &options)
		var input *hogapi.InputError
		require.ErrorAs(t, err, &input)
		assert.Equal(t, before, server.Ledger().Len())
	})
}

// What contents cannot be told apart any more is a reject like any other.
func TestContentIDsRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		rejected := 0
		source := altered(numbered(50), func(ev *hogapi.Event) { ev.UUID, ev.Position = uuid.Nil, hogapi.Position{} })
		receipt, err := server.Client(t).Import(t.Context(), source, &hogapi.ImportOptions{
			ID: "contents", MaxRejectShare: -1, Gate: hogapi.GateOptions{ContentIDs: 30},
			Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
				assert.Equal(t, hogapi.ReasonIdentityFull, r.Err.Reason)
				rejected++
				return nil
			}),
		})
		require.NoError(t, err)
		requireBalanced(t, receipt)
		assert.EqualValues(t, 30, receipt.Acknowledged)
		assert.EqualValues(t, 20, receipt.Rejected)
		assert.Equal(t, 20, rejected)
		assert.Zero(t, receipt.Refused)
	})
}

// Long durations are durations on 32-bit machines too.
func TestLongDurations(t *testing.T) {
	server := hogapitest.New()
	for _, d := range []time.Duration{time.Second, 3 * time.Second, 15 * time.Minute, time.Hour, 1000 * time.Hour} {
		capture, err := server.Client(t).NewCapture(&hogapi.CaptureOptions{Delivery: hogapi.DeliveryOptions{MaxBatchSpan: d, Linger: d, NoProgress: d}})
		require.NoError(t, err, "%v on %s", d, runtime.GOARCH)
		_, err = capture.Close(t.Context())
		require.NoError(t, err)
	}
}

// One capture, used by many at once in every way: each event is acknowledged once, or its Enqueue has said no.
func TestManyProducers(t *testing.T) {
	const producers, each = 8, 150
	server := hogapitest.New()
	server.Chaos(ops.Capture, 1, 0.1, hogapitest.Status(503), hogapitest.CutAfter(), hogapitest.CutBefore())
	capture, err := server.Client(t).NewCapture(&hogapi.CaptureOptions{
		Rate: hogapi.Unpaced, OnSettled: func(hogapi.Position) {},
		Delivery: hogapi.DeliveryOptions{MaxBatchEvents: 50, MaxInFlight: 300, Linger: time.Millisecond},
	})
	require.NoError(t, err)
	var taken [producers][]uuid.UUID
	var busy, others sync.WaitGroup
	done := make(chan struct{})
	for p := range producers {
		busy.Go(func() {
			for i := range each {
				ev := numberedEvent(p*each + i + 1)
				ev.DistinctID = fmt.Sprint("producer-", p)
				enqueue := func(ev hogapi.Event) error { return capture.Enqueue(t.Context(), ev) }
				if i%3 == 0 {
					enqueue = func(ev hogapi.Event) error { return capture.TryEnqueue(ev) }
				}
				err := enqueue(ev)
				if err == nil {
					taken[p] = append(taken[p], ev.UUID)
				} else if !errors.Is(err, hogapi.ErrFull) {
					t.Error(err)
				}
			}
		})
	}
	for range 4 {
		others.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				s := capture.Stats()
				if s.Read != s.Acknowledged+s.Rejected+s.Pending {
					t.Error("the counts do not add up")
				}
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
				_ = capture.Flush(ctx)
				cancel()
			}
		})
	}
	busy.Wait()
	close(done)
	receipts := make([]hogapi.Receipt, 4)
	for i := range receipts {
		others.Go(func() { receipts[i], _ = capture.Close(t.Context()) })
	}
	others.Wait()
	total := 0
	ledger := server.Ledger()
	for p := range producers {
		total += len(taken[p])
		assert.Empty(t, ledger.Missing(taken[p]))
		assert.Zero(t, ledger.Inversions(taken[p]))
	}
	assert.Equal(t, total, ledger.Unique())
	assert.Empty(t, ledger.Changed())
	for _, r := range receipts {
		assert.EqualValues(t, total, r.Acknowledged)
		requireBalanced(t, r)
	}
}

// Close in the middle of all: an event whose Enqueue returned nil is acknowledged, none else is.
func TestCloseBesideProducers(t *testing.T) {
	for round := range 20 {
		server := hogapitest.New()
		capture, err := server.Client(t).NewCapture(&hogapi.CaptureOptions{Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{MaxInFlight: 64}})
		require.NoError(t, err)
		var taken [8]int
		var busy sync.WaitGroup
		for p := range taken {
			busy.Go(func() {
				for i := range 10_000 {
					if err := capture.Enqueue(t.Context(), numberedEvent(p*10_000+i+1)); err != nil {
						assert.ErrorIs(t, err, hogapi.ErrClosed)
						return
					}
					taken[p]++
				}
			})
		}
		time.Sleep(time.Duration(round) * 200 * time.Microsecond)
		receipt, err := capture.Close(t.Context())
		require.NoError(t, err)
		busy.Wait()
		total := 0
		for _, n := range taken {
			total += n
		}
		require.EqualValues(t, total, receipt.Acknowledged)
		require.Equal(t, total, server.Ledger().Unique())
	}
}

// What a checkpoint cannot hold is refused before anything is sent: it would come back changed, and the import could never go on.
func TestPlacesThatAreNoText(t *testing.T) {
	const binary = "caf\xe9"
	server := hogapitest.New()
	client := server.Client(t)
	name := func(name string) hogapi.Source { return hogapi.SourceFunc(name, numbered(3).Events) }
	keys := altered(numbered(3), func(ev *hogapi.Event) { ev.Position.Key = binary })
	files := make([]string, 20)
	for i := range files {
		files[i] = writeFile(t, fmt.Sprint(i, ".jsonl"), "")
	}
	files[10] = binary
	for field, source := range map[string]hogapi.Source{"source.Name": name(binary), "paths": hogapi.JSONLinesFile(files...), "the key of a position": keys} {
		_, err := client.Import(t.Context(), source, &hogapi.ImportOptions{ID: "binary", Checkpoint: &memoryCheckpoint{}})
		require.ErrorContains(t, err, field)
		require.ErrorContains(t, err, "UTF-8")
	}
	require.Empty(t, server.Ledger().Requests())
}

// A time in a zone that JSON cannot write, such as a local mean time with seconds, is a time like any other.
func TestTimesInStrangeZones(t *testing.T) {
	for _, offset := range []time.Duration{25 * time.Hour, 19*time.Minute + 32*time.Second} {
		synctest.Test(t, func(t *testing.T) {
			zone := time.FixedZone("strange", int(offset.Seconds()))
			source := altered(numbered(3), func(ev *hogapi.Event) { ev.Timestamp = ev.Timestamp.In(zone) })
			checkpoint := &memoryCheckpoint{}
			receipt, err := hogapitest.New().Client(t).Import(t.Context(), source, &hogapi.ImportOptions{ID: "zones", Checkpoint: checkpoint})
			require.NoError(t, err)
			assert.EqualValues(t, 3, receipt.Acknowledged)
			saved := savedReceipt(t, checkpoint.state)
			assert.True(t, numberedEvent(1).Timestamp.Equal(saved.Oldest), "%v", saved.Oldest)
			assert.True(t, numberedEvent(3).Timestamp.Equal(saved.Newest), "%v", saved.Newest)
		})
	}
}
