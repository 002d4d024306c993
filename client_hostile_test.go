package hogapi

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/destination"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/internal/httptry"
)

// Attacks of a hostile server on a call and on an import: each must end, with one typed error, in bounded memory, and no event may be
// taken for settled. The servers write their bytes themselves, since no library would.

// rawServer calls answer for each request to write the answer.
func rawServer(t *testing.T, answer func(io.Writer)) string {
	t.Helper()
	listener := loopback(t)
	serve(t, listener, func(conn net.Conn) {
		if readRequest(bufio.NewReader(conn)) {
			answer(conn)
		}
	})
	return "http://" + listener.Addr().String()
}

// says writes the same each time.
func says(text string) func(io.Writer) {
	return func(w io.Writer) { _, _ = io.WriteString(w, text) }
}

// forever writes the same again and again, with a pause where one is given.
func forever(begin, again string, pause time.Duration) func(io.Writer) {
	return func(w io.Writer) {
		_, err := io.WriteString(w, begin)
		chunk := again
		if pause == 0 {
			chunk = strings.Repeat(again, 1+8192/len(again))
		}
		for err == nil {
			time.Sleep(pause)
			_, err = io.WriteString(w, chunk)
		}
	}
}

// bomb is gzip that unpacks to so many mebibytes of a byte, a thousand times its size.
func bomb(t *testing.T, mebibytes int, of byte) string {
	t.Helper()
	var one bytes.Buffer
	zip, err := gzip.NewWriterLevel(&one, gzip.BestCompression)
	require.NoError(t, err)
	_, err = zip.Write(bytes.Repeat([]byte{of}, 1<<20))
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	require.Less(t, one.Len(), 1<<20/950)
	return strings.Repeat(one.String(), mebibytes) // gzip streams may follow each other
}

// validBomb is a page of a million rows of nothing, in four kilobytes of gzip.
func validBomb(t *testing.T) string {
	t.Helper()
	var b bytes.Buffer
	zip := gzip.NewWriter(&b)
	_, err := io.WriteString(zip, `{"count":1,"next":null,"results":[{}`+strings.Repeat(",{}", 1<<20)+`]}`)
	require.NoError(t, err)
	require.NoError(t, zip.Close())
	require.Less(t, b.Len(), 5<<10)
	return b.String()
}

// hostile are answers that say no clear yes.
func hostile(t *testing.T) map[string]func(io.Writer) {
	const head, ok = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n", `{"status":"Ok"}`
	zipped := head + "Content-Encoding: gzip\r\n"
	return map[string]func(io.Writer){
		"nothing":                 says(""),
		"no HTTP":                 says("SSH-2.0-OpenSSH_9.2\r\n\r\n"),
		"status 99999":            says("HTTP/1.1 99999 Many\r\n\r\n"),
		"length past the end":     says(head + "Content-Length: 1000\r\n\r\n" + ok),
		"length of an exabyte":    says(head + "Content-Length: 1152921504606846976\r\n\r\n" + ok),
		"length before the end":   says(head + "Content-Length: 7\r\n\r\n" + ok),
		"chunk of an exabyte":     says(head + "Transfer-Encoding: chunked\r\n\r\nfffffffffffffff\r\n" + ok),
		"chunk without an end":    says(head + "Transfer-Encoding: chunked\r\n\r\nf\r\n" + ok + "\r\n"),
		"switches protocols":      says("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n" + ok),
		"informs forever":         forever("", "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n", 0),
		"continues forever":       forever("", "HTTP/1.1 100 Continue\r\n\r\n", 0),
		"endless status line":     forever("HTTP/1.1 200 ", "x", 0),
		"endless header":          forever("HTTP/1.1 200 OK\r\nX: ", "x", 0),
		"millions of headers":     forever("HTTP/1.1 200 OK\r\n", "A: b\r\n", 0),
		"millions of names":       func(w io.Writer) { manyHeaders(w) },
		"trickled status line":    forever("", "H", 20*time.Millisecond),
		"trickled headers":        forever("HTTP/1.1 200 OK\r\nX: ", "x", 20*time.Millisecond),
		"trickled body":           forever(head+"\r\n", " ", 20*time.Millisecond),
		"endless body":            forever(head+"\r\n", "[", 0),
		"endless blanks":          forever(head+"\r\n", " ", 0),
		"endless chunks":          forever(head+"Transfer-Encoding: chunked\r\n\r\n", "1\r\n \r\n", 0),
		"endless trailers":        forever(head+"Transfer-Encoding: chunked\r\n\r\n0\r\n", "A: b\r\n", 0),
		"bomb":                    says(zipped + "\r\n" + bomb(t, 512, ' ')),
		"bomb of brackets":        says(zipped + "\r\n" + bomb(t, 512, '[')),
		"bomb that ends in time":  says(zipped + "\r\n" + bomb(t, 30, '[')),
		"bomb of valid JSON":      says(zipped + "\r\n" + validBomb(t)),
		"no gzip":                 says(zipped + "\r\n" + ok),
		"half a gzip":             says(zipped + "\r\n" + bomb(t, 1, ' ')[:500]),
		"nothing as gzip":         says(zipped + "Content-Length: 0\r\n\r\n"),
		"truncated JSON":          says(head + "\r\n" + ok[:len(ok)-1]),
		"JSON twice":              says(head + "\r\n" + ok + ok),
		"a key twice":             says(head + "\r\n" + `{"status":"Ok","status":"no","results":[],"results":7}`),
		"deep JSON":               says(head + "\r\n" + strings.Repeat(`{"results":[`, 100_000)),
		"deep JSON that is whole": says(head + "\r\n" + strings.Repeat(`[`, 50_000) + strings.Repeat(`]`, 50_000)),
		"an enormous number":      says(head + "\r\n" + `{"status":1` + strings.Repeat("0", 1000) + `,"count":1e999,"results":[]}`),
		"HTML":                    says("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html>" + ok),
		"HTML as JSON":            says(head + "\r\n<html>" + ok),
		"text":                    says("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nOk"),
		"an image":                says("HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x89PNG\r\n\x1a\n\x00"),
		"UTF-16":                  says(head + "\r\n\xff\xfe{\x00\"\x00s\x00"),
		"endless error":           forever("HTTP/1.1 500 No\r\n\r\n", "x", 0),
		"endless redirect":        forever("HTTP/1.1 307 Elsewhere\r\nLocation: /\r\n\r\n", "x", 0),
		"bomb of an error":        says("HTTP/1.1 500 No\r\nContent-Encoding: gzip\r\n\r\n" + bomb(t, 512, 'x')),
	}
}

