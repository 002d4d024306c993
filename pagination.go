package hogapi

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"
)

// OffsetPage is one page of a list that counts its items.
type OffsetPage[T any] struct {
	Count    int     `json:"count"`    // items of the whole list, at the time of this page
	Next     *string `json:"next"`     // the service's link to the next page; nil on the last
	Previous *string `json:"previous"` // the service's link to the page before
	Results  []T     `json:"results"`
}

// CursorPage is one page of a list that is walked by cursor; it knows no count.
type CursorPage[T any] struct {
	Next     *string `json:"next"`
	Previous *string `json:"previous"`
	Results  []T     `json:"results"`
}

// ListOptions select a part of a list that is paged by offset.
// Rows that appear or vanish while a list is walked can make items repeat or be missed: that is the nature of offsets.
type ListOptions struct {
	Limit    int // items a page; 0 is the service's default of 100
	Offset   int // of the first item
	MaxPages int // a walk over more pages is an error; 0 means 10,000
	Prefetch int // pages fetched at the same time ahead of the reader; 0 fetches each when it is asked for
}

// CursorOptions select a part of a list that is paged by cursor.
type CursorOptions struct {
	Cursor   string // where to start; from a PageError or a page's Next
	MaxPages int    // a walk over more pages is an error; 0 means 10,000
	Prefetch int    // 1 or more fetches the next page while the reader works on this one
}

const defaultMaxPages = 10_000

func (o ListOptions) check(op Op) error {
	return firstNegative(op, map[string]int{"Limit": o.Limit, "Offset": o.Offset, "MaxPages": o.MaxPages, "Prefetch": o.Prefetch})
}

func (o CursorOptions) check(op Op) error {
	return firstNegative(op, map[string]int{"MaxPages": o.MaxPages, "Prefetch": o.Prefetch})
}

func firstNegative[T int | time.Duration](op Op, fields map[string]T) error {
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if n := fields[field]; n < 0 {
			return &InputError{Op: op, Field: field, Value: fmt.Sprint(n), Want: "0 or more"}
		}
	}
	return nil
}

// place is where a page begins. Its zero value is the start of a list.
type place struct {
	offset, limit int
	cursor        string
}

// set puts the place into a list's own query.
func (p place) set(q url.Values) {
	if p.limit > 0 {
		q.Set("limit", strconv.Itoa(p.limit))
	}
	if p.offset > 0 {
		q.Set("offset", strconv.Itoa(p.offset))
	}
	if p.cursor != "" {
		q.Set("cursor", p.cursor)
	}
}

// page is what the pager needs of either page type.
type page[T any] interface {
	items() []T
	total() int // 0 where the page does not count
	link() *string
	after(place, string) (place, error) // the place that a link leads to
}

func (p *OffsetPage[T]) items() []T    { return p.Results }
func (p *OffsetPage[T]) total() int    { return p.Count }
func (p *OffsetPage[T]) link() *string { return p.Next }
func (p *CursorPage[T]) items() []T    { return p.Results }
func (p *CursorPage[T]) total() int    { return 0 }
func (p *CursorPage[T]) link() *string { return p.Next }

func (p *OffsetPage[T]) complete() error { return hasResults(p.Results) }
func (p *CursorPage[T]) complete() error { return hasResults(p.Results) }

// hasResults tells an empty page from an answer that is no page: taken for the end, that would cut the list short.
func hasResults[T any](results []T) error {
	if results == nil {
		return errors.New("it has no results")
	}
	return nil
}

// after takes the offset and the limit out of a link.
func (*OffsetPage[T]) after(from place, link string) (place, error) {
	q, err := linkQuery(link)
	if err != nil {
		return place{}, err
	}
	offset, err := strconv.Atoi(q.Get("offset"))
	if err != nil || offset < 0 {
		return place{}, errors.New("the service's link to the next page has no offset")
	}
	if offset <= from.offset {
		return place{}, errRepeatedLink
	}
	to := place{offset: offset, limit: from.limit}
	if limit, err := strconv.Atoi(q.Get("limit")); err == nil && limit > 0 {
		to.limit = limit
	}
	return to, nil
}

func (*CursorPage[T]) after(_ place, link string) (place, error) {
	q, err := linkQuery(link)
	if err != nil {
		return place{}, err
	}
	cursor := q.Get("cursor")
	if cursor == "" {
		return place{}, errors.New("the service's link to the next page has no cursor")
	}
	return place{cursor: cursor}, nil
}

