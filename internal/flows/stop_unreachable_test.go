package flows_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/hogapi/hogapi"
	"github.com/hogapi/hogapi/event"
	"github.com/hogapi/hogapi/history"
	"github.com/hogapi/hogapi/hogapitest"
	"github.com/hogapi/hogapi/ops"
)

// The ways in which a host cannot be reached.
const (
	reachable      = ""
	badCertificate = "certificate"
	oldTLS         = "tls"
	wrongScheme    = "wrong scheme"
	otherService   = "another service"
	refusedDial    = "refused"
	unknownName    = "unknown name"
)

// fickleHost is the fake on a real TLS port that can become unreachable.
type fickleHost struct {
	*hogapitest.Server

	url    string
	client *http.Client
	state  atomic.Value
}

func newFickleHost(t *testing.T) *fickleHost {
	f := &fickleHost{Server: hogapitest.New()}
	f.state.Store(reachable)
	host := httptest.NewUnstartedServer(f.Server)
	host.Config.ErrorLog = log.New(io.Discard, "", 0)
	host.Listener = &fickleListener{host.Listener, f}
	good, bad := new(tls.Config), &tls.Config{Certificates: []tls.Certificate{foreignCertificate(t)}}
	host.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		switch f.state.Load() {
		case badCertificate:
			return bad, nil
		case oldTLS:
			return &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11, Certificates: good.Certificates}, nil
		}
		return nil, nil //nolint:nilnil // the configuration as it is
	}}
	host.StartTLS()
	good.Certificates = host.TLS.Certificates
	t.Cleanup(host.Close)
	t.Cleanup(f.Close)
	transport := host.Client().Transport.(*http.Transport).Clone()
	transport.DisableKeepAlives = true
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		switch f.state.Load() {
		case refusedDial:
			address = deadPort(t)
		case unknownName:
			return nil, &net.OpError{Op: "dial", Net: network, Err: &net.DNSError{Err: "no such host", Name: "us.i.posthog.example", IsNotFound: true}}
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	f.url, f.client = host.URL, &http.Client{Transport: transport}
	return f
}

// importing is a client that sends to the host.
func (f *fickleHost) importing(t *testing.T) *hogapi.Client {
	return f.Server.Client(t, hogapi.WithHTTPClient(f.client), hogapi.WithCaptureURL(f.url))
}

// fickleListener answers without TLS where the host's state is so.
type fickleListener struct {
	net.Listener

	host *fickleHost
}

func (l *fickleListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		answer := map[any]string{wrongScheme: "HTTP/1.1 400 Bad Request\r\n\r\n", otherService: "SSH-2.0-OpenSSH_9.9\r\n"}[l.host.state.Load()]
		if answer == "" {
			return conn, nil
		}
		_, _ = io.WriteString(conn, answer)
		_ = conn.Close()
	}
}

// foreignCertificate is one that nobody trusts.
func foreignCertificate(t *testing.T) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// deadPort is an address where nobody listens.
func deadPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if !assert.NoError(t, err) {
		return ""
	}
	defer l.Close()
	return l.Addr().String()
}

