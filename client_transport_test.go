package hogapi

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/ops"
)

// newServedClient returns a client of a real server, below a path prefix that an absolute path would miss, and its transport.
func newServedClient(t testing.TB, handler http.Handler, options ...Option) (*Client, *http.Transport) {
	t.Helper()
	server := httptest.NewServer(http.StripPrefix("/below", handler))
	t.Cleanup(server.Close)
	transport := httptry.DefaultTransport()
	t.Cleanup(transport.CloseIdleConnections)
	return newFakeClient(t, transport, append([]Option{WithRegion(""), WithBaseURL(server.URL + "/below/")}, options...)...), transport
}

// countDials makes the transport count its connections.
func countDials(transport *http.Transport) *atomic.Int64 {
	var n atomic.Int64
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		n.Add(1)
		return dial(ctx, network, address)
	}
	return &n
}

// A call that ended in failure closed the idle connections of its neighbours: 1,219 new ones instead of 16.
func TestTrapT07FailingNeighbourLeavesConnectionsAlone(t *testing.T) {
	const workers = 16
	var met sync.WaitGroup // all are here at the same time once, so that each has a connection
	met.Add(workers + 1)
	type giveUp struct{}
	client, transport := newServedClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("meet") {
			met.Done()
			met.Wait()
		}
		if r.URL.Query().Has("fail") {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = io.WriteString(w, `{}`)
	}), WithHooks(Hooks{OnCall: func(ctx context.Context, r CallRecord) {
		if r.Retry != "" {
			ctx.Value(giveUp{}).(context.CancelFunc)()
		}
	}}))
	dials := countDials(transport)
	meet, fail := WithQuery(url.Values{"meet": {"1"}}), WithQuery(url.Values{"fail": {"1"}})
	neighbour := func() { // its calls end in the wait for the next try
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		assert.ErrorIs(t, get(context.WithValue(ctx, giveUp{}, cancel), client, fail), context.Canceled)
	}
	var all, good sync.WaitGroup
	stop := make(chan struct{})
	all.Go(func() {
		assert.NoError(t, get(t.Context(), client, meet))
		for {
			neighbour()
			select {
			case <-stop:
				return
			default:
			}
		}
	})
	for range workers {
		good.Go(func() {
			assert.NoError(t, get(t.Context(), client, meet))
			for range 200 {
				assert.NoError(t, get(t.Context(), client))
			}
		})
	}
	good.Wait()
	close(stop)
	all.Wait()
	t.Logf("%d connections", dials.Load())
	require.LessOrEqual(t, dials.Load(), int64(200)) // 17 on an idle machine, 27 on a busy one
}

// A client without limits of its own waits for a silent server forever.
func TestTrapT08SilentServerIsGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, s := time.Now(), newScript(hangs)
		err := get(t.Context(), newFakeClient(t, s))
		var timeout net.Error
		require.ErrorAs(t, err, &timeout)
		require.True(t, timeout.Timeout())
		require.NotErrorIs(t, err, context.DeadlineExceeded, "the caller set none")
		require.EqualValues(t, 4, s.tries.Load())
		require.Less(t, time.Since(start), 4*httptry.DefaultAPI+3*30*time.Second)
	})
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		require.ErrorIs(t, create(t.Context(), newFakeClient(t, newScript(hangs), WithTryTimeout(2*time.Second))), httptry.ErrTimeout)
		require.Equal(t, 2*time.Second, time.Since(start))
	})
}

// trickle is a body that gives a byte at a time until its request ends.
type trickle struct {
	ctx    context.Context //nolint:containedctx // of the request it belongs to
	closed *atomic.Int64
}

func (b trickle) Read(p []byte) (int, error) {
	select {
	case <-b.ctx.Done():
		return 0, context.Cause(b.ctx)
	case <-time.After(50 * time.Millisecond):
		p[0] = 'x'
		return 1, nil
	}
}

func (b trickle) Close() error {
	b.closed.Add(1)
	return nil
}

