package faults

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

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
					cuts = append(cuts, cut{k, -1, how}, cut{most * 2, -1, how}) // the second one gets a few requests through
					cuts = append(cuts, cut{-1, k, how}, cut{most * 2, -1, how})
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
				source := while(numbered(1<<30), func() bool { // until a connection was not cut
					n++
					return n%100 != 0 || met.Load() <= int64(len(cuts))
				})
				client := sockets(t, fake, cutter.url(), hogapi.WithHTTPClient(&http.Client{Transport: cutter.transport}))
				receipt, err := client.Import(t.Context(), source, &hogapi.ImportOptions{
					ID: "cut", Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBatchEvents: 20, MaxInFlight: 400, Linger: time.Millisecond}},
				})
				require.NoError(t, err)
				requireWhole(t, fake, n, receipt)
				assert.Positive(t, receipt.Resent)
				t.Logf("%d cuts, %d events, %d of them sent again, %d stored twice", len(cuts), n, receipt.Resent, fake.Ledger().Duplicates())
			})
		}
	}
}
