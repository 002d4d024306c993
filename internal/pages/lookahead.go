package pages

import (
	"context"
	"errors"
)

// lookahead fetches pages before they are asked for: all that the count promises, at most Prefetch
// at the same time. Without prefetch, and for pages that it has not planned, it fetches when asked.
type lookahead[T, P any] struct {
	ctx     context.Context //nolint:containedctx // lives as long as one walk
	walk    Walk[T, P]
	pending map[Place]chan Fetched[P]
	last    Place // the furthest place planned
}

func newLookahead[T, P any](ctx context.Context, w Walk[T, P]) *lookahead[T, P] {
	return &lookahead[T, P]{ctx: ctx, walk: w, pending: map[Place]chan Fetched[P]{}, last: w.Start}
}

// plan starts fetching what follows the page at a place: its next page, and for offset lists those
// after it by the same step, up to the count.
func (l *lookahead[T, P]) plan(count int, at, next Place) {
	to, step := next, next.Offset-at.Offset
	for range l.walk.Prefetch {
		if len(l.pending) < l.walk.Prefetch && (to.Offset > l.last.Offset || to.Cursor != l.last.Cursor) {
			l.start(to)
		}
		if step <= 0 || to.Offset >= max(count, 0)-step { // not to.Offset+step: a hostile link must not overflow it
			return
		}
		to.Offset += step
	}
}

func (l *lookahead[T, P]) start(to Place) {
	l.last = to
	result := make(chan Fetched[P], 1)
	l.pending[to] = result
	go func() {
		got := Fetched[P]{Err: errNotReturned}
		defer func() { result <- got }()
		got = l.walk.Fetch(l.ctx, to)
	}()
}

// errNotReturned is the result of a fetch in which a function of the caller ended the goroutine, as
// a failing test does, or panicked. Nobody may wait for its result in vain.
var errNotReturned = errors.New("a function of the caller did not return (runtime.Goexit)")

// take returns the page at a place, fetching it now unless it is under way.
func (l *lookahead[T, P]) take(ctx context.Context, at Place) (P, error) {
	result, ok := l.pending[at]
	if !ok || ctx.Err() != nil { // an ended context ends the walk here, whatever is there already
		return l.walk.Fetch(ctx, at).deliver()
	}
	delete(l.pending, at)
	return (<-result).deliver()
}

// stop waits for all that is under way, so that a walk that was broken off leaves no goroutine.
func (l *lookahead[T, P]) stop() {
	for _, result := range l.pending {
		<-result
	}
}
