// Package vendortest has servers of the raw export APIs of Mixpanel and Amplitude, for tests of clients.
//
// The servers were written from the vendors' documentation, without looking at the client, so that both do not
// share a mistake. [Mixpanel] and [Amplitude] are http.Handlers that hold the events of one project. They check
// key and parameters as the vendor does, and answer with JSON lines or with a zip of gzipped files. [Log] holds the
// requests.
//
// The vendors' documentation does not give the texts of most errors, nor the status for a wrong project. These are
// made up: a client must not depend on them.
package vendortest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hogapi/hogapi/internal/watch"
)

// The credentials that all servers take.
const (
	User    = "importer" // a service account of Mixpanel
	Project = "77"       // which User has to name
	Key     = "k3y-0123456789abcdef"
	Secret  = "s3cr3t-0123456789abcdef" // of User, and of Key at Amplitude
)

// Request is one request as the server saw it.
type Request struct {
	At       time.Time  // when it began
	Query    url.Values // as sent
	From, To time.Time  // the first and the last day or hour that it asked for, both inclusive; zero if not valid
	Step     time.Duration
	Error    string // why the server refused the request
	Whole    bool   // all of the answer was written
}

// Log is the requests that a server has answered. It is safe for concurrent use.
type Log struct {
	mu       sync.Mutex
	requests []Request
}

func (l *Log) add(r *Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.requests = append(l.requests, *r)
}

// All returns the requests in the order in which they began.
func (l *Log) All() []Request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.SortedStableFunc(slices.Values(l.requests), func(a, b Request) int { return a.At.Compare(b.At) })
}

// Twice names the days or hours that more than one request was given in whole, with how often. An answer counts as
// given when the server has written all of it, even if the client was killed before it read it.
func (l *Log) Twice() (twice []string) {
	times := map[time.Time]int{}
	for _, r := range l.All() {
		for at := r.From; r.Whole && !at.After(r.To); at = at.Add(r.Step) {
			times[at]++
		}
	}
	for at, n := range times {
		if n > 1 {
			twice = append(twice, fmt.Sprintf("%s %d times", at, n))
		}
	}
	return twice
}

// server is shared by both vendors.
type server struct {
	Log Log

	path string
	slow atomic.Int64 // the time.Duration between the tenths of an answer
	// check completes the request r, or refuses it.
	check func(r *http.Request, asked *Request) *failure
	// answer makes the body of a good request.
	answer func(w http.ResponseWriter, r *http.Request, asked *Request) (body []byte, refusal *failure)
}

type failure struct {
	status int
	text   string
}

func refusal(status int, format string, args ...any) *failure {
	return &failure{status, fmt.Sprintf(format, args...)}
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	asked := &Request{At: time.Now(), Query: r.URL.Query()}
	defer s.Log.add(asked)
	if f := s.serve(w, r, asked); f != nil {
		asked.Error = f.text
		http.Error(w, f.text, f.status)
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
	body, f := s.answer(w, r, asked)
	if f == nil {
		asked.Whole = write(w, r, body, time.Duration(s.slow.Load()))
	}
	return f
}

// Slow has answers arrive in tenths, with a pause between them.
func (s *server) Slow(pause time.Duration) { s.slow.Store(int64(pause)) }

// write reports whether all of an answer was sent.
func write(w http.ResponseWriter, r *http.Request, body []byte, pause time.Duration) (whole bool) {
	const parts = 10
	for part := range parts {
		if part > 0 && !watch.Sleep(r.Context(), pause) {
			return false
		}
		if _, err := w.Write(body[len(body)*part/parts : len(body)*(part+1)/parts]); err != nil {
			return false
		}
		// Without it a small answer would get a Content-Length, which the vendors never send.
		_ = http.NewResponseController(w).Flush()
	}
	return true
}
