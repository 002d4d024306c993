package httptry

import (
	"io"
	"net/http"
)

// guarded is a caller's transport. A panic in it fails the try.
type guarded struct {
	http.RoundTripper

	panicked func(value any) error
}

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(req *http.Request) (resp *http.Response, err error) {
	defer func() {
		if p := recover(); p != nil {
			resp, err = refuse(req, g.panicked(p)) //nolint:bodyclose // a refusal has no body
		}
	}()
	resp, err = g.RoundTripper.RoundTrip(req)
	if err == nil && resp != nil && resp.Body != nil {
		resp.Body = guardedBody{resp.Body, g.panicked}
	}
	return resp, err
}

// CloseIdleConnections closes the connections that the transport keeps, if it can.
func (g guarded) CloseIdleConnections() {
	if keeps, ok := g.RoundTripper.(interface{ CloseIdleConnections() }); ok {
		keeps.CloseIdleConnections()
	}
}

type guardedBody struct {
	io.ReadCloser

	panicked func(value any) error
}

// Read implements io.Reader.
func (b guardedBody) Read(p []byte) (n int, err error) {
	defer func() {
		if value := recover(); value != nil {
			n, err = 0, b.panicked(value)
		}
	}()
	return b.ReadCloser.Read(p)
}
