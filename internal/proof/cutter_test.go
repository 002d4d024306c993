package proof_test

import (
	"context"
	"io"
	"iter"
	"log"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/internal/testevents"
)

type cutEnding string

const (
	isClosed cutEnding = "closed"
	isReset  cutEnding = "reset"
	isSilent cutEnding = "silent"
	isLate   cutEnding = "closed after a silence"
)

// cut tells where a connection ends: after up bytes from the client, or after down bytes from the server. A negative number never ends
// it.
type cut struct {
	up, down int
	ending   cutEnding
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

// A connection is cut at each byte of a write, including the TLS handshake and the frames of HTTP/2, in every way. No write is carried
// out twice, each reports its result, and a request that had not begun yet is sent again.
func TestWritesCutAtEveryByte(t *testing.T) {
	for protocol, start := range servers {
		for _, how := range []cutEnding{isClosed, isReset, isSilent} {
			t.Run(protocol+", "+string(how), func(t *testing.T) {
				t.Parallel()
				step, patience := testevents.Sized(23, 5, 1), 20*time.Second // a busy machine is slow, not silent
				if how == isSilent {                                         // each costs the time of a try
					step, patience = testevents.Sized(307, 101, 29), time.Second
				}
				up, down := sizesOfAWrite(t, start)
				var cuts []cut
				for k := 0; k <= up; k += step {
					cuts = append(cuts, cut{up: k, down: -1, ending: how})
				}
				for k := 0; k <= down; k += step {
					cuts = append(cuts, cut{up: -1, down: k, ending: how})
				}
				cuts = append(cuts, noCut)
				service := &writes{}
				results := make([]error, len(cuts))
				lines := make(chan *cutLine, 16)
				for range cap(lines) {
					lines <- newCutLine(t, service, start, patience)
				}
				inParallel(len(cuts), cap(lines), func(i int) {
					line := <-lines
					results[i] = line.write(t, i, cuts[i])
					lines <- line
				})
				v := service.requireHonest(t, results)
				t.Logf("%d cuts: %+v", len(cuts), v)
				require.Zero(t, v.failed, "there is always a connection to be had")
				require.Positive(t, v.unknown)
				require.Positive(t, v.done)
				if protocol != "HTTP 1" && how != isSilent { // on a busy machine the next try may outlast a short patience
					require.Greater(t, v.done, v.unknown, "most bytes are of the handshake")
				}
			})
		}
	}
}

// Calls over bad lines: no write is carried out twice, and each reports its result.
func TestCallsOverBadLines(t *testing.T) {
	n := testevents.Sized(150, 450, 1500)
	for name, line := range badLines(1500, 700) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			service := &writes{}
			cutter := newCutter(t, service, servers["HTTP 1"], line.next())
			client := callsTo(t, cutter.url(), hogapi.WithTryTimeout(line.patience), hogapi.WithRetryPolicy(hogapi.RetryPolicy{MaxTries: 30, MaxDelay: time.Second}))
			results := make([]error, n)
			inParallel(n, 8, func(i int) {
				assert.NoError(t, read(t.Context(), client), "a call that may be repeated survives all this") // and leaves a connection to use again
				results[i] = write(t.Context(), client, i)
			})
			v := service.requireHonest(t, results)
			require.Zero(t, v.failed, "a connection can always be had, so nothing is provably unsent for long")
			require.Equal(t, line.breaks, v.unknown > 0, v)
			t.Logf("%+v", v)
		})
	}
}

// A service that falls silent costs a call the time of one try, whether its connection is new or an earlier one. The next connection
// works at once.
func TestCallsIntoSilence(t *testing.T) {
	const patience = time.Second
	service := &writes{}
	line := newCutLine(t, service, servers["HTTP 1"], patience)
	client := callsTo(t, line.url(), hogapi.WithTryTimeout(patience), hogapi.WithRetryPolicy(hogapi.RetryPolicy{MaxTries: 1}),
		hogapi.WithHTTPClient(&http.Client{Transport: line.transport}))
	var results []error
	for _, at := range []cut{{up: 0, down: -1, ending: isSilent}, {up: -1, down: 0, ending: isSilent}, noCut} {
		line.mu.Lock()
		line.at = at
		line.mu.Unlock()
		begin := time.Now()
		err := write(t.Context(), client, len(results))
		if results = append(results, err); at == noCut {
			require.NoError(t, err)
			continue
		}
		require.ErrorIs(t, err, hogapi.ErrOutcomeUnknown)
		assert.Greater(t, time.Since(begin), patience-100*time.Millisecond)
		assert.Less(t, time.Since(begin), patience+3*time.Second, "and some room for a busy machine")
	}
	service.requireHonest(t, results)
}

// cutLine makes one write after another, each with its first connection cut.
type cutLine struct {
	*cutter

	client *hogapi.Client
	mu     sync.Mutex
	at     cut
}

func newCutLine(t *testing.T, service http.Handler, start func(*httptest.Server), patience time.Duration) *cutLine {
	t.Helper()
	l := &cutLine{at: noCut}
	l.cutter = newCutter(t, service, start, func() cut {
		l.mu.Lock()
		defer l.mu.Unlock()
		at := l.at
		l.at = noCut
		return at
	})
	l.client = callsTo(t, l.url(), hogapi.WithTryTimeout(patience), hogapi.WithRetryPolicy(hogapi.RetryPolicy{BaseDelay: 100 * time.Millisecond}),
		hogapi.WithHTTPClient(&http.Client{Transport: l.transport}))
	return l
}

