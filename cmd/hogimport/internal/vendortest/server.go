package vendortest

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/hogapi/hogapi/internal/watch"
)

// server is shared by both vendors.
type server struct {
	Script Script
	Log    Log

	path string
	pace pace
	fail func(w http.ResponseWriter, r *http.Request, f failure)
	// check completes the request r, or refuses it.
	check func(r *http.Request, asked *Request) *failure
	// answer makes the body of a good request.
	answer func(w http.ResponseWriter, r *http.Request, asked *Request, fault Fault) (body []byte, refusal *failure)
}

type failure struct {
	status int
	text   string
}

func refusal(status int, format string, args ...any) *failure {
	return &failure{status, fmt.Sprintf(format, args...)}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked := &Request{
		Path: r.URL.Path, Query: r.URL.Query(), Status: http.StatusOK,
		Gzip: strings.Contains(r.Header.Get("Accept-Encoding"), "gzip"),
	}
	s.Log.begin(asked)
	defer s.Log.end(asked)
	if f := s.serve(w, r, asked); f != nil {
		asked.Status, asked.Error = f.status, f.text
		s.fail(w, r, *f)
	}
}

func (s *server) serve(w http.ResponseWriter, r *http.Request, asked *Request) *failure {
	switch {
	case r.URL.Path != s.path:
		return refusal(http.StatusNotFound, "no such path: want %s", s.path)
	case r.Method != http.MethodGet:
		return refusal(http.StatusMethodNotAllowed, "method %s: want GET", r.Method)
	}
	if f := s.check(r, asked); f != nil {
		return f
	}
	if limit := s.pace.enter(time.Now()); limit != "" {
		return refusal(http.StatusTooManyRequests, "Query rate limit exceeded: at most %s", limit)
	}
	defer s.pace.leave()

	fault := s.Script.take(asked)
	asked.Fault = fault.String()
	if fault.Status != 0 {
		if watch.Sleep(r.Context(), fault.Wait) {
			asked.Status = fault.Status
			fault.refuse(w)
		}
		return nil
	}
	body, f := s.answer(w, r, asked, fault)
	if f != nil {
		return f
	}
	asked.Whole = fault.write(w, r, body)
	return nil
}

func writeGzip(w io.Writer, data []byte) {
	z := gzip.NewWriter(w)
	_, _ = z.Write(data)
	_ = z.Close()
}
