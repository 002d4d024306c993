package httptry

import (
	"crypto/tls"
	"net"
	"net/http"
	"time"

	"golang.org/x/time/rate"
)

// Time limits of one try, unless the caller sets others.
const (
	DefaultAPI     = 30 * time.Second
	DefaultCapture = 60 * time.Second
)

// Timeouts are the time limits of one try.
type Timeouts struct{ API, Capture time.Duration }

// NewTimeouts returns the limits of a caller. try is the caller's limit for a try, or 0. own is the
// caller's client, or nil; its timeout is a limit too.
func NewTimeouts(try time.Duration, own *http.Client) Timeouts {
	t := Timeouts{API: DefaultAPI, Capture: DefaultCapture}
	if try > 0 {
		t = Timeouts{API: try, Capture: try}
	}
	if own != nil && own.Timeout > 0 {
		t.API = min(t.API, own.Timeout)
		t.Capture = min(t.Capture, own.Timeout)
	}
	return t
}

// Clients are the HTTP clients of the two origins. They are functions: a transport's buffers hold
// keys, and tools that print a structure by reflection cannot look into a function.
type Clients struct {
	API     func() *http.Client
	Capture func() *http.Client      // without the pace and without redirects
	Base    func() http.RoundTripper // the caller's transport, as it is

	CloseIdle func() // closes the connections that are kept, except those of the caller's transport
}

// NewClients makes clients from a copy of the caller's own client, which may be nil. The pace, which may be
// nil too, is for the API only. panicked makes the error of a try in which the caller's transport has panicked.
func NewClients(own *http.Client, pace *rate.Limiter, panicked func(value any) error) Clients {
	var base http.Client
	if own != nil {
		base = *own
	}
	dropKept := func() {} // the caller's own connections are the caller's
	if base.Transport == nil {
		t := DefaultTransport()
		base.Transport, dropKept = t, t.CloseIdleConnections
	} else if _, isPlain := base.Transport.(*http.Transport); !isPlain {
		base.Transport = guarded{base.Transport, panicked}
	}
	base.Timeout = 0 // each try has a limit of its own; a timeout here would span the wait for the pace
	api, capture := base, base
	api.Transport = &transport{base: base.Transport, pace: pace, dropKept: dropKept}
	api.CheckRedirect = followSameOrigin
	capture.Transport = &transport{base: base.Transport, dropKept: dropKept}
	capture.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return Clients{
		API:     func() *http.Client { return &api },
		Capture: func() *http.Client { return &capture },
		Base:    func() http.RoundTripper { return base.Transport },

		CloseIdle: dropKept,
	}
}

// DefaultTransport returns the transport for a caller that sets no transport.
func DefaultTransport() *http.Transport {
	// A connection that died in an outage must not take requests, which would wait for their time
	// limit. TCP probes idle connections. HTTP/2 sends pings, since a timeout does not end its
	// connection.
	dialer := &net.Dialer{
		Timeout:         10 * time.Second,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3},
	}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           100,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        90 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
		HTTP2:                  &http.HTTP2Config{SendPingTimeout: 10 * time.Second, PingTimeout: 5 * time.Second},
	}
}
