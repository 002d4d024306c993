package watch

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/outgoing"
)

// longestWait is how long the service's wish to wait is obeyed between two looks.
const longestWait = time.Hour

// Pace says how often to look, when to give up, and what a failed look means.
type Pace struct {
	Interval    time.Duration // between two looks; it doubles while nothing changes
	MaxInterval time.Duration
	MaxFailures int           // in a row
	Settle      time.Duration // without a change, after which nothing more is expected where nothing says so
	Limit       time.Duration // of all looks together; 0: none
	OnLook      func(Info)    // nil: nobody is told
	Judge       func(error) Failure
}

// WithDefaults fills the zero fields, and refuses what is below 0.
func (p Pace) WithDefaults() (Pace, *outgoing.Refusal) {
	if refusal := outgoing.Durations(map[string]time.Duration{
		"WatchOptions.Interval": p.Interval, "WatchOptions.MaxInterval": p.MaxInterval, "WatchOptions.Settle": p.Settle, "WatchOptions.Limit": p.Limit,
	}); refusal != nil {
		return p, refusal
	}
	p.Interval = cmp.Or(p.Interval, 5*time.Second)
	p.MaxInterval = max(p.Interval, cmp.Or(p.MaxInterval, 30*time.Second))
	p.Settle = cmp.Or(p.Settle, 2*time.Minute)
	refusal := outgoing.Negative(map[string]int{"WatchOptions.MaxFailures": p.MaxFailures})
	p.MaxFailures = cmp.Or(p.MaxFailures, 5)
	return p, refusal
}

// Info is what one look has shown.
type Info struct {
	Of    string        // what is looked at
	State string        // as it was last seen; empty before
	Err   error         // why the look failed
	Next  time.Duration // until the next look; 0 after the last
}

// Bound is a context that ends with the limit.
func (p Pace) Bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx == nil || p.Limit == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, p.Limit, fmt.Errorf("WatchOptions.Limit of %v is over", p.Limit))
}

// Failure is what the error of a look means.
type Failure struct {
	Answered bool          // by the service
	CanPass  bool          // the same look may succeed later
	Wait     time.Duration // how long the service asks to wait
}

// pacer decides when the next look comes.
type pacer struct {
	Pace
	interval time.Duration
	failures int
}

// bears reports whether to look again after a failed look.
func (p *pacer) bears(err error) bool {
	p.failures++
	failure := p.Judge(err)
	return failure.CanPass && p.failures < p.MaxFailures && failure.Wait <= longestWait
}

// next is the wait before the next look, never shorter than the service asks for.
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
	p.failures = 0
	return p.interval
}

// gaveUp is the error of a look that ends a walk. It says if the service asks for a longer wait than is
// obeyed, and the last state.
func (p Pace) gaveUp(at Info) error {
	asked := p.Judge(at.Err).Wait
	switch {
	case asked > longestWait:
		return errtext.Errorf("stopped watching %s%s: the service asks to wait %v, longer than the %v that are waited: watch again later (%v)",
			at.Of, at.lastSeen(), asked, longestWait, at.Err)
	case at.State != "":
		return errtext.Errorf("%v (watching %s%s)", at.Err, at.Of, at.lastSeen())
	}
	return at.Err
}

// lastSeen is the last state in an error.
func (i Info) lastSeen() string {
	if i.State == "" {
		return ""
	}
	return ", last seen as " + i.State
}

// Sleep waits, or reports false when the context has ended.
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