// linkQuery is the query of a link. The rest of the link, its host above all, is not used.
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

// pager walks a list. Every walk begins anew: all its state is born inside the range.
type pager[T any, P page[T]] struct {
	op       Op
	fetch    func(context.Context, place) fetched[P]
	start    place
	maxPages int
	prefetch int
}

// one fetches the page at the start.
func (w pager[T, P]) one(ctx context.Context) (P, error) { return w.fetch(ctx, w.start).deliver() }

// pages yields page after page. An error comes once, last, as a *PageError. A page whose link cannot be followed is not yielded:
// it may be one that was, and a walk that goes on from the error fetches it again.
func (w pager[T, P]) pages(ctx context.Context) iter.Seq2[P, error] {
	return func(yield func(P, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		ahead := newLookahead(ctx, w)
		defer ahead.stop() // waits for what is under way, after
		defer cancel()     // ending it
		at, seen := w.start, map[string]bool{}
		for n := 1; ; n++ {
			p, next, err := w.page(ctx, ahead, n, at, seen)
			if err != nil {
				var none P
				yield(none, w.failed(n, at, err))
				return
			}
			if next != nil {
				ahead.plan(p, at, *next)
			}
			if !yield(p, nil) || next == nil {
				return
			}
			at = *next
		}
	}
}

// page fetches the n-th page of a walk and reads where the next one begins; nil after the last.
func (w pager[T, P]) page(ctx context.Context, ahead *lookahead[T, P], n int, at place, seen map[string]bool) (p P, next *place, err error) {
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
	if err == nil && to.cursor != "" && (seen[to.cursor] || to.cursor == w.start.cursor) {
		err = errRepeatedLink
	}
	seen[to.cursor] = true
	return p, &to, err
}

func (w pager[T, P]) failed(n int, at place, err error) error {
	if _, refused := errors.AsType[*InputError](err); refused {
		return err // refused before anything was sent: there is no page to go on from
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

// lookahead fetches pages before they are asked for: all that the count promises, at most w.prefetch at the same time.
// Without prefetch, and for pages it has not planned, it fetches when asked.
type lookahead[T any, P page[T]] struct {
	ctx     context.Context //nolint:containedctx // lives as long as one walk
	walk    pager[T, P]
	pending map[place]chan fetched[P]
	last    place // the furthest place planned
}

// fetched is the result of fetching a page. The caller's Reply is filled when the page is delivered, not while another is read.
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

// plan starts fetching what follows the page p: its next page, and for offset lists those after it by the same step.
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

// stop waits for all that is under way, so that a walk that was broken off leaves nothing behind.
func (l *lookahead[T, P]) stop() {
	for _, result := range l.pending {
		<-result
	}
}

// fetchPage makes the fetch function of a list: an ordinary call for each page.
func fetchPage[P any](c *Client, op Op, ids []string, query url.Values, options []CallOption) func(context.Context, place) fetched[*P] {
	return func(ctx context.Context, at place) fetched[*P] {
		r := endpoint(op, ids...)
		r.query = url.Values{}
		maps.Copy(r.query, query)
		at.set(r.query)
		var got fetched[*P]
		ownReply := func(cfg *callConfig) {
			if got.replyFor = cfg.reply; cfg.reply != nil {
				cfg.reply = &got.reply
			}
		}
		var p P
		if got.err = c.call(ctx, r, &p, append(slices.Clip(options), ownReply)...); got.err == nil {
			got.page = &p
		}
		return got
	}
}

// offsetPager is the pager of a list that is paged by offset.
func offsetPager[T any](c *Client, op Op, query url.Values, o ListOptions, options []CallOption) pager[T, *OffsetPage[T]] {
	return pager[T, *OffsetPage[T]]{
		op: op, fetch: fetchPage[OffsetPage[T]](c, op, nil, query, options),
		start: place{offset: o.Offset, limit: o.Limit}, maxPages: o.MaxPages, prefetch: o.Prefetch,
	}
}

// cursorPager is the pager of a list that is paged by cursor.
func cursorPager[T any](c *Client, op Op, ids []string, query url.Values, o CursorOptions, options []CallOption) pager[T, *CursorPage[T]] {
	return pager[T, *CursorPage[T]]{
		op: op, fetch: fetchPage[CursorPage[T]](c, op, ids, query, options),
		start: place{cursor: o.Cursor}, maxPages: o.MaxPages, prefetch: o.Prefetch,
	}
}
