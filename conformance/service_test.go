package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"time"
)

// reply is one answer that a test has queued. Without a status, the service never answers.
type reply struct {
	status     int
	retryAfter string
}

func statuses(codes ...int) (queue []reply) {
	for _, code := range codes {
		queue = append(queue, reply{status: code})
	}
	return queue
}

// request is a request that has arrived.
type request struct {
	at     time.Time
	path   string
	header http.Header
	body   map[string]any
	events []map[string]any
	status int // of the answer
}

// service stands for PostHog, like the harness's own mock: it records requests, gives the queued answers, and then succeeds always.
type service struct {
	mu       sync.Mutex
	queue    []reply
	always   reply // after the queue; the zero value is success
	requests []request
}

func (s *service) got() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]request(nil), s.requests...)
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	got := request{at: time.Now(), path: r.URL.Path, header: r.Header}
	got.read(r.Body)
	next := s.record(got)
	if next.status == 0 {
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/json")
	if next.retryAfter != "" {
		w.Header().Set("Retry-After", next.retryAfter)
	}
	w.WriteHeader(next.status)
	if next.status == http.StatusOK {
		_, _ = io.WriteString(w, `{"status":1}`)
	} else {
		_, _ = io.WriteString(w, `{"error":"Server error"}`)
	}
}

func (s *service) record(r request) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.always
	if next == (reply{}) {
		next.status = http.StatusOK
	}
	if len(s.queue) > 0 {
		next, s.queue = s.queue[0], s.queue[1:]
	}
	r.status = next.status
	s.requests = append(s.requests, r)
	return next
}

// read parses the body. Like the harness's mock, it unzips a body only if the header says gzip; a body that it cannot read has no events.
func (r *request) read(body io.Reader) {
	raw, _ := io.ReadAll(body)
	if r.header.Get("Content-Encoding") == "gzip" {
		if z, err := gzip.NewReader(bytes.NewReader(raw)); err == nil {
			raw, _ = io.ReadAll(z)
		}
	}
	var batch struct {
		Batch []map[string]any `json:"batch"`
	}
	_ = json.Unmarshal(raw, &r.body)
	_ = json.Unmarshal(raw, &batch)
	r.events = batch.Batch
}

// RoundTrip answers in this process, so that time can be virtual.
func (s *service) RoundTrip(r *http.Request) (*http.Response, error) {
	defer r.Body.Close()
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}
