package watch

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// longestWait limits the wait between two looks that the service may ask for.
const longestWait = time.Hour

// Pace sets how often to look and when to give up, and classifies failures.
type Pace struct {
	Interval    time.Duration // between two looks; doubles while nothing changes
	MaxInterval time.Duration
	MaxFailures int           // consecutive
	Settle      time.Duration // without a change; then no more changes are expected if nothing says so
	Limit       time.Duration // of all looks together; 0: no limit
	OnLook      func(Info)    // may be nil
	Judge       func(error) Failure
}

// CancelPatience is how long to wait for the end of a run that was cancelled.
const CancelPatience = 2 * time.Minute

// WithDefaults replaces zero fields by defaults, and refuses negative ones.
func (p Pace) WithDefaults() (Pace, *ops.InputError) {
	if refusal := outgoing.Durations(map[string]time.Duration{
		"WatchOptions.Interval": p.Interval, "WatchOptions.MaxInterval": p.MaxInterval, "WatchOptions.Settle": p.Settle, "WatchOptions.Timeout": p.Limit,
	}); refusal != nil {
		return p, refusal
	}
	p.Interval = cmp.Or(p.Interval, 5*time.Second)
	p.MaxInterval = max(p.Interval, cmp.Or(p.MaxInterval, 30*time.Second))
	p.Settle = cmp.Or(p.Settle, 2*time.Minute)
	refusal := outgoing.Negative(map[string]int{"WatchOptions.MaxFailures": p.MaxFailures})
	p.MaxFailures = cmp.Or(p.MaxFailures, 20)
	return p, refusal
}

// Info describes one look.
type Info struct {
	Of    string        // the thing looked at
	State string        // as last seen; empty before
	Err   error         // why the look failed
	Next  time.Duration // until the next look; 0 after the last
}

// Bound returns a context that ends with the limit.
func (p Pace) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx == nil || p.Limit == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, p.Limit, fmt.Errorf("WatchOptions.Timeout of %v is over", p.Limit))
}

// Failure classifies the error of a look.
type Failure struct {
	Answered  bool          // the service answered
	CanPass   bool          // the same look may succeed later
	IsStrange bool          // the service cannot have written the answer; can pass if an earlier look succeeded
	Wait      time.Duration // requested by the service
}

type pacer struct {
	Pace
	interval time.Duration
	failures int
	hasSeen  bool // a look has succeeded
}

// shouldRetry reports whether to look again after a failed look.
func (p *pacer) shouldRetry(err error) bool {
	p.failures++
	failure := p.Judge(err)
	return (failure.CanPass || failure.IsStrange && p.hasSeen) && p.failures < p.MaxFailures && failure.Wait <= longestWait
}

// next returns the wait before the next look, at least as long as the service asks for.
func (p *pacer) next(changed bool, err error) time.Duration {
	switch {
	case changed || p.interval == 0:
		p.interval = p.Interval
	case p.interval > p.MaxInterval/2:
		p.interval = p.MaxInterval
	default:
		p.interval *= 2
	}
	if err != nil {
		return max(p.interval, p.Judge(err).Wait)
	}
	p.failures, p.hasSeen = 0, true
	return p.interval
}

// gaveUp returns the error that ends a walk, with the last state. It says so if the service asked
// for too long a wait.
func (p Pace) gaveUp(at Info) error {
	asked := p.Judge(at.Err).Wait
	switch {
	case asked > longestWait:
		return errtext.Errorf("stopped watching %s%s: the service asks to wait %v, more than the limit of %v: watch again later (%v)",
			at.Of, at.lastSeen(), asked, longestWait, at.Err)
	case at.State != "":
		return errtext.Errorf("%v (watching %s%s)", at.Err, at.Of, at.lastSeen())
	}
	return at.Err
}

func (i Info) lastSeen() string {
	if i.State == "" {
		return ""
	}
	return ", last seen as " + i.State
}

// Sleep waits, and returns false if the context has ended.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}
