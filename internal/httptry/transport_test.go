package httptry

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/time/rate"
)

var errCut = errors.New("the connection was cut")

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answers gives one answer to every request; headers are pairs of name and value.
func answers(status int, body string, headers ...string) roundTrip {
	return func(r *http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i+1 < len(headers); i += 2 {
			h.Set(headers[i], headers[i+1])
		}
		return &http.Response{
			StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: h,
			ContentLength: int64(len(body)), Body: io.NopCloser(strings.NewReader(body)), Request: r,
		}, nil
	}
}

func fails(err error) roundTrip {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// hangs gives no answer until the try is ended.
func hangs(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

const home = "https://home.test/things/"

// planned is a request to home with a plan, which is completed.
func planned(t *testing.T, plan *Plan, target string) *http.Request {
	plan.Origin = "https://home.test:443"
	if plan.Timeout == 0 {
		plan.Timeout = time.Second
	}
	r, err := http.NewRequestWithContext(plan.In(t.Context()), http.MethodPost, target, strings.NewReader("x"))
	require.NoError(t, err)
	return r
}

// do sends a request of a plan to a transport, by the client of the API.
func do(t *testing.T, base roundTrip, plan *Plan) (Try, error) {
	clients := NewClients(&http.Client{Transport: base}, 0, nil, nil)
	resp, err := clients.API().Do(planned(t, plan, home))
	if err != nil {
		return Try{}, NoURL(err)
	}
	defer resp.Body.Close()
	return *plan.try, nil
}

// The transport sends a request only to its own origin, and only as a try of a plan.
func TestTransportGuardsTheOrigin(t *testing.T) {
	sent := 0
	clients := NewClients(&http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
		sent++
		return nil, errCut
	})}, 0, nil, nil)
	for _, client := range []*http.Client{clients.API(), clients.Capture()} {
		for _, target := range []string{
			"https://other.test/", "http://home.test/", "https://home.test:444/", "https://sub.home.test/",
		} {
			var plan Plan
			_, err := client.Do(planned(t, &plan, target)) //nolint:bodyclose // no answer comes
			require.ErrorIs(t, err, ErrForeignOrigin, target)
			require.True(t, plan.take(nil, nil).Unsent)
		}
		r := planned(t, new(Plan), home).WithContext(t.Context())
		_, err := client.Do(r) //nolint:bodyclose // no answer comes
		require.ErrorIs(t, err, ErrForeignOrigin, "no plan")
	}
	require.Zero(t, sent)
}

// A try is taken once. The next one was not sent before it was made.
func TestTriesAreTakenOnce(t *testing.T) {
	var plan Plan
	require.Equal(t, Try{Unsent: true}, plan.take(nil, nil))
	_, err := do(t, fails(errCut), &plan)
	require.ErrorIs(t, err, errCut)
	require.False(t, plan.take(nil, nil).Unsent, "a transport that does not trace may have sent anything")
	require.True(t, plan.take(nil, nil).Unsent)
}

// A request that was answered with a redirect was sent, also where the redirect leads to a host that cannot be reached.
func TestFactsOfARedirectAreKept(t *testing.T) {
	for name, second := range map[string]roundTrip{
		"refused": func(r *http.Request) (*http.Response, error) {
			httptrace.ContextClientTrace(r.Context()).GetConn("home.test:443")
			return nil, errors.New("connection refused")
		},
		"hangs": hangs,
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var plan Plan
				_, err := do(t, func(r *http.Request) (*http.Response, error) {
					time.Sleep(100 * time.Millisecond) // virtual
					if r.Response != nil {
						return second(r)
					}
					return answers(http.StatusTemporaryRedirect, "", "Location", home+"new/")(r)
				}, &plan)
				require.Error(t, err)
				facts := plan.take(nil, nil)
				require.False(t, facts.Unsent)
				require.GreaterOrEqual(t, facts.Duration, 200*time.Millisecond)
				require.LessOrEqual(t, facts.Duration, time.Second, "the redirect is within the limit of the try")
			})
		})
	}
}

func TestMark(t *testing.T) {
	type key struct{}
	plan := Plan{Mark: func(ctx context.Context) context.Context { return context.WithValue(ctx, key{}, "marked") }}
	_, err := do(t, func(r *http.Request) (*http.Response, error) {
		require.Equal(t, "marked", r.Context().Value(key{}))
		return answers(200, "")(r)
	}, &plan)
	require.NoError(t, err)
}

// A try that the host does not answer ends with its limit: a timeout, not the caller's deadline.
func TestTimeLimitOfATry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start, plan := time.Now(), Plan{Timeout: 3 * time.Second}
		_, err := do(t, hangs, &plan)
		require.ErrorIs(t, err, ErrTimeout)
		require.NotErrorIs(t, err, context.DeadlineExceeded)
		timeout, ok := errors.AsType[timeoutError](err)
		require.True(t, ok)
		require.True(t, timeout.Timeout())
		require.Equal(t, 3*time.Second, time.Since(start))
		require.Equal(t, 3*time.Second, plan.take(nil, nil).Duration)
	})
}

// The wait for the pace is not part of a try, and one without hope is not begun.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clients := NewClients(&http.Client{Transport: answers(200, "")}, 0, rate.NewLimiter(1, 1), nil)
		send := func(ctx context.Context, client *http.Client) error {
			plan := Plan{Timeout: 100 * time.Millisecond}
			r := planned(t, &plan, home)
			_, err := client.Do(r.WithContext(plan.In(ctx))) //nolint:bodyclose // it is in memory
			require.Zero(t, plan.take(nil, nil).Duration)
			return NoURL(err)
		}
		start := time.Now()
		for range 3 {
			require.NoError(t, send(t.Context(), clients.API()))
			require.NoError(t, send(t.Context(), clients.Capture()), "it has no pace")
		}
		require.Equal(t, 2*time.Second, time.Since(start))
		ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
		defer cancel()
		err := send(ctx, clients.API())
		require.ErrorIs(t, err, errPace)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 2*time.Second, time.Since(start))
		ended, end := context.WithCancelCause(t.Context())
		time.AfterFunc(100*time.Millisecond, func() { end(errCut) })
		err = send(ended, clients.API())
		require.ErrorIs(t, err, context.Canceled)
		require.ErrorIs(t, err, errCut)
	})
}

