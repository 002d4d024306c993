package flows_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/hogapitest"
)

// flaky is a real server behind a real name server. After its first answer it is out of order for some requests.
type flaky struct {
	client   *hogapi.Client
	requests atomic.Int32 // answered
	lookups  atomic.Int32 // begun
	unknown  atomic.Bool  // the name server knows no name
}

// newFlaky returns a server that gives the n-th request, from 1, the answer of outage. If that is false, it answers
// with a run, which is over if the request is the last.
func newFlaky(t *testing.T, last int, outage func(w http.ResponseWriter, n int) bool, noName ...int32) *flaky {
	t.Helper()
	f := new(flaky)
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := int(f.requests.Add(1))
		if outage(w, n) {
			return
		}
		status := map[bool]string{false: "Running", true: "Completed"}[n >= last]
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"id":"%s","status":"%s","data_interval_end":"2024-05-01T00:00:00Z"}`, r.PathValue("run"), status)
	}))
	t.Cleanup(host.Close)
	host.Config.Handler = handleRun(host.Config.Handler)
	names, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = names.Close() })
	go f.serveNames(names)
	dialer := &net.Dialer{Resolver: &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", names.LocalAddr().String())
	}}}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		f.unknown.Store(slices.Contains(noName, f.lookups.Add(1)))
		return dialer.DialContext(ctx, network, address)
	}}
	u, err := url.Parse(host.URL)
	require.NoError(t, err)
	f.client, err = hogapi.NewClient(hogapi.WithBaseURL("http://cloud.example:"+u.Port()), hogapi.WithInsecureHTTP(), hogapi.WithProject("12345"),
		hogapi.WithPersonalAPIKey("phx_Outage0000000"), hogapi.WithHTTPClient(&http.Client{Transport: transport}),
		hogapi.WithRetryPolicy(hogapi.RetryPolicy{BaseDelay: time.Millisecond, MaxTries: 3}))
	require.NoError(t, err)
	return f
}

func handleRun(h http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/api/projects/12345/batch_exports/{export}/runs/{run}/", h)
	return mux
}

// serveNames answers each question for an address with this machine's, or says that the name does not exist.
func (f *flaky) serveNames(names net.PacketConn) {
	question := make([]byte, 512)
	for {
		n, from, err := names.ReadFrom(question)
		if err != nil {
			return
		}
		end := 12
		for end < n && question[end] != 0 {
			end += int(question[end]) + 1
		}
		end += 5
		answer := slices.Clone(question[:end])
		binary.BigEndian.PutUint16(answer[2:], 0x8180)
		binary.BigEndian.PutUint32(answer[8:], 0) // neither authority nor additional records
		switch isIPv4 := question[end-3] == 1; {
		case f.unknown.Load():
			answer[3] |= 3
		case isIPv4:
			answer[7] = 1
			answer = append(answer, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1)
		}
		_, _ = names.WriteTo(answer, from)
	}
}

// A proxy's own failures, and a name that is lost for a moment, end neither a read nor a wait.
func TestOutagesThatPass(t *testing.T) {
	t.Parallel()
	none := func(http.ResponseWriter, int) bool { return false }
	for name, tt := range map[string]struct {
		outage func(http.ResponseWriter, int) bool
		noName []int32
	}{
		"Cloudflare": {func(w http.ResponseWriter, n int) bool {
			if n < 2 || n > 12 {
				return false
			}
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader(518 + n) // 520 to 530
			_, _ = w.Write([]byte("<html>cloudflare</html>"))
			return true
		}, nil},
		"a lost name": {none, []int32{2, 3, 4, 5, 6, 7, 8}},
		"too early": {func(w http.ResponseWriter, n int) bool {
			if n == 2 {
				w.WriteHeader(http.StatusTooEarly)
			}
			return n == 2
		}, nil},
		"a proxy's pages": {func(w http.ResponseWriter, n int) bool {
			if n < 2 || n > 4 {
				return false
			}
			w.Header().Set("Content-Type", "text/html")
			w.WriteHeader([]int{200, 403, 404}[n-2])
			_, _ = w.Write([]byte("<html>back soon</html>"))
			return true
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFlaky(t, 14, tt.outage, tt.noName...)
			run, err := f.client.Runs.Wait(t.Context(), uuid.New(), uuid.New(), &hogapi.WatchOptions{Interval: time.Millisecond, MaxInterval: time.Millisecond})
			require.NoError(t, err)
			assert.Equal(t, hogapi.RunStatusCompleted, run.Status)
		})
	}
	f := newFlaky(t, 1, none, 2, 3)
	for range 2 {
		_, err := f.client.Runs.Get(t.Context(), uuid.New(), uuid.New())
		require.NoError(t, err)
	}
	assert.EqualValues(t, 4, f.lookups.Load())
	f = newFlaky(t, 1, none, 1)
	_, err := f.client.Runs.Get(t.Context(), uuid.New(), uuid.New())
	require.ErrorContains(t, err, "no such host", "a name that was never found is a mistake")
	assert.EqualValues(t, 1, f.lookups.Load())
}

// A service that computes before it answers gets one long try. Too much work is final, and costs nothing of the budget for
// retries that all calls share.
func TestBlockingRefreshesHaveOneLongTry(t *testing.T) {
	t.Parallel()
	var status, requests atomic.Int32
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		if s := int(status.Load()); s != 0 {
			w.WriteHeader(s)
			return
		}
		time.Sleep(500 * time.Millisecond)
		_, _ = w.Write([]byte(`{"id":7,"name":"a","tiles":[]}`))
	}))
	defer host.Close()
	client, err := hogapi.NewClient(hogapi.WithBaseURL(host.URL), hogapi.WithProject("12345"), hogapi.WithPersonalAPIKey("phx_Blocking000000"),
		hogapi.WithTryTimeout(250*time.Millisecond), hogapi.WithRetryPolicy(hogapi.RetryPolicy{MaxTries: 2}))
	require.NoError(t, err)
	get := func(refresh string) error {
		_, err := client.Dashboards.Get(t.Context(), 7, hogapi.WithQuery(url.Values{"refresh": {refresh}}))
		return err
	}
	for _, refresh := range []string{"blocking", "force_blocking", "true", "async_except_on_cache_miss"} {
		require.NoError(t, get(refresh))
	}
	require.EqualValues(t, 4, requests.Load())
	require.Error(t, get("force_cache"), "which is of no use to wait for")
	require.EqualValues(t, 6, requests.Load())
	for range 150 { // each would cost 5 of 500 tokens
		for _, tooMuch := range []int32{504, 512, 524} {
			status.Store(tooMuch)
			require.EqualValues(t, tooMuch, as[*hogapi.APIError](t, get("blocking")).StatusCode)
		}
	}
	require.EqualValues(t, 6+3*150, requests.Load())
	status.Store(503)
	require.ErrorContains(t, get("blocking"), "[2 tries]")
}

// By default, a wait survives an outage of some minutes.
func TestAWaitSurvivesAnOutageOfMinutes(t *testing.T) {
	t.Parallel()
	bubble(func(t *testing.T) {
		s := hogapitest.New()
		client, project := s.Client(t), defaultProject(s)
		export := project.AddExport(hogapitest.Export{})
		ticket, err := client.BatchExports.Backfill(t.Context(), export, anHour(), anyAge)
		require.NoError(t, err)
		s.SetDown(true)
		time.AfterFunc(8*time.Minute, func() { s.SetDown(false) })
		_, err = client.Backfills.Wait(t.Context(), ticket, nil)
		require.NoError(t, err)
	})(t)
}

// The connections of a client that is no longer used can be closed.
func TestCloseIdleConnections(t *testing.T) {
	var open atomic.Int32
	host := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"id":7,"name":"a","tiles":[]}`))
	}))
	closed := make(chan bool, 200)
	host.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			open.Add(1)
		case http.StateClosed:
			open.Add(-1)
			closed <- true
		default:
		}
	}
	host.Start()
	defer host.Close()
	own := &http.Client{Transport: &http.Transport{}}
	defer own.CloseIdleConnections()
	for i := range 51 {
		options := []hogapi.Option{hogapi.WithBaseURL(host.URL), hogapi.WithProject("12345"), hogapi.WithPersonalAPIKey("phx_Idle000000")}
		if i == 50 {
			options = append(options, hogapi.WithHTTPClient(own))
		}
		client, err := hogapi.NewClient(options...)
		require.NoError(t, err)
		_, err = client.ForProject("67890").Dashboards.Get(t.Context(), 7)
		require.NoError(t, err)
		client.CloseIdleConnections()
	}
	for range 50 {
		<-closed
	}
	assert.EqualValues(t, 1, open.Load(), "the caller's own")
}
