package proof_test

import (
	"context"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
	"github.com/hogapi/hogapi/reasons"
)

// This file has the tests of a hostile user: handlers that fail, panic or block, contexts that end at bad moments, sources that break
// their contract. Nothing may be lost, counted twice, or hang.

// A checkpoint that fails at its n-th save, for every n, stops the import within the window. The receipt stays true, and the next run
// loses nothing and ends with the same counts.
func TestCheckpointFailsAtEverySave(t *testing.T) {
	const n, batch, window = 500, 25, 100
	full := errors.New("no space left on device")
	for nth := 1; ; nth++ {
		failed := false
		synctest.Test(t, func(t *testing.T) {
			server := hogapitest.New()
			client := server.Client(t)
			checkpoint := &testevents.Checkpoint{Before: func(save int, _ []byte) error {
				if save == nth {
					failed = true
					return full
				}
				return nil
			}}
			var atFailure int
			options := hogapi.ImportOptions{
				ID: "full", Checkpoint: checkpoint, Rate: hogapi.Unpaced,
				Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 2, MaxBatchEvents: batch, MaxInFlight: window}},
			}
			receipt, err := client.Import(t.Context(), testevents.Source(n), &options)
			testevents.RequireBalanced(t, receipt)
			require.False(t, checkpoint.Held, "the checkpoint is given back")
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
			if checkpoint.State != nil {
				atFailure = int(testevents.SavedReceipt(t, checkpoint.State).Read)
			}
			require.LessOrEqual(t, server.Ledger().Unique()-atFailure, window, "stops within the window")

			receipt, err = client.Import(t.Context(), testevents.Source(n), &options)
			require.NoError(t, err)
			testevents.RequireBalanced(t, receipt)
			require.EqualValues(t, n, receipt.Acknowledged)
			testevents.RequireWhole(t, server, n)
			require.LessOrEqual(t, server.Ledger().Duplicates(), window)
		})
		if !failed {
			require.Greater(t, nth, 3, "there were saves to fail")
			return
		}
	}
}

// A reject handler that fails at its n-th call, for every n: the event is not settled, and the next run sends it again.
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
				ID: "handler", MaxRejectShare: -1, Checkpoint: &testevents.Checkpoint{}, Rate: hogapi.Unpaced,
				Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 2, MaxBatchEvents: 25, MaxInFlight: window}},
				Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
					if calls++; calls == nth {
						failed = true
						return full
					}
					got[r.Position.Offset]++
					return nil
				}),
			}
			source := testevents.Altered(testevents.Source(n), func(ev *hogapi.Event) {
				if bad(int(ev.Position.Offset)) {
					ev.Name = ""
				}
			})
			receipt, err := client.Import(t.Context(), source, &options)
			testevents.RequireBalanced(t, receipt)
			if failed {
				var stop *hogapi.StopError
				require.ErrorAs(t, err, &stop)
				require.Equal(t, hogapi.StopHandler, stop.Reason)
				receipt, err = client.Import(t.Context(), source, &options)
				testevents.RequireBalanced(t, receipt)
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

// A panic in a user's function never ends the process. If the function decides about events, the import stops; if it only observes, the
// import continues.
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
			o.Checkpoint = &testevents.Checkpoint{Before: func(int, []byte) error { panic("checkpoint") }}
		},
	}
	for reason, spoilOptions := range stops {
		synctest.Test(t, func(t *testing.T) {
			server := hogapitest.New()
			options := hogapi.ImportOptions{ID: "panics", Rate: hogapi.Unpaced, Rejects: testevents.IgnoreRejects}
			spoilOptions(&options)
			receipt, err := server.Client(t).Import(t.Context(), testevents.Altered(testevents.Source(n), spoil), &options)
			var stop *hogapi.StopError
			require.ErrorAs(t, err, &stop)
			assert.Equal(t, reason, stop.Reason)
			assert.ErrorContains(t, err, "panic")
			testevents.RequireBalanced(t, receipt)
		})
	}
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		calls := 0
		receipt, err := client.Import(t.Context(), testevents.Source(n), &hogapi.ImportOptions{
			ID: "panics", OnProgress: func(hogapi.Stats) { calls++; panic("progress") },
		})
		require.NoError(t, err)
		assert.EqualValues(t, n, receipt.Acknowledged)
		assert.Positive(t, calls)
		capture, err := client.NewCapture(&hogapi.CaptureOptions{OnSettled: func(hogapi.Position) { panic("settled") }})
		require.NoError(t, err)
		for i := range n {
			require.NoError(t, capture.Enqueue(t.Context(), testevents.Event(i+1)))
		}
		_, err = capture.Close(t.Context())
		require.NoError(t, err)
	})
}

