package proof_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
	"github.com/hogapi/hogapi/ops"
)

// Long durations work on 32-bit machines too.
func TestLongDurations(t *testing.T) {
	server := hogapitest.New()
	for _, d := range []time.Duration{time.Second, 3 * time.Second, 15 * time.Minute, time.Hour, 1000 * time.Hour} {
		capture, err := server.Client(t).NewCapture(&hogapi.CaptureOptions{Delivery: hogapi.DeliveryOptions{GiveUpAfter: d, Tuning: hogapi.Tuning{Linger: d}}})
		require.NoError(t, err, "%v on %s", d, runtime.GOARCH)
		_, err = capture.Close(t.Context())
		require.NoError(t, err)
	}
}

// Many goroutines use one Capture at once, in every way: each event is acknowledged once, or its Enqueue returned an error.
func TestManyProducers(t *testing.T) {
	const producers, each = 8, 150
	server := hogapitest.New()
	server.Chaos(ops.Capture, 1, 0.1, hogapitest.Status(503), hogapitest.CutAfter(), hogapitest.CutBefore())
	capture, err := server.Client(t).NewCapture(&hogapi.CaptureOptions{
		Rate: hogapi.RateUnlimited, OnSettled: func(context.Context, hogapi.Position) {},
		Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBatchEvents: 50, MaxInFlight: 300, Linger: time.Millisecond}},
	})
	require.NoError(t, err)
	var taken [producers][]uuid.UUID
	var busy, others sync.WaitGroup
	done := make(chan struct{})
	for p := range producers {
		busy.Go(func() {
			for i := range each {
				ev := testevents.Event(p*each + i + 1)
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
		testevents.RequireBalanced(t, r)
	}
}

// Close runs while others enqueue: an event is acknowledged if and only if its Enqueue returned nil.
func TestCloseBesideProducers(t *testing.T) {
	for round := range 20 {
		server := hogapitest.New()
		capture, err := server.Client(t).NewCapture(&hogapi.CaptureOptions{Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxInFlight: 64}}})
		require.NoError(t, err)
		var taken [8]int
		var busy sync.WaitGroup
		for p := range taken {
			busy.Go(func() {
				for i := range 10_000 {
					if err := capture.Enqueue(t.Context(), testevents.Event(p*10_000+i+1)); err != nil {
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

// Flush returns if a concurrent Close is broken off, whichever comes first.
func TestFlushBesideABrokenClose(t *testing.T) {
	for range 50 {
		synctest.Test(t, func(t *testing.T) {
			server := hogapitest.New()
			server.SetDown(true)
			capture, err := server.Client(t).NewCapture(&hogapi.CaptureOptions{Delivery: hogapi.DeliveryOptions{Protocol: hogapi.ProtocolBatch, Tuning: hogapi.Tuning{Linger: time.Hour}}})
			require.NoError(t, err)
			for i := range 50 {
				require.NoError(t, capture.Enqueue(t.Context(), testevents.Event(i+1)))
			}
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			var flushes sync.WaitGroup
			flushes.Go(func() { assert.Error(t, capture.Flush(context.Background())) })
			receipt, err := capture.Close(ended)
			flushes.Wait()
			var unsettled *event.UnsettledError
			require.ErrorAs(t, err, &unsettled)
			assert.Equal(t, 50, unsettled.Count)
			assert.EqualValues(t, 50, receipt.Pending)
			assert.Error(t, capture.Flush(context.Background()), "after Close")
		})
	}
}
