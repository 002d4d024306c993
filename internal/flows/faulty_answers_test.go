package flows_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
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
				capture := newCapture(t, client, hogapi.CaptureOptions{Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Protocol: protocol}})
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
				capture := newCapture(t, client, hogapi.CaptureOptions{Rate: hogapi.RateUnlimited, Rejects: keepRejects(&rejects), Delivery: hogapi.DeliveryOptions{Protocol: protocol, Compression: hogapi.CompressionNone}})
				enqueue(t, capture, 200)
				large := numberedEvent(201)
				large.Properties["text"] = strings.Repeat("x", largest)
				require.NoError(t, capture.Enqueue(t.Context(), large))
				receipt := closed(t, capture)
				assert.EqualValues(t, 200, receipt.Acknowledged)
				require.Len(t, rejects, 1)
				assert.Equal(t, event.ReasonAnswer413, rejects[0].Err.Reason)
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
	capture := newCapture(t, client, hogapi.CaptureOptions{Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Compression: hogapi.CompressionNone, Protocol: hogapi.ProtocolBatch, Tuning: hogapi.Tuning{Lanes: 1}}})
	for n := 1; n <= 100; n++ {
		ev := numberedEvent(n)
		ev.Properties["text"] = strings.Repeat("x", 40<<10)
		require.NoError(t, capture.Enqueue(t.Context(), ev))
	}
	assert.EqualValues(t, 100, closed(t, capture).Acknowledged)
	requireWhole(t, server, 100)
}

// requireOrder checks that the first n numbered events of a person were stored in order, and unchanged.
func requireOrder(t *testing.T, server *hogapitest.Server, n int) {
	t.Helper()
	var order []uuid.UUID
	for i := range n {
		order = append(order, numberedUUID(i+1))
	}
	assert.Zero(t, server.Ledger().Inversions(order))
	assert.Empty(t, server.Ledger().Changed())
}

// poisoned makes every request with an event of these numbers fail with 500.
func poisoned(server *hogapitest.Server, numbers ...int) {
	server.RejectEvents(func(raw json.RawMessage) int {
		for _, n := range numbers {
			if strings.Contains(string(raw), numberedUUID(n).String()) {
				return http.StatusInternalServerError
			}
		}
		return 0
	})
}

// An event with which every request fails with 500 is found by halving and goes to the reject handler as unconfirmed:
// wherever it is, in one lane or in several, also where it is alone in its batch. All other events arrive.
func TestEventThatMakesTheServiceFail(t *testing.T) {
	t.Parallel()
	const n = 3000
	for name, numbers := range map[string][]int{"first": {1}, "middle": {1234}, "last": {n}, "neighbors": {1500, 1501, 1503}, "last two": {n - 1, n}} {
		for tuning, d := range map[string]hogapi.DeliveryOptions{
			"default": {}, "one lane": {Tuning: hogapi.Tuning{Lanes: 1, MaxBatchEvents: 100}}, "/batch/": {Protocol: hogapi.ProtocolBatch},
			"alone": {Tuning: hogapi.Tuning{MaxBatchEvents: 1}}, "alone, one lane": {Tuning: hogapi.Tuning{Lanes: 1, MaxBatchEvents: 1}},
		} {
			t.Run(name+", "+tuning, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					server, client := fake(t)
					poisoned(server, numbers...)
					var rejects []hogapi.Reject
					begin := time.Now()
					receipt := imported(t, client, numbered(n), &history.Options{ID: "poison", Rate: hogapi.RateUnlimited, Rejects: keepRejects(&rejects), Delivery: d})
					assert.EqualValues(t, n-len(numbers), receipt.Acknowledged)
					assert.EqualValues(t, len(numbers), receipt.Unconfirmed)
					require.Len(t, rejects, len(numbers))
					for i, r := range rejects {
						assert.Equal(t, numberedUUID(numbers[i]), r.UUID)
						assert.Equal(t, event.ReasonUnconfirmed, r.Err.Reason)
						assert.Contains(t, r.Err.Error(), "500")
					}
					assert.Less(t, time.Since(begin), 4*time.Minute)
					requireOrder(t, server, n)
				})
			})
		}
	}
}

