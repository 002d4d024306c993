// Package pages walks paged lists: it follows the service's links with guards against loops,
// prefetches in order, and checks that a counted list was seen whole. It walks logs, which have no
// links, by time. The caller defines the pages, the fetching and the errors.
package pages

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"strings"

	"github.com/hogapi/hogapi/internal/outgoing"
)

const maxPages = 10_000

// ErrPageLimit ends a walk over too many pages.
var ErrPageLimit = errors.New("the page limit is reached; raise MaxPages or continue here")

// Walk describes a walk over a list of T in pages of type P. A sequence can be walked again, since
// all state is made inside the range.
type Walk[T, P any] struct {
	Fetch    func(context.Context, Place) Fetched[P]
	View     func(P) View[T]
	Next     func(from Place, link string) (Place, error) // ByOffset or ByCursor
	Check    func(context.Context) error                  // refuses bad input before any fetch
	Failed   func(page int, at Place, err error) error    // makes the error that ends a walk
	ID       func(*T) string                              // of a row; nil: rows have no ID
	Start    Place
	HasCount bool // a page says how many items the whole list has; a walk compares
	MaxPages int  // more pages are an error; 0 means 10,000
	Prefetch int  // pages fetched ahead of the reader at the same time
}

// View is the part of a page that a walk reads.
type View[T any] struct {
	Items []T
	Count int    // items in the whole list; 0 if the page has no count
	Link  string // to the next page; empty on the last
}

// RowErrors is the error of a fetched page with unreadable rows. At returns the raw row and its error, or nil for a
// readable row.
type RowErrors interface {
	error
	At(i int) (raw []byte, err error)
}

func errorAt(bad RowErrors, i int) (raw []byte, err error) {
	if bad == nil {
		return nil, nil
	}
	return bad.At(i)
}

// Fetched is the result of fetching a page. Deliver, if not nil, is called when the page is
// delivered, not during another fetch.
type Fetched[P any] struct {
	Page    P
	Err     error
	Deliver func()
}

// One fetches the page at the start.
func (w Walk[T, P]) One(ctx context.Context) (p P, err error) {
	if err := w.Check(ctx); err != nil {
		return p, err
	}
	got := w.Fetch(ctx, w.Start)
	if got.Deliver != nil {
		got.Deliver()
	}
	return got.Page, got.Err
}

// Pages yields all pages. An error comes last, but for errors of rows, which come with their page. A page with a
// faulty link is not yielded: it may be a repetition, and a walk that resumes at the error fetches it again.
func (w Walk[T, P]) Pages(ctx context.Context) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		var none P
		ctx := ctx // of this walk
		if err := w.Check(ctx); err != nil {
			yield(none, err)
			return
		}
		var ahead *lookahead[T, P]
		if w.Prefetch > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithCancel(ctx)
			ahead = &lookahead[T, P]{ctx: ctx, walk: w, pending: map[Place]chan Fetched[P]{}, last: w.Start}
			defer ahead.stop() // waits for fetches under way,
			defer cancel()     // which cancel ends first
		}
		at, seen := w.Start, map[digest]bool{}
		sum := tally{start: w.Start.Offset, anyOrder: w.Prefetch > 0, ids: map[string]bool{}}
		for n := 1; ; n++ {
			p, next, err := w.page(ctx, ahead, n, at, seen)
			rows, isOfRows := errors.AsType[RowErrors](err)
			if err != nil && !isOfRows {
				yield(none, w.Failed(n, at, err))
				return
			}
			view := w.View(p)
			if ahead != nil && next != nil {
				ahead.plan(view.Count, at, *next)
			}
			if w.HasCount {
				sum.add(len(view.Items), view.Count)
			}
			for i := range view.Items {
				if w.ID == nil {
					break
				}
				if _, bad := errorAt(rows, i); bad == nil {
					sum.see(w.ID(&view.Items[i]))
				}
			}
			if isOfRows {
				err = w.Failed(n, at, rows)
			}
			if !yield(p, err) {
				return
			}
			if next == nil {
				if !w.HasCount {
					return
				}
				if err := sum.check(); err != nil {
					yield(none, w.Failed(n+1, sum.resume(), err))
				}
				return
			}
			at = *next
		}
	}
}

// digest is a SHA-256; it stands for texts that a server can make long.
type digest [sha256.Size]byte

// page fetches the n-th page of a walk and returns the start of the next one, or nil after the
// last. It remembers cursors as digests, since a server can make them long. With an error of rows, the page is there.
func (w Walk[T, P]) page(ctx context.Context, ahead *lookahead[T, P], n int, at Place, seen map[digest]bool) (p P, next *Place, err error) {
	if n > cmp.Or(w.MaxPages, maxPages) {
		return p, nil, ErrPageLimit
	}
	fetch := w.Fetch
	if ahead != nil {
		fetch = ahead.take
	}
	got := fetch(ctx, at)
	if got.Deliver != nil {
		got.Deliver()
	}
	p, err = got.Page, got.Err
	if err != nil && !errors.As(err, new(RowErrors)) {
		return p, nil, err
	}
	link := w.View(p).Link
	if link == "" {
		return p, nil, err
	}
	to, bad := w.Next(at, link)
	mark := digest(sha256.Sum256([]byte(to.Cursor)))
	if bad == nil && to.Cursor != "" && (seen[mark] || to.Cursor == w.Start.Cursor) {
		bad = ErrRepeatedLink
	}
	seen[mark] = true
	return p, &to, cmp.Or(bad, err)
}

