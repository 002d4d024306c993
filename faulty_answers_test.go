package hogapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/reasons"
)

// behind is a client of the fake behind a proxy, which may answer a request with events itself: on real sockets.
func behind(t *testing.T, server *hogapitest.Server, proxy func(w http.ResponseWriter, r *http.Request) (answered bool)) *hogapi.Client {
	t.Helper()
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isEvents := r.Method == http.MethodPost && (strings.HasPrefix(r.URL.Path, "/batch") || strings.HasPrefix(r.URL.Path, "/i/")) && r.ContentLength > 200
		if isEvents && proxy(w, r) {
			return
		}
		server.ServeHTTP(w, r)
	}))
	t.Cleanup(host.Close)
	return server.Client(t, hogapi.WithHTTPClient(host.Client()), hogapi.WithCaptureURL(host.URL))
}

// Once the host has accepted events, an answer that the service cannot have written is an outage: nothing is acknowledged by
// it, and nothing is lost. On a real clock.
func TestForeignAnswersOfAGoodHost(t *testing.T) {
	t.Parallel()
	for _, protocol := range []hogapi.Protocol{hogapi.ProtocolV1, hogapi.ProtocolBatch} {
		for name, answer := range map[string]func(w http.ResponseWriter){
			"200, empty": func(http.ResponseWriter) {},
			"204":        func(w http.ResponseWriter) { w.WriteHeader(204) },
			"200, {}":    func(w http.ResponseWriter) { _, _ = io.WriteString(w, "{}") },
			"200, page":  func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>maintenance") },
			"404, page":  func(w http.ResponseWriter) { w.WriteHeader(404); _, _ = io.WriteString(w, "<html>not here") },
			"403, page":  func(w http.ResponseWriter) { w.WriteHeader(403); _, _ = io.WriteString(w, "<html>blocked") },
			"302, page": func(w http.ResponseWriter) {
				w.Header().Set("Location", "/login")
				w.WriteHeader(302)
				_, _ = io.WriteString(w, "<html>log in")
			},
		} {
			t.Run(name+", "+string(protocol), func(t *testing.T) {
				t.Parallel()
				server := hogapitest.New()
				var requests atomic.Int64
				client := behind(t, server, func(w http.ResponseWriter, _ *http.Request) bool {
					if n := requests.Add(1); n != 2 && n != 3 {
						return false
					}
					answer(w)
					return true
				})
				capture := newCapture(t, client, hogapi.CaptureOptions{Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{Protocol: protocol}})
				enqueue(t, capture, 50)
				require.NoError(t, capture.Flush(t.Context()))
				for n := 51; n <= 100; n++ {
					require.NoError(t, capture.Enqueue(t.Context(), numberedEvent(n)))
				}
				assert.EqualValues(t, 100, closed(t, capture).Acknowledged)
				requireWhole(t, server, 100)
			})
		}
	}
}

// A proxy that takes smaller requests only gets smaller ones, whether it says 413 with a page or cuts the connection. An
// event that is too large for it alone is a reject. On a real clock.
func TestProxyThatTakesSmallRequests(t *testing.T) {
	t.Parallel()
	const largest = 8 << 10
	for name, refuse := range map[string]func(w http.ResponseWriter){
		"413": func(w http.ResponseWriter) {
			w.WriteHeader(413)
			_, _ = io.WriteString(w, "<html>413 Request Entity Too Large")
		},
	} {
		for _, protocol := range []hogapi.Protocol{hogapi.ProtocolV1, hogapi.ProtocolBatch} {
			t.Run(name+", "+string(protocol), func(t *testing.T) {
				t.Parallel()
				server := hogapitest.New()
				client := behind(t, server, func(w http.ResponseWriter, r *http.Request) bool {
					if r.ContentLength <= largest {
						return false
					}
					refuse(w)
					return true
				})
				var rejects []hogapi.Reject
				capture := newCapture(t, client, hogapi.CaptureOptions{Rate: hogapi.Unpaced, Rejects: keepRejects(&rejects), Delivery: hogapi.DeliveryOptions{Protocol: protocol, Compression: hogapi.CompressionNone}})
				enqueue(t, capture, 200)
				large := numberedEvent(201)
				large.Properties["text"] = strings.Repeat("x", largest)
				require.NoError(t, capture.Enqueue(t.Context(), large))
				receipt := closed(t, capture)
				assert.EqualValues(t, 200, receipt.Acknowledged)
				require.Len(t, rejects, 1)
				assert.Equal(t, reasons.Answer413, rejects[0].Err.Reason)
				assert.Equal(t, numberedUUID(201), rejects[0].UUID)
			})
		}
	}
}

// A connection that breaks under a large body, several times, is tried with smaller ones.
func TestConnectionsThatBreakUnderALargeBody(t *testing.T) {
	t.Parallel()
	server := hogapitest.New()
	client := behind(t, server, func(w http.ResponseWriter, r *http.Request) bool {
		if r.ContentLength <= 1<<20 {
			return false
		}
		_, _ = io.CopyN(io.Discard, r.Body, 1<<20)
		conn, _, err := http.NewResponseController(w).Hijack()
		if assert.NoError(t, err) {
			_ = conn.Close()
		}
		return true
	})
	capture := newCapture(t, client, hogapi.CaptureOptions{Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{Compression: hogapi.CompressionNone, Protocol: hogapi.ProtocolBatch, Tuning: hogapi.Tuning{Lanes: 1}}})
	for n := 1; n <= 100; n++ {
		ev := numberedEvent(n)
		ev.Properties["text"] = strings.Repeat("x", 40<<10)
		require.NoError(t, capture.Enqueue(t.Context(), ev))
	}
	assert.EqualValues(t, 100, closed(t, capture).Acknowledged)
	requireWhole(t, server, 100)
}

// An event with which every request fails does not keep the requests of the other lanes from being tried.
func TestEventThatMakesTheServiceFail(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, client := fake(t)
		const n, poison = 3000, 1234
		server.RejectEvents(func(raw json.RawMessage) int {
			if strings.Contains(string(raw), numberedUUID(poison).String()) {
				return http.StatusInternalServerError
			}
			return 0
		})
		receipt, err := client.Import(t.Context(), numbered(n), &hogapi.ImportOptions{ID: "poison", Rate: hogapi.Unpaced, Delivery: hogapi.DeliveryOptions{Tuning: hogapi.Tuning{MaxBatchEvents: 100}}})
		assert.Equal(t, hogapi.StopNoProgress, stopOf(t, err).Reason)
		assert.Greater(t, receipt.Acknowledged, int64(n*3/4), "only its own lane waits")
	})
}