// Without a reject handler such an event stops the sending, and the error names it.
func TestEventThatMakesTheServiceFailStops(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server, client := fake(t)
		poisoned(server, 1234)
		_, err := history.Import(t.Context(), client, numbered(3000), &history.Options{ID: "poison", Rate: hogapi.RateUnlimited})
		assert.Equal(t, hogapi.StopRejected, stopOf(t, err).Reason)
		assert.ErrorContains(t, err, numberedEvent(1234).Position.String())
	})
}

// The same on a real clock and real sockets, with an import and a Capture. Failures that no event caused reject no
// event: a host that fails for some seconds, and one that fails at random.
func TestFailuresOfTheService(t *testing.T) {
	t.Parallel()
	const n = 3000
	for name, fails := range map[string]func(begin time.Time, body string) bool{
		"an event":  func(_ time.Time, body string) bool { return strings.Contains(body, numberedUUID(1234).String()) },
		"an outage": func(begin time.Time, _ string) bool { return time.Since(begin) < 4*time.Second },
		"at random": func(time.Time, string) bool { return rand.IntN(10) < 3 },
	} {
		for _, lanes := range []int{1, 8} {
			unconfirmed := 0
			if name == "an event" {
				unconfirmed = 1
			}
			setup := func(t *testing.T) (client *hogapi.Client, server *hogapitest.Server, requests *atomic.Int64, d hogapi.DeliveryOptions) {
				t.Helper()
				server, requests = hogapitest.New(), new(atomic.Int64)
				begin := time.Now()
				client = behind(t, server, func(w http.ResponseWriter, r *http.Request) bool {
					requests.Add(1)
					body, err := io.ReadAll(r.Body)
					assert.NoError(t, err)
					r.Body = io.NopCloser(bytes.NewReader(body))
					if !fails(begin, string(body)) {
						return false
					}
					http.Error(w, "internal error", http.StatusInternalServerError)
					return true
				})
				return client, server, requests, hogapi.DeliveryOptions{Compression: hogapi.CompressionNone, Tuning: hogapi.Tuning{Lanes: lanes, MaxBatchEvents: 100}}
			}
			for kind, send := range map[string]func(t *testing.T, client *hogapi.Client, o hogapi.CaptureOptions) hogapi.Receipt{
				"import": func(t *testing.T, client *hogapi.Client, o hogapi.CaptureOptions) hogapi.Receipt {
					return imported(t, client, numbered(n), &history.Options{ID: "poison", Rate: o.Rate, Rejects: o.Rejects, Delivery: o.Delivery})
				},
				"capture": func(t *testing.T, client *hogapi.Client, o hogapi.CaptureOptions) hogapi.Receipt {
					capture := newCapture(t, client, o)
					enqueue(t, capture, n)
					return closed(t, capture)
				},
			} {
				if testevents.Sized(true, false) && (kind == "import") != (lanes == 1) {
					continue // at night: a minute of waits
				}
				t.Run(fmt.Sprintf("%s, %d lanes, %s", name, lanes, kind), func(t *testing.T) {
					t.Parallel()
					client, server, requests, d := setup(t)
					var rejects []hogapi.Reject
					receipt := send(t, client, hogapi.CaptureOptions{Rate: hogapi.RateUnlimited, Rejects: keepRejects(&rejects), Delivery: d})
					assert.EqualValues(t, n-unconfirmed, receipt.Acknowledged)
					assert.Len(t, rejects, unconfirmed)
					assert.Equal(t, n-unconfirmed, server.Ledger().Unique())
					assert.Less(t, requests.Load(), int64(400), "no storm of halves")
					requireOrder(t, server, n)
				})
			}
		}
	}
}
