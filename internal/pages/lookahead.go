package pages

import (
	"context"
	"errors"
)

// lookahead fetches pages ahead, up to the count and at most Prefetch at the same time. Without
// prefetch, and for pages not planned, it fetches on request.
type lookahead[T, P any] struct {
	ctx     context.Context //nolint:containedctx // lives as long as one walk
	walk    Walk[T, P]
	pending map[Place]chan Fetched[P]
	last    Place // the furthest place planned
}

func newLookahead[T, P any](ctx context.Context, w Walk[T, P]) *lookahead[T, P] {
	return &lookahead[T, P]{ctx: ctx, walk: w, pending: map[Place]chan Fetched[P]{}, last: w.Start}
}

// plan starts fetching the pages after the one at a place: its next page and, for offset lists,
// further pages at the same step, up to the count.
func (l *lookahead[T, P]) plan(count int, at, next Place) {
	to, step := next, next.Offset-at.Offset
	for range l.walk.Prefetch {
		if len(l.pending) < l.walk.Prefetch && (to.Offset > l.last.Offset || to.Cursor != l.last.Cursor) {
			l.start(to)
		}
		if step <= 0 || to.Offset >= max(count, 0)-step { // not to.Offset+step, which a hostile link could overflow
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
// a failing test does, or panicked. It keeps readers of the result from waiting forever.
var errNotReturned = errors.New("a function of the caller did not return (runtime.Goexit)")

// take returns the page at a place, fetching it now unless a fetch is under way.
func (l *lookahead[T, P]) take(ctx context.Context, at Place) (P, error) {
	result, ok := l.pending[at]
	if !ok || ctx.Err() != nil { // an ended context ends the walk, even if the page is already there
		return l.walk.Fetch(ctx, at).deliver()
	}
	delete(l.pending, at)
	return (<-result).deliver()
}

// stop waits for fetches under way, so that a walk that ends early leaves no goroutine.
func (l *lookahead[T, P]) stop() {
	for _, result := range l.pending {
		<-result
	}
}
