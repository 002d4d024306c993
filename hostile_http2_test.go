package hogapi

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/httptry"
)

// HTTP/2 has more ways to break off than a closed connection. The frames are written by hand, as no server would.

// Frame types and error codes of RFC 9113.
const (
	frameData         = 0x0
	frameHeaders      = 0x1
	frameReset        = 0x3
	frameSettings     = 0x4
	framePing         = 0x6
	frameGoAway       = 0x7
	frameContinuation = 0x9

	flagEndStream  = 0x1
	flagEndHeaders = 0x4

	codeNone     = 0x0
	codeProtocol = 0x1
	codeInternal = 0x2
	codeRefused  = 0x7
	codeCancel   = 0x8
	codeCalm     = 0xb
)

// status200 is ":status: 200" in HPACK.
const status200 = "\x88"

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
	answer func(stream uint32) (frames, again string)
}

func (s *http2Server) start(t *testing.T) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
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
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				s.serve(conn)
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = listener.Close()
		serving.Wait()
	})
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
		frames, again := s.answer(binary.BigEndian.Uint32(head[5:]))
		_, err := io.WriteString(conn, frames)
		for chunk := bytes.Repeat([]byte(again), 64); again != "" && err == nil; {
			_, err = conn.Write(chunk)
		}
	}
}

// resets are the ways in which an HTTP/2 server leaves a request without a whole answer.
func resets() map[string]*http2Server {
	all := map[string]*http2Server{}
	add := func(name string, answer func(stream uint32) (frames, again string)) {
		all[name] = &http2Server{answer: answer}
	}
	once := func(frames func(stream uint32) string) func(uint32) (string, string) {
		return func(stream uint32) (string, string) { return frames(stream), "" }
	}
	begun := func(stream uint32) string {
		return frame(frameHeaders, flagEndHeaders, stream, status200) + frame(frameData, 0, stream, `{"status":"O`)
	}
	for name, n := range map[string]uint32{"none": codeNone, "protocol": codeProtocol, "internal": codeInternal, "cancel": codeCancel, "calm": codeCalm} {
		add("reset, "+name, once(func(stream uint32) string { return frame(frameReset, 0, stream, code(n)) }))
		add("reset in the body, "+name, once(func(stream uint32) string { return begun(stream) + frame(frameReset, 0, stream, code(n)) }))
		add("go away, taken, "+name, once(func(stream uint32) string { return goAway(stream, n) + frame(frameReset, 0, stream, code(codeCancel)) }))
		add("go away in the body, "+name, once(func(stream uint32) string {
			return begun(stream) + goAway(stream, n) + frame(frameReset, 0, stream, code(codeCancel))
		}))
	}
	add("refused", once(func(stream uint32) string { return frame(frameReset, 0, stream, code(codeRefused)) }))
	add("go away, not taken", once(func(uint32) string { return goAway(0, codeNone) }))
	add("no whole frame", once(func(uint32) string { return "\x00\xff" }))
	add("an unknown frame", once(func(stream uint32) string { return frame(0xee, 0xff, stream, "x") }))
	add("a frame too large", once(func(stream uint32) string { return frame(frameData, 0, stream, string(make([]byte, 1<<24-1))) }))
	add("data of no stream", once(func(uint32) string { return frame(frameData, 0, 0, "x") }))
	add("data without headers", once(func(stream uint32) string { return frame(frameData, flagEndStream, stream, "{}") }))
	add("an answer to another stream", once(func(stream uint32) string { return begun(stream + 8) }))
	add("bad HPACK", once(func(stream uint32) string {
		return frame(frameHeaders, flagEndHeaders, stream, "\xff\xff\xff\xff\xff\xff")
	}))
	add("no status", once(func(stream uint32) string {
		return frame(frameHeaders, flagEndHeaders|flagEndStream, stream, "\x00\x01a\x01b")
	}))
	add("endless body", func(stream uint32) (string, string) {
		return frame(frameHeaders, flagEndHeaders, stream, status200), frame(frameData, 0, stream, "")
	})
	add("endless headers", func(stream uint32) (string, string) {
		return frame(frameHeaders, 0, stream, status200), frame(frameContinuation, 0, stream, "\x00\x01a\x01b")
	})
	add("endless settings", func(uint32) (string, string) { return "", frame(frameSettings, 0, 0, "") })
	add("endless pings", func(uint32) (string, string) { return "", frame(framePing, 0, 0, "12345678") })
	add("endless resets", func(stream uint32) (string, string) { return "", frame(frameReset, 0, stream+2, code(codeInternal)) })
	return all
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

// A reset is never a success, and a create that was taken once is sent once, whatever net/http makes of the reset.
func TestHTTP2Resets(t *testing.T) {
	for name, server := range resets() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server.start(t)
			client := server.client(t)
			n := 0
			for _, err := range client.BatchExports.All(t.Context(), nil) {
				n++
				var page *PageError
				require.ErrorAs(t, err, &page)
				requireTyped(t, page.Err)
			}
			require.Equal(t, 1, n)

			server.taken.Store(0)
			_, err := client.BatchExports.Create(t.Context(), hostileExport())
			requireTyped(t, err)
			if taken := server.taken.Load(); taken > 0 { // on a busy machine the try can end before it is sent
				require.ErrorIs(t, err, ErrOutcomeUnknown)
				require.EqualValues(t, 1, taken, "requests")
			}

			capture, err := client.NewCapture(&CaptureOptions{Rate: Unpaced, Delivery: DeliveryOptions{Lanes: 4, MaxTries: 2, Linger: time.Millisecond, Protocol: ProtocolBatch}})
			require.NoError(t, err)
			for i := range 8 {
				ev := testEvent()
				ev.DistinctID, ev.UUID = fmt.Sprint(i), uuid.New()
				_ = capture.Enqueue(t.Context(), ev) // it may have stopped already
			}
			receipt, err := capture.Close(t.Context())
			require.ErrorAs(t, err, new(*UnsettledError))
			require.Zero(t, receipt.Acknowledged)
			require.Equal(t, receipt.Read, receipt.Pending)
		})
	}
}

