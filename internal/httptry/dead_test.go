package httptry

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
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
	type isOld struct{} // the connection is from before the silence
	var silent atomic.Bool
	arrived, release := make(chan struct{}), make(chan struct{})
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch isOld := r.Context().Value(isOld{}).(bool); {
		case isOld && silent.Load():
			<-r.Context().Done()
			return
		case isOld:
			arrived <- struct{}{}
			<-release
		}
		_, _ = io.WriteString(w, "ok")
	}))
	server.Config.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, isOld{}, !silent.Load())
	}
	server.Start()
	t.Cleanup(server.Close)
	target, err := url.Parse(server.URL + "/")
	require.NoError(t, err)
	once := func(clients Clients, limit time.Duration) Try {
		return Once(t.Context(), clients.Capture(), Request{
			Plan: Plan{Timeout: limit}, Method: http.MethodPost, URL: target, Header: http.Header{},
			Open: func() io.ReadCloser { return http.NoBody },
		})
	}
	for name, own := range map[string]*http.Client{"the package's transport": nil, "the caller's own": {Transport: &http.Transport{}}} {
		silent.Store(false)
		clients := NewClients(own, 0, nil, nil)
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
}
