// Package pages walks paged lists: it follows the service's links with guards against loops,
// prefetches in order, and checks that a counted list was seen whole. It walks logs, which have no
// links, by time, and pages of events by key. The caller defines the pages, the fetching and the
// errors.
package pages

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
)

const mostPages = 10_000

// ErrPageLimit ends a walk over too many pages.
var ErrPageLimit = errors.New("the page limit is reached; raise MaxPages or continue here")

// Walk describes a walk over a list of T in pages of type P. A sequence can be walked again, since
// all state is made inside the range.
type Walk[T, P any] struct {
	Fetch    func(context.Context, Place) Fetched[P]
	View     func(P) View[T]
	Next     func(from Place, link string) (Place, error) // ByOffset or ByCursor
	Refuse   func(context.Context) error                  // refuses bad input before any fetch
	Failed   func(page int, at Place, err error) error    // makes the error that ends a walk
	ID       func(*T) any                                 // of a row, comparable; nil: rows have no ID
	Start    Place
	MaxPages int // more pages are an error; 0 means 10,000
	Prefetch int // pages fetched ahead of the reader at the same time
}

// View is the part of a page that a walk reads.
type View[T any] struct {
	Items []T
	Count int    // items in the whole list; 0 if the page has no count
	Link  string // to the next page; empty on the last
}

// RowErrors is the error of a page that was fetched, but not all of whose rows could be read. At returns a row as it came
// and its error, or nil for a row that was read.
type RowErrors interface {
	error
	At(i int) (raw []byte, err error)
}

// ofRows returns err if it is an error of rows, and an error that ends a walk.
func ofRows(err error) (rows RowErrors, end error) {
	if err == nil {
		return nil, nil
	}
	if rows, ok := errors.AsType[RowErrors](err); ok {
		return rows, nil
	}
	return nil, err
}

// Fetched is the result of fetching a page. Deliver, if not nil, is called when the page is
// delivered, not during another fetch.
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

// Pages yields all pages. An error comes last, but for errors of rows, which come with their page. A page with a
// faulty link is not yielded: it may be a repetition, and a walk that resumes at the error fetches it again.
func (w Walk[T, P]) Pages(ctx context.Context) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		var none P
		if err := w.Refuse(ctx); err != nil {
			yield(none, err)
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		ahead := newLookahead(ctx, w)
		defer ahead.stop() // waits for fetches under way,
		defer cancel()     // which cancel ends first
		at, seen := w.Start, map[digest]bool{}
		sum := tally{start: w.Start.Offset, anyOrder: w.Prefetch > 0, ids: map[any]bool{}}
		for n := 1; ; n++ {
			p, next, rows, err := w.page(ctx, ahead, n, at, seen)
			if err != nil {
				yield(none, w.Failed(n, at, err))
				return
			}
			view := w.View(p)
			if next != nil {
				ahead.plan(view.Count, at, *next)
			}
			sum.add(len(view.Items), view.Count, w.ids(view.Items, rows))
			if rows != nil {
				err = w.Failed(n, at, rows)
			}
			if !yield(p, err) {
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

// ids returns the ids of the items that could be read.
func (w Walk[T, P]) ids(items []T, bad RowErrors) (ids []any) {
	if w.ID == nil {
		return nil
	}
	for i := range items {
		if _, err := errorAt(bad, i); err == nil {
			ids = append(ids, w.ID(&items[i]))
		}
	}
	return ids
}

func errorAt(bad RowErrors, i int) (raw []byte, err error) {
	if bad == nil {
		return nil, nil
	}
	return bad.At(i)
}

// digest is a SHA-256; it stands for texts that a server can make long.
type digest [sha256.Size]byte

// page fetches the n-th page of a walk and returns the start of the next one, or nil after the
// last. It remembers cursors as digests, since a server can make them long.
func (w Walk[T, P]) page(ctx context.Context, ahead *lookahead[T, P], n int, at Place, seen map[digest]bool) (
	p P, next *Place, bad RowErrors, err error,
) {
	if n > cmp.Or(w.MaxPages, mostPages) {
		return p, nil, nil, ErrPageLimit
	}
	p, err = ahead.take(ctx, at)
	if bad, err = ofRows(err); err != nil {
		return p, nil, nil, err
	}
	link := w.View(p).Link
	if link == "" {
		return p, nil, bad, nil
	}
	to, err := w.Next(at, link)
	mark := digest(sha256.Sum256([]byte(to.Cursor)))
	if err == nil && to.Cursor != "" && (seen[mark] || to.Cursor == w.Start.Cursor) {
		err = ErrRepeatedLink
	}
	seen[mark] = true
	return p, &to, bad, err
}

// All yields the items of all pages, an item that could not be read with its error.
func (w Walk[T, P]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for p, err := range w.Pages(ctx) {
			bad, err := ofRows(err)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for i, item := range w.View(p).Items {
				if _, err := errorAt(bad, i); !yield(item, err) {
					return
				}
			}
		}
	}
}

// Failed yields one error, of a walk that cannot begin.
func Failed[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}

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

// tally compares the rows that a walk has seen with the counts of its pages.
type tally struct {
	start, pages, seen int
	least, most, last  int  // counts of the pages
	anyOrder           bool // with prefetch, a later page may show an earlier state of the list
	hasMoved           bool // a row may have moved past the walk
	ids                map[any]bool
}

// add notes the next page. Its ids are nil for rows without ids.
func (t *tally) add(items, count int, ids []any) {
	if t.pages++; t.pages == 1 {
		t.least, t.most, t.last = count, count, count
	}
	t.seen += items
	t.least, t.most = min(t.least, count), max(t.most, count)
	t.hasMoved = t.hasMoved || count < t.last || t.anyOrder && t.least < t.most
	t.last = count
	for _, id := range ids {
		t.hasMoved = t.hasMoved || t.ids[id]
		t.ids[id] = true
	}
}

// check runs at the end of a walk. Equal counts prove nothing if one of them fell: a created row
// makes up for a deleted one.
func (t *tally) check() error {
	switch {
	case t.hasMoved || t.least < t.most && t.most-t.start > t.seen:
		return fmt.Errorf("rows were created or deleted during the walk (the list counted from %d to %d), "+
			"so others have moved and may have been passed over: begin again", t.least, t.most)
	case t.most-t.start > t.seen:
		return fmt.Errorf("the list ended after %d of %d items: the service cut it short, "+
			"or rows were created and deleted during the walk", t.seen, t.most-t.start)
	}
	return nil
}

// resume returns the place to continue at: the start, if rows have moved.
func (t *tally) resume() Place {
	if t.hasMoved || t.least < t.most {
		return Place{Offset: t.start}
	}
	return Place{Offset: t.start + t.seen}
}

// Circle detects, in little memory, that a walk visits a place again: it remembers one place, and
// replaces it each time the walk has doubled in length.
type Circle[P comparable] struct {
	place    P
	steps    int
	nextMark int
}

// IsClosedBy notes a place, and reports whether the walk has returned to an earlier one.
func (c *Circle[P]) IsClosedBy(p P) bool {
	if c.steps > 0 && p == c.place {
		return true
	}
	if c.steps == c.nextMark {
		c.place, c.nextMark = p, 2*c.steps+1
	}
	c.steps++
	return false
}
