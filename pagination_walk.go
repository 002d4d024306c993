package hogapi

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
)

// pager walks a list. All state of a walk is made inside the range, so a sequence can be walked
// again.
type pager[T any, P page[T]] struct {
	op       Op
	fetch    func(context.Context, place) fetched[P]
	start    place
	maxPages int
	prefetch int
	refusal  error // bad input
}

// one fetches the page at the start.
func (w pager[T, P]) one(ctx context.Context) (P, error) { return w.fetch(ctx, w.start).deliver() }

// pages yields page after page. An error comes once, last, as a *PageError. A page whose link
// cannot be followed is not yielded: it may be one that was, and a walk that resumes at the error
// fetches it again.
func (w pager[T, P]) pages(ctx context.Context) iter.Seq2[P, error] {
	if ctx == nil {
		return failedSeq[P](nilContext(w.op))
	}
	if w.refusal != nil {
		return failedSeq[P](w.refusal)
	}
	return func(yield func(P, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		ahead := newLookahead(ctx, w)
		defer ahead.stop() // waits for what is under way, after
		defer cancel()     // ending it
		var none P
		at, seen, sum := w.start, map[sum256]bool{}, walked{start: w.start.offset}
		for n := 1; ; n++ {
			p, next, err := w.page(ctx, ahead, n, at, seen)
			if err != nil {
				yield(none, w.failed(n, at, err))
				return
			}
			if next != nil {
				ahead.plan(p, at, *next)
			}
			sum.add(len(p.items()), p.total())
			if !yield(p, nil) {
				return
			}
			if next == nil {
				if err := sum.check(); err != nil {
					yield(none, w.failed(n+1, sum.resume(), err))
				}
				return
			}
			at = *next
		}
	}
}

// walked compares what a walk over counted pages has seen with what there is to see.
type walked struct {
	start, pages, seen int
	least, most        int // of the counts of its pages, which come in any order from a prefetch
}

func (w *walked) add(items, count int) {
	if w.pages++; w.pages == 1 {
		w.least, w.most = count, count
	}
	w.seen += items
	w.least, w.most = min(w.least, count), max(w.most, count)
}

// check is asked at the end of a walk. Without a count there is nothing to compare with.
func (w *walked) check() error {
	switch {
	case w.most-w.start <= w.seen:
		return nil
	case w.least < w.most:
		return fmt.Errorf("rows were created or deleted during the walk (the list counted from %d to %d), "+
			"so that others have moved and may have been passed over", w.least, w.most)
	default:
		return fmt.Errorf("the list ended after %d of %d items: the service cut it short, "+
			"or rows were created and deleted during the walk", w.seen, w.most-w.start)
	}
}

// resume is where the rest of a list is: rows that have moved can be anywhere.
func (w *walked) resume() place {
	if w.least < w.most {
		return place{offset: w.start}
	}
	return place{offset: w.start + w.seen}
}

// sum256 stands for what a server can make long.
type sum256 [sha256.Size]byte

// page fetches the n-th page of a walk and reads where the next one begins; nil after the last. It
// remembers cursors by their digests, since a server can make them long.
func (w pager[T, P]) page(ctx context.Context, ahead *lookahead[T, P], n int, at place, seen map[sum256]bool) (
	p P, next *place, err error,
) {
	if n > cmp.Or(w.maxPages, defaultMaxPages) {
		return p, nil, errPageLimit
	}
	if p, err = ahead.take(ctx, at); err != nil {
		return p, nil, err
	}
	link := p.link()
	if link == nil || *link == "" {
		return p, nil, nil
	}
	to, err := p.after(at, *link)
	mark := sum256(sha256.Sum256([]byte(to.cursor)))
	if err == nil && to.cursor != "" && (seen[mark] || to.cursor == w.start.cursor) {
		err = errRepeatedLink
	}
	seen[mark] = true
	return p, &to, err
}

func (w pager[T, P]) failed(n int, at place, err error) error {
	if _, refused := errors.AsType[*InputError](err); refused {
		return err // refused before anything was sent: no page to resume at
	}
	return &PageError{Op: w.op, Page: n, Offset: at.offset, Cursor: at.cursor, Err: err}
}

// all yields the items of all pages.
func (w pager[T, P]) all(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for p, err := range w.pages(ctx) {
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range p.items() {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// failedSeq is a sequence of one error.
func failedSeq[T any](err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var none T
		yield(none, err)
	}
}

// lookahead fetches pages before they are asked for: all that the count promises, at most
// w.prefetch at the same time. Without prefetch, and for pages that it has not planned, it fetches
// when asked.
type lookahead[T any, P page[T]] struct {
	ctx     context.Context //nolint:containedctx // lives as long as one walk
	walk    pager[T, P]
	pending map[place]chan fetched[P]
	last    place // the furthest place planned
}

// fetched is the result of fetching a page. The caller's Reply is filled when the page is
// delivered, not while another is read.
type fetched[P any] struct {
	page     P
	err      error
	reply    Reply
	replyFor *Reply
}

func (f fetched[P]) deliver() (P, error) {
	if f.replyFor != nil {
		*f.replyFor = f.reply
	}
	return f.page, f.err
}

func newLookahead[T any, P page[T]](ctx context.Context, w pager[T, P]) *lookahead[T, P] {
	return &lookahead[T, P]{ctx: ctx, walk: w, pending: map[place]chan fetched[P]{}, last: w.start}
}

// plan starts fetching what follows the page p: its next page, and for offset lists those after it
// by the same step.
func (l *lookahead[T, P]) plan(p P, at, next place) {
	to, step := next, next.offset-at.offset
	for range l.walk.prefetch {
		if len(l.pending) < l.walk.prefetch && (to.offset > l.last.offset || to.cursor != l.last.cursor) {
			l.start(to)
		}
		if step <= 0 || to.offset >= max(p.total(), 0)-step { // not to.offset+step: a hostile link must not overflow it
			return
		}
		to.offset += step
	}
}

func (l *lookahead[T, P]) start(to place) {
	l.last = to
	result := make(chan fetched[P], 1)
	l.pending[to] = result
	go orElse(func() { result <- l.walk.fetch(l.ctx, to) }, func(err error) { result <- fetched[P]{err: err} })
}

// take returns the page at a place, fetching it now unless it is under way.
func (l *lookahead[T, P]) take(ctx context.Context, at place) (P, error) {
	result, ok := l.pending[at]
	if !ok || ctx.Err() != nil { // an ended context ends the walk here, whatever is there already
		return l.walk.fetch(ctx, at).deliver()
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

// fetchPage makes the fetch function of a list: an ordinary call for each page.
func fetchPage[P any](c *Client, r request, options []CallOption) func(context.Context, place) fetched[*P] {
	return func(ctx context.Context, at place) (got fetched[*P]) {
		query := url.Values{}
		maps.Copy(query, r.query)
		at.set(query)
		ownReply := func(cfg *callConfig) {
			if got.replyFor = cfg.reply; cfg.reply != nil {
				cfg.reply = &got.reply
			}
		}
		got.page, got.err = fetch[P](ctx, c, r.with(query), append(slices.Clip(options), ownReply))
		return got
	}
}

// offsetPager is the pager of a list that is paged by offset.
func offsetPager[T any](c *Client, r request, o ListOptions, options []CallOption) pager[T, *OffsetPage[T]] {
	r = r.refuse(o.check(r.op.name))
	return pager[T, *OffsetPage[T]]{
		op: r.op.name, fetch: fetchPage[OffsetPage[T]](c, r, options),
		start: place{offset: o.Offset, limit: o.Limit}, maxPages: o.MaxPages, prefetch: o.Prefetch, refusal: r.refusal,
	}
}

// cursorPager is the pager of a list that is paged by cursor.
func cursorPager[T any](c *Client, r request, o CursorOptions, options []CallOption) pager[T, *CursorPage[T]] {
	r = r.refuse(o.check(r.op.name))
	cursor, _ := o.start() // checked
	return pager[T, *CursorPage[T]]{
		op: r.op.name, fetch: fetchPage[CursorPage[T]](c, r, options),
		start: place{cursor: cursor}, maxPages: o.MaxPages, prefetch: o.Prefetch, refusal: r.refusal,
	}
}