// manyHeaders writes two million headers, each of another name.
func manyHeaders(w io.Writer) {
	out := bufio.NewWriter(w)
	_, err := out.WriteString("HTTP/1.1 200 OK\r\n")
	for i := 0; err == nil && i < 2_000_000; i++ {
		_, err = fmt.Fprintf(out, "A%d: b\r\n", i)
	}
	_, _ = out.WriteString("\r\n{}")
	_ = out.Flush()
}

// hostileTry is the time that these servers get.
const hostileTry = 250 * time.Millisecond

func hostileClient(t *testing.T, url string, options ...Option) *Client {
	transport := httptry.DefaultTransport()
	t.Cleanup(transport.CloseIdleConnections)
	return newFakeClient(t, transport, append([]Option{WithRegion(""), WithBaseURL(url), WithTryTimeout(hostileTry), WithRetryPolicy(RetryPolicy{MaxTries: 1})}, options...)...)
}

func TestHostileServers(t *testing.T) {
	for name, answer := range hostile(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			client, begin := hostileClient(t, rawServer(t, answer)), time.Now()
			requireBrokenWalk(t, client)
			var heard atomic.Bool // a try may end before it is sent, on a busy machine
			creating := hostileClient(t, rawServer(t, func(w io.Writer) {
				heard.Store(true)
				answer(w)
			}))
			_, err := creating.BatchExports.Create(t.Context(), hostileExport())
			requireTyped(t, err)
			var api *APIError
			if heard.Load() && (!errors.As(err, &api) || api.StatusCode >= 500) {
				require.ErrorIs(t, err, ErrOutcomeUnknown, "it may have been made")
			}
			receipt, err := captureEvents(t, client, 8, DeliveryOptions{Tuning: Tuning{Lanes: 4, MaxTries: 2}})
			require.ErrorAs(t, err, new(*event.UnsettledError))
			require.ErrorAs(t, err, new(*StopError))
			assert.Zero(t, receipt.Acknowledged+receipt.Rejected)
			assert.Equal(t, receipt.Read, receipt.Pending)
			requireNoSecretIn(t, "the error", err.Error())
			require.Less(t, time.Since(begin), 6*hostileTry+30*time.Second) // on a busy machine
		})
	}
}

// requireBrokenWalk demands that a walk is one typed error and nothing else.
func requireBrokenWalk(t *testing.T, client *Client) {
	t.Helper()
	n := 0
	for _, err := range client.BatchExports.All(t.Context(), nil) {
		n++
		page := as[*PageError](t, err)
		requireTyped(t, page.Err)
	}
	require.Equal(t, 1, n)
}

