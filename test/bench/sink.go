package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/gzip"
)

// tally counts the requests of the sink since the last call of forget.
type tally struct {
	Events   int
	Digest   string // of the uuids
	Wire     int64  // bytes of bodies
	Requests int
	Conns    int
	Most     int // requests at one time, at most
	CPU      time.Duration
}

// sink answers every request after it has read the body to its end. It examines bodies only in tell, so that counting takes no time from
// the clients.
type sink struct {
	latency atomic.Int64
	active  atomic.Int64
	conns   atomic.Int64

	mu    sync.Mutex
	arena []byte // holds the bodies; its pages stay with the process from one round to the next
	used  int
	kept  []kept
	got   tally
	sum   digest
	cpu   time.Duration
}

type kept struct {
	body []byte
	gzip bool
}

func (k kept) plain() ([]byte, error) {
	if !k.gzip {
		return k.body, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(k.body))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(reader)
}

const arenaSize = 768 << 20

// serveSink runs the sink in this process. It prints its address and ends when standard input ends.
func serveSink() error {
	listener, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // for the life of the process
	if err != nil {
		return err
	}
	s := &sink{arena: make([]byte, arenaSize), cpu: processorTime()}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /", s.take)
	mux.HandleFunc("GET /tally", s.tell)
	mux.HandleFunc("GET /forget/{latency}", s.forget)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.conns.Add(1)
		}
	}}
	fmt.Println("http://" + listener.Addr().String())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		_ = server.Close()
	}()
	if err := server.Serve(listener); err != http.ErrServerClosed {
		return err
	}
	return nil
}

func (s *sink) take(w http.ResponseWriter, r *http.Request) {
	active := s.active.Add(1)
	defer s.active.Add(-1)
	body, held := s.room(r.ContentLength)
	var err error
	if held {
		_, err = io.ReadFull(r.Body, body)
	} else {
		body, err = io.ReadAll(r.Body)
	}
	if err != nil {
		http.Error(w, "the body was cut off", http.StatusBadRequest)
		return
	}
	if wait := time.Duration(s.latency.Load()); wait > 0 {
		<-time.After(wait)
	}
	k := kept{body, r.Header.Get("Content-Encoding") == "gzip"}
	s.keep(k, held, int(active))
	if r.URL.Path == "/i/v1/analytics/events" {
		answerV1(w, r, k)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, `{"status":"Ok"}`)
}

// room returns space for a body, and reports false if there is no space.
func (s *sink) room(size int64) (body []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size < 0 || s.used+int(size) > len(s.arena) {
		return nil, false
	}
	body = s.arena[s.used : s.used+int(size)]
	s.used += int(size)
	return body, true
}

func (s *sink) keep(k kept, held bool, active int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got.Requests++
	s.got.Wire += int64(len(k.body))
	s.got.Most = max(s.got.Most, active)
	if held {
		s.kept = append(s.kept, k)
	} else {
		s.count(k)
	}
}

// count finds the uuids in a body. A body that cannot be read counts as no events, so that the sum differs.
func (s *sink) count(k kept) {
	text, err := k.plain()
	if err != nil {
		return
	}
	for text := range uuids(text) {
		if id, err := uuid.ParseBytes(text); err == nil {
			s.got.Events++
			s.sum.add(id)
		}
	}
}

func (s *sink) tell(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.got.CPU = processorTime() - s.cpu
	for _, k := range s.kept {
		s.count(k)
	}
	s.got.Digest = s.sum.String()
	s.got.Conns = int(s.conns.Load()) - 1 // one was for this call
	if err := json.NewEncoder(w).Encode(s.got); err != nil {
		fmt.Fprintln(os.Stderr, "sink:", err)
	}
}

// forget sets the latency and resets the counters. No request is under way: the clients of a round have ended.
func (s *sink) forget(w http.ResponseWriter, r *http.Request) {
	d, err := time.ParseDuration(r.PathValue("latency"))
	if err != nil {
		http.Error(w, "no duration", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latency.Store(int64(d))
	s.conns.Store(0)
	s.got, s.sum, s.kept, s.used, s.cpu = tally{}, digest{}, s.kept[:0], 0, processorTime()
}
