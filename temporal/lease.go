package hogtemporal

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// errLease ends an import whose worker can no longer be sure that it is the only one.
var errLease = errors.New("this worker's lease has ended: Temporal did not answer its heartbeats in time, or its clock jumped")

// lease is how long a worker may send. It ends by whichever clock is first: the monotonic one, which a
// change of the time does not touch, or the wall clock, which also moves while a machine sleeps.
type lease struct {
	length time.Duration
	now    func() reading

	mu    sync.Mutex
	since reading // when the heartbeat that was answered last began
	ended error
	timer *time.Timer

	alive context.Context // ends with the lease
	lost  context.CancelCauseFunc
}

// reading is what both clocks show.
type reading struct {
	monotonic time.Duration // since a moment of this process
	wall      time.Time
}

var processStart = time.Now()

// clocks reads both.
func clocks() reading { return reading{time.Since(processStart), time.Now().Round(0)} }

// leaseShare of the heartbeat time-out is the lease. The rest is for clocks that run at different speeds.
const leaseShare = 0.9

// newLease begins now.
func newLease(timeout time.Duration, now func() reading) *lease {
	l := &lease{length: time.Duration(float64(timeout) * leaseShare), now: now, since: now()}
	l.alive, l.lost = context.WithCancelCause(context.Background())
	l.timer = time.AfterFunc(l.length, func() { _ = l.check() }) // which each renewal sets again
	return l
}

// renew is called when a heartbeat that began at that time was answered. A lease that has ended stays so.
func (l *lease) renew(began reading) {
	if l.check() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = began
	l.timer.Reset(max(0, l.length-l.age()))
}

// check says whether the worker may send now.
func (l *lease) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == nil && l.age() >= l.length {
		l.end(errLease)
	}
	return l.ended
}

// stop ends it for another reason.
func (l *lease) stop(why error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == nil {
		l.end(why)
	}
}

func (l *lease) end(why error) {
	l.ended = why
	l.timer.Stop()
	l.lost(why)
}

// left is how long it still is.
func (l *lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(0, l.length-l.age())
}

// age is by the clock that has gone further. A wall clock that was set back says nothing.
func (l *lease) age() time.Duration {
	now := l.now()
	return max(now.monotonic-l.since.monotonic, now.wall.Sub(l.since.wall))
}

// fence lets requests pass while the lease holds. It looks before each request and before each piece of
// its body, and cuts what is under way when the lease ends.
type fence struct {
	lease *lease
	base  http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (f *fence) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := f.lease.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	stop := context.AfterFunc(f.lease.alive, func() { cancel(context.Cause(f.lease.alive)) }) //nolint:contextcheck // the lease's
	r = r.Clone(ctx)
	if r.Body != nil {
		r.Body = &fencedBody{r.Body, f.lease}
	}
	if again := r.GetBody; again != nil {
		r.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			return &fencedBody{body, f.lease}, err
		}
	}
	response, err := f.base.RoundTrip(r)
	if err != nil {
		stop()
		cancel(err)
		return nil, err
	}
	response.Body = &endingBody{response.Body, func() { stop(); cancel(nil) }}
	return response, nil
}

// fencedBody is the body of a request.
type fencedBody struct {
	io.ReadCloser
	lease *lease
}

func (b *fencedBody) Read(p []byte) (int, error) {
	if err := b.lease.check(); err != nil {
		return 0, err
	}
	return b.ReadCloser.Read(p[:min(len(p), bodyPiece)])
}

// bodyPiece is how much of a body is sent between two looks at the clocks.
const bodyPiece = 32 << 10 // as much as net/http asks for

// endingBody is the body of an answer, and frees what the request needed.
type endingBody struct {
	io.ReadCloser
	end func()
}

func (b *endingBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
