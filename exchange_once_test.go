package hogapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/endpoints"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/ops"
)

// cutPoint is where a ledgerServer ends the connection of a POST.
type cutPoint string

const (
	cutDial        cutPoint = "refused before connecting"
	cutAccept      cutPoint = "closed after accepting"
	cutIdle        cutPoint = "closed while kept alive"
	cutHeaders     cutPoint = "closed after the request's headers"
	cutUncommitted cutPoint = "closed before the commit"
	cutCommitted   cutPoint = "closed after the commit"
	cutReset       cutPoint = "reset after the commit"
	cutStatusLine  cutPoint = "closed within the status line"
	cutAnswerHead  cutPoint = "closed within the answer's headers"
	cutAnswerBody  cutPoint = "closed within the answer's body"
)

// ledgerServer counts the requests that it carries out, and ends each POST at its cut point. It answers GETs.
type ledgerServer struct {
	net.Listener

	cut     cutPoint
	stop    func()
	mu      sync.Mutex
	commits map[int]int // by call
}

func newLedgerServer(t *testing.T, cut cutPoint) *ledgerServer {
	s := &ledgerServer{Listener: loopback(t), cut: cut, commits: map[int]int{}}
	s.stop = serve(t, s, s.serve)
	return s
}

func (s *ledgerServer) serve(conn net.Conn) {
	if s.cut == cutAccept {
		return
	}
	const head, body = "HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n", `{"id":"x"}`
	r := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(r)
		if err != nil {
			return
		}
		if req.Method == http.MethodGet {
			_, _ = io.WriteString(conn, head+body)
			if s.cut == cutIdle {
				return
			}
			continue
		}
		if s.cut == cutHeaders {
			return
		}
		var sent struct{ Call int }
		if json.NewDecoder(req.Body).Decode(&sent) != nil || s.cut == cutUncommitted {
			return
		}
		_, _ = io.Copy(io.Discard, req.Body)
		s.mu.Lock()
		s.commits[sent.Call]++
		s.mu.Unlock()
		switch s.cut {
		case cutReset:
			_ = conn.(*net.TCPConn).SetLinger(0)
		case cutStatusLine:
			_, _ = io.WriteString(conn, head[:11])
		case cutAnswerHead:
			_, _ = io.WriteString(conn, head[:40])
		case cutAnswerBody:
			_, _ = io.WriteString(conn, head+body[:5])
		case cutDial, cutIdle:
			_, _ = io.WriteString(conn, head+body)
			continue
		default:
		}
		return
	}
}

// refuseFirst makes the first try of every call dial an address that refuses.
func refuseFirst(t *testing.T, transport *http.Transport) *atomic.Int64 {
	closed := loopback(t)
	require.NoError(t, closed.Close())
	var refused atomic.Int64
	dial := transport.DialContext
	transport.DisableKeepAlives = true // each try dials for itself
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if info, _ := CallInfoFrom(ctx); info.Tries == 1 {
			refused.Add(1)
			address = closed.Addr().String()
		}
		return dial(ctx, network, address)
	}
	return &refused
}

