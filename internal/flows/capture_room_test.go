package flows_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"
	"strings"
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
	"github.com/hogapi/hogapi/ops"
)

// The buffer blocks and never drops; TryEnqueue says that it is full: by default at 2,000 events in flight.
func TestBackPressure(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		options hogapi.CaptureOptions
		most    int
	}{
		"the default":          {hogapi.CaptureOptions{}, 2000},
		"the default, unpaced": {hogapi.CaptureOptions{Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBytes: 32 << 20}}}, 32_768}, // not full by bytes first
		"as it is set":         {hogapi.CaptureOptions{Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxInFlight: 50}}}, 50},
		"as it is set, paced":  {hogapi.CaptureOptions{Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxInFlight: 2500}}}, 2500},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { testBackPressure(t, test.options, test.most) })
		})
	}
}

func testBackPressure(t *testing.T, options hogapi.CaptureOptions, most int) {
	server, client := fake(t)
	server.Script(ops.Capture, hogapitest.Always(hogapitest.Slow(40*time.Second)))
	options.Delivery.Protocol = hogapi.ProtocolBatch
	capture := newCapture(t, client, options)
	for i := range most {
		require.NoError(t, capture.TryEnqueue(numberedEvent(i+1)))
	}
	next := numberedEvent(most + 1)
	require.ErrorIs(t, capture.TryEnqueue(next), hogapi.ErrFull)
	assert.Equal(t, most, capture.Stats().InFlight)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	require.ErrorIs(t, capture.Enqueue(ctx, next), context.DeadlineExceeded)
	begin := time.Now()
	require.NoError(t, capture.Enqueue(t.Context(), next))
	assert.Greater(t, time.Since(begin), 30*time.Second)
	receipt := closed(t, capture)
	assert.EqualValues(t, most+1, receipt.Acknowledged)
	requireWhole(t, server, most+1)
}

// A Capture holds and counts a whole batch until its last event is settled. Rejects and compressed bodies come on top.
func TestMemoryWhileBatchesAreTakenApart(t *testing.T) {
	measuresMemory(t)
	t.Parallel()
	const most, maxBatch = 8 << 20, 4 << 20
	const n = 400
	for name, plain := range map[string]bool{"gzip": false, "plain": true} {
		t.Run(name, bubble(func(t *testing.T) {
			server := hogapitest.New()
			server.Script(ops.Capture, slices.Repeat([]hogapitest.Fault{hogapitest.Slow(time.Minute)}, 8)...) // all lanes are full by then
			server.Chaos(ops.Capture, 1, 1, hogapitest.Slow(20*time.Millisecond))
			refuseEvents(t, server, every(20))
			var rejects []hogapi.Reject
			capture := newCapture(t, server.Client(t), hogapi.CaptureOptions{
				Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Compression: map[bool]hogapi.Compression{true: hogapi.CompressionNone}[plain], Tuning: hogapi.Tuning{MaxBytes: most, MaxBatchBytes: maxBatch}},
				Rejects: keepRejects(&rejects),
			})
			counted := 0
			ctx, cancel := context.WithCancel(t.Context())
			var watching sync.WaitGroup
			watching.Go(func() {
				for ctx.Err() == nil {
					time.Sleep(10 * time.Millisecond)
					synctest.Wait()
					counted = max(counted, capture.Stats().Bytes)
				}
			})
			text := strings.Repeat("a", 40<<10)
			for i := range n {
				ev := numberedEvent(i + 1)
				ev.Properties["text"] = text
				require.NoError(t, capture.Enqueue(t.Context(), ev))
			}
			receipt := closed(t, capture)
			cancel()
			watching.Wait()
			assert.EqualValues(t, n-n/20, receipt.Acknowledged)
			assert.Len(t, rejects, n/20)
			t.Logf("%.1f MiB counted", float64(counted)/(1<<20))
			assert.Greater(t, counted, most/2)
			assert.LessOrEqual(t, counted, most+maxBatch)
			assert.Zero(t, capture.Stats().Bytes)
		}))
	}
}

// unzipped is a request's body without compression.
func unzipped(body []byte) ([]byte, error) {
	if !bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		return body, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// measuresMemory skips a test of sizes where the race detector makes every size meaningless. Other tests run the same code.
func measuresMemory(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("memory is measured without the race detector")
	}
}