// Draining an error's body takes at most a second, even if the body trickles below the limit of bytes.
func TestTrapT09TrickledErrorBodyCostsASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var closed atomic.Int64
		start, s := time.Now(), newScript(func(r *http.Request) (*http.Response, error) {
			resp := answer(r, 503, "", "Retry-After", "1")
			resp.ContentLength, resp.Body = -1, trickle{r.Context(), &closed}
			return resp, nil
		})
		err := get(t.Context(), newFakeClient(t, s))
		api := as[*APIError](t, err)
		require.Equal(t, 503, api.StatusCode)
		require.InDelta(t, 4*time.Second+3*time.Second, time.Since(start), float64(100*time.Millisecond), "4 bodies and 3 waits of a second")
		require.EqualValues(t, 4, closed.Load())
	})
}

// With a handler of one's own for errors the last body stays open, and its connection with it.
func TestTrapT11EveryBodyIsClosed(t *testing.T) {
	var opened, closed atomic.Int64
	status := 0
	client := newFakeClient(t, roundTrip(func(r *http.Request) (*http.Response, error) {
		opened.Add(1)
		resp := answer(r, status, strings.Repeat("x", 100_000))
		resp.Body = countedClose{resp.Body, &closed}
		return resp, nil
	}), WithRetryPolicy(RetryPolicy{MaxTries: 1}))
	for status = range 600 {
		if status >= 200 {
			_ = get(t.Context(), client)
		}
	}
	require.EqualValues(t, 400, opened.Load())
	require.Equal(t, opened.Load(), closed.Load())
}

type countedClose struct {
	io.ReadCloser
	n *atomic.Int64
}

func (c countedClose) Close() error {
	c.n.Add(1)
	return c.ReadCloser.Close()
}

// cutBody answers with the first half of the body, then an unexpected end.
func cutBody(status int, body string) step {
	return func(r *http.Request) (*http.Response, error) {
		resp := answer(r, status, body)
		resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(body[:len(body)/2]), iotest.ErrReader(io.ErrUnexpectedEOF)))
		return resp, nil
	}
}

// An answer that broke off was handed over as a success.
func TestTrapT13AnswerThatBreaksOffIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(cutBody(200, `{"count":7,"results":[]}`), answers(200, `{"count":7}`))
		var out struct{ Count int }
		require.NoError(t, newFakeClient(t, s).Do(t.Context(), Request{Method: "GET", Path: "/x/"}, &out))
		require.Equal(t, 7, out.Count)
		require.EqualValues(t, 2, s.tries.Load())
	})
	s := newScript(cutBody(201, `{"id":"x"}`))
	r := endpoint(ops.BatchExportsCreate)
	err := newFakeClient(t, s).call(t.Context(), r, new(struct{ ID string }))
	require.ErrorIs(t, err, ErrOutcomeUnknown)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	require.EqualValues(t, 1, s.tries.Load())
}

// A timeout of the outer client spanned all tries, so that a try that timed out was never repeated.
func TestTrapT15TimeoutOfTheUsersClientIsForOneTry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newScript(hangs, answers(503, "", "Retry-After", "2"), func(r *http.Request) (*http.Response, error) {
			time.Sleep(200 * time.Millisecond)
			return answer(r, 200, `{}`), nil
		})
		own := &http.Client{Transport: s, Timeout: 300 * time.Millisecond}
		require.NoError(t, get(t.Context(), newFakeClient(t, nil, WithHTTPClient(own))))
		require.EqualValues(t, 3, s.tries.Load())
		require.Equal(t, 300*time.Millisecond, own.Timeout, "the caller's client is left as it was")
	})
}

// A server that speaks nothing newer than TLS 1.1 is not spoken to.
func TestOldTLSIsRefused(t *testing.T) {
	for version, says := range map[uint16]string{tls.VersionTLS11: "protocol version", tls.VersionTLS12: "certificate"} {
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = log.New(io.Discard, "", 0)
		server.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: version}
		server.StartTLS()
		client := newFakeClient(t, httptry.DefaultTransport(), WithRegion(""), WithBaseURL(server.URL), WithRetryPolicy(RetryPolicy{MaxTries: 1}))
		err := create(t.Context(), client)
		require.ErrorContains(t, err, says)
		require.NotErrorIs(t, err, ErrOutcomeUnknown, "nothing but the handshake was sent")
		server.Close()
	}
}

