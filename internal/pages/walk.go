// Package pages walks a list page after page: it follows the service's links with guards against
// loops, fetches ahead in order, and checks that a counted list was seen whole. A log, which has no
// links, is walked by time, and pages of events by a key. What a page holds, how it is fetched and what
// an error looks like is the caller's.
package pages

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"iter"
)

// mostPages bounds a walk without a limit of its own.
const mostPages = 10_000

// ErrPageLimit ends a walk over more pages than allowed.
var ErrPageLimit = errors.New("the page limit is reached; raise MaxPages or continue here")

// Walk describes a walk over a list of T in pages of type P. All state of a walk is made inside the
// range, so a sequence can be walked again.
type Walk[T, P any] struct {
	Fetch    func(context.Context, Place) Fetched[P]
	View     func(P) View[T]
	Next     func(from Place, link string) (Place, error) // ByOffset or ByCursor
	Refuse   func(context.Context) error                  // bad input, before anything is fetched
	Failed   func(page int, at Place, err error) error    // makes the error that ends a walk
	ID       func(*T) any                                 // of a row, comparable; nil where rows have none
	Start    Place
	MaxPages int // a walk over more pages is an error; 0 means 10,000
	Prefetch int // pages fetched at the same time ahead of the reader
}

// View is what a walk reads of a page.
type View[T any] struct {
	Items []T
	Count int    // items of the whole list; 0 where the page does not count
	Link  string // to the next page; empty on the last
}

// Fetched is the result of fetching a page. Deliver, unless nil, is called when the page is
// delivered, not while another is read.
type Fetched[P any] struct {
	Page    P
	Err     error
	Deliver func()
}

func (f Fetched[P]) deliver() (P, error) {
	if f.Deliver != nil {
		f.Deliver()
	}
	return f.Page, f.Err
}

// One fetches the page at the start.
func (w Walk[T, P]) One(ctx context.Context) (P, error) { return w.Fetch(ctx, w.Start).deliver() }

// Pages yields page after page. An error comes once, last. A page whose link cannot be followed is
// not yielded: it may be one that was, and a walk that resumes at the error fetches it again.
func (w Walk[T, P]) Pages(ctx context.Context) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		var none P
		if err := w.Refuse(ctx); err != nil {
			yield(none, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		ahead := newLookahead(ctx, w)
		defer ahead.stop() // waits for what is under way, after
		defer cancel()     // ending it
		at, seen := w.Start, map[digest]bool{}
		sum := tally{start: w.Start.Offset, anyOrder: w.Prefetch > 0, ids: map[any]bool{}}
		for n := 1; ; n++ {
			p, next, err := w.page(ctx, ahead, n, at, seen)
			if err != nil {
				yield(none, w.Failed(n, at, err))
				return
			}
			view := w.View(p)
			if next != nil {
				ahead.plan(view.Count, at, *next)
			}
			sum.add(len(view.Items), view.Count, w.ids(view.Items))
			if !yield(p, nil) {
				return
			}
			if next == nil {
				if err := sum.check(); err != nil {
					yield(none, w.Failed(n+1, sum.resume(), err))
				}
				return
			}
			at = *next
		}
	}
}

func (w Walk[T, P]) ids(rows []T) (ids []any) {
	if w.ID == nil {
		return nil
	}
	for i := range rows {
		ids = append(ids, w.ID(&rows[i]))
	}
	return ids
}

// digest is a SHA-256, and stands for what a server can make long.
type digest [sha256.Size]byte

// page fetches the n-th page of a walk and reads where the next one begins; nil after the last. It
// remembers cursors by their digests, since a server can make them long.
func (w Walk[T, P]) page(ctx context.Context, ahead *lookahead[T, P], n int, at Place, seen map[digest]bool) (
	p P, next *Place, err error,
) {
	if n > cmp.Or(w.MaxPages, mostPages) {
		return p, nil, ErrPageLimit
	}
	if p, err = ahead.take(ctx, at); err != nil {
		return p, nil, err
	}
	link := w.View(p).Link
	if link == "" {
		return p, nil, nil
	}
	to, err := w.Next(at, link)
	mark := digest(sha256.Sum256([]byte(to.Cursor)))
	if err == nil && to.Cursor != "" && (seen[mark] || to.Cursor == w.Start.Cursor) {
		err = ErrRepeatedLink
	}
	seen[mark] = true
	return p, &to, err
}

// All yields the items of all pages.
func (w Walk[T, P]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for p, err := range w.Pages(ctx) {
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range w.View(p).Items {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}
