package hogapi_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
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

// lateReader is a transport that answers when it has read a piece of a request's body, and reads the rest much later, as
// transports may: http.RoundTripper allows it until the body is closed.
type lateReader struct {
	status func(request int) int

	mu       sync.Mutex
	statuses []int
	bodies   [][]byte
	reading  sync.WaitGroup
}

func (l *lateReader) RoundTrip(r *http.Request) (*http.Response, error) {
	piece := make([]byte, 16)
	n, err := r.Body.Read(piece)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	number := len(l.bodies)
	l.statuses, l.bodies = append(l.statuses, l.status(number)), append(l.bodies, nil)
	l.reading.Go(func() {
		time.Sleep(5 * time.Second) // virtual
		rest, _ := io.ReadAll(r.Body)
		_ = r.Body.Close()
		l.mu.Lock()
		defer l.mu.Unlock()
		l.bodies[number] = append(piece[:n], rest...)
	})
	return &http.Response{
		StatusCode: l.statuses[number], ProtoMajor: 1, ProtoMinor: 1, Header: http.Header{}, Request: r,
		Body: io.NopCloser(strings.NewReader(`{"status":"Ok"}`)),
	}, nil
}

// unzipped is a request's body without compression.
func unzipped(body []byte) ([]byte, error) {
	if !bytes.HasPrefix(body, []byte{0x1f, 0x8b}) {
		return body, nil
	}
	z, err := gzip.NewReader(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// uuids are those of a request's events.
func (l *lateReader) uuids(t *testing.T, number int) (ids []uuid.UUID) {
	t.Helper()
	plain, err := unzipped(l.bodies[number])
	require.NoError(t, err, "request %d", number)
	var sent struct{ Batch []struct{ UUID uuid.UUID } }
	require.NoError(t, json.Unmarshal(plain, &sent), "request %d", number)
	for _, e := range sent.Batch {
		ids = append(ids, e.UUID)
	}
	return ids
}

// A body that is read after its answer is still the request's own, whatever has been sent since: as a whole, in halves, with and
// without compression.
func TestLateReaders(t *testing.T) {
	const n = 600
	for _, plain := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			late := &lateReader{status: func(request int) int {
				if request%7 == 0 {
					return http.StatusBadRequest
				}
				return http.StatusOK
			}}
			client, err := hogapi.NewClient(append(hogapitest.New().ClientOptions("1"), hogapi.WithHTTPClient(&http.Client{Transport: late}))...)
			require.NoError(t, err)
			receipt, err := client.Import(t.Context(), numbered(n), &hogapi.ImportOptions{
				ID: "late", Rate: hogapi.Unpaced, Rejects: ignoreRejects,
				Delivery: hogapi.DeliveryOptions{NoPreflight: true, Protocol: hogapi.ProtocolBatch, Lanes: 3, MaxBatchEvents: 16, NoCompression: plain},
			})
			require.NoError(t, err)
			late.reading.Wait()
			taken := map[uuid.UUID]bool{}
			for number, status := range late.statuses {
				ids := late.uuids(t, number)
				require.NotEmpty(t, ids)
				for _, id := range ids {
					require.False(t, taken[id], "the events of another request")
					taken[id] = status == http.StatusOK
				}
			}
			acknowledged := 0
			for _, ok := range taken {
				if ok {
					acknowledged++
				}
			}
			assert.EqualValues(t, receipt.Acknowledged, acknowledged)
			assert.Len(t, taken, n)
		})
	}
}