func (l *cutLine) write(t *testing.T, n int, at cut) error {
	l.mu.Lock()
	l.at = at
	l.mu.Unlock()
	defer l.transport.CloseIdleConnections()
	return write(t.Context(), l.client, n)
}

func sizesOfAWrite(t *testing.T, start func(*httptest.Server)) (up, down int) {
	t.Helper()
	line := newCutLine(t, &writes{}, start, 20*time.Second)
	require.NoError(t, line.write(t, 0, noCut))
	require.Eventually(t, func() bool { return line.up.Load() > 0 && line.down.Load() > 0 }, time.Minute, time.Millisecond)
	return int(line.up.Load()), int(line.down.Load())
}

// importOver imports events over the lines of a cutter, and requires that nothing is lost or changed.
func importOver(t *testing.T, fake *hogapitest.Server, c *cutter, events history.Source, tuning hogapi.Tuning, options ...hogapi.Option) hogapi.Receipt {
	t.Helper()
	client, err := hogapi.NewClient(append([]hogapi.Option{
		hogapi.WithCaptureURL(c.url()), hogapi.WithProjectAPIKey(hogapitest.DefaultProjectKey), hogapi.WithHTTPClient(&http.Client{Transport: c.transport}),
	}, options...)...)
	require.NoError(t, err)
	receipt, err := history.Import(t.Context(), client, events, &history.Options{
		ID: "cut", Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Tuning: tuning},
	})
	require.NoError(t, err)
	testevents.RequireBalanced(t, receipt)
	require.Equal(t, receipt.Read, receipt.Acknowledged)
	testevents.RequireWhole(t, fake, int(receipt.Read))
	for _, b := range fake.Violations() {
		switch b.Rule {
		case hogapitest.RuleAttempt, hogapitest.RuleTimestamp: // over another connection, a try can overtake the previous one
		case hogapitest.RuleFinal: // nor does a lost answer bind anybody
		default:
			assert.True(t, b.AfterRestart, "%s", b)
		}
	}
	return receipt
}

// An import over bad lines keeps the order per person, and loses nothing.
func TestImportOverBadLines(t *testing.T) {
	n := testevents.Sized(2000, 10_000, 50_000)
	for name, line := range badLines(8000, 250) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fake := hogapitest.New()
			cutter := newCutter(t, fake, servers["HTTP 1"], line.next())
			receipt := importOver(t, fake, cutter, testevents.Source(n), hogapi.Tuning{MaxBatchEvents: 50}, hogapi.WithTryTimeout(line.patience))
			require.EqualValues(t, n, receipt.Read)
			connections := cutter.count.Load()
			if line.breaks {
				require.GreaterOrEqual(t, connections, int64(6))
			} else {
				require.LessOrEqual(t, connections, int64(16), "lanes, and dials that were not needed")
				require.Zero(t, receipt.Resent)
			}
			t.Logf("%d connections, %d events sent again, %d stored twice", connections, receipt.Resent, fake.Ledger().Duplicates())
		})
	}
}

// Every second connection of an import is cut some bytes later than the one before, from the first byte of the handshake to the last of
// requests and answers: nothing is lost or changed, and the order per person is kept.
func TestImportCutEverywhere(t *testing.T) {
	const most = 4000 // bytes of a connection's handshake and first request; the answer is a few hundred
	for protocol, start := range servers {
		for _, how := range []cutEnding{isClosed, isReset} {
			t.Run(protocol+", "+string(how), func(t *testing.T) {
				t.Parallel()
				step := testevents.Sized(401, 101, 29)
				var cuts []cut
				for k := 0; k < most; k += step {
					cuts = append(cuts, cut{up: k, down: -1, ending: how}, cut{up: most * 2, down: -1, ending: how}) // the second one gets a few requests through
					cuts = append(cuts, cut{up: -1, down: k, ending: how}, cut{up: most * 2, down: -1, ending: how})
				}
				var met atomic.Int64
				fake := hogapitest.New()
				cutter := newCutter(t, fake, start, func() cut {
					if i := met.Add(1) - 1; i < int64(len(cuts)) {
						return cuts[i]
					}
					return noCut
				})
				n := 0
				source := history.Func("numbered", func(context.Context, hogapi.Position) iter.Seq2[hogapi.Event, error] {
					return func(yield func(hogapi.Event, error) bool) {
						for n = 1; yield(testevents.Event(n), nil); n++ {
							if n%100 == 0 && met.Load() > int64(len(cuts)) { // a connection was not cut
								return
							}
						}
					}
				})
				receipt := importOver(t, fake, cutter, source, hogapi.Tuning{MaxBatchEvents: 20, MaxInFlight: 400, Linger: time.Millisecond})
				require.EqualValues(t, n, receipt.Read)
				assert.Positive(t, receipt.Resent)
				t.Logf("%d cuts, %d events, %d of them sent again, %d stored twice", len(cuts), n, receipt.Resent, fake.Ledger().Duplicates())
			})
		}
	}
}