// The events of one person share a lane, which keeps the pace where answers take long, by either protocol.
func TestOneBusyPersonKeepsThePace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rate     int
		latency  time.Duration
		least    float64 // of the rate
		protocol hogapi.Protocol
	}{
		"1 s":              {1000, time.Second, 0.9, hogapi.ProtocolV1},
		"1 s, /batch/":     {1000, time.Second, 0.9, hogapi.ProtocolBatch},
		"1 s, rate 100":    {100, time.Second, 0.9, hogapi.ProtocolV1},
		"300 ms":           {1000, 300 * time.Millisecond, 0.95, hogapi.ProtocolV1},
		"at once":          {1000, 0, 0.95, hogapi.ProtocolV1},
		"at once, /batch/": {1000, 0, 0.95, hogapi.ProtocolBatch},
	} {
		t.Run(name, parallelBubble(func(t *testing.T) {
			n := 30 * c.rate
			if c.latency == time.Second {
				n *= 2 // it takes a while to find out how many requests the pace needs
			}
			server := hogapitest.New(hogapitest.WithCompactLedger())
			server.Script(ops.Capture, hogapitest.Always(hogapitest.SlowAnswer(c.latency)))
			source := altered(numbered(n), func(ev *hogapi.Event) { ev.DistinctID = "everybody" })
			begin := time.Now()
			receipt := imported(t, server.Client(t), source, &history.Options{
				ID: "busy", Rate: c.rate, Delivery: hogapi.DeliveryOptions{Protocol: c.protocol},
			})
			assert.Equal(t, c.protocol, receipt.Protocol)
			assert.EqualValues(t, n, receipt.Acknowledged)
			rate := float64(n) / time.Since(begin).Seconds()
			t.Logf("%.0f events a second", rate)
			assert.GreaterOrEqual(t, rate, c.least*float64(c.rate))
			assert.LessOrEqual(t, rate, 1.05*float64(c.rate))
		}))
	}
}

// A Capture holds two seconds of its rate, so Close does not take long at a low rate.
func TestCloseAtALowRate(t *testing.T) {
	for rate, most := range map[int]int{1: 10, 10: 20, 100: 200, 500: 1000, 0: 2000} {
		synctest.Test(t, func(t *testing.T) {
			server := hogapitest.New()
			capture := newCapture(t, server.Client(t), hogapi.CaptureOptions{Rate: rate, Delivery: hogapi.DeliveryOptions{Protocol: hogapi.ProtocolBatch}})
			n := 0
			for ; capture.TryEnqueue(numberedEvent(n+1)) == nil; n++ {
				require.Less(t, n, 100_000)
			}
			assert.InDelta(t, most, n, float64(most)/7, "the first batch may have left already")
			begin := time.Now()
			receipt := closed(t, capture)
			assert.EqualValues(t, n, receipt.Acknowledged)
			took := 3 * time.Second
			if rate == 1 {
				took = 11 * time.Second // ten events are held at least
			}
			assert.LessOrEqual(t, time.Since(begin), took)
		})
	}
}

// Slow answers make batches larger, but never larger than the limit of the caller, paced or not.
func TestMaxBatchEventsHoldsWithoutAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := hogapitest.New()
		server.Script(ops.Capture, hogapitest.Always(hogapitest.SlowAnswer(time.Second)))
		imported(t, server.Client(t), numbered(8_000), &history.Options{
			ID: "limited", Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 3, MaxBatchEvents: 100}},
		})
		largest := 0
		for _, r := range server.Ledger().Requests() {
			largest = max(largest, r.Events)
		}
		assert.Equal(t, 100, largest)
	})
}

// places collects the positions that OnSettled receives.
type places struct {
	mu   sync.Mutex
	told []hogapi.Position
}

func (p *places) tell(_ context.Context, at hogapi.Position) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = append(p.told, at)
}

func (p *places) all() []hogapi.Position {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told
}

// offsets returns the offsets of the positions that OnSettled has received.
func (p *places) offsets() (all []int64) {
	for _, at := range p.all() {
		all = append(all, at.Offset)
	}
	return all
}

// Flush waits for the events before it and not for later ones, even if later ones are stuck in an outage.
func TestFlushWaitsForNothingLater(t *testing.T) {
	const outage = time.Minute
	for name, c := range map[string]struct {
		before, between, after []int64 // of the offsets, with a flush after each of the first two
		first, second          []int64 // that the flushes have told
	}{
		"nothing":             {before: []int64{1}, first: []int64{1}, second: []int64{1}},
		"without a position":  {[]int64{1}, []int64{0}, []int64{0}, []int64{1}, []int64{1}},
		"of another position": {[]int64{1}, []int64{2}, []int64{3}, []int64{1}, []int64{1, 2}},
		"of none at first":    {[]int64{0}, []int64{0, 2}, []int64{0, 3}, nil, []int64{2}},
	} {
		t.Run(name, bubble(func(t *testing.T) {
			server := hogapitest.New()
			server.Script(ops.Capture, hogapitest.SlowAnswer(5*time.Second))
			time.AfterFunc(time.Second, func() { server.SetDown(true) })
			time.AfterFunc(outage, func() { server.SetDown(false) })
			var settled places
			capture := newCapture(t, server.Client(t), hogapi.CaptureOptions{
				Rate: hogapi.RateUnlimited, OnSettled: settled.tell, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 1}},
			})
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
					if len(told) > 0 { // later ones may have been settled with them
						assert.GreaterOrEqual(t, settled.offsets()[len(settled.offsets())-1], told[len(told)-1])
					} else {
						assert.Empty(t, settled.offsets())
					}
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
			closed(t, capture)
		}))
	}
}

