package hogapi

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi/internal/endpoints"
	"github.com/hogapi/hogapi/internal/httptry"
	"github.com/hogapi/hogapi/ops"
)

// The default logger of the retrying client wrote every URL with its query to stderr, and the final error held the URL too.
func TestTrapT10NothingShowsTheURL(t *testing.T) {
	const canary = "canaryInTheQuery"
	if os.Getenv("HOGAPI_TEST_T10") == "" {
		child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTrapT10NothingShowsTheURL$", "-test.v")
		child.Env = append(os.Environ(), "HOGAPI_TEST_T10=child")
		output, err := child.CombinedOutput()
		require.NoError(t, err, "%s", output)
		require.Contains(t, string(output), "PASS")
		require.NotContains(t, string(output), canary)
		require.NotContains(t, string(output), "us.posthog.com")
		return
	}
	synctest.Test(t, func(t *testing.T) {
		for _, failure := range []step{
			answers(503, ""), answers(404, ""), fails(errCut), hangs,
			fails(&url.Error{Op: "Get", URL: "https://us.posthog.com/?" + canary, Err: errCut}),
			answers(307, "", "Location", "https://us.posthog.com:x/?"+canary),
		} {
			err := get(t.Context(), newFakeClient(t, newScript(failure)), WithQuery(url.Values{"q": {canary}}))
			require.Error(t, err)
			for ; err != nil; err = errors.Unwrap(err) {
				require.NotContains(t, err.Error(), canary)
				require.NotContains(t, err.Error(), "posthog.com")
			}
		}
	})
}

// A body is sent again whole.
func TestTrapT12BodyRewinds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent []string
		record := func(then step) step {
			return func(r *http.Request) (*http.Response, error) {
				b, err := io.ReadAll(r.Body)
				require.NoError(t, err)
				require.EqualValues(t, len(b), r.ContentLength)
				again, err := r.GetBody()
				require.NoError(t, err)
				b2, err := io.ReadAll(again)
				require.NoError(t, err)
				require.Equal(t, b, b2)
				sent = append(sent, string(b))
				return then(r)
			}
		}
		s := newScript(record(answers(503, "")), record(fails(errCut)), record(answers(200, "{}")))
		err := newFakeClient(t, s).Do(t.Context(), Request{Method: "PATCH", Path: "/x/", Body: map[string]int{"n": 1}, Replay: ReplayIdempotent}, nil)
		require.NoError(t, err)
		require.Equal(t, []string{`{"n":1}`, `{"n":1}`, `{"n":1}`}, sent)
	})
}

// If the first answer to a delete is lost, a repeated delete that finds nothing is a success. A first delete that finds nothing fails.
func TestDeleteThatFindsNothing(t *testing.T) {
	gone := answers(404, `{"code":"not_found","detail":"Not found."}`)
	remove := func(ctx context.Context, s *script) error {
		return newFakeClient(t, s).Do(ctx, Request{Method: http.MethodDelete, Path: "/x/", Replay: ReplayIdempotent}, nil)
	}
	synctest.Test(t, func(t *testing.T) {
		require.NoError(t, remove(t.Context(), newScript(fails(errCut), gone)))
		require.NoError(t, remove(t.Context(), newScript(answers(502, ""), answers(429, ""), gone)))
		require.ErrorIs(t, remove(t.Context(), newScript(answers(502, ""), answers(404, `{"code":"not_found","detail":"Endpoint not found."}`))), ErrUnsupported)
		for _, other := range []step{answers(404, ""), answers(404, `{"code":"not_found","detail":"Project not found."}`)} {
			require.ErrorIs(t, remove(t.Context(), newScript(answers(502, ""), other)), ErrNotFound, "it is the way there that was not found")
		}
		require.ErrorAs(t, remove(t.Context(), newScript(answers(502, ""), answers(404, "<html>"))), new(*APIError))
		require.ErrorIs(t, remove(t.Context(), newScript(gone)), ErrNotFound)
		require.ErrorIs(t, remove(t.Context(), newScript(answers(429, `{"code":"throttled"}`), gone)), ErrNotFound, "a refused try deleted nothing")
		require.NoError(t, remove(t.Context(), newScript(answers(429, "slow down"), gone)), "a proxy's word proves nothing")
		require.ErrorIs(t, remove(t.Context(), newScript(fails(refusedDial), gone)), ErrNotFound, "a try that was not sent deleted nothing")
	})
}

