package hogapi

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// newStaleServer answers one request on each connection. The next one finds the connection closed, or on its first bytes, or once
// it has been read.
func newStaleServer(t *testing.T, body string) (address string, met *atomic.Int64) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	met = new(atomic.Int64) // requests that began on a connection that was to end
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
				if !readRequest(r) {
					return
				}
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n"+body)
				switch n % 3 {
				case 1:
					if _, err := r.Peek(1); err == nil {
						met.Add(1)
					}
				case 2:
					if readRequest(r) {
						met.Add(1)
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	return listener.Addr().String(), met
}

func readRequest(r *bufio.Reader) bool {
	req, err := http.ReadRequest(r)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err == nil
}

// A connection that the server closes while it is kept alive is no error of what may be repeated: neither of a batch of events nor of
// a read, which has one try here. A batch is sent again at once, in a try of its own that is counted and reported.
func TestStaleConnectionIsInvisible(t *testing.T) {
	n := longer(600, 10_000)
	address, met := newStaleServer(t, `{"status":"Ok"}`)
	transport := defaultTransport()
	var tries int // one lane: one at a time
	start := time.Now()
	client := newFakeClient(t, transport, WithRegion(""), WithBaseURL("http://"+address),
		WithHooks(Hooks{OnBatch: func(BatchEvent) { tries++ }}), WithRetryPolicy(RetryPolicy{MaxTries: 1}))
	capture, err := client.NewCapture(CaptureOptions{Rate: Unpaced, Delivery: DeliveryOptions{Lanes: 1, NoCompression: true, NoPreflight: true}})
	require.NoError(t, err)
	for i := range n {
		ev := testEvent()
		ev.Properties["text"] = strings.Repeat("x", i%20*500)
		require.NoError(t, capture.Enqueue(t.Context(), ev))
		require.NoError(t, capture.Flush(t.Context()))
		require.NoError(t, get(t.Context(), client))
	}
	receipt, err := capture.Close(t.Context())
	require.NoError(t, err)
	transport.CloseIdleConnections()
	t.Logf("%d batches in %d tries", n, tries)
	require.EqualValues(t, n, receipt.Acknowledged)
	require.GreaterOrEqual(t, tries, n)
	require.EqualValues(t, tries-n, receipt.Resent, "each repetition is counted")
	require.Less(t, time.Since(start), time.Minute, "without a wait")
	require.Greater(t, met.Load(), int64(n/2), "requests on a connection that ended under them")
}