// Flush returns after OnSettled has received everything, also events settled long before or during a report.
func TestFlushReturnsWhenAllIsTold(t *testing.T) {
	for name, slow := range map[string]time.Duration{"settled before": 0, "a report under way": 20 * time.Second} {
		t.Run(name, bubble(func(t *testing.T) {
			var settled places
			capture := newCapture(t, hogapitest.New().Client(t), hogapi.CaptureOptions{Rate: hogapi.RateUnlimited, OnSettled: func(ctx context.Context, at hogapi.Position) {
				time.Sleep(slow)
				settled.tell(ctx, at)
			}})
			require.NoError(t, capture.Flush(t.Context()), "nothing to do")
			for i := range 4 {
				ev := placed(i+1, int64(i+1))
				require.NoError(t, capture.Enqueue(t.Context(), ev))
				time.Sleep(10 * time.Second)
				if i%2 == 1 {
					require.NoError(t, capture.Flush(t.Context()))
					require.NotEmpty(t, settled.all())
					assert.Equal(t, ev.Position, settled.all()[len(settled.all())-1])
				}
			}
			closed(t, capture)
			assert.IsIncreasing(t, settled.offsets(), "in order, and none twice") // some may be left out: they are settled with later ones
		}))
	}
}

// Close with a context that has ended does not fail if all events are settled.
func TestCloseOfWhatIsSettledWithAnEndedContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		capture := newCapture(t, hogapitest.New().Client(t), hogapi.CaptureOptions{Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBatchEvents: 1}}})
		enqueue(t, capture, 20)
		require.NoError(t, capture.Flush(t.Context()))
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begin := time.Now()
		receipt, err := capture.Close(ctx)
		require.NoError(t, err)
		assert.Zero(t, time.Since(begin))
		assert.EqualValues(t, 20, receipt.Acknowledged)
	})
}

// brittle is a checkpoint that fails to save if failure is set.
type brittle struct {
	history.Checkpointer

	failure error
}

func (b *brittle) Save(ctx context.Context, state []byte) error {
	if b.failure != nil {
		return b.failure
	}
	return b.Checkpointer.Save(ctx, state)
}

// A run that ends before its first event reports the counts of the runs before it.
func TestReceiptOfARunThatNeverBegan(t *testing.T) {
	folder := t.TempDir()
	client := hogapitest.New().Client(t)
	checkpoint := &brittle{Checkpointer: history.CheckpointFile(filepath.Join(folder, "checkpoint"))}
	options := history.Options{ID: "x", Rate: hogapi.RateUnlimited, Checkpoint: checkpoint, Rejects: history.RejectFile(filepath.Join(folder, "rejects"))}
	whole := imported(t, client, numbered(100), &options)
	require.EqualValues(t, 100, whole.Acknowledged)

	whole.Finished = false // of the runs below, which never begin
	checkpoint.failure = errors.New("disk full")
	receipt, err := history.Import(t.Context(), client, numbered(100), &options)
	require.ErrorIs(t, err, checkpoint.failure)
	receipt.Finished = false
	assert.Equal(t, whole, receipt)

	options.Rejects = history.RejectFile(folder)
	receipt, err = history.Import(t.Context(), client, numbered(100), &options)
	require.Error(t, err, "the reject file is a folder")
	receipt.Finished = false
	assert.Equal(t, whole, receipt)
}

// A context that ends while the last answers are awaited stops the import, unless they come in time: then all is settled.
func TestImportEndsWithItsContextAtTheLast(t *testing.T) {
	for name, c := range map[string]struct {
		answer  time.Duration
		pending int64
		grace   time.Duration
	}{"answered in time": {5 * time.Second, 0, 0}, "too late": {time.Minute, 100, 0}, "no grace": {2 * time.Second, 100, -1}} {
		t.Run(name, bubble(func(t *testing.T) {
			server := hogapitest.New()
			server.Script(ops.Capture, hogapitest.Always(hogapitest.SlowAnswer(c.answer)))
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begin := time.Now()
			receipt, err := history.Import(ctx, server.Client(t), numbered(100), &history.Options{
				ID: "x", Rate: hogapi.RateUnlimited, Grace: c.grace, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 1}},
			})
			assert.LessOrEqual(t, time.Since(begin), 6*time.Second, "the grace after the context")
			assert.Equal(t, c.pending, receipt.Pending)
			assert.EqualValues(t, 100, receipt.Acknowledged+receipt.Pending)
			if c.pending == 0 {
				require.NoError(t, err)
				return
			}
			require.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Equal(t, hogapi.StopCanceled, stopOf(t, err).Reason)
			require.ErrorAs(t, err, new(*event.UnsettledError))
		}))
	}
}

