package faults

import (
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

const upstream, downstream = "upstream", "downstream"

// sockets makes a client of a fake service that has a URL made by the test.
func sockets(t *testing.T, server *hogapitest.Server, url string, options ...hogapi.Option) *hogapi.Client {
	t.Helper()
	client, err := hogapi.NewClient(append([]hogapi.Option{
		hogapi.WithBaseURL(url), hogapi.WithCaptureURL(url), hogapi.WithProject(hogapitest.DefaultProject),
		hogapi.WithPersonalAPIKey(hogapitest.DefaultPersonalKey), hogapi.WithProjectAPIKey(hogapitest.DefaultProjectKey),
	}, options...)...)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.Empty(t, server.Unused())
		assert.Empty(t, server.Unknown())
		for _, b := range server.Breaches() {
			switch b.Duty {
			case hogapitest.DutyAttempt, hogapitest.DutyTimestamp: // over another connection, a try can overtake the previous one
			case hogapitest.DutyFinal: // nor does a lost answer bind anybody
			default:
				assert.True(t, b.AfterRestart, "%s", b)
			}
		}
	})
	return client
}

// An import over toxic lines: nothing is lost or changed, and the order per person is kept.
func TestImportOverToxicLines(t *testing.T) {
	n := sized(2000, 10_000, 50_000)
	type attributes = map[string]int
	const unbroken = 2 // connections: one for each permit
	for name, tt := range map[string]struct {
		toxics      []toxic
		patience    time.Duration // of one try
		connections int           // the least number, if the line breaks connections
	}{
		"latency": {[]toxic{
			{"latency", upstream, 1, attributes{"latency": 30, "jitter": 25}}, {"latency", downstream, 1, attributes{"latency": 30, "jitter": 25}},
		}, time.Minute, unbroken},
		"bandwidth": {[]toxic{
			{"bandwidth", upstream, 1, attributes{"rate": 100}}, {"bandwidth", downstream, 1, attributes{"rate": 5}},
		}, time.Minute, unbroken},
		"a byte at a time": {[]toxic{{"slicer", downstream, 1, attributes{"average_size": 1, "delay": 20}}}, time.Minute, unbroken},
		"slow close": {[]toxic{
			{"slow_close", downstream, 1, attributes{"delay": 200}}, {"limit_data", upstream, 1, attributes{"bytes": 8000}},
		}, time.Minute, 10},
		"requests are cut": {[]toxic{{"limit_data", upstream, 1, attributes{"bytes": 8000}}}, time.Minute, 10},
		"answers are cut":  {[]toxic{{"limit_data", downstream, 1, attributes{"bytes": 250}}}, time.Minute, 10},
		"reset": {[]toxic{
			{"reset_peer", downstream, 0.5, attributes{"timeout": 2}}, {"limit_data", upstream, 1, attributes{"bytes": 12_000}},
		}, time.Minute, 6},
		"silence, then an end": {[]toxic{
			{"timeout", downstream, 0.5, attributes{"timeout": 100}}, {"limit_data", upstream, 1, attributes{"bytes": 12_000}},
		}, time.Minute, 6},
		"silence": {[]toxic{
			{"timeout", upstream, 0.3, attributes{"timeout": 0}}, {"limit_data", upstream, 1, attributes{"bytes": 12_000}},
		}, time.Second, 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := hogapitest.New()
			server := httptest.NewUnstartedServer(fake)
			var connections atomic.Int64
			server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					connections.Add(1)
				}
			}
			server.Start()
			t.Cleanup(func() {
				server.CloseClientConnections()
				server.Close()
			})
			line := newLine(t, server.URL)
			for _, x := range tt.toxics {
				line.add(x)
			}
			receipt, err := sockets(t, fake, line.url(), hogapi.WithTryTimeout(tt.patience)).Import(t.Context(), numbered(n), &hogapi.ImportOptions{
				ID: "toxic", Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBatchEvents: 50}},
			})
			require.NoError(t, err)
			requireWhole(t, fake, n, receipt)
			if tt.connections == unbroken {
				require.LessOrEqual(t, connections.Load(), int64(16), "lanes, and dials that were not needed")
				require.Zero(t, receipt.Resent)
			}
			require.GreaterOrEqual(t, connections.Load(), int64(tt.connections))
			t.Logf("%d connections, %d events sent again, %d stored twice", connections.Load(), receipt.Resent, fake.Ledger().Duplicates())
		})
	}
}
