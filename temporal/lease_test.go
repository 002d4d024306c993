package hogtemporal

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLeaseEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLease(10*time.Second, time.Now, time.Now())
		time.Sleep(8 * time.Second)
		require.NoError(t, l.check())
		l.renew(time.Now().Add(-time.Second)) // the heartbeat began a second ago
		time.Sleep(7 * time.Second)
		require.NoError(t, l.check())
		time.Sleep(time.Second)
		<-l.alive.Done() // by itself, with nobody asking
		require.ErrorIs(t, l.check(), errLease)
		l.renew(time.Now())
		require.ErrorIs(t, l.check(), errLease, "what has ended stays so")
	})
}

// A clock that jumps ends a lease too early at worst.
func TestLeaseAndClocksThatJump(t *testing.T) {
	start := time.Now()
	for name, now := range map[string]time.Time{
		"the wall clock alone, forward: the machine slept":    start.Round(0).Add(time.Minute),
		"the monotonic clock alone: the wall clock went back": start.Add(time.Minute).Add(0),
		"both": start.Add(time.Minute),
	} {
		l := newLease(10*time.Second, func() time.Time { return now }, start)
		require.ErrorIs(t, l.check(), errLease, name)
	}
	back := newLease(10*time.Second, func() time.Time { return start.Round(0).Add(-time.Hour) }, start)
	assert.NoError(t, back.check(), "a clock that was set back says nothing")
	back.stop(errGone)
}

func TestFence(t *testing.T) {
	var served atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if _, err := io.ReadAll(r.Body); err == nil {
			served.Add(1)
		}
	}))
	defer server.Close()
	var offset atomic.Int64
	start := time.Now()
	l := newLease(time.Minute, func() time.Time { return start.Add(time.Duration(offset.Load())) }, start)
	client := &http.Client{Transport: &fence{l, http.DefaultTransport}}
	post := func(body io.Reader) error {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, body)
		require.NoError(t, err)
		response, err := client.Do(r)
		if err == nil {
			response.Body.Close()
		}
		return err
	}
	require.NoError(t, post(strings.NewReader(strings.Repeat("x", 100_000))))
	require.EqualValues(t, 1, served.Load())

	// The lease ends while a body is being sent: the rest of it is not.
	late := readerFunc(func(p []byte) (int, error) {
		offset.Store(int64(time.Hour))
		return copy(p, "some of it"), nil
	})
	require.ErrorIs(t, post(late), errLease)
	require.ErrorIs(t, post(strings.NewReader("more")), errLease)
	assert.EqualValues(t, 1, served.Load())
}

type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A request that waits for its answer is cut when the lease ends.
func TestFenceCutsWhatIsUnderWay(t *testing.T) {
	arrived := make(chan bool)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(arrived)
		<-r.Context().Done()
	}))
	defer server.Close()
	l := newLease(time.Hour, time.Now, time.Now())
	go func() {
		<-arrived
		l.stop(errGone)
	}()
	_, err := (&http.Client{Transport: &fence{l, http.DefaultTransport}}).Get(server.URL) //nolint:bodyclose // there is no answer
	require.ErrorIs(t, err, errGone)
}
