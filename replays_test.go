package hogapi_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
)

// wireServer takes batches over sockets and counts what comes over the wire. Each connection is good for some requests; the one
// after them is read, and the connection ends without an answer.
type wireServer struct {
	net.Listener

	good int // requests of a connection that are answered

	mu       sync.Mutex
	conns    []net.Conn
	requests int
	events   []time.Time // when each came
}

func newWireServer(t *testing.T, good int) *wireServer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	s := &wireServer{Listener: listener, good: good}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, conn)
			s.mu.Unlock()
			serving.Go(func() { s.serve(conn) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		s.mu.Lock()
		for _, conn := range s.conns { // that the client keeps
			_ = conn.Close()
		}
		s.mu.Unlock()
		serving.Wait()
	})
	return s
}

func (s *wireServer) serve(conn net.Conn) {
	defer conn.Close()
	r := bufio.NewReader(conn)
	for n := 0; ; n++ {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		body, err := io.ReadAll(req.Body)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.requests++
		for range bytes.Count(body, []byte(`"uuid":`)) {
			s.events = append(s.events, time.Now())
		}
		s.mu.Unlock()
		if n >= s.good {
			return
		}
		const answer = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"status\":\"Ok\"}"
		if _, err := io.WriteString(conn, answer); err != nil {
			return
		}
	}
}

// wireCounts are what a program is told of the requests.
type wireCounts struct {
	mu             sync.Mutex
	tries, failed  int
	events, resent int64
}

func (c *wireCounts) add(e hogapi.BatchInfo) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.tries++
	c.events += int64(e.Events)
	if e.Err != nil {
		c.failed++
	}
	if e.Try > 1 {
		c.resent += int64(e.Events)
	}
}

// Requests that are sent again since the connection ended are tries like any other: the hooks, Resent and the pace see each of them,
// and what they count is what comes over the wire.
func TestRepeatedRequestsAreCounted(t *testing.T) {
	t.Parallel()
	const n, rate = 1500, 1000
	for name, good := range map[string]int{"each fourth request is cut": 3, "each ninth": 8} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := newWireServer(t, good)
			var told wireCounts
			client, err := hogapi.NewClient(
				hogapi.WithPersonalAPIKey("phx_test"), hogapi.WithProjectAPIKey("phc_test"), hogapi.WithProject("1"),
				hogapi.WithBaseURL("http://"+server.Addr().String()), hogapi.WithHooks(hogapi.Hooks{OnBatch: told.add}),
			)
			require.NoError(t, err)
			start := time.Now()
			receipt, err := client.Import(t.Context(), numbered(n), &hogapi.ImportOptions{
				ID: "wire", Rate: rate, Delivery: hogapi.DeliveryOptions{NoPreflight: true, NoCompression: true, MaxBatchEvents: 50, Protocol: hogapi.ProtocolBatch},
			})
			require.NoError(t, err)
			assert.EqualValues(t, n, receipt.Acknowledged)
			assert.Positive(t, told.failed)
			assert.Equal(t, server.requests, told.tries)
			assert.EqualValues(t, len(server.events), told.events)
			assert.EqualValues(t, len(server.events)-n, receipt.Resent)
			assert.Equal(t, told.resent, receipt.Resent)
			// A machine that is late makes it longer, never shorter.
			took := server.events[len(server.events)-1].Sub(start).Seconds()
			assert.GreaterOrEqual(t, took, float64(len(server.events)-100)/rate, "the pace, with a burst of 50, over all that came")
		})
	}
}
