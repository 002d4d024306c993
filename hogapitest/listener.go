package hogapitest

import (
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// listener serves the same server over a loopback socket.
type listener struct {
	mu     sync.Mutex
	addr   string       // once there is one
	server *http.Server // nil while nothing listens
	serves sync.WaitGroup
}

// URL returns the origin of the server on a loopback socket. The first call opens the socket, and
// [Server.Close] closes it. URL panics if there is no port to listen on.
func (s *Server) URL() string {
	l := &s.listener
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.addr == "" {
		l.open(s, "127.0.0.1:0")
	}
	return "http://" + l.addr
}

// open listens on an address and notes which port that is.
func (l *listener) open(h http.Handler, addr string) {
	socket, err := net.Listen("tcp", addr)
	if err != nil {
		panic("hogapitest: " + err.Error())
	}
	l.addr = socket.Addr().String()
	l.server = &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	server := l.server
	l.serves.Go(func() { _ = server.Serve(socket) })
}

func (l *listener) stop() {
	if l.server != nil {
		_ = l.server.Close()
		l.serves.Wait()
		l.server = nil
	}
}

func (l *listener) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stop()
	l.addr = ""
}

// setDown ends all connections and refuses new ones, or listens again.
func (l *listener) setDown(h http.Handler, down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.addr == "":
	case down:
		l.stop()
	case l.server == nil:
		l.open(h, l.addr)
	}
}

func (l *listener) host() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.addr
}

// ServeHTTP serves one request that came over a socket. With it, a test can put the server behind a server of
// its own.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u := *r.URL
	u.Scheme, u.Host = "http", r.Host
	if r.TLS != nil {
		u.Scheme = "https"
	}
	v := s.arrive(r.Method, &u, r.Header, short(r))
	var a answer
	var body []byte
	err := errLost
	if v.fault.cut == cutDial || v.fault.cut == cutSend {
		_ = pause(r.Context(), v.fault.delay)
	} else if body, err = io.ReadAll(r.Body); err == nil {
		a, err = v.serve(r.Context(), body)
	}
	if err != nil {
		v.leave(0, false)
		sent := ""
		if v.fault.cut == cutHeader {
			sent = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
		}
		cutOff(w, sent)
		return
	}
	// Recorded before it is sent, since the client may act on the answer at once.
	v.leave(a.status, v.whole(a))
	v.send(w, a)
}

func (v *visit) send(w http.ResponseWriter, a answer) {
	if !v.whole(a) {
		breakOff(w, a, v.fault.arriving(len(a.body)))
		return
	}
	maps.Copy(w.Header(), a.header)
	if _, ok := a.header["Content-Type"]; !ok {
		w.Header()["Content-Type"] = nil // no guess
	}
	if a.status != http.StatusNoContent {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// breakOff announces the whole answer and ends the connection after n bytes of its body.
func breakOff(w http.ResponseWriter, a answer, n int) {
	var head strings.Builder
	_, _ = fmt.Fprintf(&head, "HTTP/1.1 %d %s\r\n", a.status, http.StatusText(a.status))
	a.header.Set("Content-Length", strconv.Itoa(len(a.body)))
	_ = a.header.Write(&head)
	cutOff(w, head.String()+"\r\n"+string(a.body[:n]))
}

// cutOff sends some bytes, which the client must get, and ends the connection. Without any it is reset.
func cutOff(w http.ResponseWriter, sent string) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok && sent == "" {
		_ = tcp.SetLinger(0)
	}
	_, _ = buffered.WriteString(sent)
	_ = buffered.Flush()
	_ = conn.Close()
}