// A transport that repeats a request by itself is stopped: whether it is repeated is not for it
// to say.
func TestTransportMayNotRepeat(t *testing.T) {
	var again bool
	_, err := do(t, func(r *http.Request) (*http.Response, error) {
		trace := httptrace.ContextClientTrace(r.Context())
		trace.GetConn("")
		trace.GotConn(httptrace.GotConnInfo{})
		trace.WroteHeaders()
		_, err := r.GetBody()
		require.ErrorIs(t, err, errReset)
		trace.GotConn(httptrace.GotConnInfo{})
		again = r.Context().Err() == nil
		return hangs(r)
	}, new(Plan))
	require.ErrorIs(t, err, errReset)
	require.False(t, again)
}

// Of a connection that had been kept and ended under the request the facts say so.
func TestStaleConnection(t *testing.T) {
	for _, reused := range []bool{false, true} {
		var plan Plan
		_, err := do(t, func(r *http.Request) (*http.Response, error) {
			httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{Reused: reused})
			return nil, errCut
		}, &plan)
		require.ErrorIs(t, err, errCut)
		facts := plan.take(nil, nil)
		require.Equal(t, reused, facts.Stale)
		require.False(t, facts.Unsent)
	}
}

func TestTimeLimits(t *testing.T) {
	for _, tt := range []struct{ try, own, api, capture time.Duration }{
		{0, 0, DefaultAPI, DefaultCapture},
		{time.Second, 0, time.Second, time.Second},
		{0, 45 * time.Second, DefaultAPI, 45 * time.Second},
		{2 * time.Minute, time.Minute, time.Minute, time.Minute},
	} {
		clients := NewClients(&http.Client{Timeout: tt.own}, tt.try, nil, nil)
		require.Equal(t, []time.Duration{tt.api, tt.capture}, []time.Duration{clients.TryAPI, clients.TryCapture})
	}
}

func TestContextError(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errCut)
	require.ErrorIs(t, ContextError(ctx), context.Canceled)
	require.ErrorIs(t, ContextError(ctx), errCut)
	ctx, stop := context.WithCancel(t.Context())
	stop()
	require.Equal(t, context.Canceled, ContextError(ctx))
}

func TestNoURL(t *testing.T) {
	require.NoError(t, NoURL(nil))
	inner := &url.Error{Op: "Get", URL: home, Err: errCut}
	require.Equal(t, errCut, NoURL(&url.Error{Op: "Get", URL: home, Err: inner}))
}

// A request counts as unsent only with proof.
func TestUnsentNeedsAProof(t *testing.T) {
	dial := &net.OpError{Op: "dial", Err: errors.New("refused")}
	for name, tt := range map[string]struct {
		watch  func(*writeWatch)
		err    error
		unsent bool
	}{
		"no trace, some error":         {func(*writeWatch) {}, errCut, false},
		"no trace, could not dial":     {func(*writeWatch) {}, dial, true},
		"no trace, a read failed":      {func(*writeWatch) {}, &net.OpError{Op: "read", Err: errCut}, false},
		"asked for a connection":       {func(w *writeWatch) { w.asked.Store(true) }, errCut, true},
		"got one":                      {func(w *writeWatch) { w.asked.Store(true); w.got.Store(true) }, errCut, false},
		"got one, then could not dial": {func(w *writeWatch) { w.asked.Store(true); w.got.Store(true) }, dial, false},
	} {
		t.Run(name, func(t *testing.T) {
			var w writeWatch
			tt.watch(&w)
			require.Equal(t, tt.unsent, w.unsent(tt.err))
		})
	}
}

func TestOriginOf(t *testing.T) {
	for text, want := range map[string]string{
		"https://Host/x":    "https://host:443",
		"http://host":       "http://host:80",
		"HTTPS://host:8443": "https://host:8443",
		"http://[::1]:9/":   "http://[::1]:9",
		"http://[::1]/":     "http://[::1]:80",
	} {
		u, err := url.Parse(text)
		require.NoError(t, err)
		require.Equal(t, want, OriginOf(u))
	}
}

// redirects answers with a redirect until its requests have reached the place.
type redirects struct {
	status int
	to     string
	seen   []*http.Request
}

func (r *redirects) RoundTrip(req *http.Request) (*http.Response, error) {
	r.seen = append(r.seen, req)
	if req.URL.Path == "/place/" {
		return answers(201, "{}")(req)
	}
	return answers(r.status, "", "Location", r.to)(req)
}

// A circle of redirects ends. The client for events follows nothing, not even within its origin: its key is in the body.
func TestFollowedRedirectsEnd(t *testing.T) {
	base := &redirects{status: 308, to: "/things/"}
	clients := NewClients(&http.Client{Transport: base}, 0, nil, nil)
	for want, client := range map[int]*http.Client{1 + MaxRedirects: clients.API(), 1: clients.Capture()} {
		base.seen = nil
		resp, err := client.Do(planned(t, new(Plan), home)) //nolint:bodyclose // it is in memory
		require.NoError(t, err)
		require.Equal(t, 308, resp.StatusCode)
		require.Len(t, base.seen, want)
	}
}
