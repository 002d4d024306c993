package hogapi_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// The events of one person share a lane, which sends one request at a time. The pace is kept all the same where answers take long,
// and not exceeded, by either protocol.
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
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				n := 30 * c.rate
				if c.latency == time.Second {
					n *= 2 // it takes a while to find out how many requests the pace needs
				}
				server := hogapitest.New(hogapitest.WithCompactLedger())
				server.Script(ops.Capture, hogapitest.Always(hogapitest.SlowAnswer(c.latency)))
				source := altered(numbered(n), func(ev *hogapi.Event) { ev.DistinctID = "everybody" })
				begin := time.Now()
				receipt, err := server.Client(t).Import(t.Context(), source, &hogapi.ImportOptions{
					ID: "busy", Rate: c.rate, Delivery: hogapi.DeliveryOptions{Protocol: c.protocol},
				})
				require.NoError(t, err)
				assert.Equal(t, c.protocol, receipt.Protocol)
				assert.EqualValues(t, n, receipt.Acknowledged)
				rate := float64(n) / time.Since(begin).Seconds()
				t.Logf("%.0f events a second", rate)
				assert.GreaterOrEqual(t, rate, c.least*float64(c.rate))
				assert.LessOrEqual(t, rate, 1.05*float64(c.rate))
			})
		})
	}
}

// What a Capture holds is two seconds of its rate, so Close does not take long where the rate is low.
func TestCloseAtALowRate(t *testing.T) {
	for rate, most := range map[int]int{1: 10, 10: 20, 100: 200, 500: 1000, 0: 2000} {
		synctest.Test(t, func(t *testing.T) {
			server := hogapitest.New()
			capture, err := server.Client(t).NewCapture(&hogapi.CaptureOptions{Rate: rate, Delivery: hogapi.DeliveryOptions{Protocol: hogapi.ProtocolBatch}})
			require.NoError(t, err)
			n := 0
			for ; capture.TryEnqueue(numberedEvent(n+1)) == nil; n++ {
				require.Less(t, n, 100_000)
			}
			assert.InDelta(t, most, n, float64(most)/7, "the first batch may have left already")
			begin := time.Now()
			receipt, err := capture.Close(t.Context())
			require.NoError(t, err)
			assert.EqualValues(t, n, receipt.Acknowledged)
			took := 3 * time.Second
			if rate == 1 {
				took = 11 * time.Second // ten events are held at least
			}
			assert.LessOrEqual(t, time.Since(begin), took)
		})
	}
}