// captureEvents sends events of as many people, and returns how that ends.
func captureEvents(t *testing.T, client *Client, n int, o DeliveryOptions) (Receipt, error) {
	t.Helper()
	o.Linger, o.Protocol = time.Millisecond, ProtocolBatch
	capture, err := client.NewCapture(&CaptureOptions{Rate: RateUnlimited, Delivery: o})
	require.NoError(t, err)
	for i := range n {
		ev := testEvent()
		ev.DistinctID, ev.UUID = fmt.Sprint(i), uuid.New()
		if err := capture.Enqueue(t.Context(), ev); err != nil {
			require.ErrorAs(t, err, new(*StopError))
		}
	}
	return capture.Close(t.Context())
}

func hostileExport() BatchExportRequest {
	return BatchExportRequest{Name: "x", Model: ModelEvents, Interval: IntervalHour, Destination: Destination{Type: destination.TypeNoOp, Config: destination.NoOp{}}}
}

// requireTyped demands one of the errors that a call may fail with.
func requireTyped(t *testing.T, err error) {
	t.Helper()
	require.True(t, errors.As(err, new(*APIError)) || errors.As(err, new(*TransportError)) || errors.As(err, new(*DecodeError)), "%T: %v", err, err)
	require.Less(t, len(err.Error()), 2000)
	require.NotContains(t, err.Error(), "\n")
	requireNoSecretIn(t, "the error", err.Error())
}

// An endless answer costs at most twice the cap of an answer; when sending events far less, however many lanes there
// are.
func TestHostileServersAndMemory(t *testing.T) {
	if raceDetector {
		t.Skip("memory is measured; the tests before meet the same servers")
	}
	answers := hostile(t)
	for name, isBody := range map[string]bool{
		"bomb": true, "bomb of brackets": true, "endless body": true, "endless chunks": true, "endless header": false, "millions of headers": false,
		"millions of names": false, "endless trailers": false, "bomb of an error": false, "informs forever": false,
	} {
		client := hostileClient(t, rawServer(t, answers[name]), WithTryTimeout(time.Minute))
		growth := heapGrowth(func() {
			err := client.Do(t.Context(), Request{Method: "GET", Path: "/x/"}, new(any))
			require.Error(t, err)
			require.Equal(t, isBody, errors.Is(err, httptry.ErrTooBig), "%v", err)
		})
		t.Logf("%s: a call: %d KiB", name, growth>>10)
		require.LessOrEqual(t, growth, int64(2*httptry.MaxAnswer), name)

		growth = heapGrowth(func() {
			_, err := captureEvents(t, client, 64, DeliveryOptions{Tuning: Tuning{Lanes: 16, MaxTries: 1}})
			require.Error(t, err)
		})
		t.Logf("%s: 16 lanes: %d KiB", name, growth>>10)
		require.LessOrEqual(t, growth, int64(httptry.MaxAnswer), name)
	}
}

// heapGrowth is by how much the live heap grows at most while work runs.
func heapGrowth(work func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(5))
	heap := func() int64 {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	runtime.GC()
	before, most := heap(), int64(0)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			most = max(most, heap()-before)
			select {
			case <-stop:
				return
			case <-time.After(200 * time.Microsecond):
			}
		}
	}()
	work()
	close(stop)
	<-stopped
	return most
}

// HTTP/2 has more ways to break off than a closed connection. The frames are written by hand, as no server would.

// Frame types and error codes of RFC 9113.
const (
	frameData     = 0x0
	frameHeaders  = 0x1
	frameReset    = 0x3
	frameSettings = 0x4
	frameGoAway   = 0x7

	flagEndStream  = 0x1
	flagEndHeaders = 0x4

	codeNone     = 0x0
	codeProtocol = 0x1
	codeRefused  = 0x7
	codeCancel   = 0x8
)

func frame(kind, flags byte, stream uint32, payload string) string {
	head := []byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}
	return string(binary.BigEndian.AppendUint32(head, stream)) + payload
}

func code(n uint32) string { return string(binary.BigEndian.AppendUint32(nil, n)) }

func goAway(last, n uint32) string { return frame(frameGoAway, 0, 0, code(last)+code(n)) }

// http2Server answers each request, by its stream, with the frames that answer makes. It counts the requests that it took.
type http2Server struct {
	plain  bool // without TLS
	url    string
	pool   *tls.Config // of its clients, unless plain
	taken  atomic.Int64
	answer func(stream uint32) string
}

