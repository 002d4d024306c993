package httptry

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
)

// writeWatch knows from the transport's trace whether a request can have reached the network. It also ends
// a try that the transport repeats by itself: net/http does so on another connection after a GOAWAY, a
// refused stream or a connection that was closed, even for a create, and without end. The replay class and
// the retry policy decide whether and when a request is repeated.
type writeWatch struct {
	asked, got, wrote atomic.Bool
	reused            atomic.Bool // the connection had served another request before
	replayed          func()
}

func (w *writeWatch) trace() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GetConn: func(string) { w.asked.Store(true) },
		GotConn: func(c httptrace.GotConnInfo) {
			if w.wrote.Load() {
				w.replayed()
			}
			w.got.Store(true)
			w.reused.Store(c.Reused)
		},
		WroteHeaders: func() { w.wrote.Store(true) },
	}
}

// once keeps the transport from writing a body a second time: after the header has been written, it returns
// no further copy of the body.
func (w *writeWatch) once(req *http.Request) *http.Request {
	if open := req.GetBody; open != nil {
		req.GetBody = func() (io.ReadCloser, error) {
			if w.wrote.Load() {
				return nil, errReset
			}
			return open()
		}
	}
	return req
}

// unsent requires proof: the transport traces and never got a connection, or the error says that it could
// not dial. A transport that does not trace and fails otherwise may have sent the request.
func (w *writeWatch) unsent(err error) bool {
	if w.got.Load() {
		return false
	}
	var op *net.OpError
	return w.asked.Load() || errors.As(err, &op) && op.Op == "dial"
}
