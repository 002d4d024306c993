package faults

import (
	"io"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type ending string

const (
	isClosed ending = "closed"
	isReset  ending = "reset"
	isSilent ending = "silent"
	isLate   ending = "closed after a silence"
)

// cut tells where a connection ends: after up bytes from the client, or after down bytes from the server. A negative number never ends
// it.
type cut struct {
	up, down int
	ending   ending
	slow     pace
}

// pace is how slowly a connection passes bytes: a few at a time, each time after a while.
type pace struct {
	bytes       int // 0: as they come
	least, most time.Duration
}

var noCut = cut{up: -1, down: -1, ending: isClosed}

// badLine makes the cuts of one connection after another.
type badLine struct {
	cuts     []cut // in turn
	patience time.Duration
	breaks   bool
}

// badLines are lines that are slow, or that break after some bytes of requests or answers.
func badLines(requests, answers int) map[string]badLine {
	slowly := func(p pace) []cut { return []cut{{-1, -1, isClosed, p}} }
	early := cut{requests, -1, isClosed, pace{}}
	return map[string]badLine{
		"latency":          {slowly(pace{32 << 10, 5 * time.Millisecond, 55 * time.Millisecond}), time.Minute, false},
		"little bandwidth": {slowly(pace{500, 10 * time.Millisecond, 10 * time.Millisecond}), time.Minute, false},
		"a few at a time":  {slowly(pace{10, 10 * time.Microsecond, 10 * time.Microsecond}), time.Minute, false},
		"requests are cut": {[]cut{early}, time.Minute, true},
		"answers are cut":  {[]cut{{-1, answers, isClosed, pace{}}}, time.Minute, true},
		"reset":            {[]cut{{2 * requests, -1, isReset, pace{}}, early}, time.Minute, true},
		"slow end":         {[]cut{{-1, answers, isLate, pace{}}, early}, time.Minute, true},
		"silence":          {[]cut{early, {0, -1, isSilent, pace{}}, early}, time.Second, true},
	}
}

func (l badLine) next() func() cut {
	n := 0
	return func() cut {
		n++
		return l.cuts[n%len(l.cuts)]
	}
}

// cutter passes bytes between clients and a server, and cuts connections in the middle.
type cutter struct {
	server    *httptest.Server
	transport *http.Transport // of clients: trusts the server
	listener  net.Listener
	next      func() cut // for each connection in turn
	count     atomic.Int64
	up, down  atomic.Int64 // bytes that have passed
}

var servers = map[string]func(*httptest.Server){
	"HTTP 1": (*httptest.Server).Start,
	"TLS":    (*httptest.Server).StartTLS,
	"HTTP 2": func(s *httptest.Server) {
		s.EnableHTTP2 = true
		s.StartTLS()
	},
}

func newCutter(t *testing.T, service http.Handler, start func(*httptest.Server), next func() cut) *cutter {
	t.Helper()
	c := &cutter{server: httptest.NewUnstartedServer(service), next: next}
	c.server.Config.ErrorLog = log.New(io.Discard, "", 0) // quiet about connections that a test breaks
	start(c.server)
	c.transport = c.server.Client().Transport.(*http.Transport).Clone()
	c.transport.MaxIdleConnsPerHost, c.transport.TLSHandshakeTimeout = 16, time.Second
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	c.listener = listener
	var serving sync.WaitGroup
	var conns []net.Conn
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				break
			}
			conns = append(conns, conn)
			c.count.Add(1)
			at := c.next()
			serving.Go(func() { c.serve(conn.(*net.TCPConn), at) })
		}
		for _, conn := range conns { // a connection dialed for an abandoned call stays idle, and nobody else closes it
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		c.transport.CloseIdleConnections()
		serving.Wait()
		c.server.CloseClientConnections()
		c.server.Close()
	})
	return c
}

func (c *cutter) url() string {
	if c.server.TLS != nil {
		return "https://" + c.listener.Addr().String()
	}
	return "http://" + c.listener.Addr().String()
}

func (c *cutter) serve(client *net.TCPConn, at cut) {
	conn, err := net.Dial("tcp", c.server.Listener.Addr().String())
	if err != nil {
		_ = client.Close()
		return
	}
	server := conn.(*net.TCPConn)
	end := sync.OnceFunc(func() {
		switch at.ending {
		case isSilent:
			_ = server.CloseRead() // nothing more arrives, until the client gives up
			return
		case isReset:
			_ = client.SetLinger(0)
		case isLate:
			time.Sleep(100 * time.Millisecond)
		default:
		}
		_ = client.Close()
		_ = server.Close()
	})
	var both sync.WaitGroup
	both.Go(func() {
		if pass(server, at.slow.of(client), at.up, &c.up) {
			end()
			_, _ = io.Copy(io.Discard, client)
		}
		_ = server.Close()
	})
	both.Go(func() {
		if pass(client, at.slow.of(server), at.down, &c.down) {
			end()
			return
		}
		if at.ending != isSilent {
			_ = client.Close()
		}
	})
	both.Wait()
	_ = client.Close()
}

// pass copies most bytes and reports whether there was another one.
func pass(to io.Writer, from io.Reader, most int, passed *atomic.Int64) bool {
	if most < 0 {
		n, _ := io.Copy(to, from)
		passed.Add(n)
		return false
	}
	if n, err := io.CopyN(to, from, int64(most)); err != nil || n < int64(most) {
		return false
	}
	n, _ := from.Read(make([]byte, 1))
	return n == 1
}

// of returns a reader of a connection that keeps the pace.
func (p pace) of(conn net.Conn) io.Reader {
	if p.bytes == 0 {
		return conn
	}
	return pacedReader{conn, p}
}

type pacedReader struct {
	net.Conn
	pace
}

func (r pacedReader) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b[:min(len(b), r.bytes)])
	time.Sleep(r.least + rand.N(r.most-r.least+1))
	return n, err
}
