package hogapi

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/httptry"
)

// staleServer answers one request on each connection. The next one finds the connection closed, or on its first bytes, or once
// it has been read.
type staleServer struct {
	address        string
	batches, reads atomic.Int64 // requests of each kind that have begun to arrive
	stale          atomic.Int64 // of them: those on a connection that ended under them
}

func newStaleServer(t *testing.T, body string) *staleServer {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &staleServer{address: listener.Addr().String()}
	var serving sync.WaitGroup
	serving.Go(func() {
		for n := 0; ; n++ {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				r := bufio.NewReader(conn)
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
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
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

func readRequest(r *bufio.Reader) bool {
	req, err := http.ReadRequest(r)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err == nil
}

// A connection that the server closes while it is kept alive is not an error of what may be repeated, neither of a batch of
// events nor of a read. What is sent again is a try, which the hooks see: net/http repeats nothing by itself. A batch is sent
// again at once; a read waits like any other.
func TestStaleConnectionIsTriedAgain(t *testing.T) {
	t.Parallel() // it waits before each second read
	n := longer(8, 100, 2000)
	server := newStaleServer(t, `{"status":"Ok"}`)
	transport := httptry.DefaultTransport()
	var batches, reads int64 // one lane: one at a time
	client := newFakeClient(t, transport, WithRegion(""), WithBaseURL("http://"+server.address), WithHooks(Hooks{
		OnBatch: func(BatchInfo) { batches++ },
		OnTry:   func(context.Context, TryInfo) { reads++ },
	}))
	capture, err := client.NewCapture(&CaptureOptions{Rate: Unpaced, Delivery: DeliveryOptions{Lanes: 1, NoCompression: true, NoPreflight: true, Protocol: ProtocolBatch}})
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