// No call is carried out twice or reported wrongly, wherever its connection ends. Unsent calls are sent again.
func TestNothingIsCarriedOutTwice(t *testing.T) {
	t.Parallel()
	const workers = 64
	calls := longer(300, 600, 1_000)
	cuts := map[cutPoint]struct{ commits, unknown bool }{
		cutDial:        {true, false},
		cutAccept:      {false, true},
		cutHeaders:     {false, true},
		cutUncommitted: {false, true},
		cutCommitted:   {true, true},
		cutReset:       {true, true},
		cutStatusLine:  {true, true},
		cutAnswerHead:  {true, true},
		cutAnswerBody:  {true, true},
		cutIdle:        {}, // either: the client may notice before it writes
	}
	writes := []Op{ops.BatchExportsCreate, ops.BatchExportsBackfill, ops.RunsRetry}
	for cut, want := range cuts {
		t.Run(string(cut), func(t *testing.T) {
			server := newLedgerServer(t, cut)
			transport := httptry.DefaultTransport()
			transport.MaxIdleConnsPerHost = workers
			t.Cleanup(transport.CloseIdleConnections)
			if cut == cutDial {
				refused := refuseFirst(t, transport)
				defer func() { assert.EqualValues(t, calls, refused.Load()) }()
			}
			client := newFakeClient(t, transport, WithRegion(""), WithBaseURL("http://"+server.Addr().String()))
			results := make([]error, calls)
			var next atomic.Int64
			var all sync.WaitGroup
			for range workers {
				all.Go(func() {
					for n := int(next.Add(1)) - 1; n < calls; n = int(next.Add(1)) - 1 {
						if n%2 == 0 && cut != cutDial && cut != cutAccept {
							assert.NoError(t, get(t.Context(), client), "a connection to use again")
						}
						op := writes[n%len(writes)]
						r := endpoint(op, slicesOf(strings.Count(endpoints.Of(op).Path, "{"))...)
						r.body = map[string]int{"call": n}
						results[n] = client.call(t.Context(), r, new(struct{ ID string }))
					}
				})
			}
			all.Wait()
			transport.CloseIdleConnections()
			server.stop()
			for n, err := range results {
				commits, unknown := server.commits[n], errors.Is(err, ErrOutcomeUnknown)
				require.LessOrEqual(t, commits, 1, "call %d", n)
				require.True(t, unknown || (err == nil) == (commits == 1), "call %d: %d commits, %v", n, commits, err)
				if cut != cutIdle {
					require.Equal(t, want.commits, commits == 1, "call %d: %v", n, err)
					require.Equal(t, want.unknown, unknown, "call %d: %v", n, err)
				}
			}
		})
	}
}

func slicesOf(n int) []string {
	ids := make([]string, n)
	for i := range ids {
		ids[i] = uuid.NewString()
	}
	return ids
}

// All creates succeed although the first try of each gets no connection, and each is carried out once.
func TestWhatWasNotSentIsSentAgain(t *testing.T) {
	t.Parallel()
	const calls, workers = 3000, 50 // half the retries that the budget has room for at the same time
	reasons := []error{
		&net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED},
		&net.OpError{Op: "dial", Net: "tcp", Err: syscall.EHOSTUNREACH},
		&net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}, // within the TLS handshake
		&net.DNSError{Err: "server misbehaving", IsTemporary: true},
		io.EOF,
	}
	synctest.Test(t, func(t *testing.T) {
		var commits, refused atomic.Int64
		var servers sync.WaitGroup
		serve := func(conn net.Conn) {
			defer conn.Close()
			for r := bufio.NewReader(conn); ; {
				req, err := http.ReadRequest(r)
				if err != nil {
					return
				}
				_, _ = io.Copy(io.Discard, req.Body)
				commits.Add(1)
				_, _ = io.WriteString(conn, "HTTP/1.1 201 Created\r\nContent-Length: 2\r\n\r\n{}")
			}
		}
		transport := httptry.DefaultTransport()
		transport.Proxy = nil
		transport.DisableKeepAlives = true
		transport.DialTLSContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
			if info, _ := CallInfoFrom(ctx); info.Tries == 1 {
				return nil, reasons[int(refused.Add(1))%len(reasons)]
			}
			near, far := net.Pipe()
			servers.Go(func() { serve(far) })
			return near, nil
		}
		client := newFakeClient(t, transport)
		var all sync.WaitGroup
		for range workers {
			all.Go(func() {
				for range calls / workers {
					assert.NoError(t, create(t.Context(), client))
				}
			})
		}
		all.Wait()
		transport.CloseIdleConnections()
		servers.Wait()
		require.EqualValues(t, calls, refused.Load())
		require.EqualValues(t, calls, commits.Load())
	})
}