// Cancelled and failed calls leave no goroutine and no descriptor behind.
func TestNothingLeaks(t *testing.T) {
	n := atomic.Int64{}
	client, transport := newServedClient(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch n.Add(1) % 4 {
		case 0:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, strings.Repeat("x", 200_000)) // more than is kept
		case 1:
			<-r.Context().Done()
		case 2:
			panic(http.ErrAbortHandler)
		case 3:
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"cut":`)
		}
	}), WithRetryPolicy(RetryPolicy{MaxTries: 1}))
	fail := func() {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		var out any
		require.Error(t, client.Do(ctx, Request{Method: "POST", Path: "/x/"}, &out))
	}
	fail()
	transport.CloseIdleConnections()
	before := openFiles(t)
	for range longer(300, 2000, 10_000) {
		fail()
	}
	transport.CloseIdleConnections()
	require.Eventually(t, func() bool { return openFiles(t) <= before }, 5*time.Second, 10*time.Millisecond)
	// goroutines: goleak, after all tests
}

// openFiles counts this process's descriptors.
func openFiles(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no list of open files on this system")
	}
	return len(entries)
}

// staleServer answers one request on each connection. The next request finds it closed, or closes it.
type staleServer struct {
	address        string
	batches, reads atomic.Int64 // requests of each kind that have begun to arrive
	stale          atomic.Int64 // of them: requests on a connection that ended under them
}

func newStaleServer(t *testing.T, body string) *staleServer {
	listener := loopback(t)
	s := &staleServer{address: listener.Addr().String()}
	var conns atomic.Int64
	serve(t, listener, func(conn net.Conn) {
		n, r := conns.Add(1)-1, bufio.NewReader(conn)
		if !s.arrives(r) || !readRequest(r) {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n"+body)
		if n%3 > 0 && s.arrives(r) {
			s.stale.Add(1)
			if n%3 == 2 {
				readRequest(r)
			}
		}
	})
	return s
}

// arrives waits for the first byte of a request and counts it.
func (s *staleServer) arrives(r *bufio.Reader) bool {
	first, err := r.Peek(1)
	switch {
	case err != nil:
		return false
	case first[0] == 'P':
		s.batches.Add(1)
	default:
		s.reads.Add(1)
	}
	return true
}

// A kept connection that ends under a batch or a read is no error: it is tried again, as a try that the hooks see.
func TestStaleConnectionIsTriedAgain(t *testing.T) {
	t.Parallel() // it waits before each second read
	n := longer(8, 100, 2000)
	server := newStaleServer(t, `{"status":"Ok"}`)
	transport := httptry.DefaultTransport()
	var batches, reads int64 // one lane: one at a time
	client := newFakeClient(t, transport, WithRegion(""), WithBaseURL("http://"+server.address), WithHooks(Hooks{
		OnBatch: func(BatchInfo) { batches++ },
		OnCall: func(_ context.Context, r CallRecord) {
			if !r.Ended {
				reads++
			}
		},
	}))
	capture, err := client.NewCapture(&CaptureOptions{Rate: RateUnlimited, Delivery: DeliveryOptions{Compression: CompressionNone, Protocol: ProtocolBatch, Tuning: Tuning{Lanes: 1, NoPreflight: true}}})
	require.NoError(t, err)
	var sending time.Duration
	for i := range n {
		ev := testEvent()
		ev.Properties["text"] = strings.Repeat("x", i%20*500)
		start := time.Now()
		require.NoError(t, capture.Enqueue(t.Context(), ev))
		require.NoError(t, capture.Flush(t.Context()))
		sending += time.Since(start)
		require.NoError(t, get(t.Context(), client))
	}
	receipt, err := capture.Close(t.Context())
	require.NoError(t, err)
	transport.CloseIdleConnections()
	t.Logf("%d batches in %d tries, %d on the wire, %v; as many reads in %d, %d", n, batches, server.batches.Load(), sending, reads, server.reads.Load())
	require.EqualValues(t, n, receipt.Acknowledged)
	require.Greater(t, server.stale.Load(), int64(n/2), "requests on a connection that ended under them")
	require.Greater(t, batches, int64(n))
	require.LessOrEqual(t, server.batches.Load(), batches, "each request on the wire is a try")
	require.EqualValues(t, batches-int64(n), receipt.Resent, "each repetition is counted")
	require.Less(t, sending, time.Duration(n)*500*time.Millisecond, "without a wait")
}