func (s *http2Server) start(t *testing.T) {
	t.Helper()
	listener := loopback(t)
	s.url = "http://" + listener.Addr().String()
	if !s.plain {
		certified := httptest.NewUnstartedServer(http.NotFoundHandler())
		certified.StartTLS() // for its certificate
		s.pool = certified.Client().Transport.(*http.Transport).TLSClientConfig
		certificates := certified.TLS.Certificates
		certified.Close()
		listener = tls.NewListener(listener, &tls.Config{MinVersion: tls.VersionTLS12, Certificates: certificates, NextProtos: []string{"h2"}})
		s.url = "https://" + listener.Addr().String()
	}
	serve(t, listener, s.serve)
}

func (s *http2Server) serve(conn net.Conn) {
	if _, err := io.CopyN(io.Discard, conn, int64(len("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"))); err != nil {
		return
	}
	if _, err := io.WriteString(conn, frame(frameSettings, 0, 0, "")); err != nil {
		return
	}
	head := make([]byte, 9)
	for {
		if _, err := io.ReadFull(conn, head); err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, conn, int64(head[0])<<16|int64(head[1])<<8|int64(head[2])); err != nil {
			return
		}
		isRequest := head[3] == frameHeaders || head[3] == frameData
		if !isRequest || head[4]&flagEndStream == 0 {
			continue
		}
		s.taken.Add(1)
		if _, err := io.WriteString(conn, s.answer(binary.BigEndian.Uint32(head[5:]))); err != nil {
			return
		}
	}
}

// client is one that trusts the server and speaks HTTP/2 to it.
func (s *http2Server) client(t *testing.T, options ...Option) *Client {
	transport := httptry.DefaultTransport()
	if s.plain {
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetUnencryptedHTTP2(true)
	} else {
		transport.TLSClientConfig.RootCAs = s.pool.RootCAs
	}
	t.Cleanup(transport.CloseIdleConnections)
	return newFakeClient(t, transport, append([]Option{WithRegion(""), WithBaseURL(s.url), WithTryTimeout(hostileTry), WithRetryPolicy(RetryPolicy{MaxTries: 1})}, options...)...)
}

// A reset is never a success, and each request on the wire is a try of ours: net/http repeats nothing by itself.
func TestHTTP2RepeatsAreOurTries(t *testing.T) {
	for name, answer := range map[string]func(stream uint32) string{
		"go away": func(uint32) string { return goAway(0, codeNone) },
		"go away, taken": func(stream uint32) string {
			return goAway(stream, codeNone) + frame(frameReset, 0, stream, code(codeCancel))
		},
		"refused":   func(stream uint32) string { return frame(frameReset, 0, stream, code(codeRefused)) },
		"protocol":  func(stream uint32) string { return frame(frameReset, 0, stream, code(codeProtocol)) },
		"cancel":    func(stream uint32) string { return frame(frameReset, 0, stream, code(codeCancel)) },
		"bad HPACK": func(stream uint32) string { return frame(frameHeaders, flagEndHeaders, stream, "\xff\xff\xff\xff") },
	} {
		for _, plain := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, plain %v", name, plain), func(t *testing.T) {
				t.Parallel()
				server := &http2Server{plain: plain, answer: answer}
				server.start(t)
				var tries atomic.Int64
				client := server.client(t, WithTryTimeout(2*time.Second), WithRetryPolicy(RetryPolicy{MaxTries: 2}), WithHooks(Hooks{
					OnCall: func(_ context.Context, r CallRecord) {
						if !r.Ended {
							tries.Add(1)
						}
					},
					OnBatch: func(BatchInfo) { tries.Add(1) },
				}))
				for call, do := range onceCalls() { // with a body and without
					require.ErrorIs(t, do(t.Context(), client), ErrOutcomeUnknown, call)
					require.EqualValues(t, 1, tries.Swap(0), call)
					require.EqualValues(t, 1, server.taken.Swap(0), call)
				}
				require.Error(t, get(t.Context(), client))
				require.Equal(t, tries.Swap(0), server.taken.Swap(0), "a read")

				capture, err := client.NewCapture(&CaptureOptions{Rate: RateUnlimited, Delivery: DeliveryOptions{Protocol: ProtocolBatch, Tuning: Tuning{Lanes: 1, MaxTries: 2, NoPreflight: true}}})
				require.NoError(t, err)
				require.NoError(t, capture.Enqueue(t.Context(), testEvent()))
				_, err = capture.Close(t.Context())
				require.ErrorAs(t, err, new(*StopError))
				require.EqualValues(t, 2, tries.Load(), "batches")
				require.EqualValues(t, 2, server.taken.Load(), "batches on the wire")
			})
		}
	}
}