// A call that its context cuts off names the cause, and is of unknown outcome as soon as anything was sent.
func TestContextEndsACall(t *testing.T) {
	reason := errors.New("the program is stopping")
	ends := map[string]struct {
		failure step
		unknown bool
		is      error
	}{
		"during a try":                  {hangs, true, nil},
		"while waiting to dial":         {hangsDialing, false, nil},
		"while waiting to try again":    {answers(429, `{"code":"throttled"}`, "Retry-After", "30"), false, ErrRateLimited},
		"before a try that is not sent": {fails(refusedDial), false, nil},
	}
	for name, tt := range ends {
		t.Run(name, bubble(func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(50*time.Millisecond, func() { cancel(reason) })
			start := time.Now()
			err := create(ctx, newFakeClient(t, newScript(tt.failure)))
			require.Equal(t, 50*time.Millisecond, time.Since(start))
			require.ErrorIs(t, err, context.Canceled)
			require.ErrorIs(t, err, reason)
			require.Equal(t, tt.unknown, errors.Is(err, ErrOutcomeUnknown))
			if tt.is != nil {
				require.ErrorIs(t, err, tt.is)
			}
			ctx, end := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer end()
			err = create(ctx, newFakeClient(t, newScript(tt.failure)))
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, tt.unknown, errors.Is(err, ErrOutcomeUnknown))
		}))
	}
	t.Run("before it begins", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(reason)
		s := newScript(answers(200, "{}"))
		err := create(ctx, newFakeClient(t, s))
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, reason)
		require.NotErrorIs(t, err, ErrOutcomeUnknown)
		require.Zero(t, s.tries.Load())
	})
}

// An answer that cannot be understood.
func TestAnswerThatIsNoJSON(t *testing.T) {
	for _, body := range []string{"", " ", "<html>Welcome</html>", `{"id":`, `{"id":7}`, `[]`, "null x"} {
		var out struct{ ID string }
		s := newScript(answers(200, body))
		err := newFakeClient(t, s).Do(t.Context(), Request{Method: "GET", Path: "/x/"}, &out)
		var decode *DecodeError
		require.ErrorAs(t, err, &decode, body)
		require.Equal(t, strings.TrimSpace(body), string(decode.Body()))
		require.NotErrorIs(t, err, ErrOutcomeUnknown)
		require.EqualValues(t, 1, s.tries.Load())
		if len(body) > 1 {
			require.NotContains(t, err.Error(), body)
		}

		err = newFakeClient(t, newScript(answers(201, body))).call(t.Context(), endpoint(ops.BatchExportsCreate), &out)
		require.ErrorIs(t, err, ErrOutcomeUnknown, body)
		require.ErrorAs(t, err, &decode)
	}
}

// If PostHog's API reference has no body for a call, the call takes an empty answer and a full one.
func TestLenientAnswer(t *testing.T) {
	for body, want := range map[string]string{"": "", " \n": "", `{"id":"x"}`: "x"} {
		var out struct{ ID string }
		r := endpoint(ops.BatchExportsCreate)
		r.lenient = true
		require.NoError(t, newFakeClient(t, newScript(answers(204, body))).call(t.Context(), r, &out))
		require.Equal(t, want, out.ID)
	}
}

// Any 2xx is a success. The raw answer is there on success and on failure, and is empty if there was no answer.
func TestReply(t *testing.T) {
	var reply Reply
	for _, status := range []int{200, 201, 202, 204, 299} {
		require.NoError(t, create(t.Context(), newFakeClient(t, newScript(answers(status, `{"a":1}`, "X-Thing", "y"))), WithReply(&reply)))
		require.Equal(t, status, reply.StatusCode)
		require.Equal(t, "y", reply.Header.Get("X-Thing"))
		require.Equal(t, `{"a":1}`, string(reply.Body))
	}
	require.Error(t, create(t.Context(), newFakeClient(t, newScript(answers(400, `{"a":2}`))), WithReply(&reply)))
	require.Equal(t, 400, reply.StatusCode)
	require.Equal(t, `{"a":2}`, string(reply.Body))
	require.Error(t, create(t.Context(), newFakeClient(t, newScript(fails(errCut))), WithReply(&reply)))
	require.Zero(t, reply)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	client := newFakeClient(t, newScript(answers(200, "{}")))
	reply.StatusCode = 200
	require.Error(t, create(ended, client, WithReply(&reply)))
	require.Zero(t, reply, "it was another call's")
	reply.StatusCode = 200
	_, err := client.Runs.Retry(ended, exportA, runA, nil, WithReply(&reply))
	require.Error(t, err)
	require.Zero(t, reply)
}