// A source that panics, or that continues after it was told to stop, stops the import with an error that says so. No goroutine stays
// behind, and the checkpoint is released.
func TestSourceThatPanics(t *testing.T) {
	sources := map[string]func(yield func(hogapi.Event, error) bool){
		"panics": func(yield func(hogapi.Event, error) bool) {
			yield(testevents.Event(1), nil)
			panic("the source")
		},
		"ignores break": func(yield func(hogapi.Event, error) bool) {
			yield(hogapi.Event{}, errors.New("the table is gone"))
			yield(testevents.Event(1), nil)
		},
	}
	for name, events := range sources {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := hogapitest.New()
				checkpoint := &testevents.Checkpoint{}
				source := hogapi.SourceFunc("s", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] { return events })
				_, err := server.Client(t).Import(t.Context(), source, &hogapi.ImportOptions{ID: "x", Checkpoint: checkpoint})
				var stop *hogapi.StopError
				require.ErrorAs(t, err, &stop)
				require.Equal(t, hogapi.StopSource, stop.Reason)
				require.False(t, checkpoint.Held)
			})
		})
	}
}

// A handler may block: the window fills, reading waits, and the end of the context unblocks everything.
func TestHandlerThatBlocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		allBad := testevents.Altered(testevents.Source(100_000), func(ev *hogapi.Event) { ev.DistinctID = "" })
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
		testevents.RequireBalanced(t, receipt)
	})
}

// An import notices the end of its context even if the source never looks at it and never waits for room.
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
					if i == 100_000 || !yield(testevents.Event(i), nil) {
						return
					}
				}
			}
		})
		receipt, err := server.Client(t).Import(ctx, endless, &hogapi.ImportOptions{
			ID: "x", Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxInFlight: 200_000}},
		})
		require.ErrorIs(t, err, context.Canceled)
		assert.LessOrEqual(t, receipt.Read, int64(1000))
		testevents.RequireBalanced(t, receipt)
	})
}

// An import that has stopped does not wait for a source that has nothing to give.
func TestStopReachesAWaitingSource(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		server.Script(ops.Capture, hogapitest.Status(401))
		source := hogapi.SourceFunc("quiet", func(ctx context.Context, _ hogapi.Position) iter.Seq2[hogapi.Event, error] {
			return func(yield func(hogapi.Event, error) bool) {
				if yield(testevents.Event(1), nil) {
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

// An import refuses a checkpoint of a source with another name.
func TestSourceThatChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		client := server.Client(t)
		checkpoint := &testevents.Checkpoint{}
		options := hogapi.ImportOptions{ID: "changed", Checkpoint: checkpoint}
		_, err := client.Import(t.Context(), testevents.Source(500), &options)
		require.NoError(t, err)
		before := server.Ledger().Len()
		other := testevents.Altered(testevents.Source(500), func(*hogapi.Event) {})
		_, err = client.Import(t.Context(), hogapi.SourceFunc("another name", other.Events), &options)
		var input *hogapi.InputError
		require.ErrorAs(t, err, &input)
		assert.Equal(t, before, server.Ledger().Len())
	})
}

// After GateOptions.ContentIDs is used up, an event without uuid and position is an ordinary reject.
func TestContentIDsRunOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		rejected := 0
		source := testevents.Altered(testevents.Source(50), func(ev *hogapi.Event) { ev.UUID, ev.Position = uuid.Nil, hogapi.Position{} })
		receipt, err := server.Client(t).Import(t.Context(), source, &hogapi.ImportOptions{
			ID: "contents", MaxRejectShare: -1, Gate: hogapi.GateOptions{ContentIDs: 30},
			Rejects: hogapi.RejectFunc(func(_ context.Context, r hogapi.Reject) error {
				assert.Equal(t, reasons.IdentityFull, r.Err.Reason)
				rejected++
				return nil
			}),
		})
		require.NoError(t, err)
		testevents.RequireBalanced(t, receipt)
		assert.EqualValues(t, 30, receipt.Acknowledged)
		assert.EqualValues(t, 20, receipt.Rejected)
		assert.Equal(t, 20, rejected)
		assert.Zero(t, receipt.Refused)
	})
}
