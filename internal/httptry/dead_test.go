package httptry

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A network that falls silent kills all connections at once. The try after one that got no answer in time has a new connection: a kept
// one would only wait for the limit once more. Connections of the caller's own transport are the caller's.
func TestSilenceEndsKeptConnections(t *testing.T) {
	t.Parallel()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var silent atomic.Bool
	var conns sync.WaitGroup
	arrived, release := make(chan struct{}), make(chan struct{})
	answer := func(conn net.Conn) {
		defer conn.Close()
		isOld := !silent.Load() // answers until the silence
		for r := bufio.NewReader(conn); ; {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			_, _ = io.Copy(io.Discard, req.Body)
			if isOld && silent.Load() {
				continue
			}
			if isOld {
				arrived <- struct{}{}
				<-release
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	}
	conns.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns.Go(func() { answer(conn) })
		}
	})
	t.Cleanup(func() { listener.Close() })
	target := &url.URL{Scheme: "http", Host: listener.Addr().String(), Path: "/"}
	once := func(clients Clients, limit time.Duration) Answer {
		return Once(t.Context(), clients.Capture(), Request{
			Plan: Plan{Timeout: limit}, Method: http.MethodPost, URL: target, Header: http.Header{},
			Open: func() io.ReadCloser { return http.NoBody },
		})
	}
	for name, own := range map[string]*http.Client{"the package's transport": nil, "the caller's own": {Transport: &http.Transport{}}} {
		silent.Store(false)
		clients := NewClients(own, nil)
		var first sync.WaitGroup
		for range 2 {
			first.Go(func() { assert.NoError(t, once(clients, time.Minute).Err) })
		}
		for range 2 { // so that there are two connections
			<-arrived
		}
		for range 2 {
			release <- struct{}{}
		}
		first.Wait()
		silent.Store(true)
		a := once(clients, 50*time.Millisecond)
		require.ErrorIs(t, a.Err, ErrTimeout, name)
		if own == nil {
			a = once(clients, time.Minute)
			require.NoError(t, a.Err, name)
			assert.Equal(t, "ok", string(a.Body))
		} else {
			require.ErrorIs(t, once(clients, 50*time.Millisecond).Err, ErrTimeout, name)
		}
		clients.Base().(*http.Transport).CloseIdleConnections()
	}
	listener.Close()
	conns.Wait()
}
