// Package watch polls something of the service until it is over. The caller defines the look and
// classifies failed looks.
package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/hogapi/hogapi/internal/errtext"
	"github.com/hogapi/hogapi/internal/outgoing"
	"github.com/hogapi/hogapi/ops"
)

// Observation is the result of one look.
type Observation[S any] struct {
	State   *S
	Text    string // the state in a few words
	Changed bool
	Done    bool
}

// Poll reads the state once.
type Poll[S any] func(context.Context) (Observation[S], error)

// Follow looks until the sight is done, and yields changes. An error comes last, with the last
// state. Each walk calls begin for its own look function.
func Follow[S any](ctx context.Context, p Pace, what string, begin func() Poll[S]) iter.Seq2[*S, error] {
	return func(yield func(*S, error) bool) {
		ctx, end := p.Bound(ctx)
		defer end()
		var last *S
		at := Info{Of: what}
		look, pace := begin(), pacer{Pace: p}
		for {
			seen, err := look(ctx)
			if at.Err, at.Next = err, 0; err == nil {
				last, at.State = seen.State, seen.Text
			}
			isLast := seen.Done
			if err != nil {
				isLast = ctx == nil || ctx.Err() == nil && !pace.shouldRetry(err) // a look refuses a nil context
			}
			if !isLast {
				at.Next = pace.next(seen.Changed, err)
			}
			if p.OnLook != nil {
				p.OnLook(at)
			}
			switch {
			case err != nil && isLast:
				yield(last, p.gaveUp(at))
				return
			case err == nil && (seen.Changed || seen.Done) && !yield(last, nil), isLast:
				return
			case !Sleep(ctx, at.Next):
				yield(last, p.stopped(ctx, at))
				return
			}
		}
	}
}

// Changes follows a thing that get returns whole: it has changed if its mark has.
func Changes[S any](ctx context.Context, p Pace, what string, get func(context.Context) (*S, error), judge func(*S) (text string, now Mark, done bool)) iter.Seq2[*S, error] {
	return Follow(ctx, p, what, func() Poll[S] {
		var before *Mark
		return func(ctx context.Context) (Observation[S], error) {
			state, err := get(ctx)
			if err != nil {
				return Observation[S]{}, err
			}
			text, now, done := judge(state)
			changed := before == nil || *before != now
			before = &now
			return Observation[S]{state, text, changed, done}, nil
		}
	})
}

// Ended returns the last state of a walk, and the error of the walk or of its end.
func Ended[S any](states iter.Seq2[*S, error], judge func(*S) error) (last *S, err error) {
	for state, failed := range states {
		last, err = state, failed
	}
	if err == nil {
		err = judge(last)
	}
	return last, err
}

// Values yields the values that states point to, and the zero value for nil.
func Values[S any](states iter.Seq2[*S, error]) iter.Seq2[S, error] {
	return func(yield func(S, error) bool) {
		for state, err := range states {
			var value S
			if state != nil {
				value = *state
			}
			if !yield(value, err) {
				return
			}
		}
	}
}

// stopped returns the error for an ended context, joined with the error of the last look.
func (p Pace) stopped(ctx context.Context, at Info) error {
	ended, failed := ctx.Err(), at.Err
	if cause := context.Cause(ctx); !errors.Is(cause, ended) {
		ended = fmt.Errorf("%w: %w", ended, cause)
	}
	if failed == nil || errors.Is(failed, context.Cause(ctx)) && !p.Judge(failed).Answered {
		return errtext.Errorf("stopped watching %s%s: %v", at.Of, at.lastSeen(), ended)
	}
	return errtext.Errorf("stopped watching %s%s: %v (the last look failed: %v)", at.Of, at.lastSeen(), ended, failed)
}

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

var errGoexit = errors.New("the source ended its goroutine")

// RunDetached runs a function in its own goroutine and returns its error. After the end of ctx it waits
// at most for patience, and then abandons the function. A panic becomes an error.
func RunDetached(ctx context.Context, patience time.Duration, f func() error, panicked func(value any) error) (err error, ended bool) { //nolint:revive // the error is the function's
	done := make(chan error, 1)
	go func() {
		err := errGoexit
		defer func() {
			if p := recover(); p != nil {
				err = panicked(p)
			}
			done <- err
		}()
		err = f()
	}()
	select {
	case err := <-done:
		return err, true
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err, true
	case <-time.After(patience):
		return nil, false
	}
}

// Repetition calls a function at an interval, one call at a time.
type Repetition struct{ stop, stopped chan struct{} }

// Every begins a Repetition.
func Every(interval time.Duration, f func()) *Repetition {
	r := &Repetition{make(chan struct{}), make(chan struct{})}
	go func() {
		defer close(r.stopped)
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				f()
			case <-r.stop:
				f()
				return
			}
		}
	}()
	return r
}

// End calls the function a last time. A nil Repetition has none.
func (r *Repetition) End() {
	if r == nil {
		return
	}
	close(r.stop)
	<-r.stopped
}

// Mark is compared to detect changes: a status and up to four counts.
type Mark struct {
	status string
	counts [4]int64
}

// NewMark distinguishes unknown counts from zero.
func NewMark[S ~string](status S, counts ...*int64) Mark {
	m := Mark{status: string(status)}
	for i, n := range counts {
		m.counts[i] = -1
		if n != nil {
			m.counts[i] = *n
		}
	}
	return m
}