// A page for people with status 200 is not a success, even for a call that needs only the status.
func TestPageIsNoSuccess(t *testing.T) {
	for _, page := range []step{answers(200, "\n<!DOCTYPE html><p>Sign in"), answers(200, "Sign in", "Content-Type", "text/html; charset=utf-8")} {
		client := newFakeClient(t, newScript(page))
		calls := map[string]error{
			"pause":   client.BatchExports.Pause(t.Context(), exportA),
			"unpause": failed(client.BatchExports.Unpause(t.Context(), exportA, nil)),
			"delete":  client.BatchExports.Delete(t.Context(), exportA),
			"cancel":  client.Runs.Cancel(t.Context(), exportA, runA),
		}
		for name, err := range calls {
			require.ErrorAs(t, err, new(*DecodeError), name)
			require.Equal(t, name == "cancel", errors.Is(err, ErrOutcomeUnknown), name)
		}
		require.NoError(t, get(t.Context(), client), "Do may be asked for a page")
	}
}

// Answers that do not prove that nothing was done leave a call that must not be repeated of unknown outcome.
func TestAnswersThatRefuseNothing(t *testing.T) {
	for name, answered := range map[string]step{
		"300":                answers(300, ""),
		"301":                answers(301, "", "Location", "/elsewhere/"),
		"302":                answers(302, "", "Location", "/elsewhere/"),
		"303":                answers(303, "", "Location", "/elsewhere/"),
		"304":                answers(304, ""),
		"408":                answers(408, ""),
		"429 of a page":      answers(429, "<html>Slow down"),
		"429 of a proxy":     answers(429, `{"message":"API rate limit exceeded"}`),
		"429 of few words":   answers(429, "slow down", "Content-Type", "text/plain"),
		"429 of none":        answers(429, ""),
		"500":                answers(500, ""),
		"501":                answers(501, ""),
		"501 of its own":     answers(501, `{"type":"server_error","code":"error"}`),
		"505":                answers(505, ""),
		"answer of no words": answers(599, ""),
	} {
		for call, do := range onceCalls() {
			s := newScript(answered, answers(201, "{}"))
			err := do(t.Context(), newFakeClient(t, s))
			require.ErrorIs(t, err, ErrOutcomeUnknown, "%s, %s", call, name)
			require.EqualValues(t, 1, s.tries.Load(), "%s, %s", call, name)
			require.NotErrorIs(t, get(t.Context(), newFakeClient(t, newScript(answered), WithRetryPolicy(RetryPolicy{MaxTries: 1}))), ErrOutcomeUnknown, "a read")
		}
	}
}

// A call was sent if a host has read its request, even if the next connection, after a redirect or for another try, is refused.
func TestCallThatWasReadIsSent(t *testing.T) {
	refuses := fails(&net.OpError{Op: "dial", Err: errCut})
	synctest.Test(t, func(t *testing.T) {
		s := newScript(answers(307, "", "Location", "/elsewhere/"), refuses)
		err := create(t.Context(), newFakeClient(t, s))
		require.ErrorIs(t, err, ErrOutcomeUnknown)
		require.NotContains(t, err.Error(), "nothing was sent")
		require.EqualValues(t, 2, s.tries.Load(), "the request, and that after the redirect")

		s = newScript(fails(errCut), refuses)
		err = get(t.Context(), newFakeClient(t, s))
		transport := as[*TransportError](t, err)
		require.True(t, transport.Sent)
		require.Equal(t, 4, transport.Tries)
		require.NotContains(t, err.Error(), "nothing was sent")
	})
}

