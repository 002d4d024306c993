package hogapitest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"os"
	"strconv"
	"syscall"
)

// The origins of the in-process service. Its transport answers for every host.
const (
	apiOrigin     = "https://app.hogapitest.example"
	captureOrigin = "https://in.hogapitest.example"
)

// Transport carries requests for every host to the server without a socket or a goroutine, so it works inside a
// [testing/synctest] bubble. Like that of net/http it closes request bodies, obeys contexts and fires the hooks of
// [net/http/httptrace].
func (s *Server) Transport() http.RoundTripper { return transport{s} }

type transport struct{ server *Server }

func (t transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if r.Body != nil {
		defer r.Body.Close()
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	ahead := *r
	v := t.server.arrive(r.Method, r.URL, r.Header, short(&ahead))
	a, err := t.exchange(v, &ahead)
	if err != nil {
		v.leave(a.status, false)
		return nil, err
	}
	v.leave(a.status, v.whole(a))
	return v.response(r, a), nil
}

func (t transport) exchange(v *visit, r *http.Request) (answer, error) {
	ctx, trace := r.Context(), hooksOf(r)
	host := hostPort(r)
	failed := func(op, call string, err syscall.Errno) error {
		return &net.OpError{Op: op, Net: "tcp", Addr: addr(host), Err: os.NewSyscallError(call, err)}
	}
	trace.GetConn(host)
	if v.fault.cut == cutDial {
		if err := pause(ctx, v.fault.delay); err != nil {
			return answer{}, err
		}
		return answer{}, failed("dial", "connect", syscall.ECONNREFUSED)
	}
	trace.GotConn(httptrace.GotConnInfo{})
	trace.WroteHeaders()
	if v.fault.cut == cutSend {
		err := failed("write", "write", syscall.EPIPE)
		trace.WroteRequest(httptrace.WroteRequestInfo{Err: err})
		return answer{}, err
	}
	body, err := readRequest(ctx, r)
	trace.WroteRequest(httptrace.WroteRequestInfo{Err: err})
	if err != nil {
		return answer{}, err
	}
	a, err := v.serve(ctx, body)
	switch {
	case errors.Is(err, errLost) && v.fault.cut == cutHeader:
		trace.GotFirstResponseByte()
		return answer{}, io.ErrUnexpectedEOF
	case errors.Is(err, errLost):
		return answer{}, failed("read", "read", syscall.ECONNRESET)
	case err != nil:
		return answer{}, err
	case ctx.Err() != nil:
		return a, context.Cause(ctx)
	}
	trace.GotFirstResponseByte()
	return a, nil
}

// whole reports whether the client can read the whole answer.
func (v *visit) whole(a answer) bool {
	return v.fault.arriving(len(a.body)) == len(a.body)
}

func (v *visit) response(r *http.Request, a answer) *http.Response {
	resp := &http.Response{
		Status:     strconv.Itoa(a.status) + " " + http.StatusText(a.status),
		StatusCode: a.status,
		Proto:      "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header:        a.header,
		ContentLength: int64(len(a.body)),
		Request:       r,
	}
	if a.status == http.StatusNoContent || r.Method == http.MethodHead {
		resp.Body = http.NoBody
		return resp
	}
	a.header.Set("Content-Length", strconv.Itoa(len(a.body)))
	body := &responseBody{ctx: r.Context(), data: bytes.NewReader(a.body), end: io.EOF}
	if !v.whole(a) {
		body.data, body.end = bytes.NewReader(a.body[:v.fault.arriving(len(a.body))]), io.ErrUnexpectedEOF
	}
	resp.Body = body
	return resp
}

// responseBody is an answer's body on its way: it may come slowly, break off, or end with its context.
type responseBody struct {
	ctx    context.Context
	data   *bytes.Reader
	end    error
	closed bool
}

func (b *responseBody) Read(p []byte) (int, error) {
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	n, err := b.data.Read(p)
	if err != nil {
		err = b.end
	}
	return n, err
}

func (b *responseBody) Close() error {
	b.closed = true
	return nil
}

// readRequest reads a request's body under its context, and holds it to the length that was announced.
func readRequest(ctx context.Context, r *http.Request) ([]byte, error) {
	if r.Body == nil || r.Body == http.NoBody {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if r.ContentLength > 0 && int64(len(body)) != r.ContentLength {
		return nil, fmt.Errorf("http: ContentLength=%d with Body length %d", r.ContentLength, len(body))
	}
	return body, nil
}

func hostPort(r *http.Request) string {
	port := map[string]string{"http": "80", "https": "443"}[r.URL.Scheme]
	return net.JoinHostPort(r.URL.Hostname(), or(r.URL.Port(), port))
}

type addr string

func (addr) Network() string  { return "tcp" }
func (a addr) String() string { return string(a) }

// hooksOf returns the request's trace with every hook callable.
func hooksOf(r *http.Request) *httptrace.ClientTrace {
	return httptrace.ContextClientTrace(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GetConn: func(string) {}, GotConn: func(httptrace.GotConnInfo) {}, WroteHeaders: func() {},
		WroteRequest: func(httptrace.WroteRequestInfo) {}, GotFirstResponseByte: func() {},
	}))
}
