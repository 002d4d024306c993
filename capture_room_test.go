package hogapi_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
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
		"the default, unpaced": {hogapi.CaptureOptions{Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBytes: 32 << 20}}}, 32_768}, // not full by bytes first
		"as it is set":         {hogapi.CaptureOptions{Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxInFlight: 50}}}, 50},
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
	capture, err := client.NewCapture(&options)
	require.NoError(t, err)
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
	const most, mostBatch = 8 << 20, 4 << 20
	const n = 400
	for name, plain := range map[string]bool{"gzip": false, "plain": true} {
		t.Run(name, bubble(func(t *testing.T) {
			server := hogapitest.New()
			server.Script(ops.Capture, slices.Repeat([]hogapitest.Fault{hogapitest.Slow(time.Minute)}, 8)...) // all lanes are full by then
			server.Chaos(ops.Capture, 1, 1, hogapitest.Slow(20*time.Millisecond))
			refused := map[string]bool{}
			for i := 0; i < n; i += 20 {
				refused[numberedUUID(i+1).String()] = true
			}
			server.RejectEvents(func(raw json.RawMessage) int {
				_, rest, _ := strings.Cut(string(raw), `"uuid":"`)
				if refused[rest[:36]] {
					return http.StatusBadRequest
				}
				return 0
			})
			var rejects atomic.Int64
			capture := newCapture(t, server.Client(t), hogapi.CaptureOptions{
				Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{NoCompression: plain, Tuning: hogapi.Tuning{MaxBytes: most, MaxBatchBytes: mostBatch}},
				Rejects: hogapi.RejectFunc(func(context.Context, hogapi.Reject) error {
					rejects.Add(1)
					return nil
				}),
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
			assert.EqualValues(t, n-len(refused), receipt.Acknowledged)
			assert.EqualValues(t, len(refused), rejects.Load())
			t.Logf("%.1f MiB counted", float64(counted)/(1<<20))
			assert.Greater(t, counted, most/2)
			assert.LessOrEqual(t, counted, most+mostBatch)
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
	if hogapi.RaceDetector {
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
			receipt := imported(t, server.Client(t), source, &hogapi.ImportOptions{
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
		imported(t, server.Client(t), numbered(50_000), &hogapi.ImportOptions{
			ID: "limited", Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{Lanes: 3, MaxBatchEvents: 100}},
		})
		largest := 0
		for _, r := range server.Ledger().Requests() {
			largest = max(largest, r.Events)
		}
		assert.Equal(t, 100, largest)
	})
}
