package flows_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// Options that mean "never" or "no limit" outlive an outage on real sockets with the real clock, where two readings of
// the clock differ: from the first request on, after some events, and behind answers that ask to try again. The outage
// ends after several failed tries, so that each limit that is not there had its chance.
func TestNeverOnARealClock(t *testing.T) {
	t.Parallel()
	const failed = 3
	never := hogapi.DeliveryOptions{GiveUpAfter: -1}
	for name, tt := range map[string]struct {
		delivery hogapi.DeliveryOptions
		rate     int
	}{
		"GiveUpAfter":             {never, 0},
		"GiveUpAfter, by /batch/": {hogapi.DeliveryOptions{GiveUpAfter: -1, Protocol: hogapi.ProtocolBatch, Tuning: hogapi.Tuning{NoPreflight: true}}, 0},
		"GiveUpAfter, unpaced":    {never, hogapi.RateUnlimited},
		"UnreachableAfter":        {hogapi.DeliveryOptions{Tuning: hogapi.Tuning{UnreachableAfter: -1}}, 0},
		"both":                    {hogapi.DeliveryOptions{GiveUpAfter: -1, Tuning: hogapi.Tuning{UnreachableAfter: -1}}, 0},
		"UnreachableAfter alone":  {hogapi.DeliveryOptions{GiveUpAfter: -1, Tuning: hogapi.Tuning{UnreachableAfter: time.Minute}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			host := newFickleHost(t)
			var dials atomic.Int64
			transport := host.client.Transport.(*http.Transport)
			dial := transport.DialContext
			transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := dial(ctx, network, address)
				if err != nil && dials.Add(1) == failed {
					host.state.Store(reachable)
				}
				return conn, err
			}
			outage := func() {
				dials.Store(0)
				host.state.Store(refusedDial)
			}
			capture := newCapture(t, host.importing(t), hogapi.CaptureOptions{Delivery: tt.delivery, Rate: tt.rate})
			outage() // nobody listens
			enqueue(t, capture, 50)
			require.NoError(t, capture.Flush(t.Context()))
			outage() // in the middle
			for n := 51; n <= 100; n++ {
				require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(n)))
			}
			require.NoError(t, capture.Flush(t.Context()))
			host.Script(ops.Capture, hogapitest.Repeat(failed+1, hogapitest.Status(503))) // no limit of tries either
			require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(101)))
			assert.EqualValues(t, 101, closed(t, capture).Acknowledged)
			requireWhole(t, host.Server, 101)
		})
	}
}

// An import without a limit of any kind outlives answers of an outage, and an archive without a check beforehand and
// rejects without a limit do not end it.
func TestImportWithoutLimitsOnARealClock(t *testing.T) {
	t.Parallel()
	host := newFickleHost(t)
	host.Script(ops.Capture, hogapitest.Repeat(3, hogapitest.Status(503)))
	var rejects []hogapi.Reject
	source := altered(numbered(500), func(ev *hogapi.Event) {
		if ev.Position.Offset > 200 {
			ev.Name = ""
		}
	})
	receipt, err := history.Import(t.Context(), host.importing(t), source, &history.Options{
		ID: "unlimited", Rate: hogapi.RateUnlimited, MaxRejectShare: -1, VerifyArchiveBytes: -1, Rejects: keepRejects(&rejects),
		Delivery: hogapi.DeliveryOptions{GiveUpAfter: -1},
	})
	require.NoError(t, err)
	assert.EqualValues(t, 200, receipt.Acknowledged)
	assert.Len(t, rejects, 300)
}

// The waits of a call stay below the longest that the policy names, however short that is.
func TestShortWaitsOfACall(t *testing.T) {
	t.Parallel()
	host := newFickleHost(t)
	host.Script(ops.BatchExportsList, hogapitest.Repeat(3, hogapitest.Status(503)))
	var waits []time.Duration
	client := host.Server.Client(t, hogapi.WithHTTPClient(host.client), hogapi.WithBaseURL(host.url), hogapi.WithRetryPolicy(hogapi.RetryPolicy{BaseDelay: time.Millisecond, MaxDelay: time.Millisecond}),
		hogapi.WithHooks(hogapi.Hooks{OnCall: func(_ context.Context, r hogapi.CallRecord) {
			if r.Retry != "" {
				waits = append(waits, r.Wait)
			}
		}}))
	_, err := client.BatchExports.List(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, waits, 3)
	assert.LessOrEqual(t, slices.Max(waits), time.Millisecond)
}