// Close accounts for every event that it was given: it lists all unsettled events, however many.
func TestCloseListsEverything(t *testing.T) {
	t.Parallel()
	for name, down := range map[string]bool{"down from the start": true, "down after some": false} {
		t.Run(name, parallelBubble(func(t *testing.T) {
			const n = 25_000
			server := hogapitest.New()
			server.SetDown(down)
			capture := newCapture(t, server.Client(t), hogapi.CaptureOptions{
				Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Protocol: hogapi.ProtocolBatch, Tuning: hogapi.Tuning{MaxBytes: 64 << 20, Linger: time.Hour}},
			})
			for i := range n {
				require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(i+1)))
				if i == 5000 && !down {
					require.NoError(t, capture.Flush(t.Context()))
					server.SetDown(true)
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			receipt, err := capture.Close(ctx)
			unsettled := as[*event.UnsettledError](t, err)
			listed := unsettledUUIDs(unsettled)
			require.Len(t, listed, unsettled.Count)
			assert.EqualValues(t, unsettled.Count, receipt.Pending)
			assert.EqualValues(t, n, receipt.Acknowledged+receipt.Pending)
			assert.Equal(t, numberedUUIDs(n)[n-len(listed):], listed, "in their order")
			assert.Equal(t, server.Ledger().Missing(numberedUUIDs(n)), listed, "each is stored or listed")
			assert.Equal(t, hogapi.Position{Offset: int64(n - len(listed) + 1)}, unsettled.First)
			assert.Equal(t, hogapi.Position{Offset: n}, unsettled.Last)
			for range unsettled.Events() {
				break // may be left early
			}
		}))
	}
}

// Close tells events that were never sent from events that the service may have.
func TestUnsettledEventsWereSentOrNot(t *testing.T) {
	t.Parallel()
	const n, batch = 30, 10
	for name, tt := range map[string]struct {
		faults    []hogapitest.Fault // of the first requests; later ones find nobody
		neverSent int
		says      string
	}{
		"refused dials":       {nil, n, "hogapi: stopped: canceled"},
		"no answer":           {[]hogapitest.Fault{hogapitest.Slow(time.Hour)}, n - batch, "hogapi: context deadline exceeded; 30 events are unsettled, from 1 to 30; 20 were never sent"},
		"the answer is lost":  {[]hogapitest.Fault{hogapitest.CutAfter()}, n - batch, "; 20 were never sent, 10 were sent and the answer is unknown; enqueue"},
		"503":                 {[]hogapitest.Fault{hogapitest.Status(503)}, n - batch, "; 20 were never sent, 10 were sent and the answer is unknown; enqueue"},
		"cut while it writes": {[]hogapitest.Fault{hogapitest.CutSending()}, n - batch, "; 20 were never sent, 10 were sent and the answer is unknown; enqueue"},
		"the first is stored": {[]hogapitest.Fault{hogapitest.Slow(1), hogapitest.CutBefore()}, n - 2*batch, "20 events are unsettled, from 11 to 30; 10 were never sent, 10 were sent"},
	} {
		t.Run(name, parallelBubble(func(t *testing.T) {
			server := hogapitest.New()
			server.Script(ops.Capture, append(tt.faults, hogapitest.Always(hogapitest.Refuse()))...)
			capture := newCapture(t, server.Client(t), hogapi.CaptureOptions{
				Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 1, MaxBatchEvents: batch, NoPreflight: true}},
			})
			enqueue(t, capture, n)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			_, err := capture.Close(ctx)
			unsettled := as[*event.UnsettledError](t, err)
			assert.Equal(t, tt.neverSent, unsettled.NeverSent)
			require.ErrorContains(t, err, tt.says)
			events := slices.Collect(unsettled.Events())
			require.Len(t, events, unsettled.Count)
			for i, ev := range events {
				assert.Equal(t, i < unsettled.Count-tt.neverSent, ev.Sent, "%d", i)
			}
			server.ClearScript(ops.Capture)
		}))
	}
}

// Close waits until all events that waited for the protocol have their lanes: it closed the lanes before.
func TestCloseWhileEventsWaitForTheProtocol(t *testing.T) {
	t.Parallel()
	const n = 300
	server := hogapitest.New()
	client := server.Client(t)
	for range 300 {
		c := newCapture(t, client, hogapi.CaptureOptions{ID: "waits"})
		enqueue(t, c, n)
		receipt, err := c.Close(t.Context())
		require.NoError(t, err)
		require.EqualValues(t, n, receipt.Acknowledged)
	}
}
