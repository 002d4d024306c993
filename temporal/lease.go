package hogtemporal

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

// errLease ends an import if its worker can no longer be sure that it is the only one.
var errLease = errors.New("this worker's lease has ended: Temporal did not answer its heartbeats in time, or its clock jumped")

// lease is the right of a worker to send, for a limited time. It ends by the first of two clocks: the monotonic one,
// which ignores changes of the system time, or the wall clock, which also moves while a machine sleeps.
type lease struct {
	length time.Duration
	now    func() reading

	mu    sync.Mutex
	since reading // when the last answered heartbeat began
	ended error
	timer *time.Timer

	alive context.Context // ends with the lease
	lost  context.CancelCauseFunc
}

// reading is the time of both clocks.
type reading struct {
	monotonic time.Duration // since a moment of this process
	wall      time.Time
}

var processStart = time.Now()

func clocks() reading { return reading{time.Since(processStart), time.Now().Round(0)} }

// leaseShare is the part of the heartbeat time-out for which a lease lasts. The rest allows for clocks that run at
// different speeds.
const leaseShare = 0.9

func newLease(timeout time.Duration, now func() reading) *lease {
	l := &lease{length: time.Duration(float64(timeout) * leaseShare), now: now, since: now()}
	l.alive, l.lost = context.WithCancelCause(context.Background())
	l.timer = time.AfterFunc(l.length, func() { _ = l.check() }) // each renewal resets the timer
	return l
}

// renew extends the lease after Temporal has answered a heartbeat. The lease then counts from the beginning of that
// heartbeat. A lease that has ended stays ended.
func (l *lease) renew(began reading) {
	if l.check() != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since = began
	l.timer.Reset(max(0, l.length-l.age()))
}

// check returns nil if the worker may send now, or the reason why not.
func (l *lease) check() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended == nil && l.age() >= l.length {
		l.end(errLease)
	}
	return l.ended
}

// stop ends the lease for another reason.
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

func (l *lease) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return max(0, l.length-l.age())
}

// age returns the age by the clock that has advanced more. A wall clock that was set back does not count.
func (l *lease) age() time.Duration {
	now := l.now()
	return max(now.monotonic-l.since.monotonic, now.wall.Sub(l.since.wall))
}

// fence lets requests pass while the lease holds. It checks the lease before each request and before each piece of
// its body, and cuts requests in flight when the lease ends.
type fence struct {
	lease *lease
	base  http.RoundTripper
}

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

// bodyPiece is the number of bytes of a body that are sent between two checks of the lease.
const bodyPiece = 32 << 10 // as much as net/http asks for

// endingBody is the body of an answer. Its Close also frees the context of the request.
type endingBody struct {
	io.ReadCloser
	end func()
}

func (b *endingBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