// Every request on the wire is a try that the hooks were told of, with TLS and without: net/http repeats
// nothing by itself, neither a create nor a batch of events, and a read no more than once before the try ends.
func TestHTTP2RepeatsAreOurTries(t *testing.T) {
	for name, answer := range map[string]func(stream uint32) string{
		"go away":  func(uint32) string { return goAway(0, codeNone) },
		"refused":  func(stream uint32) string { return frame(frameReset, 0, stream, code(codeRefused)) },
		"protocol": func(stream uint32) string { return frame(frameReset, 0, stream, code(codeProtocol)) },
	} {
		for _, plain := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, plain %v", name, plain), func(t *testing.T) {
				t.Parallel()
				server := &http2Server{plain: plain, answer: func(stream uint32) (string, string) { return answer(stream), "" }}
				server.start(t)
				var tries atomic.Int64
				client := server.client(t, WithTryTimeout(2*time.Second), WithRetryPolicy(RetryPolicy{MaxTries: 2}), WithHooks(Hooks{
					OnTry:   func(context.Context, TryInfo) { tries.Add(1) },
					OnBatch: func(BatchInfo) { tries.Add(1) },
				}))
				for call, do := range onceCalls() { // with a body and without
					require.ErrorIs(t, do(t.Context(), client), ErrOutcomeUnknown, call)
					require.EqualValues(t, 1, tries.Swap(0), call)
					require.EqualValues(t, 1, server.taken.Swap(0), call)
				}
				require.Error(t, get(t.Context(), client))
				require.Equal(t, tries.Swap(0), server.taken.Swap(0), "a read")

				capture, err := client.NewCapture(&CaptureOptions{Rate: Unpaced, Delivery: DeliveryOptions{Lanes: 1, MaxTries: 2, NoPreflight: true, Protocol: ProtocolBatch}})
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

// A call that may be repeated is, by our own rules: not at once, and not without end.
func TestHTTP2ResetIsWaitedOut(t *testing.T) {
	for name, reset := range map[string]func(stream uint32) string{
		"go away":  func(uint32) string { return goAway(0, codeNone) },
		"refused":  func(stream uint32) string { return frame(frameReset, 0, stream, code(codeRefused)) },
		"protocol": func(stream uint32) string { return frame(frameReset, 0, stream, code(codeProtocol)) },
	} {
		server := &http2Server{}
		server.answer = func(stream uint32) (string, string) {
			if server.taken.Load() <= 2 {
				return reset(stream), ""
			}
			return frame(frameHeaders, flagEndHeaders|flagEndStream, stream, "\x89"), "" // 204
		}
		server.start(t)
		begin := time.Now()
		require.NoError(t, get(t.Context(), server.client(t, WithTryTimeout(time.Minute), WithRetryPolicy(RetryPolicy{}))), name)
		require.EqualValues(t, 3, server.taken.Load(), name)
		require.GreaterOrEqual(t, time.Since(begin), 2*httptry.MinDelay, name)
	}
}

// A server that speaks nothing newer than TLS 1.1 is not spoken to, and no event goes there.
func TestOldTLSGetsNoEvents(t *testing.T) {
	var asked atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	server.StartTLS()
	defer server.Close()
	transport := httptry.DefaultTransport()
	transport.TLSClientConfig.RootCAs = server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	client := newFakeClient(t, transport, WithRegion(""), WithBaseURL(server.URL), WithTryTimeout(hostileTry))
	capture, err := client.NewCapture(&CaptureOptions{Rate: Unpaced, Delivery: DeliveryOptions{MaxTries: 1, Protocol: ProtocolBatch}})
	require.NoError(t, err)
	ev := testEvent()
	require.NoError(t, capture.Enqueue(t.Context(), ev))
	receipt, err := capture.Close(t.Context())
	require.ErrorAs(t, err, new(*StopError))
	require.ErrorContains(t, err, "protocol version")
	require.EqualValues(t, 1, receipt.Pending)
	require.Zero(t, asked.Load())
	require.False(t, errors.Is(err, ErrUnauthorized))
}