// Before the first answer, a wrong set-up stops the import at once. If the network may still come up, the import waits.
func TestHostThatWasNeverReached(t *testing.T) {
	t.Parallel()
	const patience = 200 * time.Millisecond
	for state, want := range map[string]struct {
		reason hogapi.StopReason
		waits  bool
		says   string
	}{
		badCertificate: {hogapi.StopCertificate, false, "certificate signed by unknown authority; check the capture URL, the clock of this machine and its root certificates"},
		oldTLS:         {hogapi.StopTLS, false, "protocol version"},
		wrongScheme:    {hogapi.StopWrongScheme, false, "the server does not speak TLS: check the capture URL"},
		otherService:   {hogapi.StopWrongScheme, false, "the server does not speak TLS: check the capture URL"},
		refusedDial:    {hogapi.StopUnreachable, true, "refused"},
		unknownName:    {hogapi.StopUnreachable, true, "no such host"},
	} {
		for noPreflight, protocol := range map[bool]hogapi.Protocol{false: hogapi.ProtocolBatch, true: hogapi.ProtocolAuto} {
			t.Run(state, func(t *testing.T) {
				t.Parallel()
				host := newFickleHost(t)
				host.state.Store(state)
				begin := time.Now()
				receipt, err := history.Import(t.Context(), host.importing(t), numbered(3000), &history.Options{
					ID: "unreachable", Rate: hogapi.RateUnlimited, Delivery: hogapi.DeliveryOptions{Protocol: protocol, Tuning: hogapi.Tuning{UnreachableAfter: patience, NoPreflight: noPreflight}},
				})
				took := time.Since(begin)
				stop := stopOf(t, err)
				assert.Equal(t, want.reason, stop.Reason, "%v", err)
				require.ErrorContains(t, err, want.says)
				if want.waits {
					assert.GreaterOrEqual(t, took, patience)
					assert.False(t, stop.FailingSince.IsZero())
				}
				assert.Less(t, took, patience+time.Minute, "not the time of an outage")
				requireNeverSent(t, receipt, err)
				assert.Empty(t, host.Calls())
			})
		}
	}
}

// requireNeverSent demands that nothing was sent, and that the error says so.
func requireNeverSent(t *testing.T, receipt hogapi.Receipt, err error) {
	t.Helper()
	assert.Zero(t, receipt.Resent)
	var unsettled *event.UnsettledError
	if receipt.Read == 0 { // it was not even known how events are sent
		require.NotErrorAs(t, err, &unsettled)
		return
	}
	require.ErrorAs(t, err, &unsettled)
	assert.Positive(t, unsettled.Count)
	assert.Equal(t, unsettled.Count, unsettled.NeverSent)
	for ev := range unsettled.Events() {
		assert.False(t, ev.Sent)
	}
	require.ErrorContains(t, err, "; none of them was sent; ")
	assert.EqualValues(t, unsettled.Count, receipt.Pending)
}

// An import waits half a minute for a host that was never reached. After any answer the limit is GiveUpAfter.
func TestFirstAnswerIsWaitedFor(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		first     time.Duration
		preflight hogapitest.Fault
		want      time.Duration
		reason    hogapi.StopReason
	}{
		"the default":           {0, hogapitest.Refuse(), 30 * time.Second, hogapi.StopUnreachable},
		"longer":                {2 * time.Minute, hogapitest.Refuse(), 2 * time.Minute, hogapi.StopUnreachable},
		"as long as an outage":  {-1, hogapitest.Refuse(), 15 * time.Minute, hogapi.StopUnreachable},
		"the preflight answers": {0, hogapitest.Slow(1), 15 * time.Minute, hogapi.StopNoProgress},
		"the preflight has 404": {0, hogapitest.Status(404), 15 * time.Minute, hogapi.StopNoProgress},
	} {
		t.Run(name, parallelBubble(func(t *testing.T) {
			server := hogapitest.New()
			server.Script(ops.Preflight, tt.preflight)
			server.Script(ops.Capture, hogapitest.Always(hogapitest.Refuse()))
			begin := time.Now()
			receipt, err := history.Import(t.Context(), server.Client(t), numbered(100), &history.Options{ID: "dead", Delivery: hogapi.DeliveryOptions{Protocol: hogapi.ProtocolBatch, Tuning: hogapi.Tuning{UnreachableAfter: tt.first}}})
			assert.Equal(t, tt.reason, stopOf(t, err).Reason, "%v", err)
			assert.InDelta(t, tt.want, time.Since(begin), float64(10*time.Second))
			require.ErrorContains(t, err, "refused")
			requireNeverSent(t, receipt, err)
		}))
	}
}

