// Package watch polls something of the service until it is over. The caller defines the look and
// classifies failed looks.
package watch

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"github.com/hogapi/hogapi/internal/errtext"
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
