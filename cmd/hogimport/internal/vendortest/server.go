// Package vendortest has servers of the raw export APIs of Mixpanel and Amplitude, for tests of clients.
//
// The servers were written from the vendors' documentation, without looking at the client, so that both do not
// share a mistake. [Mixpanel] and [Amplitude] are http.Handlers that hold the events of one project. They check
// key, parameters and pace as the vendor does, and answer with JSON lines or with a zip of gzipped files.
// [Script] makes single requests fail, and [Log] holds the requests.
//
// The vendors' documentation does not give the texts of most errors, nor the status for a wrong project. These are
// made up: a client must not depend on them.
package vendortest

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"
)

// Request is one request as the server saw it.
type Request struct {
	At       time.Time  // when it began
	Query    url.Values // as sent
	From, To time.Time  // the first and the last day or hour that it asked for, both inclusive; zero if not valid
	Step     time.Duration
	Status   int
	Error    string // why the server refused the request
	Whole    bool   // all of the answer was written
	Together int    // requests under way when it began, with itself

	hasEnded bool
}

// units are the days (2024-03-01) or hours (20240301T05) that the request asked for.
func (r *Request) units() (units []string) {
	layout := time.DateOnly
	if r.Step == time.Hour {
		layout = hourForm
	}
	for at := r.From; r.Step > 0 && !at.After(r.To); at = at.Add(r.Step) {
		units = append(units, at.Format(layout))
	}
	return units
}

// Log is the requests that a server has received. It is safe for concurrent use.
type Log struct {
	mu       sync.Mutex
	requests []*Request // in the order in which they began
	running  int
}

func (l *Log) begin(r *Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running++
	r.At, r.Together = time.Now(), l.running
	l.requests = append(l.requests, r)
}

func (l *Log) end(r *Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.running--
	r.hasEnded = true
}

// All returns the requests that have ended, in the order in which they began.
func (l *Log) All() (all []Request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.requests {
		if r.hasEnded {
			all = append(all, *r)
		}
	}
	return all
}

// Twice names the days or hours that more than one request was given in whole, with how often. An answer counts as
// given when the server has written all of it, even if the client was killed before it read it.
func (l *Log) Twice() (twice []string) {
	times := map[string]int{}
	for _, r := range l.All() {
		for _, u := range r.units() {
			if r.Whole {
				times[u]++
			}
		}
	}
	for u, n := range times {
		if n > 1 {
			twice = append(twice, fmt.Sprintf("%s %d times", u, n))
		}
	}
	slices.Sort(twice)
	return twice
}

// Most is the largest number of requests that began within any window of this length.
func (l *Log) Most(window time.Duration) (most int) {
	all := l.All()
	for first, last := 0, 0; last < len(all); last++ {
		for all[last].At.Sub(all[first].At) >= window {
			first++
		}
		most = max(most, last-first+1)
	}
	return most
}

// pace admits 3 requests a second and 60 an hour. Requests that it refuses do not count.
type pace struct {
	mu       sync.Mutex
	admitted []time.Time
}

// enter admits a request or says which limit it exceeds.
func (p *pace) enter(now time.Time) (exceeded string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, limit := range []struct {
		most   int
		window time.Duration
	}{{3, time.Second}, {60, time.Hour}} {
		if n := len(p.admitted) - limit.most; n >= 0 && now.Sub(p.admitted[n]) < limit.window {
			return fmt.Sprintf("%d queries in %s", limit.most, limit.window)
		}
	}
	p.admitted = append(p.admitted, now)
	return ""
}

// server is shared by both vendors.
type server struct {
	Script Script
	Log    Log

	path string
	pace *pace // nil: no limits
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
	asked := &Request{Query: r.URL.Query(), Status: http.StatusOK}
	s.Log.begin(asked)
	defer s.Log.end(asked)
	if f := s.serve(w, r, asked); f != nil {
		asked.Status, asked.Error = f.status, f.text
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
	if s.pace != nil {
		if limit := s.pace.enter(time.Now()); limit != "" {
			return refusal(http.StatusTooManyRequests, "Query rate limit exceeded: at most %s", limit)
		}
	}
	fault := s.Script.take(asked)
	if fault.Status != 0 {
		asked.Status = fault.Status
		fault.refuse(w)
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
