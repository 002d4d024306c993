package hogapi_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// Close accounts for every event that it was given: what is not stored is listed, however much it is.
func TestCloseListsEverything(t *testing.T) {
	t.Parallel()
	for name, down := range map[string]bool{"down from the start": true, "down after some": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const n = 25_000
				server := hogapitest.New()
				server.SetDown(down)
				capture, err := server.Client(t).NewCapture(&hogapi.CaptureOptions{
					Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{MaxBytes: 64 << 20, Linger: time.Hour, Protocol: hogapi.ProtocolBatch},
				})
				require.NoError(t, err)
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
				var unsettled *hogapi.UnsettledError
				require.ErrorAs(t, err, &unsettled)
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
			})
		})
	}
}

// What was never sent is told apart from what the service may have.
func TestUnsettledEventsWereSentOrNot(t *testing.T) {
	t.Parallel()
	const n, batch = 30, 10
	for name, tt := range map[string]struct {
		faults    []hogapitest.Fault // of the first requests; later ones find nobody
		neverSent int
		says      string
	}{
		"refused dials":       {nil, n, "hogapi: 30 events are unsettled, from 1 to 30; none of them was sent: stopped: canceled"},
		"no answer":           {[]hogapitest.Fault{hogapitest.Slow(time.Hour)}, n - batch, "30 events are unsettled, 20 of them never sent: "},
		"the answer is lost":  {[]hogapitest.Fault{hogapitest.CutAfter()}, n - batch, "; 20 were never sent, 10 were sent and the answer is unknown: "},
		"503":                 {[]hogapitest.Fault{hogapitest.Status(503)}, n - batch, "; 20 were never sent, 10 were sent and the answer is unknown: "},
		"cut while it writes": {[]hogapitest.Fault{hogapitest.CutSending()}, n - batch, "; 20 were never sent, 10 were sent and the answer is unknown: "},
		"the first is stored": {[]hogapitest.Fault{hogapitest.Slow(1), hogapitest.CutBefore()}, n - 2*batch, "hogapi: 20 events are unsettled, from 11 to 30; 10 were never sent, 10 were sent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := hogapitest.New()
				server.Script(ops.Capture, append(tt.faults, hogapitest.Always(hogapitest.Refuse()))...)
				capture, err := server.Client(t).NewCapture(&hogapi.CaptureOptions{
					Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{Lanes: 1, MaxBatchEvents: batch, NoPreflight: true},
				})
				require.NoError(t, err)
				for i := range n {
					require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(i+1)))
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
				defer cancel()
				_, err = capture.Close(ctx)
				var unsettled *hogapi.UnsettledError
				require.ErrorAs(t, err, &unsettled)
				assert.Equal(t, tt.neverSent, unsettled.NeverSent)
				require.ErrorContains(t, err, tt.says)
				events := slices.Collect(unsettled.Events())
				require.Len(t, events, unsettled.Count)
				for i, ev := range events {
					assert.Equal(t, i < unsettled.Count-tt.neverSent, ev.Sent, "%d", i)
				}
				server.ClearScript(ops.Capture)
			})
		})
	}
}