// While nothing gets through, Stats say why and since when, and so does the error of a cancelation.
func TestStatsSayWhyNothingGetsThrough(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		fault hogapitest.Fault
		says  string
	}{
		"refused": {hogapitest.Refuse(), "dial tcp"},
		"503":     {hogapitest.Status(503), "the server answered 503: transient error, please retry"},
		"silence": {hogapitest.Slow(time.Hour), "the time limit of a try, 1m0s, is over"},
	} {
		t.Run(name, parallelBubble(func(t *testing.T) {
			server, client := fake(t)
			server.Script(ops.Capture, hogapitest.Always(tt.fault))
			why := errors.New("the operator pressed a key")
			ctx, cancel := context.WithCancelCause(t.Context())
			begin := time.Now()
			time.AfterFunc(10*time.Minute, func() { server.ClearScript(ops.Capture) })
			var seen []hogapi.Stats
			options := history.Options{
				ID: "why", OnProgress: func(s hogapi.Stats) { seen = append(seen, s) },
				Delivery: hogapi.DeliveryOptions{Protocol: hogapi.ProtocolBatch, Tuning: hogapi.Tuning{UnreachableAfter: -1, NoPreflight: true}},
			}
			time.AfterFunc(5*time.Minute+30*time.Second, func() { cancel(why) }) // within a try of a service that is silent
			_, err := history.Import(ctx, client, numbered(100), &options)
			require.ErrorIs(t, err, why)
			require.ErrorIs(t, err, context.Canceled)
			assert.Equal(t, 1, strings.Count(stopOf(t, err).Error(), why.Error()), "it says so once: %v", err)
			stop := stopOf(t, err)
			assert.Equal(t, hogapi.StopCanceled, stop.Reason)
			require.ErrorContains(t, stop.Failure, tt.says)
			require.ErrorContains(t, err, "the last error: ")
			require.ErrorContains(t, err, tt.says)
			require.ErrorContains(t, err, "; failing since "+stop.FailingSince.UTC().Format(time.RFC3339))
			last := seen[len(seen)-1]
			require.ErrorContains(t, last.LastError, tt.says)
			assert.Equal(t, stop.FailingSince, last.FailingSince)
			assert.Contains(t, last.String(), "read 100, acknowledged 0, rejected 0, pending 100, resent ")
			assert.Contains(t, last.String(), "; failing since "+last.FailingSince.UTC().Format(time.TimeOnly)+" UTC: ")
			assert.Contains(t, last.String(), tt.says)
			firstSeen := slices.IndexFunc(seen, func(s hogapi.Stats) bool { return s.LastError != nil })
			assert.Less(t, seen[firstSeen].FailingSince.Sub(begin), 62*time.Second, "within the time of one try")

			seen = nil
			imported(t, client, numbered(100), &options) // until the fault is over
			assert.True(t, slices.ContainsFunc(seen, func(s hogapi.Stats) bool { return s.LastError != nil }))
			last = seen[len(seen)-1]
			require.NoError(t, last.LastError)
			assert.True(t, last.FailingSince.IsZero())
			assert.NotContains(t, last.String(), "failing")
		}))
	}
}

// A server that wants a client certificate says so, in TLS 1.3 only after the request.
func TestHostThatWantsAClientCertificate(t *testing.T) {
	t.Parallel()
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		host := httptest.NewUnstartedServer(http.NotFoundHandler())
		host.Config.ErrorLog = log.New(io.Discard, "", 0)
		host.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert, MaxVersion: version}
		host.StartTLS()
		client := hogapitest.New().Client(t, hogapi.WithHTTPClient(host.Client()), hogapi.WithCaptureURL(host.URL))
		_, err := history.Import(t.Context(), client, numbered(10), &history.Options{ID: "tls"})
		assert.Equal(t, hogapi.StopTLS, stopOf(t, err).Reason)
		require.ErrorContains(t, err, "certificate")
		require.ErrorContains(t, err, "if the server wants a client certificate, give WithHTTPClient one")
		host.Close()
	}
}