// A success with a cut body was carried out, and only its answer cannot be read. A page that is cut is not the service's word.
func TestSuccessThatIsCut(t *testing.T) {
	huge := answers(201, `{"id":"`+strings.Repeat("x", httptry.MaxAnswer)+`"}`)
	for name, tt := range map[string]struct {
		answered step
		done     bool
	}{
		"cut":          {cutBody(201, `{"id":"x","name":"y"}`), true},
		"cut at once":  {cutBody(201, "{"), true},
		"too large":    {huge, true},
		"a page, cut":  {cutBody(200, "<html>Welcome to our network"), false},
		"cut before":   {fails(errCut), false},
		"not readable": {answers(201, `{"id":7}`), false},
		"empty":        {answers(201, ""), false},
	} {
		_, err := newFakeClient(t, newScript(tt.answered)).BatchExports.Create(t.Context(), hostileExport())
		require.ErrorIs(t, err, ErrOutcomeUnknown, name)
		unknown := as[*OutcomeUnknownError](t, err)
		require.Equal(t, tt.done, unknown.Done, name)
		require.Equal(t, tt.done, strings.Contains(err.Error(), "the call was carried out, but its answer could not be read"), err.Error())
		require.Equal(t, !tt.done, strings.Contains(err.Error(), "outcome unknown"), err.Error())
	}
}

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
						r := endpoint(op, slices.Repeat([]string{uuid.NewString()}, strings.Count(endpoints.Of(op).Path, "{"))...)
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

// All creates succeed although the first try of each gets no connection, and each is carried out once.
func TestWhatWasNotSentIsSentAgain(t *testing.T) {
	t.Parallel()
	const workers = 50 // half the retries that the budget has room for at the same time
	calls := longer(1000, 3000, 10_000)
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

type testRow struct{ ID int }

func (r *testRow) complete() error { return has("id", r.ID) }

// The rows of an answer, and why one is refused.
func TestRows(t *testing.T) {
	for body, says := range map[string]string{
		`{"count":2,"results":[{"id":1},{"id":2}],"x":{}}`: "",
		`{"results":[],"count":2}`:                         "",
		`[]`:                                               "not a JSON object",
		`null`:                                             "not a JSON object",
		`{}`:                                               "results missing",
		`{"results":null}`:                                 "the list of rows is missing",
		`{"results":{}}`:                                   "the list of rows is missing",
		`{"results":[],"results":[]}`:                      "results twice",
		`{"results":[{"id":1},{}]}`:                        "row 1: id is missing",
		`{"results":[{"id":1},null]}`:                      "row 1: id is missing",
		`{"results":[{"id":1} , {"id":"x"}]}`:              "row 1: json: cannot unmarshal string",
		`{"results":[]} x`:                                 "unexpected data after the end",
		`{"results":[]`:                                    "EOF",
		`{"results":[{"id":1}`:                             "EOF",
		``:                                                 "EOF",
	} {
		var count int
		rows, err := rowsOf[testRow](t.Context(), []byte(body), "results", map[string]any{"count": &count})
		if says == "" {
			require.NoError(t, err, body)
			require.NotNil(t, rows)
			require.Equal(t, 2, count)
			continue
		}
		require.ErrorContains(t, err, says, body)
	}
}

// A page ends at its limit and with the context.
func TestRowsEnd(t *testing.T) {
	many := func(n int) []byte { return []byte(`{"r":[` + strings.Repeat(`{"id":1},`, n-1) + `{"id":1}]}`) }
	rows, err := rowsOf[testRow](t.Context(), many(maxRows), "r", nil)
	require.NoError(t, err)
	require.Len(t, rows, maxRows)
	_, err = rowsOf[testRow](t.Context(), many(maxRows+1), "r", nil)
	require.ErrorIs(t, err, httptry.ErrTooBig)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(io.ErrNoProgress)
	_, err = rowsOf[testRow](ctx, many(1), "r", nil)
	require.ErrorIs(t, err, io.ErrNoProgress)
}

func TestParts(t *testing.T) {
	require.NoError(t, has("id", 1))
	require.EqualError(t, has("id", 0), "id is missing")
	require.NoError(t, isAskedFor("id", 1, 1))
	require.EqualError(t, isAskedFor("id", 1, 2), "the answer has the id 1, not 2 as requested")
}
