package hogapi

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/hogapi/hogapi/internal/endpoints"
	"github.com/hogapi/hogapi/internal/wire"
	"github.com/hogapi/hogapi/ops"
)

// longer chooses the figure of the gate, the nightly run or the deep run.
func longer(gate, nightly, deep int) int {
	switch os.Getenv("HOGAPI_TEST") {
	case "nightly":
		return nightly
	case "deep":
		return deep
	}
	return gate
}

// roundTrip is a transport that is a function. It never traces, so a failed try counts as sent unless it could not dial.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	return f(r)
}

// newFakeClient is a client over a transport of the test.
func newFakeClient(t testing.TB, transport http.RoundTripper, options ...Option) *Client {
	t.Helper()
	client, err := NewClient(append(good(WithHTTPClient(&http.Client{Transport: transport})), options...)...)
	require.NoError(t, err)
	return client
}

// walked is all that a walk gives, which must not fail.
func walked[T any](t *testing.T, seq iter.Seq2[T, error]) (all []T) {
	t.Helper()
	for item, err := range seq {
		require.NoError(t, err)
		all = append(all, item)
	}
	return all
}

// failed is the error of a call. Its other result does not matter.
func failed(_ any, err error) error { return err }

// as is the error of a type within an error.
func as[T error](t *testing.T, err error) (found T) {
	t.Helper()
	require.ErrorAs(t, err, &found)
	return found
}

// answer makes an answer; headers are pairs of name and value.
func answer(r *http.Request, status int, body string, headers ...string) *http.Response {
	h := http.Header{"Content-Type": {"application/json"}}
	for i := 0; i+1 < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{
		StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h,
		ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)), Request: r,
	}
}

// A step is one try of a scripted transport.
type step func(*http.Request) (*http.Response, error)

func answers(status int, body string, headers ...string) step {
	return func(r *http.Request) (*http.Response, error) { return answer(r, status, body, headers...), nil }
}

func fails(err error) step { return func(*http.Request) (*http.Response, error) { return nil, err } }

// hangs gives no answer until the try is ended.
func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, context.Cause(r.Context())
}

// script plays one step a try; the last one again and again.
type script struct {
	steps []step
	tries atomic.Int64
	times []time.Time // of each try; not for concurrent use
}

func newScript(steps ...step) *script { return &script{steps: steps} }

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	n := int(s.tries.Add(1))
	s.times = append(s.times, time.Now())
	if r.Body != nil {
		defer r.Body.Close()
	}
	return s.steps[min(n, len(s.steps))-1](r)
}

// waits are the times between tries.
func (s *script) waits() []time.Duration {
	var all []time.Duration
	for i := 1; i < len(s.times); i++ {
		all = append(all, s.times[i].Sub(s.times[i-1]))
	}
	return all
}

var errCut = errors.New("the connection was cut")

// get and create are the simplest calls of their replay class.
func get(ctx context.Context, c *Client, options ...CallOption) error {
	return c.Do(ctx, Request{Method: http.MethodGet, Path: "/things/"}, nil, options...)
}

func create(ctx context.Context, c *Client, options ...CallOption) error {
	r := endpoint(ops.BatchExportsCreate)
	r.body = map[string]string{"name": "x"}
	return c.call(ctx, r, nil, options...)
}

// onceCalls are the calls that must not be repeated blindly, by name.
func onceCalls() map[string]func(context.Context, *Client) error {
	calls := map[string]func(context.Context, *Client) error{
		"POST by Do": func(ctx context.Context, c *Client) error {
			return c.Do(ctx, Request{Method: http.MethodPost, Path: "/things/"}, nil)
		},
	}
	for _, row := range endpoints.All() {
		op := row.Name
		if row.Replay != endpoints.Never {
			continue
		}
		calls[string(op)] = func(ctx context.Context, c *Client) error {
			return c.call(ctx, endpointByID(op, slices.Repeat([]uuid.UUID{uuid.New()}, strings.Count(row.Path, "{"))...), nil)
		}
	}
	return calls
}

// refusedDial is a refused connection: nothing can have been sent.
var refusedDial = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}

// hangsDialing asks for a connection and never gets one.
func hangsDialing(r *http.Request) (*http.Response, error) {
	if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.GetConn != nil {
		trace.GetConn(r.URL.Host)
	}
	return hangs(r)
}

// bubble is a test in virtual time.
func bubble(test func(t *testing.T)) func(t *testing.T) {
	return func(t *testing.T) { synctest.Test(t, test) }
}

// loopback is a listener on this machine.
func loopback(t *testing.T) net.Listener {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return listener
}

// serve handles the connections of a listener until the test ends, or until stop, which waits for the handlers.
func serve(t *testing.T, listener net.Listener, handle func(net.Conn)) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			serving.Go(func() {
				defer conn.Close()
				defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
				handle(conn)
			})
		}
	})
	stop = sync.OnceFunc(func() {
		cancel()
		_ = listener.Close()
		serving.Wait()
	})
	t.Cleanup(stop)
	return stop
}

// readRequest reads a request with its body.
func readRequest(r *bufio.Reader) bool {
	req, err := http.ReadRequest(r)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err == nil
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var testTime = time.Date(2024, 2, 29, 23, 59, 59, 123456789, time.FixedZone("", 5*3600+1800))

func testEvent() Event {
	return Event{
		Name: "$pageview", DistinctID: "user-1", Timestamp: testTime, UUID: uuid.MustParse("461fc531-6209-5996-b1b1-a8aa997a6516"),
		Properties: map[string]any{"b": 1, "a": "x"},
	}
}

// The options reach the gate.
func TestGateOptions(t *testing.T) {
	got := GateOptions{MinAge: -1, PersonPolicy: PersonPolicyStrip, StripHeatmaps: true, AllowMergeDangerously: true}.rules(ProtocolV1)
	assert.Equal(t, wire.Rules{
		MinAge: -1, PersonPolicy: PersonPolicyStrip, StripHeatmaps: true, AllowMergeDangerously: true, Protocol: ProtocolV1,
	}, got)
	assert.Equal(t, PersonPolicySetOnce, GateOptions{PersonPolicy: PersonPolicySetOnce}.rules(ProtocolAuto).PersonPolicy)
	assert.Zero(t, GateOptions{}.rules(ProtocolAuto))
}
