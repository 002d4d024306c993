package hogtemporal

import (
	"context"
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
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/hogapi/hogapi"
)

func TestLeaseEndsInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		l := newLease(10*time.Second, clocks)
		time.Sleep(7 * time.Second)
		require.NoError(t, l.check())
		aSecondAgo := clocks()
		time.Sleep(time.Second)
		l.renew(aSecondAgo) // the beginning of the heartbeat that is answered now
		time.Sleep(7 * time.Second)
		require.NoError(t, l.check())
		time.Sleep(time.Second)
		<-l.alive.Done() // by itself, without a call of check
		assert.Equal(t, 16*time.Second, time.Since(begin), "nine after the beginning of that heartbeat")
		require.ErrorIs(t, l.check(), errLease)
		l.renew(clocks())
		require.ErrorIs(t, l.check(), errLease, "what has ended stays so")
	})
}

// A clock that jumps, or stands still, at worst ends a lease too early.
func TestLeaseAndClocksThatJump(t *testing.T) {
	start := clocks()
	start.monotonic += time.Hour
	for name, c := range map[string]struct {
		monotonic, wall time.Duration
		ended           bool
	}{
		"both":                                      {8 * time.Second, 8 * time.Second, false},
		"the machine slept":                         {time.Second, time.Minute, true},
		"the wall clock was set back":               {time.Minute, -time.Hour, true},
		"the wall clock stood still":                {10 * time.Second, 0, true},
		"the wall clock was set back, a moment ago": {time.Second, -time.Hour, false},
		"the wall clock was set forward":            {time.Second, time.Hour, true},
	} {
		now := start
		l := newLease(10*time.Second, func() reading { return now })
		now = reading{start.monotonic + c.monotonic, start.wall.Add(c.wall)}
		assert.Equal(t, c.ended, l.check() != nil, name)
		l.stop(errGone)
	}
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
	start := clocks()
	l := newLease(time.Minute, func() reading {
		return reading{start.monotonic, start.wall.Add(time.Duration(offset.Load()))}
	})
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

	// The lease ends while a body is being sent: the rest of it is not sent.
	late := readerFunc(func(p []byte) (int, error) {
		offset.Store(int64(time.Hour))
		return copy(p, "some of it"), nil
	})
	require.ErrorIs(t, post(late), errLease)
	require.ErrorIs(t, post(strings.NewReader("more")), errLease)

	// A clock has jumped, and nothing has read it since: not even a request without a body passes.
	jumped := start
	client.Transport = &fence{newLease(time.Minute, func() reading { return jumped }), http.DefaultTransport}
	jumped.wall = jumped.wall.Add(time.Hour)
	require.ErrorIs(t, post(http.NoBody), errLease)
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
	l := newLease(time.Hour, clocks)
	go func() {
		<-arrived
		l.stop(errGone)
	}()
	_, err := (&http.Client{Transport: &fence{l, http.DefaultTransport}}).Get(server.URL) //nolint:bodyclose // there is no answer
	require.ErrorIs(t, err, errGone)
}

type slowTemporal struct {
	client.Client

	late   time.Duration
	err    error
	beaten atomic.Int64
}

func (c *slowTemporal) RecordActivityHeartbeat(context.Context, []byte, ...any) error {
	c.beaten.Add(1)
	time.Sleep(c.late)
	return c.err
}

// Temporal counts from the time at which it took a heartbeat. The only time of the worker that is surely not later is the beginning of
// the heartbeat.
func TestLeaseCountsFromTheBeginningOfAHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := newLease(10*time.Second, clocks)
		defer l.stop(errGone)
		b := &beats{client: &slowTemporal{late: 4 * time.Second}, now: clocks, lease: l}
		require.NoError(t, b.send(t.Context()))
		assert.Equal(t, 5*time.Second, l.left())
	})
}

// Without an answer to its first heartbeat, a worker sends nothing: another worker may have the task by now.
func TestFirstHeartbeatThatFails(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	for _, err := range []error{nil, io.ErrUnexpectedEOF} {
		temporal, fenced, cause := &slowTemporal{err: err}, error(nil), error(nil)
		work := func(ctx context.Context) error {
			b, alive, end := keepAlive(ctx, temporal, clocks, Beat{})
			defer end()
			if fenced = b.lease.check(); fenced != nil {
				<-alive.Done()
				cause = context.Cause(alive)
			}
			return nil
		}
		env := suite.NewTestWorkflowEnvironment()
		env.RegisterActivity(work)
		env.ExecuteWorkflow(func(ctx workflow.Context) error {
			o := workflow.ActivityOptions{StartToCloseTimeout: time.Hour, HeartbeatTimeout: time.Minute}
			return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, o), work).Get(ctx, nil)
		})
		require.NoError(t, env.GetWorkflowError())
		assert.EqualValues(t, 1, temporal.beaten.Load())
		assert.ErrorIs(t, fenced, err)
		if err != nil {
			require.ErrorIs(t, fenced, errLease)
			require.ErrorIs(t, cause, errLease)
		}
	}
}

// A state that Temporal has not taken is not the one of the next heartbeat.
func TestAStateThatIsNotTaken(t *testing.T) {
	l := newLease(time.Minute, clocks)
	defer l.stop(errGone)
	temporal := &slowTemporal{}
	b := &beats{client: temporal, now: clocks, lease: l}
	require.NoError(t, b.save(t.Context(), []byte("1")))
	temporal.err = io.ErrUnexpectedEOF
	require.ErrorIs(t, b.save(t.Context(), []byte("2")), io.ErrUnexpectedEOF)
	assert.Equal(t, "1", string(b.state()))
	temporal.err = nil
	require.NoError(t, b.save(t.Context(), []byte("3")))
	assert.Equal(t, "3", string(b.state()))

	b.progress(hogapi.Stats{Read: 7, LastError: io.ErrUnexpectedEOF})
	assert.Equal(t, "unexpected EOF", b.beat.Failing)
	b.progress(hogapi.Stats{Read: 8})
	assert.Empty(t, b.beat.Failing)
	assert.EqualValues(t, 8, b.beat.Read)
}

// A body that is read again is fenced too, and a request without one stays so.
func TestFenceOfBodies(t *testing.T) {
	l := newLease(time.Minute, clocks)
	var sent *http.Request
	f := &fence{lease: l, base: roundTrip(func(r *http.Request) (*http.Response, error) {
		sent = r
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})}
	send := func(body io.Reader) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost", body)
		require.NoError(t, err)
		answer, err := f.RoundTrip(r)
		require.NoError(t, err)
		require.NoError(t, answer.Body.Close())
	}
	send(nil)
	assert.Nil(t, sent.GetBody)
	send(strings.NewReader("text"))
	again, err := sent.GetBody()
	require.NoError(t, err)
	l.stop(errGone)
	_, err = io.ReadAll(again)
	require.ErrorIs(t, err, errGone)
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
