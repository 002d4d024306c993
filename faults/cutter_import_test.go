package faults

import (
	"context"
	"iter"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

// importOver imports events over the lines of a cutter, and requires that nothing is lost or changed.
func importOver(t *testing.T, fake *hogapitest.Server, c *cutter, events hogapi.Source, tuning hogapi.Tuning, options ...hogapi.Option) hogapi.Receipt {
	t.Helper()
	client, err := hogapi.NewClient(append([]hogapi.Option{
		hogapi.WithCaptureURL(c.url()), hogapi.WithProjectAPIKey(hogapitest.DefaultProjectKey), hogapi.WithHTTPClient(&http.Client{Transport: c.transport}),
	}, options...)...)
	require.NoError(t, err)
	receipt, err := client.Import(t.Context(), events, &hogapi.ImportOptions{
		ID: "cut", Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{Tuning: tuning},
	})
	require.NoError(t, err)
	testevents.RequireBalanced(t, receipt)
	require.Equal(t, receipt.Read, receipt.Acknowledged)
	testevents.RequireWhole(t, fake, int(receipt.Read))
	for _, b := range fake.Breaches() {
		switch b.Duty {
		case hogapitest.DutyAttempt, hogapitest.DutyTimestamp: // over another connection, a try can overtake the previous one
		case hogapitest.DutyFinal: // nor does a lost answer bind anybody
		default:
			assert.True(t, b.AfterRestart, "%s", b)
		}
	}
	return receipt
}

// An import over bad lines keeps the order per person, and loses nothing.
func TestImportOverBadLines(t *testing.T) {
	n := sized(2000, 10_000, 50_000)
	for name, line := range badLines(8000, 250) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := hogapitest.New()
			cutter := newCutter(t, fake, servers["HTTP 1"], line.next())
			receipt := importOver(t, fake, cutter, testevents.Source(n), hogapi.Tuning{MaxBatchEvents: 50}, hogapi.WithTryTimeout(line.patience))
			require.EqualValues(t, n, receipt.Read)
			connections := cutter.count.Load()
			if line.breaks {
				require.GreaterOrEqual(t, connections, int64(6))
			} else {
				require.LessOrEqual(t, connections, int64(16), "lanes, and dials that were not needed")
				require.Zero(t, receipt.Resent)
			}
			t.Logf("%d connections, %d events sent again, %d stored twice", connections, receipt.Resent, fake.Ledger().Duplicates())
		})
	}
}

// Every second connection of an import is cut some bytes later than the one before, from the first byte of the handshake to the last of
// requests and answers: nothing is lost or changed, and the order per person is kept.
func TestImportCutEverywhere(t *testing.T) {
	const most = 4000 // bytes of a connection's handshake and first request; the answer is a few hundred
	for protocol, start := range servers {
		for _, how := range []ending{isClosed, isReset} {
			t.Run(protocol+", "+string(how), func(t *testing.T) {
				t.Parallel()
				step := sized(401, 101, 29)
				var cuts []cut
				for k := 0; k < most; k += step {
					cuts = append(cuts, cut{up: k, down: -1, ending: how}, cut{up: most * 2, down: -1, ending: how}) // the second one gets a few requests through
					cuts = append(cuts, cut{up: -1, down: k, ending: how}, cut{up: most * 2, down: -1, ending: how})
				}
				var met atomic.Int64
				fake := hogapitest.New()
				cutter := newCutter(t, fake, start, func() cut {
					if i := met.Add(1) - 1; i < int64(len(cuts)) {
						return cuts[i]
					}
					return noCut
				})
				n := 0
				source := hogapi.SourceFunc("numbered", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
					return func(yield func(hogapi.Event, error) bool) {
						for n = 1; yield(testevents.Event(n), nil); n++ {
							if n%100 == 0 && met.Load() > int64(len(cuts)) { // a connection was not cut
								return
							}
						}
					}
				})
				receipt := importOver(t, fake, cutter, source, hogapi.Tuning{MaxBatchEvents: 20, MaxInFlight: 400, Linger: time.Millisecond})
				require.EqualValues(t, n, receipt.Read)
				assert.Positive(t, receipt.Resent)
				t.Logf("%d cuts, %d events, %d of them sent again, %d stored twice", len(cuts), n, receipt.Resent, fake.Ledger().Duplicates())
			})
		}
	}
}
