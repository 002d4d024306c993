package hogapitest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing/iotest"
	"time"

	"github.com/hogapi/hogapi/ops"
)

// request is one call as the service sees it, over either transport.
type request struct {
	url     *url.URL // with the scheme and host that the client used
	header  http.Header
	query   url.Values
	params  map[string]string
	body    []byte
	project *Project
	now     time.Time
}

// visit is the way of one request through the server: arrive, meet a fault, be served, be answered.
type visit struct {
	server *Server
	call   *Call
	route  route
	known  bool // the path, if not the method
	params map[string]string
	url    *url.URL
	fault  Fault
	ledger int // number of the capture request, from 1

	v1      *v1Request    // of capture v1, once it has arrived
	results []eventResult // that are answered
}

// errLost says that the connection ends here.
var errLost = errors.New("connection lost")

// arrive registers a request and takes its fault. Small is the body if it is short, and so may be a
// probe. Every visit ends with leave.
func (s *Server) arrive(method string, u *url.URL, header http.Header, small []byte) *visit {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, params, known := s.match(method, u.Path)
	if r.protocol == protocolV1 && isProbe(header, small) {
		r.op = ops.Protocol
	}
	call := &Call{Op: r.op, Method: method, Path: u.Path, Query: u.Query(), Header: header.Clone(), At: s.now()}
	if r.method == "" && known {
		call.Op = ops.Do
	} else if r.method == "" {
		s.strange = append(s.strange, method+" "+u.Path)
	}
	v := &visit{server: s, call: call, route: r, known: known, params: params, url: u, fault: s.nextFault(call.Op)}
	call.Fault = v.fault.name
	s.calls = append(s.calls, call)
	s.checkLeak(v)
	return v
}

// leave ends a visit. Status 0 is no answer.
func (v *visit) leave(status int, delivered bool) {
	s := v.server
	s.mu.Lock()
	defer s.mu.Unlock()
	v.call.Status, v.call.Delivered = status, delivered
	s.rules.answered(v, status, delivered)
	s.ledger.settle(v.ledger, status, delivered)
}

// serve takes the body and returns the answer of the fault or the service. The error is errLost or the context's.
func (v *visit) serve(ctx context.Context, body []byte) (answer, error) {
	s, f := v.server, v.fault
	if !(s.ledger.compact && v.call.Op == ops.Capture) {
		s.mu.Lock()
		v.call.Body = body
		s.mu.Unlock()
	}
	if v.route.protocol == protocolV1 && s.hasV1() {
		v.v1 = s.readV1(v.call.Header, body)
		s.mu.Lock()
		s.rules.arrived(v.v1, s.now(), s.ledger.compact)
		s.mu.Unlock()
	}
	if err := pause(ctx, f.delay); err != nil {
		return answer{}, err
	}
	if f.cut == cutDial || f.cut == cutSend || f.cut == cutBefore {
		return answer{}, errLost
	}
	a := v.act(ctx, body)
	if f.cut >= cutAfter {
		return answer{}, errLost
	}
	if err := pause(ctx, f.lateAnswer); err != nil {
		return answer{}, err
	}
	a.header.Set("Date", s.now().UTC().Format(http.TimeFormat))
	for name, values := range f.header {
		a.header[name] = append(a.header[name], values...)
	}
	return a, nil
}

// act is the service's own part, or the fault's.
func (v *visit) act(ctx context.Context, body []byte) answer {
	f := v.fault
	if f.handler != nil {
		return handled(f.handler, v.httpRequest(ctx, body))
	}
	var a answer
	if f.acts() || f.keep != whole && v.route.protocol != noProtocol {
		a = v.service(ctx, body)
	}
	if f.instead != nil {
		a, v.results = f.instead(v.route.protocol), nil
	}
	if f.alter != nil {
		a.body, v.results = f.alter(a.body), nil
	}
	return a
}

func (v *visit) service(ctx context.Context, body []byte) answer {
	s := v.server
	switch {
	case v.route.protocol == protocolBatch:
		return answered(func() answer { return s.capture(v, body) })
	case v.v1 != nil:
		return answered(func() answer { return s.captureV1(v) })
	case v.route.protocol == protocolV1:
		return text(http.StatusNotFound, "")
	}
	return answered(func() answer { return s.manage(ctx, v, body) })
}

func (s *Server) hasV1() bool { return !s.noV1 && s.era == E4 }

// short reads a body ahead if it may be a probe, and puts it back.
func short(r *http.Request) []byte {
	const longest = 4096
	if r.Body == nil || r.ContentLength <= 0 || r.ContentLength > longest || !strings.Contains(r.URL.Path, "/i/v1/") {
		return nil
	}
	body, err := io.ReadAll(r.Body)
	rest := io.Reader(bytes.NewReader(body))
	if err != nil {
		rest = io.MultiReader(rest, iotest.ErrReader(err))
	}
	r.Body = io.NopCloser(rest)
	return body
}

// httpRequest is the request in the form that handlers take.
func (v *visit) httpRequest(ctx context.Context, body []byte) *http.Request {
	r, err := http.NewRequestWithContext(ctx, v.call.Method, v.url.String(), bytes.NewReader(body))
	if err != nil {
		panic(err) // it was a request before
	}
	r.Header = v.call.Header.Clone()
	r.RequestURI = v.url.RequestURI()
	for name, value := range v.params {
		r.SetPathValue(name, value)
	}
	return r
}

func handled(h http.Handler, r *http.Request) answer {
	rec := httptest.NewRecorder()
	h.ServeHTTP(rec, r)
	return answer{rec.Code, rec.Header(), rec.Body.Bytes()}
}

// pause waits, or returns the context's cause at its end.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