// All yields the items of all pages, an item that could not be read with its error.
func (w Walk[T, P]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for p, err := range w.Pages(ctx) {
			rows, isOfRows := errors.AsType[RowErrors](err)
			if err != nil && !isOfRows {
				var none T
				yield(none, err)
				return
			}
			for i, item := range w.View(p).Items {
				if isOfRows {
					_, err = rows.At(i)
				}
				if !yield(item, err) {
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
func (l *lookahead[T, P]) take(ctx context.Context, at Place) Fetched[P] {
	result, ok := l.pending[at]
	if !ok || ctx.Err() != nil { // an ended context ends the walk, even if the page is already there
		return l.walk.Fetch(ctx, at)
	}
	delete(l.pending, at)
	return <-result
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
	ids                map[string]bool
}

// add notes the next page.
func (t *tally) add(items, count int) {
	if t.pages++; t.pages == 1 {
		t.least, t.most, t.last = count, count, count
	}
	t.seen += items
	t.least, t.most = min(t.least, count), max(t.most, count)
	t.hasMoved = t.hasMoved || count < t.last || t.anyOrder && t.least < t.most
	t.last = count
}

// see notes a row that could be read.
func (t *tally) see(id string) {
	t.hasMoved = t.hasMoved || t.ids[id]
	t.ids[id] = true
}

// check runs at the end of a walk. Equal counts prove nothing if one of them fell: a created row
// makes up for a deleted one.
func (t *tally) check() error {
	switch {
	case t.hasMoved || t.least < t.most && t.most-t.start > t.seen:
		return fmt.Errorf("rows were created or deleted during the walk (the list counted from %d to %d), "+
			"so other rows have moved and may have been skipped: start again", t.least, t.most)
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

// ErrRepeatedLink ends a walk that would loop.
var ErrRepeatedLink = errors.New("the service's link to the next page does not advance")

var errHasKey = errors.New("the cursor holds an API key")

// maxCursor is far above the service's cursors of about 60 bytes.
const maxCursor = 4 << 10

// Place is the start of a page. Its zero value is the start of a list.
type Place struct {
	Offset, Limit int
	Cursor        string
}

// Set adds the place to a list's query.
func (p Place) Set(q url.Values) {
	if p.Limit > 0 {
		q.Set("limit", strconv.Itoa(p.Limit))
	}
	if p.Offset > 0 {
		q.Set("offset", strconv.Itoa(p.Offset))
	}
	if p.Cursor != "" {
		q.Set("cursor", p.Cursor)
	}
}

// ByOffset reads the offset and limit from a link.
func ByOffset(from Place, link string) (Place, error) {
	q, err := linkQuery(link)
	if err != nil {
		return Place{}, err
	}
	offset, err := strconv.Atoi(q.Get("offset"))
	if err != nil || offset < 0 {
		return Place{}, errors.New("the service's link to the next page has no offset")
	}
	if offset <= from.Offset {
		return Place{}, ErrRepeatedLink
	}
	to := Place{Offset: offset, Limit: from.Limit}
	if limit, err := strconv.Atoi(q.Get("limit")); err == nil && limit > 0 {
		to.Limit = limit
	}
	return to, nil
}

// ByCursor reads the cursor from a link.
func ByCursor(_ Place, link string) (Place, error) {
	cursor, err := CursorIn(link)
	return Place{Cursor: cursor}, err
}

// Start returns the first cursor, given a cursor or a link with one.
func Start(cursor string) (string, error) {
	if strings.Contains(cursor, "?") {
		return CursorIn(cursor)
	}
	if outgoing.HasKey(cursor) {
		return "", errHasKey
	}
	return cursor, nil
}

// CursorIn returns the cursor in a link.
func CursorIn(link string) (string, error) {
	q, err := linkQuery(link)
	if err != nil {
		return "", err
	}
	switch cursor := q.Get("cursor"); {
	case cursor == "":
		return "", errors.New("the service's link to the next page has no cursor")
	case outgoing.HasKey(cursor):
		return "", errHasKey // a server may repeat any part of a request, and errors have the cursor
	case len(cursor) > maxCursor:
		return "", errors.New("the service's link to the next page has a cursor of over 4 KiB")
	default:
		return cursor, nil
	}
}

// linkQuery returns the query of a link. It ignores the rest, above all the host.
func linkQuery(link string) (url.Values, error) {
	u, err := url.Parse(link)
	if err == nil {
		var q url.Values
		if q, err = url.ParseQuery(u.RawQuery); err == nil {
			return q, nil
		}
	}
	return nil, errors.New("the service's link to the next page cannot be read")
}
